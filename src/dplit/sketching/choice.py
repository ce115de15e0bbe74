r"""Sketch, Lloyd's steps or nothing: expected errors of private clustering, and advice.

The error of k centres is their risk less that of k-means without privacy, over what k-means gains
on the mean of all records: 0 is as good as without privacy, 1 as bad as one centre. Its laws are
learnt from simulations, `dplit_studies.sketching.choice_map`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from dplit._checks import check_integer, check_positive, check_probability
from dplit.advice import ExpectedError, Recommendation
from dplit.baselines import PrivateLloyd
from dplit.baselines.lloyd import lloyd_noise
from dplit.mechanisms import gaussian_sigma
from dplit.sketching.estimators import CompressiveKMeans

#: Deviation of a coordinate of the centres, which are uniform on [-0.8, 0.8], in half widths.
CENTRES = 0.8 / math.sqrt(3.0)


class Facts(NamedTuple):
    """Everything that advice may read; ``delta`` 0 is a pure budget."""

    n: int
    d: int
    k: int
    separation: float
    epsilon: float
    delta: float = 0.0


#: In words, by candidate; the last two are no estimators of the package.
CANDIDATES = {
    "sketch": "a sketch",
    "sketch, short": "a sketch of few frequencies",
    "lloyd, 1 step": "one noisy Lloyd step",
    "lloyd, 3 steps": "three noisy Lloyd steps",
    "lloyd, wide": "three noisy Lloyd steps from many centres",
    "grid": "a grid of noisy counts",
    "tree": "a tree of noisy counts",
}

#: No grid has so many columns that two cells an axis come to more than 65,536.
_GRIDS = 16


def frequencies_of(facts: Facts, name: str) -> int:
    """Number of frequencies of a sketch: the estimator's own, or 2.5 for each coordinate."""
    d, k = facts.d, facts.k
    whole = k * min(10 * d, 60 + 3 * d)
    return whole if name == "sketch" else max(math.ceil(2.5 * k * d), k * (d + 1))


def settings(name: str, facts: Facts) -> dict[str, Any]:
    """Arguments of a candidate's estimator, for records in the box [-1, 1]^d."""
    told: dict[str, Any] = {
        "n_clusters": facts.k, "epsilon": facts.epsilon, "delta": facts.delta,
        "bounds": (-1.0, 1.0),
    }  # fmt: skip
    if name.startswith("sketch"):
        noise = "gaussian" if facts.delta else "polydisc"
        return told | {"noise": noise, "n_frequencies": frequencies_of(facts, name)}
    wide = 8 * facts.k if name == "lloyd, wide" else None
    steps = 1 if name == "lloyd, 1 step" else 3
    noise = "gaussian" if facts.delta else "laplace"
    return told | {"noise": noise, "n_iter": steps, "n_candidates": wide}


def noise_ratio(name: str, facts: Facts) -> float:
    """Deviation of a candidate's noise on one number, over the records of one cluster.

    A sketch has it on every frequency, Lloyd's steps on a coordinate of a sum, a grid on a count, a
    tree on a coordinate of a leaf.
    """
    n, d, k, _, epsilon, delta = facts
    if name.startswith("sketch"):
        m = frequencies_of(facts, name)
        level = math.sqrt((2 * m + 1) * (2 * m + 2)) / 2.0 / epsilon
        if delta:
            level = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(m))
    elif name.startswith("lloyd"):
        told = settings(name, facts)
        scales = lloyd_noise(
            d, epsilon=epsilon, delta=delta, n_iter=told["n_iter"], noise=told["noise"]
        )
        level = scales.sum_scale * (1.0 if delta else math.sqrt(2.0))
    elif name == "tree" and delta:
        level = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(d))
    else:
        level = (d if name == "tree" else 1.0) / epsilon
    return float(level) * k / n


#: Law of each candidate's error, :func:`law_of_error`; `choice_map.learn` made it.
LEARNT: dict[str, tuple[float, ...]] = {
    "sketch": (-3.07, -1.13, 0.42, -0.97, 1.08, -0.22, 3.4, 0.38, -3.91, -0.12, 0.55),
    "sketch, short": (-2.88, -0.86, 0.51, -1.08, 1.11, 4.86, 2.85, -0.93, -4.51, -0.05, 0.86),
    "lloyd, 1 step": (-3.1, 0.48, -0.2, -0.43, 1.24, 3.65, 1.62, -0.21, -1.51, -0.15, 0.33),
    "lloyd, 3 steps": (-7.35, -0.01, 0.85, 0.02, 1.68, 3.39, 1.69, -0.32, -1.57, 0.06, 0.31),
    "lloyd, wide": (-2.76, -1.04, 0.15, -1.84, 1.43, 4.91, 2.0, -0.62, -1.74, -0.05, 0.4),
    "grid": (-12.0, 2.14, 1.91, -2.81, 0.46, 1.56, 0.98, 1.14, -1.62, 0.03, 0.65),
    "tree": (-4.63, -0.58, 0.9, -0.41, 1.47, 7.58, 1.4, -1.55, -1.72, -0.24, 0.49),
}  # fmt: skip

