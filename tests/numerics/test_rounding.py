"""What is calibrated or converted is never on the unsafe side: against mpmath at 60 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dplit import accounting, mechanisms
from dplit._numerics import rounding
from dplit.accounting import conversions

DRAWS = 300  # rounding to nearest is on the unsafe side in half of them
mpf = mpmath.mpf


def pairs(decades: float) -> list[list[float]]:
    """Positive numbers, most of them with all their bits in use, some of them powers of two."""
    rng = np.random.default_rng(17)
    values = 10 ** rng.uniform(-decades, decades, (DRAWS, 2))
    values[::10] = 2.0 ** np.round(np.log2(values[::10]))
    return [[float(v) for v in row] for row in values]


def textbook(epsilon: float, delta: float, sensitivity: float) -> mpmath.mpf:
    return mpmath.sqrt(2 * mpmath.log(mpf(1.25) / mpf(delta))) * mpf(sensitivity) / mpf(epsilon)


#: By the safe side: a function, and the arguments of which it is the ratio.
RATIOS: dict[str, tuple[Callable[..., float], str, str]] = {
    "up": (mechanisms.laplace_scale, "sensitivity", "epsilon"),
    "down": (accounting.noise_multiplier, "sigma", "sensitivity"),
}


@pytest.mark.parametrize("decades", [3.0, 70.0])
@pytest.mark.parametrize("side", RATIOS)
def test_ratios_are_rounded_outward(side: str, decades: float) -> None:
    """At most one ulp away and never on the unsafe side.  Kills rounding to nearest."""
    function, above, below = RATIOS[side]
    for a, b in pairs(decades):
        measured = function(**{above: a, below: b})
        with mpmath.workdps(60):
            excess = (mpf(measured) / (mpf(a) / mpf(b)) - 1) * (1 if side == "up" else -1)
            assert 0 <= excess <= 2.0**-51, (a, b)


def test_exact_results_stay_exact() -> None:
    assert mechanisms.laplace_scale(epsilon=0.5, sensitivity=3.0) == 6.0


def test_the_textbook_sigma_is_rounded_up() -> None:
    """Six roundings; deltas near 1, where the logarithm loses most, too."""
    rng = np.random.default_rng(19)
    for _ in range(DRAWS):
        epsilon, sensitivity = (float(v) for v in 10 ** rng.uniform(-3, 3, 2))
        delta = float(rng.choice([10 ** rng.uniform(-300, -0.01), 1 - 10 ** rng.uniform(-15, -1)]))
        measured = mechanisms.classical_gaussian_sigma(
            epsilon=epsilon, delta=delta, sensitivity=sensitivity
        )
        with mpmath.workdps(60):
            assert 0 <= measured / textbook(epsilon, delta, sensitivity) - 1 < mpf("3e-15")


def increasing_root(function: Callable[[Any], Any]) -> Any:
    """The root to 20 digits: the value at the root is stationary and has 40."""
    low, high = mpf(-60), mpf(60)
    for _ in range(75):
        middle = (low + high) / 2
        low, high = (middle, high) if function(mpmath.exp(middle)) < 0 else (low, middle)
    return mpmath.exp(low)


def best_delta(epsilon: Any, rho: Any) -> Any:
    b = increasing_root(lambda b: rho * (1 + 2 * b) - mpmath.log1p(1 / b) - epsilon)
    value = b * ((1 + b) * rho - epsilon - mpmath.log1p(1 / b)) - mpmath.log1p(b)
    return mpmath.exp(min(value, mpf(0)))


def best_epsilon(rho: Any, delta: Any) -> Any:
    odds = -mpmath.log(delta)
    b = increasing_root(lambda b: rho * b * b + mpmath.log1p(b) - odds)
    return rho * (1 + b) + (odds - mpmath.log1p(b)) / b - mpmath.log1p(1 / b)


def best_rho(epsilon: Any, delta: Any) -> Any:
    odds = -mpmath.log(delta)
    b = increasing_root(
        lambda b: b * b * (epsilon + mpmath.log1p(1 / b)) / (1 + 2 * b) + mpmath.log1p(b) - odds
    )
    return (epsilon - (odds - mpmath.log1p(b)) / b + mpmath.log1p(1 / b)) / (1 + b)


def test_zcdp_conversions_are_rounded_outward() -> None:
    """Against the optimal order at 60 digits.  Kills evaluation in floats and rounding inward."""
    rng = np.random.default_rng(20)
    for _ in range(DRAWS // 10):
        rho, epsilon = float(10 ** rng.uniform(-6, 2)), float(10 ** rng.uniform(-3, 2.5))
        delta = float(10 ** rng.uniform(-300, -0.1))
        measured = (
            conversions.zcdp_delta(epsilon=epsilon, rho=rho),
            conversions.zcdp_epsilon(rho=rho, delta=delta),
            conversions.zcdp_rho(epsilon=epsilon, delta=delta),
        )
        with mpmath.workdps(60):
            e, r, d = mpf(epsilon), mpf(rho), mpf(delta)
            least = best_delta(e, r)
            assert measured[0] >= least
            assert least < 1e-300 or measured[0] <= least * (1 + mpf("1e-12"))
            loss = best_epsilon(r, d)
            assert measured[1] >= loss
            assert loss < 0 or measured[1] - loss <= mpf("1e-12") * (loss + r)
            assert 0 <= 1 - measured[2] / best_rho(e, d) <= mpf("1e-12")


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 7) ** 40, Fraction(10) ** 200 / 7])
def test_the_neighbouring_floats_are_on_the_other_side(value: Fraction) -> None:
    up, down = rounding.round_up(value), rounding.round_down(value)
    assert down < value < up == math.nextafter(down, math.inf)


def test_beyond_the_floats_the_safe_side_is_kept() -> None:
    huge, tiny = Fraction(10) ** 400, Fraction(1, 10**400)
    assert rounding.round_up(huge) == math.inf
    assert rounding.round_down(huge) == np.finfo(float).max
    assert rounding.round_up(tiny) == 5e-324
    assert rounding.round_down(tiny) == 0.0
    assert rounding.round_up(Fraction(0)) == 0.0
    assert rounding.round_down(Fraction(0)) == 0.0
