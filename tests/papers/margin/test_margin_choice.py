"""Private choice of the margin: laws by enumeration and by draws, sensitivities, experiments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.accounting import gdp_budget
from dplit.margins import _learning
from dplit.margins._learning import learn
from dplit.margins.balls import Ball
from dplit.margins.plans import margin_grid, plan_learning
from dplit.mechanisms import selection
from dplit.papers.margin.selection import (
    _choice_scores,
    choice_bound,
    choice_sensitivities,
    generalized_law,
)
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from dplit_studies.margin import choice_experiment
from dplit_studies.margin.choice_experiment import (
    by_objective,
    choice_instances,
    expected_scores,
    margin_table,
    private_choices,
    u_shape,
)

SCORES, WIDTHS = np.array([0.7, 0.4, 0.3, 0.45]), np.array([0.02, 0.03, 0.05, 0.09])


@pytest.mark.claim("margin-appF")
def test_law_by_hand():
    """Kills a factor 2 in the exponent, and a score that is not compared with all others."""
    q, w = SCORES + 2 * math.log(4 / 0.1) * WIDTHS, WIDTHS
    worst = [max((q[i] - q[j]) / (w[i] + w[j]) for j in range(4)) for i in range(4)]
    expected = np.exp(-0.5 * np.array(worst))
    law = generalized_law(SCORES, WIDTHS, epsilon=1.0, beta=0.1)
    np.testing.assert_allclose(law, expected / expected.sum(), rtol=1e-12)


@pytest.mark.claim("margin-appF")
def test_guarantee_and_privacy_of_random_instances():
    check = choice_instances(600, size=10, epsilon=1.0, beta=0.1, rng=stream(0, "gem", "data"))
    assert 0 < check.failure <= 0.1
    assert 0.6 < check.largest_log_ratio <= 1.0
    tight = choice_instances(100, size=2, epsilon=0.5, beta=0.9, rng=stream(0, "two", "data"))
    assert tight.largest_log_ratio <= 0.5


@pytest.mark.claim("margin-appF")
def test_bound_by_hand():
    value = choice_bound(SCORES, WIDTHS, epsilon=1.0, beta=0.1)
    assert value == pytest.approx(min(SCORES + 4 * math.log(40) * WIDTHS), rel=1e-12)


@pytest.mark.claim("margin-appF")
@pytest.mark.parametrize(("inflation", "factor"), [(1.0, 1.0), (2.0, 4.0)])
def test_sensitivity_of_the_objective_by_search(inflation, factor):
    """Random weights and replacements in the inflated space: never exceeded, 0.99 attained."""
    margins = margin_grid(radius=1.0, data_norm=1.0, size=4)
    widths = choice_sensitivities(
        margins, radius=1.0, data_norm=1.0, n_samples=50, inflation=inflation
    )
    np.testing.assert_allclose(widths, (1 + factor / margins) / 50, rtol=1e-12)
    for rho, width in zip(margins, widths, strict=True):
        w = np.array([inflation, 0.0])
        changes = []
        for angle in np.linspace(0, np.pi, 40):
            x = inflation * np.array([np.cos(angle), np.sin(angle)])
            changes.append(abs(np.diff([max(0, 1 - s * (w @ x) / rho) for s in (1, -1)])[0]) / 50)
        assert max(changes) <= width + 1e-12
        assert max(changes) >= 0.99 * width


@pytest.mark.claim("margin-exp-rho")
def test_objective_is_u_shaped_with_its_minimum_below_the_margin():
    table = margin_table()
    assert u_shape(table.objective)
    assert table.margins[int(np.argmin(table.objective))] == 0.25
    np.testing.assert_allclose(
        table.objective[:6], [0.702, 0.403, 0.301, 0.462, 0.816, 1.53], atol=0.05
    )
    peer = table.hinge + 2 / (table.margins * math.sqrt(2000))
    np.testing.assert_allclose(table.objective, peer, rtol=1e-12)
    assert np.ptp(table.error) < 0.01
    assert table.margin_loss[:2].tolist() == [1.0, 1.0]
    assert table.margin_loss[2:].max() < 0.08
    assert 0.03 < table.error[0] < 0.07


@pytest.mark.claim("margin-exp-rho")
def test_paying_each_its_own_sensitivity_is_cheaper():
    table = margin_table()
    for epsilon in (0.1, 1.0):
        mine, plain = expected_scores(table, n_samples=2000, epsilon=epsilon)
        widths = choice_sensitivities(
            table.margins, radius=1, data_norm=1, n_samples=2000, inflation=1.0
        )
        law = generalized_law(table.objective, widths, epsilon=epsilon, beta=0.05)
        assert mine == pytest.approx(float(law @ table.objective), rel=1e-12)
        assert table.objective.min() <= mine < plain
    assert expected_scores(table, n_samples=2000, epsilon=1.0)[0] < 0.2809 + 0.03


@pytest.mark.claim("margin-exp-rho")
def test_private_choice_end_to_end():
    """12 data sets at epsilon = 1: error .05 is the best; .08 is 8 standard deviations away."""
    margins, errors, fitted = private_choices(12, epsilon=1.0)
    assert set(margins) <= {0.5, 0.25, 0.125}
    assert errors.mean() < 0.08
    assert fitted.shape == (12, 2)
    assert fitted.mean(axis=0).max() < 0.08


def _plan(shape, margins, share, epsilon=2.0, **told):
    balls = [Ball(rho, 1.0, 1.0) for rho in margins]
    return plan_learning(
        shape, balls, epsilon=epsilon, delta=1e-6, choice=share * epsilon, n_steps=100, **told
    )


@pytest.mark.claim("margin-appF")
def test_the_budget_of_the_choice_by_the_objective(monkeypatch):
    chosen = {}

    def choice(scores, widths, **kwargs):
        chosen.update(kwargs, widths=widths)
        return select(scores, widths, **kwargs)

    select = selection.generalized_exponential_mechanism
    monkeypatch.setattr(choice_experiment, "generalized_exponential_mechanism", choice)
    X, y = margin_data(300, 4, margin=0.4, rng=stream(0, "split", "data"))
    plan = _plan(X.shape, [1.0, 0.5], 0.5)
    result = learn(X, y, plan, rng=stream(0, "split", "noise"), choose=by_objective)
    level = gdp_budget(epsilon=1.0, delta=1e-6) / math.sqrt(2)
    assert [each.mu for each in plan.descents] == pytest.approx([level] * 2, rel=1e-12)
    assert (chosen["epsilon"], chosen["beta"]) == (1.0, 0.05)
    np.testing.assert_allclose(chosen["widths"], [2 / 300, 3 / 300])
    np.testing.assert_array_equal(result.weights, result.candidates[result.chosen])


@pytest.mark.claim("margin-appF")
@pytest.mark.parametrize("m", [100, 400, 2500])
def test_the_objective_cannot_choose_a_small_margin(m):
    """Below c / (c + sqrt m) even a hinge of zero loses against weights zero at margin 1."""
    edge = 2 / (2 + math.sqrt(m))
    place = {"radius": 1.0, "data_norm": 1.0, "n_samples": m}
    for rho, wins in ((edge * 0.999, False), (edge * 1.001, True)):
        scores = _choice_scores([1.0, 0.0], [1.0, rho], **place)
        assert (scores[1] < scores[0]) == wins


def _crooked(m=600):
    """Classes of unequal size around an offset: a linear hinge predicts the larger one for all."""
    rng = stream(0, "crooked", "data")
    y = np.where(rng.random(m) < 0.8, 1.0, -1.0)
    X = np.column_stack([0.9 * np.ones(m), 0.12 * y, 0.02 * rng.standard_normal(m)])
    return X, y


def test_errors_choose_a_margin_that_the_objective_rejects():
    """Error of the choice below .05, of the objective's choice .2, at every budget tried."""
    X, y = _crooked()
    grid = margin_grid(radius=1.0, data_norm=1.0, size=7)[::2]
    for epsilon in (20.0, 1e4):
        ours = learn(X, y, _plan(X.shape, grid, 0.2, epsilon), rng=stream(0, "crooked", "noise"))
        theirs = learn(
            X,
            y,
            _plan(X.shape, grid, 0.5, epsilon),
            rng=stream(0, "crooked", "noise"),
            choose=by_objective,
        )
        wrong = [np.mean(y * (X @ c.weights) <= 0) for c in (ours, theirs)]
        assert wrong[0] < 0.05
        assert wrong[1] > 0.15


