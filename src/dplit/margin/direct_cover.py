r"""Two closed-form examples on what the exponential mechanism costs without a projection.

Records along the axes make the zero-one score need a sample proportional to the dimension, at a
margin that shrinks with it; one repeated record makes the margin score need it at any margin.
"""

from __future__ import annotations

import math

from scipy.special import betainc, expit

from dplit._checks import check_integer, check_positive, check_probability

__all__ = ["axis_error", "axis_samples", "cap_mass", "score_failure"]


def axis_error(*, n_features: int, n_samples: int, epsilon: float) -> float:
    r"""Expected training error of the mechanism for equally many records along every axis.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1.
    n_samples : int
        Number m of records, a multiple of d: m / d copies of each unit vector, labelled 1.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    float
        :math:`1/(1+e^{\epsilon m/(2d)})`, for the zero-one score and any prior without zero
        coordinates that no change of signs alters.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range or d does not divide m.

    Notes
    -----
    The number of errors is m / d times the number of negative coordinates: the signs are
    independent.

    Examples
    --------
    >>> round(axis_error(n_features=4, n_samples=40, epsilon=0.5), 7)
    0.0758582
    """
    d, m = check_integer("n_features", n_features), check_integer("n_samples", n_samples)
    if m % d:
        raise ValueError(f"n_samples must be a multiple of n_features={d}, got n_samples={m}")
    return float(expit(-check_positive("epsilon", epsilon) * m / (2 * d)))


def axis_samples(*, n_features: int, epsilon: float, error: float) -> float:
    r"""Sample size at which the expected error of :func:`axis_error` is a given one.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1.
    epsilon : float
        Privacy loss, positive.
    error : float
        Expected training error :math:`\alpha` in (0, 1).

    Returns
    -------
    float
        :math:`\frac{2d}\epsilon\log\frac{1-\alpha}\alpha`: proportional to the dimension.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(axis_samples(n_features=1000, epsilon=1.0, error=0.1))
    4394
    """
    d, alpha = check_integer("n_features", n_features), check_probability("error", error)
    return 2 * d / check_positive("epsilon", epsilon) * math.log((1 - alpha) / alpha)


def cap_mass(*, n_features: int, margin: float) -> float:
    r"""Share of the unit ball beyond a hyperplane.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1.
    margin : float
        Distance :math:`\rho` of the hyperplane from the origin, in [0, 1).

    Returns
    -------
    float
        :math:`P(w_1>\rho)=\frac12I_{1-\rho^2}(\frac{d+1}2,\frac12)` for w uniform in the ball.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(cap_mass(n_features=2, margin=0.5), 4)
    0.1955
    """
    rho = check_probability("margin", margin, zero=True)
    return float(betainc((check_integer("n_features", n_features) + 1) / 2, 0.5, 1 - rho**2) / 2)


def score_failure(mass: float, *, n_samples: int, epsilon: float) -> float:
    r"""Probability that the mechanism misses a set on which one repeated record costs nothing.

    Parameters
    ----------
    mass : float
        Prior mass of the set, in (0, 1).
    n_samples : int
        Copies m of the record, at least 1.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    float
        :math:`(1-M)e^{-\epsilon m/2}/(M+(1-M)e^{-\epsilon m/2})`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(score_failure(0.5, n_samples=10, epsilon=1.0), 4)
    0.0067
    """
    share = check_probability("mass", mass)
    exponent = check_positive("epsilon", epsilon) * check_integer("n_samples", n_samples) / 2
    return float(expit(math.log1p(-share) - math.log(share) - exponent))
