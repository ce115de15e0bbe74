"""Expected losses of a prediction that is shifted by independent Laplace noise, in closed form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)

_CLOSED = ("squared", "hinge", "pinball", "absolute")


def _broadcast(predictions: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    t = check_real_array("predictions", predictions)
    targets = check_real_array("y", y)
    try:
        np.broadcast_shapes(t.shape, targets.shape)
    except ValueError:
        raise ValueError(
            f"predictions and y must have shapes that fit, got {t.shape} and {targets.shape}"
        ) from None
    return t, targets


def expected_loss_laplace(
    loss: str, predictions: ArrayLike, y: ArrayLike, *, scale: float, tau: float = 0.5
) -> Array:
    r"""Mean loss of a prediction plus Laplace noise, :math:`\mathbb E_bL(t+b,y)`, entry by entry.

    Least squares gains :math:`2s^2`; a convex kink of slope change :math:`\omega` (2 for the
    absolute error, else 1) at distance u costs :math:`\frac{\omega s}2e^{-|u|/s}`; linear pieces
    cost nothing. A ``scale`` s of 0 is no noise.

    >>> expected_loss_laplace("hinge", 1.0, 1.0, scale=0.5)
    array(0.25)
    """
    check_choice("loss", loss, _CLOSED)
    level, s = check_probability("tau", tau), check_nonnegative("scale", scale)
    t, targets = _broadcast(predictions, y)
    if loss == "hinge" and not np.all(np.abs(targets) == 1.0):
        raise ValueError(f"y must hold labels -1 and +1, got {np.unique(targets)[:5].tolist()}")
    error = 1.0 - targets * t if loss == "hinge" else targets - t
    if loss == "squared":
        return np.asarray(error**2 + 2.0 * s**2)
    if loss == "hinge":
        plain = np.maximum(error, 0.0)
    elif loss == "pinball":
        plain = np.maximum(level * error, (level - 1.0) * error)
    else:
        plain = np.abs(error)
    if s == 0.0:
        return np.asarray(plain)
    kink = s * np.exp(-np.abs(error) / s)
    return np.asarray(plain + (kink if loss == "absolute" else 0.5 * kink))


def wrong_sign_probability(predictions: ArrayLike, y: ArrayLike, *, scale: float) -> Array:
    r"""Probability that the sign of a prediction plus Laplace noise is not the label.

    :math:`\frac12e^{-yt/s}` for :math:`yt\ge0`, else :math:`1-\frac12e^{yt/s}`; without noise a
    prediction of 0 counts one half.
    """
    s = check_nonnegative("scale", scale)
    t, targets = _broadcast(predictions, y)
    if not np.all(np.abs(targets) == 1.0):
        raise ValueError(f"y must hold labels -1 and +1, got {np.unique(targets)[:5].tolist()}")
    margin = targets * t
    if s == 0.0:
        return np.asarray(0.5 * (1.0 - np.sign(margin)))
    tail = 0.5 * np.exp(-np.abs(margin) / s)
    return np.where(margin >= 0, tail, 1.0 - tail)


def noise_error_bound(*, scale: float, lipschitz: float, width: float | None = None) -> float:
    r"""Bound on what data-independent Laplace noise adds to the mean loss, :math:`\mathbb ER_2`.

    :math:`\frac\omega2s` with the ``width`` :math:`\omega` of the range of slopes, at most
    :math:`2C_L`; without one :math:`C_Ls`, as in the proof of Proposition 3. A kink attains it.
    """
    s, constant = check_positive("scale", scale), check_positive("lipschitz", lipschitz)
    omega = 2.0 * constant if width is None else check_positive("width", width)
    if omega > 2.0 * constant * (1.0 + 1e-12) or not math.isfinite(omega):
        raise ValueError(f"width must be at most twice lipschitz={constant:g}, got width={omega:g}")
    return 0.5 * omega * s
