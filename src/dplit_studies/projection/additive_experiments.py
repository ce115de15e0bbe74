"""Simulations behind the statements on additive noise: what happens, beside what was bounded."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svdvals

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.entries.privacy import additive_sigma, row_variance
from dplit.entries.projections import (
    ProjectionRelease,
    fit_projection,
    release_projection,
    useful_correction,
)
from dplit.linear._moments import sufficient_statistics
from dplit.mechanisms import gaussian_sigma
from dplit.papers.projection.additive_bounds import perturbation_bound
from dplit.papers.projection.additive_noise import release_additive
from dplit.papers.projection.regression import least_squares, relative_error
from dplit.papers.projection.spectrum import spectrum
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, run_trials


def planted_problem(
    n_samples: int, n_features: int, *, root_snr: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw a uniform design in [-1, 1] and a normal response whose r(y) is exactly ``root_snr``."""
    d = check_integer("n_features", n_features)
    n = check_integer("n_samples", n_samples, minimum=d + 1)
    ratio = check_nonnegative("root_snr", root_snr)
    X = check_rng(rng).uniform(-1.0, 1.0, (n, d))
    signal, noise = X @ rng.standard_normal(d), rng.standard_normal(n)
    residual = noise - X @ least_squares(X, noise)
    scale = math.sqrt(n - d)
    y = residual * (scale / np.linalg.norm(residual))
    return X, y + signal * (ratio * scale / np.linalg.norm(signal))


class _PerturbationRatios(NamedTuple):
    """Largest ratios of the excess of the relative error to the excess that a bound allows."""

    printed: float
    improved: float


def perturbation_ratios(*, instances: int, rng: np.random.Generator) -> _PerturbationRatios:
    """Search random small problems for perturbations near Lemma 3; at most 1 if it holds.

    Gaussian ones and such of rank one, u in [0.01, 0.95], r(y) in [0.05, 20].
    """
    generator, worst = check_rng(rng), [0.0, 0.0]
    for k in range(check_integer("instances", instances)):
        d = int(generator.integers(1, 5))
        X = generator.uniform(-1, 1, (d + int(generator.integers(2, 8)), d))
        E = generator.standard_normal(X.shape)
        if k % 2:
            E = np.outer(generator.standard_normal(len(X)), generator.standard_normal(d))
        E *= generator.uniform(0.01, 0.95) * svdvals(X)[-1] / svdvals(E)[0]
        noise = generator.standard_normal(len(X))
        residual = noise - X @ least_squares(X, noise)
        signal = X @ generator.standard_normal(d)
        ratio = np.linalg.norm(residual) / np.linalg.norm(signal)
        y = residual + signal * ratio * np.exp(generator.uniform(np.log(0.05), np.log(20)))
        eta = relative_error(least_squares(X + E, y), X, y)
        printed = math.sqrt(perturbation_bound(X, y, E)) - 1
        improved = perturbation_bound(X, y, E, improved=True) - 1
        worst = [max(worst[0], (math.sqrt(eta) - 1) / printed), max(worst[1], (eta - 1) / improved)]
    return _PerturbationRatios(*worst)


def additive_errors(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, size: int, rng: np.random.Generator
) -> Array:
    """Draw relative errors of additive noise, each from a fresh release of the same data."""
    table, generator = check_finite_array("X", X, ndim=2), check_rng(rng)
    fits = [
        least_squares(release_additive(table, epsilon=epsilon, rng=generator), y)
        for _ in range(check_integer("size", size))
    ]
    return np.asarray(relative_error(np.array(fits), table, y))


def _correction_trial(
    trial: Trial, n_samples: int, n_features: int, epsilon: float, root_snr: float
) -> list[float]:
    X, y = planted_problem(n_samples, n_features, root_snr=root_snr, rng=trial.stream("data"))
    sigma = additive_sigma(epsilon=epsilon)
    noisy = release_additive(X, epsilon=epsilon, rng=trial.stream("noise"))
    release = ProjectionRelease(noisy, y)
    gram = noisy.T @ noisy - n_samples * sigma**2 * np.eye(n_features)
    fits = [
        least_squares(noisy, y),
        fit_projection(release, correction=useful_correction(release, variance=sigma**2)),
        np.linalg.solve(gram, noisy.T @ y),  # the whole noise subtracted, whatever comes out
    ]
    problem = spectrum(X, y)
    return [float(value) for value in problem.errors(problem.rotate(fits))]


