r"""What two, five or a pattern of evaluations of :math:`f_z+b` tell, whatever the size of b.

A scalar shift cancels in differences: :math:`f_z(x_1)-f_z(x_2)` comes out without any noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import laplace

from dplit._checks import check_finite_array, check_integer, check_positive, check_rng

__all__ = [
    "Kernel",
    "Reconstruction",
    "reconstruct_record",
    "sign_pattern_probability",
    "two_point_attack",
]

_Array = NDArray[np.float64]
Kernel = Callable[[_Array, _Array], _Array]
#: Two reconstructions count as one solution if they agree to this.
_SAME = 1e-6
#: Random candidates of which the best become starting points.
_CANDIDATES = 512


def _real(name: str, value: ArrayLike, ndim: int) -> _Array:
    array = check_finite_array(name, value, ndim=ndim)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    return array.astype(np.float64)


def two_point_attack(
    answers: ArrayLike, values: ArrayLike, neighbour: ArrayLike
) -> NDArray[np.bool_]:
    r"""Say for each release of two values which of two known functions was shifted.

    Parameters
    ----------
    answers : array_like of shape (n, 2)
        n releases of the values at the same two points.
    values, neighbour : array_like of shape (2,)
        :math:`f_z` and :math:`f_{\bar z}` at the two points; their differences must not be equal.

    Returns
    -------
    ndarray of bool, shape (n,)
        True where the released difference is nearer to that of ``values``. For a scalar shift the
        answer is always right.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit, or the two functions have the same difference.

    Examples
    --------
    >>> two_point_attack([[7.5, 6.5], [-3.0, -2.0]], [0.5, -0.5], [-0.5, 0.5]).tolist()
    [True, False]
    """
    seen = _real("answers", answers, 2)
    f, g = _real("values", values, 1), _real("neighbour", neighbour, 1)
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

    Parameters
    ----------
    values : array_like of shape (n,)
        Exact values of the function.
    pattern : array_like of shape (n,)
        Labels -1 and 1.
    scale : float
        Laplace scale of b, positive.

    Returns
    -------
    float
        :math:`P(-\min_+f<b<-\max_-f)`, the minimum over points labelled 1 and the maximum over
        those labelled -1: exactly 0 if the order of the values contradicts the pattern.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Notes
    -----
    On the side where both ends have the same sign the difference of distribution functions is one
    of tails, computed with ``expm1``, so that small probabilities keep their digits.

    Examples
    --------
    >>> round(sign_pattern_probability([0.5, -0.5], [1, -1], scale=1.0), 6)
    0.393469
    >>> sign_pattern_probability([-0.5, 0.5], [1, -1], scale=1.0)
    0.0
    """
    f, labels = _real("values", values, 1), _real("pattern", pattern, 1)
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
    near, far = sorted((abs(low), abs(high)))
    return float(-0.5 * np.exp(-near) * np.expm1(near - far))


@dataclass(frozen=True)
class Reconstruction:
    """The records that explain released values, each as ``(x, y)`` in one row.

    Attributes
    ----------
    solutions : ndarray of shape (k, d + 1)
        Different admissible records that explain the answers to rounding, the best first; empty if
        none does.
    best : ndarray of shape (d + 1,)
        The admissible record with the least residual. If no search ended in the box: the record
        with the least residual, moved to the nearest point of the box.
    residual : float
        Largest residual of ``best`` over the differences of answers.
    """

    solutions: _Array
    best: _Array
    residual: float

    @property
    def unique(self) -> bool:
        """Whether exactly one record explains the answers."""
        return len(self.solutions) == 1


class _MissingRecord:
    """Values of the ridge fit as a function of its one unknown record."""

    def __init__(
        self, points: _Array, X: _Array, y: _Array, kernel: Kernel, penalty: float
    ) -> None:
        self.X, self.kernel, self.penalty, self.points = X, kernel, penalty, points
        self.stacked = np.vstack([X, points])
        gram = kernel(X, X)
        self.factor = cho_factor(gram + penalty * np.eye(len(X)))
        self.alpha = cho_solve(self.factor, y)
        at_points = kernel(points, X)
        self.known = at_points @ self.alpha
        self.solved = cho_solve(self.factor, at_points.T)  # (m - 1, n)

    def profile(self, x: _Array) -> tuple[_Array, _Array, _Array]:
        """Return, for k candidates, the profile k~_x on the points, lambda m + k~_x(x) and h(x)."""
        known, n = len(self.X), len(self.points)
        values = self.kernel(np.vstack([self.stacked, x]), x)  # one call: (m - 1 + n + k, k)
        cross, own = values[:known], np.diagonal(values[known + n :])
        shape = values[known : known + n] - self.solved.T @ cross
        denominator = self.penalty + own - np.sum(cross * cho_solve(self.factor, cross), axis=0)
        return shape, denominator, cross.T @ self.alpha

    def fit_label(self, x: _Array, target: _Array) -> tuple[_Array, _Array]:
        """Return residuals (n - 1, k) of the differences and the labels (k,) that are best."""
        shape, denominator, at_x = self.profile(x)
        direction = np.diff(shape, axis=0)
        squares = np.maximum(np.sum(direction**2, axis=0), np.finfo(float).tiny)
        amount = target @ direction / squares
        return direction * amount - target[:, None], at_x + amount * denominator

    def error(self, record: _Array, target: _Array) -> float:
        """Return the largest residual of one record (x, y)."""
        shape, denominator, at_x = self.profile(record[None, :-1])
        values = shape[:, 0] * (record[-1] - at_x[0]) / denominator[0]
        return float(np.abs(np.diff(values) - target).max())


