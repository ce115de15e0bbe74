"""Random projections that keep lengths: signs, and signs with a Hadamard transform.

The Walsh-Hadamard matrix of order ``2^p`` is a Kronecker product of factors of order at most 64,
dense products that BLAS does at full speed: for 4096 coordinates 256 multiplications a coordinate,
where butterflies need 12 passes over memory and a dense projection to k dimensions k of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard

from dplit._checks import check_integer, check_real_array, check_rng

#: Binary digits of the largest Kronecker factor: products of order 64 run at BLAS speed.
_DIGITS = 6

#: Bytes of a block of records, which with its scratch space stays in cache.
_BLOCK = 1 << 21


@cache
def _factor(digits: int) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = hadamard(2**digits, dtype=float) / 2.0 ** (digits / 2)
    matrix.setflags(write=False)
    return matrix


def _digits(order: int) -> list[int]:
    """Return binary digits of Kronecker factors, nearly equal, whose product is ``order``."""
    total = order.bit_length() - 1
    count = max(1, -(-total // _DIGITS))
    return [total // count + (k < total % count) for k in range(count)]


def _apply_factors(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the transform of the rows of ``block`` (n, order), one Kronecker factor at a time."""
    n, order = block.shape
    after = order
    for digits in _digits(order):
        size = 2**digits
        after //= size
        factor = _factor(digits)  # symmetric
        if after == 1:
            block = block.reshape(-1, size) @ factor
        else:
            block = np.matmul(factor, block.reshape(-1, size, after))
    return block.reshape(n, order)


