"""What two, five or a pattern of evaluations of :math:`f_z+b` tell, whatever the size of b.

A scalar shift cancels in differences: :math:`f_z(x_1)-f_z(x_2)` comes out without any noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import laplace

from dplit._checks import Array, check_integer, check_positive, check_real_array, check_rng
from dplit.kernels.queries import Kernel

#: Two reconstructions count as one solution if they agree to this.
_SAME = 1e-6

#: Random candidates of which the best become starting points.
_CANDIDATES = 512

#: Factor of the number of starting points in the second search, where the first explains nothing.
_AGAIN = 4


def two_point_attack(
    answers: ArrayLike, values: ArrayLike, neighbour: ArrayLike
) -> NDArray[np.bool_]:
    """Say for each release, in the rows of ``answers``, which of two known functions was shifted.

    True where the difference of its two values is nearer to that of ``values`` than to that of
    ``neighbour``: for a scalar shift always right.
    """
    seen = check_real_array("answers", answers, 2)
    f, g = check_real_array("values", values, 1), check_real_array("neighbour", neighbour, 1)
    if seen.shape[1] != 2 or f.shape != (2,) or g.shape != (2,):
        raise ValueError(
            f"answers must have two columns and both functions two values, got {seen.shape}, "
            f"{f.shape}, {g.shape}"
        )
    mine, other = f[0] - f[1], g[0] - g[1]
    if mine == other:
        raise ValueError(f"the two functions must differ in their difference, got {mine:g} twice")
    difference = seen[:, 0] - seen[:, 1]
    return np.asarray(np.abs(difference - mine) < np.abs(difference - other))


def sign_pattern_probability(values: ArrayLike, pattern: ArrayLike, *, scale: float) -> float:
    r"""Probability that :math:`\mathrm{sgn}(f_z+b)` shows one pattern of labels on n points.

    :math:`P(-\min_+f<b<-\max_-f)`, over points labelled 1 and -1: exactly 0 if the order of the
    values contradicts the pattern.

    >>> round(sign_pattern_probability([0.5, -0.5], [1, -1], scale=1.0), 6)
    0.393469
    """
    f, labels = check_real_array("values", values, 1), check_real_array("pattern", pattern, 1)
    s = check_positive("scale", scale)
    if labels.shape != f.shape or not np.isin(labels, (-1.0, 1.0)).all():
        raise ValueError(f"pattern must hold {len(f)} labels -1 or 1, got pattern={pattern!r}")
    above, below = f[labels > 0], f[labels < 0]
    low = -float(above.min()) / s if above.size else -np.inf
    high = -float(below.max()) / s if below.size else np.inf
    if low >= high:
        return 0.0
    if low < 0.0 < high:
        return float(1.0 - laplace.sf(high) - laplace.cdf(low))
    near, far = sorted((abs(low), abs(high)))  # of tails, so that small values keep their digits
    return float(-0.5 * np.exp(-near) * np.expm1(near - far))


@dataclass(frozen=True)
class _Reconstruction:
    """The records that explain released values, each as ``(x, y)`` in one row.

    ``solutions`` (k, d + 1): different admissible records that explain the answers to rounding.
    ``best``: the admissible one with the least ``residual``, or the nearest point of the box to it.
    """

    solutions: Array
    best: Array
    residual: float

    @property
    def unique(self) -> bool:
        """Whether exactly one record explains the answers."""
        return len(self.solutions) == 1


class _MissingRecord:
    """Values of the ridge fit as a function of its one unknown record."""

    def __init__(self, points: Array, X: Array, y: Array, kernel: Kernel, penalty: float) -> None:
        self.X, self.kernel, self.penalty, self.points = X, kernel, penalty, points
        self.stacked = np.vstack([X, points])
        gram = kernel(X, X)
        self.factor = cho_factor(gram + penalty * np.eye(len(X)))
        self.alpha = cho_solve(self.factor, y)
        at_points = kernel(points, X)
        self.known = at_points @ self.alpha
        self.solved = cho_solve(self.factor, at_points.T)  # (m - 1, n)

    def profile(self, x: Array) -> tuple[Array, Array, Array]:
        """Return, for k candidates, the profile k~_x on the points, lambda m + k~_x(x) and h(x)."""
        known, n = len(self.X), len(self.points)
        values = self.kernel(np.vstack([self.stacked, x]), x)  # one call: (m - 1 + n + k, k)
        cross, own = values[:known], np.diagonal(values[known + n :])
        shape = values[known : known + n] - self.solved.T @ cross
        denominator = self.penalty + own - np.sum(cross * cho_solve(self.factor, cross), axis=0)
        return shape, denominator, cross.T @ self.alpha

    def fit_label(self, x: Array, target: Array) -> tuple[Array, Array]:
        """Return residuals (n - 1, k) of the differences and the labels (k,) that are best."""
        shape, denominator, at_x = self.profile(x)
        direction = np.diff(shape, axis=0)
        squares = np.maximum(np.sum(direction**2, axis=0), np.finfo(float).tiny)
        amount = target @ direction / squares
        return direction * amount - target[:, None], at_x + amount * denominator

    def error(self, record: Array, target: Array) -> float:
        """Return the largest residual of one record (x, y)."""
        shape, denominator, at_x = self.profile(record[None, :-1])
        values = shape[:, 0] * (record[-1] - at_x[0]) / denominator[0]
        return float(np.abs(np.diff(values) - target).max())


def _starts(
    model: _MissingRecord,
    target: Array,
    low: Array,
    high: Array,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """Return the best of many random candidates in the box, one per row."""
    candidates = rng.uniform(low, high, size=(max(_CANDIDATES, count), len(low)))
    residuals, _ = model.fit_label(candidates, target)
    order = np.argsort(np.sum(residuals**2, axis=0), kind="stable")
    best = candidates[order[: 4 * count]]
    return np.asarray(best[:: 4 if len(best) >= 4 * count else 1][:count])


def _search(model: _MissingRecord, target: Array, starts: Array, steps: int = 40) -> Array:
    """Levenberg and Marquardt's iteration from all starting points at once, shape (k, d)."""
    x, d = starts.copy(), starts.shape[1]
    residuals, _ = model.fit_label(x, target)
    cost = np.sum(residuals**2, axis=0)
    damping = np.full(len(x), 1e-3)
    for _ in range(steps):
        slopes = np.stack(
            [(model.fit_label(x + 1e-7 * axis, target)[0] - residuals) / 1e-7 for axis in np.eye(d)]
        )  # (d, n - 1, k)
        normal = np.einsum("ank,bnk->kab", slopes, slopes)
        gradient = np.einsum("ank,nk->ka", slopes, residuals)
        weight = np.einsum("kaa->k", normal) * damping + np.finfo(float).tiny
        step = np.linalg.solve(normal + weight[:, None, None] * np.eye(d), gradient[..., None])
        trial = x - step[..., 0]
        residuals_there, _ = model.fit_label(trial, target)
        cost_there = np.sum(residuals_there**2, axis=0)
        better = cost_there < cost
        x[better], cost[better] = trial[better], cost_there[better]
        residuals[:, better] = residuals_there[:, better]
        damping = np.clip(np.where(better, 0.1, 8.0) * damping, 1e-15, 1e3)
    return x


