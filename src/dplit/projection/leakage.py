r"""What one entry of X leaks through the release (S X + sigma N, S y): exact, in bits.

Rows of the release are independent :math:`\mathcal N(0,\Sigma)`, with
:math:`\Sigma=[X\,y]^\top[X\,y]+\mathrm{diag}(\lambda,\dots,\lambda,0)`. Let A be the part without
row i. With :math:`r_0` the row i of [X y] whose entry j is set to zero,
:math:`\Sigma=A+(r_0+xe_j)(r_0+xe_j)^\top`, and whitening by A leaves :math:`I+vv^\top` with
:math:`v=xa+b`. Only the 2 x 2 Gram matrix of a and b matters (:class:`EntryChannel`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import chi2

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_delta, gaussian_epsilon
from dplit.projection.additive import augmented_problem
from dplit.projection.information import (
    _Bits,
    _chi_nodes,
    _levels_information,
    _pair_information,
    _pair_total_variation,
    _PairFactors,
)
from dplit.projection.regression import _check_pair


class EntryChannel(NamedTuple):
    r"""Gram matrix of :math:`a=A^{-1/2}e_j` and :math:`b=A^{-1/2}r_0`, and its determinant.

    ``aa``, ``ab``, ``bb`` are inner products; ``det`` is :math:`aa\,bb-ab^2`, computed without
    cancellation. Arrays of one shape, one element per entry of X. ``aa = inf`` where the columns
    without row i are dependent and there is no noise: then the entry is not protected at all.
    """

    aa: Array
    ab: Array
    bb: Array
    det: Array


def _augmented(X: ArrayLike, y: ArrayLike | None, variance: float) -> tuple[Array, Array]:
    """X as an array, and the matrix M with Sigma = M^T M whose first n rows are those of [X y].

    M has shape (n + d, d + 1); without y, d columns, and without noise, n rows.
    """
    rows, labels = _check_pair(X, y)
    scale = math.sqrt(check_nonnegative("variance", variance))
    stacked = augmented_problem(rows, labels, sigma=scale)
    M = stacked.design if y is None else np.column_stack(stacked)
    return rows, M if scale > 0 else M[: len(rows)]


def _require_rank(R: Array, what: str) -> None:
    diagonal = np.abs(np.diag(R))
    if len(R) < R.shape[1] or diagonal.min() <= 1e-13 * diagonal.max():
        raise np.linalg.LinAlgError(f"{what} with the noise must have full column rank")


def _inverse_root(M: Array) -> Array:
    """Return the upper triangular T with (M^T M)^-1 = T T^T; large tables through their Gram."""
    R = np.asarray(np.linalg.qr(M, mode="r") if M.size < 10**6 else np.linalg.cholesky(M.T @ M).T)
    _require_rank(R, "[X y]")
    return np.asarray(np.linalg.inv(R))


def entry_channels(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, rows: ArrayLike | None = None
) -> EntryChannel:
    r"""Channels of all entries of X, arrays of shape (n, d), or of all entries of some ``rows``.

    Without y, S X + sigma N is released alone; ``variance`` is the same for every value of the
    entry. With :math:`g=[\Sigma^{-1}]_{jj}`, :math:`t=[\Sigma^{-1}r_i]_j` and the leverage
    :math:`h=r_i^\top\Sigma^{-1}r_i`, removing row i gives :math:`aa=g+\frac{t^2}{1-h}`,
    :math:`e_j^\top A^{-1}r_i=\frac t{1-h}`, :math:`r_i^\top A^{-1}r_i=\frac h{1-h}`, ``det``
    :math:`\frac{gh-t^2}{1-h}`.

    >>> channel = entry_channels([[1.0], [1.0], [1.0]], None, variance=0.0)
    >>> channel.aa.ravel().round(6)
    array([0.5, 0.5, 0.5])
    """
    data, M = _augmented(X, y, variance)
    n, d = data.shape
    chosen = np.arange(n) if rows is None else np.asarray(rows, dtype=int)
    root = _inverse_root(M)
    U, x = M[chosen] @ root, data[chosen]
    g = np.sum(root**2, axis=1)[:d]
    t = U @ root.T[:, :d]
    h = np.sum(U**2, axis=1)[:, None]
    left = np.where(1.0 - h < 1e-12, 0.0, 1.0 - h)
    with np.errstate(divide="ignore", invalid="ignore"):
        aa = g + np.where(t == 0, 0.0, t**2 / left)
        ar, rr = t / left, h / left
        det = np.maximum(g * h - t**2, 0.0) / left
        ab = ar - x * aa
        bb = np.maximum(rr - 2 * x * ar + x**2 * aa, 0.0)
    return EntryChannel(aa, ab, bb, det)


def _check_entry(X: Array, row: object, column: object) -> tuple[int, int]:
    """Return row and column, counted from zero, of an entry that X has."""
    i, j = check_integer("row", row, minimum=0), check_integer("column", column, minimum=0)
    if i >= X.shape[0] or j >= X.shape[1]:
        raise ValueError(f"the entry ({i}, {j}) must exist in X of shape {X.shape}")
    return i, j


def single_entry(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int, column: int
) -> EntryChannel:
    """Channel of one entry (``row`` and ``column`` from 0), from A itself: a second route."""
    return _filtered_entry(X, y, variance=variance, row=row, column=column)[0]


def _filtered_entry(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int, column: int
) -> tuple[EntryChannel, Array]:
    """Return the channel of one entry, and A^-1 [e_j, r_0], the adversary's two filters."""
    rows, M = _augmented(X, y, variance)
    i, j = _check_entry(rows, row, column)
    rest = np.delete(M, i, axis=0)
    A = rest.T @ rest
    unit = np.eye(len(A))[j]
    start = np.where(unit > 0, 0.0, M[i])
    solved = np.linalg.solve(A, np.column_stack([unit, start]))
    aa, ab, bb = unit @ solved[:, 0], unit @ solved[:, 1], start @ solved[:, 1]
    return EntryChannel(*(np.asarray(v) for v in (aa, ab, bb, aa * bb - ab**2))), solved


