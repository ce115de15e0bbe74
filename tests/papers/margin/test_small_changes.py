"""Small changes of margins' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dplit.features import HadamardProjection
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.boosting import boosted_descent
from dplit.margins.compressed import draw_projection
from dplit.margins.kernel_estimators import PrivateKernelMarginClassifier
from dplit.margins.phased import _phase
from dplit.margins.plans import descent_step, phased_schedule, plan_boosted, plan_descent
from dplit.papers.margin.label_privacy import relative_deviation_bound
from dplit.papers.margin.selection import _plain_law
from dplit.papers.margin.slack import best_slack, margin_slack
from dplit.streams import stream


@pytest.mark.parametrize("empirical", [0.0, 1.0])
def test_a_class_may_be_always_right_or_always_wrong(empirical: float) -> None:
    """Kills a bound that refuses an end of the range."""
    rate = math.log(4.0 * 100 / 0.05) / 50
    expected = empirical + 2.0 * math.sqrt(empirical * rate) + 4.0 * rate
    assert relative_deviation_bound(empirical, 100, 50, beta=0.05) == pytest.approx(expected)


def test_iterates_of_a_phase_stay_in_the_ball() -> None:
    """A long step away from the ball and back. Kills a projection of what is inside alone."""
    plan = phased_schedule(margin=0.5, radius=1.0, data_norm=1.0, n_draws=4, n_features=2, mu=1.0)
    plan = replace(plan, smoothness=1e6)
    rows, order = np.array([[1.0, 0.0]]), np.zeros((1, 4), int)
    end = _phase(np.zeros((1, 2)), rows, order, np.ones((1, 4)), plan, 10.0)
    # the first iterate is 0, the step ends at length 20, and the ball ends at 1
    assert end == pytest.approx(np.array([[0.75, 0.0]]))


def test_a_step_is_that_of_its_solver() -> None:
    """Kills the accelerated step for both solvers."""
    plan = plan_descent((100, 3), Ball(0.5, 1.0, 1.0), mu=1.0, n_steps=20)
    own = descent_step(gradient=2.0, radius=1.0, sigma=plan.sigma, n_steps=20, noise_dimension=3)
    assert plan.step == own
    other = plan_descent((100, 3), Ball(0.5, 1.0, 1.0), mu=1.0, n_steps=20, solver="accelerated")
    assert other.step != own


def test_a_margin_may_be_as_long_as_the_data() -> None:
    """Kills a slack that refuses a normalised margin of one."""
    asked = {"n_samples": 100, "n_components": 50, "mu": 1.0, "beta": 0.1}
    whole, half = (margin_slack(normalized_margin=a, **asked) for a in (1.0, 0.5))
    assert half.privacy == pytest.approx(2 * whole.privacy)


@pytest.mark.claim("margin-appF")
def test_low_scores_are_likelier() -> None:
    """Kills the other sign, half and double the level, and the least sensitivity."""
    law = _plain_law([0.0, 1.0], [1.0, 4.0], epsilon=2.0)
    assert law[0] / law[1] == pytest.approx(math.exp(0.25))


def test_a_projection_is_of_the_kind_that_is_asked_for() -> None:
    """Kills the other kind."""
    rng = stream(1, "kinds of projections", "public")
    assert isinstance(draw_projection(5, 3, kind="fast", rng=rng), HadamardProjection)
    assert isinstance(draw_projection(5, 3, kind="sign", rng=rng), np.ndarray)


def test_no_noise_is_a_level_without_end() -> None:
    """Kills a slack that refuses it."""
    asked = {"normalized_margin": 0.5, "n_samples": 100, "beta": 0.1}
    assert best_slack(mu=math.inf, **asked).total < best_slack(mu=0.1, **asked).total


def test_a_plan_without_noise_beside_one_with_noise_silences_nobody() -> None:
    """Kills noise that is drawn only where every plan has some."""
    X, y = np.array([[0.3, 0.4], [0.1, -0.2]]), np.array([1.0, -1.0])
    plans = [plan_descent((2, 2), Ball(0.5, 1.0, 1.0), mu=mu, n_steps=3) for mu in (math.inf, 1.0)]
    first, second = (
        noisy_hinge_descent(X, y, *plans, n_draws=1, rng=np.random.default_rng(seed))
        for seed in (0, 1)
    )
    assert np.array_equal(first[0], second[0])
    assert not np.array_equal(first[1], second[1])


@pytest.mark.parametrize(("asked", "features"), [(4, 4), (5, 6)])
def test_features_come_in_pairs_and_no_more_than_are_asked_for(asked: int, features: int) -> None:
    """Kills a pair too many."""
    model = PrivateKernelMarginClassifier(n_components=asked)
    model.gamma_ = 1.0
    drawn = model._draw_features(3, stream(1, "pairs", "public"))
    assert drawn.transform(np.zeros((2, 3))).shape == (2, features)


def test_every_phase_of_every_pass_uses_gradients() -> None:
    """Kills the longest phase for all of them."""
    rng = stream(1, "gradients of passes", "data")
    X, y = rng.uniform(-0.5, 0.5, (40, 2)), np.resize([1.0, -1.0], 40)
    plan = plan_boosted((40, 2), Ball(0.5, 1.0, 1.0), epsilon=1.0, delta=1e-3)
    found = boosted_descent(X, y, plan, rng=stream(1, "gradients of passes", "noise"))
    assert found.n_gradients == plan.runs * sum(plan.phases.sizes)
    assert len(found.candidates) == plan.runs


def test_features_of_a_kernel_are_computed_in_double_precision() -> None:
    """Sums are rounded to a grid that single precision would miss, and its rows are longer than the
    noise was made for. Kills it, in either kind of features.
    """
    model = PrivateKernelMarginClassifier(n_components=4)
    model.gamma_ = 1.0
    for kind in (None, 8):
        model.set_params(n_frequencies=kind)
        drawn = model._draw_features(3, stream(0, "double", "public"))
        assert drawn.double
        assert drawn.transform(np.zeros((2, 3))).dtype == np.float64
