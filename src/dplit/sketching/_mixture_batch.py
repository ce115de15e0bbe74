"""Descent of many Gaussian mixtures to their sketches at once, all parameters together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._trigonometry import angle_factor, scaled_cosine_and_sine
from dplit.sketching._batched_lbfgs import minimise

__all__ = ["Mixtures", "descend_mixtures"]

_Array = NDArray[np.float64]
#: Longest move of a weight, of a mean (half widths of the box) and of a log-variance in one step.
_REACH = (0.5, 0.25, 1.0)
#: A problem ends when a step lowers its cost by less than this share.
_TOLERANCE = 1e-7


class Mixtures(NamedTuple):
    """Mixtures in the units of the box: (P, k), (P, k, d), (P, k, d), and their costs (P,)."""

    weights: _Array
    means: _Array
    log_variances: _Array
    costs: _Array


def _atoms(omega: _Array, squares: _Array, means: _Array, variances: _Array) -> _Array:
    """Return real and imaginary parts (2, A, k, m) of the sketches of all components."""
    angle = (means * angle_factor(np.dtype(np.float64))) @ omega
    parts = np.empty((2, *angle.shape))
    scaled_cosine_and_sine(angle, parts[0], parts[1], 1.0)
    parts *= np.exp(-0.5 * (variances @ squares))
    return parts


def _inverse_curvature(parts: tuple[_Array, _Array, _Array], omega: _Array) -> _Array:
    """Inverse diagonal (P, p) of the Gauss-Newton matrix, bounded where a weight vanishes."""
    weights, means, logs = parts
    energy = np.exp(-(np.exp(logs) @ omega**2))  # |a_lj|^2, (P, k, m)
    share = np.maximum(weights, 0.05)[:, :, None] ** 2
    by_weight = energy.sum(axis=2)
    by_mean = share * (energy @ (omega**2).T)
    by_log = 0.25 * share * np.exp(2.0 * logs) * (energy @ (omega**4).T)
    count = len(means)
    rows = [part.reshape(count, -1) for part in (by_weight, by_mean, by_log)]
    flat = 2.0 * np.concatenate(rows, axis=1)
    return np.asarray(1.0 / np.maximum(flat, 1e-3 * flat.max(axis=1, keepdims=True)))


def descend_mixtures(
    z: NDArray[np.complex128],
    omega: _Array,
    weights: _Array,
    means: _Array,
    variances: _Array,
    *,
    floor: float,
    max_iter: int,
) -> Mixtures:
    """Run one L-BFGS for all problems, in the units of the box.

    Parameters
    ----------
    z : ndarray of shape (P, m)
        One sketch per problem, of size about 1.
    omega : ndarray of shape (d, m)
        Frequencies of all of them.
    weights, means, variances : ndarray of shapes (P, k), (P, k, d), (P,)
        Starts; one variance for all coordinates of a problem.
    floor : float
        Least variance; the largest is 2.
    max_iter : int
        Iterations, at most.

    Returns
    -------
    Mixtures
        Costs no larger than at the starts.
    """
    count, k, d = means.shape
    squares, split = omega**2, k + k * d
    logs = np.repeat(np.log(np.maximum(variances, floor)), k * d)

    def parts(flat: _Array) -> tuple[_Array, _Array, _Array]:
        shape = (len(flat), k, d)
        return flat[:, :k], flat[:, k:split].reshape(shape), flat[:, split:].reshape(shape)

    def objective(flat: _Array, which: NDArray[np.intp]) -> tuple[_Array, _Array]:
        share, centres, spread = parts(flat)
        widths = np.exp(spread)
        real, imaginary = _atoms(omega, squares, centres, widths)
        rest_real = (share[:, None] @ real)[:, 0] - z.real[which]
        rest_imaginary = (share[:, None] @ imaginary)[:, 0] - z.imag[which]
        value = (rest_real**2).sum(axis=1) + (rest_imaginary**2).sum(axis=1)
        q_real = real * rest_real[:, None] + imaginary * rest_imaginary[:, None]
        q_imaginary = imaginary * rest_real[:, None] - real * rest_imaginary[:, None]
        by_mean = -2.0 * share[:, :, None] * (q_imaginary @ omega.T)
        by_log = -share[:, :, None] * widths * (q_real @ squares.T)
        pieces = (2.0 * q_real.sum(axis=2), by_mean, by_log)
        return value, np.concatenate([p.reshape(len(flat), -1) for p in pieces], axis=1)

    start = np.concatenate([weights, means.reshape(count, -1), logs.reshape(count, -1)], axis=1)
    low = np.repeat([0.0, -1.0, np.log(floor)], [k, k * d, k * d])
    high = np.repeat([np.inf, 1.0, np.log(2.0)], [k, k * d, k * d])
    found, costs = minimise(
        objective, start, low, high, inverse=_inverse_curvature(parts(start), omega),
        reach=np.repeat(_REACH, [k, k * d, k * d]), max_iter=max_iter, tol=_TOLERANCE,
    )  # fmt: skip
    return Mixtures(*parts(found), costs)
