r"""Sensitivities of sums of quadratic features :math:`(\omega_j^\top x)^2` on the unit ball.

Where a record is added or removed they are :math:`\|\Omega\|_2^2` in :math:`\ell_1` and
:math:`S_4(\Omega)` in :math:`\ell_2`. Where one is replaced they are larger: nonnegative vectors
with disjoint supports add up. An ascent gives lower bounds; a calibration needs the upper ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from dplit._checks import check_choice, check_finite_array, check_integer, check_rng

__all__ = [
    "PairSearch",
    "S4Search",
    "replace_l1_bound",
    "replace_l1_exact",
    "replace_search",
    "s4_ascent",
    "s4_certificate",
    "spectral_sensitivity",
]

Array = NDArray[np.float64]
_MOST_SIGNS = 20  # 2^19 eigenproblems
_BLOCK = 4096


class PairSearch(NamedTuple):
    """A pair of records of the unit ball, and how far apart their features lie."""

    value: float
    x: Array
    y: Array


class S4Search(NamedTuple):
    """The best value of an ascent, its record, and the share of the starts that reached it."""

    value: float
    x: Array
    share: float


def _columns(frequencies: ArrayLike) -> Array:
    columns = check_finite_array("frequencies", frequencies, ndim=2)
    if columns.dtype.kind == "c":
        raise TypeError(f"frequencies must be real, got frequencies of dtype {columns.dtype}")
    return columns.astype(np.float64, copy=False)


def _eigenvalues(columns: Array) -> Array:
    """Return the eigenvalues of Omega Omega^T, largest first, never negative."""
    values = np.asarray(np.linalg.svd(columns, compute_uv=False), dtype=np.float64) ** 2
    return values


def spectral_sensitivity(frequencies: ArrayLike) -> float:
    r"""Return :math:`\|\Omega\|_2^2`, the :math:`\ell_1` sensitivity where a record is added.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.

    Returns
    -------
    float
        Exact: :math:`\sup_{\|x\|\le1}\sum_j(\omega_j^\top x)^2`.

    Raises
    ------
    TypeError, ValueError
        If ``frequencies`` is not a real, finite, nonempty matrix.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemma 9.

    Examples
    --------
    >>> from dplit.sketching.quadratic_sensitivity import spectral_sensitivity
    >>> round(spectral_sensitivity([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), 12)
    2.0
    """
    return float(_eigenvalues(_columns(frequencies))[0])


def replace_l1_bound(frequencies: ArrayLike) -> float:
    r"""Return :math:`\lambda_1+\lambda_2`, a bound of the :math:`\ell_1` replace-one sensitivity.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.

    Returns
    -------
    float
        Sum of the two largest eigenvalues of :math:`\Omega\Omega^\top` (the second is 0 for
        d = 1). Noise calibrated to it is private; it is exact for unions of orthonormal bases in
        the worst case, for d = 1 and for rank 1.

    Raises
    ------
    TypeError, ValueError
        If ``frequencies`` is not a real, finite, nonempty matrix.

    Notes
    -----
    For fixed signs s the best x and y are eigenvectors of :math:`\Omega D_s\Omega^\top` with
    eigenvalues of opposite signs (or 0), hence orthogonal. Then
    :math:`\sum_j|(\omega_j^\top x)^2-(\omega_j^\top y)^2|\le x^\top\Omega\Omega^\top x+
    y^\top\Omega\Omega^\top y\le\lambda_1+\lambda_2` (Ky Fan).

    Examples
    --------
    >>> from dplit.sketching.quadratic_sensitivity import replace_l1_bound
    >>> replace_l1_bound([[2.0, 0.0], [0.0, 1.0]])
    5.0
    """
    return float(_eigenvalues(_columns(frequencies))[:2].sum())


def replace_l1_exact(frequencies: ArrayLike) -> float:
    r"""Return the exact :math:`\ell_1` replace-one sensitivity, by all sign vectors.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column, m at most 20: the work is :math:`2^{m-1}` eigenproblems.

    Returns
    -------
    float
        :math:`\max_s[\lambda_{\max}(\Omega D_s\Omega^\top)_++
        \lambda_{\max}(-\Omega D_s\Omega^\top)_+]`.

    Raises
    ------
    TypeError, ValueError
        If ``frequencies`` is not a real, finite, nonempty matrix of at most 20 columns.

    Notes
    -----
    :math:`\|u\|_1=\max_s\langle s,u\rangle`, and for fixed s the two records separate. The last
    sign can be fixed, because -s exchanges the records.

    Examples
    --------
    >>> from dplit.sketching.quadratic_sensitivity import replace_l1_exact
    >>> replace_l1_exact([[1.0, 0.0], [0.0, 1.0]])
    2.0
    """
    columns = _columns(frequencies)
    m = columns.shape[1]
    if m > _MOST_SIGNS:
        raise ValueError(f"frequencies must have at most {_MOST_SIGNS} columns, got {m}")
    codes, best = np.arange(2 ** (m - 1)), 0.0
    for start in range(0, len(codes), _BLOCK):
        bits = (codes[start : start + _BLOCK, None] >> np.arange(m)) & 1
        spectra = np.linalg.eigvalsh(((1.0 - 2.0 * bits)[:, None, :] * columns) @ columns.T)
        spread = np.maximum(spectra[:, -1], 0.0) - np.minimum(spectra[:, 0], 0.0)
        best = max(best, float(spread.max()))
    return best


def _distance(columns: Array, x: Array, y: Array, norm: int) -> tuple[Array, Array]:
    gap = (x @ columns) ** 2 - (y @ columns) ** 2
    return gap, np.linalg.norm(gap, ord=norm, axis=1)


def replace_search(
    frequencies: ArrayLike,
    *,
    norm: int,
    rng: np.random.Generator,
    n_starts: int = 50,
    max_iter: int = 200,
) -> PairSearch:
    r"""Return the farthest pair of records that an alternating ascent finds: a lower bound.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    norm : {1, 2}
        Norm of the difference of the features.
    rng : numpy.random.Generator
        Source of the random starts.
    n_starts, max_iter : int
        Starts, and steps of each.

    Returns
    -------
    PairSearch
        Distance and the two records, each of norm 1 or 0. The replace-one sensitivity is at least
        this distance; it is not a calibration.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With :math:`u=\Phi(x)-\Phi(y)` the norm is convex in u, so it is at least
    :math:`\langle w,u'\rangle` with w = sign(u), or u / ||u||. The maximum of this bound over x'
    and y' is a pair of eigenvectors of :math:`\Omega D_w\Omega^\top`: no step goes down.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.quadratic_sensitivity import replace_search
    >>> found = replace_search(np.eye(2), norm=2, rng=np.random.default_rng(0))
    >>> round(found.value, 12)
    1.414213562373
    """
    columns = _columns(frequencies)
    check_choice("norm", str(norm), ("1", "2"))
    n_starts, max_iter = check_integer("n_starts", n_starts), check_integer("max_iter", max_iter)
    x, y = check_rng(rng).standard_normal((2, n_starts, columns.shape[0]))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    gap, value = _distance(columns, x, y, norm)
    for _ in range(max_iter):
        weights = np.where(gap >= 0, 1.0, -1.0) if norm == 1 else gap
        spectra, vectors = np.linalg.eigh((weights[:, None, :] * columns) @ columns.T)
        x = vectors[:, :, -1] * (spectra[:, -1:] > 0)
        y = vectors[:, :, 0] * (spectra[:, :1] < 0)
        before = value
        gap, value = _distance(columns, x, y, norm)
        if np.all(value <= before * (1 + 1e-13)):
            break
    best = int(value.argmax())
    return PairSearch(float(value[best]), x[best], y[best])


def s4_ascent(
    frequencies: ArrayLike,
    *,
    rng: np.random.Generator,
    n_starts: int = 50,
    max_iter: int = 500,
    tolerance: float = 1e-6,
) -> S4Search:
    r"""Return the largest :math:`(\sum_j(\omega_j^\top x)^4)^{1/2}` that an ascent finds.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    rng : numpy.random.Generator
        Source of the random starts.
    n_starts, max_iter : int
        Starts, and steps of each.
    tolerance : float, default=1e-6
        Relative gap below the best value up to which a start counts as successful.

    Returns
    -------
    S4Search
        A lower bound of :math:`S_4(\Omega)`, its unit record, and the share of the starts that
        reached it. A single start often misses: the value is no calibration.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The quartic is convex, so :math:`x\leftarrow\Omega(\Omega^\top x)^3`, normalised, never
    decreases it.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.quadratic_sensitivity import s4_ascent
    >>> round(s4_ascent(np.eye(3), rng=np.random.default_rng(0)).value, 9)
    1.0
    """
    columns = _columns(frequencies)
    n_starts, max_iter = check_integer("n_starts", n_starts), check_integer("max_iter", max_iter)
    x = check_rng(rng).standard_normal((n_starts, columns.shape[0]))
    value = np.zeros(n_starts)
    for _ in range(max_iter):
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
        inner = x @ columns
        before, value = value, np.sqrt(np.sum(inner**4, axis=1))
        if np.all(value <= before * (1 + 1e-11)):
            break
        x = inner**3 @ columns.T
    best = int(value.argmax())
    share = float(np.mean(value >= value[best] * (1 - tolerance)))
    return S4Search(float(value[best]), x[best] / max(np.linalg.norm(x[best]), 1e-300), share)


def _symmetric_coordinates(columns: Array) -> tuple[Array, Array]:
    """Return w w^T of every column, and the identity, in an orthonormal basis of Sym(d)."""
    rows, cols = np.triu_indices(columns.shape[0])
    weights = np.where(rows == cols, 1.0, np.sqrt(2.0))[:, None]
    return weights * columns[rows] * columns[cols], (rows == cols).astype(np.float64)


def s4_certificate(frequencies: ArrayLike, *, shift: float | None = None) -> float:
    r"""Return a certified upper bound of :math:`S_4(\Omega)`, for calibration.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column. The eigenproblem has size d (d + 1) / 2.
    shift : float, optional
        The number t of the Notes; None takes the best. Every t gives a valid bound, and 0 is the
        plain flattening of the quartic to a matrix.

    Returns
    -------
    float
        At least :math:`(\sup_{\|x\|\le1}\sum_j(\omega_j^\top x)^4)^{1/2}`: the exact
        :math:`\ell_2` sensitivity where a record is added, up to the gap of the certificate;
        times :math:`\sqrt2` it bounds the replace-one sensitivity. Exact for d = 2.

    Raises
    ------
    TypeError, ValueError
        If ``frequencies`` is not a real, finite, nonempty matrix.

    Notes
    -----
    On the unit sphere the matrix :math:`X=xx^\top` satisfies :math:`\langle I,X\rangle^2=
    \|X\|_F^2=1`, so for every t the quartic is the quadratic form of
    :math:`\sum_j(\omega_j\omega_j^\top)^{\otimes2}-t\,I\otimes I+t\,\mathrm{Id}` at X, and at most
    its largest eigenvalue on symmetric matrices, a convex function of t.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.quadratic_sensitivity import s4_certificate
    >>> round(s4_certificate(np.eye(2)), 6)
    1.0
    """
    tensors, identity = _symmetric_coordinates(_columns(frequencies))
    gram = tensors @ tensors.T
    size = len(gram)

    def largest(t: float) -> float:
        matrix = gram - t * np.outer(identity, identity)
        return t + float(eigh(matrix, eigvals_only=True, subset_by_index=[size - 1, size - 1])[0])

    flat = largest(0.0)
    if shift is None:
        low = -flat / max(identity.sum() - 1.0, 1.0)
        best = minimize_scalar(largest, bounds=(low, flat), method="bounded")
        shift = float(best.x) if best.fun < flat else 0.0
    rounding = 8 * size * np.finfo(float).eps * (flat + abs(shift) * float(identity.sum()))
    return float(np.sqrt(largest(shift) + rounding))
