r"""Kernels, with :math:`|f(x)|\le\kappa\|f\|_K`, and the check that a Gram matrix is one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from dplit._checks import Array, check_finite_array, check_integer, check_positive, check_real_array


def _rows(name: str, value: ArrayLike) -> Array:
    """Return points as rows; a vector holds points on the line."""
    array = np.asarray(check_finite_array(name, value))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind == "c":
        raise ValueError(
            f"{name} must hold real points as rows, got {name} of shape {array.shape} "
            f"and dtype {array.dtype}"
        )
    return array.astype(np.float64)


def _two_sets(X: ArrayLike, Z: ArrayLike) -> tuple[Array, Array]:
    left, right = _rows("X", X), _rows("Z", Z)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X and Z must have the same number of columns, got {left.shape[1]} and "
            f"{right.shape[1]}"
        )
    return left, right


def gaussian_gram(X: ArrayLike, Z: ArrayLike, *, width: float) -> Array:
    r"""Kernel :math:`e^{-\|x-z\|^2/(2h^2)}` with the width h, so kappa = 1.

    Points stand in rows; a vector holds points on the line. Nearly singular Gram matrices of the
    chapter amplify the last bits, so that this is not :func:`dplit.features.gaussian_kernel`.
    """
    left, right = _two_sets(X, Z)
    h = check_positive("width", width)
    with np.errstate(over="ignore"):  # far points and small widths
        return np.asarray(np.exp(-0.5 * (cdist(left, right) / h) ** 2))


def linear_kernel(X: ArrayLike, Z: ArrayLike) -> Array:
    """Inner products between two sets of points; kappa is the largest length of a point.

    There is no constant in the space unless the points lie on an affine hyperplane off the origin.
    """
    left, right = _two_sets(X, Z)
    return np.asarray(left @ right.T, dtype=np.float64)


def trigonometric_features(x: ArrayLike, *, n_frequencies: int = 40) -> Array:
    r"""Sines and cosines of period one as a feature map of unit length, shape (n, 2 J).

    Rows :math:`(\sqrt{w_k}\cos2\pi kx)_k,(\sqrt{w_k}\sin2\pi kx)_k` with :math:`w_k\propto k^{-2}`
    for k = 1, ..., J, the weights summing to 1: periodic functions with one weak derivative, kappa
    = 1.
    """
    points = check_real_array("x", x, 1)
    k = np.arange(1, check_integer("n_frequencies", n_frequencies) + 1)
    weights = 1.0 / k.astype(np.float64) ** 2
    angles = 2.0 * math.pi * np.outer(np.mod(points, 1.0), k)
    root = np.sqrt(weights / weights.sum())
    return np.hstack([np.cos(angles) * root, np.sin(angles) * root])
