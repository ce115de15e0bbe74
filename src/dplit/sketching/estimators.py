"""Estimators that learn from one private sketch: k-means, Gaussian mixtures, principal components.

Each fits from data, and then releases the sketch under its parameters and decodes it; or, by
``fit_sketch``, from a sketch that was released before. The sketch is the only thing that sees the
data: one release serves any number of them, at the price of one.
"""

from __future__ import annotations

from dplit.sketching._compressive_kmeans import CompressiveKMeans
from dplit.sketching._compressive_mixture import CompressiveGaussianMixture
from dplit.sketching._compressive_pca import CompressivePCA
from dplit.sketching._sketch_estimator import noise_sensitivity, spent_epsilon

__all__ = [
    "CompressiveGaussianMixture",
    "CompressiveKMeans",
    "CompressivePCA",
    "noise_sensitivity",
    "spent_epsilon",
]
