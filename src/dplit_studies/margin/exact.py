r"""The exponential mechanism enumerated: privacy by all neighbours, arcs of the plane, rejection.

The law is :math:`P(w)\propto\exp(-\frac\epsilon2N(w))`, N(w) the number of errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree
from scipy.special import logsumexp

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_positive,
    check_real_array,
    check_rng,
    quiet,
)
from dplit.margin.covers import _lattice_side, _lines, _reach_squared
from dplit.margin.exponential import _counts, _labelled_rows
from dplit.margin.losses import _scaled_rows
from dplit.mechanisms.draws import record_draw

# How well a lattice covers.


def deep_holes(n_components: int, *, radius: float, covering_radius: float) -> Array:
    """Centres of the lattice's cubes that lie in the ball: the points hardest to cover."""
    side = _lattice_side(n_components=n_components, covering_radius=covering_radius)
    limit = (check_positive("radius", radius) / side) ** 2
    return side * np.concatenate(list(_lines(n_components, limit, 0.5)))


def cover_distance(cover: ArrayLike, probes: ArrayLike) -> float:
    """Largest distance of a probe (p, k) from its nearest point of a cover (n, k)."""
    points = check_finite_array("cover", cover, ndim=2)
    targets = check_finite_array("probes", probes, ndim=2)
    if points.shape[1] != targets.shape[1]:
        raise ValueError(
            f"probes must have {points.shape[1]} columns, got probes of shape {targets.shape}"
        )
    return float(np.max(KDTree(points).query(targets)[0]))


# Draws from the cover, and exact privacy over a finite set.


@quiet
def rejection_draws(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, radius: float, covering_radius: float,
    n_draws: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    r"""Independent draws (n, k) from the exponential mechanism on the lattice cover, by rejection.

    Uniform lattice points of a cube are kept if they lie within reach of the ball, moved into it,
    and accepted with probability :math:`e^{-\epsilon N(w)/2}`. The run time depends on the data.
    """
    rows, count = _scaled_rows(_labelled_rows(X, y)), check_integer("n_draws", n_draws)
    eps, generator = check_positive("epsilon", epsilon), check_rng(rng)
    record_draw(
        "event", "weights by their errors", scale=2.0 / eps, copies=count, stated=lambda _: eps
    )
    k, ball = rows.shape[1], check_positive("radius", radius)
    side = _lattice_side(n_components=k, covering_radius=covering_radius)
    limit = _reach_squared(ball, covering_radius, side)
    edge, size = int(np.sqrt(limit)), max(1024, (1 << 21) // len(rows))
    kept: list[Array] = []
    found = 0
    while found < count:
        points = generator.integers(-edge, edge + 1, size=(size, k)).astype(float)
        points = points[np.einsum("ij,ij->i", points, points) <= limit] * side
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        points *= ball / np.maximum(norms, ball)
        accepted = generator.random(len(points)) < np.exp(-0.5 * eps * _counts(points, rows))
        kept.append(points[accepted])
        found += int(accepted.sum())
    return np.concatenate(kept)[:count]


#: Orders of the Renyi divergences that an audit looks at.
_ORDERS = (1.1, 2.0, 8.0)


class _PrivacyAudit(NamedTuple):
    """Largest absolute log-ratio, and largest Renyi divergence over order, over all pairs tried."""

    epsilon: float
    rho: float
    n_pairs: int


def _log_law(counts: Array, epsilon: float) -> Array:
    """Return the logarithmic law of every row of counts."""
    logits = -0.5 * epsilon * counts
    return np.asarray(logits - logsumexp(logits, axis=-1, keepdims=True))


def _divergence(left: Array, right: Array, order: float) -> Array:
    """Return the Renyi divergence of every row of logarithmic laws."""
    alpha = check_positive("order", order)
    if alpha <= 1:
        raise ValueError(f"order must be above 1, got order={order!r}")
    logs = alpha * left + (1 - alpha) * right
    return np.asarray(logsumexp(logs, axis=-1) / (alpha - 1))


def log_ratio(counts: ArrayLike, neighbour: ArrayLike, *, epsilon: float) -> float:
    """Largest absolute log-ratio of the laws of error counts on a sample and on its neighbour."""
    left, right = _pair(counts, neighbour)
    eps = check_positive("epsilon", epsilon)
    return float(np.max(np.abs(_log_law(left, eps) - _log_law(right, eps))))


def _pair(counts: ArrayLike, neighbour: ArrayLike) -> tuple[Array, Array]:
    left = check_real_array("counts", counts, 1)
    right = check_real_array("neighbour", neighbour, 1)
    if left.shape != right.shape:
        raise ValueError(
            f"neighbour must have one count per candidate, got {len(right)} for {len(left)}"
        )
    return left, right


def renyi_divergence(
    counts: ArrayLike, neighbour: ArrayLike, *, epsilon: float, order: float
) -> float:
    r"""Renyi divergence of two such laws, at most :math:`\alpha\epsilon^2/8` for neighbours."""
    left, right = _pair(counts, neighbour)
    eps = check_positive("epsilon", epsilon)
    return float(_divergence(_log_law(left, eps), _log_law(right, eps), order))


def _replacements(wrong: ArrayLike, others: ArrayLike) -> Array:
    """Error counts (m * p, n) of all samples with one record replaced by one of the given ones.
    ``wrong`` (n, m) says which candidate errs on which record, ``others`` (n, p) on which newcomer.
    """
    old = check_real_array("wrong", wrong, 2)
    new = check_real_array("others", others, 2)
    if len(old) != len(new):
        raise ValueError(f"others must have {len(old)} rows, got others of shape {new.shape}")
    left = old.sum(axis=1, keepdims=True) - old
    both = left[:, :, None] + new[:, None, :]
    return np.asarray(both.reshape(len(old), -1).T)


def audit_replacements(wrong: ArrayLike, others: ArrayLike, *, epsilon: float) -> _PrivacyAudit:
    """Largest log-ratio and divergence over order of all ``_replacements`` of one record."""
    old = check_real_array("wrong", wrong, 2)
    eps = check_positive("epsilon", epsilon)
    base, pairs = (_log_law(v, eps) for v in (old.sum(axis=1), _replacements(wrong, others)))
    rho = max(
        float(_divergence(p, q, order).max()) / order
        for p, q in ((base, pairs), (pairs, base))
        for order in _ORDERS
    )
    return _PrivacyAudit(float(np.abs(base - pairs).max()), rho, len(pairs))


# The exponential mechanism with zero-one score on the whole disc, exactly, in two dimensions.


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
        "event", "angles by their errors", scale=2.0 / epsilon, copies=count,
        stated=lambda _: epsilon,
    )  # fmt: skip
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
