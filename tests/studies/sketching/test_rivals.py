"""Rivals of private clustering: what their noise is, what they spend, and that they cluster."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, kstest, laplace, norm

from dplit.audit import ledger
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream
from dplit_studies.sketching import rivals
from dplit_studies.sketching.rivals import (
    Budget,
    _sum_noise,
    cells_per_axis,
    cluster,
    em_centres,
    grid_centres,
    hashed_tree,
    hybrid_centres,
    moment_centres,
    noisy_grid,
    radius,
    tree_centres,
    tree_scales,
)

BUDGETS = (Budget(0.7), Budget(0.7, 1e-6))


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
def test_sums_of_a_tree_carry_its_noise(budget: Budget) -> None:
    """Lengths of 4,000 vectors of noise: gamma or chi, KS at 1e-5, and mean squares within 5
    standard errors, 5 % (6e-7). Kills half the noise and a scale without the radius.
    """
    d = 5
    scale, _ = tree_scales(d, budget, 10)
    rest = 0.8 * budget.epsilon
    wanted = radius(d) / rest
    if budget.delta:
        wanted = gaussian_sigma(epsilon=rest, delta=budget.delta, sensitivity=radius(d))
    assert scale == pytest.approx(wanted, rel=1e-12)
    drawn = _sum_noise((4000, d), scale, budget, stream(0, "test-rivals-sums", "noise"))
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
    told: dict[str, Any] = {"n": 10**6, "depth": 4, "budget": Budget(1.0), "rng": rng}
    trees = [hashed_tree(empty, 1, public=rng, **told) for _ in range(4000)]
    assert {len(tree.counts) for tree in trees} == {1}  # far below what may branch
    noise = np.array([tree.counts[0] for tree in trees])
    scale = 5 / 0.2
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 1e-5
    assert np.abs(noise).mean() == pytest.approx(scale, rel=5 / math.sqrt(4000))


def test_a_record_is_in_one_leaf_and_moves_it_by_its_clipped_length() -> None:
    """Without noise to speak of: leaves share the records out; kills nodes that overlap."""
    X = squares(4000, 3, name="test-rivals-leaf")
    told: dict[str, Any] = {"n": 4000, "depth": 6, "budget": Budget(1e9)}
    tree = hashed_tree(
        X, 8, public=stream(0, "test-rivals-leaf", "public"),
        rng=stream(0, "test-rivals-leaf", "noise"), **told,
    )  # fmt: skip
    assert len(tree.counts) > 8
    assert tree.counts.sum() == pytest.approx(4000, abs=1e-3)
    clipped = X * np.minimum(1.0, radius(3) / np.linalg.norm(X, axis=1))[:, None]
    np.testing.assert_allclose(tree.sums.sum(axis=0), clipped.sum(axis=0), atol=1e-3)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ["grid", "hybrid", "tree", "moments", "EM"])
def test_rivals_spend_the_budget_and_no_more(name: str, budget: Budget) -> None:
    """What reached the samplers, composed by others, is the budget: kills a rival that is told less
    than it has and one that takes more. A grid is pure whatever delta; the tree and the hybrid
    share epsilon by adding and give up to a fifth of it away where there is a delta.
    """
    pytest.importorskip("dp_accounting")
    X = squares(6000, 2, name="test-rivals-spend") * 0.3
    rng, public = (stream(0, "test-rivals-spend", role) for role in ("noise", "public"))
    told: dict[str, Any] = {"budget": budget, "rng": rng}
    with ledger() as book:
        if name == "grid":
            grid_centres(X, 3, n=6000, **told)
        elif name == "hybrid":
            hybrid_centres(X, 3, n=6000, **told)
        elif name == "tree":
            tree_centres(X, 400, n=6000, depth=3, public=public, **told)
        elif name == "moments":
            moment_centres(X, 3, **told)
        else:
            em_centres(X, 3, steps=4, public=public, **told)
    spent = book.epsilon(delta=budget.delta)
    assert spent <= budget.epsilon * (1 + 1e-6)
    shared = budget.delta > 0.0 and name in ("hybrid", "tree")
    assert spent >= (0.75 if shared else 0.98) * budget.epsilon


def test_moments_are_of_records_in_the_unit_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corners of the box and zero: kills a row that is longer than what the noise is made for."""
    seen = []

    def kept(rows: Any, **told: Any) -> Any:
        seen.append(rows)
        return real(rows, **told)

    real = rivals._noisy_covariance
    monkeypatch.setattr(rivals, "_noisy_covariance", kept)
    for d in (1, 2, 40):
        X = np.vstack([np.ones((2, d)), -np.ones((1, d)), np.zeros((1, d))])
        moment_centres(X, 2, budget=Budget(1.0), rng=stream(0, "test-rivals-ball", "noise"))
        lengths = np.linalg.norm(seen.pop(), axis=1)
        assert 0.999 < lengths.max() <= 1.0 + 1e-12


def test_rivals_find_clusters_where_noise_is_nothing() -> None:
    """Two clusters in the plane at epsilon 1e6: a tenth of the box at most; kills a wrong scale of
    what is decoded. Moments place their centres by a Gaussian's shape.
    """
    rng = stream(0, "test-rivals-find", "data")
    X = np.repeat([[-0.5, 0.25], [0.5, 0.0]], 3000, axis=0) + rng.normal(0, 0.05, (6000, 2))
    public, told = stream(0, "test-rivals-find", "public"), {"budget": Budget(1e6), "rng": rng}
    found = [
        grid_centres(X, 2, n=6000, **told), grid_centres(X, 2, n=6000, threshold=False, **told),
        hybrid_centres(X, 2, n=6000, **told),
        tree_centres(X, 2, n=6000, depth=8, public=public, **told),
        moment_centres(X, 2, **told), em_centres(X, 2, steps=12, public=public, **told),
    ]  # fmt: skip
    for centres in found:
        ordered = centres[np.argsort(centres[:, 0])]
        np.testing.assert_allclose(ordered, [[-0.5, 0.25], [0.5, 0.0]], atol=0.13)


def test_edges() -> None:
    assert cells_per_axis(10, 2, 0.1) == 1
    assert cells_per_axis(10**9, 6, 1.0) == 6
    rng = stream(0, "test-rivals-edges", "noise")
    places = np.array([[0.1], [0.2]])
    np.testing.assert_array_equal(cluster(places, np.zeros(2), 3, rng), np.zeros((3, 1)))
    np.testing.assert_array_equal(cluster(places, np.ones(2), 3, rng), [[0.1], [0.2], [0.1]])
    few = np.zeros((1, 2))
    for budget in BUDGETS:
        told: dict[str, Any] = {"n": 100, "budget": budget, "rng": rng}
        assert hybrid_centres(few, 2, **told).shape == (2, 2)
        assert tree_centres(few, 2, depth=3, public=rng, **told).shape == (2, 2)
        assert moment_centres(few, 2, budget=budget, rng=rng).shape == (2, 2)
