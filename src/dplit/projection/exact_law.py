r"""The exact law of least squares on randomly projected data: a multivariate Student t.

A design X of shape (n, d) and a response y are projected to n' rows, with noise of variance
``penalty`` on the projected design. In the eigenbasis of :math:`X^\top X` everything about the
fit :math:`\theta_{RP}` that the trainer gets is known: its law, the law of the regularised
objective, and the mean and the variance of the relative error, without a single draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import betaprime

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_probability,
)
from dplit.projection.spectrum import (
    Spectrum,
    ridge_coefficients,
    ridge_error,
    ridge_objective,
)

__all__ = [
    "error_sd",
    "expected_error",
    "projection_moments",
    "sketch_factors",
    "sketch_mean",
    "sketch_quantile",
    "sketch_tail",
    "tail_asymptote",
]

_Array = NDArray[np.float64]


def _degrees(n_features: int, n_components: int) -> tuple[int, int]:
    d = check_integer("n_features", n_features)
    rows = check_integer("n_components", n_components)
    if rows < d:
        raise ValueError(
            f"n_components must be at least the {d} columns of X, got n_components={rows}: "
            "least squares on the projected data has no unique solution"
        )
    return d, rows - d + 1


def expected_error(problem: Spectrum, *, penalty: float, n_components: int) -> float:
    r"""Mean of the relative error of the projected fit, given the data.

    Parameters
    ----------
    problem : Spectrum
    penalty : float
        Noise variance of the projection, nonnegative.
    n_components : int
        Number n' of projected rows, at least d.

    Returns
    -------
    float
        Infinite for n' <= d + 1, and if the design explains the response.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    .. math:: E\,\eta=\eta_1+\frac{\tau^2}{(n'-d-1)\|r\|^2}
        \sum_i\frac{\sigma_i^2}{\sigma_i^2+\lambda}.

    Without noise (``penalty = 0``) it is :math:`(n'-1)/(n'-d-1)`, whatever the data.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> round(expected_error(problem, penalty=0.0, n_components=5), 4)
    1.3333
    """
    lam = check_nonnegative("penalty", penalty)
    _, m = _degrees(problem.n_features, n_components)
    if m <= 2 or problem.residual <= 0:
        return math.inf
    effective = float(np.sum(problem.energies / (problem.energies + lam)))
    spread = ridge_objective(problem, penalty=lam) * effective / (m - 2)
    return ridge_error(problem, penalty=lam) + spread / problem.residual


def error_sd(problem: Spectrum, *, penalty: float, n_components: int) -> float:
    r"""Standard deviation of the relative error of the projected fit, given the data.

    Parameters and errors are those of :func:`expected_error`.

    Returns
    -------
    float
        Infinite for n' <= d + 3, and if the design explains the response.

    Notes
    -----
    With :math:`m=n'-d+1`, :math:`D_i=\sigma_i^2/(\sigma_i^2+\lambda)` and
    :math:`a_i=\lambda(u_i^\top y)/(\sigma_i^2+\lambda)`,

    .. math:: \|r\|^4\operatorname{Var}\eta=\frac{4\tau^2\sum a_i^2D_i}{m-2}
        +\tau^4\Big(\frac{2\sum D_i^2+(\sum D_i)^2}{(m-2)(m-4)}-\frac{(\sum D_i)^2}{(m-2)^2}\Big).

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> round(error_sd(problem, penalty=0.0, n_components=9), 4)
    0.2556
    """
    lam = check_nonnegative("penalty", penalty)
    _, m = _degrees(problem.n_features, n_components)
    if m <= 4 or problem.residual <= 0:
        return math.inf
    share = problem.energies / (problem.energies + lam)
    bias = lam / (problem.energies + lam) * problem.scores
    tau2 = ridge_objective(problem, penalty=lam)
    total, squares = float(share.sum()), float(share @ share)
    linear = 4.0 * tau2 * float(bias**2 @ share) / (m - 2)
    # written without the difference of two nearly equal fractions
    quadratic = (2.0 * squares + 2.0 * total**2 / (m - 2)) / ((m - 2) * (m - 4))
    return math.sqrt(linear + tau2**2 * quadratic) / problem.residual


def projection_moments(
    problem: Spectrum, *, penalty: float, n_components: int
) -> tuple[_Array, _Array]:
    r"""Mean and covariance of the projected fit, given the data.

    Parameters
    ----------
    problem, penalty
        As in :func:`expected_error`.
    n_components : int
        Number n' of projected rows, at least d + 2.

    Returns
    -------
    mean : ndarray of shape (d,)
        The ridge coefficients.
    covariance : ndarray of shape (d, d)
        :math:`\tau^2C^{-1}/(n'-d-1)` with :math:`C=X^\top X+\lambda I`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    **The law.** Let M stack [X, y] on :math:`[\sqrt\lambda I,0]`. The rows of the release are
    i.i.d. :math:`N(0,M^\top M)`, since :math:`[S,N]M` has rows :math:`\tilde s^\top M` with
    Gaussian :math:`\tilde s`. Take :math:`M=QR`; then :math:`[S,N]Q=[G,g]` is Gaussian with d + 1
    columns, and with :math:`R_d^\top R_d=C` and :math:`\tau` the last diagonal entry of R,

    .. math:: \theta_{RP}=\theta_{RR}+\tau R_d^{-1}G^+g .

    Given G the vector :math:`G^+g` is :math:`N(0,W^{-1})`, :math:`W=G^\top G`. Its
    law is rotation invariant, and :math:`v^\top W^{-1}v/v^\top v\sim1/\chi^2_{n'-d+1}` for every
    v. Hence :math:`G^+g=z/\chi_{n'-d+1}` in distribution with z standard normal: a multivariate t.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> mean, covariance = projection_moments(problem, penalty=2.0, n_components=5)
    >>> round(float(mean[0]), 9), round(float(covariance[0, 0]), 9)
    (1.0, 0.5)
    """
    lam = check_nonnegative("penalty", penalty)
    _, m = _degrees(problem.n_features, n_components)
    if m <= 2:
        raise ValueError(
            f"n_components must be at least d + 2 = {problem.n_features + 2} for a covariance, "
            f"got n_components={n_components}"
        )
    weights = ridge_objective(problem, penalty=lam) / ((problem.energies + lam) * (m - 2))
    covariance = (problem.basis * weights) @ problem.basis.T
    return ridge_coefficients(problem, penalty=lam), covariance


def sketch_factors(problem: Spectrum, coefficients: ArrayLike, *, penalty: float) -> _Array:
    r"""Sketching factors :math:`\eta_3` of given fits.

    Parameters
    ----------
    problem : Spectrum
    coefficients : array_like of shape (..., d)
        Fits on projected data.
    penalty : float
        Noise variance of the projection, nonnegative.

    Returns
    -------
    ndarray of shape (...)
        :math:`1+(\theta-\theta_{RR})^\top C(\theta-\theta_{RR})/\tau^2`: the regularised
        objective over its least value.

    Raises
    ------
    TypeError, ValueError
        If ``penalty`` is negative or not finite, or the coefficients are not finite.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> sketch_factors(problem, [[2.0], [3.0]], penalty=0.0).round(9)
    array([1., 2.])
    """
    lam = check_nonnegative("penalty", penalty)
    thetas = check_finite_array("coefficients", coefficients)
    gaps = problem.rotate(thetas - ridge_coefficients(problem, penalty=lam))
    excess = gaps**2 @ (problem.energies + lam)
    return np.asarray(1.0 + excess / ridge_objective(problem, penalty=lam))


def sketch_mean(*, n_features: int, n_components: int) -> float:
    r"""Mean :math:`(n'-1)/(n'-d-1)` of the sketching factor :math:`\eta_3`.

    Parameters
    ----------
    n_features : int
        Number d of columns.
    n_components : int
        Number n' of projected rows, at least d.

    Returns
    -------
    float
        Infinite for n' <= d + 1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> round(sketch_mean(n_features=800, n_components=5500), 4)
    1.1702
    """
    d, m = _degrees(n_features, n_components)
    return (d + m - 2) / (m - 2) if m > 2 else math.inf


def sketch_quantile(
    probability: float | Sequence[float], *, n_features: int, n_components: int
) -> float | _Array:
    r"""Quantiles of the sketching factor :math:`\eta_3=1+\chi^2_d/\chi^2_{n'-d+1}`.

    Parameters
    ----------
    probability : float or sequence of float
        In (0, 1).
    n_features, n_components : int
        As in :func:`sketch_mean`.

    Returns
    -------
    float or ndarray

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> round(sketch_quantile(0.95, n_features=800, n_components=1000), 3)
    5.812
    """
    d, m = _degrees(n_features, n_components)
    levels = np.atleast_1d(check_finite_array("probability", probability))
    for level in levels:
        check_probability("probability", float(level))
    found = 1.0 + betaprime.ppf(levels, d / 2, m / 2)
    return float(found[0]) if np.ndim(probability) == 0 else np.asarray(found)


def sketch_tail(delta: float, *, n_features: int, n_components: int) -> float:
    r"""Exact probability that the sketching factor exceeds :math:`(1+\delta)^2`.

    Parameters
    ----------
    delta : float
        Nonnegative.
    n_features, n_components : int
        As in :func:`sketch_mean`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> f"{sketch_tail(10.0, n_features=2, n_components=4):.1e}"
    '7.5e-04'
    """
    d, m = _degrees(n_features, n_components)
    excess = check_nonnegative("delta", delta)
    return float(betaprime.sf(excess * (2.0 + excess), d / 2, m / 2))


def tail_asymptote(delta: float, *, n_features: int, n_components: int) -> float:
    r"""Leading term of :func:`sketch_tail` for large :math:`\delta`: a power, no exponential.

    Parameters and errors are those of :func:`sketch_tail`, but ``delta`` is positive.

    Returns
    -------
    float

    Notes
    -----
    :math:`\frac{\Gamma((n'+1)/2)}{\Gamma(d/2)\,\Gamma((n'-d+3)/2)}\,
    (\delta^2+2\delta)^{-(n'-d+1)/2}`: the factor is large where :math:`\chi^2_{n'-d+1}` is small,
    and :math:`P(\chi^2_m<x)\sim(x/2)^{m/2}/\Gamma(m/2+1)`.

    Examples
    --------
    >>> f"{tail_asymptote(30.0, n_features=2, n_components=4):.1e}"
    '3.4e-05'
    """
    d, m = _degrees(n_features, n_components)
    excess = check_nonnegative("delta", delta)
    if excess == 0:
        raise ValueError(f"delta must be positive, got delta={delta!r}")
    log = gammaln((d + m) / 2) - gammaln(d / 2) - gammaln(m / 2 + 1)
    return float(np.exp(log - m / 2 * math.log(excess * (2.0 + excess))))
