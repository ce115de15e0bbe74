"""The search for neighbouring samples whose minimisers lie far apart, for all four losses.

Every distance comes with the certified error of the two fits.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from dplit._checks import Array, check_choice, check_integer, check_positive, check_rng
from dplit._solvers.kernel_machines import duality_gap, logistic_weights
from dplit.kernels._grams import gram_rows
from dplit.kernels.losses import LOSSES, check_targets
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.leave_one_out import RidgeNeighbours
from dplit.papers.erm.minimisers import _solve_gram, rkhs_norm
from dplit_studies.trials import Trial, run_trials


class _Replacements(NamedTuple):
    """Single replacements: record ``removed[k]`` gives way to ``(points[k], labels[k])``."""

    removed: NDArray[np.intp]
    points: Array
    labels: Array


class _Distances(NamedTuple):
    """Distances of neighbouring fits and how far the minimisers' can be from them."""

    values: Array
    errors: Array


def wave_sample(
    n_records: int, *, task: Literal["regression", "classification"], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw points of the square and noisy values, or noisy signs, of the wave 0.8 sin(pi x_1).

    Values carry noise uniform on [-0.2, 0.2]; labels are +1 with probability (1 + wave) / 2.
    """
    m = check_integer("n_records", n_records)
    check_choice("task", task, ("regression", "classification"))
    generator = check_rng(rng)
    points = generator.uniform(-1.0, 1.0, (m, 2))
    wave = 0.8 * np.sin(np.pi * points[:, 0])
    if task == "regression":
        return points, np.clip(wave + generator.uniform(-0.2, 0.2, m), -1.0, 1.0)
    return points, np.where(generator.uniform(size=m) < (1.0 + wave) / 2, 1.0, -1.0)


def draw_replacements(
    points: Array, y: Array, count: int, *, loss: str, rng: np.random.Generator
) -> _Replacements:
    """Draw replacements, half of them fresh records, the others a record with its label turned."""
    check_choice("loss", loss, LOSSES)
    fresh = check_integer("count", count, minimum=2) // 2
    generator = check_rng(rng)
    removed = generator.integers(len(y), size=count)
    new_points, new_labels = points[removed].copy(), np.where(y[removed] >= 0, -1.0, 1.0)
    task: Literal["regression", "classification"] = (
        "classification" if loss in ("hinge", "logistic") else "regression"
    )
    new_points[:fresh], new_labels[:fresh] = wave_sample(fresh, task=task, rng=generator)
    return _Replacements(removed, new_points, new_labels)


class _Fits:
    """Fits of the first m records of a pool, and of the samples with one of them replaced.

    Each starts from the first fit; the Gram matrix is changed in one row and column, not copied.
    """

    def __init__(
        self, K: Array, y: Array, m: int, loss: str, regularization: float, tau: float
    ) -> None:
        self.K, self.pool_labels, self.m = K, y, m
        self.loss, self.regularization, self.tau = loss, regularization, tau
        self.pool_rows = gram_rows(K) if loss == "logistic" else np.empty((len(y), 0))
        self.block, self.y = K[:m, :m].copy(), y[:m].copy()
        self.rows = self.pool_rows[:m].copy()
        self.start: Array | None = None

    def _put(self, place: int, record: int) -> None:
        """Let a record of the pool stand at a place of the sample."""
        self.block[place] = self.K[record, : self.m]
        self.block[:, place] = self.K[: self.m, record]
        self.block[place, place] = self.K[record, record]
        self.y[place], self.rows[place] = self.pool_labels[record], self.pool_rows[record]

    def fit(self) -> tuple[Array, float]:
        """Return coefficients of the sample as it stands and their distance to the minimiser."""
        if self.loss == "logistic":
            return self._logistic()
        found = _solve_gram(
            self.block,
            self.y,
            loss=self.loss,
            regularization=self.regularization,
            tau=self.tau,
            tol=1e-18,
            start=self.start,
        )
        self.start = found.coefficients if self.start is None else self.start
        return found.coefficients, found.distance

    def _logistic(self) -> tuple[Array, float]:
        """Fit in the factor's columns; the certificate is that of the Gram matrix itself."""
        w = logistic_weights(self.rows, self.y, self.regularization, 1e-24, self.start)
        self.start = w if self.start is None else self.start
        penalty = 2.0 * self.regularization * self.m
        c = self.y * expit(-self.y * (self.rows @ w)) / penalty
        gap = duality_gap("logistic", self.y, c, self.block @ c, penalty, self.tau)
        return c, math.sqrt(gap / self.regularization)

    def distance(self, base: Array, gone: int, new: int) -> tuple[float, float]:
        """Return the distance of the fit ``base`` to a neighbour's, and the error of that one."""
        self._put(gone, new)
        other, error = self.fit()
        self._put(gone, gone)
        difference = np.zeros(len(self.pool_labels))
        difference[: self.m] = base - other
        difference[gone], difference[new] = base[gone], -other[gone]
        return rkhs_norm(difference, self.K), error


def replacement_distances(
    points: ArrayLike,
    y: ArrayLike,
    replacements: _Replacements,
    *,
    loss: str,
    regularization: float = 0.1,
    width: float = 0.5,
    tau: float = 0.75,
) -> _Distances:
    """Distances in the space between the fit of a sample and the fits after replacements.

    For least squares all come from one factorisation, without error.
    """
    targets = check_targets(loss, np.concatenate([np.asarray(y), replacements.labels]))
    penalty = check_positive("regularization", regularization)
    pool = np.vstack([np.asarray(points, dtype=np.float64), replacements.points])
    K, m = gaussian_gram(pool, pool, width=width), len(np.asarray(y))
    added = np.arange(m, len(pool))
    if loss == "squared":
        near = RidgeNeighbours(K[:m, :m], targets[:m], regularization=penalty)
        table = near.replacement_distances(K[:m, m:], K.diagonal()[m:], targets[m:])
        values = table[replacements.removed, added - m]
        return _Distances(values, np.zeros_like(values))
    fits = _Fits(K, targets, m, loss, penalty, tau)
    base, error = fits.fit()
    swaps = zip(replacements.removed.tolist(), added.tolist(), strict=True)
    values, errors = np.array([fits.distance(base, gone, new) for gone, new in swaps]).T
    return _Distances(values, errors + error)


def climb(
    points: Array,
    y: Array,
    replacements: _Replacements,
    *,
    loss: str,
    regularization: float = 0.1,
    width: float = 0.5,
    tau: float = 0.75,
    steps: int = 60,
) -> tuple[float, float]:
    """Move the new point of the best replacement uphill, its label held, by Nelder and Mead.

    Returns the largest distance met and its certified error.
    """
    setting = {"loss": loss, "regularization": regularization, "width": width, "tau": tau}
    found = replacement_distances(points, y, replacements, **setting)  # type: ignore[arg-type]
    k = int(found.values.argmax())
    best = (float(found.values[k]), float(found.errors[k]))

    def shortfall(x: Array) -> float:
        nonlocal best
        inside = np.clip(x, -1.0, 1.0)[None, :]
        one = _Replacements(replacements.removed[[k]], inside, replacements.labels[[k]])
        value, error = replacement_distances(points, y, one, **setting)  # type: ignore[arg-type]
        best = max(best, (float(value[0]), float(error[0])))
        return -float(value[0])

    limit = check_integer("steps", steps)
    minimize(shortfall, replacements.points[k], method="Nelder-Mead", options={"maxfev": limit})
    return best


def stability_curve(
    sizes: ArrayLike,
    *,
    loss: str,
    n_sets: int,
    n_replacements: int,
    seed: int,
    regularization: float = 0.1,
    width: float = 0.5,
    tau: float = 0.75,
    n_jobs: int | None = 1,
) -> tuple[Array, Array]:
    """Largest distance over replacements for growing samples, and its error, (n_sets, sizes)."""
    counts = [check_integer("sizes", size) for size in np.asarray(sizes).tolist()]
    task: Literal["regression", "classification"] = (
        "classification" if loss in ("hinge", "logistic") else "regression"
    )

    def one(trial: Trial) -> tuple[list[float], list[float]]:
        rng, largest, errors = trial.stream("data"), [], []
        for m in counts:
            points, y = wave_sample(m, task=task, rng=rng)
            swaps = draw_replacements(points, y, n_replacements, loss=loss, rng=rng)
            found = replacement_distances(
                points, y, swaps, loss=loss, regularization=regularization, width=width, tau=tau
            )
            largest.append(float(found.values.max()))
            errors.append(float(found.errors.max()))
        return largest, errors

    name = f"erm-stability-{loss}"
    results = np.array(run_trials(one, n_sets, seed=seed, name=name, n_jobs=n_jobs))
    return results[:, 0], results[:, 1]
