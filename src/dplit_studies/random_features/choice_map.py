"""The map behind :func:`dplit.random_features.choice.recommend`: who learns what, at one budget.

Columns are uniform on [-1, 1]. Labels are a target of deviation 0.4 and noise of 0.2, both times
``fill``, clipped to the bounds (-1, 1). Errors are of predictions against the target, over its
variance: a constant has 1. All learners meet the same records, and waves the same frequencies.
What adds Gaussian noise to a solution is exact over that noise; descents, statistics and additive
models are drawn.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dplit._checks import Array
from dplit.baselines import (
    NoisyGradientRegressor,
    PrivateAdditiveRegressor,
    SufficientStatisticsRegressor,
    objective_noise,
)
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_sigma
from dplit.random_features._certified import balanced_penalty
from dplit.random_features.sensitivity import record_sensitivity
from dplit.trials import Trial, run_trials

#: Axes of the map.
NS, DS, EPSILONS, DELTA = (300, 3000, 30_000), (2, 5, 20), (0.1, 1.0, 10.0), 1e-5

SHAPES = ("smooth", "bends", "rough")

#: Pairs of a cosine and a sine, and the kernel's gamma times the number of columns.
WAVES = ((40, 1.0), (40, 4.0), (40, 16.0), (10, 4.0), (160, 4.0))

#: Learners on waves. "ridge" has its own penalty; those with a star the best one in hindsight:
#: ridge; ridge whose residuals are clipped to 1; that with a penalty shaped by the expected Gram
#: matrix; objective perturbation of such a loss. (The noise of ridge does not depend on the number
#: of waves: a Gaussian process with the kernel is its limit.)
ON_WAVES = ("ridge", "ridge*", "clipped*", "shaped*", "objective*", "statistics", "gradients")

ON_COLUMNS = ("line, gradients", "line, statistics", "additive")

METHODS = (
    *(f"{name} {count} {g:g}" for count, g in WAVES for name in ON_WAVES), *ON_COLUMNS
)  # fmt: skip

#: Trials by number of records.
TRIALS = {300: 4, 3000: 2, 30_000: 1, 200_000: 1}


class Law(NamedTuple):
    """Where a trial is held: records, columns, target, and the part of the bounds labels fill."""

    n: int
    d: int
    shape: str
    fill: float = 1.0


#: Beside the grid: labels that fill a tenth of their bounds, many columns, many records.
CORNERS = (
    *(Law(n, d, s, 0.1) for n in (300, 3000) for d in (2, 20) for s in SHAPES),
    *(Law(3000, 80, s) for s in SHAPES),
    Law(200_000, 2, "rough"), Law(200_000, 20, "smooth"),
)  # fmt: skip


def target(shape: str, X: Array, rng: np.random.Generator) -> Array:
    """A target of deviation near 0.4: a sigmoid of one direction, a bend for each column, or waves
    that a pair of columns makes together, with periods of 1.6.
    """
    d = X.shape[1]
    if shape == "smooth":
        u = rng.standard_normal(d)
        t = X @ (u * math.sqrt(3.0) / np.linalg.norm(u))
        return np.asarray(0.4 * np.tanh(1.5 * t) / 0.73)
    if shape == "bends":
        signs = rng.choice([-1.0, 1.0], d) / math.sqrt(d)
        return np.asarray(0.4 * math.sqrt(2.0) * np.cos(math.pi * X) @ signs)
    return np.asarray(0.8 * np.sin(4.0 * X[:, 0]) * np.sin(4.0 * X[:, 1] + 1.0))


def draw(law: Law, rng: np.random.Generator, n_test: int = 2000) -> tuple[Array, ...]:
    """Records, labels, and records for tests with their target."""
    X = rng.uniform(-1.0, 1.0, (law.n + n_test, law.d))
    truth = law.fill * target(law.shape, X, rng)
    y = np.clip(truth[: law.n] + 0.2 * law.fill * rng.standard_normal(law.n), -1.0, 1.0)
    return X[: law.n], y, X[law.n :], truth[law.n :]


# Noise on a solution: errors are exact over it.


_ALPHAS = 2.0 ** np.arange(-2.0, 18.0)


class _Waves(NamedTuple):
    """Gram matrix and moments of training rows, test rows, their target, and public rows."""

    gram: Array
    moment: Array
    test: Array
    truth: Array
    public: Array

    def penalised(self, alphas: Array) -> tuple[Array, Array]:
        """Errors of ridge fits without noise, and ``|(G + a)^-1 t|^2`` on average over tests."""
        values, vectors = np.linalg.eigh(self.gram)
        inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
        tests = self.test @ vectors
        fits = tests @ ((vectors.T @ self.moment)[:, None] * inverse)
        error = np.mean((fits - self.truth[:, None]) ** 2, axis=0)
        return error, np.mean(tests**2, axis=0) @ inverse**2

    def shaped(self, share: float) -> tuple[_Waves, float]:
        """The waves in which a penalty ``(1 - share) I + share p M`` is the identity, M the
        expected Gram matrix of a record; and the largest squared norm of a row there.
        """
        p = len(self.gram)
        expected = self.public.T @ self.public / len(self.public)
        values, vectors = np.linalg.eigh((1.0 - share) * np.eye(p) + share * p * expected)
        root = (vectors / np.sqrt(values)) @ vectors.T
        rows = self.public @ root
        changed = _Waves(
            root @ self.gram @ root, root @ self.moment, self.test @ root, self.truth, rows
        )
        return changed, float(np.max(np.sum(rows**2, axis=1)))


def solutions(waves: _Waves, n: int, epsilon: float) -> dict[str, float]:
    """Errors of the releases that add noise to a solution, or to its objective.

    If residuals are clipped to 1 a penalty ``a |c|^2 / 2`` beside them makes a replaced record move
    the solution by at most ``2 / a``; in the norm of a shaped penalty by ``2 v / a`` with v the
    largest norm of a row (here of public ones: in its favour). That no residual reaches 1 is taken
    for granted, again in their favour. Objective perturbation has noise of slopes in [-1, 1].
    """
    unit = float(gaussian_sigma(epsilon=epsilon, delta=DELTA))
    p = len(waves.gram)
    default = balanced_penalty(n, p, unit, "record")
    alphas = np.append(_ALPHAS, default)
    bias, spread = waves.penalised(alphas)
    known = [record_sensitivity(alpha=float(a), label_bound=1.0, n_records=n) for a in alphas]
    record = bias + (unit * np.array(known)) ** 2
    found = {"ridge": record[-1], "ridge*": record.min()}
    found["clipped*"] = np.min(bias + (2.0 * unit / alphas) ** 2)
    errors = []
    for share in (0.5, 0.9, 0.99):
        changed, longest = waves.shaped(share)
        moved, _ = changed.penalised(alphas)
        rows = float(np.mean(np.sum(changed.test**2, axis=1)))
        errors.append(np.min(moved + (2.0 * unit / alphas) ** 2 * longest * rows))
    found["shaped*"] = min(errors)
    errors = [
        b + objective_noise(epsilon=epsilon, delta=DELTA, data_norm=1.0, jacobian=cost) ** 2 * s
        for a, b, s in zip(alphas, bias, spread, strict=True)
        if (cost := math.log1p(1.0 / a)) < 0.9 * epsilon
    ]
    found["objective*"] = min(errors)
    return {name: float(value) for name, value in found.items()}


def _drawn(model: Any, train: tuple[Array, Array], test: tuple[Array, Array]) -> float:
    """Mean squared error of one private fit."""
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        return float(np.mean((model.fit(*train).predict(test[0]) - test[1]) ** 2))


def _slow(law: Law, count: int, epsilon: float) -> bool:
    """Whether a descent takes minutes and is left out."""
    return (law.n >= 30_000 and count > 40) or (law.n > 30_000 and epsilon != 1.0)


def _trial(trial: Trial, *, law: Law) -> list[list[float]]:
    """Errors by budget and method."""
    X, y, test, truth = draw(law, trial.stream("data"))
    public, noise = trial.stream("public"), trial.stream("noise")
    places = public.uniform(-1.0, 1.0, (4000, law.d))
    found: dict[tuple[float, str], float] = {}
    for count, g in WAVES:
        if law.n > 30_000 and (count, g) not in ((40, 4.0), (10, 4.0)):
            continue
        omega = random_frequencies(law.d, count, gamma=g / law.d, rng=public)
        rows, rows_of = cos_sin_features(X, omega), cos_sin_features(test, omega)
        waves = _Waves(rows.T @ rows, rows.T @ y, rows_of, truth, cos_sin_features(places, omega))
        for epsilon in EPSILONS:
            errors = solutions(waves, law.n, epsilon)
            told = _stated(epsilon, noise, 1.0)
            statistics = SufficientStatisticsRegressor(neighboring="replace_one", **told)
            errors["statistics"] = _drawn(statistics, (rows, y), (rows_of, truth))
            if not _slow(law, count, epsilon):
                descent = NoisyGradientRegressor(**told)
                errors["gradients"] = _drawn(descent, (rows, y), (rows_of, truth))
            found |= {(epsilon, f"{k} {count} {g:g}"): e for k, e in errors.items()}
    for epsilon in EPSILONS:
        told = _stated(epsilon, noise, math.sqrt(law.d / 2.0))
        box = {"box": (-1.0, 1.0)} | {k: v for k, v in told.items() if k != "data_norm"}
        models = (
            NoisyGradientRegressor(**told),
            SufficientStatisticsRegressor(neighboring="replace_one", **told),
            PrivateAdditiveRegressor(**box),
        )
        for name, model in zip(ON_COLUMNS, models, strict=True):
            found[epsilon, name] = _drawn(model, (X, y), (test, truth))
    size = float(np.var(truth))
    return [[found.get((e, name), math.nan) / size for name in METHODS] for e in EPSILONS]


def _stated(epsilon: float, noise: np.random.Generator, norm: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon, "delta": DELTA, "bounds": (-1.0, 1.0), "data_norm": norm,
        "random_state": noise.spawn(1)[0],
    }  # fmt: skip


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(f"{v:.4g}") for v in values]


def cells(law: Law, n_trials: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """Mean errors and their standard errors at one law, a row per budget."""
    name = "dprf-choice-" + "-".join(map(str, law))
    runs = np.array(
        run_trials(partial(_trial, law=law), n_trials, seed=seed, name=name, progress=False)
    )
    se = np.full(runs.shape[1:], math.nan)
    if n_trials > 1:
        se = runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    return [
        {**law._asdict(), "epsilon": e, "trials": n_trials, "errors": _rounded(m), "se": _rounded(s)}
        for e, m, s in zip(EPSILONS, runs.mean(axis=0), se, strict=True)
    ]


def laws() -> Iterator[Law]:
    """The laws of the map, small ones first."""
    for n, d, shape in itertools.product(NS, DS, SHAPES):
        yield Law(n, d, shape)
    yield from CORNERS
