"""Gaussian mixtures with diagonal covariances from a sketch, and the likelihood of mixtures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp

from dplit._bounds import Box, check_box
from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit._numerics.trigonometry import angle_factor, scaled_cosine_and_sine
from dplit.sketching.decoders.clompr import _checked_frequencies, decode_kmeans

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class _MixtureFit:
    """A Gaussian mixture with diagonal covariances, in the units of the data, and its cost.

    Weights (k,) have sum 1, and had the sum ``mass`` before; means and variances have shape (k, d).
    """

    weights: Array
    means: Array
    variances: Array
    mass: float
    cost: float
    start_costs: tuple[float, ...]


def log_densities(
    X: ArrayLike, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike
) -> Array:
    """Logarithm of the density of a Gaussian mixture at every record.

    Covariances are variances (k, d), or positive definite matrices (k, d, d).

    >>> log_densities([[0.0], [1.0]], [1.0], [[0.0]], [[1.0]]).round(4)  # -log(2 pi) / 2, 1/2 less
    array([-0.9189, -1.4189])
    """
    records = check_real_array("X", X, 2)
    share = check_real_array("weights", weights, 1)
    centres = check_real_array("means", means, 2)
    spread = check_real_array("covariances", covariances)
    k, d = len(share), records.shape[1]
    if centres.shape != (k, d):
        raise ValueError(f"means must have shape {(k, d)}, got means of shape {centres.shape}")
    if spread.shape not in ((k, d), (k, d, d)):
        raise ValueError(f"covariances must have shape {(k, d)} or {(k, d, d)}, got {spread.shape}")
    if (share < 0).any() or abs(share.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights must be nonnegative with sum 1, got weights={share}")
    terms = np.empty((k, len(records)))
    for index in range(k):
        white, half_log_det = _whiten(records - centres[index], spread[index])
        terms[index] = -0.5 * (white**2).sum(axis=0) - half_log_det - d * _HALF_LOG_2PI
    return np.asarray(logsumexp(terms, axis=0, b=share[:, None]))


def _whiten(centred: Array, covariance: Array) -> tuple[Array, float]:
    """Return the whitened records (d, n) and half the log determinant."""
    if covariance.ndim == 1:
        if (covariance <= 0).any():
            raise ValueError(f"covariances must be positive, got variances {covariance}")
        return (centred / np.sqrt(covariance)).T, 0.5 * float(np.log(covariance).sum())
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"covariances must be positive definite: {error}") from error
    half_log_det = float(np.log(np.diagonal(lower)).sum())
    return np.asarray(solve_triangular(lower, centred.T, lower=True)), half_log_det


def gmm_risk(X: ArrayLike, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> float:
    """Empirical risk ``-mean_i log p(x_i)`` of a Gaussian mixture: Definition 3.

    >>> round(gmm_risk([[1.0], [-1.0]], [1.0], [[0.0]], [[1.0]]), 4)  # (1 + log(2 pi)) / 2
    1.4189
    """
    return -float(log_densities(X, weights, means, covariances).mean())


def _atoms(frequencies: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """Return real and imaginary part (k, m) of the sketches of the components."""
    angle = (means * angle_factor(np.dtype(np.float64))) @ frequencies
    cosine, sine = np.empty_like(angle), np.empty_like(angle)
    scaled_cosine_and_sine(angle, cosine, sine, 1.0)
    damping = np.exp(-0.5 * (variances @ frequencies**2))
    return cosine * damping, sine * damping


def mixture_sketch(
    frequencies: ArrayLike, weights: ArrayLike, means: ArrayLike, variances: ArrayLike
) -> NDArray[np.complex128]:
    r"""Mean of the Fourier features under a mixture with diagonal covariances, weights of any sum:
    :math:`\sum_lw_l\exp(i\omega_j^\top\mu_l-\frac12(\omega_j^2)^\top v_l)`.

    >>> mixture_sketch([[1.0, 2.0]], [1.0], [[0.0]], [[2.0]]).real.round(4)  # exp(-1), exp(-4)
    array([0.3679, 0.0183])
    """
    omega = np.asarray(frequencies, dtype=np.float64)
    real, imaginary = _atoms(
        omega, np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    )
    share = np.asarray(weights, dtype=np.float64)
    return np.asarray(share @ real + 1j * (share @ imaginary))


def mixture_cost(
    z: NDArray[Any], frequencies: Array, weights: Array, means: Array, log_variances: Array
) -> float:
    """Objective of (3) for mixtures of Gaussians: squared distance of the sketches.

    >>> zero = np.zeros((1, 1))
    >>> mixture_cost(np.ones(2), np.zeros((1, 2)), np.full(1, 3.0), zero, zero)  # 2 (3 - 1)^2
    8.0
    """
    rest = mixture_sketch(frequencies, weights, means, np.exp(log_variances)) - z
    return float(np.vdot(rest, rest).real)


def mixture_gradient(
    z: NDArray[Any], frequencies: Array, weights: Array, means: Array, log_variances: Array
) -> tuple[Array, Array, Array]:
    r"""Gradients of :func:`mixture_cost` in weights, means and log-variances.

    With the residual :math:`r=\sum_lw_la_l-z` and :math:`q_l=\bar r\odot a_l`:
    :math:`\partial_{w_l}=2\sum_j\Re q_{lj}`, :math:`\partial_{\mu_l}=-2w_l\,\Omega\,\Im q_l`,
    :math:`\partial_{\log v_l}=-w_lv_l\odot(\Omega^2\,\Re q_l)`.

    >>> zero = np.zeros((1, 1))
    >>> slopes = mixture_gradient(np.ones(2), np.zeros((1, 2)), np.full(1, 3.0), zero, zero)
    >>> slopes[0]  # of 2 (w - 1)^2 at w = 3
    array([8.])
    """
    return _value_and_slopes(z, frequencies, weights, means, log_variances)[1]


def _value_and_slopes(
    z: NDArray[Any], frequencies: Array, weights: Array, means: Array, log_variances: Array
) -> tuple[float, tuple[Array, Array, Array]]:
    """Return cost and gradients from one evaluation of the components' sketches."""
    variances = np.exp(log_variances)
    real, imaginary = _atoms(frequencies, means, variances)
    rest_real, rest_imaginary = weights @ real - z.real, weights @ imaginary - z.imag
    value = float(rest_real @ rest_real + rest_imaginary @ rest_imaginary)
    q_real = real * rest_real + imaginary * rest_imaginary
    q_imaginary = imaginary * rest_real - real * rest_imaginary
    share = weights[:, None]
    by_mean = -2.0 * share * (q_imaginary @ frequencies.T)
    by_log = -share * variances * (q_real @ (frequencies**2).T)
    return value, (2.0 * q_real.sum(axis=1), by_mean, by_log)


