r"""Which margin learner, from public facts alone: a rule learnt on a map of records with a margin.

Without a delta columns are thrown together, where they are many, and the objective is perturbed
(:class:`~dplit.margins.projected.ProjectedObjectiveClassifier`). With one all columns are kept: the
objective is perturbed, or from 500 columns on, where second derivatives are slow, descents are
noisy. It is otherwise where records are said to lie in few directions, of which the signs keep four
columns or more for each: then columns are thrown together with a delta, too. The errors to expect
follow one number, what the mean of the records tells of one of them over the noise that it meets.
That noisy mean errs less where the number is small, on round records; on three tables it loses
several times what it gains there, so that it is never recommended. All of that stands in
``results/margin_choice.json``, which ``benchmarks.maps.margin`` made.
"""

from __future__ import annotations

import math
from typing import Any

from dplit.advice._classifier_settings import (
    CANDIDATES,
    LEARNT,
    ClassifierFacts,
    _checked,
    chosen,
    configure,
    gained,
    strength,
)
from dplit.advice.engine import ExpectedError, Recommendation, outside

#: Least share of what can be gained that is worth a release.
_USEFUL = 0.05

#: Below this number of records times epsilon a lot from the Gaussian prior is quick.
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

    With a delta and 2,000 columns of rank 5 or 20 the map has 24 places of 300 records and 24 of
    3,000. Another candidate erred less, by more than 0.01 and two standard errors, in 1 and 3 of
    them where the rank was told, and in 6 and 5 where it was not.

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
        reason += (
            "; a lot, gaussian_prior_draw, is still quick here and erred 0.09 less on the map, "
        )
        reason += "on average over laws of 300 records at epsilon 0.1"
    if share < _USEFUL:
        nothing = ExpectedError(measure, trivial, 0.0, trivial, best)
        reason += f"; {share:.0%} of what can be gained is expected, too little{beyond}."
        return Recommendation(None, reason[0].upper() + reason[1:], _TRIED, nothing)
    spread = LEARNT[facts.delta > 0.0][2] * math.sqrt(share * (1.0 - share)) * room
    expected = ExpectedError(measure, trivial - share * room, spread, trivial, best)
    reason += f"{beyond}."
    return Recommendation(configure(name, facts), reason[0].upper() + reason[1:], _TRIED, expected)
