r"""What one entry of X leaks through the release (S X + sigma N, S y): exact, in bits.

Rows of the release are independent :math:`\mathcal N(0,\Sigma)`, with
:math:`\Sigma=[X\,y]^\top[X\,y]+\mathrm{diag}(\lambda,\dots,\lambda,0)`. Let A be the part without
row i. With :math:`r_0` the row i of [X y] whose entry j is set to zero,
:math:`\Sigma=A+(r_0+xe_j)(r_0+xe_j)^\top`, and whitening by A leaves :math:`I+vv^\top` with
:math:`v=xa+b`. Only the 2 x 2 Gram matrix of a and b matters (:class:`EntryChannel`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative
from dplit.projection.channels import PairFactors, pair_information, pair_total_variation

__all__ = [
    "EntryChannel",
    "augmented",
    "binary_leakage",
    "binary_total_variation",
    "coherent_bound",
    "entry_channels",
    "entry_factors",
    "single_entry",
]

_Array = NDArray[np.float64]


class EntryChannel(NamedTuple):
    r"""Gram matrix of :math:`a=A^{-1/2}e_j` and :math:`b=A^{-1/2}r_0`, and its determinant.

    ``aa``, ``ab``, ``bb`` are inner products; ``det`` is :math:`aa\,bb-ab^2`, computed without
    cancellation. Arrays of one shape, one element per entry of X. ``aa = inf`` where the columns
    without row i are dependent and there is no noise: then the entry is not protected at all.
    """

    aa: _Array
    ab: _Array
    bb: _Array
    det: _Array


def augmented(X: ArrayLike, y: ArrayLike | None, variance: float) -> tuple[_Array, _Array]:
    """Return X, and the matrix M with Sigma = M^T M whose first rows are those of [X y].

    Parameters
    ----------
    X, y, variance
        As in :func:`entry_channels`.

    Returns
    -------
    X, M : ndarray of shape (n, d) and (n + d, d + 1)
        Without y, M has d columns; without noise, n rows.

    Raises
    ------
    TypeError, ValueError
        If X or y is not a finite array of matching shape, or ``variance`` is negative.

    Examples
    --------
    >>> augmented([[1.0], [1.0]], None, 4.0)[1].ravel()
    array([1., 1., 2.])
    """
    rows = np.asarray(check_finite_array("X", X, ndim=2), dtype=float)
    scale = np.sqrt(check_nonnegative("variance", variance))
    d = rows.shape[1]
    data, ridge = rows, scale * np.eye(d)
    if y is not None:
        labels = np.asarray(check_finite_array("y", y, ndim=1), dtype=float)
        if len(labels) != len(rows):
            raise ValueError(f"y must have {len(rows)} entries, got {len(labels)}")
        data = np.column_stack([rows, labels])
        ridge = np.column_stack([ridge, np.zeros(d)])
    return rows, np.vstack([data, ridge]) if scale > 0 else data


def _inverse_root(M: _Array) -> _Array:
    """Return the upper triangular T with (M^T M)^-1 = T T^T; large tables through their Gram."""
    if len(M) < M.shape[1]:
        raise np.linalg.LinAlgError("[X y] with the noise must have full column rank")
    R = np.linalg.qr(M, mode="r") if M.size < 10**6 else np.linalg.cholesky(M.T @ M).T
    diagonal = np.abs(np.diag(R))
    if diagonal.min() <= 1e-13 * diagonal.max():
        raise np.linalg.LinAlgError("[X y] with the noise must have full column rank")
    return np.asarray(np.linalg.inv(R))


def entry_channels(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, rows: ArrayLike | None = None
) -> EntryChannel:
    r"""Channels of all entries of X, or of all entries of some rows, at once.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Data; all entries but the one in question are known to the adversary.
    y : array_like of shape (n,) or None
        Responses, released as S y; None if S X + sigma N is released alone.
    variance : float
        Variance :math:`\lambda=\sigma^2` of the noise, nonnegative, the same for every value of
        the entry.
    rows : array_like of int, shape (k,), optional
        Rows whose entries are wanted; all by default.

    Returns
    -------
    EntryChannel
        Four arrays of shape (n, d) or (k, d).

    Raises
    ------
    TypeError, ValueError
        If X or y is not a finite array of matching shape, or ``variance`` is negative.
    numpy.linalg.LinAlgError
        If [X y] with the noise is rank-deficient.

    Notes
    -----
    One triangular factor serves all entries. With :math:`g=[\Sigma^{-1}]_{jj}`,
    :math:`t=[\Sigma^{-1}r_i]_j` and the leverage :math:`h=r_i^\top\Sigma^{-1}r_i`, removing row i
    (Sherman-Morrison) gives :math:`aa=g+\frac{t^2}{1-h}`, :math:`e_j^\top A^{-1}r_i=\frac t{1-h}`,
    :math:`r_i^\top A^{-1}r_i=\frac h{1-h}` and the determinant :math:`\frac{gh-t^2}{1-h}`.

    Examples
    --------
    >>> channel = entry_channels([[1.0], [1.0], [1.0]], None, variance=0.0)
    >>> channel.aa.ravel().round(6)
    array([0.5, 0.5, 0.5])
    """
    data, M = augmented(X, y, variance)
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


def single_entry(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int, column: int
) -> EntryChannel:
    """Return the channel of one entry, from the matrix A itself: a second route.

    Parameters
    ----------
    X, y, variance
        As in :func:`entry_channels`.
    row, column : int
        The entry, counted from zero.

    Returns
    -------
    EntryChannel
        Four numbers (arrays without axes).

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape or range, or the entry does not exist.
    numpy.linalg.LinAlgError
        If A is singular.

    Examples
    --------
    >>> float(single_entry([[1.0], [1.0], [1.0]], None, variance=2.0, row=0, column=0).aa)
    0.25
    """
    rows, M = augmented(X, y, variance)
    i, j = check_integer("row", row, minimum=0), check_integer("column", column, minimum=0)
    if i >= rows.shape[0] or j >= rows.shape[1]:
        raise ValueError(f"the entry ({i}, {j}) must exist in X of shape {rows.shape}")
    rest = np.delete(M, i, axis=0)
    A = rest.T @ rest
    unit = np.eye(len(A))[j]
    start = np.where(unit > 0, 0.0, M[i])
    solved = np.linalg.solve(A, np.column_stack([unit, start]))
    aa, ab, bb = unit @ solved[:, 0], unit @ solved[:, 1], start @ solved[:, 1]
    return EntryChannel(*(np.asarray(v) for v in (aa, ab, bb, aa * bb - ab**2)))


def entry_factors(channel: EntryChannel, low: float, high: float) -> PairFactors:
    r"""Generalised eigenvalues that tell x = low from x = high.

    Parameters
    ----------
    channel : EntryChannel
    low, high : float
        The two values.

    Returns
    -------
    PairFactors
        For :func:`dplit.projection.channels.pair_information`.

    Notes
    -----
    With :math:`q_k=|x_ka+b|^2` and :math:`\kappa=(x_1-x_0)^2\det/(1+q_1)` the numbers
    :math:`\rho-1` solve :math:`e^2-me-\kappa=0`, :math:`m=\frac{q_0-q_1}{1+q_1}+\kappa`.

    Examples
    --------
    >>> equal = entry_factors(EntryChannel(*np.array([1.0, 0.0, 1.0, 1.0])), 0.5, 0.5)
    >>> float(equal.plus)
    0.0
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
    return PairFactors(np.asarray((1 + q0) / (1 + q1)), plus, minus)


