"""Expected losses under Laplace noise: against quadrature, draws and their own bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from dplit.papers.erm.noisy_loss import (
    expected_loss_laplace,
    noise_error_bound,
    wrong_sign_probability,
)
from dplit.streams import stream

LOSSES = {
    "squared": lambda t, y: (t - y) ** 2,
    "hinge": lambda t, y: np.maximum(1 - y * t, 0),
    "pinball": lambda t, y: np.maximum(0.8 * (y - t), -0.2 * (y - t)),
    "absolute": lambda t, y: np.abs(t - y),
}


def _by_quadrature(function, t, y, s):
    def integrand(b):
        return function(t + b, y) * math.exp(-abs(b) / s) / (2 * s)

    breaks = sorted({0.0, y - t, 1 / y - t})
    edges = [-60 * s + min(breaks), *breaks, 60 * s + max(breaks)]
    return sum(
        quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12)[0] for a, b in itertools.pairwise(edges)
    )


@pytest.mark.claim("erm-prop3")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("s", [0.1, 1.3])
@pytest.mark.parametrize("t", [-1.4, 0.0, 0.9, 1.0, 2.5])
def test_closed_forms_agree_with_quadrature(loss, s, t):
    for y in (-1.0, 1.0):
        exact = float(expected_loss_laplace(loss, t, y, scale=s, tau=0.8))
        assert exact == pytest.approx(_by_quadrature(LOSSES[loss], t, y, s), rel=1e-9, abs=1e-11)


@pytest.mark.claim("erm-prop3")
def test_closed_forms_agree_with_a_million_draws():
    """5 standard errors on 16 means, false alarm 9.2e-6; kills s for s/2 at the kink."""
    b = stream(0, "erm-prop3", "noise").laplace(scale=0.3, size=1_000_000)
    for loss, function in LOSSES.items():
        for t, y in ((0.7, 1.0), (-0.2, 1.0), (1.0, 1.0), (0.4, -1.0)):
            values = function(t + b, y)
            exact = float(expected_loss_laplace(loss, t, y, scale=0.3, tau=0.8))
            assert abs(values.mean() - exact) < 5 * values.std() / 1000


@pytest.mark.claim("erm-prop3")
@pytest.mark.parametrize(("loss", "width"), [("hinge", 1), ("pinball", 1), ("absolute", 2)])
def test_range_of_slopes_bounds_the_price_of_noise_and_a_kink_attains_it(loss, width):
    t, s = np.linspace(-4, 4, 801), 0.4
    plain = expected_loss_laplace(loss, t, 1.0, scale=0.0, tau=0.8)
    price = expected_loss_laplace(loss, t, 1.0, scale=s, tau=0.8) - plain
    bound = noise_error_bound(scale=s, lipschitz=1.0, width=width)
    assert price.min() >= 0
    assert price.max() == pytest.approx(bound, rel=1e-12)  # the grid meets the kink at t = 1
    slopes = np.diff(plain) / np.diff(t)
    assert slopes.max() - slopes.min() == pytest.approx(width, rel=1e-9)


@pytest.mark.claim("erm-prop3")
def test_logistic_loss_obeys_the_range_of_its_slopes():
    values = [
        _by_quadrature(lambda t, y: np.logaddexp(0, -y * t), t, 1.0, 2.0) - np.logaddexp(0, -t)
        for t in (-3.0, 0.0, 0.5, 4.0)
    ]
    assert 0 < max(values) < noise_error_bound(scale=2.0, lipschitz=1.0, width=1.0)


@pytest.mark.claim("erm-prop3")
def test_bound_of_the_proof_carries_the_lipschitz_constant():
    assert noise_error_bound(scale=0.25, lipschitz=5.0) == pytest.approx(1.25)
    assert noise_error_bound(scale=0.25, lipschitz=5.0, width=10.0) == pytest.approx(1.25)
    with pytest.raises(ValueError, match="width must be at most twice"):
        noise_error_bound(scale=0.25, lipschitz=1.0, width=2.1)


@pytest.mark.claim("erm-svm-rate")
def test_wrong_signs_agree_with_draws_and_limits():
    """5 standard errors on 6 frequencies, false alarm 3.5e-6."""
    b = stream(0, "erm-svm-rate", "noise").laplace(scale=0.3, size=200_000)
    for t in (-0.5, 0.0, 0.2):
        for y in (-1.0, 1.0):
            exact = float(wrong_sign_probability(t, y, scale=0.3))
            share = np.mean(y * (t + b) < 0)
            assert abs(share - exact) < 5 * math.sqrt(exact * (1 - exact) / b.size)
    assert wrong_sign_probability([-1.0, 0.0, 1.0], 1.0, scale=0.0).tolist() == [1.0, 0.5, 0.0]


def test_shapes_broadcast():
    assert expected_loss_laplace("hinge", np.zeros((3, 4)), np.ones(4), scale=1.0).shape == (3, 4)
    assert wrong_sign_probability(np.zeros(4), 1, scale=1.0).shape == (4,)
