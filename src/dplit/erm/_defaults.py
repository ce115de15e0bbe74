r"""Defaults of the kernel machines from public numbers: penalty, kernel width, expected noise.

The penalty weighs the noise of a prediction, which falls with lambda, against the bias, which is at
most lambda times the squared norm of the function to be learnt. That norm is a guess, made on
synthetic functions; the number of records is public under ``replace_one``.
"""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar

from dplit.erm._feature_release import unit_sensitivity
from dplit.erm.losses import lipschitz_constant
from dplit.mechanisms import gaussian_sigma

__all__ = ["default_regularization", "default_width", "expected_noise"]

#: Guesses of the squared norm of the function, for labels in [-1, 1] or -1 and +1.
_SQUARED_NORM = {"squared": 0.25, "pinball": 1.0, "hinge": 8.0, "logistic": 8.0}
#: Logarithms of the penalties that are considered.
_RANGE = (math.log(1e-8), math.log(1e3))


def default_width(columns: int) -> float:
    """Width for columns scaled to [-1, 1]: the kernel sees a third of the root of their number."""
    return 0.35 * math.sqrt(columns)


def expected_noise(
    regularization: float, *, loss: str, tau: float, n_records: int, dimension: int,
    epsilon: float, delta: float, release: str, n_queries: int,
) -> float:  # fmt: skip
    """Standard deviation of the noise of a prediction, for labels in [-1, 1]."""
    moved = unit_sensitivity(loss, regularization=regularization, n_records=n_records, tau=tau)
    return moved * _noise_factor(
        dimension=dimension, epsilon=epsilon, delta=delta, release=release, n_queries=n_queries
    )


def _noise_factor(
    *, dimension: int, epsilon: float, delta: float, release: str, n_queries: int
) -> float:
    """Standard deviation of the noise of a prediction per unit of sensitivity."""
    if release == "gaussian_process":
        return float(gaussian_sigma(epsilon=epsilon, delta=delta))
    if release == "gamma":
        return math.sqrt(dimension + 1) / epsilon
    return math.sqrt(2.0) * n_queries / epsilon


def default_regularization(
    *, loss: str, tau: float, n_records: int, dimension: int, epsilon: float, delta: float,
    release: str, n_queries: int,
) -> float:  # fmt: skip
    r"""Penalty that balances noise and bias, and is at least 1 / m.

    The noise costs its variance under the squared loss, and its mean modulus times the Lipschitz
    constant under the others.
    """
    factor = _noise_factor(
        dimension=dimension, epsilon=epsilon, delta=delta, release=release, n_queries=n_queries
    )
    slope = 0.0 if loss == "squared" else lipschitz_constant(loss, tau=tau)

    def cost(exponent: float) -> float:
        penalty = math.exp(exponent)
        noise = factor * unit_sensitivity(
            loss, regularization=penalty, n_records=n_records, tau=tau
        )
        spent = noise**2 if loss == "squared" else slope * math.sqrt(2.0 / math.pi) * noise
        return spent + _SQUARED_NORM[loss] * penalty

    best = minimize_scalar(cost, bounds=_RANGE, method="bounded", options={"xatol": 0.02})
    return max(math.exp(float(best.x)), 1.0 / n_records)
