r"""What two, five or a pattern of evaluations of :math:`f_z+b` tell, whatever the size of b.

A scalar shift cancels in differences: :math:`f_z(x_1)-f_z(x_2)` comes out without any noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, svd
from scipy.stats import laplace

from dplit._checks import (
    Array,
    check_at_least,
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    check_real_array,
    check_rng,
)
from dplit.erm.losses import _check_gram, gaussian_kernel
from dplit.erm.repairs import GaussianProcessOracle, Kernel
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.streams import stream

__all__ = [
    "Kernel",
    "audit_leak",
    "best_direction",
    "feature_root",
    "hinge_pair",
    "reconstruct_record",
    "sign_pattern_probability",
    "truncated_root",
    "two_point_attack",
]


# Two careless samplers of the Gaussian process, and the attack that separates them. Noise must have
# a part in **every** direction in which two minimisers can differ: truncated eigenvalues, or noise
# through features beside a fit with the exact kernel, leave directions with signal and without
# noise.


#: Standard deviation granted to rounding, of answers of size one.
_ROUNDING = 2.0**-53

_CLAIM = "erm-beyond-gp-leaks"


@dataclass(frozen=True)
class _HingePair:
    """Two neighbouring hinge minimisers at the distance of Theorem 2, in closed form.

    ``labels`` and ``flipped`` differ in the last record; ``coefficients`` and ``neighbour`` are the
    minimisers' in the Gaussian kernel of this ``width``, ``sensitivity`` their distance.
    """

    records: Array
    labels: Array
    flipped: Array
    coefficients: Array
    neighbour: Array
    sensitivity: float
    width: float

    @property
    def kernel(self) -> Kernel:
        """Gaussian kernel of ``width``."""
        return partial(gaussian_kernel, width=self.width)

    def difference(self, points: Array) -> Array:
        """Return the difference of the two minimisers at ``points`` of shape (q, 2)."""
        change = self.coefficients - self.neighbour
        return np.asarray(self.kernel(points, self.records) @ change)


def hinge_pair(
    n_records: int, *, width: float = 0.5, regularization: float = 0.5, rng: np.random.Generator
) -> _HingePair:
    r"""A pair of hinge minimisers that attains Theorem 2 with the Gaussian kernel.

    The records are uniform on [-1, 1]^2; ``regularization`` is at least 1/2, so that all margins
    are at most 1. Flipping the last label moves the minimiser by :math:`K_{x_m}/(\lambda m)`.
    """
    m, h = check_integer("n_records", n_records), check_positive("width", width)
    penalty = check_at_least("regularization", regularization, 0.5)
    records = check_rng(rng).uniform(-1.0, 1.0, (m, 2))
    labels = np.append(rng.choice([-1.0, 1.0], m - 1), 1.0)
    flipped = np.append(labels[:-1], -1.0)
    unit = 1.0 / (2.0 * penalty * m)
    return _HingePair(records, labels, flipped, unit * labels, unit * flipped, 2.0 * unit, h)


def truncated_root(gram: ArrayLike, *, cut: float) -> Array:
    """Root of a kernel matrix without its eigenvalues up to ``cut``: a leaking sampler."""
    values, vectors = eigh(_check_gram(gram))
    kept = values > check_nonnegative("cut", cut)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def feature_root(
    points: ArrayLike, *, n_components: int, width: float, rng: np.random.Generator
) -> Array:
    """Random Fourier features at the points, one column each: noise drawn through them leaks."""
    D = check_integer("n_components", n_components, minimum=2)
    if D % 2:
        raise ValueError(f"n_components must be even, got n_components={n_components!r}")
    rows = check_real_array("points", points, 2)
    gamma = 0.5 / check_positive("width", width) ** 2
    frequencies = random_frequencies(rows.shape[1], D // 2, gamma=gamma, rng=check_rng(rng))
    return np.asarray(cos_sin_features(rows, frequencies))


def best_direction(
    difference: ArrayLike, root: ArrayLike, *, sigma: float, floor: float
) -> tuple[Array, float]:
    """The linear test that separates two hypotheses best, ``C^-1 difference``, and its power.

    The noise is ``sigma root z`` with standard normal z, plus independent noise of standard
    deviation ``floor``, positive; C is its covariance, the power a distance in standard deviations.
    """
    d = check_real_array("difference", difference, 1)
    A = check_real_array("root", root, 2)
    if len(A) != len(d):
        raise ValueError(f"root must have {len(d)} rows, got root of shape {A.shape}")
    U, s, _ = svd(A, full_matrices=True)
    spread = np.zeros(len(d))
    spread[: len(s)] = s
    variances = (check_positive("sigma", sigma) * spread) ** 2 + check_positive("floor", floor) ** 2
    along = U.T @ d
    return np.asarray(U @ (along / variances)), math.sqrt(float(np.sum(along**2 / variances)))


@dataclass(frozen=True)
class _LeakAudit:
    """Outcome of the attack on one implementation.

    ``mu`` is claimed; ``power``, in standard deviations, is what the noise as implemented leaves;
    ``hits_in`` and ``hits_out`` of ``runs`` releases were taken for the first data set.
    """

    implementation: str
    mu: float
    power: float
    hits_in: int
    hits_out: int
    runs: int

    @property
    def rates(self) -> tuple[float, float]:
        """True-positive and false-positive rate of the attack."""
        return self.hits_in / self.runs, self.hits_out / self.runs


def audit_leak(
    implementation: str, *, seed: int, side: int = 15, n_records: int = 50, epsilon: float = 0.5,
    delta: float = 1e-5, cut: float = 1e-12, n_components: int = 80, jitter: float = 1e-10,
    runs: int = 200,
) -> _LeakAudit:  # fmt: skip
    """Attack an implementation of the release on a grid, with the best linear test against it.

    ``"oracle"`` is the right one, with this ``jitter``; ``"truncated"`` (``cut``) and
    ``"features"`` (``n_components``) leak. The grid has ``side ** 2`` points, the record that
    changes is off it. Rounding is granted a standard deviation of ``2 ** -53`` per answer of size
    one.

    >>> audit_leak("features", seed=0, side=7, n_components=20, runs=20).rates
    (1.0, 0.0)
    """
    check_choice("implementation", implementation, ("oracle", "truncated", "features"))
    check_nonnegative("cut", cut)
    check_positive("jitter", jitter)
    check_integer("n_components", n_components, minimum=2)
    ticks = np.linspace(-1.0, 1.0, check_integer("side", side, minimum=2))
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    pair = hinge_pair(n_records, rng=stream(seed, _CLAIM, "data"))
    gram = pair.kernel(points, points)
    if implementation == "truncated":
        root = truncated_root(gram, cut=cut)
    elif implementation == "features":
        public = stream(seed, _CLAIM, "public")
        root = feature_root(points, n_components=n_components, width=pair.width, rng=public)
    else:
        root = np.asarray(cholesky(gram + jitter * np.eye(len(gram)), lower=True))
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=pair.sensitivity))
    direction, power = best_direction(pair.difference(points), root, sigma=sigma, floor=_ROUNDING)
    exact = pair.kernel(points, pair.records)

    def release(coefficients: Array, rng: np.random.Generator) -> Array:
        if implementation != "oracle":
            noise = root @ gaussian_noise(root.shape[1], sigma=sigma, rng=rng)
            return np.asarray(exact @ coefficients + noise)
        oracle = GaussianProcessOracle(
            pair.kernel, pair.records, coefficients, sensitivity=pair.sensitivity,
            epsilon=epsilon, delta=delta, jitter=jitter, rng=rng,
        )  # fmt: skip
        return oracle.answer(points)

    middle = exact @ (pair.coefficients + pair.neighbour) / 2
    hits_in, hits_out = (
        _hits(release, c, middle, direction, runs, stream(seed, _CLAIM, "noise", side))
        for side, c in enumerate((pair.coefficients, pair.neighbour))
    )
    return _LeakAudit(implementation, pair.sensitivity / sigma, power, hits_in, hits_out, runs)


def _hits(
    release: Callable[[Array, np.random.Generator], Array], coefficients: Array, middle: Array,
    direction: Array, runs: int, rng: np.random.Generator,
) -> int:  # fmt: skip
    """Count how often the linear test says "first data set"."""
    answers = (release(coefficients, rng) for _ in range(check_integer("runs", runs)))
    return sum(float((values - middle) @ direction) > 0 for values in answers)


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
    model: _MissingRecord, target: Array, low: Array, high: Array, count: int,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
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
    answers: ArrayLike, points: ArrayLike, known_points: ArrayLike, known_labels: ArrayLike, *,
    kernel: Kernel, regularization: float, low: ArrayLike, high: ArrayLike, label_bound: float,
    rng: np.random.Generator, restarts: int = 40,
) -> _Reconstruction:  # fmt: skip
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
