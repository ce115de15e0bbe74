"""The sentences of Section V as computed truth values, position by position."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer, check_positive
from dplit.projection.curves import ErrorCurves

__all__ = [
    "beats_additive",
    "best_schemes",
    "linearity",
    "lower_is_better",
    "saturation_epsilon",
]

_PAPER = ("log", "linear", "full")


def beats_additive(
    curves: ErrorCurves, response: str, *, noise: str = "printed", scheme: str | None = None
) -> NDArray[np.bool_]:
    """Tell where projection has a smaller mean error than additive noise.

    Parameters
    ----------
    curves : ErrorCurves
    response : str
        Response model.
    noise : {"printed", "repaired"}, default="printed"
    scheme : {"log", "linear", "full"}, optional
        One projection size; by default all three must win.

    Returns
    -------
    ndarray of bool, shape (p,)

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    names = _PAPER if scheme is None else (scheme,)
    errors = np.array([curves.mean(response, name, noise) for name in names])
    return np.asarray(np.all(errors < curves.mean(response, "additive"), axis=0))


def lower_is_better(
    curves: ErrorCurves, response: str, *, noise: str = "printed"
) -> NDArray[np.bool_]:
    """Tell where a smaller projection never has a larger mean error than a larger one.

    Parameters
    ----------
    curves, response, noise
        As in :func:`beats_additive`.

    Returns
    -------
    ndarray of bool, shape (p,)

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    sizes = np.array([curves.components[name] for name in _PAPER])
    errors = np.array([curves.mean(response, name, noise) for name in _PAPER])
    ordered = np.take_along_axis(errors, np.argsort(sizes, axis=0, kind="stable"), axis=0)
    return np.asarray(np.all(np.diff(ordered, axis=0) >= 0, axis=0))


def best_schemes(curves: ErrorCurves, response: str, *, noise: str = "printed") -> list[str]:
    """Return the projection size with the smallest mean error at every position.

    Parameters
    ----------
    curves, response, noise
        As in :func:`beats_additive`.

    Returns
    -------
    list of {"log", "linear", "full"}

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    errors = np.array([curves.mean(response, name, noise) for name in _PAPER])
    return [_PAPER[k] for k in np.argmin(errors, axis=0)]


def saturation_epsilon(*, floor: float, n_components: int) -> float:
    r"""Budget in bits from which (13) adds no noise, :math:`\frac12\log_2(1+n'/f^2)`.

    Parameters
    ----------
    floor : float
        Square of f(X), positive.
    n_components : int
        Number n' of projected rows.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> round(saturation_epsilon(floor=3216.0, n_components=3303), 2)
    0.51
    """
    rows = check_integer("n_components", n_components)
    return 0.5 * math.log2(1.0 + rows / check_positive("floor", floor))


def linearity(curves: ErrorCurves, response: str, scheme: str) -> tuple[float, float]:
    """Fit of a straight line to a curve over budgets before it saturates, and its last fall.

    Parameters
    ----------
    curves : ErrorCurves
        Their axis is the budget.
    response : str
        Response model.
    scheme : {"additive", "log", "linear", "full"}

    Returns
    -------
    r_squared : float
        Share of the variance that the line explains, up to the saturation of the printed noise;
        for additive noise, which has none, over the whole axis.
    fall : float
        Relative fall of the excess error over the last step of the axis: 0 for a curve that has
        saturated.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    check_choice("scheme", scheme, ("additive", *_PAPER))
    errors = curves.mean(response, scheme)
    before = np.ones(len(errors), dtype=bool)
    if scheme != "additive":
        rows = int(curves.components[scheme][0])
        end = saturation_epsilon(floor=float(curves.floor.mean()), n_components=rows)
        before = curves.axis < end
    x, y = curves.axis[before], errors[before]
    fitted = np.polyval(np.polyfit(x, y, 1), x)
    explained = 1.0 - float(np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2))
    return explained, float(1.0 - (errors[-1] - 1.0) / (errors[-2] - 1.0))
