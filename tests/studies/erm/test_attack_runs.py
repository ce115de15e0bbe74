"""The attacks in numbers: certain where claimed, equal to exact probabilities, reproducible."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.audit import epsilon_lower_bound
from dplit.papers.erm.line_pairs import hinge_pair
from dplit.papers.erm.scales import least_squares_scale
from dplit.streams import stream
from dplit_studies.erm import repair_attacks
from dplit_studies.trials import Trial

PAIR = hinge_pair(n_records=101, regularization=0.1)


def _rng(trial=0):
    return stream(22, "erm-attack-runs", "noise", trial)


@pytest.mark.claim("erm-lem1")
@pytest.mark.parametrize("scale", [0.05, 5.0, 1e5])
def test_every_release_is_told_apart(scale):
    f, g = PAIR.values([1.0, -1.0])
    assert repair_attacks.two_point_hits(f, g, scale=scale, runs=10_000, rng=_rng()) == (10_000, 0)
    assert epsilon_lower_bound(10_000, 0, 10_000, confidence=0.999) > 7.0


@pytest.mark.claim("erm-lem1")
def test_fresh_noise_keeps_its_budget_against_the_same_attack():
    """Two answers at 0.5 each: the ratio of hit rates is at most e (false alarm below 1e-4)."""
    f, g = PAIR.values([1.0, -1.0])
    scale = PAIR.distance / 0.5
    hits = repair_attacks.two_point_hits(
        f, g, scale=scale, runs=50_000, rng=_rng(1), as_printed=False
    )
    assert epsilon_lower_bound(*hits, 50_000, confidence=0.9999) <= 1.0
    assert hits[0] > hits[1]


@pytest.mark.claim("erm-beyond-reconstruction")
def test_five_or_more_answers_give_one_record_and_four_may_not():
    runs = repair_attacks.reconstruction_runs((3, 4, 5, 8, 12), n_trials=4, seed=0)
    assert (runs.solutions[:, 2:] == 1).all()
    assert runs.farthest[:, 2:].max() <= 1e-8
    assert (runs.solutions[:, 0] > 5).all()
    assert runs.solutions[:, 1].max() > 1  # several exact records from four answers
    assert runs.farthest[:, 1].max() > 0.1
    assert (runs.nearest <= runs.farthest).all()
    assert np.abs(runs.shifts).min() > 0


@pytest.mark.claim("erm-beyond-reconstruction")
def test_a_search_that_explains_nothing_is_made_again():
    """Data set 5 with six answers: 40 starts find no record, although the true one explains them.

    The points are nested, so that six answers admit no record that five exclude.
    """
    trial = Trial(5, seed=0, name="erm-beyond-reconstruction")
    target = repair_attacks._reconstruction_target(trial)
    missed = 0
    for k in range(20):
        found = repair_attacks._reconstruct_target(target, 6, rng=_rng(100 + k), restarts=10)
        missed += not len(found.solutions)
        for record in found.solutions:
            assert np.abs(record - target.record).max() < 1e-8
    assert missed <= 5
    runs = repair_attacks.reconstruction_runs((2, 3, 4, 5, 6), n_trials=6, seed=0)
    assert (runs.solutions[:, 3:] == 1).all()
    assert runs.farthest[:, 3:].max() < 1e-8


@pytest.mark.claim("erm-beyond-reconstruction")
def test_the_attack_fails_against_fresh_noise():
    runs = repair_attacks.reconstruction_runs((5, 12), n_trials=2, seed=0, as_printed=False)
    assert (runs.solutions == 0).all()
    assert not (runs.nearest < 1e-3).any()


@pytest.mark.claim("erm-beyond-reconstruction")
def test_targets_are_released_with_the_printed_noise():
    trials = [Trial(t, seed=1, name="erm-target") for t in range(300)]
    targets = [repair_attacks._reconstruction_target(trial) for trial in trials]
    shifts = np.array([t.answers[0] - t.exact[0] for t in targets])
    scale = least_squares_scale(
        epsilon=0.5, kappa=1.0, label_bound=1.0, regularization=0.05, n_records=50, rule="printed"
    )
    # |b|/s is Exp(1): the mean of 300 has standard error 0.058; 4.5 of them, false alarm 7e-6
    assert abs(np.abs(shifts).mean() / scale - 1.0) < 4.5 / np.sqrt(300)
    first = targets[0]
    assert np.ptp(first.answers - first.exact) < 1e-12
    assert first.X.shape == (50, 2)
    assert np.abs(first.y).max() <= 1.0
    assert np.array_equal(first.record, np.append(first.X[-1], first.y[-1]))


def test_runs_do_not_depend_on_workers_or_later_trials():
    one = repair_attacks.reconstruction_runs((5,), n_trials=1, seed=3)
    two = repair_attacks.reconstruction_runs((5,), n_trials=2, seed=3)
    assert np.array_equal(one.farthest[0], two.farthest[0])
    assert one.shifts[0] == two.shifts[0]