def _distinct(rows: Array) -> Array:
    """Return the rows that differ from all rows before them."""
    kept: list[int] = []
    for i, row in enumerate(rows):
        if all(float(np.abs(row - rows[j]).max()) > _SAME for j in kept):
            kept.append(i)
    return np.asarray(rows[kept])


def reconstruct_record(
    answers: ArrayLike,
    points: ArrayLike,
    known_points: ArrayLike,
    known_labels: ArrayLike,
    *,
    kernel: Kernel,
    regularization: float,
    low: ArrayLike,
    high: ArrayLike,
    label_bound: float,
    rng: np.random.Generator,
    restarts: int = 40,
) -> _Reconstruction:
    """Find the one unknown record of a regularised least-squares fit from shifted values.

    ``answers`` are :math:`f_z(t_j)+b` at the ``points`` with one unknown b; all other records are
    known; the box from ``low`` to ``high``, ``label_bound`` and lambda of the fit on m records are
    public. The n - 1 differences determine d + 1 unknowns from n = d + 3 on. Answers count as
    explained if no difference is off by more than 256 units of the last digit of the largest number
    that occurs. Where nothing explains them, a second search starts from four times ``restarts``
    points: a shifted fit has an explanation, so the first one missed it.
    """
    seen, grid = check_real_array("answers", answers, 1), check_real_array("points", points, 2)
    X = check_real_array("known_points", known_points, 2)
    y = check_real_array("known_labels", known_labels, 1)
    left, right = check_real_array("low", low, 1), check_real_array("high", high, 1)
    d, penalty = grid.shape[1], check_positive("regularization", regularization)
    M, count = check_positive("label_bound", label_bound), check_integer("restarts", restarts)
    if len(seen) < 2 or len(grid) != len(seen):
        raise ValueError(f"answers must be two or more, one per point, got {len(seen)}")
    if X.shape != (len(y), d) or left.shape != (d,) or right.shape != (d,):
        raise ValueError(f"known records and box must fit to {d} columns, got shape {X.shape}")
    if not bool((left < right).all()):
        raise ValueError(f"low must be below high, got low={low!r}, high={high!r}")
    model = _MissingRecord(grid, X, y, kernel, penalty * (len(y) + 1))
    target = np.diff(seen - model.known)
    size = max(float(np.abs(seen).max()), float(np.abs(model.known).max()), 1.0)
    tolerance = 256.0 * np.finfo(float).eps * size
    margin = 1e-9 * np.append(right - left, M)
    inside_low = np.append(left, -M) - margin
    inside_high = np.append(right, M) + margin
    check_rng(rng)
    for starts in (count, _AGAIN * count):
        found = _search(model, target, _starts(model, target, left, right, starts, rng))
        residuals, labels = model.fit_label(found, target)
        records, errors = np.column_stack([found, labels]), np.abs(residuals).max(axis=0)
        admissible = ((records >= inside_low) & (records <= inside_high)).all(axis=1)
        explained = admissible & (errors <= tolerance)
        if explained.any():
            break
    if not admissible.any():
        guess = np.clip(records[np.argmin(errors)], np.append(left, -M), np.append(right, M))
        return _Reconstruction(np.empty((0, d + 1)), guess, model.error(guess, target))
    best = int(np.argmin(np.where(admissible, errors, np.inf)))
    order = np.argsort(errors, kind="stable")
    exact = order[explained[order]]
    return _Reconstruction(_distinct(records[exact]), records[best], float(errors[best]))
