"""Hiding the count: joint Gaussian release, its calibration, its law and its cost."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.papers.sketching import joint_release


@pytest.mark.claim("sketch-beyond-joint")
@pytest.mark.parametrize("weight", [0.1, 1.0, 5.0])
def test_one_record_moves_the_release_by_its_budget(weight: float) -> None:
    """Whitened step of sum and count; kills sum for root of squares, factors 0.5 and 1.05."""
    sigma, count = joint_release.joint_deviations(
        epsilon=0.5, delta=1e-6, sensitivity=3.0, weight=weight
    )
    step = np.hypot(3.0 / sigma, 1.0 / count)
    assert gaussian_delta(epsilon=0.5, sigma=1.0, sensitivity=step) == pytest.approx(1e-6, rel=1e-9)
    assert sigma / count == pytest.approx(weight, rel=1e-12)


@pytest.mark.claim("sketch-beyond-joint")
def test_ratios_of_the_schemes() -> None:
    """The formula by hand at one setting; kills a missing 2, the wrong delta, factors."""
    cost = joint_release.CountCost(10_000, 320, 5.0, 0.1, 1e-8)
    sigma = gaussian_sigma(epsilon=0.1, delta=1e-8) * np.sqrt(320.0)
    assert cost.public == pytest.approx(4e-4 + 10 * sigma**2 / 1e8, rel=1e-12)
    joined, count = joint_release.joint_deviations(
        epsilon=0.1, delta=1e-8, sensitivity=320**0.5, weight=2.0
    )
    expected = (1 + count**2 / 1e8) * (1 + 4e-4 + 10 * joined**2 / 1e8) - 1
    assert cost.joint(2.0) == pytest.approx(expected, rel=1e-12)
    part = gaussian_sigma(epsilon=0.09, delta=1e-8) * np.sqrt(320.0)
    expected = (1 + 2 / 0.01**2 / 1e8) * (1 + 4e-4 + 10 * part**2 / 1e8) - 1
    assert cost.laplace(0.9) == pytest.approx(expected, rel=1e-12)
    half = gaussian_sigma(epsilon=0.09, delta=5e-9) * np.sqrt(320.0)
    other = gaussian_sigma(epsilon=0.01, delta=5e-9)
    expected = (1 + other**2 / 1e8) * (1 + 4e-4 + 10 * half**2 / 1e8) - 1
    assert cost.gaussian(0.9, 0.5) == pytest.approx(expected, rel=1e-9)


def test_best_parameters_are_minima_and_ordered() -> None:
    cost = joint_release.CountCost(10_000, 320, 5.0, 0.1, 1e-8)
    joint, laplace, gaussian = cost.best_joint(), cost.best_laplace(), cost.best_gaussian()
    assert cost.public < joint.nsr < laplace.nsr < gaussian.nsr
    for factor in (0.9, 1.1):
        assert cost.joint(joint.parameter * factor) > joint.nsr
        assert cost.laplace(1 - (1 - laplace.parameter) * factor) > laplace.nsr
