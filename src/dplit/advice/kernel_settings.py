"""Facts, candidates and settings of private regression by waves, lines or curves."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from sklearn.pipeline import make_pipeline

from dplit._checks import (
    check_choice,
    check_epsilon,
    check_integer,
    check_positive,
    check_probability,
)
from dplit.additive import PrivateAdditiveRegressor
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


def strength(facts: KernelFacts) -> float:
    """Records over the deviation of the Gaussian noise that hides one of sensitivity 1.

    >>> round(strength(KernelFacts(1000, 2, "smooth", epsilon=1.0)))
    268
    """
    return facts.n / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta))


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


def configure(name: str, facts: KernelFacts) -> Any:
    """Return a candidate's estimator for columns in [-1, 1] and bounds (-1, 1), not fitted."""
    told: dict[str, Any] = {"epsilon": facts.epsilon, "delta": facts.delta, "bounds": (-1.0, 1.0)}
    if name == "additive":
        return PrivateAdditiveRegressor(box=(-1.0, 1.0), **told)
    count, gamma = waves(**told_of(facts))
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
    """Arguments of :func:`waves`."""
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