def correction_errors(
    n_samples: int,
    n_features: int,
    *,
    epsilon: float,
    root_snr: float,
    n_trials: int,
    seed: int,
    n_jobs: int = 1,
) -> Runs:
    """Compare least squares on a noisy table with the estimators' correction and with all of it.

    "raw", "useful" and "full", on uniform designs of r(y) = ``root_snr`` with one release each.
    """
    bits, ratio = check_positive("epsilon", epsilon), check_nonnegative("root_snr", root_snr)

    def one(trial: Trial) -> list[float]:
        return _correction_trial(trial, n_samples, n_features, bits, ratio)

    name = f"proj-beyond-attenuation-{n_samples}-{n_features}-{bits:g}"
    rows = run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    return Runs(dict(zip(("raw", "useful", "full"), np.array(rows).T, strict=True)))


#: Name -> whether the responses are protected as well.
METHODS = {
    "no data: predict 0": True,
    "additive noise": False,
    "additive noise, corrected": False,
    "projection": False,
    "projection, corrected": False,
    "sufficient statistics": True,
}


class _RowBudget(Runs):
    """Relative errors of the :data:`METHODS`, (trials,) each, at one budget for replacing a row."""

    @property
    def wins(self) -> float:
        """Share of the trials in which sufficient statistics had the smallest error."""
        least = np.min(list(self.values.values()), axis=0)
        return float(np.mean(self.of("sufficient statistics") == least))

    @property
    def ahead(self) -> float:
        """Share of the trials in which the projection had a smaller error than additive noise."""
        return float(np.mean(self.of("projection") < self.of("additive noise")))


_row_variance = lru_cache(maxsize=8)(row_variance)  # every trial asks the same question


def _one_comparison(
    trial: Trial, n: int, d: int, n_components: int, epsilon: float, delta: float
) -> NDArray[np.float64]:
    """Relative errors (6,) of all methods, in the order of :data:`METHODS`, on one data set."""
    data, noise = trial.stream("data"), trial.stream("noise")
    X = data.uniform(-1.0, 1.0, (n, d))
    y = X @ data.standard_normal(d) + data.standard_normal(n)
    change, label_bound = 2.0 * math.sqrt(d), 3.0 * math.sqrt(d / 3.0 + 1.0)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=change)
    noisy = ProjectionRelease(X + sigma * noise.standard_normal((n, d)), y)
    variance = _row_variance(
        epsilon=epsilon, delta=delta, n_components=n_components, row_change=change
    )
    release = release_projection(X, y, n_components=n_components, variance=variance, rng=noise)
    moments = sufficient_statistics(
        X,
        y,
        epsilon=epsilon,
        delta=delta,
        data_norm=math.sqrt(d),
        label_bound=label_bound,
        neighboring="replace_one",
        rng=noise,
    )
    fits = [
        np.zeros(d),
        fit_projection(noisy),
        fit_projection(noisy, correction=useful_correction(noisy, variance=sigma**2)),
        fit_projection(release),
        fit_projection(release, correction=useful_correction(release, variance=variance)),
        moments.coef,
    ]
    problem = spectrum(X, y)
    return problem.errors(problem.rotate(np.array(fits)))


def compare_per_row(
    n_records: int,
    *,
    n_features: int,
    n_components: int,
    epsilon: float,
    delta: float,
    n_trials: int,
    seed: int,
    n_jobs: int = 1,
) -> _RowBudget:
    """Relative errors of every method at the same (epsilon, delta) for replacing one row.

    X is uniform on [-1, 1]; y has standard normal coefficients and unit noise.
    """
    n, d = check_integer("n_records", n_records), check_integer("n_features", n_features)
    m = check_integer("n_components", n_components, minimum=d)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    one = partial(_one_comparison, n=n, d=d, n_components=m, epsilon=epsilon, delta=delta)
    name = "proj-beyond-statistics"
    errors = np.array(run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    return _RowBudget(dict(zip(METHODS, errors.T, strict=True)))
