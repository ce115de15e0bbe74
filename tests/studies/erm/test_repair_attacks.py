"""The attacks break the shift and fail against every repair."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.audit import gaussian_dp_lower_bound
from dplit.mechanisms import gaussian_sigma
from dplit.papers.erm.gaussian_process import largest_power
from dplit.papers.erm.leaks import kernel_hinge_pair
from dplit.streams import stream
from dplit_studies.erm import repair_attacks

pytestmark = pytest.mark.claim("erm-beyond-gp")


@pytest.mark.claim("erm-beyond-gamma", "erm-beyond-queries")
@pytest.mark.parametrize("release", ["gaussian_process", "gamma", "queries"])
def test_reconstruction_fails_against_repairs(release):
    """No record explains the values, and no guess is near; the same attack breaks the shift.

    A guess within 0.05 in all three coordinates by chance: 0.05 ** 3 = 1.3e-4 a run.
    """
    solutions, errors = repair_attacks.reconstruct_through(release, seed=0, n_repeats=3)
    assert (solutions == 0).all()
    assert (errors > 0.05).all()


def test_reconstruction_breaks_the_shift():
    solutions, errors = repair_attacks.reconstruct_through("shift", seed=0, n_repeats=3)
    assert (solutions == 1).all()
    assert errors.max() < 1e-8


def test_reconstruction_succeeds_where_the_noise_vanishes():
    """The attack on a repair is a real one: at epsilon = 1e12 it finds the record."""
    _, errors = repair_attacks.reconstruct_through(
        "gaussian_process", seed=0, n_repeats=2, epsilon=1e12
    )
    assert errors.min() < 1e-2


@pytest.mark.parametrize(("through", "runs"), [("estimator", 150), ("oracle", 1000)])
def test_power_curve_of_the_release(through, runs):
    """Bound at 0.9999 below mu; centres and spread within 5 standard errors (false alarm 2e-6).

    Over 1000 runs this sees a deficit of 12 % of the noise.
    """
    audit = repair_attacks.audit_power_curve(seed=0, runs=runs, through=through)
    assert audit.mu == pytest.approx(1 / gaussian_sigma(epsilon=4.0, delta=1e-5))
    assert gaussian_dp_lower_bound(*audit.hits(), runs, confidence=0.9999) <= audit.mu
    spread = 1.0002 / audit.mu
    for values, centre in ((audit.first, 0.5), (audit.second, -0.5)):
        assert len(values) == runs
        assert abs(values.mean() - centre) < 5 * spread / np.sqrt(runs)
        assert abs(values.std() / spread - 1) < 5 / np.sqrt(2 * runs)
    true, false = audit.rates(np.linspace(-1, 1, 5))
    limit = largest_power(np.clip(false, 1 / runs, 1), mu=audit.mu)
    assert (true <= limit + 5 * np.sqrt(2 * 0.25 / runs)).all()


def test_questions_reveal_at_most_the_distance():
    """Asking at the record attains ||d|| / sigma; no other set of points exceeds it."""
    rng = stream(0, "questions", "data")
    pair = kernel_hinge_pair(20, rng=rng)
    powers, attained = repair_attacks.search_questions(
        pair, sigma=0.3, counts=[1, 3, 12], n_sets=20, rng=rng
    )
    assert powers.shape == (3, 20)
    assert attained == pytest.approx(pair.sensitivity / 0.3, rel=1e-9)
    assert powers.max() <= attained * (1 + 1e-9)
    # One point far away sees K(x, x_m) of the distance.
    one, _ = repair_attacks.search_questions(
        pair, sigma=0.3, counts=[1], n_sets=1, rng=stream(1, "q", "data")
    )
    point = stream(1, "q", "data").uniform(-1, 1, (1, 2))
    share = float(pair.kernel(point, pair.records[-1:])[0, 0])
    assert one[0, 0] == pytest.approx(share * attained, rel=1e-9)
    with pytest.raises(ValueError, match="counts must be at least 1"):
        repair_attacks.search_questions(pair, sigma=0.3, counts=[0], n_sets=2, rng=rng)


def test_paths_scatter_around_the_two_functions():
    """40 paths a side at 9 points: 5 standard errors each, false alarm 1e-5."""
    pair = kernel_hinge_pair(20, rng=stream(0, "paths", "data"))
    ticks = np.linspace(-1, 1, 9)
    sides = repair_attacks.release_paths(pair, ticks, epsilon=2.0, delta=1e-5, n_paths=40, seed=0)
    sigma = gaussian_sigma(epsilon=2.0, delta=1e-5, sensitivity=pair.sensitivity)
    points = np.column_stack([ticks, np.full(9, pair.records[-1, 1])])
    for values, coefficients in zip(sides, (pair.coefficients, pair.neighbour), strict=True):
        assert values.shape == (40, 9)
        exact = pair.kernel(points, pair.records) @ coefficients
        assert (np.abs(values.mean(axis=0) - exact) < 5 * sigma / np.sqrt(40)).all()
    assert not np.array_equal(*sides)


def test_rates_and_hits_by_hand():
    audit = repair_attacks._PowerAudit(np.array([0.2, 1.0, -1.0]), np.array([-0.5, 0.1, -2.0]), 1.0)
    true, false = audit.rates(np.array([0.0, 0.5]))
    np.testing.assert_allclose(true, [2 / 3, 1 / 3])
    np.testing.assert_allclose(false, [1 / 3, 0.0])
    assert audit.hits() == (2, 1)
    assert audit.hits(0.5) == (1, 0)
