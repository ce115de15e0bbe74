"""Facts, candidates, settings and learnt gains of private regression by waves, lines or curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from scipy.special import expit
from sklearn.pipeline import make_pipeline

from dplit._checks import (
    check_choice,
    check_epsilon,
    check_integer,
    check_positive,
    check_probability,
)
from dplit.additive import PrivateAdditiveRegressor
from dplit.advice.engine import learnt
from dplit.features import RandomFourierFeatures
from dplit.kernels._certified_ridge import public_waves
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.mechanisms import gaussian_sigma

SignalShape = Literal["smooth", "bends", "rough"]

_SHAPES = ("smooth", "bends", "rough")


class KernelFacts(NamedTuple):
    """Everything that advice may read."""

    n: int
    d: int
    shape: str | None
    epsilon: float
    delta: float = 1e-5
    fill: float = 1.0


#: In words, by candidate.
CANDIDATES = {
    "ridge": "ridge on waves with output noise",
    "statistics": "noisy sums of products of waves",
    "gradients": "noisy gradients on waves",
    "line, gradients": "noisy gradients for a straight line",
    "line, statistics": "noisy sums of products of columns",
    "additive": "an additive model",
}

#: Of gains, by shape and candidate: coefficients of :func:`gain`, and the deviation of single runs.
#: `benchmarks.maps.random_features_learnt.learn` made them.
LEARNT = learnt("kernels")

#: Least gain that is worth a release.
USEFUL = 0.05


def strength(facts: KernelFacts) -> float:
    """Records over the deviation of the Gaussian noise that hides one of sensitivity 1.

    >>> round(strength(KernelFacts(1000, 2, "smooth", epsilon=1.0)))
    268
    """
    return facts.n / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta))


def configure(name: str, facts: KernelFacts) -> Any:
    """Return a candidate's estimator for columns in [-1, 1] and bounds (-1, 1), not fitted."""
    told: dict[str, Any] = {"epsilon": facts.epsilon, "delta": facts.delta, "bounds": (-1.0, 1.0)}
    if name == "additive":
        return PrivateAdditiveRegressor(box=(-1.0, 1.0), **told)
    count, gamma = public_waves(strength(facts), facts.d, facts.shape)
    if name == "ridge":
        told |= {"n_components": count, "gamma": gamma}  # the map's targets have no mean
        return PrivateRandomFeatureRegressor(fit_intercept=False, **told)
    line = name.startswith("line")
    told["data_norm"] = math.sqrt(facts.d / 2.0) if line else 1.0
    if name.endswith("gradients"):
        model: Any = NoisyGradientRegressor(**told)
    else:
        model = SufficientStatisticsRegressor(neighboring="replace_one", **told)
    if line:
        return model
    return make_pipeline(
        RandomFourierFeatures(2 * count, gamma=gamma, kind="cos_sin", dtype="float64"), model
    )


def told_of(facts: KernelFacts) -> dict[str, Any]:
    """Arguments of :func:`dplit.advice.kernels.waves`."""
    return {k: v for k, v in facts._asdict().items() if k != "fill"}


def _checked(facts: KernelFacts) -> KernelFacts:
    """Return legal facts."""
    if facts.shape is not None:
        check_choice("shape", facts.shape, _SHAPES)
    check_epsilon(facts.epsilon)
    if not 1e-14 <= check_probability("delta", facts.delta) < 0.5:
        raise ValueError(f"delta must be in [1e-14, 0.5), got delta={facts.delta!r}")
    if not 0.0 < check_positive("fill", facts.fill) <= 1.0:
        raise ValueError(f"fill must be in (0, 1], got fill={facts.fill!r}")
    return facts._replace(n=check_integer("n", facts.n), d=check_integer("d", facts.d))


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


def ranking(facts: KernelFacts) -> list[str]:
    """Return the candidates, the one that is expected to explain most first.

    >>> ranking(KernelFacts(3000, 20, "smooth", epsilon=1.0))[0]
    'line, gradients'
    """
    return sorted(CANDIDATES, key=lambda name: -gain(name, facts))


def _spread(name: str, facts: KernelFacts) -> float:
    """Deviation of a single run around :func:`gain`, that of the shapes within it."""
    g = gain(name, facts)
    if facts.shape is None:
        each = [facts._replace(shape=s) for s in _SHAPES]
        parts = [_spread(name, one) ** 2 + (gain(name, one) - g) ** 2 for one in each]
        return math.sqrt(sum(parts) / len(parts))
    return max(LEARNT[f"{facts.shape}, {name}"][-1], 0.05) * math.sqrt(g * (1.0 - g) + 0.01)
