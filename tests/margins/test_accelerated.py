"""Accelerated descent: its law, exact sums, what a record moves, and T steps for T^2."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from dplit._numerics.exact import grid_rows
from dplit.accounting import gdp_budget
from dplit.audit import ledger
from dplit.margins._accelerated import _accelerated_descent, _pieces, _slope_sum
from dplit.margins.balls import Ball
from dplit.margins.losses import hinge_loss
from dplit.margins.plans import (
    _CORNER,
    _accelerated_step,
    _default_steps,
    descent_noise,
    plan_descent,
)
from dplit.streams import stream
from tests.margins.planned import accelerated, full_batch

SIZES = {"margin": 0.1, "radius": 2.0, "data_norm": 1.5}


def _records(m=300, d=7):
    X = stream(0, "accelerated", "data").standard_normal((m, d))
    X *= 1.5 / np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X[:, 0] + 0.4 * X[:, 1] > 0.1, 1.0, -1.0)


def _noise():
    return stream(0, "accelerated", "noise")


def _smooth(w, Z, rho):
    """Value and gradient of the mean hinge with a rounded corner."""
    gap = (rho - Z @ w) / rho
    slope = np.clip(gap / _CORNER, 0.0, 1.0)
    return np.mean(slope * gap - _CORNER * slope**2 / 2.0), -(slope @ Z) / (len(Z) * rho)


def test_one_step_has_the_stated_law():
    """At w = 0 every slope is 1: weights are the pace times the mean record, and Gaussian noise.

    20,000 coordinates: chi-square at 1e-4 on both sides; sees a noise 4 % too small or too large.
    """
    X, y = _records(40, 1000)
    units, unit = grid_rows(X, 1.5, bits=12)
    rng, found = _noise(), []
    for _ in range(20):
        found.append(accelerated(X, y, **SIZES | {"radius": 1e9}, mu=0.7, n_steps=1, rng=rng))
    sigma = descent_noise(margin=0.1, data_norm=1.5, n_samples=40, mu=0.7, n_steps=1)
    assert sigma == pytest.approx(2 * 15 / (40 * 0.7))
    pace = _accelerated_step(Ball(0.1, 1e9, 1.5), noise=sigma * math.sqrt(1000), n_steps=1)
    rest = (np.array(found) / pace - y @ units * unit / (40 * 0.1)) / sigma
    low, high = chi2.ppf([5e-5, 1 - 5e-5], rest.size)
    assert low < (rest**2).sum() < high


def test_the_step_is_that_of_the_smoothness_or_of_the_noise():
    """Kills one length for the other: norms of records and comparators differ."""
    ball = Ball(0.1, 2.0, 1.5)
    smooth = _CORNER * 0.1**2 / 1.5**2 / 2
    assert _accelerated_step(ball, noise=0.0, n_steps=7) == pytest.approx(smooth, rel=1e-12)
    assert _accelerated_step(ball, noise=1e-9, n_steps=7) == pytest.approx(smooth, rel=1e-12)
    loud = math.sqrt(6) * 2.0 / (9**1.5 * 1e6)
    assert _accelerated_step(ball, noise=1e6, n_steps=7) == pytest.approx(loud, rel=1e-12)


def test_without_noise_it_reaches_the_minimum_at_the_accelerated_rate():
    """Within Lan's bound after 20, 80 and 320 steps: kills steps without their growing weights."""
    X, y = _records()
    Z, D = X * y[:, None], 2.0
    best = minimize(
        _smooth,
        np.zeros(7),
        args=(Z, 0.1),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: D**2 - w @ w},
        options={"maxiter": 500},
    ).fun
    smooth = (1.5 / 0.1) ** 2 / _CORNER
    for steps in (20, 80, 320):
        w = accelerated(X, y, **SIZES, mu=math.inf, n_steps=steps, rng=_noise())
        bound = 4.0 * smooth * D**2 / (steps * (steps + 2))
        gap = _smooth(w, Z, 0.1)[0] - best
        assert -1e-6 <= gap <= bound
        assert np.linalg.norm(w) <= D * (1 + 1e-12)


