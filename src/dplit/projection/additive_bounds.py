r"""Bounds on the relative error under additive noise: the paper's, a sharper one, and their domain.

All of them say something only if the noise is smaller than the smallest singular value of the
design, which no design with entries in [-1, 1] grants at half a bit or less.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svdvals

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_probability,
)
from dplit.projection.information import additive_sigma
from dplit.projection.regression import check_design, condition_number, root_snr, singular_values

__all__ = [
    "Augmented",
    "augmented_problem",
    "necessary_epsilon",
    "noise_quotient",
    "perturbation_bound",
    "singular_value_tail",
    "smallest_epsilon",
    "sufficient_ratio",
    "theorem1_bound",
    "worst_perturbation",
]

_Array = NDArray[np.float64]


def singular_value_tail(t: float, *, as_printed: bool = True) -> float:
    r"""Return a bound on the probability that a Gaussian matrix has a large singular value.

    Parameters
    ----------
    t : float
        Excess over :math:`\sqrt n+\sqrt d`, nonnegative.
    as_printed : bool, default=True
        With the factor 2 of a two-sided statement; without it the bound holds too, because only
        the upper tail is asked for.

    Returns
    -------
    float
        :math:`2e^{-t^2/2}`, or half of it. Above 1 it says nothing (printed: up to t = 1.18).

    Raises
    ------
    TypeError, ValueError
        If ``t`` is negative.

    Notes
    -----
    :math:`\|N\|` is a 1-Lipschitz function of the Gaussian entries with mean at most
    :math:`\sqrt n+\sqrt d` (Gordon), so it exceeds that by t with probability at most
    :math:`e^{-t^2/2}`.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Proposition 3, equation (27), after
    M. Rudelson and R. Vershynin, ICM 2010.

    Examples
    --------
    >>> from dplit.projection.additive_bounds import singular_value_tail
    >>> round(singular_value_tail(2.0), 4)
    0.2707
    """
    bound = math.exp(-(check_nonnegative("t", t) ** 2) / 2)
    return 2.0 * bound if as_printed else bound


def noise_quotient(
    X: ArrayLike, *, epsilon: float, failure: float, as_printed: bool = True
) -> float:
    r"""Return :math:`\kappa(\Delta+\delta)`, the noise over the smallest singular value.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    epsilon : float
        MI-DP budget of one entry in bits; the noise is the paper's.
    failure : float
        Probability in (0, 1] with which the bound may fail.
    as_printed : bool, default=True
        Factor of :func:`singular_value_tail`.

    Returns
    -------
    float
        :math:`\sigma_{AN}(\sqrt n+\sqrt d+t)/\sigma_{\min}(X)` with the t at which the tail is
        ``failure``. Theorem 1 speaks where it is **strictly** below 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Theorem 1, with
    :math:`\delta=\sigma_{AN}t/\sigma_{\max}`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive_bounds import noise_quotient
    >>> round(noise_quotient(np.ones((100, 1)), epsilon=0.5, failure=1.0, as_printed=False), 9)
    1.1
    """
    allowed = check_probability("failure", failure, one=True)
    t = math.sqrt(2 * math.log((2.0 if as_printed else 1.0) / allowed))
    smallest = float(singular_values(X)[-1])
    n, d = np.shape(X)
    size = math.sqrt(n) + math.sqrt(d) + t
    return additive_sigma(epsilon=epsilon) * size / smallest


def _quotient_factor(u: float) -> float:
    """Return u / (1 - u), infinite from u = 1 on, where the statement stops."""
    return u / (1.0 - u) if u < 1.0 else math.inf


def _bound(u: float, kappa: float, snr: float, improved: bool) -> float:
    q = _quotient_factor(u)
    if math.isinf(q) or math.isinf(snr):
        return math.inf if q > 0 else 1.0
    return 1.0 + (q * (1.0 + snr)) ** 2 if improved else (1.0 + q * (kappa + snr)) ** 2


def theorem1_bound(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    failure: float,
    improved: bool = False,
) -> float:
    r"""Return a bound on the relative error of additive noise that fails rarely.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    y : array_like of shape (n,)
        Responses.
    epsilon : float
        MI-DP budget of one entry in bits; the noise is the paper's.
    failure : float
        Probability in (0, 1) with which the bound may fail.
    improved : bool, default=False
        The paper's bound, or ours: no condition number, and quadratic in the noise.

    Returns
    -------
    float
        :math:`(1+q(\kappa+r))^2`, or :math:`1+q^2(1+r)^2`, with :math:`q=u/(1-u)` and u from
        :func:`noise_quotient`; **infinite** for :math:`u\ge1`, where nothing is claimed.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Theorem 1, equation (11). The theorem asks
    for :math:`\kappa\Delta<1` and its footnote for :math:`\kappa(\Delta+\delta)\le1`; what is used
    is the strict :math:`\kappa(\Delta+\delta)<1`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive_bounds import theorem1_bound
    >>> X, y = np.ones((100, 1)), np.arange(100.0)
    >>> theorem1_bound(X, y, epsilon=0.5, failure=0.05)
    inf
    >>> theorem1_bound(X, y, epsilon=4.0, failure=0.05) > 1
    True
    """
    allowed = check_probability("failure", failure)
    u = noise_quotient(X, epsilon=epsilon, failure=allowed, as_printed=not improved)
    return _bound(u, condition_number(X), root_snr(X, y), improved)


def perturbation_bound(
    X: ArrayLike, y: ArrayLike, E: ArrayLike, *, improved: bool = False
) -> float:
    r"""Return a bound on the relative error of least squares when the design is X + E.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    y : array_like of shape (n,)
        Responses.
    E : array_like of shape (n, d)
        Perturbation of the design.
    improved : bool, default=False
        The square of Lemma 3, or the sharper bound.

    Returns
    -------
    float
        With :math:`u=\|E\|/\sigma_{\min}(X)` and :math:`q=u/(1-u)`: :math:`(1+q(\kappa+r))^2`, or
        :math:`1+q^2(1+r)^2`. Infinite for :math:`u\ge1`. For :math:`u<1` the perturbed design has
        rank d by itself.

    Raises
    ------
    TypeError, ValueError
        If the problem is not of the kind above, or E has another shape than X.

    Notes
    -----
    With :math:`\hat X=X+E`, :math:`\hat\theta-\theta^\star=\hat X^+(r-E\theta^\star)` for the
    residual r. Now :math:`\|X\hat X^+\|\le1/(1-u)`, :math:`\|E\theta^\star\|\le u\|X\theta^\star\|`
    and :math:`\|P_{\hat X}r\|\le u\|r\|`, so that
    :math:`\|X(\hat\theta-\theta^\star)\|\le q(\|r\|+\|X\theta^\star\|)`; by Pythagoras the excess
    of the relative error is the square of that over :math:`\|r\|^2`.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Lemma 3, equation (26), after P.-A. Wedin,
    BIT 13, 1973, Theorem 5.1.

    Examples
    --------
    >>> from dplit.projection.additive_bounds import perturbation_bound
    >>> X, y, E = [[1.0], [0.0]], [1.0, 1.0], [[-0.5], [0.0]]
    >>> perturbation_bound(X, y, E), perturbation_bound(X, y, E, improved=True)
    (9.0, 5.0)
    """
    design, response = check_design(X, y)
    change = check_finite_array("E", E, ndim=2)
    if change.shape != design.shape:
        raise ValueError(f"E must have shape {design.shape}, got E of shape {change.shape}")
    u = float(svdvals(change)[0] / singular_values(design)[-1])
    return _bound(u, condition_number(design), root_snr(design, response), improved)


def worst_perturbation(*, u: float, root_snr: float) -> tuple[_Array, _Array, _Array]:
    r"""Return a problem and a perturbation on which the improved bound is attained as r grows.

    Parameters
    ----------
    u : float
        Relative size of the perturbation, in (0, 1).
    root_snr : float
        The paper's r(y), nonnegative.

    Returns
    -------
    tuple of ndarray
        :math:`X=(1,0)^\top`, :math:`y=(r,1)^\top` and :math:`E=-uX`. The excess of the relative
        error is :math:`q^2r^2`; the bound is :math:`q^2(1+r)^2`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.additive_bounds import worst_perturbation
    >>> worst_perturbation(u=0.5, root_snr=3.0)[2].ravel()
    array([-0.5,  0. ])
    """
    size = check_probability("u", u)
    X = np.array([[1.0], [0.0]])
    return X, np.array([check_nonnegative("root_snr", root_snr), 1.0]), np.array([[-size], [0.0]])


def sufficient_ratio(X: ArrayLike) -> float:
    r"""Return the noise-free part of the condition of Theorem 1: it must exceed :math:`\sigma`.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.

    Returns
    -------
    float
        :math:`\sigma_{\min}/(\sqrt n+\sqrt d)`: :math:`\kappa\Delta<1` says that
        :math:`\sigma_{AN}` is below it. Below 1 for every X with entries in [-1, 1].

    Raises
    ------
    TypeError, ValueError
        If X is not of the kind above.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive_bounds import sufficient_ratio
    >>> round(sufficient_ratio(np.ones((100, 1))), 6)
    0.909091
    """
    smallest = float(singular_values(X)[-1])
    n, d = np.shape(X)
    return smallest / (math.sqrt(n) + math.sqrt(d))


def smallest_epsilon(X: ArrayLike) -> float:
    r"""Return the budget in bits from which Theorem 1 says something about a given design.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.

    Returns
    -------
    float
        The budget at which :math:`\kappa\Delta=1`; for every smaller one the theorem is empty.

    Raises
    ------
    TypeError, ValueError
        If X is not of the kind above.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive_bounds import smallest_epsilon
    >>> round(smallest_epsilon(np.ones((100, 1))), 3)
    0.572
    """
    return 0.5 * math.log2(1 + sufficient_ratio(X) ** -2)


def necessary_epsilon(*, n_samples: int, n_features: int) -> float:
    r"""Return the budget in bits below which Theorem 1 is empty for **every** admissible design.

    Parameters
    ----------
    n_samples, n_features : int
        Rows and columns of the design, n > d.

    Returns
    -------
    float
        :math:`\tfrac12\log_2\big(1+(1+\sqrt{d/n})^2\big)`, always above half a bit.

    Raises
    ------
    TypeError, ValueError
        If the sizes are not positive integers with n > d.

    Notes
    -----
    The mean of the d squared singular values is :math:`\|X\|_F^2/d\le n`, so
    :math:`\sigma_{\min}\le\sqrt n` and
    :math:`\kappa\Delta=\sigma_{AN}(\sqrt n+\sqrt d)/\sigma_{\min}\ge\sigma_{AN}(1+\sqrt{d/n})`.
    Columns of a Hadamard matrix attain it.

    Examples
    --------
    >>> from dplit.projection.additive_bounds import necessary_epsilon
    >>> round(necessary_epsilon(n_samples=10_000, n_features=800), 3)
    0.702
    """
    n = check_integer("n_samples", n_samples, minimum=2)
    d = check_integer("n_features", n_features)
    if n <= d:
        raise ValueError(f"n_samples must exceed n_features={d}, got n_samples={n}")
    return 0.5 * math.log2(1 + (1 + math.sqrt(d / n)) ** 2)


class Augmented(NamedTuple):
    r"""The stacked problem: ``design`` is :math:`[X;\sigma I]`, ``response`` is :math:`[y;0]`."""

    design: _Array
    response: _Array


def augmented_problem(X: ArrayLike, y: ArrayLike, *, sigma: float) -> Augmented:
    r"""Return the regression problem of which a noisy projection is a noiseless one.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Design.
    y : array_like of shape (n,)
        Responses.
    sigma : float
        Standard deviation of the noise on the projected design, nonnegative.

    Returns
    -------
    Augmented
        :math:`SX+\sigma N=\tilde S\,[X;\sigma I]` and :math:`Sy=\tilde S\,[y;0]` with
        :math:`\tilde S=[S\ N]` of shape (n', n + d). Its least-squares fit is ridge regression
        with penalty :math:`\sigma^2`.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not finite or disagree, or ``sigma`` is negative.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equations (24)-(25) and (28)-(29).

    Examples
    --------
    >>> from dplit.projection.additive_bounds import augmented_problem
    >>> augmented_problem([[1.0], [2.0]], [3.0, 4.0], sigma=0.5).design.ravel()
    array([1. , 2. , 0.5])
    """
    table = np.asarray(check_finite_array("X", X, ndim=2), dtype=np.float64)
    response = np.asarray(check_finite_array("y", y, ndim=1), dtype=np.float64)
    if len(response) != len(table):
        raise ValueError(f"y must have {len(table)} entries, got y of shape {response.shape}")
    d = table.shape[1]
    ridge = check_nonnegative("sigma", sigma) * np.eye(d)
    return Augmented(np.vstack([table, ridge]), np.concatenate([response, np.zeros(d)]))
