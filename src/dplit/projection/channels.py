r"""Exact leakage of the two channels behind a projection: a scale, and a pair of covariances.

Rows of a release are Gaussian with a covariance that depends on one entry x. If x acts through the
size of one Gaussian only, the channel is a *scale channel*; two values of x in general position
give a *pair*, whose log-likelihood ratio is a difference of two weighted chi-square variables.
Everything is integrated, nothing is sampled, and every information comes with its error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi, chi2

from dplit._checks import check_choice, check_finite_array, check_integer, check_positive

__all__ = [
    "Bits",
    "PairFactors",
    "pair_information",
    "pair_total_variation",
    "scale_information",
    "scale_total_variation",
]

_Array = NDArray[np.float64]
_TAIL = 1e-16
_LOG2 = float(np.log(2.0))


class Bits(NamedTuple):
    """An amount of information in bits, with the difference to half the resolution as error."""

    value: float
    error: float


class PairFactors(NamedTuple):
    r"""What decides how well two covariances are told apart, by numbers that do not cancel.

    ``ratio`` is :math:`\det\Sigma_0/\det\Sigma_1`; ``plus`` and ``minus`` are the two values of
    :math:`\rho-1` (positive and negative) for eigenvalues :math:`\rho` of
    :math:`\Sigma_1^{-1}\Sigma_0`. Arrays of one shape.
    """

    ratio: _Array
    plus: _Array
    minus: _Array


def _legendre(low: float, high: float, count: int, panels: int) -> tuple[_Array, _Array]:
    """Nodes and weights of a composite Gauss-Legendre rule on [low, high]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def _check_levels(variances: ArrayLike, prior: ArrayLike | None) -> tuple[_Array, _Array]:
    levels = np.asarray(check_finite_array("variances", variances, ndim=1), dtype=float)
    if levels.min() <= 0:
        raise ValueError(f"variances must be positive, got {levels.min():g}")
    if prior is None:
        return levels, np.full(len(levels), 1.0 / len(levels))
    weights = np.asarray(check_finite_array("prior", prior, ndim=1), dtype=float)
    if weights.shape != levels.shape or weights.min() < 0 or abs(weights.sum() - 1) > 1e-9:
        raise ValueError("prior must hold one probability per variance, with sum 1")
    return levels, weights


def _log_density(u: _Array, dof: int, law: str) -> _Array:
    """Log density of log chi^2_dof, or of the logarithm of the size of a Cauchy variable."""
    if law == "cauchy":
        return np.asarray(np.log(2 / np.pi) + u - np.logaddexp(0.0, 2 * u))
    half = dof / 2.0
    return np.asarray(half * u - np.exp(u) / 2 - half * _LOG2 - gammaln(half))


def _range(dof: int, law: str) -> tuple[float, float]:
    if law == "cauchy":
        return -37.0, 37.0
    return float(np.log(chi2.ppf(_TAIL, dof))), float(np.log(chi2.isf(_TAIL, dof)))


