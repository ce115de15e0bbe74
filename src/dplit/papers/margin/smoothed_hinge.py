"""The Moreau envelope of the hinge loss in closed form: a hinge with a rounded corner."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_positive, check_real_array


def smoothed_slope(u: ArrayLike, lengths: ArrayLike, *, margin: float, smoothness: float) -> Array:
    r"""Factor :math:`c(u)=\min(1/\rho,\beta_s(\rho-u)_+/\|x\|^2)` of the smoothed hinge's gradient.

    The gradient is :math:`-c(u)\,y\,x`; ``lengths`` are norms of records and broadcast with the
    signed scores ``u``, ``smoothness`` :math:`\beta_s` is that of the Moreau envelope.
    """
    scores, norms = _pair(u, lengths)
    rho, smooth = check_positive("margin", margin), check_positive("smoothness", smoothness)
    gap = np.maximum(rho - scores, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = smooth * gap / norms**2
    rounded = np.where(gap > 0.0, rounded, 0.0)
    return np.asarray(np.minimum(1.0 / rho, rounded))


def smoothed_hinge(u: ArrayLike, lengths: ArrayLike, *, margin: float, smoothness: float) -> Array:
    r"""Moreau envelope of the hinge at signed scores ``u``, for records of norms ``lengths``.

    With :math:`h=\|x\|^2/(\rho\beta_s)`: 0 for :math:`u\ge\rho`, the parabola
    :math:`\beta_s(\rho-u)^2/(2\|x\|^2)` for :math:`\rho-h\le u<\rho`, and the line
    :math:`(\rho-u)/\rho-h/(2\rho)` below.
    """
    scores, norms = _pair(u, lengths)
    slope = smoothed_slope(scores, norms, margin=margin, smoothness=smoothness)
    gap = np.maximum(margin - scores, 0.0)
    moved = slope * norms**2 / smoothness  # by how much the proximal step raises the score
    after = np.maximum(gap - moved, 0.0) / margin
    return np.asarray(after + slope**2 * norms**2 / (2.0 * smoothness))


def _pair(u: ArrayLike, lengths: ArrayLike) -> tuple[Array, Array]:
    scores, norms = check_real_array("u", u), check_real_array("lengths", lengths)
    if (norms < 0).any():
        raise ValueError(f"lengths must be nonnegative, got {norms.min():g}")
    return scores, norms
