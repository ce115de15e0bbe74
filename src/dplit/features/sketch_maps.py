"""Feature maps of sketches: quantized Fourier, quadratic, and structured frequencies for them.

All are public through :mod:`dplit.features`. A sketch is a sum of one of these maps over records;
:mod:`dplit.sketching.sketches` forms such sums without forming the map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_angles, check_integer, check_positive, check_real_array, check_rng
from dplit.features.projections import hadamard_transform


def _angles(X: ArrayLike, frequencies: ArrayLike) -> NDArray[np.float64]:
    records = check_real_array("X", X, 2, copy=False)
    columns = check_real_array("frequencies", frequencies, 2, copy=False)
    if columns.shape[0] != records.shape[1]:
        raise ValueError(
            f"frequencies must have one row per column of X ({records.shape[1]}), "
            f"got frequencies of shape {columns.shape}"
        )
    check_angles(records, columns)
    angles: NDArray[np.float64] = records @ columns
    return angles


def quantized_features(
    X: ArrayLike, frequencies: ArrayLike, phases: ArrayLike
) -> NDArray[np.complex128]:
    r"""One-bit Fourier features :math:`2^{-1/2}(\pm1\pm i)`: two signs per frequency.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    frequencies : array_like of shape (n_features, m)
        One frequency per column.
    phases : array_like of shape (m,)
        Dither in radians. Uniform on [0, 2 pi) it makes the mean of the map a plain Fourier
        feature; zeros are allowed.

    Returns
    -------
    ndarray of shape (n_samples, m), complex128
        Every entry has modulus 1, and the sum of the moduli of its two parts is ``sqrt(2)``.

    Notes
    -----
    With :math:`t=\omega_j^\top x+u_j` the entry is
    :math:`2^{-1/2}(\mathrm{sign}\cos t+i\,\mathrm{sign}\cos(t-\pi/2))`, where
    :math:`\mathrm{sign}(0)=+1`. A square wave has the harmonics :math:`4/(\pi k)` for odd k, so

    .. math:: E_u[\Phi_j(x)e^{-iu_j}]=\frac{2\sqrt2}{\pi}e^{i\omega_j^\top x}.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), equation (4).

    Examples
    --------
    >>> quantized_features([[0.0], [3.0]], [[1.0]], [0.1]).ravel().round(3).tolist()
    [(0.707+0.707j), (-0.707+0.707j)]
    """
    angles = _angles(X, frequencies)
    dither = check_real_array("phases", phases, 1)
    if dither.shape != (angles.shape[1],):
        raise ValueError(
            f"phases must have one entry per frequency ({angles.shape[1]}), "
            f"got phases of shape {dither.shape}"
        )
    angles += dither
    out = np.empty(angles.shape, np.complex128)
    half = np.sqrt(0.5)
    out.real = np.where(np.cos(angles) >= 0, half, -half)
    out.imag = np.where(np.sin(angles) >= 0, half, -half)
    return out


def quadratic_features(X: ArrayLike, frequencies: ArrayLike) -> NDArray[np.float64]:
    r"""Random quadratic features :math:`(\omega_j^\top x)^2`.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records, used as they are: whoever needs the unit ball clips first.
    frequencies : array_like of shape (n_features, m)
        One vector per column.

    Returns
    -------
    ndarray of shape (n_samples, m), float64
        Nonnegative. Their mean is linear in the second moments: it equals
        :math:`\omega_j^\top C\omega_j` with :math:`C=n^{-1}\sum_ix_ix_i^\top`.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 6.

    Examples
    --------
    >>> quadratic_features([[1.0, 2.0]], [[1.0, 1.0], [0.0, 1.0]])
    array([[1., 9.]])
    """
    angles = _angles(X, frequencies)
    return np.square(angles, out=angles)


def orthonormal_blocks(
    n_features: int, n_components: int, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Union of :math:`m/d` independent Haar orthonormal bases, side by side.

    Parameters
    ----------
    n_features, n_components : int
        Dimension d, and number m of columns, a multiple of d.
    rng : numpy.random.Generator
        Source of public randomness; never the stream of the privacy noise.

    Returns
    -------
    ndarray of shape (n_features, n_components)
        Matrix :math:`\Omega` with unit columns and :math:`\Omega\Omega^\top=(m/d)I` exactly (up to
        rounding). The first blocks of a longer draw from the same state are the shorter draw.

    Notes
    -----
    The Q factor of a Gaussian matrix is uniform on the orthogonal group once the signs of the
    diagonal of R are made positive.

    References
    ----------
    F. Mezzadri, How to generate random matrices from the classical compact groups, Notices AMS 54
    (2007) 592-604.

    Examples
    --------
    >>> omega = orthonormal_blocks(3, 6, rng=np.random.default_rng(0))
    >>> bool(np.allclose(omega @ omega.T, 2 * np.eye(3)))
    True
    """
    d = check_integer("n_features", n_features)
    m = check_integer("n_components", n_components)
    check_rng(rng)
    if m % d:
        raise ValueError(f"n_components must be a multiple of n_features={d}, got n_components={m}")
    draws = rng.standard_normal((m // d, d, d))
    bases, triangles = np.linalg.qr(draws)
    signs = np.sign(np.diagonal(triangles, axis1=1, axis2=2))  # (blocks, d), never 0
    bases = bases * signs[:, None, :]
    return np.ascontiguousarray(bases.transpose(1, 0, 2).reshape(d, m))


@dataclass(frozen=True)
class HadamardBlocks:
    """Structured frequencies: blocks ``(H D)^3`` of signs and Hadamard transforms, applied fast.

    Parameters
    ----------
    signs : ndarray of shape (n_blocks, 3, order)
        Entries 1 and -1.
    radii : ndarray of shape (n_components,)
        Length by which every column of the (padded) orthonormal blocks is multiplied.
    n_features : int
        Dimension d of the records, at most ``order``; records are padded by zeros.

    Examples
    --------
    >>> blocks = HadamardBlocks(signs=np.ones((1, 3, 2)), radii=np.array([1.0, 2.0]), n_features=2)
    >>> blocks.matrix.round(4)  # the transform thrice is the transform once; columns times radii
    array([[ 0.7071,  1.4142],
           [ 0.7071, -1.4142]])
    """

    signs: NDArray[np.float64]
    radii: NDArray[np.float64]
    n_features: int

    @property
    def order(self) -> int:
        """Padded dimension: the smallest power of two that is at least d."""
        return int(self.signs.shape[2])

    @property
    def n_components(self) -> int:
        """Number m of frequencies."""
        return len(self.radii)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The frequencies as a dense (n_features, n_components) matrix."""
        return self.transform(np.eye(self.n_features))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return angles ``X @ matrix`` of finite records: fast, ``O(m log d)`` a record."""
        records = check_real_array("X", X, 2, copy=False)
        n, d = records.shape
        if d != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got X of shape {(n, d)}")
        blocks = len(self.signs)
        work = np.zeros((n, blocks, self.order))
        work[:, :, :d] = records[:, None, :]
        for turn in range(3):
            work *= self.signs[:, turn]
            work = hadamard_transform(work.reshape(n * blocks, -1)).reshape(work.shape)
        angles: NDArray[np.float64] = work.reshape(n, -1) * self.radii
        return angles


def hadamard_blocks(
    n_features: int, n_components: int, *, rng: np.random.Generator, gamma: float | None = None
) -> HadamardBlocks:
    r"""Draw structured frequencies that are applied in :math:`O(m\log d)` a record.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1; records are padded to the next power of two p.
    n_components : int
        Number m of frequencies, a multiple of p.
    rng : numpy.random.Generator
        Source of public randomness; never the stream of the privacy noise.
    gamma : float, optional
        If given, column j has the length of a vector of :math:`N(0,2\gamma I_p)`, as the Gaussian
        kernel :math:`\exp(-\gamma\|x-y\|^2)` asks. By default every padded column has length 1.

    Returns
    -------
    HadamardBlocks
        Without ``gamma`` its matrix has :math:`\Omega\Omega^\top=(m/p)I` exactly: a tight frame,
        and a union of orthonormal bases where d is a power of two.

    Notes
    -----
    A block maps the row x to :math:`xD_1HD_2HD_3H`, with H the orthonormal Walsh-Hadamard
    matrix and D independent diagonals of signs: orthogonal, and close to Haar for the purpose.
    Not for orders of 4 or less: there a padded column can even vanish.

    References
    ----------
    F. X. Yu et al., Orthogonal random features, NeurIPS 2016 (structured orthogonal features).

    Examples
    --------
    >>> blocks = hadamard_blocks(3, 8, rng=np.random.default_rng(0))
    >>> bool(np.allclose(blocks.matrix @ blocks.matrix.T, 2 * np.eye(3)))
    True
    """
    d = check_integer("n_features", n_features)
    m = check_integer("n_components", n_components)
    check_rng(rng)
    order = 1 << (d - 1).bit_length()
    if m % order:
        raise ValueError(
            f"n_components must be a multiple of the padded dimension {order}, got n_components={m}"
        )
    bits = rng.integers(0, 2, size=(m // order, 3, order))
    signs = (2 * bits - 1).astype(np.float64)
    radii = np.ones(m)
    if gamma is not None:
        scale = np.sqrt(2.0 * check_positive("gamma", gamma))
        radii = scale * np.sqrt(rng.chisquare(order, size=m))
    return HadamardBlocks(signs, radii, d)
