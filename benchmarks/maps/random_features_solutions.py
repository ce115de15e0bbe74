"""Noise on a ridge solution: errors are exact over it."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.maps.random_features import (
    CORNERS,
    DELTA,
    DS,
    EPSILONS,
    METHODS,
    NS,
    ON_COLUMNS,
    SHAPES,
    WAVES,
    Law,
    draw,
)
from dplit._checks import Array
from dplit.additive import PrivateAdditiveRegressor
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._certified_ridge import balanced_penalty
from dplit.kernels.ridge_sensitivity import record_sensitivity
from dplit.linear.objective import objective_noise
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.mechanisms import gaussian_sigma
from dplit_studies.trials import Trial, run_trials

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


@lru_cache(maxsize=4096)
def _moved(alpha: float, n: int) -> float:
    return record_sensitivity(alpha=alpha, label_bound=1.0, n_records=n)


@lru_cache(maxsize=4096)
def _objective(alpha: float, epsilon: float) -> float:
    """Deviation of the linear term; inf where the Jacobian costs nearly all of epsilon."""
    cost = math.log1p(1.0 / alpha)
    if cost >= 0.9 * epsilon:
        return math.inf
    return objective_noise(epsilon=epsilon, delta=DELTA, data_norm=1.0, jacobian=cost)


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
    record = bias + (unit * np.array([_moved(float(a), n) for a in alphas])) ** 2
    found = {"ridge": record[-1], "ridge*": record.min()}
    found["clipped*"] = np.min(bias + (2.0 * unit / alphas) ** 2)
    errors = []
    for share in (0.5, 0.9, 0.99):
        changed, longest = waves.shaped(share)
        moved, _ = changed.penalised(alphas)
        rows = float(np.mean(np.sum(changed.test**2, axis=1)))
        errors.append(np.min(moved + (2.0 * unit / alphas) ** 2 * longest * rows))
    found["shaped*"] = min(errors)
    levels = np.array([_objective(float(a), epsilon) for a in alphas])
    found["objective*"] = np.min(bias + levels**2 * spread)
    return {name: float(value) for name, value in found.items()}


def _drawn(model: Any, train: tuple[Array, Array], test: tuple[Array, Array]) -> float:
    """Mean squared error of one private fit."""
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        return float(np.mean((model.fit(*train).predict(test[0]) - test[1]) ** 2))


def _slow(law: Law, count: int, g: float, epsilon: float) -> bool:
    """Whether a descent takes minutes at settings that teach little, and is left out."""
    if law.n < 30_000 or count == 10:
        return False
    if count > 40:
        return law.n > 30_000 or epsilon < 10.0 or (law.shape == "rough" and law.d == 2)
    wide = {"smooth": 1.0, "bends": 4.0, "rough": 16.0 if law.d == 2 else 4.0}[law.shape]
    return epsilon != 1.0 if law.n > 30_000 else g != wide


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
            if not _slow(law, count, g, epsilon):
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
        "epsilon": epsilon,
        "delta": DELTA,
        "bounds": (-1.0, 1.0),
        "data_norm": norm,
        "random_state": noise.spawn(1)[0],
    }


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
        {
            **law._asdict(),
            "epsilon": e,
            "trials": n_trials,
            "errors": _rounded(m),
            "se": _rounded(s),
        }
        for e, m, s in zip(EPSILONS, runs.mean(axis=0), se, strict=True)
    ]


def laws() -> Iterator[Law]:
    """The laws of the map, small ones first."""
    for n, d, shape in itertools.product(NS, DS, SHAPES):
        yield Law(n, d, shape)
    yield from CORNERS
