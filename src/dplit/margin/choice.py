"""Which margin learner, from public facts alone: candidates at their public settings."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dplit.baselines import ObjectivePerturbationClassifier, smallest_regularization
from dplit.baselines.objective import objective_noise
from dplit.margin.estimators import PrivateMarginClassifier
from dplit.margin.projected import ProjectedObjectiveClassifier


class Facts(NamedTuple):
    """Everything that advice may read: records have length 1 at most, a share of labels is wrong."""

    n: int
    d: int
    margin: float
    flips: float
    epsilon: float
    delta: float


#: In words, by candidate; with a delta, and without.
CANDIDATES = {
    "descent": "a noisy descent at a margin of a thirty-second",
    "margin": "a noisy descent at half of the stated margin",
    "objective": "objective perturbation in all columns",
    "mean": "the noisy mean of the records, in all columns",
    "projected": "objective perturbation of columns thrown together",
    "mean, projected": "the noisy mean of columns thrown together",
}

#: Penalty at which the minimiser is the noisy mean: no score reaches the corner of the hinge.
LARGE = 2.0


def names_of(facts: Facts) -> list[str]:
    """Candidates: descents need a delta, and signs are for those who have none."""
    left = ("projected", "mean, projected") if facts.delta else ("descent", "margin")
    return [name for name in CANDIDATES if name not in left]


def _penalty_of(facts: Facts) -> float:
    """A tenth of the mean length of the noise over n, as in ``ProjectedObjectiveClassifier``."""
    least = smallest_regularization(
        n_records=facts.n, epsilon=facts.epsilon, data_norm=1.0, loss="huberised_hinge"
    )
    noise = objective_noise(epsilon=facts.epsilon, delta=facts.delta, data_norm=1.0, jacobian=0.0)
    length = noise * math.sqrt(facts.d) if facts.delta else facts.d / noise
    return max(0.1 * length / facts.n, least)


def configure(name: str, facts: Facts) -> Any:
    """Return a candidate's estimator for records of length 1 at most, not fitted."""
    if name in ("descent", "margin"):
        return PrivateMarginClassifier(
            epsilon=facts.epsilon, delta=facts.delta, data_norm=1.0, fit_intercept=False,
            margin=facts.margin / 2.0 if name == "margin" else None,
        )  # fmt: skip
    penalty = LARGE if name.startswith("mean") else None
    if name.endswith("projected"):
        return ProjectedObjectiveClassifier(
            epsilon=facts.epsilon, data_norm=1.0, regularization=penalty,
            margin=facts.margin * (1.0 - 2.0 * facts.flips),
        )  # fmt: skip
    return ObjectivePerturbationClassifier(
        epsilon=facts.epsilon, delta=facts.delta, data_norm=1.0, fit_intercept=False,
        regularization=penalty or _penalty_of(facts),
    )  # fmt: skip
