"""Waves off the grid: other laws and three tables, through the estimators that are recommended."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from benchmarks.maps.random_features import DELTA, METHODS, SHAPES
from benchmarks.maps.random_features_learnt import Row
from benchmarks.maps.random_features_solutions import _drawn, _rounded
from dplit._checks import Array
from dplit.advice._kernel_settings import CANDIDATES, USEFUL, KernelFacts, configure, gain, ranking
from dplit.notebook.datasets.papers import load_medical, load_wine
from dplit_studies.random_features.preparation import prepare
from dplit_studies.trials import Trial, run_trials


class Case(NamedTuple):
    """Data by name, records to learn from, columns, and what a user would say of the target."""

    data: str
    n: int
    d: int
    shape: str
    fill: float = 1.0


OFF_GRID = (
    Case("correlated", 1000, 8, "smooth"),
    Case("narrow", 4000, 12, "smooth", 0.3),
    Case("friedman", 5000, 10, "bends"),
    Case("steps", 2000, 3, "bends"),
    Case("peaks", 8000, 3, "rough"),
    Case("diabetes", 300, 11, "smooth"),
    Case("medical", 1000, 11, "smooth"),
    Case("wine", 5000, 11, "bends"),
)

OFF_EPSILONS = (0.3, 3.0)

#: Trials of each case at each budget.
OFF_TRIALS = 10

#: Public ranges of the tables' columns, in order, and of what is predicted.
_RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "diabetes": {
        "age": (18, 80),
        "bmi": (15, 50),
        "bp": (50, 140),
        "s1": (80, 320),
        "s2": (30, 250),
        "s3": (10, 110),
        "s4": (1, 10),
        "s5": (3, 7),
        "s6": (50, 150),
        "target": (0, 350),
    },
    "medical": {"age": (18, 65), "bmi": (10, 60), "children": (0, 6), "target": (0, 65_000)},
    "wine": {
        "fixed acidity": (3, 16),
        "volatile acidity": (0, 2),
        "citric acid": (0, 2),
        "residual sugar": (0, 70),
        "chlorides": (0, 1),
        "free sulfur dioxide": (0, 300),
        "total sulfur dioxide": (0, 450),
        "density": (0.98, 1.04),
        "pH": (2.5, 4.5),
        "sulphates": (0, 2.5),
        "alcohol": (8, 15),
        "target": (0, 10),
    },
}


def records_of(case: Case, rng: np.random.Generator) -> tuple[Array, ...]:
    """Records and labels to learn from, then those of tests: a table split anew, or a law."""
    if case.data in _RANGES:
        loader = load_wine if case.data == "wine" else load_medical
        table = prepare(
            loader("bundled" if case.data == "diabetes" else "paper"), bounds=_RANGES[case.data]
        )
        order = rng.permutation(len(table.y))
        X, y = 2.0 * table.X[order] - 1.0, 2.0 * table.y[order] - 1.0
        return X[: case.n], y[: case.n], X[case.n :], y[case.n :]
    X = _columns(case, case.n + 2000, rng)
    truth = case.fill * 0.4 * _unusual(case, X)
    y = np.clip(truth + 0.2 * case.fill * rng.standard_normal(len(X)), -1.0, 1.0)
    return X[: case.n], y[: case.n], X[case.n :], truth[case.n :]


def _columns(case: Case, count: int, rng: np.random.Generator) -> Array:
    X = rng.uniform(-1.0, 1.0, (count, case.d))
    if case.data == "correlated":
        return np.asarray(0.3 * X + 0.7 * rng.uniform(-1.0, 1.0, (count, 1)))
    return 0.4 * X + 0.1 if case.data == "narrow" else X


def _unusual(case: Case, X: Array) -> Array:
    """Targets of mean near 0 and deviation near 1, of other forms than those of the map."""
    if case.data == "correlated":
        values = np.tanh(2.0 * X[:, 0] + X[:, 1] - X[:, 2])
    elif case.data == "narrow":
        values = X[:, :4].sum(axis=1) ** 2 + 2.0 * X[:, 4]
    elif case.data == "friedman":
        Z = (X + 1.0) / 2.0
        values = 10.0 * np.sin(math.pi * Z[:, 0] * Z[:, 1]) + 20.0 * (Z[:, 2] - 0.5) ** 2
        values = values + 10.0 * Z[:, 3] + 5.0 * Z[:, 4]
    elif case.data == "steps":
        values = np.sign(X[:, 0] - 0.3) + np.abs(X[:, 1]) * 2.0
    else:
        values = np.exp(-8.0 * np.sum((X[:, :2] - 0.4) ** 2, axis=1))
        values = values - np.exp(-8.0 * np.sum((X[:, :2] + 0.4) ** 2, axis=1))
    return np.asarray((values - values.mean()) / values.std())


def _off_trial(trial: Trial, *, case: Case, epsilon: float) -> list[list[float]]:
    """Errors of the candidates at each guess of the shape."""
    X, y, test, truth = records_of(case, trial.stream("data"))
    public, noise = trial.stream("public"), trial.stream("noise")
    found = []
    for shape in SHAPES:
        facts = KernelFacts(case.n, case.d, shape, epsilon, DELTA, case.fill)
        errors = []
        for name in CANDIDATES:
            model, seed = configure(name, facts), noise.spawn(1)[0]
            if isinstance(model, Pipeline):
                model[0].set_params(random_state=public.spawn(1)[0])
                model[1].set_params(random_state=seed)
            else:
                model.set_params(random_state=seed)
            errors.append(_drawn(model, (X, y), (test, truth)) / float(np.var(truth)))
        found.append(errors)
    return found


def off_grid(case: Case, epsilon: float, n_trials: int, *, seed: int = 0) -> dict[str, Any]:
    """Mean errors on one case by guess of the shape, and what the advice loses."""
    name = "dprf-choice-off-" + "-".join(map(str, (*case, epsilon)))
    one = partial(_off_trial, case=case, epsilon=epsilon)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    se = runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    row = {**case._asdict(), "epsilon": epsilon, "trials": n_trials}
    row |= {"mean": [_rounded(x) for x in runs.mean(axis=0)], "se": [_rounded(x) for x in se]}
    return row | {"lost": losses(case, epsilon, np.array(row["mean"]))}


def losses(case: Case, epsilon: float, mean: Array) -> dict[str, list[Any]]:
    """By guess of the shape, or "unknown", what is recommended, and what that explains less than
    the best candidate at any guess, or than a constant.
    """
    out: dict[str, list[Any]] = {}
    # where nothing is thought of the shape, waves are those for bends
    for shape, errors in zip((*SHAPES, None), (*mean, mean[1]), strict=True):
        facts = KernelFacts(case.n, case.d, shape, epsilon, DELTA, case.fill)
        first = ranking(facts)[0]
        useful = gain(first, facts) >= USEFUL
        reached = errors[list(CANDIDATES).index(first)] if useful else 1.0
        lost = float(reached - min(1.0, float(np.min(mean))))
        out[shape or "unknown"] = [first if useful else "none", round(lost, 4)]
    return out


def summary(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Mean and largest loss off the grid: of advice to right guesses, to none, to wrong ones and to
    one who guesses the same of all tables; and of additive models everywhere, without any advice.
    """
    additive = list(CANDIDATES).index("additive")
    found = {
        "right": [row["lost"][row["shape"]][1] for row in rows],
        "none": [row["lost"]["unknown"][1] for row in rows],
        "wrong": [row["lost"][s][1] for row in rows for s in SHAPES if s != row["shape"]],
        **{f"always {s}": [row["lost"][s][1] for row in rows] for s in SHAPES},
        "additive": [
            row["mean"][SHAPES.index(row["shape"])][additive] - min(1.0, *map(min, row["mean"]))
            for row in rows
        ],
    }
    return {
        key: [round(float(np.mean(x)), 4), round(float(np.max(x)), 4)] for key, x in found.items()
    }


def archive(found: Sequence[Row], outside: Sequence[Row], *, seed: int) -> str:
    """Return the archive as text, a line per row."""
    head = {
        "about": "Errors of private regression on and beside random waves, replacement of a "
        "record: squared error of predictions over the variance of the target.",
        "seed": seed,
        "command": "python -m benchmarks.archive_random_features_choice",
        "delta": DELTA,
        "methods": METHODS,
        "summary": summary(outside),
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (("cells", found), ("cases", outside)):
        lines.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"
