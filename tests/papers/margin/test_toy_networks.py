"""Exhaustive networks: multisets with copies against naive loops over all networks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dplit.papers.margin.exponential import cover_law
from dplit.papers.margin.networks import network_output
from dplit.streams import stream
from dplit_studies.margin import toy_networks
from dplit_studies.trials import Trial, run_trials


def _all_units():
    axis, outputs = np.linspace(-2, 2, 9), np.linspace(-2, 2, 5)
    return [(np.array([x, y]), a) for x, y, a in product(axis, axis, outputs)]


def _naive_counts(X, y, width):
    """Errors of every one of the 405^width networks, without any symmetry."""
    units = _all_units()
    hidden = np.array([a * np.tanh(2.0 * (X @ c)) for c, a in units])
    if width == 1:
        return np.count_nonzero(hidden * y <= 0, axis=1)
    return np.concatenate([np.count_nonzero((hidden + u) * y <= 0, axis=1) for u in hidden])


@pytest.mark.claim("margin-thm51")
@pytest.mark.parametrize("width", [1, 2])
def test_distinct_networks_stand_for_all(width):
    """Histogram of errors over all networks, exactly."""
    X = stream(0, "toy-naive", "data").uniform(-1, 1, (15, 2))
    y = toy_networks.teacher_labels(X)
    networks = toy_networks.ToyNetworks(width)
    _, copies = networks.multisets
    assert copies.sum() == 405**width
    counts = networks.error_counts(X, y).astype(int)
    seen = np.bincount(counts, weights=copies, minlength=16)
    naive = np.bincount(_naive_counts(X, y, width), minlength=16)
    np.testing.assert_array_equal(seen, naive)


def test_numbers_of_distinct_networks():
    assert len(toy_networks.ToyNetworks(2).multisets[0]) == 161 * 162 // 2
    members, copies = toy_networks.ToyNetworks(3).multisets
    assert len(members) == 161 * 162 * 163 // 6
    assert copies.sum() == 66_430_125


@pytest.mark.claim("margin-thm51")
def test_counts_of_three_units_by_the_network():
    """Twenty networks of width 3 against the general evaluation."""
    networks = toy_networks.ToyNetworks(3)
    rng = stream(0, "toy-three", "data")
    X = rng.uniform(-1, 1, (25, 2))
    y = toy_networks.teacher_labels(X)
    counts = networks.error_counts(X, y)
    columns, outputs, _ = networks.units
    for place in rng.integers(0, len(counts), 20):
        units = networks.multisets[0][place]
        h = network_output(X, [columns[units].T, outputs[units]], slope=4.0)
        assert counts[place] == np.count_nonzero(y * h <= 0)


@pytest.mark.claim("margin-thm51")
def test_expected_errors_by_the_full_law():
    """The law over all 405 networks of width 1, without symmetries."""
    X = stream(0, "toy-law", "data").uniform(-1, 1, (40, 2))
    y, grid = toy_networks.teacher_labels(X), toy_networks.spread_points(144)
    networks = toy_networks.ToyNetworks(1)
    population = networks.error_counts(grid, toy_networks.teacher_labels(grid)) / len(grid)
    result = networks.expected_errors(
        networks.error_counts(X, y), population, n_samples=40, epsilon=0.3
    )
    naive = _naive_counts(X, y, 1)
    law = cover_law(naive, epsilon=0.3)
    test = _naive_counts(grid, toy_networks.teacher_labels(grid), 1) / len(grid)
    assert result.train == pytest.approx(law @ naive / 40, rel=1e-12)
    assert result.test == pytest.approx(law @ test, rel=1e-12)
    assert result.best_train == naive.min() / 40


def test_the_teacher_is_in_the_class():
    X = toy_networks.spread_points(900)
    y = toy_networks.teacher_labels(X)
    networks = toy_networks.ToyNetworks()
    assert networks.error_counts(X, y).min() == 0
    assert set(np.unique(y)) == {-1.0, 1.0}


def test_points_are_spread():
    """Every one of 64 cells of the square holds its share of 6400 points, nearly."""
    X = toy_networks.spread_points(6400)
    cells = np.histogram2d(X[:, 0], X[:, 1], bins=8, range=[[-1, 1], [-1, 1]])[0]
    assert cells.sum() == 6400
    assert np.abs(cells - 100).max() <= 4


def test_trials_are_reproducible_and_errors_fall_with_epsilon():
    networks, X = toy_networks.ToyNetworks(), toy_networks.spread_points(400)
    population = networks.error_counts(X, toy_networks.teacher_labels(X)) / 400
    options = {"networks": networks, "population": population, "n_samples": 300}

    def trial(t):
        return toy_networks.toy_trial(t, epsilons=(0.1, 0.5, 4.0), **options)

    results = run_trials(trial, 3, seed=0, name="toy-trials")
    assert results[0].shape == (3, 2)
    np.testing.assert_array_equal(results[1], trial(Trial(1, seed=0, name="toy-trials")))
    assert np.all(np.diff(np.array(results)[:, :, 0], axis=1) < 0)