def _entry_factors(channel: EntryChannel, low: float, high: float) -> _PairFactors:
    r"""Generalised eigenvalues that tell x = low from x = high, for the functions on pairs.

    With :math:`q_k=|x_ka+b|^2` and :math:`\kappa=(x_1-x_0)^2\det/(1+q_1)` the numbers
    :math:`\rho-1` solve :math:`e^2-me-\kappa=0`, :math:`m=\frac{q_0-q_1}{1+q_1}+\kappa`.
    """
    aa, ab, bb, det = channel
    q0 = low**2 * aa + 2 * low * ab + bb
    q1 = high**2 * aa + 2 * high * ab + bb
    kappa = (high - low) ** 2 * det / (1 + q1)
    gap = (low - high) * ((low + high) * aa + 2 * ab) / (1 + q1)  # (q0 - q1) / (1 + q1)
    m = gap + kappa
    root = np.sqrt(m**2 + 4 * kappa)
    big = (np.abs(m) + root) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.where(big > 0, kappa / big, 0.0)
    plus, minus = np.where(m >= 0, big, small), np.where(m >= 0, -small, -big)
    return _PairFactors(np.asarray((1 + q0) / (1 + q1)), plus, minus)


def binary_leakage(
    channel: EntryChannel, *, n_components: int, low: float = -1.0, high: float = 1.0,
    nodes: int = 64,
) -> tuple[Array, Array]:  # fmt: skip
    """Bits that the release says about an entry that is ``low`` or ``high`` with equal odds.

    Returns bits in [0, 1] and the error of the quadrature with ``nodes`` nodes per dimension, for
    one entry or many. Any prior gives a lower bound on the MI-DP parameter.
    """
    n = check_integer("n_components", n_components)
    return _pair_information(_entry_factors(channel, low, high), n_samples=n, nodes=nodes)


