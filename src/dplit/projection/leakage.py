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
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import chi2

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.mechanisms import gaussian_delta, gaussian_epsilon
from dplit.projection.additive import augmented_problem
from dplit.projection.information import (
    _chi_nodes,
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


def _chosen(rows: ArrayLike | None, n: int) -> NDArray[np.intp]:
    """Return places of records among n, counted from 0; all of them for None."""
    if rows is None:
        return np.arange(n)
    places = check_finite_array("rows", rows, ndim=1)
    if places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= n:
        raise ValueError(f"rows must be integers from 0 to {n - 1}, got rows={rows!r}")
    return places.astype(np.intp)


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
    chosen = _chosen(rows, n)
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
    rows, M = _augmented(X, y, variance)
    i, j = _check_entry(rows, row, column)
    rest = np.delete(M, i, axis=0)
    A = rest.T @ rest
    unit = np.eye(len(A))[j]
    start = np.where(unit > 0, 0.0, M[i])
    solved = np.linalg.solve(A, np.column_stack([unit, start]))
    aa, ab, bb = unit @ solved[:, 0], unit @ solved[:, 1], start @ solved[:, 1]
    return EntryChannel(*(np.asarray(v) for v in (aa, ab, bb, aa * bb - ab**2)))


def _entry_factors(channel: EntryChannel, low: float, high: float) -> _PairFactors:
    r"""Generalised eigenvalues that tell x = low from x = high, for the functions on pairs.

    With :math:`q_k=|x_ka+b|^2` and :math:`\kappa=(x_1-x_0)^2\det/(1+q_1)` the numbers
    :math:`\rho-1` solve :math:`e^2-me-\kappa=0`, :math:`m=\frac{q_0-q_1}{1+q_1}+\kappa`.
    """
    for name, value in (("low", low), ("high", high)):
        check_interval(name, value, -math.inf, math.inf)
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


def coefficient_leakage(
    X: ArrayLike, y: ArrayLike, *, variance: float, n_components: int, levels: ArrayLike,
    rng: np.random.Generator, rows: ArrayLike | None = None, n_draws: int = 1000,
) -> tuple[Array, Array]:  # fmt: skip
    r"""Bits in the coefficients (14) alone about each entry, if it has equally likely ``levels``.

    Arrays of shape (n, d), or of some ``rows``: bits, and their standard error over ``n_draws``
    draws a level, which all entries share. The fit is a multivariate t; with :math:`\theta_A` and
    :math:`\rho_A` the ridge fit without row i and its least objective, its density at an entry x is
    :math:`\sqrt{1+v^\top A^{-1}v}\,\tau^\nu/g(\theta)^{(\nu+d)/2}` with :math:`v=xe_j+r_0`,
    :math:`g=\rho_A+|A^{1/2}(\theta-\theta_A)|^2+(y_i-v^\top\theta)^2`, :math:`\tau^2=\min g` and
    :math:`\nu=n'-d+1`: two coordinates of the fit and its length are enough.
    """
    data, labels = _check_pair(X, y)
    (n, d), values = data.shape, check_real_array("levels", levels, 1)
    dof = check_integer("n_components", n_components, minimum=d) - d + 1
    count, generator = check_integer("n_draws", n_draws, minimum=2), check_rng(rng)
    chosen = _chosen(rows, n)
    aa, ab, _, det = entry_channels(data, None, variance=variance, rows=chosen)
    root = _inverse_root(_augmented(data, None, variance)[1])
    U = data[chosen] @ root
    whole = root @ (root.T @ (data.T @ labels))
    loss = (labels[chosen] - data[chosen] @ whole) / (1.0 - np.sum(U**2, axis=1))
    fits = whole - loss[:, None] * (U @ root.T)  # without each of the rows
    gaps = labels - fits @ data.T
    gaps[np.arange(len(chosen)), chosen] = 0.0
    least = np.sum(gaps**2, axis=1) + variance * np.sum(fits**2, axis=1)
    if np.sum((labels - data @ whole) ** 2) <= 1e-26 * np.sum(labels**2) and variance == 0:
        raise ValueError("y must not lie in the column space of X: the coefficients are exact")
    z = generator.standard_normal((2, count)) * [[1.0], [float(d > 1)]]
    length = np.sum(z**2, axis=0) + (generator.chisquare(d - 2, count) if d > 2 else 0.0)
    drawn = z, length, generator.chisquare(dof, count)
    bits, error = np.empty((2, len(chosen), d))
    for k, i in enumerate(chosen):
        size = np.sqrt(aa[k])
        beside = np.stack([ab[k], np.sqrt(det[k])]) / size  # r_0, where e_j is (size, 0)
        v = beside[:, None] + np.stack([size, 0.0 * size])[:, None] * values[:, None]
        left = labels[i] - (data[i] @ fits[k] - data[i] * fits[k]) - values[:, None] * fits[k]
        bits[k], error[k] = _told_by_fits(v, left, float(least[k]), (d, dof), drawn)
    return bits, error


def _told_by_fits(
    v: Array, left: Array, least: float, sizes: tuple[int, int], drawn: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Bits (d,) about the entries of one row, and their errors; v is (2, levels, d)."""
    (d, dof), (z, length, chi) = sizes, drawn
    q = np.sum(v**2, axis=0)
    tau = np.sqrt(least + left**2 / (1.0 + q))
    logs = 0.5 * np.log1p(q) + dof * np.log(tau)
    bits, square = np.zeros(d), np.zeros(d)
    for k in range(len(left)):
        own = v[:, k, :, None]
        along = np.sum(own * z[:, None], axis=0)
        bent = (1.0 - 1.0 / np.sqrt(1.0 + q[k])) / np.maximum(q[k], 1e-300)
        scale = tau[k][:, None] / np.sqrt(chi)
        point = own * (left[k] / (1.0 + q[k]))[:, None] + scale * (
            z[:, None] - own * bent[:, None] * along
        )
        missed = left[:, :, None] - np.einsum("ald,adn->ldn", v, point)
        g = tau[k][:, None] ** 2 * (1.0 + length / chi) - missed[k] ** 2
        density = logs[:, :, None] - (dof + d) / 2 * np.log(np.maximum(g, 0.0) + missed**2)
        told = density[k] - np.logaddexp.reduce(density, axis=0) + np.log(len(left))
        bits += told.mean(axis=1) / len(left)
        square += told.var(axis=1, ddof=1) / len(chi) / len(left) ** 2
    return bits / np.log(2.0), np.sqrt(square) / np.log(2.0)
