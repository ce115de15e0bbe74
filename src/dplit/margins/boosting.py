"""Algorithm 4, reconstructed: several phased passes, and a private choice of the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, quiet
from dplit.margins._checks import clipped_records
from dplit.margins.duplicates import _phase_sizes
from dplit.margins.losses import _bounded_hinge_mean, hinge_sensitivity
from dplit.margins.phased import phased_descent
from dplit.margins.plans import BoostedPlan
from dplit.mechanisms import report_noisy_min


@dataclass(frozen=True)
class _BoostedDescent:
    """Chosen weights (k,), all private candidates (M, k), level of one copy, gradients used."""

    weights: Array
    candidates: Array
    chosen: int
    mu: float
    n_gradients: int


@quiet
def boosted_descent(
    X: ArrayLike, y: ArrayLike, plan: BoostedPlan, *, rng: np.random.Generator | None
) -> _BoostedDescent:
    """Algorithm 4: several phased passes, and a private choice of the best last point.

    >>> from dplit.margins.balls import Ball
    >>> from dplit.margins.plans import plan_boosted
    >>> plan = plan_boosted((2000, 1), Ball(0.5, 1.0, 1.0), epsilon=5.0, delta=1e-5,
    ...                     accounting="permutation")
    >>> X, y = np.tile([[1.0], [-1.0]], (1000, 1)), np.tile([1.0, -1.0], 1000)
    >>> best = boosted_descent(X, y, plan, rng=np.random.default_rng(0))
    >>> len(best.candidates) == plan.runs, bool(best.weights[0] > 0.5)
    (True, True)
    """
    rho, size, norm = plan.phases.ball
    rows, labels = clipped_records(X, y, norm)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    candidates = phased_descent(
        rows, labels, plan.phases, replacement=plan.replacement, rng=rng, n_draws=plan.runs
    )
    signed = labels * (candidates @ rows.T)
    scores = _bounded_hinge_mean(signed, margin=rho, largest=size * norm)
    width = hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=len(rows))
    chosen = report_noisy_min(scores, epsilon=plan.choice, sensitivity=width, rng=rng)
    used = plan.runs * sum(_phase_sizes(len(rows)))
    return _BoostedDescent(candidates[chosen], candidates, chosen, plan.mu, used)