def binary_total_variation(
    channel: EntryChannel, *, n_components: int, low: float = -1.0, high: float = 1.0
) -> Array:
    """Total variation between the releases at two values of the entry."""
    n = check_integer("n_components", n_components)
    return _pair_total_variation(_entry_factors(channel, low, high), n_samples=n)


def coherent_bound(channel: EntryChannel, *, n_components: int) -> Array:
    r"""Bound (23), corrected, on the leakage of an entry in [-1, 1]:
    :math:`\frac12\log_2(1+n'[A^{-1}]_{jj})`.

    Bits, for every prior on the entry, if the noise variance is not a function of the entry. The
    proof of Lemma 2 has :math:`1/(\sigma^2+f^2)` in place of :math:`[A^{-1}]_{jj}`.
    """
    n = check_integer("n_components", n_components)
    return np.asarray(np.log2(1 + n * channel.aa) / 2)


def _log_likelihoods(
    channel: EntryChannel, levels: ArrayLike, gram: ArrayLike, *, n_components: int
) -> Array:
    r"""Log-likelihoods of the values ``levels`` (m,) of one entry, up to a constant.

    ``gram`` (..., 2, 2) is the Gram matrix of ``W a`` and ``W b`` for n' whitened rows W; with
    :math:`v=xa+b` the result is :math:`-\frac{n'}2\log(1+|v|^2)+\frac{|Wv|^2}{2(1+|v|^2)}`.
    """
    n, x, G = n_components, np.asarray(levels), np.asarray(gram)
    aa, ab, bb, _ = (float(part) for part in channel)
    q = np.maximum(x**2 * aa + 2 * x * ab + bb, 0.0)
    energy = x**2 * G[..., 0, 0, None] + 2 * x * G[..., 0, 1, None] + G[..., 1, 1, None]
    return np.asarray(-n / 2 * np.log1p(q) + energy / (2 * (1 + q)))


def _sample_grams(
    channel: EntryChannel, level: float, n: int, count: int, rng: np.random.Generator
) -> Array:
    """Gram matrices of (W a, W b) for rows of W with covariance I + v v^T, v = level a + b."""
    aa, ab, _, det = (float(part) for part in channel)
    size = np.sqrt(aa)
    frame = np.array([[size, ab / size], [0.0, np.sqrt(max(det, 0.0)) / size]])  # columns a, b
    v = frame @ [level, 1.0]
    L = np.linalg.cholesky(np.eye(2) + np.outer(v, v))
    T = np.zeros((count, 2, 2))  # Bartlett: W_2(n, I) = T T^T
    T[:, 0, 0] = np.sqrt(rng.chisquare(n, count))
    T[:, 1, 1] = np.sqrt(rng.chisquare(n - 1, count)) if n > 1 else 0.0
    T[:, 1, 0] = rng.standard_normal(count)
    half = np.swapaxes(L @ T, 1, 2) @ frame
    return np.asarray(np.swapaxes(half, 1, 2) @ half)


def _divergences(ratios: list[Array], prior: Array) -> list[Array]:
    """Per level and draw, log2 of the likelihood over the mixture's, from ratios to the level's."""
    return [-np.log2(ratio @ np.maximum(prior, 1e-300)) for ratio in ratios]


