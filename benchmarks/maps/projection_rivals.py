"""Rivals that are no release of single entries, at the same budget of an entry."""

from __future__ import annotations

import math

import numpy as np

from dplit.advice.entry_errors import (
    EntryFacts,
    _design_energies,
    _entry_power,
    additive_error,
    best_rows,
    moments_error,
    projection_error,
)
from dplit.entries._moments import penalised_error
from dplit.mechanisms import gaussian_sigma

METHODS = (
    "additive",
    "additive, corrected",
    "projection",
    "projection, corrected",
    "moments",
    "AdaSSP",
    "noisy gradients",
)


def adassp_scales(facts: EntryFacts) -> tuple[float, float, float]:
    """Variances of the noise of Wang's (2018) three parts, a third of the budget each: of the
    smallest eigenvalue, of second moments beside the diagonal, of those with responses in [-1, 1].
    """
    d, third = facts.d, _entry_power(facts) / 3.0
    extra = 0.0
    if facts.delta is None:
        third, extra = math.expm1(math.log1p(_entry_power(facts)) / 3.0), 1.0 / 8.0
    others = max(d - 1, 1)
    return others / third, (others + extra * (1.0 + third)) / third, 1.0 / third


def adassp_error(facts: EntryFacts, *, failure: float = 0.05) -> float:
    """Error of adaptive sufficient statistics: the penalty lifts the smallest eigenvalue, told with
    noise, above the noise.
    """
    n, d, snr, *_ = facts
    H, T = _design_energies(n, d), 3.0 * snr / d
    told, g, c = adassp_scales(facts)
    largest = _largest_response(facts)
    lowest = max(float(H[0]) - _lowered(told, failure), 0.0)
    penalty = max(math.sqrt(d * g * math.log(2.0 * d * d / failure)) - lowest, 0.0)
    shifts = -float(H[0]) + (float(H[0]) + penalty) * np.linspace(0.001, 1.0, 2000)
    moments = H, H * H * T + H + c * largest, H * T
    errors, alphas = penalised_error(*moments, g * d, shifts)
    enough = np.flatnonzero(np.isfinite(errors) & (alphas >= penalty))
    error = float(errors[enough[0]])
    return 1.0 + d * (error + T) / 3.0


def _lowered(variance: float, failure: float) -> float:
    return math.sqrt(2.0 * math.log(3.0 / failure) * variance)


def _largest_response(facts: EntryFacts) -> float:
    """Square of the largest of n normal responses, at its median."""
    return (1.0 + facts.snr) * 2.0 * math.log(1.5 * facts.n)


def gradient_error(facts: EntryFacts) -> float:
    """Least error of noisy gradients over steps and rates, clipped where nothing is clipped yet.

    One entry can turn a clipped gradient round: nothing is gained from protecting no more.
    """
    n, d, snr, *_ = facts
    H, T = _design_energies(n, d), 3.0 * snr / d
    clip = 2.0 * math.sqrt(d / 3.0 * (1.0 + snr))
    one = clip**2 / (2.0 * math.log(2.0) * facts.epsilon)
    if facts.delta is not None:
        level = gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta, sensitivity=2.0 * clip)
        one = float(level) ** 2
    step = np.geomspace(1e-3, 1.5, 25)[:, None] / float(H.max())
    kept, found = 1.0 - step * H, [1.0 + snr]
    for steps in (1, 2, 4, 8, 16, 64):
        reached = 1.0 - kept**steps
        heard = np.where(H > 0, reached / np.maximum(H, 1e-300), step * steps)
        noise = steps * one * step**2 * sum(kept ** (2 * k) for k in range(steps))
        mean = np.mean((1 - reached) ** 2 * T + heard**2 * H + noise, axis=1)
        found.append(1.0 + d * float(mean.min()) / 3.0)
    return min(found)


def cell(facts: EntryFacts) -> dict[str, float]:
    """Errors of all methods by their closed forms; projections at their best number of rows."""
    m, corrected = best_rows(facts)
    grid = np.unique(np.round(np.geomspace(facts.d + 2, max(facts.n, facts.d + 2), 40)).astype(int))
    plain = min(projection_error(facts, int(k), corrected=False) for k in grid)
    errors = (
        additive_error(facts, corrected=False),
        additive_error(facts),
        plain,
        corrected,
        moments_error(facts),
        adassp_error(facts),
        gradient_error(facts),
    )
    return dict(zip(METHODS, errors, strict=True)) | {"rows": m}
