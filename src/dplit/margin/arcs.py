r"""The exponential mechanism with zero-one score on the whole disc, exactly, in two dimensions.

The zero-one error of w depends on its direction only, and is constant between the directions
that are orthogonal to a record: the law is a density with at most 2 m steps on the circle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dplit._checks import check_integer, check_positive, check_rng
from dplit.margin.exponential import labelled_rows

__all__ = ["Arcs", "arc_draws", "arc_law", "arc_log_ratio", "constant_arcs"]

Array = NDArray[np.float64]


class Arcs(NamedTuple):
    """Arcs of directions on which the number of errors is constant."""

    start: Array
    length: Array
    errors: Array


def constant_arcs(X: ArrayLike, y: ArrayLike) -> Arcs:
    r"""Arcs of directions in the plane on which the number of errors is constant.

    Parameters
    ----------
    X : array_like of shape (m, 2)
        Features in the plane.
    y : array_like of shape (m,)
        Labels -1 and 1.

    Returns
    -------
    Arcs
        At most 2 m arcs in order of their start in :math:`[0,2\pi)`, their lengths, and their error
        counts: a record is wrong on the closed half circle opposite to y x, and everywhere if
        x = 0. Time O(m log m).

    Raises
    ------
    TypeError, ValueError
        If an array is not finite or X does not have two columns.

    Examples
    --------
    >>> constant_arcs([[1.0, 0.0]], [1]).errors
    array([1., 0.])
    """
    rows = labelled_rows(X, y)
    if rows.shape[1] != 2:
        raise ValueError(f"X must have 2 columns, got X of shape {rows.shape}")
    live = rows[np.any(rows != 0, axis=1)]
    always, turn = len(rows) - len(live), 2 * np.pi
    if not len(live):
        return Arcs(np.zeros(1), np.full(1, turn), np.full(1, float(always)))
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
    return Arcs(at, length, errors)


def arc_law(arcs: Arcs, *, epsilon: float) -> Array:
    r"""Law of the exponential mechanism on the whole disc, arc by arc.

    Parameters
    ----------
    arcs : Arcs
        From :func:`dplit.margin.arcs.constant_arcs`.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    ndarray
        Probability of each arc, proportional to its length times :math:`e^{-\epsilon N/2}`: the
        zero-one error does not see the length of w.

    Raises
    ------
    TypeError, ValueError
        If epsilon is not positive.

    Examples
    --------
    >>> arc_law(constant_arcs([[1.0, 0.0]], [1]), epsilon=2.0).round(4)
    array([0.2689, 0.7311])
    """
    weights = np.exp(-0.5 * check_positive("epsilon", epsilon) * (arcs.errors - arcs.errors.min()))
    mass = arcs.length * weights
    law: Array = mass / mass.sum()
    return law


def arc_draws(arcs: Arcs, *, epsilon: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Directions drawn from the exponential mechanism on the disc, exactly.

    Parameters
    ----------
    arcs : Arcs
        From :func:`dplit.margin.arcs.constant_arcs`.
    epsilon : float
        Privacy loss of one draw, positive.
    n_draws : int
        Number of draws, at least 1.
    rng : numpy.random.Generator
        Source of privacy noise.

    Returns
    -------
    ndarray of shape (n_draws,)
        Angles in [0, 2 pi).

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> arcs = constant_arcs([[1.0, 0.0]], [1])
    >>> arc_draws(arcs, epsilon=1.0, n_draws=3, rng=np.random.default_rng(0)).shape
    (3,)
    """
    law, count = arc_law(arcs, epsilon=epsilon), check_integer("n_draws", n_draws)
    chosen = check_rng(rng).choice(len(law), size=count, p=law)
    angles: Array = np.mod(arcs.start[chosen] + arcs.length[chosen] * rng.random(count), 2 * np.pi)
    return angles


def arc_log_ratio(left: Arcs, right: Arcs, *, epsilon: float) -> float:
    r"""Largest absolute log-ratio of the densities of two samples on the circle.

    Parameters
    ----------
    left, right : Arcs
        Of a sample and of its neighbour.
    epsilon : float
        Parameter of the mechanism, positive.

    Returns
    -------
    float
        At most epsilon for neighbours: the privacy loss of the mechanism with any prior that no
        rotation alters, by integration instead of simulation.

    Raises
    ------
    TypeError, ValueError
        If epsilon is not positive.

    Examples
    --------
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


def _log_density(arcs: Arcs, angles: Array, epsilon: float) -> Array:
    logits = -0.5 * epsilon * arcs.errors
    total = logsumexp(logits, b=arcs.length)
    density: Array = logits[np.searchsorted(arcs.start, angles, side="right") - 1] - total
    return density
