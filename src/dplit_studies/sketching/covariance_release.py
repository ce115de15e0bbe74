"""Noisy second moments: the direct release with which sketches for components are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit._numerics.clipping import clip_rows
from dplit.mechanisms import gamma_norm_noise, gaussian_noise, gaussian_sigma, laplace_noise

_Noise = Literal["gaussian", "laplace", "gamma"]


@dataclass(frozen=True)
class _NoisyMoments:
    """A private sum of second moments."""

    moments: Array
    scale: float
    epsilon: float
    delta: float
    neighboring: str


def covariance_scale(
    n_features: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: _Noise = "gaussian",
    neighboring: Neighboring = "add_remove",
) -> float:
    """Scale of the symmetric noise that makes second moments of the unit ball private: Gaussian,
    the deviation on the diagonal (less by the root of 2 off it); Laplace, of every entry i <=
    j; gamma, one over the rate of a density in the Frobenius norm.
    """
    d = check_integer("n_features", n_features)
    epsilon = check_positive("epsilon", epsilon)
    check_choice("noise", noise, get_args(_Noise))
    check_neighboring(neighboring)
    replaced = neighboring == "replace_one"
    if noise != "gaussian" and delta != 0:
        raise ValueError(f"delta must be 0 with Laplace or gamma noise, got delta={delta!r}")
    if noise == "laplace":
        return (d + 1) / 2 * (2 if replaced else 1) / epsilon
    # one coordinate has no orthogonal pair: |x^2 - y^2| <= 1
    sensitivity = math.sqrt(2.0) if replaced and d > 1 else 1.0
    if noise == "gamma":
        return sensitivity / epsilon
    delta = check_probability("delta", delta)
    return gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def _noisy_covariance(
    X: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: _Noise = "gaussian",
    neighboring: Neighboring = "add_remove",
    rng: np.random.Generator,
) -> _NoisyMoments:
    """Private second moments of records in the unit ball: Analyze Gauss (2014), Algorithm 1."""
    records = check_real_array("X", X, 2)
    d = records.shape[1]
    scale = covariance_scale(d, epsilon=epsilon, delta=delta, noise=noise, neighboring=neighboring)
    check_rng(rng)
    rows = clip_rows(records, 1.0)
    if noise == "gaussian":
        draws = gaussian_noise((d, d), sigma=scale, rng=rng)
        added = (draws + draws.T) / 2.0
    else:
        draws = np.zeros((d, d))
        if noise == "laplace":
            draws = np.triu(laplace_noise((d, d), scale=scale, rng=rng))
        else:  # isotropic for the Frobenius norm: off the diagonal an entry counts twice
            upper = np.triu_indices(d)
            draws[upper] = gamma_norm_noise(d * (d + 1) // 2, rate=1.0 / scale, rng=rng)
            draws[np.triu_indices(d, 1)] /= math.sqrt(2.0)
        added = draws + np.triu(draws, 1).T
    return _NoisyMoments(rows.T @ rows + added, scale, float(epsilon), float(delta), neighboring)


def _leading_components(moments: ArrayLike, n_components: int) -> Array:
    """Orthonormal eigenvectors of the largest eigenvalues of a symmetric matrix."""
    matrix = check_real_array("moments", moments, 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {matrix.shape}")
    k = check_integer("n_components", n_components, maximum=len(matrix))
    vectors = np.linalg.eigh(matrix)[1]
    return np.asarray(vectors[:, ::-1][:, :k], dtype=np.float64)


#: Name -> (frequencies or "covariance", noise or "none").
_PCA_METHODS: dict[str, tuple[str, str]] = {
    "gaussian-exact": ("gaussian", "none"),
    "orthonormal-exact": ("orthonormal", "none"),
    "gaussian-laplace": ("gaussian", "laplace"),
    "orthonormal-laplace": ("orthonormal", "laplace"),
    "covariance-laplace": ("covariance", "laplace"),
    "covariance-gamma": ("covariance", "gamma"),
    "gaussian-gaussian": ("gaussian", "gaussian"),
    "orthonormal-gaussian": ("orthonormal", "gaussian"),
    "covariance-gaussian": ("covariance", "gaussian"),
}
