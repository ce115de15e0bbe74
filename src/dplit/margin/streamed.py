r"""Random features followed by a Johnson-Lindenstrauss map, one block of frequencies at a time.

Algorithm 3 compresses 2 D features to k coordinates with ``D = m^2 log(2m/beta)``: ten million
frequencies for a thousand records. Neither the features nor the matrix of signs is ever held. A
block of frequencies and its signs are drawn from a seed of their own, used, and forgotten; new
records meet the same blocks again. As D grows the law of the result has a limit, which can be drawn
without any feature: k independent paths of the Gaussian process with the kernel as covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array, check_integer, check_positive, check_rng
from dplit._trigonometry import angle_factor, scaled_cosine_and_sine

__all__ = [
    "StreamedProjection",
    "gram_entry_variance",
    "limit_projection",
    "streamed_projection",
]

Single = NDArray[np.float32]
#: Rows that meet one block of frequencies at a time.
ROWS = 1024
#: Entries are clipped here, so that every angle is finite in single precision.
LARGEST = 1e15


@dataclass(frozen=True)
class StreamedProjection:
    r"""Public map :math:`x\mapsto\Phi\hat\psi(x)` from records to k coordinates.

    Parameters
    ----------
    n_features : int
        Columns d of the records.
    n_frequencies : int
        Number D of random frequencies, so 2 D features.
    n_components : int
        Number k of coordinates of the result.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    data_norm : float
        The paper's r.
    entropy : int
        Seed of all blocks; public.
    block : int
        Frequencies in a block.
    double : bool
        Whether to compute in float64: slower, and equal for one record or many to 1e-13.

    Notes
    -----
    :math:`\Phi` has independent entries :math:`\pm1/\sqrt k`, so inner products are unbiased for
    those of the features. Memory beside input and output: ``block * (d + 2 k)`` numbers for
    frequencies and signs and ``3 * 1024 * block`` for angles, cosines and sines, in float32.
    """

    n_features: int
    n_frequencies: int
    n_components: int
    gamma: float
    data_norm: float
    entropy: int
    block: int
    double: bool = False

    @property
    def block_bytes(self) -> int:
        """Bytes of one block: frequencies, signs, and the features of 1024 records."""
        return (
            (8 if self.double else 4)
            * self.block
            * (self.n_features + 2 * self.n_components + 3 * ROWS)
        )

    def blocks(self) -> Iterator[tuple[Single, Single]]:
        """Yield frequencies (d, b) and signs (2 b, k) of every block, drawn in float32."""
        for index, start in enumerate(range(0, self.n_frequencies, self.block)):
            count = min(self.block, self.n_frequencies - start)
            rng = np.random.default_rng(np.random.SeedSequence([self.entropy, index]))
            frequencies = rng.standard_normal((self.n_features, count), dtype=np.float32)
            frequencies *= np.float32(np.sqrt(2.0 * self.gamma))
            size = 2 * count * self.n_components
            bits = np.unpackbits(np.frombuffer(rng.bytes(-(-size // 8)), np.uint8), count=size)
            signs = bits.reshape(2 * count, self.n_components).astype(np.float32)
            signs *= 2.0
            signs -= 1.0
            yield frequencies, signs

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Compress records.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Rows of mean squared norm r^2; equal rows for equal records, in every call. Not clipped.

        Raises
        ------
        ValueError
            If ``X`` is not a finite matrix of ``n_features`` columns.
        """
        records = check_finite_array("X", X, ndim=2)
        dtype = np.dtype(np.float64 if self.double else np.float32)
        records = np.clip(records, -LARGEST, LARGEST).astype(dtype)
        if records.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got X of shape {np.shape(X)}")
        n, rows = len(records), min(ROWS, len(records))
        out = np.zeros((n, self.n_components))
        angle = np.empty(rows * self.block, dtype)
        features = np.empty(rows * 2 * self.block, dtype)
        for frequencies, signs in self.blocks():
            width = frequencies.shape[1]
            weights = frequencies.astype(dtype) * dtype.type(angle_factor(dtype))
            signs = signs.astype(dtype, copy=False)
            for start in range(0, n, rows):
                part = slice(start, min(start + rows, n))
                count = part.stop - start
                angles = angle[: count * width].reshape(count, width)
                pair = features[: count * 2 * width].reshape(count, 2 * width)
                np.matmul(records[part], weights, out=angles)
                scaled_cosine_and_sine(angles, pair[:, :width], pair[:, width:], 1.0)
                out[part] += pair @ signs
        out *= self.data_norm / np.sqrt(self.n_frequencies * self.n_components)
        return out


