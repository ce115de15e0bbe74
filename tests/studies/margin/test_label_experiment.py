"""The experiment on label privacy: exact risk, reproducible draws, expected errors."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.margin import label_experiment

pytestmark = pytest.mark.claim("margin-exp-labeldp")

SIZES, EPSILONS = (200, 1000), (0.1, 1.0)


def test_risk_is_the_share_of_wrong_predictions():
    """Two million fresh records: 6 standard errors of the share, false alarm below 1e-8."""
    rng = stream(0, "threshold-risk", "data")
    x = 0.3 + 1e-4 * rng.uniform(-1, 1, 2_000_000)
    y = np.where(x >= 0.3, 1.0, -1.0) * np.where(rng.random(len(x)) < 0.1, -1.0, 1.0)
    thresholds = 0.3 + 1e-4 * np.array([-2.0, -0.7, 0.0, 0.25, 5.0])
    seen = [np.mean(np.where(x >= t, 1, -1) != y) for t in thresholds]
    risk = label_experiment.threshold_risk(thresholds, 0.3)
    np.testing.assert_allclose(seen, risk, atol=6 * 0.5 / np.sqrt(len(x)))
    np.testing.assert_allclose(risk, [0.5, 0.38, 0.1, 0.2, 0.5], atol=1e-12)


def test_mean_risk_between_two_thresholds_is_that_of_a_fine_grid():
    """A midpoint rule of 200,000 steps: its error is below the square of a step. Kills an integral
    without its constant beyond the inputs, and a sign."""
    edges = 0.3 + 1e-4 * np.array([-3.0, -1.2, -0.4, 0.1, 0.9, 1.1, 4.0])
    for low, high, mean in zip(
        edges[:-1], edges[1:], label_experiment._mean_risk(edges, 0.3), strict=True
    ):
        at = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
        assert label_experiment.threshold_risk(at, 0.3).mean() == pytest.approx(mean, abs=1e-9)


def test_the_class_is_the_limit_of_fine_grids():
    """The law over all thresholds against a grid of a million; the grid may be off by the share
    of one step in the narrowest piece that matters. Kills a prior that is not uniform."""
    rng = stream(0, "label-class", "data")
    x = np.sort(0.5 + 1e-4 * rng.uniform(-1, 1, 40))
    y = np.where(x >= 0.5, 1.0, -1.0) * np.where(rng.random(40) < 0.1, -1.0, 1.0)
    whole, fine = (
        label_experiment._full_class(x, y, 0.5, None),
        label_experiment._full_class(x, y, 0.5, 1_000_001),
    )
    for epsilon in (0.1, 3.0, math.inf):
        assert whole.error(epsilon) == pytest.approx(fine.error(epsilon), abs=0.02)
    assert whole.error(0.1) > 0.49
    assert whole.error(3.0) < 0.2


def test_private_labels_are_cheaper_below_a_hundred_records_over_epsilon_and_not_above():
    """Windows of more than five standard errors around independent runs of the same table."""
    table = label_experiment.label_table(SIZES, EPSILONS, draws=30, seed=0)
    mean = table.errors.mean(axis=0)
    assert table.errors.shape == (30, 2, 2, len(label_experiment.METHODS))
    few, many = mean
    np.testing.assert_allclose(few[:, :2], [[0.193, 0.499], [0.1126, 0.1126]], atol=0.01)
    np.testing.assert_allclose(many[:, :2], [[0.1205, 0.1205], [0.1025, 0.1025]], atol=0.002)
    assert np.all(mean[..., 0] < mean[..., 2])


def test_discretisation_stays_below_a_tenth_of_what_is_compared():
    """One-sided at six standard errors: false alarm below 1e-8. Kills the grid of 1,001 points on
    which the first edition stood, and one of 200,001, which binds where records are many."""
    for m, grid in ((200, 1001), (20_000, 200_001)):
        run = partial(label_experiment.label_table, (m,), (3.0,), draws=30, seed=0)
        for points, wrong in ((None, False), (grid, True)):
            lost, most = run(grid=points).discretisation()
            assert bool(lost.mean[0] > most[0] + 6 * lost.se[0]) == wrong


def test_draws_do_not_depend_on_their_number():
    few = label_experiment.label_table(SIZES, EPSILONS, draws=2, seed=3).errors
    more = label_experiment.label_table(SIZES, EPSILONS, draws=4, seed=3).errors
    np.testing.assert_array_equal(few, more[:2])
    assert np.any(few != label_experiment.label_table(SIZES, EPSILONS, draws=2, seed=4).errors)
