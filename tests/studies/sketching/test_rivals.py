"""Rivals of private clustering: what their noise is, what they spend, and that they cluster."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, kstest, laplace, norm

from benchmarks.maps import grid_clusters, hash_tree, sketching_rivals
from benchmarks.maps.grid_clusters import noisy_grid
from benchmarks.maps.hash_tree import hashed_tree
from benchmarks.maps.sketching_rivals import cluster
from dplit.audit import ledger
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream

BUDGETS = (sketching_rivals.Budget(0.7), sketching_rivals.Budget(0.7, 1e-6))


def squares(n: int, d: int, *, name: str) -> Any:
    return stream(0, name, "data").uniform(-1.0, 1.0, (n, d))


def test_counts_of_a_grid_carry_laplace_noise() -> None:
    """Mean size over 65,536 cells within 5 standard errors, 2 % (6e-7), KS at 1e-5.

    Kills half the noise, a sensitivity of 2 and Gaussian noise of the same variance.
    """
    X = squares(5000, 2, name="test-rivals-grid")
    _, noisy = noisy_grid(X, 256, epsilon=0.5, rng=stream(0, "test-rivals-grid", "noise"))
    exact = np.histogram2d(*X.T, bins=256, range=((-1, 1), (-1, 1)))[0].ravel()
    noise = noisy - exact
    assert np.abs(noise).mean() == pytest.approx(2.0, rel=5.0 / 256)
    assert kstest(noise, laplace(scale=2.0).cdf).pvalue > 1e-5
    assert kstest(noise, norm(scale=2.0 * math.sqrt(2.0)).cdf).pvalue < 1e-5


@pytest.mark.parametrize("budget", BUDGETS)
def test_sums_of_a_tree_carry_its_noise(budget: sketching_rivals.Budget) -> None:
    """Lengths of 4,000 vectors of noise: gamma or chi, KS at 1e-5, and mean squares within 5
    standard errors, 5 % (6e-7). Kills half the noise and a scale without the radius.
    """
    d = 5
    scale, _ = hash_tree.tree_scales(d, budget, 10)
    rest = 0.8 * budget.epsilon
    wanted = sketching_rivals.radius(d) / rest
    if budget.delta:
        wanted = gaussian_sigma(
            epsilon=rest, delta=budget.delta, sensitivity=sketching_rivals.radius(d)
        )
    assert scale == pytest.approx(wanted, rel=1e-12)
    drawn = hash_tree._sum_noise((4000, d), scale, budget, stream(0, "test-rivals-sums", "noise"))
    lengths = np.linalg.norm(drawn, axis=1) / wanted
    law = norm if budget.delta else gamma(d)
    if budget.delta:
        assert kstest((drawn / wanted).ravel(), law.cdf).pvalue > 1e-5
        assert np.mean(lengths**2) == pytest.approx(d, rel=5 * math.sqrt(2 / (4000 * d)))
    else:
        assert kstest(lengths, law.cdf).pvalue > 1e-5
        assert lengths.mean() == pytest.approx(d, rel=5 / math.sqrt(4000 * d))


def test_counts_of_a_tree_carry_laplace_noise() -> None:
    """Roots of 4,000 trees without records: KS at 1e-5, mean size within 5 standard errors, 8 %
    (6e-7). Kills the noise of one level on all, and counts that are told without noise.
    """
    rng, empty = stream(0, "test-rivals-counts", "noise"), np.zeros((0, 3))
    told: dict[str, Any] = {
        "n": 10**6,
        "depth": 4,
        "budget": sketching_rivals.Budget(1.0),
        "rng": rng,
    }
    trees = [hashed_tree(empty, 1, public=rng, **told) for _ in range(4000)]
    assert {len(tree.counts) for tree in trees} == {1}  # far below what may branch
    noise = np.array([tree.counts[0] for tree in trees])
    scale = 5 / 0.2
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 1e-5
    assert np.abs(noise).mean() == pytest.approx(scale, rel=5 / math.sqrt(4000))


def test_a_record_is_in_one_leaf_and_moves_it_by_its_clipped_length() -> None:
    """Without noise to speak of: leaves share the records out; kills nodes that overlap."""
    X = squares(4000, 3, name="test-rivals-leaf")
    told: dict[str, Any] = {"n": 4000, "depth": 6, "budget": sketching_rivals.Budget(1e9)}
    tree = hashed_tree(
        X,
        8,
        public=stream(0, "test-rivals-leaf", "public"),
        rng=stream(0, "test-rivals-leaf", "noise"),
        **told,
    )
    assert len(tree.counts) > 8
    assert tree.counts.sum() == pytest.approx(4000, abs=1e-3)
    clipped = X * np.minimum(1.0, sketching_rivals.radius(3) / np.linalg.norm(X, axis=1))[:, None]
    np.testing.assert_allclose(tree.sums.sum(axis=0), clipped.sum(axis=0), atol=1e-3)


#: What each rival draws, without and with a delta, and how the map sets it.
RIVALS: dict[str, tuple[str, str]] = {
    "grid": ("laplace", "laplace"),
    "grid, fine": ("laplace", "laplace"),
    "EUGkM": ("laplace", "laplace"),
    "hybrid": ("laplace", "laplace gaussian"),
    "tree, 6": ("laplace gamma_norm", "laplace gaussian"),
    "tree, 20": ("laplace gamma_norm", "laplace gaussian"),
    "moments": ("gamma_norm", "gaussian"),
    "EM, 4": ("laplace", "gaussian"),
    "EM, 8": ("laplace", "gaussian"),
}


def centres_of(name: str, X: Any, k: int, told: dict[str, Any], public: Any) -> Any:
    """Centres of a rival by its name on the map."""
    kind, _, size = name.partition(", ")
    n = len(X)
    if kind in ("grid", "EUGkM"):
        finer = 2.0 if size else 1.0
        return grid_clusters.grid_centres(X, k, n=n, finer=finer, threshold=kind == "grid", **told)
    if kind == "hybrid":
        return grid_clusters.hybrid_centres(X, k, n=n, **told)
    if kind == "tree":  # so many clusters that it branches to the end
        return hash_tree.tree_centres(X, 3000, n=n, depth=int(size), public=public, **told)
    if kind == "moments":
        return sketching_rivals.moment_centres(X, k, **told)
    return sketching_rivals.em_centres(X, k, steps=int(size), public=public, **told)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 10.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", RIVALS)
def test_rivals_spend_the_budget_and_no_more(name: str, delta: float, epsilon: float) -> None:
    """What reached the samplers, composed by others, is the budget to 2 %, and its noise is what
    the budget allows: kills a rival that is told less than it has, one that takes more, and one
    that leaves its delta. A grid has no delta to use; trees and hybrids add their parts.
    """
    pytest.importorskip("dp_accounting")
    X = squares(6000, 2, name="test-rivals-spend") * 0.3
    rng, public = (stream(0, "test-rivals-spend", role) for role in ("noise", "public"))
    with ledger() as book:
        centres_of(
            name, X, 3, {"budget": sketching_rivals.Budget(epsilon, delta), "rng": rng}, public
        )
    assert 0.98 * epsilon <= book.epsilon(delta=delta) <= epsilon * (1 + 1e-6)
    assert {draw.mechanism for draw in book} == set(RIVALS[name][delta > 0.0].split())


def clustered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is clustered from now on: places and weights of each call."""
    seen: list[Any] = []

    def kept(places: Any, weights: Any, k: int, rng: Any) -> Any:
        seen.append((places, weights))
        return np.zeros((k, places.shape[1]))

    for module in (sketching_rivals, grid_clusters, hash_tree):
        monkeypatch.setattr(module, "cluster", kept)
    return seen


