"""The exponential mechanism with zero-one score on the whole disc, exactly, in two dimensions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import Array, check_integer, check_positive, check_rng, quiet
from dplit.mechanisms._draws import record_draw
from dplit.papers.margin.exponential import _labelled_rows


class _Arcs(NamedTuple):
    """Arcs of directions on which the number of errors is constant."""

    start: Array
    length: Array
    errors: Array


def constant_arcs(X: ArrayLike, y: ArrayLike) -> _Arcs:
    r"""The at most 2 m arcs of directions in the plane on which the number of errors is constant.

    In order of their start in :math:`[0,2\pi)`; a record is wrong on the closed half circle
    opposite to y x, and everywhere if x = 0. Time O(m log m).

    >>> constant_arcs([[1.0, 0.0]], [1]).errors
    array([1., 0.])
    """
    rows = _labelled_rows(X, y)
    if rows.shape[1] != 2:
        raise ValueError(f"X must have 2 columns, got X of shape {rows.shape}")
    live = rows[np.any(rows != 0, axis=1)]
    always, turn = len(rows) - len(live), 2 * np.pi
    if not len(live):
        return _Arcs(np.zeros(1), np.full(1, turn), np.full(1, float(always)))
    angle = np.arctan2(live[:, 1], live[:, 0])
    enter, leave = np.mod(angle + np.pi / 2, turn), np.mod(angle - np.pi / 2, turn)
    at = np.concatenate([enter, leave])
    order = np.argsort(at, kind="stable")
    step = np.repeat([1.0, -1.0], len(live))[order]
    at = at[order]
    length = np.diff(np.append(at, at[0] + turn))
    changes = np.concatenate([[0.0], np.cumsum(step[1:])])
    widest = int(length.argmax())  # arcs between equal angles are empty
    middle = np.mod(at[widest] + length[widest] / 2 - angle, turn)
    wrong = np.count_nonzero((middle > np.pi / 2) & (middle < 3 * np.pi / 2))
    errors: Array = float(always + wrong) + changes - changes[widest]
    return _Arcs(at, length, errors)


def arc_law(arcs: _Arcs, *, epsilon: float) -> Array:
    r"""Probability of each arc on the disc: length times :math:`e^{-\epsilon N/2}`, normed."""
    weights = np.exp(-0.5 * check_positive("epsilon", epsilon) * (arcs.errors - arcs.errors.min()))
    mass = arcs.length * weights
    return np.asarray(mass / mass.sum())


@quiet
def arc_draws(arcs: _Arcs, *, epsilon: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Angles in [0, 2 pi) drawn from the exponential mechanism on the disc, exactly."""
    law, count = arc_law(arcs, epsilon=epsilon), check_integer("n_draws", n_draws)
    record_draw(
        "event",
        "angles by their errors",
        scale=2.0 / epsilon,
        copies=count,
        stated=lambda _: epsilon,
    )
    chosen = check_rng(rng).choice(len(law), size=count, p=law)
    angles: Array = np.mod(arcs.start[chosen] + arcs.length[chosen] * rng.random(count), 2 * np.pi)
    return angles


def arc_log_ratio(left: _Arcs, right: _Arcs, *, epsilon: float) -> float:
    """Largest absolute log-ratio of the densities of two samples on the circle, by integration.

    >>> one, other = constant_arcs([[1.0, 0.0]], [1]), constant_arcs([[1.0, 0.0]], [-1])
    >>> round(arc_log_ratio(one, other, epsilon=1.0), 9)
    0.5
    """
    eps = check_positive("epsilon", epsilon)
    starts = np.unique(np.concatenate([left.start, right.start]))
    ends = np.append(starts[1:], starts[0] + 2 * np.pi)
    middles = np.mod((starts + ends) / 2, 2 * np.pi)[ends - starts > 1e-12]
    gap = _log_density(left, middles, eps) - _log_density(right, middles, eps)
    return float(np.max(np.abs(gap)))


def _log_density(arcs: _Arcs, angles: Array, epsilon: float) -> Array:
    logits = -0.5 * epsilon * arcs.errors
    total = logsumexp(logits, b=arcs.length)
    return np.asarray(logits[np.searchsorted(arcs.start, angles, side="right") - 1] - total)
