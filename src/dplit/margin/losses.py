r"""Losses of a confidence margin, and by how much one record can move their means.

All functions of this module act on values :math:`u=y\langle w,x\rangle`, elementwise; the empirical
loss is the mean of what they return.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_at_least, check_integer, check_positive, check_real_array
from dplit._estimators import clip_rows
from dplit._numerics.exact import grid_rows, grid_values

__all__ = [
    "Array",
    "Ball",
    "hinge_loss",
    "hinge_sensitivity",
    "margin_loss",
    "ramp_loss",
    "smoothed_hinge",
    "smoothed_slope",
    "zero_one_loss",
]


# Labelled records as the learners take them: clipped to the ball, labels plus or minus one.


#: Finest grid, in bits below the bound: the rounding of the clipping stays below one step.
_FINEST = 40


class Ball(NamedTuple):
    """Margin of the hinge, norm of the comparators, and norm to which records are clipped."""

    margin: float
    radius: float
    data_norm: float

    def inflated(self, factor: float) -> Ball:
        """Both lengths times a factor s >= 1: noise against signal grows by its square.

        Algorithm 2 takes 2. At s = 1 a map that distorts lengths and products by a share of xi
        leaves ``(margin - xi * data_norm * radius) / (1 + xi)`` of the margin, without a price.
        """
        s = check_at_least("inflation", factor, 1.0)
        return Ball(self.margin, s * self.radius, s * self.data_norm)


def _check_geometry(margin: float, radius: float, data_norm: float) -> Ball:
    """Return margin, radius and data norm as floats, or say which rule they break. A margin above
    ``radius * data_norm`` is refused: no predictor of the ball reaches it. So are lengths whose
    products and quotients would leave float64.
    """
    values = (
        check_positive("margin", margin),
        check_positive("radius", radius),
        check_positive("data_norm", data_norm),
    )
    for name, value in zip(("margin", "radius", "data_norm"), values, strict=True):
        if not 1e-50 <= value <= 1e50:
            raise ValueError(f"{name} must be between 1e-50 and 1e50, got {name}={value!r}")
    limit = values[1] * values[2]
    if values[0] > limit * (1 + 1e-12):
        raise ValueError(f"margin must be at most radius * data_norm = {limit:g}, got {margin=!r}")
    return Ball(*values)


def _check_signs(y: ArrayLike) -> Array:
    """Return labels as floats; anything but -1 and 1 is refused. One axis, or one row per draw."""
    labels = check_real_array("y", y)
    if labels.ndim not in (1, 2):
        raise ValueError(f"y must have one or two axes, got y of shape {labels.shape}")
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError("y must hold the labels -1 and 1 only")
    return labels


def _labelled_records(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return real finite records (m, d) of any length, and labels -1 and 1."""
    rows, labels = check_real_array("X", X, 2, copy=False), _check_signs(y)
    if labels.shape[-1] != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows, labels


def _clipped_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records with rows longer than ``data_norm`` scaled back, and labels -1 and 1."""
    rows, labels = _labelled_records(X, y)
    return clip_rows(rows, check_positive("data_norm", data_norm)), labels


def _gridded_records(X: ArrayLike, y: ArrayLike, data_norm: float) -> tuple[Array, Array]:
    """Return records of norm at most ``data_norm`` whose sums have no rounding, and labels. Entries
    are multiples of a power of two that is so coarse (``2^-40`` of the norm up to 8,191 records,
    twice that for every doubling of them) that every sum of some of the m records, with any signs,
    is exact in float64: one record moves it by its own share, of norm at most ``data_norm``, in
    every order and in every block of a matrix product.
    """
    rows, labels = _labelled_records(X, y)
    limit = check_positive("data_norm", data_norm)
    steps, step = grid_rows(rows, limit, bits=min(_FINEST, 53 - len(rows).bit_length()))
    return steps * step, labels


def _scaled_rows(rows: Array) -> Array:
    """Return rows divided by powers of two: no sign of a product changes, and none overflows."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(np.ldexp(rows, -np.frexp(largest)[1]))


def zero_one_loss(u: ArrayLike) -> Array:
    r"""Zero-one loss :math:`1[u\le0]`: zero counts as an error."""
    return (check_real_array("u", u, copy=False) <= 0).astype(np.float64)


def margin_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Margin loss :math:`1[u\le\rho]`."""
    rho = check_positive("margin", margin)
    return (check_real_array("u", u, copy=False) <= rho).astype(np.float64)


def hinge_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Hinge loss of a margin, :math:`\ell^\rho(u)=\max(1-u/\rho,0)`.

    Convex with slope at most :math:`1/\rho`; unbounded, so not below the margin loss.
    """
    rho = check_positive("margin", margin)
    return np.asarray(np.maximum(1.0 - check_real_array("u", u, copy=False) / rho, 0.0))


def ramp_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Ramp loss :math:`\min(1,\ell^\rho(u))`, between the zero-one and the margin loss."""
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
    """
    rho = check_positive("margin", margin)
    largest = check_positive("data_norm", data_norm) * check_positive("weight_norm", weight_norm)
    ratio = check_positive("data_norm * weight_norm / margin", largest / rho)
    return min(1.0 + ratio, 2.0 * ratio) / check_integer("n_samples", n_samples)


# The Moreau envelope of the hinge loss in closed form: a hinge with a rounded corner.


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