#: Deviation of a single run around the law: a least one, and a share of the error.
_SPREAD = (0.02, 0.8)


def law_of_error(coefficients: Any, ratio: Any, d: Any, k: Any, separation: Any) -> Any:
    r"""Error with eleven coefficients; all arguments but the first are logarithms.

    :math:`e^{a\cdot l}`, at most 1, is lost without noise, and :math:`t/(1+e^{-b\cdot l'})` to it:
    l are 1 and the logarithms of d, k and separation, l' has that of the noise ratio too, and the
    product of those of d and k.
    """
    a, top, b = coefficients[:4], coefficients[4], coefficients[5:]
    bare = a[0] + a[1] * d + a[2] * k + a[3] * separation
    noisy = b[0] + b[1] * ratio + b[2] * d + b[3] * k + b[4] * separation
    noisy = noisy + b[5] * d * k
    return np.exp(np.minimum(bare, 0.0)) + top * expit(noisy)


def _error(name: str, facts: Facts) -> float:
    ratio = math.log(noise_ratio(name, facts))
    logs = math.log(facts.d), math.log(facts.k), math.log(facts.separation)
    return float(law_of_error(LEARNT[name], ratio, *logs))


def errors_of(facts: Facts) -> dict[str, float]:
    """Expected errors by candidate; more than 16 columns have no grid."""
    names = [name for name in CANDIDATES if name != "grid" or facts.d <= _GRIDS]
    return {name: _error(name, facts) for name in names}


# When the groups of a sketch are found.


#: Least loudness, and least frequencies over k d, at which a decoder finds the groups:
#: `dplit_studies.sketching.planning` found them, and says how often they fail.
LEAST_LOUDNESS, LEAST_WAVES = 8.0, 6.0


class Planned(NamedTuple):
    """How loud a group is, the frequencies for each coordinate, and whether both are enough."""

    loudness: float
    waves: float

    @property
    def found(self) -> bool:
        """Whether the planning rule expects the groups to be found."""
        return self.loudness >= LEAST_LOUDNESS and self.waves >= LEAST_WAVES


def planned(*, n: int, d: int, k: int, n_frequencies: int, deviation: float) -> Planned:
    r"""What the planning rule says of a Fourier sketch, from public numbers.

    The hill of a group of n / k records is :math:`nm/k` high on the sum, and noise moves a hill by
    :math:`s\sqrt m`; the highest hill of noise alone in a box of d columns grows as
    :math:`\sqrt d`. So :math:`L=n\sqrt m/(ks\sqrt d)` is how loud a group is.

    Parameters
    ----------
    n, d, k : int
        Public numbers of records, of columns, and of groups of about equal size. For a group of
        another size let n / k be that.
    n_frequencies : int
        Size m of the sketch.
    deviation : float
        Of the noise on each real number of the sum, s: 2 m / epsilon for Laplace noise where a
        record is added, about m / epsilon for the polydisc, sigma for Gaussian noise.

    Returns
    -------
    Planned
        ``loudness`` L, ``waves`` m / (k d), and ``found``: L of at least ``LEAST_LOUDNESS`` and at
        least ``LEAST_WAVES`` waves.

    Notes
    -----
    Measured at the default scale of the frequencies on round groups that fill the box
    (``results/sketching_planning.json``, which says what was tried), where *found* means that the
    centres lose at most a twentieth of what k-means gains on one centre. It is for groups that
    stand apart: at separation 2, where they overlap, nearly a third of the promised decodes missed,
    and in a corner of the box most did, however loud.

    Examples
    --------
    >>> plan = planned(n=10_000, d=2, k=3, n_frequencies=60, deviation=2 * 60 / 0.1)
    >>> round(plan.loudness, 1), plan.waves, plan.found
    (15.2, 10.0, True)
    >>> planned(n=1_000, d=2, k=3, n_frequencies=60, deviation=2 * 60 / 0.1).found
    False
    """
    m = check_integer("n_frequencies", n_frequencies)
    records, groups = check_integer("n", n), check_integer("k", k)
    columns = check_integer("d", d)
    noise = check_positive("deviation", deviation)
    loudness = records * math.sqrt(m / columns) / (groups * noise)
    return Planned(loudness, m / (groups * columns))


# The advice.


#: Largest error that is worth a release.
USEFUL = 0.95

#: A sketch is taken where another candidate is expected to err less by no more than this: it asks
#: least of where in the box the records lie.
_TIE = 0.02

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (1e3, 1e5), "d": (1, 64), "k": (2, 60), "separation": (0.6, 60.0),
    "epsilon": (0.1, 10.0), "delta": (1e-6, 1e-6),
}  # fmt: skip