def _starts(
    model: _MissingRecord, target: _Array, low: _Array, high: _Array, count: int,
    rng: np.random.Generator,
) -> _Array:  # fmt: skip
    """Return the best of many random candidates in the box, one per row."""
    candidates = rng.uniform(low, high, size=(max(_CANDIDATES, count), len(low)))
    residuals, _ = model.fit_label(candidates, target)
    order = np.argsort(np.sum(residuals**2, axis=0), kind="stable")
    best = candidates[order[: 4 * count]]
    return np.asarray(best[:: 4 if len(best) >= 4 * count else 1][:count])


def _search(model: _MissingRecord, target: _Array, starts: _Array, steps: int = 40) -> _Array:
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


def _distinct(rows: _Array) -> _Array:
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
) -> Reconstruction:
    r"""Find the one unknown record of a regularised least-squares fit from shifted values.

    Parameters
    ----------
    answers : array_like of shape (n,)
        Released values :math:`f_z(t_j)+b` with one unknown b; at least two.
    points : array_like of shape (n, d)
        The points :math:`t_j`.
    known_points : array_like of shape (m - 1, d)
        Inputs of all other records.
    known_labels : array_like of shape (m - 1,)
    kernel : callable
        ``kernel(X, Z)`` gives the matrix of ``K(x, z)``.
    regularization : float
        Parameter lambda of the fit on m records, positive.
    low, high : array_like of shape (d,)
        Ends of the box X in which inputs lie: public.
    label_bound : float
        Labels lie in [-M, M]: public, positive.
    rng : numpy.random.Generator
        For the starting points of the search.
    restarts : int, default=40
        Number of local searches, at least 1.

    Returns
    -------
    Reconstruction
        All different records found in the box that explain the answers to rounding.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Notes
    -----
    With h the fit on the known records and :math:`\tilde k_x` the residual kernel,

    .. math:: f_z=h+\frac{y-h(x)}{\lambda m+\tilde k_x(x)}\,\tilde k_x .

    Differences of answers are free of b and linear in y, which is eliminated; local searches by
    Levenberg and Marquardt's method, all starting points in one batch, find x. The n answers give
    n - 1 equations for d + 1 unknowns: unique records are expected from n = d + 3 on. An answer is
    explained to rounding if no difference is off by more than 256 units of the last digit of the
    largest number that occurs.

    Examples
    --------
    >>> from dplit.erm.kernels import linear_kernel
    >>> from dplit.streams import stream
    >>> found = reconstruct_record([5.0, 5.25], [[0.0], [1.0]], [[0.0]], [1.0],
    ...     kernel=linear_kernel, regularization=0.5, low=[1.0], high=[1.0 + 1e-12],
    ...     label_bound=1.0, rng=stream(0, "example", "public"))
    >>> found.best.round(6)
    array([1. , 0.5])
    """
    seen, grid = _real("answers", answers, 1), _real("points", points, 2)
    X, y = _real("known_points", known_points, 2), _real("known_labels", known_labels, 1)
    left, right = _real("low", low, 1), _real("high", high, 1)
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
    starts = _starts(model, target, left, right, count, check_rng(rng))
    found = _search(model, target, starts)
    residuals, labels = model.fit_label(found, target)
    records, errors = np.column_stack([found, labels]), np.abs(residuals).max(axis=0)
    admissible = ((records >= inside_low) & (records <= inside_high)).all(axis=1)
    if not admissible.any():
        guess = np.clip(records[np.argmin(errors)], np.append(left, -M), np.append(right, M))
        return Reconstruction(np.empty((0, d + 1)), guess, model.error(guess, target))
    best = int(np.argmin(np.where(admissible, errors, np.inf)))
    order = np.argsort(errors, kind="stable")
    exact = order[(admissible & (errors <= tolerance))[order]]
    return Reconstruction(_distinct(records[exact]), records[best], float(errors[best]))
