"""Learn at every margin of a plan, and choose one privately: Algorithm 2 without its map."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array
from dplit.margins._accelerated import _accelerated_descent
from dplit.margins._checks import clipped_records
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins._kinds import Solver
from dplit.margins.boosting import boosted_descent
from dplit.margins.losses import zero_one_loss
from dplit.margins.plans import LearningPlan
from dplit.mechanisms import report_noisy_min

#: Weights by solver: records, labels, the plan of one descent, and the source of its noise.
_SOLVERS: dict[Solver, Callable[..., Array]] = {
    "accelerated": _accelerated_descent,
    "noisy_gradient": noisy_hinge_descent,
    "phased": lambda *told, rng: boosted_descent(*told, rng=rng).weights,
}


class _Learnt(NamedTuple):
    """Weights (k,), their place in the grid of margins, and all, private, candidates (n, k)."""

    weights: Array
    chosen: int
    candidates: Array


def _fewest_errors(signed: Array, plan: LearningPlan, rng: np.random.Generator | None) -> int:
    r"""Choose the candidate with the fewest errors, privately; ``signed`` scores are (n, m). One
    record changes a number of errors by at most 1; candidates are private, so that counting on
    their own records needs no penalty for the size of the class.
    """
    errors = zero_one_loss(signed).sum(axis=1)
    return report_noisy_min(errors, epsilon=plan.choice, sensitivity=1.0, rng=rng)


def learn(
    Z: ArrayLike,
    y: ArrayLike,
    plan: LearningPlan,
    *,
    rng: np.random.Generator | None,
    choose: Callable[[Array, LearningPlan, np.random.Generator | None], int] = _fewest_errors,
) -> _Learnt:
    """Steps 3 and 4 of Algorithm 2 on projected records or random features ``Z``: clip, learn at
    every margin of the plan, and choose one where the plan keeps a budget for that.
    """
    rows, labels = Z, y
    if plan.choice > 0.0:
        rows, labels = clipped_records(Z, y, plan.balls[0].data_norm)
    solve = _SOLVERS[plan.solver]
    candidates = np.vstack([solve(rows, labels, each, rng=rng) for each in plan.descents])
    chosen = 0
    if plan.choice > 0.0:
        chosen = choose(labels * (candidates @ np.transpose(rows)), plan, rng)
    return _Learnt(candidates[chosen], chosen, candidates)
