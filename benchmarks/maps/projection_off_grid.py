"""Budgets per entry off the grid: other laws, and tables of scikit-learn, through the
estimators.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression

from benchmarks.maps.projection import _rounded
from dplit._checks import Array
from dplit.advice.entries import _configure, errors_of
from dplit.advice.entry_errors import _CANDIDATES, EntryFacts, best_rows
from dplit.notebook.datasets.classification import scaled_table
from dplit_studies.trials import Trial, run_trials


class Case(NamedTuple):
    """Records by name and what a user would say of them; ``snr`` is the law's, or the table's."""

    data: str
    n: int
    d: int
    snr: float


OFF_GRID = (
    Case("uniform", 3000, 12, 4.0),
    Case("signs", 6000, 30, 2.0),
    Case("narrow", 5000, 8, 5.0),
    Case("correlated", 8000, 20, 20.0),
    Case("heavy", 4000, 10, 3.0),
    Case("uniform", 300, 60, 8.0),
    Case("diabetes", 442, 10, 1.07),
    Case("breast_cancer", 569, 30, 3.4),
    Case("digits", 1797, 61, 1.5),
)

OFF_BUDGETS: tuple[tuple[float, float | None], ...] = (
    (0.1, None),
    (0.35, None),
    (1.5, None),
    (4.0, 1e-5),
)

#: Guesses of the signal, over the truth.
GUESSES = {"known": 1.0, "ten times": 10.0, "a tenth": 0.1}


class Records(NamedTuple):
    """Records, responses, and what measures predictions: rows, their means, the law's error."""

    X: Array
    y: Array
    test: Array
    truth: Array
    noise: float

    def error(self, predicted: Array) -> float:
        """Squared error of predictions over the law's own (of tables: that of least squares)."""
        return 1.0 + float(np.mean((predicted - self.truth) ** 2)) / self.noise


def draw(case: Case, rng: np.random.Generator) -> Records:
    """Draw a law's records, or read a table, whose predictions are measured on its own rows."""
    if case.data in ("diabetes", "breast_cancer", "digits"):
        X, y = _table(case.data)
        fitted = np.asarray(LinearRegression().fit(X, y).predict(X))
        return Records(X, y, X, fitted, float(np.mean((y - fitted) ** 2)))
    X, test = _columns(case, case.n, rng), _columns(case, 2000, rng)
    theta = rng.standard_normal(case.d)
    theta *= math.sqrt(case.snr / np.var(test @ theta))
    noise = rng.standard_normal(case.n)
    if case.data == "heavy":
        noise = rng.standard_t(3.0, case.n) / math.sqrt(3.0)
    return Records(X, X @ theta + noise, test, test @ theta, 1.0)


def _table(name: str) -> tuple[Array, Array]:
    if name != "digits":
        return scaled_table(name)
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = found.data[:, found.data.std(axis=0) > 0.0] / 8.0 - 1.0
    return np.asarray(pixels), np.where(found.target % 2 == 1, 1.0, -1.0)


def _columns(case: Case, n: int, rng: np.random.Generator) -> Array:
    if case.data == "signs":
        return rng.choice([-1.0, 1.0], (n, case.d))
    if case.data == "narrow":
        return rng.uniform(-0.3, 0.5, (n, case.d))
    if case.data == "correlated":
        shared = rng.uniform(-1.0, 1.0, (n, 1))
        return np.asarray(0.7 * shared + 0.3 * rng.uniform(-1.0, 1.0, (n, case.d)))
    return rng.uniform(-1.0, 1.0, (n, case.d))


def _off_trial(trial: Trial, *, case: Case, budget: tuple[float, float | None]) -> list[float]:
    """Errors of the candidates at the guesses of the signal, then of a constant and of none."""
    data = draw(case, trial.stream("data"))
    noise, found = trial.stream("noise"), []
    for factor in GUESSES.values():
        facts = EntryFacts(case.n, case.d, factor * case.snr, *budget)
        rows, _ = best_rows(facts)
        for name in _CANDIDATES:
            ends = float(data.y.min()), float(data.y.max())  # responses are public here
            model = _configure(name, facts, rows, response_bounds=ends)
            model.set_params(random_state=noise.spawn(1)[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found.append(data.error(model.fit(data.X, data.y).predict(data.test)))
    fitted = LinearRegression().fit(data.X, data.y).predict(data.test)
    return [*found, data.error(np.full(len(data.test), data.y.mean())), data.error(fitted)]


def off_grid(
    case: Case, budget: tuple[float, float | None], n_trials: int, *, seed: int = 0
) -> dict[str, Any]:
    """Mean errors on one case, and what the advice loses there by guess of the signal."""
    name = "proj-choice-off-" + "-".join(map(str, (*case, *budget)))
    one = partial(_off_trial, case=case, budget=budget)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    row = {**case._asdict(), "epsilon": budget[0], "delta": budget[1], "trials": n_trials}
    return row | {"mean": _rounded(mean), "se": _rounded(se)} | losses(case, budget, mean)


def losses(case: Case, budget: tuple[float, float | None], mean: Array) -> dict[str, list[Any]]:
    """What is recommended by guess of the signal, and how much of what can be gained over a
    constant that loses to the best candidate at any guess.
    """
    names, (constant, bare) = list(_CANDIDATES), mean[-2:]
    errors, out = mean[:-2].reshape(len(GUESSES), len(names)), {}
    for got, (guess, factor) in zip(errors, GUESSES.items(), strict=True):
        facts = EntryFacts(case.n, case.d, factor * case.snr, *budget)
        said = errors_of(facts, best_rows(facts)[0])
        for publish in ("coefficients", "table"):
            kept = names if publish == "coefficients" else ["projection", "additive"]
            told = {"none": 1.0 + 0.95 * facts.snr} | {name: said[name] for name in kept}
            chosen = min(told, key=lambda name: told[name])
            reached = constant if chosen == "none" else got[names.index(chosen)]
            best = min(constant, *(errors[:, names.index(name)].min() for name in kept))
            lost = float((reached - best) / (constant - bare))
            out[f"{publish}, {guess}"] = [chosen, round(lost, 4)]
    return out
