r"""The four losses of the chapter, their Lipschitz constants and their conjugates.

Each loss :math:`L(t,y)\ge0` is convex in the prediction t. For least squares and the pinball loss y
is real; for hinge and logistic loss it is a label -1 or +1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, rel_entr

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_nonnegative,
    check_positive,
    check_probability,
)

__all__ = ["LOSSES", "Loss", "check_targets", "lipschitz_constant", "loss_values"]

Loss = Literal["squared", "hinge", "pinball", "logistic"]
LOSSES: tuple[Loss, ...] = ("squared", "hinge", "pinball", "logistic")


def check_targets(loss: str, y: ArrayLike) -> NDArray[np.float64]:
    """Return the targets of a loss as floats.

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "logistic"}
    y : array_like, shape (m,)
        Real numbers; for hinge and logistic loss labels -1 or +1.

    Returns
    -------
    ndarray, shape (m,)

    Raises
    ------
    TypeError, ValueError
        If ``loss`` is unknown, or ``y`` is not a finite real vector, or has other labels than -1
        and +1 where labels are needed.

    Examples
    --------
    >>> check_targets("hinge", [1, -1])
    array([ 1., -1.])
    """
    check_choice("loss", loss, LOSSES)
    values = np.asarray(check_finite_array("y", y, ndim=1))
    if values.dtype.kind == "c":
        raise TypeError(f"y must be real, got y of dtype {values.dtype}")
    values = values.astype(np.float64)
    if loss in ("hinge", "logistic"):
        other = np.setdiff1d(values, [-1.0, 1.0])
        if other.size:
            raise ValueError(
                f"y must hold the two labels -1 and +1 for the {loss} loss, "
                f"got {other[:5].tolist()}"
            )
    return values


def loss_values(
    loss: str, predictions: ArrayLike, y: ArrayLike, *, tau: float = 0.5
) -> NDArray[np.float64]:
    r"""Losses of predictions, entry by entry.

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "logistic"}
    predictions : array_like, shape (..., m)
        Values t = f(x).
    y : array_like, shape (m,)
        Targets; labels -1 or +1 for hinge and logistic loss.
    tau : float, default=0.5
        Level of the pinball loss, in (0, 1); the others ignore it.

    Returns
    -------
    ndarray, shape (..., m)
        squared :math:`(t-y)^2`; hinge :math:`(1-yt)_+`; pinball
        :math:`\tau(y-t)_++(1-\tau)(t-y)_+`; logistic :math:`\ln(1+e^{-yt})`.

    Raises
    ------
    TypeError, ValueError
        If an argument is unknown, not finite, out of range, or shapes do not fit.

    Examples
    --------
    >>> loss_values("pinball", [0.0, 0.0], [1.0, -1.0], tau=0.75)
    array([0.75, 0.25])
    """
    targets = check_targets(loss, y)
    level = check_probability("tau", tau)
    values = np.asarray(check_finite_array("predictions", predictions), dtype=np.float64)
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
    loss: str,
    *,
    tau: float = 0.5,
    function_bound: float | None = None,
    label_bound: float | None = None,
) -> float:
    r"""Smallest constant :math:`C_L` with :math:`|L(s,y)-L(t,y)|\le C_L|s-t|`.

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "logistic"}
    tau : float, default=0.5
        Level of the pinball loss, in (0, 1).
    function_bound, label_bound : float, optional
        Bounds on the predictions and on the targets, needed for least squares alone: the square has
        no Lipschitz constant on the whole line.

    Returns
    -------
    float
        hinge 1, logistic 1, pinball ``max(tau, 1 - tau)``, squared
        ``2 * (function_bound + label_bound)``.

    Raises
    ------
    TypeError, ValueError
        If an argument is unknown or out of range, or a bound is missing for least squares.

    Examples
    --------
    >>> lipschitz_constant("pinball", tau=0.25)
    0.75
    """
    check_choice("loss", loss, LOSSES)
    level = check_probability("tau", tau)
    if loss == "squared":
        if function_bound is None or label_bound is None:
            raise ValueError(
                "function_bound and label_bound must be given for the squared loss, got "
                f"function_bound={function_bound!r}, label_bound={label_bound!r}"
            )
        largest = check_nonnegative("function_bound", function_bound)
        return 2.0 * (largest + check_positive("label_bound", label_bound))
    return max(level, 1.0 - level) if loss == "pinball" else 1.0


def fenchel_young(
    loss: str,
    predictions: NDArray[np.float64],
    y: NDArray[np.float64],
    slopes: NDArray[np.float64],
    tau: float,
) -> NDArray[np.float64]:
    r"""Terms :math:`L(t,y)+L^*(u,y)-ut` of a duality gap, in forms that do not cancel.

    ``slopes`` u must lie in the domain of the conjugate: [-1, 0] times y for hinge and logistic
    loss, [-tau, 1 - tau] for the pinball loss. Small logistic terms are replaced by the
    chi-square distance, which is never smaller and at most about twice as large.
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
