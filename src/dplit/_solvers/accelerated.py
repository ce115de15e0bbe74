r"""Accelerated gradients whose accuracy after a public number of steps is proved for all data."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dplit._checks import Array
from dplit._numerics.rows import Rows


def smooth_steps(*, smoothness: float, convexity: float, start: float, target: float) -> int:
    """Steps after which :func:`accelerated_minimum` is within ``target`` of the least value.

    ``start`` bounds how far the first point is above it.
    """
    root = math.sqrt(smoothness / convexity)
    return max(1, math.ceil(root * math.log(max(2.0 * start / target, 1.0))))


def accelerated_minimum(
    gradient: Callable[[Array], Array],
    start: Array,
    *,
    smoothness: float,
    convexity: float,
    steps: int,
) -> Array:
    r"""Nesterov's method for a strongly convex function with a Lipschitz gradient.

    With :math:`q=\sqrt{\mu/\beta}` the excess after k steps is at most :math:`(1-q)^k` times that
    of the start plus :math:`\frac\mu2\|w_0-w_*\|^2`, which is no larger (Nesterov, Introductory
    lectures on convex optimization, 2004, Theorem 2.2.3). Rounding errors are contracted as well.
    """
    ratio = math.sqrt(convexity / smoothness)
    momentum = (1.0 - ratio) / (1.0 + ratio)
    w = point = start
    for _ in range(steps):
        new = point - gradient(point) / smoothness
        point = new + momentum * (new - w)
        w = new
    return w


def box_steps(*, curvature: float, tol: float) -> int:
    """Steps after which the gap of :func:`accelerated_box_qp`, per record, is below ``tol / 4``.

    ``curvature`` bounds the largest eigenvalue of the quadratic term.
    """
    return math.ceil(math.sqrt(8.0 * curvature / tol))


def accelerated_box_qp(
    features: Rows,
    linear: Array,
    start: Array,
    *,
    scale: float,
    curvature: float,
    steps: int,
    done: Callable[[Array, Array], bool],
) -> Array:
    r"""Minimise :math:`F(p)=\frac s2\|A^\top p\|^2-q^\top p` over the unit box; mean of the points.

    Parameters
    ----------
    features : ndarray, shape (m, d)
        Matrix A.
    linear, start : ndarray, shape (m,)
        Vector q, and a point of the box.
    scale, curvature : float
        Factor s, and a bound C on s times the largest eigenvalue of A A'.
    steps : int
        Most steps that are made.
    done : callable
        Certificate of (mean, point), asked every 20 steps: it may end the iteration earlier.

    Returns
    -------
    ndarray, shape (m,)
        The weighted mean of the points where gradients were taken: the primal point that belongs
        to it is the good one.

    Notes
    -----
    Let :math:`\ell(\cdot,y)` be the linear approximation of F at y, :math:`\theta_0=1` and
    :math:`(1-\theta_k)/\theta_k^2=1/\theta_{k-1}^2`, so :math:`\theta_k\le2/(k+2)`. Since
    :math:`z_{k+1}` minimises :math:`\ell(z,y_k)+\frac{\theta_kC}2\|z-z_k\|^2`, for every p of the
    box :math:`F(x_{k+1})\le(1-\theta_k)F(x_k)+\theta_k[\ell(p,y_k)
    +\frac{\theta_kC}2(\|p-z_k\|^2-\|p-z_{k+1}\|^2)]`. Divided by :math:`\theta_k^2` and added up,
    with :math:`\omega_k=\theta_{K-1}^2/\theta_k`, which add to 1,

    .. math:: F(x_K)\le\sum_k\omega_k\ell(p,y_k)+\tfrac12\theta_{K-1}^2C\|p-z_0\|^2 .

    The sum is at most :math:`-\frac s2\|A^\top\bar y\|^2+s\langle A^\top\bar y,A^\top p\rangle
    -q^\top p` by Jensen's inequality, with :math:`\bar y=\sum\omega_ky_k`; its least value over p
    is minus the primal objective at the weights of :math:`\bar y`. So the gap between these
    weights and :math:`x_K` is at most :math:`2Cm/(K+1)^2`, whatever the data.

    References
    ----------
    P. Tseng, On accelerated proximal gradient methods for convex-concave optimization, 2008,
    Algorithm 1 and Corollary 1.
    """
    x, z, mean, theta = start, start, start, 1.0
    x_image = z_image = features.T @ start
    for k in range(steps):
        y = x + theta * (z - x)
        image = x_image + theta * (z_image - x_image)
        gradient = scale * (features @ image) - linear
        z = np.clip(z - gradient / (theta * curvature), 0.0, 1.0)
        z_image = features.T @ z
        x, x_image = x + theta * (z - x), x_image + theta * (z_image - x_image)
        mean = mean + theta * (y - mean)
        theta = 0.5 * theta * (math.sqrt(theta**2 + 4.0) - theta)
        if k % 20 == 19 and done(mean, x):
            break
    return mean
