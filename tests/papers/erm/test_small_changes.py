"""Small changes of kernel machines' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from dplit.kernels._defaults import (
    KernelPlan,
    _expected_noise,
    _noise_factor,
    default_regularization,
)
from dplit.kernels.machines import PrivateKernelMachine
from dplit.papers.erm.release import release_epsilon
from dplit.streams import stream


def test_frequencies_are_inverse_to_the_width() -> None:
    """Kills a width that is doubled where it should be squared."""
    rng = stream(5, "width of a kernel machine", "data")
    X, y = rng.uniform(-1, 1, (30, 3)), rng.uniform(-1, 1, 30)
    found = []
    for width in (1.0, 4.0):
        model = PrivateKernelMachine(bounds=(-1, 1), width=width, n_components=20, random_state=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(model.fit(X, y).frequencies_)
    np.testing.assert_allclose(found[0], 4.0 * found[1], rtol=1e-12)


def test_two_functions_that_differ_by_no_constant_have_no_epsilon() -> None:
    """Kills a tolerance of a whole gap."""
    asked = {"scale": 0.2, "reading": "shift"}
    assert release_epsilon([0.1, 0.05], [0.0, 0.0], **asked) == math.inf
    assert release_epsilon([0.1, 0.1 * (1 + 1e-13)], [0.0, 0.0], **asked) < 0.6


def test_noise_of_queries_grows_with_their_number() -> None:
    """The standard deviation of Laplace noise. Kills a number of questions that is forgotten."""
    plan = KernelPlan("squared", 0.5, 100, 8, 0.5, 0.0, "queries", 5)
    assert _noise_factor(plan) == pytest.approx(math.sqrt(2.0) * 5 / 0.5)
    assert _noise_factor(replace(plan, release="gamma")) == pytest.approx(3.0 / 0.5)


@pytest.mark.parametrize("tau", [0.5, 0.9])
def test_the_default_penalty_balances_noise_and_bias(tau: float) -> None:
    """The pinball loss costs its slope times the mean modulus of the noise, and the penalty. Kills
    a cost without the factor of the modulus."""
    plan = KernelPlan("pinball", tau, 10_000, 50, 1.0, 1e-5, "gaussian_process", 1)
    grid = np.exp(np.arange(-6.0, 2.0, 0.005))
    noise = np.array([_expected_noise(penalty, plan) for penalty in grid])
    cost = max(tau, 1 - tau) * math.sqrt(2 / math.pi) * noise + grid
    assert math.log(default_regularization(plan) / grid[cost.argmin()]) < 0.04
    assert math.log(default_regularization(plan) / grid[cost.argmin()]) > -0.04
