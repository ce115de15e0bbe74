"""The k-means risk against all pairs of distances and scikit-learn; Lloyd references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from dplit.sketching.decoders.kmeans_cost import sse
from dplit_studies.sketching.clompr_reference import _LloydReference, lloyd, lloyd_reference


def _data(n=3000, d=5, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 2.0, (n, d)), rng.normal(shift, 2.0, (7, 4, d))


@pytest.mark.claim("sketch-def2")
def test_risk_is_the_mean_of_least_squared_distances():
    """Kills a sum in place of the mean, unsquared distances and a maximum in place of a minimum."""
    X, centroids = _data()
    naive = [np.mean(np.min(cdist(X, c, "sqeuclidean"), axis=1)) for c in centroids]
    np.testing.assert_allclose(sse(X, centroids), naive, rtol=1e-12)
    assert sse(X, centroids[0]) == pytest.approx(naive[0], rel=1e-12)
    grid = sse(X, centroids[:6].reshape(2, 3, 4, 5))
    np.testing.assert_allclose(grid.ravel(), naive[:6], rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_single_precision_survives_a_shift(shift):
    """Centring comes before squaring: kills the cancellation of |x|^2 - 2<x, c> + |c|^2."""
    X, centroids = _data(shift=shift)
    single = X.astype(np.float32)
    exact = sse(single.astype(float), centroids.astype(np.float32).astype(float))
    np.testing.assert_allclose(sse(single, centroids.astype(np.float32)), exact, rtol=1e-4)


def test_blocks_do_not_matter(monkeypatch):
    X, centroids = _data()
    whole = sse(X, centroids)
    monkeypatch.setattr("dplit.sketching.decoders.kmeans_cost._BLOCK", 1)
    np.testing.assert_allclose(sse(X, centroids), whole, rtol=1e-12)


def test_lloyd_returns_what_scikit_learn_finds_and_its_risk():
    X, _ = _data()
    centroids, cost = lloyd(X, 3, n_starts=4, rng=np.random.default_rng(5))
    seed = int(np.random.default_rng(5).integers(2**31))
    peer = KMeans(3, n_init=4, random_state=seed).fit(X)
    np.testing.assert_array_equal(centroids, peer.cluster_centers_)
    assert cost == pytest.approx(peer.inertia_ / len(X), rel=1e-10)


def test_references_are_ordered_and_use_what_they_are_given(monkeypatch):
    """`many` is never above `few`; a start at the truth repairs poor ones.

    The subsample is made tiny, so that its starts are useless and only the true centres help.
    """
    rng = np.random.default_rng(0)
    centers = 40.0 * rng.normal(size=(12, 2))
    X = centers[rng.integers(12, size=2400)] + rng.normal(size=(2400, 2))
    reference = lloyd_reference(X, 12, rng=np.random.default_rng(0), centers=centers)
    assert reference.many <= reference.few
    assert reference.many == pytest.approx(2.0, rel=0.1)
    monkeypatch.setattr("dplit_studies.sketching.clompr_reference._SUBSAMPLE", 30)
    again = lloyd_reference(X, 12, rng=np.random.default_rng(0), centers=centers)
    assert again.many == pytest.approx(reference.many, rel=1e-9)
    alone = lloyd_reference(X, 12, rng=np.random.default_rng(0))
    assert alone.few == again.few
    assert isinstance(alone, _LloydReference)
