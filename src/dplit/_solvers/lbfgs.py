"""L-BFGS in a box for many small problems at once, each with its own step and its own end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Called with points (A, p) and problem numbers (A,); returns values (A,) and gradients (A, p).
Objective = Callable[[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]

#: Lowest and highest coordinates, each (p,).
Box = tuple[NDArray[Any], NDArray[Any]]

_ARMIJO = 1e-4

_HALVINGS = 8


def _dot(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.einsum("ap,ap->a", a, b))


def _direction(
    slope: NDArray[Any], moves: list[NDArray[Any]], turns: list[NDArray[Any]], inverse: NDArray[Any]
) -> NDArray[Any]:
    """Two-loop recursion, for all problems; pairs that were refused hold zeros."""
    q, tiny = slope.copy(), np.finfo(slope.dtype).tiny  # an inverse below it overflows
    ratios, factors = [], []
    for move, turn in zip(reversed(moves), reversed(turns), strict=True):
        curvature = _dot(move, turn)
        ratio = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > tiny)
        factor = ratio * _dot(move, q)
        q -= factor[:, None] * turn
        ratios.append(ratio)
        factors.append(factor)
    q *= inverse
    if moves:
        top, bottom = _dot(moves[-1], turns[-1]), _dot(turns[-1] * inverse, turns[-1])
        scale = np.divide(top, bottom, out=np.ones_like(top), where=(top > 0) & (bottom > tiny))
        q *= scale[:, None]
    for move, turn, ratio, factor in zip(
        moves, turns, reversed(ratios), reversed(factors), strict=True
    ):
        q += (factor - ratio * _dot(turn, q))[:, None] * move
    return -q


def _search(
    objective: Objective,
    state: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    step: NDArray[Any],
    box: Box,
    which: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Armijo backtracking along the projected path; problems that fail keep their point."""
    x, value, slope = state
    low, high = box
    new_x, new_value, new_slope = x.copy(), value.copy(), slope.copy()
    moved, tiny = np.zeros(len(which), bool), np.finfo(x.dtype).tiny
    open_rows, size = np.arange(len(which)), np.ones(len(which), x.dtype)
    for _ in range(_HALVINGS):
        trial = np.clip(x[open_rows] + size[open_rows, None] * step[open_rows], low, high)
        fresh, fresh_slope = objective(trial, which[open_rows])
        gain = _dot(slope[open_rows], trial - x[open_rows])
        good = fresh <= value[open_rows] + _ARMIJO * np.minimum(gain, 0.0)
        rows = open_rows[good]
        new_x[rows], new_value[rows] = trial[good], fresh[good]
        new_slope[rows], moved[rows] = fresh_slope[good], True
        if good.all():
            break
        bad = ~good
        rise = fresh[bad] - value[open_rows[bad]] - gain[bad]
        shrink = np.divide(-0.5 * gain[bad], rise, out=np.full_like(rise, 0.5), where=rise > tiny)
        open_rows = open_rows[bad]
        size[open_rows] *= np.clip(shrink, 0.1, 0.5)
    return new_x, new_value, new_slope, moved


def minimise(
    objective: Objective,
    start: NDArray[Any],
    box: Box,
    *,
    inverse: NDArray[Any],
    reach: NDArray[Any],
    max_iter: int,
    tol: float,
    memory: int = 6,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Local minima in a box, one per row of ``start``, with values no larger than there.

    ``inverse`` (P, p) is the diagonal of a first inverse Hessian, ``reach`` (p,) the longest move
    of a coordinate in one step; a problem ends when a step lowers its value by less than ``tol``
    times it.
    """
    low, high = box
    best, best_value = np.clip(start, low, high), np.empty(len(start), start.dtype)
    which, x = np.arange(len(start)), best.copy()
    value, slope = objective(x, which)
    best_value[:] = value
    moves: list[NDArray[Any]] = []
    turns: list[NDArray[Any]] = []
    for _ in range(max_iter):
        free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
        steep = np.where(free, slope, 0)
        step = _direction(steep, moves, turns, inverse) * free
        uphill = _dot(step, steep) > -1e-12 * np.abs(value)
        step[uphill] = -(inverse * steep)[uphill]
        excess = np.max(np.abs(step) / reach, axis=1)
        step /= np.maximum(excess, 1.0)[:, None]
        new_x, new_value, new_slope, moved = _search(objective, (x, value, slope), step, box, which)
        move, turn = new_x - x, new_slope - slope
        poor = _dot(move, turn) <= 1e-7 * np.sqrt(_dot(move, move) * _dot(turn, turn))
        move[poor] = 0
        turn[poor] = 0
        going = moved & (value - new_value > tol * np.abs(new_value))
        moves, turns = [*moves[1 - memory :], move], [*turns[1 - memory :], turn]
        x, value, slope = new_x, new_value, new_slope
        best[which], best_value[which] = x, value
        if not going.any():
            break
        if not going.all():
            which, x, value, slope = which[going], x[going], value[going], slope[going]
            inverse = inverse[going]
            moves, turns = [a[going] for a in moves], [a[going] for a in turns]
    return best, best_value
