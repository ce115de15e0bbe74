"""Noisy full-batch descent: a naive loop, the noise of the composition, bounds, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.accounting import gdp_budget
from dplit.margins._checks import _gridded_records
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.plans import (
    _default_steps,
    _signal_to_noise,
    descent_noise,
    descent_step,
    plan_descent,
)
from dplit.mechanisms.values import Gaussian
from dplit.papers.margin.descent import descent_bound, rank_bound
from dplit.papers.margin.exact_hinge import minimise_hinge
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from tests.margins.planned import full_batch

SETTING = {"margin": 0.3, "radius": 1.0, "data_norm": 1.0, "mu": 0.5, "n_steps": 20}


def _data(m=200, d=6, seed="data"):
    rng = stream(0, f"full-batch-{seed}", "data")
    X = rng.standard_normal((m, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X[:, 0] + 0.1 * rng.standard_normal(m) > 0, 1.0, -1.0)


def _naive(X, y, draws, project, step, sigma, rng, margin=0.3, radius=1.0, n_steps=20):
    """One record at a time, in the order in which the function asks for noise."""
    shape, scale = (draws, X.shape[1]), sigma * len(X) * margin
    noisy = Gaussian(scale).repeatedly(shape, steps=n_steps, hides="", sensitivity=2.0, rng=rng)
    w = np.zeros((draws, X.shape[1]))
    total = np.zeros_like(w)
    for _ in range(n_steps):
        total += w
        noise = -noisy(np.zeros(shape)) / scale
        for b in range(draws):
            gradient = np.zeros(X.shape[1])
            for x, label in zip(X, y, strict=True):
                if label * (w[b] @ x) < margin:
                    gradient -= label * x / margin
            w[b] = w[b] - step * (gradient / len(X) + sigma * noise[b])
            length = np.linalg.norm(w[b])
            if project and length > radius:
                w[b] *= radius / length
    return total / n_steps


@pytest.mark.claim("margin-beyond-proj")
@pytest.mark.parametrize("project", [True, False])
def test_batched_descent_is_the_naive_loop(project):
    X, y = _data(40)
    run = full_batch(X, y, **SETTING, project=project, n_draws=3, rng=stream(0, "naive", "noise"))
    peer = _naive(X, y, 3, project, run.step, run.sigma, stream(0, "naive", "noise"))
    np.testing.assert_allclose(run.weights, peer, rtol=1e-6)  # sums are rounded with their noise


def test_plans_together_are_the_descents_one_by_one():
    """Kills noise, step or ball of one plan used for another: without noise values are exact."""
    X, y = _data()
    ball, rng = Ball(0.3, 1.0, 1.0), lambda: stream(0, "cases", "noise")
    quiet = [
        plan_descent(X.shape, ball, mu=math.inf, n_steps=20, **told)
        for told in ({}, {"step": 0.4}, {"project": False, "step": 0.4})
    ]
    found = noisy_hinge_descent(X, y, *quiet, rng=rng())
    for plan, weights in zip(quiet, found, strict=True):
        one = noisy_hinge_descent(X, y, plan, rng=rng())[0]
        np.testing.assert_allclose(weights, one, rtol=1e-12)
    loud = plan_descent(X.shape, ball, mu=0.5, n_steps=20)
    run = noisy_hinge_descent(X, y, loud, quiet[0], rng=rng(), n_draws=2)
    np.testing.assert_allclose(run[2:], np.tile(found[0], (2, 1)), rtol=1e-12)
    assert np.linalg.norm(run[:2] - found[0], axis=1).min() > 1e-3


def test_a_plan_is_for_records_of_its_size():
    """Noise for more records would be too short; kills a learner that follows any plan."""
    X, y = _data()
    plans = [plan_descent(X.shape, Ball(0.3, 1.0, 1.0), mu=1.0, n_steps=n) for n in (5, 6)]
    for rows, labels in ((X[:100], y[:100]), (X[:, :3], y)):
        with pytest.raises(ValueError, match=r"the shape \(200, 6\) of its plan"):
            noisy_hinge_descent(rows, labels, plans[0], rng=stream(0, "size", "noise"))
    with pytest.raises(ValueError, match="one shape, margin, data_norm and n_steps"):
        noisy_hinge_descent(X, y, *plans, rng=stream(0, "size", "noise"))


def test_labels_of_each_draw_are_separate_runs():
    X, y = _data(50)
    labels = np.stack([y, -y, np.roll(y, 1)])
    quiet = {**SETTING, "mu": math.inf}
    rng = stream(0, "labels", "noise")
    together = full_batch(X, labels, **quiet, n_draws=3, rng=rng).weights
    alone = [full_batch(X, row, **quiet, rng=rng).weights[0] for row in labels]
    np.testing.assert_allclose(together, alone, rtol=1e-10)


@pytest.mark.claim("margin-beyond-proj")
def test_bounds_have_one_formula():
    args = {"margin": 0.3, "radius": 2.0, "data_norm": 1.5, "n_samples": 400, "mu": 0.3}
    sigma = descent_noise(margin=0.3, data_norm=1.5, n_samples=400, mu=0.3, n_steps=50)
    general = descent_bound(gradient=5.0, radius=2.0, sigma=sigma, noise_dimension=70, n_steps=50)
    assert rank_bound(**args, rank=70, n_steps=50) == pytest.approx(general, rel=1e-12)
    assert rank_bound(**args, rank=70) == pytest.approx(2 * 5 * 2 * math.sqrt(70) / (400 * 0.3))
    step = descent_step(gradient=5.0, radius=2.0, sigma=sigma, noise_dimension=70, n_steps=50)
    grid = step * np.geomspace(0.2, 5, 401)
    risks = 4.0 / (2 * grid * 50) + grid * (25.0 + 70 * sigma**2) / 2
    assert general == pytest.approx(risks.min(), rel=1e-4)
    assert rank_bound(**{**args, "mu": math.inf}, rank=70, n_steps=100) == pytest.approx(1.0)


def test_a_given_step_is_used_and_noise_is_free_of_the_data():
    X, y = _data()
    X = np.rint(512 * X) / 1024  # on the grid, inside the ball: left as they are
    one = full_batch(
        X, y, **{**SETTING, "n_steps": 2}, step=0.1, project=False, rng=stream(0, "s", "noise")
    )
    scale = one.sigma * len(X) * 0.3
    noise = Gaussian(scale).add(
        np.zeros((2, 6)), hides="", sensitivity=2.0, rng=stream(0, "s", "noise")
    )
    first = 0.1 * ((X * y[:, None]).sum(axis=0) + noise[0]) / (len(X) * 0.3)
    np.testing.assert_allclose(one.weights[0], first / 2, rtol=1e-8)
    assert one.step == 0.1


def _gradient_sum(X, y):
    """Sum of the signed records as the first step of a learner without noise computes it."""
    m = len(X)
    run = full_batch(
        X,
        y,
        margin=0.25,
        radius=1.0,
        data_norm=1.0,
        mu=math.inf,
        n_steps=2,
        step=0.25 * m,
        project=False,
        rng=stream(0, "sum", "noise"),
    )
    return 2.0 * run.weights[0]


@pytest.mark.claim("margin-thm32")
@pytest.mark.parametrize("m", [255, 4097, 100_000])
def test_one_record_moves_the_computed_sum_by_its_own_share_only(m):
    """Records all alike, one replaced by its negative: the sum moves by twice the record, exactly.

    Kills sums of records off the grid, where the rounding of all later terms moves with the
    replaced one (2e-14 at 255 records, 6e-12 at 100,000), and sums that depend on the order.
    """
    rng = stream(0, "exact-sum", "data")
    X = np.tile([[0.1, 0.7, 1 / 3]], (m, 1))
    X[m // 3 :] *= rng.uniform(0.9, 1.0, (m - m // 3, 1))
    y = np.ones(m)
    base = _gradient_sum(X, y)
    for place in (0, 1, m // 2, m - 1):
        flipped = y.copy()
        flipped[place] = -1.0
        moved = base - _gradient_sum(X, flipped)
        record = _gridded_records(X, y, 1.0)[0][place]
        np.testing.assert_array_equal(moved, 2.0 * record)
        assert np.linalg.norm(moved) <= 2.0
    np.testing.assert_array_equal(base, _gradient_sum(X[rng.permutation(m)], y))


@pytest.mark.claim("margin-thm32")
@pytest.mark.parametrize("m", [8_191, 16_383, 20_000, 40_000])
def test_sums_of_the_longest_records_are_exact(m):
    """One after the other, against a sum without rounding, just below a power of two, where the
    grid is finest: kills one bit more, whose totals leave the 53 bits of a float."""
    X = 1.999 * stream(0, "longest-records", "data").uniform(0.99, 1.0, (m, 1))
    rows = _gridded_records(X, np.ones(m), 1.999)[0][:, 0]
    assert np.cumsum(rows)[-1] == math.fsum(rows)


@pytest.mark.claim("margin-beyond-proj")
def test_a_record_leaves_the_scores_of_all_others_as_they_are():
    """Weights times records, one record replaced: no other product changes a bit."""
    rng = stream(0, "exact-scores", "data")
    for m, d, draws in ((7, 3, 1), (1001, 30, 1), (1001, 30, 6), (257, 130, 3)):
        X, w = rng.standard_normal((m, d)), rng.standard_normal((draws, d))
        other = X.copy()
        other[m // 2] = 1e8 * rng.standard_normal(d)
        changed = np.flatnonzero(np.any(w @ X.T != w @ other.T, axis=0))
        assert changed.tolist() == [m // 2]


@pytest.mark.claim("margin-beyond-proj")
def test_balanced_steps_equate_the_two_terms_of_the_bound():
    terms = [
        rank_bound(
            margin=0.5, radius=1.0, data_norm=1.0, n_samples=1600, rank=50, mu=level, n_steps=steps
        )
        for level, steps in ((math.inf, 800), (0.25, None))
    ]
    assert _default_steps("noisy_gradient", n_samples=1600, noise_dimension=50, mu=0.25) == 800
    assert terms[0] == pytest.approx(terms[1], rel=1e-12)
    assert _default_steps("noisy_gradient", n_samples=10, noise_dimension=50, mu=0.25) == 100
    assert _default_steps("noisy_gradient", n_samples=10**9, noise_dimension=5, mu=1.0) == 2000


@pytest.mark.claim("margin-thm32")
def test_signal_to_noise_is_that_of_the_mean_gradient():
    sigma = descent_noise(margin=0.5, data_norm=1.0, n_samples=1000, mu=0.25, n_steps=40)
    ratio = _signal_to_noise(n_samples=1000, noise_dimension=25, mu=0.25)
    assert ratio == pytest.approx(2.0 / (sigma * math.sqrt(25 / 40)), rel=1e-12)


@pytest.mark.claim("margin-beyond-proj")
def test_excess_at_the_balanced_steps_does_not_grow_with_the_records():
    """4,000 and 16,000 records at epsilon 1: excess .02 at most; 100 steps leave .03 at 16,000."""
    mu = gdp_budget(epsilon=1.0, delta=1e-6)

    def excess(m, steps=None):
        X, y = margin_data(m, 20, margin=0.5, flips=0.05, rng=stream(0, "balanced", "data"))
        w = full_batch(
            X,
            y,
            margin=0.25,
            radius=1.0,
            data_norm=1.0,
            mu=mu,
            n_steps=steps,
            rng=stream(0, "balanced", "noise"),
        ).weights[0]
        best = minimise_hinge(X, y, margin=0.25, radius=1.0).value
        return np.maximum(1 - y * (X @ w) / 0.25, 0).mean() - best

    assert excess(4000) < 0.02
    assert excess(16_000) < min(0.005, excess(16_000, 100) / 4)