def binary_leakage(
    channel: EntryChannel, *, n_components: int, low: float = -1.0, high: float = 1.0,
    nodes: int = 64,
) -> tuple[_Array, _Array]:  # fmt: skip
    """Bits that the release says about an entry that is ``low`` or ``high`` with equal odds.

    Parameters
    ----------
    channel : EntryChannel
        One entry or many.
    n_components : int
        Rows n' of the release, at least 1.
    low, high : float
        The two values; -1 and 1 by default. Any prior gives a lower bound on the MI-DP parameter.
    nodes : int, default=64
        Nodes per dimension of the quadrature.

    Returns
    -------
    value, error : ndarray
        Bits in [0, 1] and the error of the quadrature.

    Raises
    ------
    TypeError, ValueError
        If a size is not a count.

    Examples
    --------
    >>> channel = entry_channels([[1.0], [1.0], [1.0]], None, variance=0.0)
    >>> float(binary_leakage(channel, n_components=5, low=0.0)[0][0, 0].round(4))
    0.0691
    """
    n = check_integer("n_components", n_components)
    return pair_information(entry_factors(channel, low, high), n_samples=n, nodes=nodes)


def binary_total_variation(
    channel: EntryChannel, *, n_components: int, low: float = -1.0, high: float = 1.0
) -> _Array:
    """Total variation between the releases at two values of the entry.

    Parameters
    ----------
    channel, n_components, low, high
        As in :func:`binary_leakage`.

    Returns
    -------
    ndarray
        The smallest delta for which the two values are (0, delta)-indistinguishable.

    Raises
    ------
    TypeError, ValueError
        If a size is not a count.

    Examples
    --------
    >>> channel = entry_channels([[1.0], [1.0], [1.0]], None, variance=0.0)
    >>> float(binary_total_variation(channel, n_components=5, low=0.0)[0, 0].round(4))
    0.2433
    """
    n = check_integer("n_components", n_components)
    return pair_total_variation(entry_factors(channel, low, high), n_samples=n)


def coherent_bound(channel: EntryChannel, *, n_components: int) -> _Array:
    r"""Upper bound on the leakage of an entry in [-1, 1]: :math:`\frac12\log_2(1+n'[A^{-1}]_{jj})`.

    Parameters
    ----------
    channel : EntryChannel
    n_components : int
        Rows n' of the release.

    Returns
    -------
    ndarray
        Bits, for every prior on the entry; valid for a noise variance that is not a function of
        the entry.

    Raises
    ------
    TypeError, ValueError
        If a size is not a count.

    Notes
    -----
    Give the receiver column i of S. It subtracts :math:`s_ir_0^\top`; what is left are n'
    observations :math:`s_{ki}xe_j+\mathcal N(0,A)`, whose matched filter has the signal-to-noise
    ratio :math:`x^2\|s_i\|^2[A^{-1}]_{jj}`; Jensen's inequality replaces the norm by n'. The bound
    in the proof of Lemma 2 has :math:`1/(\sigma^2+f^2)` in place of :math:`[A^{-1}]_{jj}`.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (23), corrected.

    Examples
    --------
    >>> channel = entry_channels([[1.0], [1.0], [1.0]], None, variance=0.0)
    >>> coherent_bound(channel, n_components=2).ravel().round(3)
    array([0.5, 0.5, 0.5])
    """
    n = check_integer("n_components", n_components)
    return np.asarray(np.log2(1 + n * channel.aa) / 2)
