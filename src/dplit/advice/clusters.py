"""Sketch, Lloyd's steps or nothing: advice on private clustering from public facts."""

from __future__ import annotations

from typing import Any

from dplit._checks import check_epsilon, check_integer, check_positive, check_probability
from dplit.advice._cluster_settings import (
    _SPREAD,
    CANDIDATES,
    USEFUL,
    ClusterFacts,
    _shipped,
    chosen,
    configure,
    errors_of,
    frequencies_of,
    noise_ratio,
)
from dplit.advice.engine import ExpectedError, Recommendation, outside
from dplit.advice.planning import LEAST_LOUDNESS, LEAST_WAVES, planned

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (1e3, 1e5),
    "d": (1, 64),
    "k": (2, 60),
    "separation": (0.6, 60.0),
    "epsilon": (0.1, 10.0),
    "delta": (1e-6, 1e-6),
}


def _checked(facts: ClusterFacts) -> ClusterFacts:
    """Return legal facts."""
    check_epsilon(facts.epsilon)
    delta = check_probability("delta", facts.delta, zero=True)
    if delta and not 1e-14 <= delta < 0.5:
        raise ValueError(f"delta must be 0 or in [1e-14, 0.5), got delta={facts.delta!r}")
    return facts._replace(
        n=check_integer("n", facts.n),
        d=check_integer("d", facts.d),
        k=check_integer("k", facts.k, minimum=2),
        delta=delta,
        separation=check_positive("separation", facts.separation),
    )


def _regret(facts: ClusterFacts, truth: float) -> tuple[float, float]:
    """Expected error of what is recommended where the separation is ``truth``, and the best one's.

    >>> mine, best = _regret(ClusterFacts(10_000, 6, 6, 6.0, 1.0), 2.0)
    >>> best <= mine < best + 0.1
    True
    """
    real = _shipped(errors_of(facts._replace(separation=truth)))
    return real[chosen(errors_of(facts))], min(real.values())


def recommend(
    *, n: int, d: int, k: int, epsilon: float, delta: float = 0.0, separation: float = 6.0
) -> Recommendation:
    """Recommend a release for k centres from public facts; it never takes data.

    Records are protected, of which one may be added or removed; n is what is publicly thought of
    their number.

    Parameters
    ----------
    n, d, k : int
        Public numbers of records, of columns, which are taken to be scaled to [-1, 1], and of
        centres, at least 2.
    epsilon : float
        Budget, positive.
    delta : float, default=0.0
        In [1e-14, 0.5) for Gaussian noise; 0 for a pure budget.
    separation : float, default=6.0
        How far apart the clusters lie, by what is known elsewhere: the deviation of the centres
        over that of the records around them. Three tables that were tried have 0.76, 0.92 and 5.9.
        The default is no guess of what tables have, but what loses least to the best in hindsight
        where it is told of 88 settings off the grid: .017 +- .003 on average, 1.5 to 4 .023 (they
        refuse the digits at epsilon 10, and choose the same elsewhere), the truth .022; 1 refuses
        much that works and loses .076.

    Returns
    -------
    Recommendation
        Its estimator is None where no method is expected to gain a twentieth of what k-means gains
        on one centre. The reason says what happens where the guess of the separation is wrong by
        three, and whether a grid or a tree of noisy counts, which the package does not ship, is
        expected to err less.

    Notes
    -----
    Errors are risks less that of k-means without privacy, over what k-means gains on the mean of
    all records. They are laws learnt from simulations of round Gaussian clusters with uniform
    centres (``results/sketching_choice.json``), and hold for such clusters alone: in a quarter of
    the sides of the box all candidates erred ten times as much and more, and so have tables that
    were scaled by wide limits. There the advice also lost more to the best setting in hindsight,
    several hundredths where it loses one on the map. So let the public limits be tight.

    Of sketches and Lloyd's steps this picks the better, and a sketch where both are close, which
    asks least of where the records lie. Of the two a sketch alone merges over several places in
    one round.

    Examples
    --------
    >>> type(recommend(n=10_000, d=6, k=6, epsilon=1.0).estimator).__name__
    'CompressiveKMeans'
    >>> recommend(n=500, d=50, k=10, epsilon=0.1).estimator is None
    True
    """
    facts = _checked(ClusterFacts(n, d, k, separation, epsilon, delta))
    found = errors_of(facts)
    name = chosen(found)
    others, error = _others(found, found[name]), found[name]
    measure = (
        "risk above that of k-means, over its gain on one centre, if round clusters fill the box"
    )
    if not error <= USEFUL:
        reason = "No estimator is expected to gain a twentieth of what k-means gains on one centre"
        reason += f"{others}{_outside(facts)}."
        return Recommendation(None, reason, _TRIED, ExpectedError(measure, 1.0, 0.0, 1.0, 0.0))
    reason = f"Of {len(_shipped(found))} candidates at one budget, {CANDIDATES[name]}: it is "
    reason += f"expected to lose {error:.2g} of what k-means gains on one centre, the least or "
    reason += "nearly so"
    for factor, told in ((3.0, "three times the separation"), (1.0 / 3.0, "a third of it")):
        mine, best = _regret(facts, factor * facts.separation)
        reason += f"; with {told} {mine:.2g}, and the best {best:.2g}"
    spread = _SPREAD[0] + _SPREAD[1] * error
    expected = ExpectedError(measure, error, spread, 1.0, 0.0)
    reason += f"{_planned(name, facts)}{others}{_outside(facts)}."
    return Recommendation(configure(name, facts), reason, _TRIED, expected)


def _planned(name: str, facts: ClusterFacts) -> str:
    """Say how loud a group is in a sketch that is recommended, and what the planning rule asks."""
    if not name.startswith("sketch"):
        return ""
    deviation = noise_ratio(name, facts) * facts.n / facts.k
    plan = planned(
        n=facts.n,
        d=facts.d,
        k=facts.k,
        n_frequencies=frequencies_of(facts, name),
        deviation=deviation,
    )
    told = f"; a group has loudness {plan.loudness:.2g}, the sketch {plan.waves:.2g} k d waves"
    asked = f"{LEAST_LOUDNESS:g} and {LEAST_WAVES:g} k d"
    return f"{told}, {'enough by' if plan.found else 'not enough by'} the planning rule, {asked}"


def _others(found: dict[str, float], error: float) -> str:
    """Say which rival outside the package is expected to err less, by a fiftieth or more."""
    better = {name: found[name] for name in ("grid", "tree") if name in found}
    name = min(better, key=lambda one: better[one])
    if better[name] > min(error, 1.0) - 0.02:
        return ""
    told = f"; {CANDIDATES[name]}, which the package does not ship, is expected to lose "
    return f"{told}{better[name]:.2g}"


def _outside(facts: ClusterFacts) -> str:
    return outside(facts._asdict() | {"delta": facts.delta or None}, _TRIED)
