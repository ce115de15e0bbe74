"""Two closed-form examples on what the exponential mechanism costs without a projection."""

from __future__ import annotations

import math

from scipy.special import betainc, expit

from dplit._checks import check_integer, check_positive, check_probability


def axis_error(*, n_features: int, n_samples: int, epsilon: float) -> float:
    r"""Expected training error :math:`1/(1+e^{\epsilon m/(2d)})` with m / d records on every axis.

    For the zero-one score, all labels 1, and a prior that no change of signs alters.
    """
    d, m = check_integer("n_features", n_features), check_integer("n_samples", n_samples)
    if m % d:
        raise ValueError(f"n_samples must be a multiple of n_features={d}, got n_samples={m}")
    return float(expit(-check_positive("epsilon", epsilon) * m / (2 * d)))


def cap_mass(*, n_features: int, margin: float) -> float:
    r"""Share :math:`\frac12I_{1-\rho^2}(\frac{d+1}2,\frac12)` of the ball beyond a hyperplane."""
    rho = check_probability("margin", margin, zero=True)
    return float(betainc((check_integer("n_features", n_features) + 1) / 2, 0.5, 1 - rho**2) / 2)


def score_failure(mass: float, *, n_samples: int, epsilon: float) -> float:
    r"""Probability to miss a set of prior mass M on which m copies of a record cost nothing.

    :math:`(1-M)e^{-\epsilon m/2}/(M+(1-M)e^{-\epsilon m/2})`.
    """
    share = check_probability("mass", mass)
    exponent = check_positive("epsilon", epsilon) * check_integer("n_samples", n_samples) / 2
    return float(expit(math.log1p(-share) - math.log(share) - exponent))
