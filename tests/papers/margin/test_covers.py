"""Lattice covers: covering radius attained at the deep holes, streams equal to arrays."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.margin import covers
from dplit.streams import stream
from dplit_studies.margin import coverage

SHAPES = [(1, 1.0, 0.3, 5), (2, 2.0, 0.1, 681), (3, 2.0, 0.2, 3695), (4, 2.0, 0.5, 3121)]


@pytest.mark.claim("margin-alg1")
@pytest.mark.parametrize(("k", "radius", "gamma", "size"), SHAPES)
def test_it_is_a_cover(k, radius, gamma, size):
    """Random points of the ball are within gamma: deterministic. Kills a longer side."""
    cover = covers.ball_cover(k, radius=radius, covering_radius=gamma)
    assert len(cover) == size
    assert np.all(np.linalg.norm(cover, axis=1) <= radius * (1 + 1e-12))
    rng = stream(0, f"cover-{k}", "data")
    probes = rng.standard_normal((20_000, k))
    probes *= (radius * rng.random((20_000, 1)) ** (1 / k)) / np.linalg.norm(
        probes, axis=1, keepdims=True
    )
    assert coverage.cover_distance(cover, probes) <= gamma


@pytest.mark.claim("margin-alg1")
@pytest.mark.parametrize(("k", "radius", "gamma", "size"), SHAPES[1:3])
def test_deep_holes_attain_the_radius(k, radius, gamma, size):
    """Cube centres well inside are at exactly gamma; kills a shorter side."""
    holes = coverage.deep_holes(k, radius=radius - 2 * gamma, covering_radius=gamma)
    cover = covers.ball_cover(k, radius=radius, covering_radius=gamma)
    assert coverage.cover_distance(cover, holes) == pytest.approx(gamma, rel=1e-12)


def test_count_against_brute_force():
    side = covers._lattice_side(n_components=3, covering_radius=0.2)
    axis = side * np.arange(-12, 13)
    grid = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3)
    inside = np.linalg.norm(grid, axis=1) <= 1.2 * (1 + 1e-12)  # some lie on the sphere
    assert len(covers.ball_cover(3, radius=1.0, covering_radius=0.2)) == inside.sum()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    """The cover of a scaled ball is the scaled cover."""
    one = covers.ball_cover(2, radius=1.0, covering_radius=0.3)
    other = covers.ball_cover(2, radius=scale, covering_radius=0.3 * scale)
    np.testing.assert_allclose(other, scale * one, rtol=1e-12)


def test_shifted_lattice_avoids_zero_and_is_symmetric():
    cover = covers.ball_cover(4, radius=1.0, covering_radius=0.5, shifted=True)
    assert np.all(cover != 0)
    assert {tuple(row) for row in cover} == {tuple(row) for row in -cover}
    flipped = cover * np.array([-1, 1, 1, 1])
    assert {tuple(row) for row in cover} == {tuple(row) for row in flipped}


@pytest.mark.claim("margin-thm31")
def test_sizes():
    """The volume estimate is near the count; the bound is above both in small dimensions."""
    estimate = covers.log_lattice_size(3, radius=2.0, covering_radius=0.1)
    count = len(covers.ball_cover(3, radius=2.0, covering_radius=0.1))
    assert estimate == pytest.approx(np.log(count), abs=0.02)
    bound = covers._log_cover_bound(3, radius=2.0, covering_radius=0.1)
    assert bound == pytest.approx(3 * np.log(41.0), rel=1e-12)
    assert bound > np.log(count)
    high = {"radius": 2.0, "covering_radius": 0.05}
    assert covers.log_lattice_size(390, **high) > covers._log_cover_bound(390, **high) + 10
