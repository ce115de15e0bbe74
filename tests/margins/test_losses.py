"""Losses of a margin: chain of inequalities, and sensitivities against a search over neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.margins import losses

margins = st.floats(1e-3, 10.0)
values = st.floats(-50.0, 50.0)


@pytest.mark.claim("margin-def-losses")
@given(u=values, margin=margins)
def test_chain_of_losses(u, margin):
    """1[u <= 0] <= ramp <= 1[u <= margin], ramp <= hinge; kills factors on any of the four."""
    zero, ramp = losses.zero_one_loss(u), losses.ramp_loss(u, margin=margin)
    far, hinge = losses.margin_loss(u, margin=margin), losses.hinge_loss(u, margin=margin)
    assert zero <= ramp <= far
    assert ramp <= hinge
    assert {float(zero), float(far)} <= {0.0, 1.0}


@pytest.mark.claim("margin-def-losses")
def test_values_at_the_corners():
    """Both indicator losses count their boundary; the hinge is 1 at 0 and 0 at the margin."""
    u = np.array([-0.5, 0.0, 0.25, 0.5, 0.75])
    np.testing.assert_array_equal(losses.zero_one_loss(u), [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(losses.margin_loss(u, margin=0.5), [1, 1, 1, 1, 0])
    np.testing.assert_allclose(losses.hinge_loss(u, margin=0.5), [2, 1, 0.5, 0, 0])
    np.testing.assert_allclose(losses.ramp_loss(u, margin=0.5), [1, 1, 0.5, 0, 0])


@pytest.mark.claim("margin-def-losses")
@pytest.mark.parametrize("margin", [0.2, 0.9, 3.0, 20.0])
def test_hinge_sensitivity_is_attained(margin):
    """The worst pair of values in [-B, B] attains it exactly, a grid never exceeds it."""
    bound = 20 * losses.hinge_sensitivity(
        margin=margin, data_norm=1.5, weight_norm=2.0, n_samples=20
    )
    loss = losses.hinge_loss(np.linspace(-3.0, 3.0, 2001), margin=margin)
    assert np.ptp(loss) == pytest.approx(bound, rel=1e-12)


@pytest.mark.claim("margin-appF")
@pytest.mark.parametrize("m", [7, 5000])
def test_one_value_moves_the_mean_hinge_by_its_own_share(m):
    """Every value replaced by the worst one; the mean is that of the losses within a grid step.

    Kills a plain mean, whose last digits move with the rounding of all others.
    """
    u = np.random.default_rng(m).uniform(-1, 1, m)
    mean = losses._bounded_hinge_mean(u, margin=0.3, largest=1.0)
    plain = losses.hinge_loss(u, margin=0.3).mean()
    assert 0 <= plain - mean <= (1 + 1 / 0.3) * 2.0**-23
    width = losses.hinge_sensitivity(margin=0.3, data_norm=1.0, weight_norm=1.0, n_samples=m)
    high, low = (u.copy() for _ in range(2))
    high[0], low[0] = -1.0 - 1e-15, 1.0 + 1e-15  # products may exceed B by rounding
    values = [losses._bounded_hinge_mean(v, margin=0.3, largest=1.0) for v in (high, low)]
    assert 0.99 * width <= values[0] - values[1] <= width * (1 + 1e-12)
    shuffled = np.random.default_rng(0).permutation(high)
    assert losses._bounded_hinge_mean(shuffled, margin=0.3, largest=1.0) == values[0]
