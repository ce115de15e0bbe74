"""Small changes of the mechanisms' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.mechanisms import _profile, gaussian_delta, gaussian_epsilon
from dplit.mechanisms.selection import _normalised
from tests.mechanisms.laws import exact_delta


def test_scores_are_normalised_by_both_sensitivities() -> None:
    """Kills one sensitivity for the sum of two, other quarters, and a margin with another sign."""
    q, widths, margin = np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 7.0]), 3.0
    shifted = q + margin * widths
    expected = [
        max((s - t) / (w + u) for t, u in zip(shifted, widths, strict=True))
        for s, w in zip(shifted, widths, strict=True)
    ]
    assert _normalised(q, widths, margin) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", range(12))
def test_delta_is_never_below_its_value_where_its_position_cancels(k: int) -> None:
    """x = epsilon / mu - mu / 2 with parts far larger than itself. Kills a position without what
    its rounding took."""
    epsilon = 300.0 + 37.7 * k
    mu = (2.0 * epsilon) ** 0.5 * (0.8 + 0.013 * k)
    found = gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=mu)
    assert exact_delta(epsilon, mu) <= found <= exact_delta(epsilon, mu) * (1 + 1e-11)


@pytest.mark.parametrize("mu", [1e-7, 1e-4, 0.3, 0.9])
def test_delta_of_little_noise_and_much_is_as_sharp(mu: float) -> None:
    """Kills an allowance for the other of two formulas."""
    for epsilon in (mu * mu, 2 * mu, 1.5):
        found = gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=mu)
        value = exact_delta(epsilon, mu)
        if value > 1e-290:
            assert value <= found <= value * (1 + 1e-11)


@pytest.mark.parametrize("mu", [40.0, 3e3, 1e6])
@pytest.mark.parametrize("delta", [0.6, 0.9, 0.99])
def test_epsilon_of_a_large_delta_is_never_below_its_value(mu: float, delta: float) -> None:
    """Two squares of mu cancel. Kills an allowance without them."""
    epsilon = gaussian_epsilon(delta=delta, sigma=1.0, sensitivity=mu)
    assert exact_delta(epsilon, mu) <= delta


def test_epsilon_is_moved_by_all_that_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a larger allowance it shows: kills one without a half of the squared mu."""
    mu, told = 1e3, {"delta": 1e-5, "sigma": 1.0}
    epsilon = gaussian_epsilon(sensitivity=mu, **told)
    monkeypatch.setattr(_profile, "_SAFETY", 2.0**-20)
    moved = gaussian_epsilon(sensitivity=mu, **told) - epsilon
    assert moved == pytest.approx(2.0**-20 * (epsilon + mu + mu * mu / 2), rel=0.01)
