"""Composition of sampled Gaussians: closed forms, quadrature, a finer grid and dp-accounting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import fftconvolve

from dplit.accounting import composed_delta, sampled, sampled_gaussian_delta, sampled_gaussian_sigma
from dplit.mechanisms import gaussian_delta, gaussian_sigma

BASE = {"epsilon": 1.0, "sigma": 2.0, "sensitivity": 1.0, "sampling_rate": 0.3}


def laws(z: np.ndarray, sigma: float, rate: float, direction: str) -> list[np.ndarray]:
    """The densities of one step with the record and without, the one that is bounded first."""
    base = stats.norm.pdf(z, 0, sigma)
    mixture = (1 - rate) * base + rate * stats.norm.pdf(z, 1, sigma)
    return [mixture, base] if direction == "remove" else [base, mixture]


def quadrature(epsilon: float, sigma: float, rate: float, direction: str) -> float:
    """One step by the trapezium rule, from the definition."""
    z = np.linspace(-30 * sigma, 30 * sigma + 1, 2_000_001)
    upper, lower = laws(z, sigma, rate, direction)
    return float(np.trapezoid(np.maximum(upper - math.exp(epsilon) * lower, 0), z))


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(1.3, 0.2, 0.3), (0.7, 0.05, 0.02)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_one_step_agrees_with_quadrature(sigma, rate, epsilon, direction):
    exact = quadrature(epsilon, sigma, rate, direction)
    ours = sampled_gaussian_delta(
        epsilon=epsilon, sigma=sigma, sensitivity=1.0, sampling_rate=rate, direction=direction
    )
    assert exact * (1 - 1e-9) <= ours <= exact * (1 + 1e-5) + 1e-12


def test_dp_accounting_agrees_with_quadrature() -> None:
    """In the worse direction of two, and at another sensitivity."""
    pytest.importorskip("dp_accounting")
    exact = max(quadrature(0.3, 1.3, 0.2, direction) for direction in ("remove", "add"))
    measured = composed_delta(epsilon=0.3, sigma=2.6, sensitivity=2.0, sampling_rate=0.2)
    assert exact * (1 - 1e-6) <= measured <= exact * 1.01


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_two_steps_agree_with_a_double_integral(direction):
    """Both coordinates on a grid: no Fourier transform and no rounding of losses."""
    sigma, rate, epsilon = 1.1, 0.35, 0.5
    z = np.linspace(-9, 10, 2501)
    upper, lower = laws(z, sigma, rate, direction)
    excess = np.maximum(np.outer(upper, upper) - math.exp(epsilon) * np.outer(lower, lower), 0)
    exact = float(excess.sum() * (z[1] - z[0]) ** 2)
    ours = sampled_gaussian_delta(
        epsilon=epsilon,
        sigma=sigma,
        sensitivity=1.0,
        sampling_rate=rate,
        steps=2,
        direction=direction,
    )
    assert ours == pytest.approx(exact, rel=2e-4)


@pytest.mark.parametrize(
    ("steps", "least", "most"),
    [
        (1, 0.0, 1e-6),
        (300, 0.0, 1e-4),
        (10_000, 5e-4, 2e-3),
        (1_000_000, 0.05, 0.2),
        (10**8, 100.0, 400.0),
    ],
)
def test_the_excess_grows_with_the_steps_as_documented(steps, least, most):
    """Against the exact Gaussian, at delta 1e-6: always above, tight for few steps only.

    Kills a docstring that promises 1e-4 for all steps, and a grid that moves masses down.
    """
    sigma = math.sqrt(steps) * gaussian_sigma(epsilon=1.0, delta=1e-6)
    ours = sampled_gaussian_delta(
        epsilon=1.0, sigma=sigma, sensitivity=1.0, sampling_rate=1.0, steps=steps
    )
    exact = gaussian_delta(epsilon=1.0, sigma=sigma, sensitivity=math.sqrt(steps))
    assert least <= ours / exact - 1 <= most


@pytest.mark.claim("sketch-beyond-subsampled")
@pytest.mark.parametrize(
    ("epsilon", "delta", "rate"), [(0.1, 1e-8, 0.25), (1.0, 1e-8, 0.5), (1.0, 1e-5, 1 / 16)]
)
def test_dp_accounting_confirms_the_calibration(epsilon, delta, rate):
    """Its delta at our sigma is ours up to its coarser grid: within 1 % above, never below."""
    pytest.importorskip("dp_accounting")
    setting = {"sensitivity": 1 / rate, "sampling_rate": rate, "steps": 64}
    sigma = sampled_gaussian_sigma(epsilon=epsilon, delta=delta, **setting)
    peer = composed_delta(epsilon=epsilon, sigma=sigma, **setting)
    assert delta * (1 - 1e-4) <= peer <= delta * 1.01


def test_a_finer_grid_changes_little_and_only_downwards(monkeypatch):
    setting = {"epsilon": 1.0, "sigma": 33.0, "sensitivity": 64.0, "sampling_rate": 1 / 64}
    coarse = sampled_gaussian_delta(**setting, steps=64)
    monkeypatch.setattr(sampled, "_CELLS", 1 << 19)
    fine = sampled_gaussian_delta(**setting, steps=64)
    assert fine <= coarse <= fine * (1 + 1e-4)


def test_both_is_the_larger_direction_and_remove_binds():
    one = {d: sampled_gaussian_delta(**BASE, steps=8, direction=d) for d in ("remove", "add")}
    assert sampled_gaussian_delta(**BASE, steps=8) == max(one.values()) == one["remove"]


def test_sigma_and_delta_are_inverse():
    sigma = sampled_gaussian_sigma(
        epsilon=0.5, delta=1e-6, sensitivity=3.0, sampling_rate=0.1, steps=20
    )
    again = {"epsilon": 0.5, "sensitivity": 3.0, "sampling_rate": 0.1, "steps": 20}
    assert sampled_gaussian_delta(sigma=sigma, **again) <= 1e-6
    assert sampled_gaussian_delta(sigma=sigma * (1 - 1e-5), **again) > 1e-6
    one = sampled_gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=2.0, sampling_rate=1.0)
    assert one == pytest.approx(gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=2.0), rel=1e-6)


def test_the_law_of_a_step_keeps_both_masses():
    """Mean of 1 is 1, and of e^-loss at most 1: mass moved to the ends of a cell stays."""
    law, start, spacing, beyond = sampled._grid_law(0.9, 0.2, "remove", 3)
    losses = start + spacing * np.arange(len(law))
    assert law.sum() + beyond == pytest.approx(1.0, abs=1e-12)
    assert law @ np.exp(-losses) == pytest.approx(1.0, abs=1e-10)
    twice = fftconvolve(law, law)
    assert twice.sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 0.0}, "sigma must be positive"),
        ({"sigma": 0.01}, "sigma must be at least sensitivity / 20"),
        ({"sampling_rate": 0.0}, r"sampling_rate must be in \(0, 1\]"),
        ({"steps": 0}, "steps must be at least 1"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        sampled_gaussian_delta(**{**BASE, **change})


def test_bad_budgets_are_named():
    setting = {"sensitivity": 1.0, "sampling_rate": 0.01}
    with pytest.raises(ValueError, match="delta must be at least 1e-10"):
        sampled_gaussian_sigma(epsilon=1.0, delta=1e-12, **setting)
    with pytest.raises(ValueError, match="delta must be small enough"):
        sampled_gaussian_sigma(epsilon=1.0, delta=0.5, **setting)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        sampled_gaussian_sigma(epsilon=0.0, delta=1e-5, **setting)
