"""The three releases of a function of random features, behind the estimators and the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, lstsq, solve

from dplit._checks import Array
from dplit._numerics.rows import Rows
from dplit._solvers.certified import certified_minimiser, rounding_distance
from dplit.kernels.gamma import gamma_release
from dplit.kernels.lipschitz import least_squares_stability, lipschitz_stability
from dplit.kernels.losses import lipschitz_constant
from dplit.kernels.queries import query_scale
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms.values import Gaussian, Laplace

Release = Literal["gaussian_process", "gamma", "queries"]

_ROUNDED = 1.0 + 1e-13

#: Distance of the solver over the sensitivity, where float64 certifies it.
_ACCURACY = 0.01


@dataclass(frozen=True)
class _ReleasedWeights:
    """Private coefficients with the noise and the guarantee."""

    coef: Array
    sensitivity: float
    noise_scale: float
    epsilon: float
    delta: float


def _unit_sensitivity(loss: str, *, regularization: float, n_records: int, tau: float) -> float:
    """Change of the minimiser for kappa = 1 and labels in [-1, 1]; norms are 1 up to 1e-15."""
    if loss == "squared":
        return _ROUNDED * least_squares_stability(
            regularization=regularization, n_records=n_records, label_bound=1.0
        )
    return _ROUNDED * lipschitz_stability(
        lipschitz=lipschitz_constant(loss, tau=tau),
        regularization=regularization,
        n_records=n_records,
    )


def _certified_weights(
    features: Rows,
    targets: Array,
    *,
    loss: str,
    regularization: float,
    tau: float,
    accuracy: float | None,
) -> tuple[Array, float]:
    """Return weights near the minimiser and the sensitivity with the solver's error on both sides.
    The error is at most ``accuracy`` times the stability, rounding included, on every data set;
    what float64 cannot certify is refused from public numbers.
    """
    bound = _unit_sensitivity(loss, regularization=regularization, n_records=len(targets), tau=tau)
    least = rounding_distance(
        loss, n_records=len(targets), dimension=features.shape[1], regularization=regularization
    )
    if accuracy is None:
        accuracy = max(_ACCURACY, min(2.0 * least / bound, 0.99))
        if not accuracy * bound >= least:
            raise ValueError(
                f"regularization must be so large that float64 finds the minimiser of "
                f"{len(targets)} records, got regularization={regularization!r}"
            )
    allowed = accuracy * bound
    if not allowed >= least:
        raise ValueError(
            f"accuracy must be at least {least / bound:.2g} for {len(targets)} records and "
            f"regularization={regularization:.4g}, which is what float64 can certify (if that is "
            f"1 or more, raise regularization), got accuracy={accuracy!r}"
        )
    weights = certified_minimiser(
        features, targets, loss=loss, regularization=regularization, tau=tau, distance=allowed
    )
    return weights, bound + 2.0 * allowed


def _ball_points(count: int, dimension: int, *, radius: float, rng: np.random.Generator) -> Array:
    """Return points uniform in a ball."""
    directions = rng.standard_normal((count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(radius * rng.random((count, 1)) ** (1.0 / dimension) * directions)


def _weights_from_answers(features: Array, answers: Array, *, scale: float) -> Array:
    """Posterior mean of weights from values with Laplace noise; values have prior variance 1.

    Where the noise is lost beside the features, which are public, its limit: the least weights.
    """
    inner = features @ features.T + 2.0 * scale**2 * np.eye(len(answers))
    try:
        return np.asarray(features.T @ solve(inner, answers, assume_a="pos"))
    except LinAlgError:
        return np.asarray(lstsq(features, answers)[0])


def _add_noise(
    weights: Array,
    sensitivity: float,
    asked: Array | None,
    *,
    release: Release,
    epsilon: float,
    delta: float,
    rng: np.random.Generator | None,
) -> _ReleasedWeights:
    """Release exact weights; ``asked`` are the features of the public points, for queries."""
    if release == "gaussian_process":
        sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity))
        coef = Gaussian(sigma).add(weights, hides="weights", sensitivity=sensitivity, rng=rng)
        return _ReleasedWeights(coef, sensitivity, sigma, float(epsilon), float(delta))
    if release == "gamma":
        coef = gamma_release(weights, sensitivity=sensitivity, epsilon=epsilon, rng=rng)
        return _ReleasedWeights(coef, sensitivity, sensitivity / epsilon, float(epsilon), 0.0)
    if asked is None:
        raise ValueError("asked must be given with release='queries', got asked=None")
    scale = query_scale(n_queries=len(asked), sensitivity=sensitivity, epsilon=epsilon)
    answers = Laplace(scale).add(
        asked @ weights,
        hides="answers at public points",
        sensitivity=len(asked) * sensitivity,
        rng=rng,
    )
    coef = _weights_from_answers(asked, answers, scale=scale)
    return _ReleasedWeights(coef, sensitivity, scale, float(epsilon), 0.0)