def _levels_leakage(
    channel: EntryChannel, levels: ArrayLike, *, n_components: int, rng: np.random.Generator,
    n_draws: int = 4000, optimise: bool = False,
) -> _Bits:  # fmt: skip
    """Information about an entry with several values, and its standard error: a bound from below.

    The prior is uniform; ``optimise`` improves it by fifty Blahut-Arimoto steps on ``n_draws``
    draws per level of their own, and fresh draws estimate the information, so that it is unbiased.
    """
    x = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    n = check_integer("n_components", n_components)
    count = check_integer("n_draws", n_draws, minimum=2)
    check_rng(rng)
    if not np.isfinite(channel.aa):
        raise ValueError("channel must have finite aa: this entry is not protected at all")
    prior = np.full(len(x), 1.0 / len(x))

    def draw() -> list[Array]:
        grams = (_sample_grams(channel, float(level), n, count, rng) for level in x)
        logs = (_log_likelihoods(channel, x, gram, n_components=n) for gram in grams)
        return [np.exp(log - log[:, [k]]) for k, log in enumerate(logs)]

    if optimise:
        ratios = draw()
        for _ in range(50):
            gains = np.array([part.mean() for part in _divergences(ratios, prior)])
            prior = prior * np.exp2(gains - gains.max())
            prior /= prior.sum()
    parts = _divergences(draw(), prior)
    value = float(sum(p * part.mean() for p, part in zip(prior, parts, strict=True)))
    spread = sum((p * part.std(ddof=1)) ** 2 / count for p, part in zip(prior, parts, strict=True))
    return _Bits(value, float(np.sqrt(spread)))


def row_delta(*, epsilon: float, variance: float, n_components: int, row_change: float) -> float:
    r"""Exact delta at ``epsilon`` (nats) of a release with public S, for one changed row.

    ``variance`` was chosen without the data; ``row_change`` is the largest Euclidean norm of the
    change, ``2 sqrt(d)`` for d entries in [-1, 1] and 2 for a single entry. Given S the mean moves
    by :math:`\|s_i\|\|\Delta\|` with :math:`\|s_i\|^2\sim\chi^2_{n'}`: a mixture of Gaussian
    mechanisms. Responses are not protected.

    >>> round(row_delta(epsilon=1.0, variance=100.0, n_components=100, row_change=2.0), 3)
    0.507
    """
    sigma = math.sqrt(check_positive("variance", variance))
    change = check_positive("row_change", row_change)
    level = check_nonnegative("epsilon", epsilon)
    lengths, mass = _chi_nodes(check_integer("n_components", n_components), 96, tail=1e-17)
    profile = gaussian_delta(epsilon=level, sigma=sigma / change, sensitivity=lengths)
    return min(1.0, float(mass @ profile) + 2e-17)


def _check_delta(delta: object) -> float:
    target = check_probability("delta", delta)
    if target < 1e-14:
        raise ValueError(f"delta must be at least 1e-14, got delta={delta!r}")
    return target


def row_epsilon(*, delta: float, variance: float, n_components: int, row_change: float) -> float:
    """Smallest epsilon at ``delta`` >= 1e-14 of a release with public S, on the safe side by 1e-9.

    It is 0 where delta is reached there already, and inf where the mean signal-to-noise ratio
    exceeds 1e15.

    >>> round(row_epsilon(delta=1e-5, variance=100.0, n_components=100, row_change=2.0), 1)
    10.7
    """
    target = _check_delta(delta)
    return _row_epsilon(
        target,
        check_positive("variance", variance),
        check_integer("n_components", n_components),
        check_positive("row_change", row_change),
    )


@lru_cache(maxsize=256)
def _row_epsilon(target: float, variance: float, n: int, change: float) -> float:
    """Compute :func:`row_epsilon`; an estimator that is fitted again asks the same question."""
    if n * change**2 > 1e15 * variance:
        return math.inf

    def gap(epsilon: float) -> float:
        reached = row_delta(epsilon=epsilon, variance=variance, n_components=n, row_change=change)
        return math.log(reached / target)

    if gap(0.0) <= 0:
        return 0.0
    longest = change * math.sqrt(float(chi2.isf(target / 2, n)))
    high = gaussian_epsilon(delta=target / 2, sigma=math.sqrt(variance), sensitivity=longest)
    root = brentq(gap, 0.0, 1.0001 * high + 1e-9, xtol=1e-12, rtol=1e-12)
    return float(root) * (1 + 1e-9) + 1e-11