def test_two_hundred_steps_do_what_two_thousand_plain_ones_do_not():
    """Mean hinge loss at a margin of 1/32 of the largest, by the same budget."""
    X, y = _records(4000, 20)
    given = {"margin": 1.5 / 32, "radius": 1.0, "data_norm": 1.5, "mu": 2.0}
    plain = full_batch(X, y, **given, n_steps=2000, rng=_noise()).weights[0]
    ours = accelerated(X, y, **given, n_steps=200, rng=_noise())
    loss = [hinge_loss(y * (X @ w), margin=1.5 / 32).mean() for w in (plain, ours)]
    assert loss[1] < loss[0]


def test_sums_have_the_same_bits_in_every_order_and_block():
    """Kills slopes, or a grid, that are finer than what adds without rounding."""
    rng = stream(0, "accelerated", "public")
    X, y = _records(5000, 30)
    units = grid_rows(X * rng.uniform(0, 1, (5000, 1)), 1.5, bits=12)[0] * y[:, None]
    at = (rng.standard_normal(30) / 2**13).astype(np.float32).astype(float)
    slopes = np.rint(16 * np.clip((1.0 - units @ at) / _CORNER, 0, 1)) / 16
    assert np.unique(slopes).size > 10
    sums = []
    for order in (np.arange(5000), rng.permutation(5000)):
        pieces = _pieces(units[order])
        assert len(pieces) == 1
        sums += [_slope_sum(pieces, at), _slope_sum([piece[None] for piece in pieces[0]], at)]
    exact = [math.fsum(slopes[i] * units[i, j] for i in range(5000)) for j in range(30)]
    for one in sums:
        np.testing.assert_array_equal(one, exact)


def test_the_largest_numbers_add_exactly():
    """A whole piece of rows and slopes at their ends, and one unit: an odd sum above 2^23."""
    units = np.full((300, 1), 4096.0)
    units[7] = 4095.0
    assert _slope_sum(_pieces(units), np.zeros(1))[0] == 300 * 4096 - 1


def test_wide_records_have_several_blocks():
    X, _ = _records(700, 900)
    units = grid_rows(X, 1.5, bits=12)[0]
    pieces = _pieces(units)
    assert [piece.shape for piece in pieces] == [(1, 256, 900)] * 3
    np.testing.assert_array_equal(_slope_sum(pieces, np.zeros(900)), units.sum(axis=0))


def test_a_record_moves_each_sum_by_what_the_ledger_says():
    """The farthest pair attains twice the norm, up to the grid, and nobody exceeds it."""
    X, y = _records(6, 3)
    neighbours = []
    for record in ([1.5, 0.0, 0.0], [-1.5, 0.0, 0.0], [9e9, -3.0, 0.0], [0.0, 0.0, 0.0]):
        other = X.copy()
        other[3] = record
        units, unit = grid_rows(other, 1.5, bits=12)
        neighbours.append(unit * _slope_sum(_pieces(units), np.zeros(3)))
    moved = [np.linalg.norm(a - b) for a in neighbours for b in neighbours]
    assert 2 * 1.5 * 0.999 < max(moved) <= 2 * 1.5
    with ledger() as told:
        accelerated(X, y, **SIZES, mu=0.3, n_steps=17, rng=_noise())
    (draw,) = told
    assert (draw.steps, draw.sensitivity, draw.shape) == (17, 3.0, (3,))
    assert draw.scale * 0.3 == pytest.approx(3.0 * math.sqrt(17))


def test_the_default_number_of_steps():
    """16 sqrt(m mu / sqrt k) between 100 and 400; kills a root that is left out."""
    mu = gdp_budget(epsilon=1.0, delta=1e-6)
    args = {"n_samples": 8000, "noise_dimension": 100, "mu": mu}
    assert _default_steps("accelerated", **args) == math.ceil(16 * math.sqrt(8000 * mu / 10))
    assert _default_steps("accelerated", **args | {"n_samples": 100}) == 100
    assert _default_steps("accelerated", **args | {"n_samples": 10**6}) == 400


def test_a_plan_is_for_records_of_its_size():
    X, y = _records()
    plan = plan_descent((600, 7), Ball(0.1, 2.0, 1.5), mu=1.0, solver="accelerated")
    with pytest.raises(ValueError, match=r"the shape \(600, 7\) of its plan"):
        _accelerated_descent(X, y, plan, rng=_noise())
