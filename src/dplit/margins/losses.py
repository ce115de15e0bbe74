r"""Losses of a confidence margin, and by how much one record can move their means.

All functions of this module act on values :math:`u=y\langle w,x\rangle`, elementwise; the empirical
loss is the mean of what they return.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_positive, check_real_array
from dplit._numerics.exact import grid_values


def zero_one_loss(u: ArrayLike) -> Array:
    r"""Zero-one loss :math:`1[u\le0]`: zero counts as an error.

    >>> zero_one_loss([-1.0, 0.0, 1.0])
    array([1., 1., 0.])
    """
    return (check_real_array("u", u, copy=False) <= 0).astype(np.float64)


def margin_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Margin loss :math:`1[u\le\rho]`.

    >>> margin_loss([0.0, 1.0, 2.0], margin=1.0)
    array([1., 1., 0.])
    """
    rho = check_positive("margin", margin)
    return (check_real_array("u", u, copy=False) <= rho).astype(np.float64)


def hinge_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Hinge loss of a margin, :math:`\ell^\rho(u)=\max(1-u/\rho,0)`.

    Convex with slope at most :math:`1/\rho`; unbounded, so not below the margin loss.

    >>> hinge_loss([-1.0, 0.5, 2.0], margin=1.0)
    array([2. , 0.5, 0. ])
    """
    rho = check_positive("margin", margin)
    return np.asarray(np.maximum(1.0 - check_real_array("u", u, copy=False) / rho, 0.0))


def ramp_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Ramp loss :math:`\min(1,\ell^\rho(u))`, between the zero-one and the margin loss.

    >>> ramp_loss([-1.0, 0.5, 2.0], margin=1.0)
    array([1. , 0.5, 0. ])
    """
    return np.asarray(np.minimum(hinge_loss(u, margin=margin), 1.0))


def _bounded_hinge_mean(u: ArrayLike, *, margin: float, largest: float) -> Array:
    r"""Mean hinge loss over the last axis, such that one value moves it by its own share only.
    Values lie in [-B, B], B = ``largest``, up to rounding. Losses are rounded down to multiples of
    :math:`(1+B/\rho)2^{-24}` or less, of which up to :math:`2^{28}` add without rounding:
    :func:`hinge_sensitivity` holds for what is computed, up to the last rounding of the mean.
    """
    bound = 1.0 + check_positive("largest", largest) / margin
    steps, step = grid_values(hinge_loss(u, margin=margin), bound, bits=24)
    return np.asarray(steps.sum(axis=-1) * (step / steps.shape[-1]))


def hinge_sensitivity(
    *, margin: float, data_norm: float, weight_norm: float, n_samples: int
) -> float:
    r"""Largest change of the empirical hinge loss of one weight vector, one record replaced.

    :math:`\min(1+B/\rho,2B/\rho)/m` with B = ``data_norm * weight_norm``, attained by a record on
    the sphere that changes its label. In a projected space with ball and clipping of twice the size
    B is four times as large.

    >>> hinge_sensitivity(margin=0.5, data_norm=1.0, weight_norm=1.0, n_samples=100)  # 3 / 100
    0.03
    """
    rho = check_positive("margin", margin)
    largest = check_positive("data_norm", data_norm) * check_positive("weight_norm", weight_norm)
    ratio = check_positive("data_norm * weight_norm / margin", largest / rho)
    return min(1.0 + ratio, 2.0 * ratio) / check_integer("n_samples", n_samples)
