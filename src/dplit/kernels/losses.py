r"""The four losses of the chapter, their Lipschitz constants and their conjugates.

:math:`L(t,y)\ge0` is convex in the prediction t; y is real, or for hinge and logistic loss a label
-1 or +1.
"""

from __future__ import annotations

from typing import Literal

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

_Loss = Literal["squared", "hinge", "pinball", "logistic"]


LOSSES: tuple[_Loss, ...] = ("squared", "hinge", "pinball", "logistic")


def check_targets(loss: str, y: ArrayLike) -> Array:
    """Return the targets of a loss as floats.

    >>> check_targets("hinge", [1, -1])
    array([ 1., -1.])
    >>> check_targets("hinge", [0, 1])
    Traceback (most recent call last):
        ...
    ValueError: y must hold the two labels -1 and +1 for the hinge loss, got [0.0]
    """
    check_choice("loss", loss, LOSSES)
    values = check_real_array("y", y, 1)
    if loss in ("hinge", "logistic"):
        other = np.setdiff1d(values, [-1.0, 1.0])
        if other.size:
            raise ValueError(
                f"y must hold the two labels -1 and +1 for the {loss} loss, "
                f"got {other[:5].tolist()}"
            )
    return values


def loss_values(loss: str, predictions: ArrayLike, y: ArrayLike, *, tau: float = 0.5) -> Array:
    r"""Losses of predictions, shape (..., m), entry by entry.

    squared :math:`(t-y)^2`; hinge :math:`(1-yt)_+`; pinball :math:`\tau(y-t)_++(1-\tau)(t-y)_+`;
    logistic :math:`\ln(1+e^{-yt})`.

    >>> loss_values("hinge", [-1.0, 0.0, 2.0], [1.0, 1.0, 1.0])
    array([2., 1., 0.])
    """
    targets = check_targets(loss, y)
    level = check_probability("tau", tau)
    values = check_real_array("predictions", predictions)
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

    The square has none on the whole line: it alone needs the bounds on predictions and targets.

    >>> lipschitz_constant("pinball", tau=0.25)
    0.75
    """
    check_choice("loss", loss, LOSSES)
    level = check_probability("tau", tau)
    t = None if function_bound is None else check_nonnegative("function_bound", function_bound)
    M = None if label_bound is None else check_positive("label_bound", label_bound)
    if loss == "squared":
        if t is None or M is None:
            raise ValueError(
                "function_bound and label_bound must be given for the squared loss, got "
                f"function_bound={function_bound!r}, label_bound={label_bound!r}"
            )
        return 2.0 * (t + M)
    return max(level, 1.0 - level) if loss == "pinball" else 1.0
