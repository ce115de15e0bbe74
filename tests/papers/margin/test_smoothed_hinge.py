"""The envelope against a numeric minimiser, its gradient, its gap, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dplit.papers.margin.smoothed_hinge import smoothed_hinge, smoothed_slope
from dplit.streams import stream


def _instances(count=60):
    rng = stream(0, "smoothed-hinge", "data")
    for _ in range(count):
        k = int(rng.integers(1, 6))
        w, x = rng.standard_normal((2, k))
        yield w, x, float(rng.choice([-1.0, 1.0])), *rng.uniform(0.1, 2.0, 1), rng.uniform(0.2, 9)


@pytest.mark.claim("margin-alg4")
def test_envelope_and_slope_are_those_of_the_minimiser_along_the_record():
    """The minimiser lies on w + t y x; a bounded search over t is the second route."""
    for w, x, y, margin, smooth in _instances():
        square, score = float(x @ x), float(y * (w @ x))

        def cost(t, score=score, square=square, margin=margin, smooth=smooth):
            return max(1 - (score + t * square) / margin, 0) + smooth / 2 * t * t * square

        best = minimize_scalar(
            cost, bounds=(0, 1 / (margin * smooth)), method="bounded", options={"xatol": 1e-10}
        )
        at = {"margin": margin, "smoothness": smooth}
        value = smoothed_hinge(score, math.sqrt(square), **at)
        assert value == pytest.approx(best.fun, abs=1e-7)
        t = float(smoothed_slope(score, math.sqrt(square), **at)) / smooth
        assert cost(t) == pytest.approx(value)
        assert t * math.sqrt(square) == pytest.approx(best.x * math.sqrt(square), abs=1e-5)


@pytest.mark.claim("margin-alg4")
def test_slope_is_the_derivative_of_the_envelope():
    u = np.linspace(-2.0, 2.0, 4001)
    step = u[1] - u[0]
    value = smoothed_hinge(u, 1.3, margin=0.7, smoothness=5.0)
    slope = smoothed_slope(u, 1.3, margin=0.7, smoothness=5.0)
    numeric = -(value[2:] - value[:-2]) / (2 * step)
    curvature = 5.0 / 1.3**2
    np.testing.assert_allclose(slope[1:-1], numeric, atol=curvature * step)


@pytest.mark.claim("margin-alg4")
def test_gap_to_the_hinge_is_at_most_its_bound_and_reaches_it():
    u = np.linspace(-3.0, 3.0, 1001)
    hinge = np.maximum(1 - u / 0.5, 0)
    gap = hinge - smoothed_hinge(u, 2.0, margin=0.5, smoothness=10.0)
    assert gap.min() >= -1e-12
    assert gap.max() == pytest.approx((2.0 / 0.5) ** 2 / (2 * 10.0), rel=1e-12)


@pytest.mark.claim("margin-alg4")
def test_steps_up_to_twice_the_inverse_smoothness_do_not_expand():
    """Two points, one gradient step of each: no distance grows. Step 2.1 / smoothness can."""
    w, v = 0.05 * stream(0, "expand", "data").standard_normal((2, 400)) + 0.4

    def stepped(at, factor):
        slope = smoothed_slope(at, 1.0, margin=0.5, smoothness=40.0)
        return at + factor / 40.0 * slope

    for factor, expands in ((2.0, False), (2.2, True)):
        grew = np.abs(stepped(w, factor) - stepped(v, factor)) / np.abs(w - v)
        assert (grew.max() > 1.01) == expands
        assert expands or grew.max() <= 1 + 1e-9


def test_records_without_length_and_flat_parts():
    assert smoothed_slope(1.0, 0.0, margin=0.5, smoothness=2.0) == 0.0
    assert smoothed_slope(0.0, 0.0, margin=0.5, smoothness=2.0) == 2.0
    assert smoothed_hinge(0.0, 0.0, margin=0.5, smoothness=2.0) == pytest.approx(1.0)
    assert smoothed_hinge(0.5, 1.0, margin=0.5, smoothness=2.0) == 0.0
