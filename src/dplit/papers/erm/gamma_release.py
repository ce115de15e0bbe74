"""How large gamma-norm noise is, and the exact privacy loss of its release."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_positive, check_real_array


def gamma_deviation(
    dimension: int, *, sensitivity: float, epsilon: float, kappa: float = 1.0
) -> float:
    r"""Standard deviation of the noise of one prediction on features of norm ``kappa``.

    :math:`\kappa\sqrt{d+1}\,\Delta/\epsilon` for the ``dimension`` d.
    """
    d = check_integer("dimension", dimension)
    scale = check_positive("sensitivity", sensitivity) / check_positive("epsilon", epsilon)
    return check_positive("kappa", kappa) * math.sqrt(d + 1) * scale


def gamma_privacy_loss(
    released: ArrayLike, weights: ArrayLike, neighbour: ArrayLike, *, rate: float
) -> Array:
    """Logarithm of the ratio of the densities of a release under two sets of exact weights.

    ``rate (||released - neighbour|| - ||released - weights||)`` with ``rate = epsilon /
    sensitivity``; ``released`` may have any shape (..., d).
    """
    points = check_real_array("released", released)
    here = check_real_array("weights", weights, 1)
    there = check_real_array("neighbour", neighbour, 1)
    if not points.shape[-1:] == here.shape == there.shape:
        raise ValueError(
            f"neighbour must have the shape of weights, got {there.shape} and {here.shape} "
            f"for released of shape {points.shape}"
        )
    distances = [np.linalg.norm(points - centre, axis=-1) for centre in (there, here)]
    return np.asarray(check_positive("rate", rate) * (distances[0] - distances[1]))