def streamed_projection(
    n_features: int,
    n_frequencies: int,
    n_components: int,
    *,
    gamma: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    block: int = 1024,
    double: bool = False,
) -> StreamedProjection:
    """Draw a streamed map: nothing but one seed.

    Parameters
    ----------
    n_features, n_frequencies, n_components : int
        The sizes d, D and k, all at least 1. A k above 2 D is allowed and compresses nothing: the
        map stays unbiased, and a learner only draws more noise than on the features themselves.
    gamma : float
        Of the Gaussian kernel, positive.
    rng : numpy.random.Generator
        Public randomness, which gives the seed; not the stream of the privacy noise.
    data_norm : float, default=1.0
        The paper's r, positive.
    block : int, default=1024
        Frequencies in a block; part of the draw (another block size is another map).
    double : bool, default=False
        Whether to compute in float64; the drawn map is the same.

    Returns
    -------
    StreamedProjection

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer, a number is not positive or ``rng`` is a seed.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithm 3; the streaming is ours.

    Examples
    --------
    >>> from dplit.margin.streamed import streamed_projection
    >>> from dplit.streams import stream
    >>> rng = stream(0, "example", "public")
    >>> projection = streamed_projection(2, 5000, 400, gamma=0.5, rng=rng)
    >>> Z = projection.transform([[0.0, 0.0], [1.0, 1.0]])
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1.0)) < 0.25)
    True
    """
    check_integer("n_features", n_features)
    check_integer("n_frequencies", n_frequencies)
    check_integer("n_components", n_components)
    check_integer("block", block)
    gamma, data_norm = check_positive("gamma", gamma), check_positive("data_norm", data_norm)
    entropy = int(check_rng(rng).integers(2**63))
    width = min(block, n_frequencies)
    return StreamedProjection(
        n_features, n_frequencies, n_components, gamma, data_norm, entropy, width, double
    )


def limit_projection(
    kernel: ArrayLike, n_components: int, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Draw the compressed features of finitely many records in the limit of all frequencies.

    Parameters
    ----------
    kernel : array_like of shape (n, n)
        Kernel matrix of all records that will ever be compressed, symmetric and nonnegative
        definite.
    n_components : int
        Number k of coordinates.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    ndarray of shape (n, n_components)
        Columns are independent draws of :math:`N(0,K/k)`.

    Raises
    ------
    ValueError
        If the kernel is not a finite symmetric matrix or has a clearly negative eigenvalue.

    Notes
    -----
    A coordinate of the streamed map is a sum of 2 D independent centred terms given the records; by
    the central limit theorem its joint law over the records tends to :math:`N(0,K/k)`. With normal
    instead of sign entries in the projection it is :math:`N(0,\hat K/k)` for every D, with
    :math:`\hat K` the Gram matrix of the features, which tends to K.

    Examples
    --------
    >>> from dplit.margin.streamed import limit_projection
    >>> from dplit.streams import stream
    >>> limit_projection([[1.0, 1.0], [1.0, 1.0]], 3, rng=stream(0, "example", "public")).shape
    (2, 3)
    """
    matrix = check_finite_array("kernel", kernel, ndim=2)
    scale = float(np.abs(matrix).max())
    if matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T, atol=1e-12 * scale):
        raise ValueError(f"kernel must be symmetric, got kernel of shape {matrix.shape}")
    k = check_integer("n_components", n_components)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-8 * len(matrix) * scale:
        raise ValueError(f"kernel must be nonnegative definite, got eigenvalue {values[0]:.3g}")
    normal = check_rng(rng).standard_normal((len(matrix), k))
    root = vectors * np.sqrt(np.maximum(values, 0.0) / k)
    paths: NDArray[np.float64] = root @ normal
    return paths


def gram_entry_variance(value: float, n_components: int, *, method: str) -> float:
    r"""Variance of one inner product of compressed records, for a Gaussian kernel with r = 1.

    Parameters
    ----------
    value : float
        The kernel :math:`\kappa=K(x,x')` in (0, 1] of the two records.
    n_components : int
        Number k of coordinates; for direct features ``k = 2 D``.
    method : {"direct", "projected"}
        Features as they are, or the limit of projected features.

    Returns
    -------
    float
        :math:`(1-\kappa^2)^2/k` for direct features, :math:`(1+\kappa^2)/k` for projected ones.

    Notes
    -----
    Direct: the mean of D cosines, with :math:`E\cos^2=(1+\kappa^4)/2`. Projected: the product of
    two Gaussian vectors with covariance :math:`\kappa`. Direct features are exact at
    :math:`\kappa=1`.

    Examples
    --------
    >>> from dplit.margin.streamed import gram_entry_variance
    >>> round(100 * gram_entry_variance(0.88, 100, method="projected"), 3)
    1.774
    """
    kappa = check_positive("value", value)
    if kappa > 1:
        raise ValueError(f"value must be at most 1, got value={value!r}")
    k = check_integer("n_components", n_components)
    if check_choice("method", method, ("direct", "projected")) == "direct":
        return (1.0 - kappa**2) ** 2 / k
    return (1.0 + kappa**2) / k
