"""The evidence behind :mod:`dplit.advice.entry_errors`: simulations beside its closed forms.

Releases are drawn through their second moments, exactly, for normal columns of variance 1/3; other
laws and real tables go through the estimators themselves. All candidates meet the same records.
"""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.maps.projection_rivals import _largest_response
from dplit._checks import Array
from dplit.advice.entry_errors import (
    EntryFacts,
    _bits,
    _entry_power,
    _noise_share,
    additive_error,
    best_rows,
    moments_error,
    projection_error,
)
from dplit.entries._moments import entry_variances, solve_moments
from dplit.entries.projections import _useful_amount
from dplit.papers.projection.laws import _projected_moments
from dplit.papers.projection.samplers import _additive_moments, bartlett_factor
from dplit.papers.projection.spectrum import _spectra_from_moments
from dplit_studies.trials import Trial, run_trials

#: Axes of the map.
DS, RATIOS, SNRS = (5, 50, 800), (2, 10, 50, 250, 2500), (0.1, 1.0, 10.0, 300.0)

BUDGETS: tuple[tuple[float, float | None], ...] = (
    (0.05, None),
    (0.2, None),
    (0.5, None),
    (1.0, None),
    (2.0, None),
)

#: Budgets in (epsilon, delta) of an entry, for 50 columns.
PAIRS: tuple[tuple[float, float | None], ...] = ((1.0, 1e-6), (8.0, 1e-6))


#: Corners that are simulated: columns, rows per column, signal, bits; and trials by columns.
CORNERS = (
    *itertools.product((5, 50), (2, 2500), (0.1, 300.0), (0.05, 0.5, 2.0)),
    (800, 10, 300.0, 0.5),
    (800, 50, 1.0, 0.2),
)

TRIALS = {5: 80, 50: 16, 800: 2}


def facts_of(d: int, ratio: int, snr: float, budget: tuple[float, float | None]) -> EntryFacts:
    """EntryFacts at one cell of the map."""
    return EntryFacts(d * ratio, d, snr, *budget)


def _corrected(gram: Array, cross: Array, energy: float, rows: int, noise: float) -> Array:
    """The estimators' corrected fit, from second moments."""
    values, vectors = np.linalg.eigh(gram)
    right = vectors.T @ cross
    left = energy - float(right @ (right / values))
    off = _useful_amount((rows, len(cross)), float(values.sum()), energy, max(left, 0.0), noise)
    return np.asarray(vectors @ (right / (values - min(off, 0.8 * float(values[0])))))


def _trial(trial: Trial, *, facts: EntryFacts, rows: int) -> list[float]:
    """Errors of a trial: additive and projection, plain and corrected, and moments."""
    n, d, snr, *_ = facts
    data, noise = trial.stream("data"), trial.stream("noise")
    T = bartlett_factor(n, d, rng=data)
    theta = data.standard_normal(d)
    theta *= math.sqrt(3.0 * snr) / np.linalg.norm(theta)
    design = T / math.sqrt(3.0)
    inside, outside = data.standard_normal(d), float(data.chisquare(n - d))
    seen = design @ theta + inside
    energy = float(seen @ seen) + outside
    (problem,) = _spectra_from_moments(design.T @ design, (design.T @ seen)[:, None], [energy])
    share, spread = _noise_share(facts, rows), 1.0 / _entry_power(facts)
    ((gram, cross),) = _additive_moments([problem], [math.sqrt(spread)], n, noise)
    cross = cross[:, 0]
    fits = [np.linalg.solve(gram, cross), _corrected(gram, cross, energy, n, spread)]
    ((gram, cross, energies),) = _projected_moments([problem], [rows * share], rows, noise)
    cross = cross[:, 0]
    fits += [np.linalg.solve(gram, cross)]
    fits += [_corrected(gram, cross, float(energies[0]), rows, rows * share)]
    fits.append(_moments_fit(problem, facts, energy, noise))
    truth = problem.rotate(theta)
    return [1.0 + float(np.sum((fit - truth) ** 2)) / 3.0 for fit in fits]


def _moments_fit(problem: Any, facts: EntryFacts, energy: float, rng: np.random.Generator) -> Array:
    n, d = facts.n, facts.d
    largest = math.sqrt(_largest_response(facts))
    mean = energy / n / largest**2
    g, c = entry_variances(
        epsilon=_bits(1.0 / _entry_power(facts)), n_features=d, ones=1, response_energy=mean
    )
    square = math.sqrt(g / 2.0) * rng.standard_normal((d, d))
    gram = np.diag(problem.energies) + square + square.T
    cross = np.sqrt(problem.energies) * problem.scores / largest
    cross = cross + math.sqrt(c) * rng.standard_normal(d)
    theta, _ = solve_moments(gram, cross, variances=(g, c), n_samples=n, response_energy=mean)
    return theta * largest


def simulate(facts: EntryFacts, n_trials: int, *, seed: int = 0) -> Array:
    """Errors (trials, 5) of the first five methods; projections at the best number of rows."""
    rows, _ = best_rows(facts)
    name = "proj-choice-" + "-".join(f"{value:g}" for value in facts[:4])
    one = partial(_trial, facts=facts, rows=rows)
    return np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))


def corner(facts: EntryFacts, n_trials: int, *, seed: int = 0) -> dict[str, Any]:
    """One simulated corner: closed forms, means and standard errors, at the same rows."""
    rows, _ = best_rows(facts)
    formulas = (
        additive_error(facts, corrected=False),
        additive_error(facts),
        projection_error(facts, rows, corrected=False),
        projection_error(facts, rows),
        moments_error(facts),
    )
    found = simulate(facts, n_trials, seed=seed)
    return {
        **facts._asdict(),
        "rows": rows,
        "trials": n_trials,
        "spread": _spread(found[:, 4]),
        "formula": _rounded(formulas),
        "mean": _rounded(found.mean(axis=0)),
        "se": _rounded(found.std(axis=0, ddof=1) / math.sqrt(n_trials)),
    }


def _spread(errors: Array) -> float:
    """Deviation of a single run over its mean excess."""
    return round(float(errors.std(ddof=1) / (errors.mean() - 1.0)), 4)


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
