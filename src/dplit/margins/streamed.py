"""Random features followed by a Johnson-Lindenstrauss map, one block of frequencies at a time.

Algorithm 3 has ten million frequencies for a thousand records: a block and its signs are drawn
from a seed of their own, used and forgotten, and new records meet the same blocks again. As D
grows the law tends to that of k paths of the Gaussian process with the kernel as covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_integer, check_positive, check_real_array, check_rng
from dplit._numerics.trigonometry import angle_factor, scaled_cosine_and_sine
from dplit.margins.feature_maps import _LARGEST

_Single = NDArray[np.float32]

#: Rows that meet one block of frequencies at a time.
_ROWS = 1024


@dataclass(frozen=True)
class StreamedProjection:
    r"""Public map :math:`x\mapsto\Phi\hat\psi(x)` to k coordinates, block after block. Entries of
    :math:`\Phi` are :math:`\pm1/\sqrt k`: inner products are unbiased. ``entropy`` seeds all blocks
    of ``block`` frequencies; ``double`` computes in float64.

    >>> one = StreamedProjection(2, 4, 3, gamma=1.0, entropy=7, block=2)
    >>> again = StreamedProjection(2, 4, 3, gamma=1.0, entropy=7, block=2)
    >>> bool((one.transform(np.eye(2)) == again.transform(np.eye(2))).all())
    True
    """

    n_features: int
    n_frequencies: int
    n_components: int
    gamma: float
    entropy: int
    block: int
    double: bool = False

    def blocks(self) -> Iterator[tuple[_Single, _Single]]:
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
        """Compress records (n, d) to (n, k), of mean squared norm 1, not clipped."""
        records = check_real_array("X", X, 2, copy=False)
        dtype = np.dtype(np.float64 if self.double else np.float32)
        records = np.clip(records, -_LARGEST, _LARGEST).astype(dtype)
        if records.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got X of shape {np.shape(X)}")
        n, rows = len(records), min(_ROWS, len(records))
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
        out *= 1.0 / np.sqrt(self.n_frequencies * self.n_components)
        return out


def streamed_projection(
    n_features: int,
    n_frequencies: int,
    n_components: int,
    *,
    gamma: float,
    rng: np.random.Generator,
    block: int = 1024,
    double: bool = False,
) -> StreamedProjection:
    """Draw a streamed map of D frequencies to k coordinates: nothing but one public seed.

    Another block size is another map; ``double`` changes the precision alone.

    >>> narrow = streamed_projection(1, 4000, 2000, gamma=0.5, rng=np.random.default_rng(0))
    >>> Z = narrow.transform([[0.0], [1.0]])
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5)) < 0.1)
    True
    """
    check_integer("n_features", n_features)
    check_integer("n_frequencies", n_frequencies)
    check_integer("n_components", n_components)
    check_integer("block", block)
    gamma = check_positive("gamma", gamma)
    entropy = int(check_rng(rng).integers(2**63))
    width = min(block, n_frequencies)
    return StreamedProjection(
        n_features, n_frequencies, n_components, gamma, entropy, width, double
    )