def row_variance(*, epsilon: float, delta: float, n_components: int, row_change: float) -> float:
    """Smallest variance with public S, safe by 1e-9, that is (epsilon, delta)-private for a row."""
    level = check_positive("epsilon", epsilon)
    target = _check_delta(delta)

    def gap(log_variance: float) -> float:
        return math.log(
            row_delta(epsilon=level, variance=math.exp(log_variance), n_components=n_components,
                      row_change=row_change) / target
        )  # fmt: skip

    size = check_integer("n_components", n_components)
    centre = math.log(check_positive("row_change", row_change) ** 2 * size)
    low, high = centre - 10.0, centre + 10.0
    while gap(low) < 0:
        low -= 5.0
    while gap(high) > 0:
        high += 5.0
    return math.exp(float(brentq(gap, low, high, xtol=1e-12))) * (1 + 1e-9)


class _CoefficientLaw(NamedTuple):
    """Multivariate t: ``mean + scale root^-1 z / sqrt(chi2_dof)``, with ``root^T root = C``."""

    mean: Array
    root: Array
    scale: float
    dof: int

    def log_density(self, theta: ArrayLike) -> Array:
        """Log density at points of shape (..., d), up to a constant that d and dof fix."""
        gap = (np.asarray(theta) - self.mean) @ self.root.T / self.scale
        d = len(self.mean)
        size = np.sum(np.log(np.abs(np.diag(self.root)))) - d * np.log(self.scale)
        return np.asarray(size - (self.dof + d) / 2 * np.log1p(np.sum(gap**2, axis=-1)))

    def sample(self, count: int, *, rng: np.random.Generator) -> Array:
        """Draw ``count`` coefficient vectors: array of shape (count, d)."""
        z = rng.standard_normal((count, len(self.mean)))
        z /= np.sqrt(rng.chisquare(self.dof, (count, 1)))
        return np.asarray(self.mean + self.scale * np.linalg.solve(self.root, z.T).T)


def _coefficient_law(
    X: ArrayLike, y: ArrayLike, *, variance: float, n_components: int
) -> _CoefficientLaw:
    """Exact law of the least-squares coefficients (14) of a release with n' >= d rows.

    ``y`` must not lie in the column space of X where ``variance`` is 0.
    """
    rows, labels = _check_pair(X, y)
    d = rows.shape[1]
    n = check_integer("n_components", n_components, minimum=d)
    scale = math.sqrt(check_nonnegative("variance", variance))
    M, target = augmented_problem(rows, labels, sigma=scale)
    Q, R = np.linalg.qr(M)
    _require_rank(R, "X")
    mean = np.linalg.solve(R, Q.T @ target)
    residual = float(np.linalg.norm(target - M @ mean))
    if residual <= 1e-13 * np.linalg.norm(target):
        raise ValueError("y must not lie in the column space of X: the coefficients are exact")
    return _CoefficientLaw(mean, R, residual, n - d + 1)


def coefficient_leakage(
    X: ArrayLike, y: ArrayLike, *, variance: float, n_components: int, row: int, column: int,
    levels: ArrayLike, rng: np.random.Generator, n_draws: int = 20_000,
) -> _Bits:  # fmt: skip
    """Bits in the coefficients alone about an entry with equally likely values ``levels``.

    The densities are exact; the error is the standard error over ``n_draws`` draws per value.
    """
    data = np.array(check_finite_array("X", X, ndim=2), dtype=float)
    i, j = _check_entry(data, row, column)
    count = check_integer("n_draws", n_draws, minimum=2)
    laws = []
    for level in np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float):
        data[i, j] = level
        laws.append(_coefficient_law(data, y, variance=variance, n_components=n_components))
    draws = [law.sample(count, rng=check_rng(rng)) for law in laws]
    return _levels_information(
        [np.stack([other.log_density(t) for other in laws], axis=1) for t in draws]
    )
