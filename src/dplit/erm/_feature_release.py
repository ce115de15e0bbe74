"""The three releases of a function of random features, behind the estimators and the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from dplit._checks import check_positive
from dplit.erm._certified import certified_minimiser, rounding_distance
from dplit.erm.gamma_release import gamma_release
from dplit.erm.least_squares import least_squares_stability
from dplit.erm.losses import lipschitz_constant
from dplit.erm.queries import query_scale
from dplit.erm.stability import lipschitz_stability
from dplit.features import cos_sin_features
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise

__all__ = ["Release", "ReleasedWeights", "add_noise", "certified_weights", "release_weights"]

Release = Literal["gaussian_process", "gamma", "queries"]
_Array = NDArray[np.float64]
_ROUNDED = 1.0 + 1e-13


@dataclass(frozen=True)
class ReleasedWeights:
    """Private coefficients with the noise and the guarantee."""

    coef: _Array
    sensitivity: float
    noise_scale: float
    epsilon: float
    delta: float


def unit_sensitivity(loss: str, *, regularization: float, n_records: int, tau: float) -> float:
    """Change of the minimiser when one record changes, for kappa = 1 and labels in [-1, 1].

    Computed features have norm 1 up to some 1e-15, and so has the factor of the bound.
    """
    if loss == "squared":
        return _ROUNDED * least_squares_stability(
            regularization=regularization, n_records=n_records, label_bound=1.0
        )
    return _ROUNDED * lipschitz_stability(
        lipschitz=lipschitz_constant(loss, tau=tau),
        regularization=regularization,
        n_records=n_records,
    )


def certified_weights(
    features: _Array, targets: _Array, *, loss: str, regularization: float, tau: float,
    accuracy: float,
) -> tuple[_Array, float]:  # fmt: skip
    """Return weights near the minimiser and the sensitivity with the solver's error on both sides.

    The error is at most ``accuracy`` times the stability, rounding included, on every data set;
    an accuracy that float64 cannot certify is refused from public numbers.
    """
    bound = unit_sensitivity(loss, regularization=regularization, n_records=len(targets), tau=tau)
    allowed = accuracy * bound
    least = rounding_distance(
        loss, n_records=len(targets), dimension=features.shape[1], regularization=regularization
    )
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


def ball_points(count: int, dimension: int, *, radius: float, rng: np.random.Generator) -> _Array:
    """Return points uniform in a ball."""
    directions = rng.standard_normal((count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(radius * rng.random((count, 1)) ** (1.0 / dimension) * directions)


def weights_from_answers(features: _Array, answers: _Array, *, scale: float) -> _Array:
    """Return the posterior mean of weights from values with Laplace noise of the given scale.

    The prior of a value has variance 1; both are public, so this is post-processing.
    """
    inner = features @ features.T + 2.0 * scale**2 * np.eye(len(answers))
    return np.asarray(features.T @ solve(inner, answers, assume_a="pos"))


def add_noise(
    weights: _Array, sensitivity: float, asked: _Array | None, *, release: Release,
    epsilon: float, delta: float, rng: np.random.Generator,
) -> ReleasedWeights:  # fmt: skip
    """Release exact weights; ``asked`` are the features of the public points, for queries."""
    if release == "gaussian_process":
        sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity))
        coef = weights + gaussian_noise(len(weights), sigma=sigma, rng=rng)
        return ReleasedWeights(coef, sensitivity, sigma, float(epsilon), float(delta))
    if release == "gamma":
        coef = gamma_release(weights, sensitivity=sensitivity, epsilon=epsilon, rng=rng)
        return ReleasedWeights(coef, sensitivity, sensitivity / epsilon, float(epsilon), 0.0)
    if asked is None:
        raise ValueError("asked must be given with release='queries', got asked=None")
    scale = query_scale(n_queries=len(asked), sensitivity=sensitivity, epsilon=epsilon)
    answers = asked @ weights + laplace_noise(len(asked), scale=scale, rng=rng)
    coef = weights_from_answers(asked, answers, scale=scale)
    return ReleasedWeights(coef, sensitivity, scale, float(epsilon), 0.0)


def release_weights(
    records: _Array, targets: _Array, frequencies: _Array, *, loss: str, tau: float,
    regularization: float, epsilon: float, delta: float, release: Release, n_queries: int,
    data_norm: float | None, accuracy: float, public: np.random.Generator,
    noise: np.random.Generator,
) -> ReleasedWeights:  # fmt: skip
    """Fit on the cosine-sine features of the records and release the function."""
    features = cos_sin_features(records, frequencies)
    weights, sensitivity = certified_weights(
        features, targets, loss=loss, regularization=regularization, tau=tau, accuracy=accuracy
    )
    asked = None
    if release == "queries":
        radius = check_positive("data_norm", data_norm)
        points = ball_points(n_queries, records.shape[1], radius=radius, rng=public)
        asked = cos_sin_features(points, frequencies)
    return add_noise(
        weights, sensitivity, asked, release=release, epsilon=epsilon, delta=delta, rng=noise
    )
