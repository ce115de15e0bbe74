"""Random Fourier features of the Gaussian kernel, blocked and in place.

The three maps of one draw of frequencies ``w_k ~ N(0, 2 gamma I)``:

=============== =============================================== ======================
kind            coordinates (``normalize=True``)                output columns
=============== =============================================== ======================
phased_cosine   sqrt(2/N) cos(<w_k, x> + b_k)                   N frequencies
cos_sin         sqrt(2/N) [cos<w_k, x>, sin<w_k, x>]            2 per frequency, N in all
complex         1/sqrt(N) exp(i <w_k, x>)                       N frequencies
=============== =============================================== ======================

Inner products of any of them are unbiased for ``exp(-gamma ||x - y||^2)``. Angles are one matrix
product per block of rows; cosines follow in cache (``dplit._numerics.trigonometry``). Where only
inner products are wanted, no more than a block of the map is ever in memory.

Random projections that keep lengths stand beside them: independent signs, and the fast map through
the Hadamard transform (``dplit.features.projections``). The maps that only sketches use, one-bit
and quadratic, and frequencies in orthonormal blocks, are in ``dplit.features.sketch_maps``.
"""

from __future__ import annotations

from dplit._numerics.trigonometry import fast_cos
from dplit.features.fourier import (
    RandomFourierFeatures,
    complex_features,
    cos_sin_features,
    feature_gram,
    gaussian_kernel,
    phased_cosine_features,
    random_frequencies,
)
from dplit.features.projections import (
    HadamardProjection,
    hadamard_projection,
    hadamard_transform,
    sign_projection,
)
from dplit.features.sketch_maps import (
    HadamardBlocks,
    hadamard_blocks,
    orthonormal_blocks,
    quadratic_features,
    quantized_features,
)

__all__ = [
    "HadamardBlocks",
    "HadamardProjection",
    "RandomFourierFeatures",
    "complex_features",
    "cos_sin_features",
    "fast_cos",
    "feature_gram",
    "gaussian_kernel",
    "hadamard_blocks",
    "hadamard_projection",
    "hadamard_transform",
    "orthonormal_blocks",
    "phased_cosine_features",
    "quadratic_features",
    "quantized_features",
    "random_frequencies",
    "sign_projection",
]
