r"""The Moreau envelope of the hinge loss in closed form: a hinge with a rounded corner.

Phased stochastic gradient descent needs a smooth loss.  The proximal step of the hinge of one
record moves w along the record only, so that it has a formula and no solver is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_finite_array, check_positive
from dplit.margin._records import Array

__all__ = ["Prox", "hinge_prox", "smoothed_hinge", "smoothed_slope"]


class Prox(NamedTuple):
    """Minimiser of the loss plus a quadratic, and the value there."""

    point: Array
    value: float


def smoothed_slope(u: ArrayLike, lengths: ArrayLike, *, margin: float, smoothness: float) -> Array:
    r"""Factor c(u) of the gradient :math:`-c(u)\,y\,x` of the smoothed hinge.

    Parameters
    ----------
    u : array_like
        Signed scores :math:`y\langle w,x\rangle`.
    lengths : array_like
        Norms of the records, of a shape that broadcasts with ``u``.
    margin : float
        Margin :math:`\rho` of the hinge, positive.
    smoothness : float
        :math:`\beta_s` of the envelope, positive.

    Returns
    -------
    ndarray
        0 for :math:`u\ge\rho`, else :math:`\min(1/\rho,\beta_s(\rho-u)/\|x\|^2)`.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, a length is negative or a parameter not positive.

    Notes
    -----
    The envelope :math:`f_{\beta_s}(w)=\min_v\{f(v)+\frac{\beta_s}2\|v-w\|^2\}` has gradient
    :math:`\beta_s(w-\mathrm{prox}(w))`, and the proximal point is :math:`w+t\,y\,x` with
    :math:`t=\min(1/(\rho\beta_s),(\rho-u)_+/\|x\|^2)`.

    Examples
    --------
    >>> from dplit.margin.smoothed_hinge import smoothed_slope
    >>> smoothed_slope([1.0, 0.4, -1.0], 1.0, margin=0.5, smoothness=8.0).round(6).tolist()
    [0.0, 0.8, 2.0]
    """
    scores, norms = _pair(u, lengths)
    rho, smooth = check_positive("margin", margin), check_positive("smoothness", smoothness)
    gap = np.maximum(rho - scores, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = smooth * gap / norms**2
    rounded = np.where(gap > 0.0, rounded, 0.0)
    return np.asarray(np.minimum(1.0 / rho, rounded))


def smoothed_hinge(u: ArrayLike, lengths: ArrayLike, *, margin: float, smoothness: float) -> Array:
    r"""Moreau envelope of the hinge, as a function of the signed score.

    Parameters
    ----------
    u, lengths, margin, smoothness
        As in :func:`smoothed_slope`.

    Returns
    -------
    ndarray
        With :math:`h=\|x\|^2/(\rho\beta_s)`: 0 for :math:`u\ge\rho`, the parabola
        :math:`\beta_s(\rho-u)^2/(2\|x\|^2)` for :math:`\rho-h\le u<\rho`, and the line
        :math:`(\rho-u)/\rho-h/(2\rho)` below.

    Notes
    -----
    :math:`f_{\beta_s}\le f\le f_{\beta_s}+G^2/(2\beta_s)` with :math:`G=\|x\|/\rho`; the gap is
    reached on the line.  It is Huber's rounding of a corner.

    Examples
    --------
    >>> from dplit.margin.smoothed_hinge import smoothed_hinge
    >>> smoothed_hinge([1.0, 0.4, -1.0], 1.0, margin=0.5, smoothness=10.0).round(6).tolist()
    [0.0, 0.05, 2.8]
    """
    scores, norms = _pair(u, lengths)
    slope = smoothed_slope(scores, norms, margin=margin, smoothness=smoothness)
    gap = np.maximum(margin - scores, 0.0)
    moved = slope * norms**2 / smoothness  # by how much the proximal step raises the score
    after = np.maximum(gap - moved, 0.0) / margin
    return np.asarray(after + slope**2 * norms**2 / (2.0 * smoothness))


def hinge_prox(w: ArrayLike, x: ArrayLike, y: float, *, margin: float, smoothness: float) -> Prox:
    r"""Proximal point of the hinge loss of one record.

    Parameters
    ----------
    w, x : array_like of shape (k,)
        Weights and record.
    y : float
        Label, -1 or 1.
    margin, smoothness : float
        As in :func:`smoothed_slope`.

    Returns
    -------
    Prox
        :math:`\arg\min_v\{\ell^\rho(y\langle v,x\rangle)+\frac{\beta_s}2\|v-w\|^2\}` and the
        minimum, which is the envelope at w.

    Raises
    ------
    TypeError, ValueError
        If an array is not a finite vector, the label not -1 or 1, a parameter not positive.

    Examples
    --------
    >>> from dplit.margin.smoothed_hinge import hinge_prox
    >>> hinge_prox([0.4], [1.0], 1.0, margin=0.5, smoothness=10.0).point
    array([0.5])
    """
    weights, record = (check_finite_array(n, v, ndim=1) for n, v in (("w", w), ("x", x)))
    if y not in (-1, 1):
        raise ValueError(f"y must be -1 or 1, got {y=!r}")
    length = np.linalg.norm(record)
    score = np.asarray(y * (weights @ record))
    slope = smoothed_slope(score, length, margin=margin, smoothness=smoothness)
    value = smoothed_hinge(score, length, margin=margin, smoothness=smoothness)
    return Prox(weights + float(slope) / smoothness * y * record, float(value))


def _pair(u: ArrayLike, lengths: ArrayLike) -> tuple[Array, Array]:
    scores, norms = check_finite_array("u", u), check_finite_array("lengths", lengths)
    if (norms < 0).any():
        raise ValueError(f"lengths must be nonnegative, got {norms.min():g}")
    return scores.astype(np.float64), norms.astype(np.float64)