def _best_common_variance(z: NDArray[Any], omega: Array, means: Array) -> tuple[Array, float]:
    """Return weights and the one variance of all coordinates with least cost at these means.

    No weight is less than a hundredth of the largest: a component of weight 0 has no gradient.
    """
    best: tuple[float, Array, float] = (np.inf, np.ones(len(means)), 1.0)
    target = np.concatenate([z.real, z.imag])
    for variance in np.geomspace(1e-4, 0.5, 12):
        real, imaginary = _atoms(omega, means, np.full_like(means, variance))
        try:
            weights, distance = nnls(np.hstack([real, imaginary]).T, target)
        except RuntimeError:  # too many iterations: another variance will do
            continue
        if distance < best[0]:
            best = (distance, weights, variance)
    weights = best[1]
    return np.maximum(weights, 0.01 * max(float(weights.max()), 1e-6)), best[2]


def _descend(
    z: NDArray[Any], omega: Array, means: Array, floor: float
) -> tuple[float, Array, Array, Array]:
    """Run L-BFGS-B on all parameters, in the units of the box, from centres."""
    k, d = means.shape
    weights, variance = _best_common_variance(z, omega, means)
    variance = max(variance, floor)
    start = np.concatenate([weights, means.ravel(), np.full(k * d, np.log(variance))])
    limits = [(0.0, None)] * k + [(-1.0, 1.0)] * (k * d)
    limits += [(float(np.log(floor)), float(np.log(2.0)))] * (k * d)
    size = float(np.vdot(z, z).real) or 1.0

    def parts(flat: Array) -> tuple[Array, Array, Array]:
        return flat[:k], flat[k : k + k * d].reshape(k, d), flat[k + k * d :].reshape(k, d)

    def objective(flat: Array) -> tuple[float, Array]:
        value, pieces = _value_and_slopes(z, omega, *parts(flat))
        return value / size, np.concatenate([piece.ravel() for piece in pieces]) / size

    options: Any = {"maxiter": 400, "maxfun": 800, "ftol": 1e-10, "gtol": 1e-8}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return float(found.fun) * size, *parts(found.x)


def decode_mixture(
    z: ArrayLike,
    frequencies: ArrayLike,
    n_clusters: int,
    *,
    bounds: Any,
    rng: np.random.Generator,
    n_starts: int = 3,
    min_variance: float = 1e-4,
) -> _MixtureFit:
    """Gaussian mixture with diagonal covariances whose sketch is nearest to a given one.

    ``z`` is a mean of Fourier features, up to a positive factor. L-BFGS-B on all parameters starts
    from ``n_starts`` decodings of k points of mass, and the cost decides: no further privacy is
    spent. ``min_variance``, in (0, 1), is in units of the squared half width of
    the public box; with much noise a larger value is safer.

    >>> rng = np.random.default_rng(0)
    >>> omega = rng.normal(size=(1, 40))
    >>> z = mixture_sketch(omega, [0.5, 0.5], [[-1.0], [1.0]], [[0.1], [0.2]])
    >>> fit = decode_mixture(z, omega, 2, bounds=(-2.0, 2.0), rng=rng)
    >>> order = np.argsort(fit.means[:, 0])
    >>> fit.means[order, 0].round(2), fit.variances[order, 0].round(2)
    (array([-1.,  1.]), array([0.1, 0.2]))
    """
    target = check_finite_array("z", z, ndim=1).astype(np.complex128)
    k = check_integer("n_clusters", n_clusters)
    omega = _checked_frequencies(frequencies, target, k, lambda d, k: -(-k * (2 * d + 1) // 2))
    d = len(omega)
    check_integer("n_starts", n_starts)
    floor = check_probability("min_variance", min_variance)
    check_rng(rng)
    box = check_box(bounds, d)
    copies = np.repeat(target[None], n_starts, axis=0)
    starts = decode_kmeans(copies, omega, k, bounds=bounds, rng=rng, n_restarts=1).centroids
    unit, shifted = omega * box.half[:, None], target * np.exp(-1j * (box.middle @ omega))
    fits = [_descend(shifted, unit, box.unit(centres), floor) for centres in starts]
    costs = tuple(fit[0] for fit in fits)
    _, weights, means, logs = fits[int(np.argmin(costs))]
    return _fit(box, weights, means, logs, costs)


def _fit(
    box: Box, weights: Array, means: Array, logs: Array, costs: tuple[float, ...]
) -> _MixtureFit:
    """Return a fit in the units of the data, its weights normalised."""
    mass = float(weights.sum())
    share = weights / mass if mass > 0 else np.full(len(weights), 1.0 / len(weights))
    return _MixtureFit(share, box.data(means), np.exp(logs) * box.half**2, mass, min(costs), costs)
