r"""What one entry of X leaks through the release (S X + sigma N, S y): exact, in bits.

Rows of the release are independent :math:`\mathcal N(0,\Sigma)`, with
:math:`\Sigma=[X\,y]^\top[X\,y]+\mathrm{diag}(\lambda,\dots,\lambda,0)`. Let A be the part without
row i. With :math:`r_0` the row i of [X y] whose entry j is set to zero,
:math:`\Sigma=A+(r_0+xe_j)(r_0+xe_j)^\top`, and whitening by A leaves :math:`I+vv^\top` with
:math:`v=xa+b`. Only the 2 x 2 Gram matrix of a and b matters (:class:`EntryChannel`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
)
from dplit.entries._checks import check_pair
from dplit.papers.projection.additive_bounds import augmented_problem
from dplit.papers.projection.channels import _pair_information, _pair_total_variation, _PairFactors


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
    rows, labels = check_pair(X, y)
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
    channel: EntryChannel,
    *,
    n_components: int,
    low: float = -1.0,
    high: float = 1.0,
    nodes: int = 64,
) -> tuple[Array, Array]:
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