def hadamard_transform(X: ArrayLike) -> NDArray[np.float64]:
    """Orthonormal Walsh-Hadamard transform of every row.

    Parameters
    ----------
    X : array_like (n, order)
        Finite; the order must be a power of two.

    Returns
    -------
    ndarray (n, order)
        ``X @ H`` with ``H = hadamard(order) / sqrt(order)``, which is symmetric and its own
        inverse.

    Examples
    --------
    >>> hadamard_transform(np.array([[1.0, 0.0, 0.0, 0.0]]))
    array([[0.5, 0.5, 0.5, 0.5]])
    """
    records = check_real_array("X", X, 2, copy=False)
    n, order = records.shape
    if order < 1 or order & (order - 1):
        raise ValueError(f"X must have a power of two of columns, got X of shape {records.shape}")
    out = np.empty((n, order))
    step = max(1, _BLOCK // (8 * order))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        out[rows] = _apply_factors(np.ascontiguousarray(records[rows]))
    return out


def sign_projection(
    n_features: int, n_components: int, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Johnson-Lindenstrauss matrix of independent signs.

    Parameters
    ----------
    n_features, n_components : int
        Input dimension d and output dimension k, at least 1.
    rng : numpy.random.Generator
        Source of public randomness; not the one of privacy noise.

    Returns
    -------
    ndarray (n_components, n_features)
        Entries ``+1/sqrt(k)`` and ``-1/sqrt(k)``, each with probability 1/2. Project records by
        ``X @ matrix.T``; squared lengths are unbiased.

    Notes
    -----
    For a unit vector u and 0 < t < 1 (Achlioptas 2003, Theorem 1.1)

    .. math:: P(|\\,\\|\\Phi u\\|^2-1| > t) \\le 2 e^{-k (t^2/4 - t^3/6)} .

    References
    ----------
    D. Achlioptas, Database-friendly random projections, J. Comput. Syst. Sci. 66 (2003) 671-687.

    Examples
    --------
    >>> np.abs(sign_projection(5, 4, rng=np.random.default_rng(0))).max()
    np.float64(0.5)
    """
    d = check_integer("n_features", n_features, minimum=1)
    k = check_integer("n_components", n_components, minimum=1)
    signs = check_rng(rng).integers(0, 2, size=(k, d), dtype=np.int8)
    matrix: NDArray[np.float64] = (2.0 * signs - 1.0) / np.sqrt(k)
    return matrix


@dataclass(frozen=True)
class HadamardProjection:
    """Fast Johnson-Lindenstrauss map: random signs, Hadamard transform, random coordinates.

    Parameters
    ----------
    signs : ndarray (d,)
        Entries 1 and -1.
    rows : ndarray (k,) of int
        Distinct coordinates that are kept, of ``order = 2^ceil(log2 d)``.

    Notes
    -----
    ``Phi = sqrt(order / k) P H diag(signs)`` with ``P`` the choice of coordinates; records are
    padded by zeros to the order. :meth:`transform` costs ``O(order log order)`` a record, and
    :meth:`adjoint` brings a weight vector back: ``<w, Phi x> = <Phi^T w, x>``.

    Examples
    --------
    >>> projection = HadamardProjection(signs=np.array([1.0, -1.0]), rows=np.array([0, 1]))
    >>> projection.transform([[1.0, 1.0]]).round(4) + 0.0  # (1, -1) through a matrix of order 2
    array([[0.    , 1.4142]])
    """

    signs: NDArray[np.float64]
    rows: NDArray[np.intp]

    @property
    def n_features(self) -> int:
        """Input dimension d."""
        return len(self.signs)

    @property
    def n_components(self) -> int:
        """Output dimension k."""
        return len(self.rows)

    @property
    def order(self) -> int:
        """Smallest power of two that is at least d."""
        return int(1 << (self.n_features - 1).bit_length())

    @property
    def _scale(self) -> float:
        return float(np.sqrt(self.order / self.n_components))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Project records.

        Parameters
        ----------
        X : array_like (n, d)
            Finite.

        Returns
        -------
        ndarray (n, k)
            ``X @ Phi.T``; squared lengths and inner products are unbiased.
        """
        records = check_real_array("X", X, 2, copy=False)
        n, d = records.shape
        if d != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got X of shape {(n, d)}")
        out = np.empty((n, self.n_components))
        weights = self.signs * self._scale
        step = max(1, _BLOCK // (8 * self.order))
        padded = np.zeros((min(step, n), self.order))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            count = rows.stop - start
            np.multiply(records[rows], weights, out=padded[:count, :d])
            np.take(_apply_factors(padded[:count]), self.rows, axis=1, out=out[rows], mode="clip")
        return out

    def adjoint(self, W: ArrayLike) -> NDArray[np.float64]:
        """Bring weights of projected records back to the input space.

        Parameters
        ----------
        W : array_like (k,) or (n, k)
            Finite.

        Returns
        -------
        ndarray (d,) or (n, d)
            ``W @ Phi``, of length about ``sqrt(d / k)`` times that of ``W``.
        """
        weights = check_real_array("W", np.atleast_2d(np.asarray(W)), 2)
        if weights.shape[1] != self.n_components:
            raise ValueError(
                f"W must have {self.n_components} columns, got W of shape {np.shape(W)}"
            )
        spread = np.zeros((len(weights), self.order))
        spread[:, self.rows] = weights
        back = hadamard_transform(spread)[:, : self.n_features] * (self.signs * self._scale)
        return back if np.ndim(W) == 2 else back[0]


def hadamard_projection(
    n_features: int, n_components: int, *, rng: np.random.Generator
) -> HadamardProjection:
    """Draw a fast Johnson-Lindenstrauss map.

    Parameters
    ----------
    n_features : int
        Input dimension d, at least 1.
    n_components : int
        Output dimension k, between 1 and the smallest power of two that is at least d.
    rng : numpy.random.Generator
        Source of public randomness; not the one of privacy noise.

    Returns
    -------
    HadamardProjection
        With k distinct rows of the Hadamard matrix, drawn without replacement.

    Notes
    -----
    A squared length is exact if all rows are kept; with k of them its relative error is about
    ``sqrt(2 (1 - k / order) / k)``.

    References
    ----------
    N. Ailon and B. Chazelle, The fast Johnson-Lindenstrauss transform, SIAM J. Comput. 39 (2009)
    302-322; J. A. Tropp, Improved analysis of the subsampled randomized Hadamard transform,
    Adv. Adapt. Data Anal. 3 (2011) 115-126.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> projection = hadamard_projection(6, 8, rng=rng)  # all rows: lengths are kept exactly
    >>> X = rng.standard_normal((3, 6))
    >>> bool(np.allclose((projection.transform(X) ** 2).sum(1), (X**2).sum(1)))
    True
    """
    d = check_integer("n_features", n_features, minimum=1)
    order = 1 << (d - 1).bit_length()
    k = check_integer("n_components", n_components, maximum=order)
    check_rng(rng)
    signs = (2 * rng.integers(0, 2, size=d) - 1).astype(np.float64)
    return HadamardProjection(signs, rng.choice(order, size=k, replace=False))
