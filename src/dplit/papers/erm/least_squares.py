r"""Stability of regularised least squares, :math:`\frac1m\sum_i(f(x_i)-y_i)^2+\lambda\|f\|_K^2`.

The paper's constant and three sharper ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from dplit._checks import Array, check_integer, check_interval, check_nonnegative, check_positive


class _LeastSquaresPair(NamedTuple):
    """Two neighbours on the plane, each of the first m - 1 of m + 1 records and one of the last
    two.
    """

    points: Array
    labels: Array


def mirror_distance(
    radius: float,
    angle: float,
    *,
    regularization: float,
    n_records: int,
    label_bound: float,
    kappa: float = 1.0,
) -> float:
    r"""Distance of the fits when mirror images are swapped beside a cluster, in closed form.

    The m - 1 common records sit at ``radius`` on the first axis, the swapped ones are
    :math:`\kappa(-\cos t,\pm\sin t)` for the angle t; all labels are M.
    """
    t, size = check_interval("angle", angle, -math.inf, math.inf), check_positive("kappa", kappa)
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    r, p, q = check_nonnegative("radius", radius), size * math.sin(t), size * math.cos(t)
    penalty, mass = check_positive("regularization", regularization) * m, (m - 1) * r
    h = penalty + mass * r
    slope = mass * M / h
    return 2.0 * p * (M + q * slope) / (penalty + p * p + q * q * penalty / h)


def _mirror_pair(
    *, regularization: float, n_records: int, label_bound: float, kappa: float = 1.0
) -> _LeastSquaresPair:
    r"""The worst swap of mirror images beside a cluster; as :math:`\lambda m` grows it attains
    :func:`~dplit.kernels.lipschitz.least_squares_stability`.
    """
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    penalty, size = check_positive("regularization", regularization), check_positive("kappa", kappa)

    def shortfall(z: Array) -> float:
        return -mirror_distance(
            size * abs(math.sin(z[0])),
            math.pi / 2 * math.sin(z[1]) ** 2,
            regularization=penalty,
            n_records=m,
            label_bound=M,
            kappa=size,
        )

    first = math.asin(min(1.0, math.sqrt(penalty) / size))
    found = [
        minimize(shortfall, np.array([first, angle]), method="Nelder-Mead", tol=1e-14).x
        for angle in (0.8, 1.1, 1.4)
    ]
    best = min(found, key=shortfall)
    radius, angle = size * abs(math.sin(best[0])), math.pi / 2 * math.sin(best[1]) ** 2
    points = np.zeros((m + 1, 2))
    points[: m - 1, 0] = radius
    points[m - 1 :, 0] = -size * math.cos(angle)
    points[m - 1 :, 1] = size * math.sin(angle), -size * math.sin(angle)
    return _LeastSquaresPair(points, np.full(m + 1, M))


def far_pair(*, n_records: int, label_bound: float, kappa: float = 1.0) -> _LeastSquaresPair:
    r"""The plainest pair: all others at 0, and the label at kappa goes from M to -M.

    The fits are :math:`2M\kappa/(\lambda m+\kappa^2)` apart: above the printed bound for large
    lambda.
    """
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    points = np.zeros((m + 1, 2))
    points[m - 1 :, 0] = check_positive("kappa", kappa)
    labels = np.full(m + 1, M)
    labels[-1] = -M
    return _LeastSquaresPair(points, labels)


def fits_distance(pair: _LeastSquaresPair, *, regularization: float) -> float:
    """Fit both samples of a pair by the normal equations and return the distance of the fits."""
    m = len(pair.labels) - 1
    penalty = check_positive("regularization", regularization) * m
    fits = []
    for last in (m - 1, m):
        rows = [*range(m - 1), last]
        X, y = pair.points[rows], pair.labels[rows]
        fits.append(np.linalg.solve(X.T @ X + penalty * np.eye(2), X.T @ y))
    return float(np.linalg.norm(fits[0] - fits[1]))
