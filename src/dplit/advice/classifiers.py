r"""Which margin learner, from public facts alone: a rule learnt on a map of records with a margin.

Without a delta columns are thrown together, where they are many, and the objective is perturbed
(:class:`~dplit.margins.projected.ProjectedObjectiveClassifier`). With one all columns are kept: the
objective is perturbed, or from 500 columns on, where second derivatives are slow, descents are
noisy. It is otherwise where records are said to lie in few directions, of which the signs keep four
columns or more for each: then columns are thrown together with a delta, too. The errors to expect
follow one number, :func:`strength`. The noisy mean of the records errs
less where that is small, on round records; on three tables it loses several times what it gains
there, so that it is never recommended. All of that stands in ``results/margin_choice.json``, which
``benchmarks.maps.margin`` made.
"""

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
from dplit.advice.engine import ExpectedError, Recommendation, learnt, outside
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

#: Least share of what can be gained that is worth a release.
_USEFUL = 0.05

#: Below this number of records times epsilon a lot from the Gaussian prior is quick, and errs less.
_LOT = 100.0

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (300, 16_000),
    "d": (20, 2000),
    "margin": (0.1, 0.3),
    "flips": (0.0, 0.2),
    "epsilon": (0.1, 10.0),
    "delta": (0.0, 1e-6),
    "rank": (5, 20),
}


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


def recommend(
    *,
    n: int,
    d: int,
    margin: float,
    flips: float = 0.0,
    epsilon: float,
    delta: float = 0.0,
    rank: int | None = None,
) -> Recommendation:
    """Recommend a linear classifier for records with a margin from public facts; never from data.

    Parameters
    ----------
    n, d : int
        Public numbers of records and of columns.
    margin : float
        Public guess of the margin, of records of length 1 at most and a rule of length 1, in (0,
        1].
    flips : float, default=0.0
        Public guess of the share of labels on the wrong side, in [0, 1/2).
    epsilon, delta : float
        Budget; a record with its label may be replaced. ``delta`` in [0, 1/2).
    rank : int or None, default=None
        Public guess of the number of directions in which records lie, at most ``d``; None where
        nothing is known of it. It is read where there is a delta.

    Returns
    -------
    Recommendation
        Its estimator is told the budget and a ``data_norm`` of 1, and fits no intercept; others by
        ``set_params``. It is None where less than a twentieth of what can be gained over a constant
        is expected.

    Notes
    -----
    The error is a share of wrong classes, flipped labels included, from simulated laws; tables
    have no margin that is known, and a guess that is wrong by a factor of three moves k and
    the error to expect, no more. At a guess of a tenth all but two of 17 cases on three tables
    erred no more than was expected, many far less. The lot that ``reason`` names was given 20,000
    proposals on the map. With a million it can err less than all estimators at larger budgets too:
    at 300 crowded records, a margin of 0.3 and epsilon 1, not at as many round ones.

    Examples
    --------
    >>> advice = recommend(n=3000, d=1000, margin=0.3, epsilon=1.0)
    >>> type(advice.estimator).__name__, advice.estimator.regularization
    ('ProjectedObjectiveClassifier', None)
    >>> type(recommend(n=3000, d=1000, margin=0.3, epsilon=1.0, delta=1e-6).estimator).__name__
    'PrivateMarginClassifier'
    >>> known = dict(n=1000, d=2000, margin=0.1, epsilon=1.0, delta=1e-6)
    >>> [type(recommend(**known, rank=r).estimator).__name__ for r in (5, None)]
    ['ProjectedObjectiveClassifier', 'PrivateMarginClassifier']
    >>> recommend(n=50, d=1000, margin=0.01, epsilon=0.1).estimator is None
    True
    """
    facts = _checked(ClassifierFacts(n, d, margin, flips, epsilon, delta, rank))
    name, share, reach = chosen(facts), gained(facts), strength(facts)
    best = facts.flips
    room = 0.5 - best
    measure, trivial = "share of wrong classes", 0.5
    beyond = outside(facts._asdict(), _TRIED)
    reason = (
        f"{CANDIDATES[name]}; the signal of the mean in one prediction is {reach:.2g} times "
        "its noise"
    )
    if not facts.delta and facts.n * facts.epsilon < _LOT:
        reason += "; a lot, gaussian_prior_draw, is still quick here and erred less"
    if share < _USEFUL:
        nothing = ExpectedError(measure, trivial, 0.0, trivial, best)
        reason += f"; {share:.0%} of what can be gained is expected, too little{beyond}."
        return Recommendation(None, reason[0].upper() + reason[1:], _TRIED, nothing)
    spread = LEARNT[facts.delta > 0.0][2] * math.sqrt(share * (1.0 - share)) * room
    expected = ExpectedError(measure, trivial - share * room, spread, trivial, best)
    reason += f"{beyond}."
    return Recommendation(configure(name, facts), reason[0].upper() + reason[1:], _TRIED, expected)
