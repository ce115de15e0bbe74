"""Facts, candidates, settings and learnt gains of linear classifiers for records with a margin."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from scipy.special import expit

from dplit._checks import (
    check_delta,
    check_epsilon,
    check_integer,
    check_interval,
    check_probability,
)
from dplit.advice.engine import learnt
from dplit.linear.objective import objective_noise, smallest_regularization
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.projected import ProjectedObjectiveClassifier, normal_components, pure_components
from dplit.mechanisms import gaussian_sigma


class ClassifierFacts(NamedTuple):
    """Everything that advice may read: records have length 1, a share of labels is flipped.

    ``rank`` is the number of directions in which they lie; None where nothing is known of it.
    """

    n: int
    d: int
    margin: float
    flips: float
    epsilon: float
    delta: float
    rank: int | None = None


#: In words, by candidate.
CANDIDATES = {
    "descent": "a noisy descent at a margin of a thirty-second",
    "margin": "a noisy descent at half of the stated margin",
    "objective": "objective perturbation in all columns",
    "mean": "the noisy mean of the records, in all columns",
    "projected": "objective perturbation, of columns thrown together where they are many",
    "descent, projected": "a noisy descent at a margin of a thirty-second, of thrown columns",
    "mean, projected": "the noisy mean of records, of columns thrown together where they are many",
}

#: Penalty at which the minimiser is the noisy mean: no score reaches the corner of the hinge.
LARGE = 2.0

#: Fewest columns after the signs, over the rank, that are worth them where there is a delta.
_ROOM = 4

#: Most columns of a problem with second derivatives.
_WIDE = 500

#: Learnt: the share of what can be gained is ``expit(a + b log(strength))``, one run deviates by c
#: roots of that share times what is missing; without a delta, and with one.
LEARNT = tuple(learnt("classifiers").values())


def strength(facts: ClassifierFacts) -> float:
    r"""What the mean tells of a record over the noise that it meets.

    The noise is :math:`2\sqrt k/(n\epsilon)` without a delta, k of ``pure_components``, and
    :math:`2\sigma/n` with one.

    >>> round(strength(ClassifierFacts(300, 1000, 0.5, 0.0, 1.0, 0.0)), 2)
    4.33
    """
    kept = 1.0 - 2.0 * facts.flips
    if facts.delta:
        noise = float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta, sensitivity=2.0))
    else:
        noise = 2.0 * math.sqrt(components(facts)) / facts.epsilon
    return kept * facts.margin**2 * facts.n / noise


def names_of(facts: ClassifierFacts) -> list[str]:
    """Candidates: descents need a delta; with one the mean meets the same noise in all columns."""
    descents = ("descent", "margin", "descent, projected")
    left = ("mean, projected",) if facts.delta else descents
    return [name for name in CANDIDATES if name not in left]


def components(facts: ClassifierFacts) -> int:
    """Columns after the signs; all of them where nothing is thrown together."""
    told: Any = {
        "n_samples": facts.n,
        "n_features": facts.d,
        "epsilon": facts.epsilon,
        "margin": facts.margin,
        "flips": facts.flips,
    }
    if facts.delta:
        return normal_components(**told, delta=facts.delta)
    return pure_components(**told)


def chosen(facts: ClassifierFacts, *, limit: float = 0.0) -> str:
    """Name of the recommended candidate; the mean below a ``limit`` of the strength, 0 for never.

    >>> facts = ClassifierFacts(1000, 200, 0.3, 0.0, 1.0, 1e-6)
    >>> chosen(facts), chosen(facts._replace(delta=0.0))
    ('objective', 'projected')
    """
    weak = strength(facts) < limit
    if not facts.delta:
        return "mean, projected" if weak else "projected"
    k = components(facts)
    if facts.rank is not None and _ROOM * facts.rank <= k < facts.d:
        return "projected" if k <= _WIDE else "descent, projected"
    return "mean" if weak else "objective" if facts.d <= _WIDE else "descent"


def _penalty_of(facts: ClassifierFacts) -> float:
    """A tenth of the mean length of the noise over n, as in ``ProjectedObjectiveClassifier``."""
    least = smallest_regularization(
        n_records=facts.n, epsilon=facts.epsilon, data_norm=1.0, loss="huberised_hinge"
    )
    noise = objective_noise(epsilon=facts.epsilon, delta=facts.delta, data_norm=1.0, jacobian=0.0)
    length = noise * math.sqrt(facts.d) if facts.delta else facts.d / noise
    return max(0.1 * length / facts.n, least)


def configure(name: str, facts: ClassifierFacts) -> Any:
    """Return a candidate's estimator for records of length 1 at most, not fitted."""
    if name in ("descent", "margin", "descent, projected"):
        signs = name == "descent, projected" and components(facts) < facts.d
        return PrivateMarginClassifier(
            epsilon=facts.epsilon,
            delta=facts.delta,
            data_norm=1.0,
            fit_intercept=False,
            margin=facts.margin / 2.0 if name == "margin" else None,
            projection="sign" if signs else None,
            n_components=components(facts) if signs else None,
        )
    penalty = LARGE if name.startswith("mean") else None
    if name in ("projected", "mean, projected"):
        return ProjectedObjectiveClassifier(
            epsilon=facts.epsilon,
            delta=facts.delta,
            data_norm=1.0,
            regularization=penalty,
            margin=facts.margin * (1.0 - 2.0 * facts.flips),
        )
    return ObjectivePerturbationClassifier(
        epsilon=facts.epsilon,
        delta=facts.delta,
        data_norm=1.0,
        fit_intercept=False,
        regularization=penalty or _penalty_of(facts),
    )


def _checked(facts: ClassifierFacts) -> ClassifierFacts:
    """Return legal facts."""
    check_delta(facts.delta)
    if facts.flips != 0.0:
        check_interval("flips", facts.flips, 0.0, 0.5)
    return ClassifierFacts(
        check_integer("n", facts.n),
        check_integer("d", facts.d),
        check_probability("margin", facts.margin, one=True),
        float(facts.flips),
        check_epsilon(facts.epsilon),
        float(facts.delta),
        None if facts.rank is None else check_integer("rank", facts.rank, maximum=facts.d),
    )


def gained(facts: ClassifierFacts) -> float:
    """Expected share of what can be gained over a constant, by what the map taught."""
    a, b, _ = LEARNT[facts.delta > 0.0]
    return float(expit(a + b * math.log(max(strength(facts), 1e-300))))
