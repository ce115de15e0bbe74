"""Defaults of the kernel machines from public numbers.

The penalty weighs the noise of a prediction, which falls with lambda, against the bias, at most
lambda times the squared norm of the function to be learnt: a guess, made on synthetic functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.optimize import minimize_scalar

from dplit.kernels._feature_release import _unit_sensitivity
from dplit.kernels.losses import lipschitz_constant
from dplit.mechanisms import gaussian_sigma

Loss = Literal["squared", "logistic", "hinge"]

ANSWER_LOSSES = ("squared", "logistic", "hinge")

#: Pairs of a cosine and a sine of the kernel machines; as many features for linear learners.
ANSWER_COMPONENTS = 50

#: Guesses of the squared norm of the function, for labels in [-1, 1] or -1 and +1.
_SQUARED_NORM = {"squared": 0.25, "pinball": 1.0, "hinge": 8.0, "logistic": 8.0}

#: Logarithms of the penalties that are considered.
_RANGE = (math.log(1e-8), math.log(1e3))


def default_width(columns: int) -> float:
    """Width for columns scaled to [-1, 1]: the kernel sees a third of the root of their number."""
    return 0.35 * math.sqrt(columns)


@dataclass(frozen=True)
class KernelPlan:
    """What is known of a fit before its records are: loss, sizes, budget and release."""

    loss: str
    tau: float
    n_records: int
    dimension: int
    epsilon: float
    delta: float
    release: str
    n_queries: int


def _expected_noise(regularization: float, plan: KernelPlan) -> float:
    """Standard deviation of the noise of a prediction, for labels in [-1, 1]."""
    return _noise_factor(plan) * _unit_sensitivity(
        plan.loss, regularization=regularization, n_records=plan.n_records, tau=plan.tau
    )


def _noise_factor(plan: KernelPlan) -> float:
    """Standard deviation of the noise of a prediction per unit of sensitivity."""
    if plan.release == "gaussian_process":
        return float(gaussian_sigma(epsilon=plan.epsilon, delta=plan.delta))
    if plan.release == "gamma":
        return math.sqrt(plan.dimension + 1) / plan.epsilon
    return math.sqrt(2.0) * plan.n_queries / plan.epsilon


def default_regularization(plan: KernelPlan) -> float:
    """Penalty that balances noise and bias, and is at least 1 / m.

    The noise costs its variance (squared loss), or its mean modulus times the Lipschitz constant.
    """
    factor, squared = _noise_factor(plan), plan.loss == "squared"
    slope = 0.0 if squared else lipschitz_constant(plan.loss, tau=plan.tau)

    def cost(exponent: float) -> float:
        penalty = math.exp(exponent)
        noise = factor * _unit_sensitivity(
            plan.loss, regularization=penalty, n_records=plan.n_records, tau=plan.tau
        )
        spent = noise**2 if squared else slope * math.sqrt(2.0 / math.pi) * noise
        return spent + _SQUARED_NORM[plan.loss] * penalty

    best = minimize_scalar(cost, bounds=_RANGE, method="bounded", options={"xatol": 0.02})
    return max(math.exp(float(best.x)), 1.0 / plan.n_records)
