"""Noise with a gamma-distributed norm: law, pure guarantee, audit, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dplit.audit import audit_hits, gamma_noise_test, run_controls
from dplit.kernels.gamma import gamma_release
from dplit.papers.erm.gamma_release import gamma_deviation, gamma_privacy_loss
from dplit.streams import stream


def _noise(count, dimension, rng, **options):
    zero = np.zeros(dimension)
    return np.array([gamma_release(zero, rng=rng, **options) for _ in range(count)])


@pytest.mark.claim("erm-beyond-gamma")
def test_the_norm_is_gamma_distributed():
    """4,000 norms against Gamma(6) with scale 0.4: level 1e-4; kills 5 % and a wrong shape."""
    noise = _noise(4_000, 6, stream(0, "gamma", "noise"), sensitivity=0.2, epsilon=0.5)
    norms = np.linalg.norm(noise, axis=1)

    def alarm(factor):
        return gamma_noise_test(factor * norms, scale=0.4, shape=6.0).violated()

    assert run_controls(alarm, planted=0.95).sound
    assert alarm(1.05)
    mean = (noise / norms[:, None]).mean(axis=0)
    assert np.abs(mean).max() < 5 / math.sqrt(6 * 4_000)  # uniform direction, alarm 4e-6


@pytest.mark.claim("erm-beyond-gamma")
def test_the_weights_are_its_centre():
    weights = np.array([3.0, -1.0, 2.0])
    options = {"sensitivity": 0.3, "epsilon": 2.0}
    released = gamma_release(weights, rng=stream(0, "gamma-c", "noise"), **options)
    noise = gamma_release(np.zeros(3), rng=stream(0, "gamma-c", "noise"), **options)
    np.testing.assert_allclose(released - weights, noise, rtol=1e-12)


@pytest.mark.claim("erm-beyond-gamma")
def test_deviation_of_a_prediction():
    """1e4 draws: standard error of a variance with the law's kurtosis, 5 of them."""
    d, options = 9, {"sensitivity": 0.2, "epsilon": 0.5}
    noise = _noise(10_000, d, stream(0, "gamma-sd", "noise"), **options)
    phi = np.arange(1.0, d + 1) / np.linalg.norm(np.arange(1.0, d + 1))
    squares = (3.0 * noise @ phi) ** 2
    expected = gamma_deviation(d, kappa=3.0, **options) ** 2
    assert abs(squares.mean() - expected) < 5 * squares.std() / 100
    assert gamma_deviation(1, sensitivity=1.0, epsilon=2.0) == pytest.approx(math.sqrt(2) / 2)


@pytest.mark.claim("erm-beyond-gamma")
def test_privacy_loss_is_the_ratio_of_densities():
    """Bounded by epsilon everywhere; equal to it behind the weights, in every dimension."""
    rng = stream(0, "gamma-loss", "data")
    for d in (1, 2, 40):
        here, there = rng.normal(size=(2, d))
        rate = 0.7 / float(np.linalg.norm(here - there))
        points = here + 3 * rng.normal(size=(2000, d))
        loss = gamma_privacy_loss(points, here, there, rate=rate)
        direct = -rate * np.linalg.norm(points - here, axis=1)
        direct += rate * np.linalg.norm(points - there, axis=1)
        np.testing.assert_allclose(loss, direct, rtol=1e-12, atol=1e-15)
        assert np.abs(loss).max() <= 0.7 * (1 + 1e-12)
        behind = here + 2 * (here - there)
        assert gamma_privacy_loss(behind, here, there, rate=rate) == pytest.approx(0.7)


@pytest.mark.claim("erm-beyond-gamma")
def test_densities_integrate_to_a_valid_pair_on_the_plane():
    """On the line E e^loss under the second law is 1: the loss is a log-ratio of two densities."""
    rate, gap = 1.3, 0.8

    def integrand(t):
        loss = float(gamma_privacy_loss([t], [gap], [0.0], rate=rate))
        return math.exp(loss) * 0.5 * rate * math.exp(-rate * abs(t))

    total = sum(quad(integrand, a, b)[0] for a, b in ((-40, 0), (0, gap), (gap, 40)))
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.mark.claim("erm-beyond-gamma")
def test_audit_of_the_release():
    """Event: the loss exceeds half of epsilon. 4,000 runs a side at confidence 0.9999.

    At d = 2 and epsilon = 1 it has log-ratio about 0.9: true noise stays silent, half the noise
    (epsilon 2 in truth) is caught.
    """
    here, there = np.array([0.5, 0.0]), np.array([-0.5, 0.0])

    def alarm(factor):
        counts = []
        for weights in (here, there):
            rng = stream(0, "gamma-audit", "noise", int(weights[0] > 0))
            noise = _noise(4_000, 2, rng, sensitivity=1.0, epsilon=1.0)
            loss = gamma_privacy_loss(weights + factor * noise, here, there, rate=1.0)
            counts.append(int(np.sum(loss > 0.5)))
        return audit_hits(*counts, 4_000, epsilon=1.0, confidence=0.9999).violated

    assert run_controls(alarm).sound
