"""Waves, a line or a curve for each column: advice from gains that are learnt on a map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scipy.special import expit

from dplit.advice.engine import ExpectedError, Recommendation
from dplit.advice.kernel_settings import (
    _SHAPES,
    CANDIDATES,
    KernelFacts,
    SignalShape,
    _checked,
    configure,
    strength,
)


def regressors(facts: KernelFacts) -> tuple[list[float], list[float]]:
    """What the two logistic curves of :func:`gain` are linear in."""
    n, d = math.log(facts.n), math.log(facts.d)
    return [1.0, n, d], [1.0, math.log(strength(facts)), n, d, math.log(facts.fill)]


def gain(name: str, facts: KernelFacts, learnt: Sequence[float] | None = None) -> float:
    r"""Share of the target's variance that a candidate is expected to explain.

    :math:`\Lambda(a_0+a_1\ln n+a_2\ln d)\,\Lambda(b_0+b_1\ln r+b_2\ln n+b_3\ln d+b_4\ln f)`, with
    the strength r and the part f of the bounds that labels fill. Where nothing is thought of the
    shape it is the mean over the shapes.
    """
    if facts.shape is None:
        return sum(gain(name, facts._replace(shape=s)) for s in _SHAPES) / len(_SHAPES)
    *c, _ = LEARNT[f"{facts.shape}, {name}"] if learnt is None else learnt
    able, heard = regressors(facts)
    return float(expit(_dot(c[:3], able)) * expit(_dot(c[3:], heard)))


def _dot(c: Sequence[float], x: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(c, x, strict=True))


#: Of gains, by shape and candidate: coefficients of :func:`gain`, and the deviation of single runs.
#: `benchmarks.maps.random_features_learnt.learn` made them.
LEARNT: dict[str, tuple[float, ...]] = {
    "smooth, ridge": (3.39, 0.08, -1.16, -4.41, 1.08, 0.01, -1.13, 4.0, 0.07),
    "smooth, statistics": (1.19, 0.28, -1.01, -5.9, 2.19, -0.21, -2.34, 2.06, 0.14),
    "smooth, gradients": (2.94, 0.19, -1.28, -11.76, 4.0, -0.5, -1.95, 2.11, 0.39),
    "smooth, line, gradients": (1.94, 0.1, -0.34, -8.58, 4.0, -0.15, -2.82, 1.75, 0.23),
    "smooth, line, statistics": (1.73, 0.12, -0.4, -8.31, 3.46, -0.12, -3.33, 3.93, 0.19),
    "smooth, additive": (1.97, 0.08, -0.25, -0.31, 2.16, -0.54, -2.25, 4.0, 0.12),
    "bends, ridge": (5.05, 0.0, -2.03, -3.92, 0.87, 0.05, -2.21, 4.0, 0.04),
    "bends, statistics": (-0.93, 0.59, -2.11, -6.24, 2.81, -0.35, -6.0, 3.88, 0.19),
    "bends, gradients": (1.41, 0.79, -3.71, -5.2, 2.65, -0.29, -6.0, 1.73, 0.26),
    "bends, line, gradients": (-0.18, 0.03, -1.16, -15.22, 0.32, -0.87, -3.02, 1.34, 0.0),
    "bends, line, statistics": (-0.17, 0.03, -1.15, -15.23, 0.33, -0.86, -2.98, 1.54, 0.0),
    "bends, additive": (-8.0, 1.84, 1.0, -7.12, 2.0, 0.15, -2.78, 3.06, 0.28),
    "rough, ridge": (3.42, 0.15, -4.0, -3.03, 0.93, -0.04, -3.91, 4.0, 0.03),
    "rough, statistics": (4.41, 0.06, -4.0, -10.71, 2.48, -0.17, -6.0, 1.91, 0.09),
    "rough, gradients": (2.37, 0.26, -4.0, -7.66, 2.62, -0.15, -6.0, 1.31, 0.09),
    "rough, line, gradients": (-0.35, 0.03, -1.24, -15.1, 0.35, -0.85, -3.08, 1.53, 0.01),
    "rough, line, statistics": (-0.22, 0.03, -1.16, -15.16, 0.33, -0.87, -3.0, 1.53, 0.01),
    "rough, additive": (-8.0, 1.37, -1.98, -4.5, 0.49, -0.43, 0.35, 3.94, 0.06),
}

#: Least gain that is worth a release.
USEFUL = 0.05

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (300, 30_000),
    "d": (2, 80),
    "epsilon": (0.1, 10.0),
    "delta": (1e-5, 1e-5),
    "fill": (0.1, 1.0),
    "shape": _SHAPES,
}


def ranking(facts: KernelFacts) -> list[str]:
    """Return the candidates, the one that is expected to explain most first.

    >>> ranking(KernelFacts(3000, 20, "smooth", epsilon=1.0))[0]
    'line, gradients'
    """
    return sorted(CANDIDATES, key=lambda name: -gain(name, facts))


def recommend(
    *,
    n: int,
    d: int,
    epsilon: float,
    delta: float = 1e-5,
    shape: SignalShape | None = None,
    fill: float = 1.0,
) -> Recommendation:
    """Recommend a private regression from public facts; it never takes data.

    Parameters
    ----------
    n, d : int
        Public numbers of records and of columns, which are taken to be scaled to [-1, 1] by public
        constants, as the labels are.
    epsilon, delta : float
        Budget of everything, for a replaced record; delta in [1e-14, 0.5).
    shape : {"smooth", "bends", "rough"} or None, default=None
        What is thought of the target, by what is known elsewhere: one gentle slope, a bend for
        each column, or waves that two columns make together. None where nothing is.
    fill : float, default=1.0
        Part of the bounds that labels are thought to fill, in (0, 1]: with 1 their deviation is
        nearly half the half width.

    Returns
    -------
    Recommendation
        Its estimator is None where nothing is expected to explain a twentieth of the target. The
        reason says what happens where the guess of the shape is wrong.

    Notes
    -----
    Learners that are asked: ridge on waves with output noise, statistics and noisy gradients on
    waves (as many and as wide as :func:`~dplit.advice.kernel_settings.waves` says) and on the
    columns as they are, and additive models. Errors are those of simulated laws with uniform
    columns and four parts of signal to one of noise.

    On five other laws and three tables, at two budgets each, advice explained 0.025 of the target
    less than the best candidate on average where the shape was told rightly, 0.034 where it was
    not told, and 0.34 where it was told wrongly: "rough" in many columns says that nothing helps.
    An additive model everywhere lost 0.025 there, and 0.13 on the map; advice, which was learnt on
    the map, lost 0.010 on it, and 0.042 where the shape was not told.

    Examples
    --------
    >>> type(recommend(n=3000, d=20, epsilon=1.0).estimator).__name__
    'PrivateAdditiveRegressor'
    >>> type(recommend(n=3000, d=20, epsilon=1.0, shape="smooth").estimator).__name__
    'NoisyGradientRegressor'
    >>> type(recommend(n=30_000, d=20, epsilon=1.0, shape="bends").estimator).__name__
    'PrivateAdditiveRegressor'
    >>> recommend(n=300, d=20, epsilon=0.1).estimator is None
    True
    """
    facts = _checked(KernelFacts(n, d, shape, epsilon, delta, fill))
    first, second = ranking(facts)[:2]
    explained = gain(first, facts)
    measure = "squared error of predictions over the variance of the target"
    words = f"Of {len(CANDIDATES)} candidates at equal privacy, {CANDIDATES[first]}"
    if explained < USEFUL:
        reason = f"{words} would do best, and a constant hardly worse{_others(facts)}"
        nothing = ExpectedError(measure, 1.0, 0.0, 1.0, 0.0)
        return Recommendation(None, f"{reason}{_outside(facts)}.", _TRIED, nothing)
    reason = f"{words} explains most by our map, {explained:.2g} of the target; next is "
    reason += f"{CANDIDATES[second]}, {gain(second, facts):.2g}{_others(facts)}"
    expected = ExpectedError(measure, 1.0 - explained, _spread(first, facts), 1.0, 0.0)
    return Recommendation(configure(first, facts), f"{reason}{_outside(facts)}.", _TRIED, expected)


def _others(facts: KernelFacts) -> str:
    """Say what would be recommended for a target of another shape."""
    told, mine = "", ranking(facts)[0] if gain(ranking(facts)[0], facts) >= USEFUL else None
    for shape in _SHAPES:
        other = facts._replace(shape=shape)
        best = ranking(other)[0]
        if shape != facts.shape and best != mine and gain(best, other) >= USEFUL:
            told += f"; were the target {_AS[shape]}, {CANDIDATES[best]} would"
    return told


_AS = {"smooth": "smooth", "bends": "bent in each column", "rough": "rough"}


def _spread(name: str, facts: KernelFacts) -> float:
    """Deviation of a single run around :func:`gain`, that of the shapes within it."""
    g = gain(name, facts)
    if facts.shape is None:
        each = [facts._replace(shape=s) for s in _SHAPES]
        parts = [_spread(name, one) ** 2 + (gain(name, one) - g) ** 2 for one in each]
        return math.sqrt(sum(parts) / len(parts))
    return max(LEARNT[f"{facts.shape}, {name}"][-1], 0.05) * math.sqrt(g * (1.0 - g) + 0.01)


def _outside(facts: KernelFacts) -> str:
    """Say which facts lie outside what was tried."""
    beyond = [
        name
        for name in ("n", "d", "epsilon", "delta", "fill")
        if not _TRIED[name][0] <= getattr(facts, name) <= _TRIED[name][1]
    ]
    return f"; {', '.join(beyond)} beyond what was tried, so this extrapolates" if beyond else ""