def test_cells_by_hand() -> None:
    """Kills an exponent of all cells on one axis, another constant, and middles on an edge."""
    assert grid_clusters.cells_per_axis(8000, 4, 1.0) == round(800 ** (1 / 3)) == 9
    assert grid_clusters.cells_per_axis(8000, 1, 0.5) == round(400 ** (2 / 3))
    assert [sketching_rivals.radius(d) for d in (1, 4, 25)] == pytest.approx([0.9, 1.5, 3.3])
    rng = stream(0, "test-rivals-middles", "noise")
    X = np.array([[-1.0, 0.9], [-0.6, 0.4], [1.0, -1.0]])
    places, counts = noisy_grid(X, 2, epsilon=1e9, rng=rng)
    np.testing.assert_allclose(places, [[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    np.testing.assert_allclose(counts, [0, 2, 1, 0], atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.25, 4.0])
def test_a_grid_keeps_what_stands_out_of_its_noise(
    epsilon: float, monkeypatch: pytest.MonkeyPatch, watched: Any
) -> None:
    """Cells above log(cells) over epsilon, for EUGkM above 0, and always the k largest: kills a
    threshold that is lower, turned or in other units, a grid that is no finer, a hybrid of the
    other grid, and one that keeps fewer than k.
    """
    seen, drawn = clustered(monkeypatch), watched(grid_clusters, "noisy_grid")
    X, k = squares(4000, 2, name="test-rivals-keep") * 0.2, 50
    told: dict[str, Any] = {"n": 4000, "budget": sketching_rivals.Budget(epsilon)}
    rng = stream(0, "test-rivals-keep", "noise")
    grid_clusters.grid_centres(X, k, rng=rng, **told)
    grid_clusters.grid_centres(X, k, rng=rng, threshold=False, **told)
    grid_clusters.grid_centres(X, k, rng=rng, finer=2.0, **told)
    grid_clusters.grid_centres(X[:0], k, rng=rng, **told)
    grid_clusters.hybrid_centres(X, k, rng=rng, **told)
    side = grid_clusters.cells_per_axis(4000, 2, epsilon)
    sides = [side, side, 2 * side, side, grid_clusters.cells_per_axis(4000, 2, epsilon / 2)]
    for (places, weights), (*_, (_, counts)), axis, low in zip(
        seen, drawn, sides, (1, 0, 1, 1, 0), strict=True
    ):
        assert len(places) == len(counts) == axis**2
        wanted = counts > low * math.log(axis**2) / epsilon
        wanted[np.argsort(-counts)[:k]] = True
        np.testing.assert_array_equal(weights > 0.0, wanted & (counts > 0.0))
        np.testing.assert_array_equal(weights[wanted], np.maximum(counts[wanted], 0.0))


def test_moments_are_those_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean and covariance of what is drawn, within 5 standard errors of 4,000 draws (3e-6 in all):
    kills a mean that stays in the covariance and moments in the units of the ball.
    """
    seen = clustered(monkeypatch)
    rng = stream(0, "test-rivals-moments", "data")
    spread = np.array([[0.2, 0.0], [0.08, 0.1]])
    X = rng.standard_normal((5000, 2)) @ spread.T + np.array([0.3, -0.2])
    sketching_rivals.moment_centres(X, 2, budget=sketching_rivals.Budget(1e8), rng=rng)
    drawn, wanted = seen[0][0], np.cov(X.T)
    sizes = np.sqrt(np.diag(wanted))
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=5 * sizes.max() / 63)
    np.testing.assert_allclose(
        np.cov(drawn.T) / np.outer(sizes, sizes),
        wanted / np.outer(sizes, sizes),
        atol=5 * math.sqrt(2 / 4000),
    )


def test_a_tree_branches_for_a_node_in_each_half_cluster(
    monkeypatch: pytest.MonkeyPatch, watched: Any
) -> None:
    """Where noise asks for larger nodes than half a cluster has, half a cluster is enough; leaves
    count in the end by their size. Kills the noise's rule alone, and equal weights.
    """
    seen, found = clustered(monkeypatch), watched(hash_tree, "hashed_tree")
    X = squares(5000, 40, name="test-rivals-branch")
    rng, public = (stream(0, "test-rivals-branch", role) for role in ("noise", "public"))
    hash_tree.tree_centres(
        X, 20, n=5000, depth=5, budget=sketching_rivals.Budget(2.0), rng=rng, public=public
    )
    (places, weights), ((*_, tree),) = seen[0], found
    assert len(tree.counts) >= 12  # the noise asks for 250 at least, 750 before a split: 8
    np.testing.assert_array_equal(weights, np.maximum(tree.counts, 1.0))
    means = tree.sums / weights[:, None]
    np.testing.assert_allclose(places, np.clip(means, -1.0, 1.0))


def test_moments_are_of_records_in_the_unit_ball(watched: Any) -> None:
    """Corners of the box and zero: kills a row that is longer than what the noise is made for."""
    seen = watched(sketching_rivals, "_noisy_covariance")
    for d in (1, 2, 40):
        X = np.vstack([np.ones((2, d)), -np.ones((1, d)), np.zeros((1, d))])
        sketching_rivals.moment_centres(
            X, 2, budget=sketching_rivals.Budget(1.0), rng=stream(0, "test-rivals-ball", "noise")
        )
        (rows,), _, _ = seen.pop()
        lengths = np.linalg.norm(rows, axis=1)
        assert 0.999 < lengths.max() <= 1.0 + 1e-12


def test_rivals_find_clusters_where_noise_is_nothing() -> None:
    """Two clusters in the plane at epsilon 1e6: a tenth of the box at most; kills a wrong scale of
    what is decoded. Moments place their centres by a Gaussian's shape.
    """
    rng = stream(0, "test-rivals-find", "data")
    X = np.repeat([[-0.5, 0.25], [0.5, 0.0]], 3000, axis=0) + rng.normal(0, 0.05, (6000, 2))
    public, told = (
        stream(0, "test-rivals-find", "public"),
        {"budget": sketching_rivals.Budget(1e6), "rng": rng},
    )
    sized = {"n": 6000, **told}
    for centres in (
        grid_clusters.grid_centres(X, 2, **sized),
        grid_clusters.grid_centres(X, 2, threshold=False, **sized),
        grid_clusters.hybrid_centres(X, 2, **sized),
        hash_tree.tree_centres(X, 2, depth=8, public=public, **sized),
        sketching_rivals.moment_centres(X, 2, **told),
        sketching_rivals.em_centres(X, 2, steps=12, public=public, **told),
    ):
        ordered = centres[np.argsort(centres[:, 0])]
        np.testing.assert_allclose(ordered, [[-0.5, 0.25], [0.5, 0.0]], atol=0.13)


def test_edges() -> None:
    assert grid_clusters.cells_per_axis(10, 2, 0.1) == 1
    assert grid_clusters.cells_per_axis(10**9, 6, 1.0) == 6
    rng = stream(0, "test-rivals-edges", "noise")
    places = np.array([[0.1], [0.2]])
    np.testing.assert_array_equal(cluster(places, np.zeros(2), 3, rng), np.zeros((3, 1)))
    np.testing.assert_array_equal(cluster(places, np.ones(2), 3, rng), [[0.1], [0.2], [0.1]])
    few = np.zeros((1, 2))
    for budget in BUDGETS:
        told: dict[str, Any] = {"n": 100, "budget": budget, "rng": rng}
        assert grid_clusters.hybrid_centres(few, 2, **told).shape == (2, 2)
        assert hash_tree.tree_centres(few, 2, depth=3, public=rng, **told).shape == (2, 2)
        assert sketching_rivals.moment_centres(few, 2, budget=budget, rng=rng).shape == (2, 2)