def scale_information(
    variances: ArrayLike,
    *,
    n_samples: int,
    prior: ArrayLike | None = None,
    law: str = "gaussian",
    panels: int = 80,
) -> Bits:
    r"""Mutual information between a variance and Gaussian samples that have it, in bits.

    Parameters
    ----------
    variances : array_like of shape (m,)
        Positive values that the variance can take.
    n_samples : int
        Number N of independent samples :math:`\mathcal N(0,v)`, at least 1.
    prior : array_like of shape (m,), optional
        Probabilities; uniform by default.
    law : {"gaussian", "cauchy"}
        "cauchy": one sample :math:`\sqrt v\,C` with a standard Cauchy C (``n_samples`` must be 1).
    panels : int, default=80
        Panels of 16 nodes in the integral over the logarithm of the statistic.

    Returns
    -------
    Bits
        ``value`` and ``error``, the change from half as many panels.

    Raises
    ------
    TypeError, ValueError
        If a variance is not positive, the prior is no distribution, or a size is not a count.

    Notes
    -----
    The sum of squares T is sufficient and :math:`\log T=\log v+\log\chi^2_N` is a shift of a fixed
    law, so I is a sum of one-dimensional integrals
    :math:`\sum_k\pi_k E\log_2\frac{p(u)}{\sum_l\pi_l p(u+\log v_k-\log v_l)}`.

    Examples
    --------
    >>> round(scale_information([1.0, 1e-2], n_samples=1).value, 3)
    0.625
    """
    levels, weights = _check_levels(variances, prior)
    check_choice("law", law, ("gaussian", "cauchy"))
    n = check_integer("n_samples", n_samples)
    check_integer("panels", panels, minimum=2)
    if law == "cauchy" and n != 1:
        raise ValueError(f"n_samples must be 1 for law='cauchy', got n_samples={n!r}")
    shifts = np.log(levels) / (2 if law == "cauchy" else 1)
    keep = weights > 0
    shifts, weights = shifts[keep], weights[keep]

    def integral(count: int) -> float:
        u, w = _legendre(*_range(n, law), 16, count)
        own = _log_density(u, n, law)
        moved = u[None, :, None] + shifts[:, None, None] - shifts  # (level, node, other level)
        mixture = np.log(np.exp(_log_density(moved, n, law) - own[:, None]) @ weights)
        return float(-(weights @ (mixture @ (w * np.exp(own)))) / _LOG2)

    fine = integral(panels)
    return Bits(max(fine, 0.0), abs(fine - integral(panels // 2)))


def scale_total_variation(first: float, second: float, *, n_samples: int) -> float:
    """Total variation between N samples of one variance and N samples of another.

    Parameters
    ----------
    first, second : float
        Positive variances.
    n_samples : int
        Number N of samples, at least 1.

    Returns
    -------
    float
        In [0, 1): the densities of ``T ~ v chi^2_N`` cross once, at
        ``N log(b/a) a b / (b - a)``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive.

    Examples
    --------
    >>> round(scale_total_variation(1.0, 1e-4, n_samples=1), 3)
    0.973
    """
    a, b = sorted((check_positive("first", first), check_positive("second", second)))
    n = check_integer("n_samples", n_samples)
    if a == b:
        return 0.0
    crossing = n * np.log(b / a) * a * b / (b - a)
    return float(chi2.cdf(crossing / a, n) - chi2.cdf(crossing / b, n))


def _softplus_mean(offset: _Array, a: _Array, b: _Array, dof: int, count: int) -> _Array:
    """Mean of log2(1 + exp(offset - (a g + b h)/2)) for independent chi-square g, h."""
    t, w = _legendre(float(chi.ppf(_TAIL, dof)), float(chi.isf(_TAIL, dof)), count, 1)
    mass = w * chi.pdf(t, dof)
    square = t**2 / 2
    result = np.empty(offset.shape)
    for index in np.ndindex(offset.shape):
        exponent = offset[index] - a[index] * square[:, None] - b[index] * square
        result[index] = mass @ np.logaddexp(0.0, exponent) @ mass
    return result / _LOG2


def pair_information(
    factors: PairFactors, *, n_samples: int, nodes: int = 64
) -> tuple[_Array, _Array]:
    r"""Information in bits of one fair bit that selects one of two covariances.

    Parameters
    ----------
    factors : PairFactors
        The pair, or arrays of pairs.
    n_samples : int
        Number N of independent Gaussian samples, at least 1.
    nodes : int, default=64
        Gauss-Legendre nodes for each of the two chi variables.

    Returns
    -------
    value, error : ndarray
        Bits in [0, 1], and the change from three quarters of the nodes.

    Raises
    ------
    TypeError, ValueError
        If a size is not a count.

    Notes
    -----
    Under :math:`\Sigma_0` the log-likelihood ratio is
    :math:`L=\frac N2\log\frac{\det\Sigma_0}{\det\Sigma_1}-\frac12\sum_i(\rho_i-1)g_i` with
    independent :math:`g_i\sim\chi^2_N`; under :math:`\Sigma_1` the same with :math:`1/\rho_i`. Then
    :math:`I=1-\frac12E_0\log_2(1+e^L)-\frac12E_1\log_2(1+e^{-L})`.

    Examples
    --------
    >>> same = PairFactors(np.array(1.0), np.array(0.0), np.array(0.0))
    >>> bool(abs(pair_information(same, n_samples=5)[0]) < 1e-12)
    True
    """
    n = check_integer("n_samples", n_samples)
    check_integer("nodes", nodes, minimum=8)
    ratio, plus, minus = (np.asarray(part, dtype=float) for part in factors)
    offset = n / 2 * np.log(ratio)

    def value(count: int) -> _Array:
        under0 = _softplus_mean(offset, plus, minus, n, count)
        under1 = _softplus_mean(-offset, -plus / (1 + plus), -minus / (1 + minus), n, count)
        return np.asarray(1 - under0 / 2 - under1 / 2)

    fine = value(nodes)
    return fine, np.abs(fine - value(3 * nodes // 4))


def pair_total_variation(factors: PairFactors, *, n_samples: int, nodes: int = 200) -> _Array:
    """Total variation between N samples of one covariance and N samples of another.

    Parameters
    ----------
    factors : PairFactors
        The pair, or arrays of pairs.
    n_samples : int
        Number N of samples, at least 1.
    nodes : int, default=200
        Gauss-Legendre nodes of the one-dimensional integral.

    Returns
    -------
    ndarray
        In [0, 1]: probability of a positive log-likelihood ratio under the second covariance minus
        the same under the first.

    Raises
    ------
    TypeError, ValueError
        If a size is not a count.

    Examples
    --------
    >>> scaled = PairFactors(np.array(1e-4), np.array(0.0), np.array(1e-4 - 1.0))
    >>> round(float(pair_total_variation(scaled, n_samples=1)), 3)
    0.973
    """
    n = check_integer("n_samples", n_samples)
    check_integer("nodes", nodes, minimum=8)
    ratio, plus, minus = (np.asarray(part, dtype=float) for part in factors)
    t, w = _legendre(float(chi.ppf(_TAIL, n)), float(chi.isf(_TAIL, n)), 20, max(nodes // 20, 1))
    mass = w * chi.pdf(t, n)

    def below(offset: _Array, up: _Array, down: _Array) -> _Array:
        """P(up g + down h < 2 offset), with the distribution function in the larger direction."""
        swap = -down > up
        big, other = np.where(swap, down, up), np.where(swap, up, down)
        squares = t[:, *[None] * up.ndim] ** 2
        level = (2 * offset - other * squares) / np.where(big == 0, 1.0, big)
        share = np.where(swap, chi2.sf(level, n), chi2.cdf(level, n))
        return np.asarray(np.tensordot(mass, share, axes=1))

    offset = n / 2 * np.log(ratio)
    under0 = below(offset, plus, minus)
    under1 = 1 - below(-offset, -minus / (1 + minus), -plus / (1 + plus))
    return np.where(plus - minus <= 0, 0.0, np.clip(under1 - under0, 0.0, 1.0))
