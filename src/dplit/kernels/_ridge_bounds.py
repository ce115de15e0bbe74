"""Worst cases of ridge regression: a record that is removed, and one that turns."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls through zero once in [low, high] does; else an end."""
    if function(high) >= 0.0:
        return high
    if function(low) <= 0.0:
        return low
    return float(brentq(function, low, high, xtol=1e-14, rtol=1e-14))


def worst_removal(alpha: float, m: int) -> tuple[float, float, float]:
    """Return the sensitivity to a removal for b = 1, its r^2 and the squared norm of the row. The
    maximum over r = t sqrt(alpha); that its slope falls is proved in the chapter.
    """
    if alpha * (2 * m - 1) ** 2 <= m:
        return 0.5 * math.sqrt(m / alpha), alpha * (m - 1) / m, alpha * (2 * m - 1) ** 2 / m
    rho, theta = math.sqrt((m - 1) / alpha), alpha / (1.0 + alpha)

    def slope(t: float) -> float:
        t2 = t * t
        turn = (t + (1.0 + t2) / rho) * (1.0 + t2)
        return (1.0 - t2) * (1.0 + theta * t2) - 2.0 * theta * t * turn

    t = _falling_root(slope, 0.0, 1.0) if m > 1 else 0.0
    value = (1.0 + rho * t / (1.0 + t * t)) / (1.0 + theta * t * t) / (1.0 + alpha)
    return value, alpha * t * t, 1.0


def _worst_turn(alpha: float, m: int) -> float:
    """Third swap bound for b = 1; infinite for alpha <= 1/5, where the diameter is smaller."""
    if alpha <= 0.2:
        return math.inf
    a = 2.0 * math.sqrt(alpha / m)

    def slope(k: float) -> float:
        c = math.sqrt(1.0 - k)
        return (alpha - k) / (alpha + k) * c * (a + c) - k

    k = _falling_root(slope, 0.5 * alpha / (1.0 + 2.0 * alpha), min(1.0, alpha))
    return 2.0 * math.sqrt(k) * (1.0 + math.sqrt(1.0 - k) / a) / (alpha + k)