def _shipped(found: dict[str, float]) -> dict[str, float]:
    return {name: error for name, error in found.items() if name not in ("grid", "tree")}


def chosen(found: dict[str, float]) -> str:
    """Which candidate of the package has the least expected error; a sketch where it is close.

    >>> chosen({"sketch": 0.05, "lloyd, 1 step": 0.04, "grid": 0.0})
    'sketch'
    """
    ours = _shipped(found)
    name = min(ours, key=lambda one: ours[one])
    return "sketch" if ours["sketch"] <= ours[name] + _TIE else name


def _checked(facts: Facts) -> Facts:
    """Return legal facts."""
    check_positive("epsilon", facts.epsilon)
    if facts.delta and not 1e-14 <= check_probability("delta", facts.delta) < 0.5:
        raise ValueError(f"delta must be 0 or in [1e-14, 0.5), got delta={facts.delta!r}")
    return facts._replace(
        n=check_integer("n", facts.n), d=check_integer("d", facts.d),
        k=check_integer("k", facts.k, minimum=2), delta=float(facts.delta),
        separation=check_positive("separation", facts.separation),
    )  # fmt: skip


def configure(name: str, facts: Facts) -> Any:
    """Return a candidate's estimator, for columns in [-1, 1], not fitted."""
    kind = CompressiveKMeans if name.startswith("sketch") else PrivateLloyd
    return kind(**settings(name, facts))


def _regret(facts: Facts, truth: float) -> tuple[float, float]:
    """Expected error of what is recommended where the separation is ``truth``, and the best one's.

    >>> mine, best = _regret(Facts(10_000, 6, 6, 6.0, 1.0), 2.0)
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
    asks least of where the records lie. Where records stay in several places, or the number of
    centres is open, only a sketch will do.

    Examples
    --------
    >>> type(recommend(n=10_000, d=6, k=6, epsilon=1.0).estimator).__name__
    'CompressiveKMeans'
    >>> recommend(n=500, d=50, k=10, epsilon=0.1).estimator is None
    True
    """
    facts = _checked(Facts(n, d, k, separation, epsilon, delta))
    found = errors_of(facts)
    name = chosen(found)
    others, error = _others(found, found[name]), found[name]
    measure = (
        "risk above that of k-means, over its gain on one centre, if round clusters fill the box"
    )
    if not error <= USEFUL:
        reason = f"No estimator is expected to find more than one centre{others}{_outside(facts)}."
        return Recommendation(None, reason, _TRIED, ExpectedError(measure, 1.0, 0.0, 1.0, 0.0))
    reason = f"Of {len(_shipped(found))} candidates at equal privacy, {CANDIDATES[name]} loses "
    reason += f"{error:.2g} of what k-means gains on one centre, the least or nearly so"
    for factor, told in ((3.0, "three times the separation"), (1.0 / 3.0, "a third of it")):
        mine, best = _regret(facts, factor * facts.separation)
        reason += f"; with {told} it loses {mine:.2g}, the best {best:.2g}"
    spread = _SPREAD[0] + _SPREAD[1] * error
    expected = ExpectedError(measure, error, spread, 1.0, 0.0)
    reason += f"{_planned(name, facts)}{others}{_outside(facts)}."
    return Recommendation(configure(name, facts), reason, _TRIED, expected)


def _planned(name: str, facts: Facts) -> str:
    """Say how loud a group is in a sketch that is recommended, and what the planning rule asks."""
    if not name.startswith("sketch"):
        return ""
    deviation = noise_ratio(name, facts) * facts.n / facts.k
    plan = planned(
        n=facts.n, d=facts.d, k=facts.k, n_frequencies=frequencies_of(facts, name),
        deviation=deviation,
    )  # fmt: skip
    told = f"; a group has loudness {plan.loudness:.2g}, the sketch {plan.waves:.2g} k d waves"
    asked = f"{LEAST_LOUDNESS:g} and {LEAST_WAVES:g} k d"
    return f"{told}, {'enough by' if plan.found else 'not enough by'} the planning rule, {asked}"


def _others(found: dict[str, float], error: float) -> str:
    """Say which rival outside the package is expected to err less, by a fiftieth or more."""
    better = {name: found[name] for name in ("grid", "tree") if name in found}
    name = min(better, key=lambda one: better[one])
    if better[name] > min(error, 1.0) - 0.02:
        return ""
    return f"; {CANDIDATES[name]}, which the package does not ship, loses {better[name]:.2g}"


def _outside(facts: Facts) -> str:
    """Say which facts lie outside what was tried."""
    beyond = [
        name
        for name, (low, high) in _TRIED.items()
        if not low * (1 - 1e-9) <= getattr(facts, name) <= high * (1 + 1e-9)
        if name != "delta" or facts.delta
    ]
    return f"; {', '.join(beyond)} beyond what was tried, so this extrapolates" if beyond else ""
