r"""Expected losses of a prediction that is shifted by Laplace noise, in closed form.

The noise is independent of the data, so no simulation is needed: its expectation is exact.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_nonnegative,
    check_positive,
    check_probability,
)

__all__ = [
    "expected_loss_laplace",
    "noise_error_bound",
    "slope_range",
    "wrong_sign_probability",
]

Array = NDArray[np.float64]

_CLOSED = ("squared", "hinge", "pinball", "absolute")


def _broadcast(predictions: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    t = np.asarray(check_finite_array("predictions", predictions), dtype=np.float64)
    targets = np.asarray(check_finite_array("y", y), dtype=np.float64)
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
    r"""Mean loss of a prediction plus Laplace noise, :math:`\mathbb E_bL(t+b,y)`.

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "absolute"}
    predictions : array_like
        Predictions t, any shape.
    y : array_like
        Targets that broadcast against ``predictions``; labels -1 or +1 for the hinge loss.
    scale : float
        Scale s of the noise density :math:`\frac1{2s}e^{-|b|/s}`; nonnegative, 0 is no noise.
    tau : float, default=0.5
        Level of the pinball loss, in (0, 1).

    Returns
    -------
    ndarray
        One mean per prediction.

    Raises
    ------
    TypeError, ValueError
        If an argument is unknown, not finite or out of range, or a label is not -1 or +1.

    Notes
    -----
    A convex kink of slope change :math:`\omega` at distance u costs
    :math:`\frac{\omega s}2e^{-|u|/s}`, linear pieces cost nothing:

    .. math::
        \mathbb E(1-y(t+b))_+&=(1-yt)_++\tfrac s2e^{-|1-yt|/s},\\
        \mathbb E\rho_\tau(y-t-b)&=\rho_\tau(y-t)+\tfrac s2e^{-|y-t|/s},\\
        \mathbb E|t+b-y|&=|t-y|+s\,e^{-|t-y|/s},\\
        \mathbb E(t+b-y)^2&=(t-y)^2+2s^2 .

    Examples
    --------
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

    Parameters
    ----------
    predictions : array_like
        Predictions t.
    y : array_like
        Labels -1 or +1 that broadcast against ``predictions``.
    scale : float
        Scale s of the noise; nonnegative, with 0 a prediction of 0 counts one half.

    Returns
    -------
    ndarray
        :math:`P(y(t+b)<0)`: :math:`\frac12e^{-yt/s}` for :math:`yt\ge0`, else
        :math:`1-\frac12e^{yt/s}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not finite or out of range.

    Examples
    --------
    >>> wrong_sign_probability([0.0, 1.0], [1, 1], scale=1.0).round(4)
    array([0.5   , 0.1839])
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


def slope_range(loss: str) -> float:
    r"""Width of the interval in which the slopes of a loss lie, whatever the target.

    Parameters
    ----------
    loss : {"hinge", "logistic", "pinball", "absolute"}

    Returns
    -------
    float
        :math:`\omega=\sup_y(p_+-p_-)`: 1 for hinge, logistic and pinball loss (any tau), 2 for the
        absolute error.

    Raises
    ------
    ValueError
        If the loss is unknown or has unbounded slopes.

    Examples
    --------
    >>> slope_range("hinge")
    1.0
    """
    check_choice("loss", loss, ("hinge", "logistic", "pinball", "absolute"))
    return 2.0 if loss == "absolute" else 1.0


def noise_error_bound(*, scale: float, lipschitz: float, width: float | None = None) -> float:
    r"""Bound on what data-independent Laplace noise adds to the mean loss, :math:`\mathbb ER_2`.

    Parameters
    ----------
    scale : float
        Scale s of the noise, positive; its mean absolute value.
    lipschitz : float
        :math:`C_L`, positive.
    width : float, optional
        Width :math:`\omega` of the range of slopes; at most :math:`2C_L`, which is the default.

    Returns
    -------
    float
        :math:`\frac\omega2s`; without a width :math:`C_Ls`, as in the proof of Proposition 3.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive, or the width is above twice the Lipschitz constant.

    Notes
    -----
    Subtract the linear function whose slope is the middle of the range: it has mean zero under the
    noise, and what is left has Lipschitz constant :math:`\omega/2`. A kink attains the bound.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Proposition 3.

    Examples
    --------
    >>> noise_error_bound(scale=0.2, lipschitz=1.0, width=slope_range("hinge"))
    0.1
    """
    s, constant = check_positive("scale", scale), check_positive("lipschitz", lipschitz)
    omega = 2.0 * constant if width is None else check_positive("width", width)
    if omega > 2.0 * constant * (1.0 + 1e-12) or not math.isfinite(omega):
        raise ValueError(f"width must be at most twice lipschitz={constant:g}, got width={omega:g}")
    return 0.5 * omega * s
