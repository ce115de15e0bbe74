r"""MI-DP in bits: the noise that the paper buys with it, and what it is worth in other currencies.

For every prior on the database at most :math:`\epsilon` **bits** leak about one entry given all
others; ``epsilon`` is in bits, in (0, 1000], except where a function says that it is that of
:math:`(\varepsilon,\delta)`-DP. Definitions 1 to 3, Propositions 1 and 2, (9), and the two channels
behind a projection, integrated with an error and never sampled.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, gammaln, rel_entr, xlogy
from scipy.stats import chi, chi2

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.accounting import gdp_epsilon

_TAIL = 1e-16

_LN2 = math.log(2.0)

_LARGEST_BITS = 1000.0


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


def _legendre(low: float, high: float, count: int, panels: int = 1) -> tuple[Array, Array]:
    """Nodes and weights of a composite Gauss-Legendre rule on [low, high]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


@lru_cache(maxsize=256)
def _chi_nodes(
    dof: int, count: int, *, panels: int = 1, tail: float = _TAIL
) -> tuple[Array, Array]:
    """Nodes of a chi variable and their probabilities, all but ``tail`` of them at either end."""
    t, w = _legendre(float(chi.ppf(tail, dof)), float(chi.isf(tail, dof)), count, panels)
    mass = w * chi.pdf(t, dof)
    for shared in (t, mass):  # by all who ask for the same rule
        shared.flags.writeable = False
    return t, mass


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
    return np.asarray(half * u - np.exp(u) / 2 - half * _LN2 - gammaln(half))


def _range(dof: int, law: str) -> tuple[float, float]:
    if law == "cauchy":
        return -37.0, 37.0
    return float(np.log(chi2.ppf(_TAIL, dof))), float(np.log(chi2.isf(_TAIL, dof)))


