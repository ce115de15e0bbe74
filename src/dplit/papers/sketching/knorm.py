r"""K-norm noise: density :math:`e^{-\epsilon\|z\|_K}`, K the polydisc :math:`\max_j|z_j|\le1` that
holds all Fourier features, or the cube inside it that holds the one-bit ones.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array, check_integer, check_positive
from dplit.mechanisms import cube_noise, laplace_noise, polydisc_noise
from dplit.sketching.sensitivity import noise_variance

_PureNoise = Literal["laplace", "polydisc", "cube"]


def _body_norm(vectors: ArrayLike, *, noise: _PureNoise) -> NDArray[np.float64]:
    r"""Return the norm (...) in which a feature vector has at most unit length, per law of noise.

    :math:`(\|\Re z\|_1+\|\Im z\|_1)/(m\sqrt2)`, :math:`\max|z_j|`, or for the cube
    :math:`\sqrt2\max(|\Re z_j|,|\Im z_j|)`, in which Fourier features may exceed 1, one-bit ones
    not.
    """
    z = check_finite_array("vectors", vectors)
    check_choice("noise", noise, get_args(_PureNoise))
    if noise == "laplace":
        sums = (np.abs(z.real) + np.abs(z.imag)).sum(axis=-1)
        return np.asarray(sums / (np.sqrt(2.0) * z.shape[-1]))
    if noise == "polydisc":
        return np.asarray(np.abs(z).max(axis=-1))
    return np.asarray(np.sqrt(2.0) * np.maximum(np.abs(z.real), np.abs(z.imag)).max(axis=-1))


def knorm_loss(
    noise_draws: ArrayLike, feature: ArrayLike, *, noise: _PureNoise, epsilon: float
) -> NDArray[np.float64]:
    r"""Return the loss :math:`\epsilon(\|\xi+\Phi(x)\|_K-\|\xi\|_K)` of an added record."""
    draws = check_finite_array("noise_draws", noise_draws)
    step = check_finite_array("feature", feature, ndim=1)
    change = _body_norm(draws + step, noise=noise) - _body_norm(draws, noise=noise)
    return check_positive("epsilon", epsilon) * change


def noise_energy(n_components: int, *, noise: _PureNoise, epsilon: float) -> float:
    r"""Return :math:`E|\xi_j|^2` of one entry of the noise on a sum of Fourier features.

    >>> [round(noise_energy(50, noise=k, epsilon=1.0)) for k in ("laplace", "polydisc", "cube")]
    [20000, 5151, 3434]
    """
    check_choice("noise", noise, get_args(_PureNoise))
    root, m = np.sqrt(2.0).item(), check_integer("n_components", n_components)
    unit = {"laplace": root * m, "polydisc": 1.0, "cube": 1.0 / root}[noise]
    return noise_variance(noise, n_components=m, scale=unit / check_positive("epsilon", epsilon))


def pure_noise(
    n_components: int,
    *,
    noise: _PureNoise,
    epsilon: float,
    rng: np.random.Generator,
    size: int | None = None,
) -> NDArray[np.complex128]:
    r"""Return noise that makes a sum of Fourier features epsilon-private where a record is added.

    Density :math:`\propto e^{-\epsilon\|z\|_K}`, K of ``_body_norm``; shape (m,) or (size, m).
    """
    m = check_integer("n_components", n_components)
    check_choice("noise", noise, get_args(_PureNoise))
    epsilon = check_positive("epsilon", epsilon)
    if noise == "laplace":
        shape = (m,) if size is None else (check_integer("size", size), m)
        return laplace_noise(shape, scale=np.sqrt(2.0).item() * m / epsilon, rng=rng, complex=True)
    if noise == "polydisc":
        return polydisc_noise(m, rate=epsilon, rng=rng, size=size)
    return cube_noise(m, rate=np.sqrt(2.0).item() * epsilon, rng=rng, size=size)
