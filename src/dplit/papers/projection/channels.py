"""Information of an unknown scale: exact bits and total variation of chi-square channels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtrc, gammaln
from scipy.stats import chi2

from dplit._checks import Array, check_choice, check_integer, check_positive, check_real_array
from dplit.entries._quadrature import LN2, NORMAL_TAIL, chi_nodes, legendre


class _Bits(NamedTuple):
    """An amount of information in bits, with the difference to half the resolution as error."""

    value: float
    error: float


class _PairFactors(NamedTuple):
    r"""What decides how well two covariances are told apart, by numbers that do not cancel.

    ``ratio`` is :math:`\det\Sigma_0/\det\Sigma_1`; ``plus`` and ``minus`` are the two values of
    :math:`\rho-1` (positive and negative) for eigenvalues :math:`\rho` of
    :math:`\Sigma_1^{-1}\Sigma_0`. Arrays of one shape.
    """

    ratio: Array
    plus: Array
    minus: Array


def _check_levels(variances: ArrayLike, prior: ArrayLike | None) -> tuple[Array, Array]:
    levels = check_real_array("variances", variances, 1)
    if levels.min() <= 0:
        raise ValueError(f"variances must be positive, got {levels.min():g}")
    if prior is None:
        return levels, np.full(len(levels), 1.0 / len(levels))
    weights = check_real_array("prior", prior, 1)
    if weights.shape != levels.shape or weights.min() < 0 or abs(weights.sum() - 1) > 1e-9:
        raise ValueError("prior must hold one probability per variance, with sum 1")
    return levels, weights


def _log_density(u: Array, dof: int, law: str) -> Array:
    """Log density of log chi^2_dof, or of the logarithm of the size of a Cauchy variable."""
    if law == "cauchy":
        return np.asarray(np.log(2 / np.pi) + u - np.logaddexp(0.0, 2 * u))
    half = dof / 2.0
    return np.asarray(half * u - np.exp(u) / 2 - half * LN2 - gammaln(half))


def _range(dof: int, law: str) -> tuple[float, float]:
    if law == "cauchy":
        return -37.0, 37.0
    return float(np.log(chi2.ppf(NORMAL_TAIL, dof))), float(np.log(chi2.isf(NORMAL_TAIL, dof)))


def scale_information(
    variances: ArrayLike,
    *,
    n_samples: int,
    prior: ArrayLike | None = None,
    law: str = "gaussian",
    panels: int = 80,
) -> _Bits:
    r"""Mutual information between a variance and N Gaussian samples that have it, in bits.

    ``variances`` (m,) are positive, ``prior`` uniform by default; ``law="cauchy"`` is one sample
    :math:`\sqrt v\,C` of a standard Cauchy C. The error is the change from half as many panels of
    16 nodes. As :math:`\log T=\log v+\log\chi^2_N` of the sum of squares T shifts a fixed law, it
    is :math:`\sum_k\pi_kE\log_2\frac{p(u)}{\sum_l\pi_lp(u+\log v_k-\log v_l)}`.

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
        u, w = legendre(*_range(n, law), 16, count)
        own = _log_density(u, n, law)
        moved = u[None, :, None] + shifts[:, None, None] - shifts  # (level, node, other level)
        mixture = np.log(np.exp(_log_density(moved, n, law) - own[:, None]) @ weights)
        return float(-(weights @ (mixture @ (w * np.exp(own)))) / LN2)

    fine = integral(panels)
    return _Bits(max(fine, 0.0), abs(fine - integral(panels // 2)))


def scale_total_variation(first: float, second: float, *, n_samples: int) -> float:
    """Total variation between N samples of one positive variance and N samples of another.

    The densities of ``T ~ v chi^2_N`` cross once, at ``N log(b/a) a b / (b - a)``.
    """
    a, b = sorted((check_positive("first", first), check_positive("second", second)))
    n = check_integer("n_samples", n_samples)
    if a == b:
        return 0.0
    crossing = n * np.log(b / a) * a * b / (b - a)
    return float(chi2.cdf(crossing / a, n) - chi2.cdf(crossing / b, n))


_BLOCK = 2**16  # numbers at a time that stay in the cache


def _softplus_mean(offset: Array, a: Array, b: Array, dof: int, count: int) -> Array:
    """Mean of log2(1 + exp(offset - (a g + b h)/2)) for independent chi-square g, h."""
    t, mass = chi_nodes(dof, count)
    square, flat = t**2 / 2, [part.reshape(-1, 1, 1) for part in (offset, a, b)]
    result, size = np.empty(offset.size), max(_BLOCK // count**2, 1)
    for start in range(0, offset.size, size):
        here = slice(start, start + size)
        shift, first, second = (part[here] for part in flat)
        exponent = shift - first * square[:, None] - second * square
        small = np.exp(-np.abs(exponent))  # log and exp are much faster than logaddexp
        result[here] = (np.maximum(exponent, 0.0) + np.log(1.0 + small)) @ mass @ mass
    return result.reshape(offset.shape) / LN2


def _pair_bits(factors: _PairFactors, n_samples: int, nodes: int) -> Array:
    """The first value of :func:`_pair_information`, without its error."""
    ratio, plus, minus = (np.asarray(part, dtype=float) for part in factors)
    offset = n_samples / 2 * np.log(ratio)
    under0 = _softplus_mean(offset, plus, minus, n_samples, nodes)
    down, up = -plus / (1 + plus), -minus / (1 + minus)
    under1 = _softplus_mean(-offset, down, up, n_samples, nodes)
    return np.asarray(1 - under0 / 2 - under1 / 2)


def _pair_information(
    factors: _PairFactors, *, n_samples: int, nodes: int = 64
) -> tuple[Array, Array]:
    r"""Bits in [0, 1] of one fair bit that selects one of two covariances, and their error.

    The error is the change from three quarters of the ``nodes`` per chi variable. Under
    :math:`\Sigma_0` the log-likelihood ratio is :math:`L=\frac
    N2\log\frac{\det\Sigma_0}{\det\Sigma_1}-\frac12\sum_i(\rho_i-1)g_i` with independent
    :math:`g_i\sim\chi^2_N`, under :math:`\Sigma_1` the same with :math:`1/\rho_i`, and
    :math:`I=1-\frac12E_0\log_2(1+e^L)-\frac12E_1\log_2(1+e^{-L})`.
    """
    n = check_integer("n_samples", n_samples)
    check_integer("nodes", nodes, minimum=8)
    fine = _pair_bits(factors, n, nodes)
    return fine, np.abs(fine - _pair_bits(factors, n, 3 * nodes // 4))


def _pair_total_variation(factors: _PairFactors, *, n_samples: int, nodes: int = 200) -> Array:
    """Total variation between N samples of one covariance and N samples of another.

    It is the probability of a positive log-likelihood ratio under the second covariance minus the
    same under the first, by an integral with ``nodes`` nodes.
    """
    n = check_integer("n_samples", n_samples)
    check_integer("nodes", nodes, minimum=8)
    ratio, plus, minus = (np.asarray(part, dtype=float) for part in factors)
    t, mass = chi_nodes(n, 20, panels=max(nodes // 20, 1))

    def below(offset: Array, up: Array, down: Array) -> Array:
        """P(up g + down h < 2 offset), with the distribution function in the larger direction."""
        swap = -down > up
        big, other = np.where(swap, down, up), np.where(swap, up, down)
        squares = t[:, *[None] * up.ndim] ** 2
        level = (2 * offset - other * squares) / np.where(big == 0, 1.0, big)
        level = np.maximum(level, 0.0)
        share, swaps = np.empty(level.shape), np.broadcast_to(swap, level.shape)
        share[swaps], share[~swaps] = chdtrc(n, level[swaps]), chdtr(n, level[~swaps])
        return np.asarray(np.tensordot(mass, share, axes=1))

    offset = n / 2 * np.log(ratio)
    under0 = below(offset, plus, minus)
    under1 = 1 - below(-offset, -minus / (1 + minus), -plus / (1 + plus))
    return np.where(plus - minus <= 0, 0.0, np.clip(under1 - under0, 0.0, 1.0))
