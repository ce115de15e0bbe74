"""Waves, a line or a curve for each column: advice from gains that are learnt on a map."""

from __future__ import annotations

from typing import Any

from dplit.advice._kernel_settings import (
    _SHAPES,
    CANDIDATES,
    USEFUL,
    KernelFacts,
    SignalShape,
    _checked,
    _spread,
    configure,
    gain,
    ranking,
    strength,
)
from dplit.advice.engine import ExpectedError, Recommendation, outside
from dplit.kernels._certified_ridge import public_waves

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (300, 30_000),
    "d": (2, 80),
    "epsilon": (0.1, 10.0),
    "delta": (1e-5, 1e-5),
    "fill": (0.1, 1.0),
    "shape": _SHAPES,
}


def waves(
    *, n: int, d: int, epsilon: float, delta: float = 1e-5, shape: SignalShape | None = None
) -> tuple[int, float]:
    """Number of frequencies and kernel parameter ``gamma`` from public numbers.

    Parameters
    ----------
    n, d : int
        Public numbers of records and of columns, scaled to [-1, 1].
    epsilon, delta : float
        Budget of all that is released.
    shape : {"smooth", "bends", "rough"} or None, default=None
        What is thought of the target; None where nothing is.

    Returns
    -------
    n_components : int
        Frequencies, each a cosine and a sine.
    gamma : float
        Of the kernel ``exp(-gamma ||x - x'||^2)``.

    Notes
    -----
    Of what was tried on the map it has the least regret of noisy gradients, nearly: few waves where
    the strength is small, many where it is large; narrow kernels only for what is rough in few
    columns, as no number of waves reaches into many. The noise of ridge does not depend on the
    number of waves, so that ridge may take more: its class takes 100 where this says fewer. Columns
    of the map are uniform: where most are indicators, ridge learns more with ``1 / d`` (see
    :class:`~dplit.kernels.random_features.PrivateRandomFeatureRegressor`).

    Examples
    --------
    >>> waves(n=3000, d=2, epsilon=1.0)
    (40, 2.0)
    >>> waves(n=30_000, d=20, epsilon=1.0, shape="smooth")
    (160, 0.2)
    """
    facts = _checked(KernelFacts(n, d, shape, epsilon, delta))
    return public_waves(strength(facts), d, shape)


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
    waves (as many and as wide as :func:`waves` says) and on the
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
    explained, beyond = gain(first, facts), outside(facts._asdict(), _TRIED)
    measure = "squared error of predictions over the variance of the target"
    words = f"Of {len(CANDIDATES)} candidates at one budget, {CANDIDATES[first]}"
    if explained < USEFUL:
        reason = f"{words} would explain most, {explained:.2g} of the target: not worth a release"
        reason += _others(facts)
        nothing = ExpectedError(measure, 1.0, 0.0, 1.0, 0.0)
        return Recommendation(None, f"{reason}{beyond}.", _TRIED, nothing)
    reason = f"{words} explains most by our map, {explained:.2g} of the target; next is "
    reason += f"{CANDIDATES[second]}, {gain(second, facts):.2g}{_others(facts)}"
    expected = ExpectedError(measure, 1.0 - explained, _spread(first, facts), 1.0, 0.0)
    return Recommendation(configure(first, facts), f"{reason}{beyond}.", _TRIED, expected)


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