def test_the_budget_of_the_choice_by_errors(monkeypatch):
    """Kills learners that have the whole of epsilon, and a share that is rounded up."""
    chosen = {}

    def choice(scores, **kwargs):
        chosen.update(kwargs, scores=scores)
        return select(scores, **kwargs)

    select = selection.report_noisy_min
    monkeypatch.setattr(_learning, "report_noisy_min", choice)
    X, y = margin_data(300, 4, margin=0.4, rng=stream(0, "split", "data"))
    plan = _plan(X.shape, [1.0, 0.5, 0.1], 0.2)
    rest = math.nextafter(1.6, 0.0)  # what 0.4 leaves of 2, rounded down
    assert (plan.epsilon, plan.delta, plan.choice) == (rest, 1e-6, 0.4)
    level = gdp_budget(epsilon=rest, delta=1e-6) / math.sqrt(3)
    assert [each.mu for each in plan.descents] == pytest.approx([level] * 3, rel=1e-12)
    result = learn(X, y, plan, rng=stream(0, "split", "noise"))
    assert (chosen["epsilon"], chosen["sensitivity"]) == (0.4, 1.0)
    errors = [np.count_nonzero(y * (X @ w) <= 0) for w in result.candidates]
    np.testing.assert_array_equal(chosen["scores"], errors)
    np.testing.assert_array_equal(result.weights, result.candidates[result.chosen])


def test_scores_add_the_complexity():
    value = _choice_scores([0.1, 0.2], [1.0, 0.5], radius=2.0, data_norm=3.0, n_samples=100)
    np.testing.assert_allclose(value, [0.1 + 1.2, 0.2 + 2.4], rtol=1e-12)
