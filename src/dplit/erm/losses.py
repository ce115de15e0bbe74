r"""The four losses of the chapter, their Lipschitz constants and their conjugates.

:math:`L(t,y)\ge0` is convex in the prediction t; y is real, or for hinge and logistic loss a label
-1 or +1.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist
from scipy.special import expit, rel_entr

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)

# Kernels, with :math:`|f(x)|\le\kappa\|f\|_K`, and the check that a Gram matrix is one.


#: Rounding that a Gram matrix may carry, relative to its largest diagonal entry.
_GRAM_TOLERANCE = 1e-9


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


def gaussian_kernel(X: ArrayLike, Z: ArrayLike, *, width: float) -> Array:
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


def _check_gram(gram: ArrayLike) -> Array:
    """Return a Gram matrix, exactly symmetric, or say why the matrix is none."""
    array = np.asarray(check_finite_array("gram", gram, ndim=2))
    if array.shape[0] != array.shape[1] or array.dtype.kind == "c":
        raise ValueError(
            f"gram must be a square real matrix, got shape {array.shape}, dtype {array.dtype}"
        )
    K = array.astype(np.float64)
    slack = _GRAM_TOLERANCE * float(np.abs(K.diagonal()).max())
    gap = float(np.abs(K - K.T).max())
    if gap > slack:
        raise ValueError(f"gram must be symmetric, got entries that differ by {gap:.3g}")
    K = 0.5 * (K + K.T)
    if float(np.abs(K).max()) == 0.0:
        return K
    try:
        cholesky(K + slack * np.eye(len(K)), lower=True, check_finite=False, overwrite_a=True)
    except LinAlgError:
        raise ValueError(
            f"gram must be positive semidefinite, got an eigenvalue below -{slack:.3g}"
        ) from None
    return K


def _gram_rows(gram: Array) -> Array:
    """Rows whose inner products are a Gram matrix up to rounding; as many columns as its rank."""
    lower, pivots, rank, _ = dpstrf(gram, lower=1)
    rows = np.empty((len(gram), rank))
    rows[pivots - 1] = np.tril(lower)[:, :rank]
    return rows


_Loss = Literal["squared", "hinge", "pinball", "logistic"]

LOSSES: tuple[_Loss, ...] = ("squared", "hinge", "pinball", "logistic")


def _check_targets(loss: str, y: ArrayLike) -> Array:
    """Return the targets of a loss as floats."""
    check_choice("loss", loss, LOSSES)
    values = check_real_array("y", y, 1)
    if loss in ("hinge", "logistic"):
        other = np.setdiff1d(values, [-1.0, 1.0])
        if other.size:
            raise ValueError(
                f"y must hold the two labels -1 and +1 for the {loss} loss, "
                f"got {other[:5].tolist()}"
            )
    return values


def loss_values(loss: str, predictions: ArrayLike, y: ArrayLike, *, tau: float = 0.5) -> Array:
    r"""Losses of predictions, shape (..., m), entry by entry.

    squared :math:`(t-y)^2`; hinge :math:`(1-yt)_+`; pinball :math:`\tau(y-t)_++(1-\tau)(t-y)_+`;
    logistic :math:`\ln(1+e^{-yt})`.
    """
    targets = _check_targets(loss, y)
    level = check_probability("tau", tau)
    values = check_real_array("predictions", predictions)
    if values.ndim == 0 or values.shape[-1] != len(targets):
        raise ValueError(
            f"predictions must have {len(targets)} entries along the last axis, got shape "
            f"{values.shape}"
        )
    if loss == "squared":
        return np.asarray((values - targets) ** 2)
    if loss == "hinge":
        return np.maximum(1.0 - targets * values, 0.0)
    if loss == "pinball":
        return np.maximum(level * (targets - values), (level - 1.0) * (targets - values))
    return np.logaddexp(0.0, -targets * values)


def lipschitz_constant(
    loss: str, *, tau: float = 0.5, function_bound: float | None = None,
    label_bound: float | None = None,
) -> float:  # fmt: skip
    r"""Smallest constant :math:`C_L` with :math:`|L(s,y)-L(t,y)|\le C_L|s-t|`.

    The square has none on the whole line: it alone needs the bounds on predictions and targets.

    >>> lipschitz_constant("pinball", tau=0.25)
    0.75
    """
    check_choice("loss", loss, LOSSES)
    level = check_probability("tau", tau)
    t = None if function_bound is None else check_nonnegative("function_bound", function_bound)
    M = None if label_bound is None else check_positive("label_bound", label_bound)
    if loss == "squared":
        if t is None or M is None:
            raise ValueError(
                "function_bound and label_bound must be given for the squared loss, got "
                f"function_bound={function_bound!r}, label_bound={label_bound!r}"
            )
        return 2.0 * (t + M)
    return max(level, 1.0 - level) if loss == "pinball" else 1.0


def _fenchel_young(
    loss: str, predictions: Array, y: Array, slopes: Array, tau: float,
) -> Array:  # fmt: skip
    """Terms :math:`L(t,y)+L^*(u,y)-ut` of a duality gap, in forms that do not cancel. ``slopes`` u
    lie in the domain of the conjugate: [-1, 0] times y for hinge and logistic loss, [-tau, 1 - tau]
    for the pinball loss. Small logistic terms become the chi-square distance, which is never
    smaller and at most about twice as large.
    """
    if loss == "squared":
        return np.asarray((predictions - y - 0.5 * slopes) ** 2)
    if loss == "pinball":
        error = y - predictions
        return np.where(error > 0, (tau + slopes) * error, (slopes - (1.0 - tau)) * error)
    share, margin = -y * slopes, y * predictions
    if loss == "hinge":
        return np.where(margin < 1.0, (1.0 - share) * (1.0 - margin), share * (margin - 1.0))
    q, rest = expit(-margin), expit(margin)
    chi_square = (share - q) ** 2 / (q * rest)
    divergence = rel_entr(share, q) + rel_entr(1.0 - share, rest)
    return np.where(chi_square < 1e-6, chi_square, divergence)
