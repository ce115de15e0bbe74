"""The family on the line: minimisers on a grid, risks by simulation of the distribution."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.margin.projection_trials import LineDistribution, comparator_slack

pytestmark = pytest.mark.claim("margin-appH")


@pytest.mark.parametrize("gamma", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
def test_minimiser_on_a_grid(gamma, share):
    """Least-norm minimiser: 1/gamma below the critical noise, 1/r above it."""
    base = LineDistribution(gamma, 0.5)
    line = LineDistribution(gamma, 0.5, flip=min(share * base.critical_flip, 0.49))
    grid = np.unique(np.concatenate([np.linspace(0, 2 / gamma, 4001), [1.0, 1 / gamma]]))
    risk = line.expected_hinge(grid)
    least = grid[np.flatnonzero(risk <= risk.min() + 1e-12)[0]]
    assert line.minimiser == pytest.approx(least, rel=1e-9)
    assert line.minimiser == pytest.approx(1 / gamma if share < 1 else 1.0, rel=1e-12)


def test_risks_by_hand():
    line = LineDistribution(0.1, 0.4, flip=0.05, radius=2.0)
    w = 3.0
    hinge = 0.4 * (1 - 0.3) + 0.6 * 0.05 * (1 + 6.0)
    np.testing.assert_allclose(line.expected_hinge(w), [hinge], rtol=1e-12)
    np.testing.assert_allclose(line.zero_one_error([0.1, 3.0, 50.0]), [0.03] * 3, rtol=1e-12)
    np.testing.assert_allclose(line.zero_one_error([-1.0, 0.0]), [0.97, 1.0], rtol=1e-12)
    assert line.critical_flip == pytest.approx(0.4 * 0.1 / (0.6 * 2.0), rel=1e-12)


@pytest.mark.claim("margin-fig1")
def test_atoms_are_a_distribution():
    """Simulated labels: 2e5 draws, 4 standard errors, false alarm 1e-4."""
    line = LineDistribution(0.2, 0.3, flip=0.1)
    _values, masses = line.atoms
    assert masses.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(masses, [0.3, 0.63, 0.07], rtol=1e-12)
    rng = stream(0, "line", "data")
    near = rng.random(200_000) < 0.3
    x = np.where(near, 0.2, 1.0) * rng.choice([-1, 1], 200_000)
    y = np.sign(x) * np.where(~near & (rng.random(200_000) < 0.1), -1, 1)
    loss = np.maximum(1 - 2.0 * y * x, 0)
    risk = line.expected_hinge(2.0)[0]
    assert abs(loss.mean() - risk) < 4 * loss.std() / np.sqrt(200_000)


def test_slack_of_the_two_comparators():
    options = {"n_samples": 10_000, "data_norm": 1.0}
    assert comparator_slack(1.0, margin=0.5, **options) == pytest.approx(0.04, rel=1e-12)
    assert comparator_slack(1e4, margin=1.0, **options) == pytest.approx(200.0, rel=1e-12)