def scale_information(
    variances: ArrayLike, *, n_samples: int, prior: ArrayLike | None = None, law: str = "gaussian",
    panels: int = 80,
) -> _Bits:  # fmt: skip
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
        u, w = _legendre(*_range(n, law), 16, count)
        own = _log_density(u, n, law)
        moved = u[None, :, None] + shifts[:, None, None] - shifts  # (level, node, other level)
        mixture = np.log(np.exp(_log_density(moved, n, law) - own[:, None]) @ weights)
        return float(-(weights @ (mixture @ (w * np.exp(own)))) / _LN2)

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
    t, mass = _chi_nodes(dof, count)
    square, flat = t**2 / 2, [part.reshape(-1, 1, 1) for part in (offset, a, b)]
    result, size = np.empty(offset.size), max(_BLOCK // count**2, 1)
    for start in range(0, offset.size, size):
        here = slice(start, start + size)
        shift, first, second = (part[here] for part in flat)
        exponent = shift - first * square[:, None] - second * square
        small = np.exp(-np.abs(exponent))  # log and exp are much faster than logaddexp
        result[here] = (np.maximum(exponent, 0.0) + np.log(1.0 + small)) @ mass @ mass
    return result.reshape(offset.shape) / _LN2


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
    t, mass = _chi_nodes(n, 20, panels=max(nodes // 20, 1))

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


def _check_bits(epsilon: object) -> float:
    bits = check_positive("epsilon", epsilon)
    if bits > _LARGEST_BITS:
        raise ValueError(f"epsilon must be at most {_LARGEST_BITS:g} bits, got epsilon={epsilon!r}")
    return bits


def additive_sigma(*, epsilon: float) -> float:
    r"""Noise (9) on one entry in [-1, 1]: :math:`\sigma_{AN}=1/\sqrt{2^{2\epsilon}-1}`.

    On every entry it is :math:`\epsilon`-MI-DP; the least such noise is
    :func:`dplit.projection.capacity.exact_sigma`.
    """
    nats = 2.0 * _LN2 * _check_bits(epsilon)
    return math.exp(-nats / 2.0) / math.sqrt(-math.expm1(-nats))


def fixed_variance(*, epsilon: float, n_components: int) -> float:
    r"""Noise variance :math:`n'/(2^{2\epsilon}-1)`, private whatever the data: (13) without f."""
    return check_integer("n_components", n_components) * additive_sigma(epsilon=epsilon) ** 2


def pinsker_delta(*, epsilon: float) -> float:
    r"""Proposition 2: the delta :math:`\sqrt{2\epsilon\ln2}` that :math:`\epsilon` bits imply.

    At least 1, hence empty, from :math:`1/(2\ln2)=0.7213` bits on.

    >>> round(pinsker_delta(epsilon=0.5), 4)
    0.8326
    """
    return math.sqrt(2.0 * _LN2 * _check_bits(epsilon))


def binary_information(distance: float) -> float:
    r"""Least information in bits that two laws at total variation distance t must leak.

    :math:`1-h\big(\tfrac{1-t}2\big)` with the binary entropy h, the capacity of the binary
    symmetric channel; written :math:`\big(t\,\mathrm{artanh}\,t+\tfrac12\ln(1-t^2)\big)/\ln2`,
    whose terms do not cancel for small t.

    >>> round(binary_information(0.7799), 3)
    0.5
    """
    t = check_probability("distance", distance, zero=True, one=True)
    if t == 1.0:
        return 1.0
    return (t * math.atanh(t) + 0.5 * math.log1p(-t * t)) / _LN2


def sharp_delta(*, epsilon: float) -> float:
    r"""Smallest :math:`\delta` for which :math:`\epsilon`-MI-DP implies (0, delta)-DP.

    :math:`1-2h^{-1}(1-\epsilon)`, the inverse of :func:`binary_information`; 1 from one bit on,
    where a binary entry may be published.

    >>> round(sharp_delta(epsilon=0.5), 4)
    0.7799
    """
    bits = _check_bits(epsilon)
    if bits >= 1.0:
        return 1.0
    # t^2 / (2 ln 2) <= 1 - h <= t^2 brackets the root
    low, high = math.sqrt(bits), min(1.0, math.sqrt(2.0 * _LN2 * bits))
    root = brentq(lambda t: binary_information(t) / bits - 1.0, low, high, xtol=1e-300, rtol=1e-15)
    return float(root)


def dp_to_tv(*, epsilon: float, delta: float) -> float:
    r"""Smallest :math:`\delta'` for which (epsilon, delta)-DP implies (0, delta')-DP, from (4).

    :math:`(e^\varepsilon-1+2\delta)/(e^\varepsilon+1)`; ``epsilon`` is **not bits**, and
    nonnegative.
    """
    eps = check_nonnegative("epsilon", epsilon)
    slip = check_probability("delta", delta, zero=True, one=True)
    half = math.tanh(eps / 2.0)
    return half + (1.0 - half) * slip


def row_mu(*, epsilon: float, n_features: int, width: float = 2.0) -> float:
    r"""Gaussian-DP parameter of a row of d entries: :math:`\text{width}\sqrt d/\sigma_{AN}`.

    ``epsilon`` is the budget in bits of one **entry**; the worst rows are opposite corners of the
    cube.
    """
    shift = check_positive("width", width) * math.sqrt(check_integer("n_features", n_features))
    return shift / additive_sigma(epsilon=epsilon)


def entry_dp_epsilon(*, epsilon: float, delta: float, width: float = 2.0) -> float:
    r"""Exact :math:`\varepsilon` (in nats) at ``delta`` that additive noise gives one entry.

    >>> round(entry_dp_epsilon(epsilon=0.5, delta=1e-5), 2)
    10.0
    """
    return row_dp_epsilon(epsilon=epsilon, delta=delta, n_features=1, width=width)


def row_dp_epsilon(*, epsilon: float, delta: float, n_features: int, width: float = 2.0) -> float:
    r"""Exact :math:`\varepsilon` (in nats) at ``delta`` that additive noise gives one row.

    ``epsilon`` is the budget in bits of one **entry**, ``width`` the length of its interval.

    >>> round(row_dp_epsilon(epsilon=0.5, delta=1e-5, n_features=800))
    1840
    """
    mu = row_mu(epsilon=epsilon, n_features=n_features, width=width)
    return gdp_epsilon(delta=check_probability("delta", delta), mu=mu)


class _Bracket(NamedTuple):
    """A number in bits between two bounds that were both computed."""

    lower: float
    upper: float


def _laws(name: str, value: ArrayLike, ndim: int | None = None) -> Array:
    """Return an array whose last axis holds probabilities that sum to 1."""
    laws = check_real_array(name, value, ndim)
    if laws.min() < 0 or np.abs(laws.sum(axis=-1) - 1.0).max() > 1e-9:
        raise ValueError(f"{name} must hold laws: nonnegative numbers with sum 1 along the end")
    return laws


def symmetric_channel(flip: float, *, reveal: float = 0.0) -> Array:
    """Channel that flips a bit with probability ``flip``, unless it reveals it.

    With ``reveal``, the probability of publishing the bit and saying that it is true, two certified
    outputs follow the two noisy ones.
    """
    q = check_probability("flip", flip, zero=True, one=True)
    p = check_probability("reveal", reveal, zero=True, one=True)
    noisy = np.array([[1.0 - q, q], [q, 1.0 - q]])
    return np.hstack([(1.0 - p) * noisy, p * np.eye(2)]) if p else noisy


def channel_information(prior: ArrayLike, channel: ArrayLike) -> float:
    """Mutual information in bits between input and output of a channel (k, m), prior (k,)."""
    p, W = _laws("prior", prior, 1), _laws("channel", channel, 2)
    if len(p) != len(W):
        raise ValueError(f"prior must have {len(W)} entries, got prior of shape {p.shape}")
    return max(float(p @ _divergences(W, p @ W)), 0.0)


def _divergences(W: Array, q: Array) -> Array:
    """Return the divergences in bits of the rows of W from q; 0 mass in both counts nothing."""
    return np.asarray(rel_entr(W, q).sum(axis=1) / _LN2)


def capacity_bracket(
    channel: ArrayLike, *, tolerance: float = 1e-6, max_steps: int = 100_000
) -> _Bracket:
    r"""Bounds on the capacity of a channel (k, m), by Blahut and Arimoto.

    ``lower`` is the information under the last prior p, ``upper`` :math:`\max_xD(W_x\|pW)`, which
    no prior exceeds. It ends when they differ by at most ``tolerance`` bits or after ``max_steps``;
    the bounds are valid whenever it ends.
    """
    W = _laws("channel", channel, 2)
    width, steps = check_positive("tolerance", tolerance), check_integer("max_steps", max_steps)
    p, own = np.full(len(W), 1.0 / len(W)), xlogy(W, W).sum(axis=1)
    for _ in range(steps):
        # the least float for outputs that no input has: 0 times it is 0
        divergences = (own - W @ np.log(np.maximum(p @ W, 1e-300))) / _LN2
        lower, upper = float(p @ divergences), float(divergences.max())
        if upper - lower <= width:
            break
        p = p * np.exp2(divergences - upper)
        p /= p.sum()
    return _Bracket(max(lower, 0.0), max(upper, 0.0))


def channel_delta(channel: ArrayLike, *, epsilon: float) -> float:
    r"""Smallest :math:`\delta` with which a channel is (epsilon, delta)-DP, Definition 3.

    :math:`\max_{x,x'}\sum_z(W_{xz}-e^\varepsilon W_{x'z})_+`: every two inputs are neighbours.
    ``epsilon`` is **not bits**; at 0 the result is the largest total variation distance.
    """
    W = _laws("channel", channel, 2)
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(np.maximum(W[:, None] - factor * W[None], 0.0).sum(axis=2).max())


def conditional_information(joint: ArrayLike, mechanism: ArrayLike, *, entry: int) -> float:
    r""":math:`I(D_i;q(D)\mid D^{-i})` of (2) in bits, for one law of a finite database.

    ``joint`` is the law of the database, an array (k_1, ..., k_N); ``mechanism`` (k_1, ..., k_N, m)
    that of the output given the database; ``entry`` the index i from 0.

    >>> exclusive_or = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    >>> conditional_information(np.full((2, 2), 0.25), exclusive_or, entry=0)
    1.0
    """
    W = _laws("mechanism", mechanism)
    P = check_real_array("joint", joint, W.ndim - 1)
    if P.shape != W.shape[:-1]:
        raise ValueError(f"joint must have shape {W.shape[:-1]}, got joint of shape {P.shape}")
    if P.min() < 0 or abs(P.sum() - 1.0) > 1e-9:
        raise ValueError("joint must be a law: nonnegative numbers with sum 1")
    axis = check_integer("entry", entry, minimum=0)
    if axis >= P.ndim:
        raise ValueError(f"entry must be below {P.ndim}, got entry={entry!r}")
    triple = P[..., None] * W  # (k_1, ..., k_N, m): law of database and output
    rest = triple.sum(axis=axis, keepdims=True)
    inside = xlogy(triple, W).sum() - xlogy(triple, 1.0).sum()
    outside = xlogy(rest, rest).sum() - xlogy(rest, rest.sum(axis=-1, keepdims=True)).sum()
    return max(float(inside - outside) / _LN2, 0.0)


def database_leakage(mechanism: ArrayLike, *, tolerance: float = 1e-6) -> _Bracket:
    r"""Bounds on the smallest :math:`\epsilon` in bits of Definition 1.

    The largest capacity among the channels that fixed other entries leave, each up to ``tolerance``
    bits; ``mechanism`` as in :func:`conditional_information`.
    """
    W = _laws("mechanism", mechanism)
    if W.ndim < 2:
        raise ValueError(f"mechanism must have input axes, got shape {W.shape}")
    brackets = [
        capacity_bracket(channel, tolerance=tolerance)
        for axis in range(W.ndim - 1)
        for channel in np.moveaxis(W, axis, -2).reshape(-1, W.shape[axis], W.shape[-1])
    ]
    return _Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def entry_distance(first: ArrayLike, second: ArrayLike) -> int:
    """In how many entries two tables differ; neighbours, Definition 2, differ in one."""
    a, b = check_finite_array("first", first), check_finite_array("second", second)
    if a.shape != b.shape:
        raise ValueError(f"second must have shape {a.shape}, got second of shape {b.shape}")
    return int(np.sum(a != b))
