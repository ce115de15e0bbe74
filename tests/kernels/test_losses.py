"""Losses by hand, their Lipschitz constants by search, their conjugates by maximisation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from dplit.kernels._duality import fenchel_young
from dplit.kernels.losses import (
    LOSSES,
    check_targets,
    lipschitz_constant,
    loss_values,
)
from dplit.streams import stream


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize(
    ("loss", "t", "y", "expected"),
    [
        ("squared", 3.0, 1.0, 4.0),
        ("hinge", 0.25, 1.0, 0.75),
        ("hinge", 0.25, -1.0, 1.25),
        ("hinge", 2.0, 1.0, 0.0),
        ("pinball", 0.0, 2.0, 0.6),
        ("pinball", 2.0, 0.0, 1.4),
        ("logistic", 0.0, 1.0, math.log(2.0)),
        ("logistic", -800.0, 1.0, 800.0),
        ("logistic", 3.0, -1.0, 3.0 + math.log1p(math.exp(-3.0))),
    ],
)
def test_losses_by_hand(loss, t, y, expected):
    assert loss_values(loss, [t], [y], tau=0.3)[0] == pytest.approx(expected, rel=1e-14)


def test_losses_broadcast_over_leading_axes():
    values = loss_values("hinge", np.zeros((2, 3, 4)), [1, -1, 1, 1])
    assert values.shape == (2, 3, 4)
    assert (values == 1).all()


@pytest.mark.claim("erm-thm2", "erm-eq1")
@pytest.mark.parametrize("loss", ["hinge", "pinball", "logistic"])
@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_lipschitz_constants_are_the_largest_slopes(loss, tau):
    """The largest slope on a fine grid is below the constant and within 1e-3 of it."""
    t = np.linspace(-12, 12, 4001)
    largest = 0.0
    for y in (-1.0, 1.0):
        values = loss_values(loss, t, np.full(t.shape, y), tau=tau)
        largest = max(largest, np.abs(np.diff(values) / np.diff(t)).max())
    constant = lipschitz_constant(loss, tau=tau)
    assert largest <= constant * (1 + 1e-9)
    assert largest >= constant * (1 - 1e-3)


@pytest.mark.claim("erm-thm2")
def test_lipschitz_constant_of_the_square_needs_bounds():
    t = np.linspace(-2, 2, 401)
    slope = np.abs(np.diff((t - 3.0) ** 2) / np.diff(t)).max()
    constant = lipschitz_constant("squared", function_bound=2.0, label_bound=3.0)
    assert slope <= constant == 10.0
    assert slope >= 0.99 * constant
    with pytest.raises(ValueError, match="function_bound and label_bound must be given"):
        lipschitz_constant("squared", label_bound=1.0)


def _conjugate(loss, u, y, tau):
    """Maximum of u t - L(t, y) over a wide grid."""
    t = np.linspace(-40, 40, 160_001)
    return float((u * t - loss_values(loss, t, np.full(t.shape, y), tau=tau)).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_terms_of_the_gap_are_those_of_the_conjugate(loss):
    rng, tau = stream(0, "conjugate", "data"), 0.3
    for _ in range(30):
        y = rng.choice([-1.0, 1.0])
        share, t = rng.uniform(0.01, 0.99), rng.normal()
        slope = {"squared": 2 * rng.normal(), "pinball": share - tau}.get(loss, -y * share)
        value = float(loss_values(loss, [t], [y], tau=tau)[0])
        expected = value + _conjugate(loss, slope, y, tau) - slope * t
        term = fenchel_young(loss, np.array([t]), np.array([y]), np.array([slope]), tau)[0]
        assert term == pytest.approx(expected, abs=2e-6)


def test_small_logistic_terms_bound_the_divergence_without_cancellation():
    """Near the optimum the term is between once and 2.1 times the divergence."""
    f, y = np.array([0.7]), np.array([1.0])
    q = float(expit(-0.7))
    for shift in (1e-5, 1e-7, 1e-9):
        term = fenchel_young("logistic", f, y, -y * (q + shift), 0.5)[0]
        leading = shift**2 / (2 * q * (1 - q))
        assert leading <= term <= 2.1 * leading


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("y", [[0, 1], [1, 2], [1.0, -1.0, 0.5]])
def test_other_labels_are_refused(loss, y):
    with pytest.raises(ValueError, match=r"y must hold the two labels -1 and \+1"):
        check_targets(loss, y)
