"""Calibration of the Gaussian mechanism: dplit against dp-accounting and a plain root search.

The peers solve the same equation: dp-accounting by ``brentq`` on the logarithm of the naive
profile, the plain search by ``brentq`` on Phi(a) - e^eps Phi(b) itself.  Both lose digits where
delta is small; the points here are those where they are still right.  Measured interleaved in one
run; times are medians of five, the spread is the range of the five ratios.  The targets are
budgets of time, written as a peer that takes exactly the budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from dp_accounting.gaussian_mechanism import get_sigma_gaussian
from scipy import optimize, special

from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream

REPEATS = 5
CALLS = 50
PAIRS = 100_000


def naive_sigma(epsilon: float, delta: float) -> float:
    """Return sigma by ``brentq`` on the difference of two normal probabilities."""

    def excess(sigma: float) -> float:
        upper = special.ndtr(0.5 / sigma - epsilon * sigma)
        return float(upper - np.exp(epsilon) * special.ndtr(-0.5 / sigma - epsilon * sigma) - delta)

    return float(optimize.brentq(excess, 1e-2, 1e3, xtol=1e-12))


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _row(
    name: str, peer_name: str, ours: Callable[[], Any], peer: Callable[[], Any]
) -> dict[str, Any]:
    ours(), peer()  # warm both
    mine, theirs = np.array([(_seconds(ours), _seconds(peer)) for _ in range(REPEATS)]).T
    ratios = theirs / mine
    return {
        "name": name,
        "ours": "gaussian_sigma",
        "peer": peer_name,
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float(ratios.min()),
        "ratio_max": float(ratios.max()),
    }


def _points(count: int) -> list[tuple[float, float]]:
    rng = stream(0, "bench-calibration", "data")
    epsilon, delta = 10 ** rng.uniform(-1, 1, count), 10 ** rng.uniform(-7, -2, count)
    return list(zip(epsilon.tolist(), delta.tolist(), strict=True))


def _budget(row: dict[str, Any], budget: float, label: str) -> dict[str, Any]:
    """Return the row that compares our time with a budget in seconds; 1 is met."""
    mine = row["ours_seconds"]
    ratios = dict.fromkeys(("ratio", "ratio_min", "ratio_max"), budget / mine)
    return {**row, "peer": label, "peer_seconds": budget, **ratios, "target": 1.0}


def _scalar() -> list[dict[str, Any]]:
    points = _points(CALLS)
    name = f"calibrate sigma, {CALLS} scalar calls"

    def against(label: str, peer: Callable[[float, float], float]) -> dict[str, Any]:
        row = _row(
            name,
            label,
            lambda: [gaussian_sigma(epsilon=e, delta=d) for e, d in points],
            lambda: [peer(e, d) for e, d in points],
        )
        return {**row, "target": None, "per_call_ms": 1e3 * row["ours_seconds"] / CALLS}

    library = against("dp_accounting get_sigma_gaussian", get_sigma_gaussian)
    plain = against("scipy brentq, naive profile", naive_sigma)
    return [_budget(library, 0.3e-3 * CALLS, "budget: 0.3 ms a call"), library, plain]


def _vector() -> list[dict[str, Any]]:
    points = _points(PAIRS)
    epsilon, delta = np.array(points).T
    sample = points[:CALLS]
    row = _row(
        f"calibrate sigma, {PAIRS} pairs at once",
        f"dp_accounting, {CALLS} pairs scaled up",
        lambda: gaussian_sigma(epsilon=epsilon, delta=delta),
        lambda: [get_sigma_gaussian(e, d) for e, d in sample],
    )
    for key in ("peer_seconds", "ratio", "ratio_min", "ratio_max"):
        row[key] *= PAIRS / CALLS
    row = {**row, "target": None, "per_second": PAIRS / row["ours_seconds"]}
    return [_budget(row, PAIRS / 1e5, "budget: 1e5 pairs a second"), row]


def run() -> list[dict[str, Any]]:
    """Return one row per comparison: names, median seconds, ratio peer / ours with its spread."""
    return [*_scalar(), *_vector()]
