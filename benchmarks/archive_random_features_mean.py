"""What private ridge on waves gains from a mean that is released first: laws, tables, indicators.

The estimator as it comes, without the mean, and at the earlier width with and without it; all on
the same records and frequencies. Errors are squared ones of predictions over the variance of what
is predicted, so that a constant has 1. ``python -m benchmarks.archive_random_features_mean`` writes
`results/random_features_mean.json`; :func:`rows` of one place is fast.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.maps import write
from benchmarks.maps.random_features import CORNERS, SHAPES, Law, draw
from benchmarks.maps.random_features_off_grid import OFF_GRID, records_of
from dplit import PrivateRandomFeatureRegressor
from dplit.streams import stream
from dplit.tables.facts import Problem
from dplit_studies.face_off.tasks import load_task

Array = np.ndarray
TARGET = Path(__file__).parent.parent / "results" / "random_features_mean.json"

EPSILONS, SEEDS = (0.3, 1.0, 3.0, 10.0), range(5)

#: Settings by name; a width of "1/d" is that of the tables' comparison before.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "no mean": {"fit_intercept": False},
    "no mean, 1/d": {"fit_intercept": False, "gamma": "1/d"},
    "1/d": {"gamma": "1/d"},
}

#: Numbers of texts and of the values of each.
TEXTS = ((3, 4), (8, 5))


def of_table(problem: Problem, rng: np.random.Generator) -> tuple[Array, ...]:
    """Split a table anew; columns and labels in the units of its public bounds."""
    order, (low, high) = rng.permutation(len(problem.X)), problem.public["bounds"]
    y = 2.0 * (np.clip(problem.y, low, high) - low) / (high - low) - 1.0
    X, cut = problem.X / ((problem.box[1] - problem.box[0]) / 2.0), int(0.7 * len(order))
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def indicators(
    n: int, texts: int, values: int, skewed: bool, rng: np.random.Generator
) -> tuple[Array, ...]:
    """Three numbers and an indicator of each value of some texts, rare values among them. Labels
    fill their bounds around the middle, or lie at their lower end with a long tail.
    """
    X = rng.uniform(-1.0, 1.0, (n + 2000, 3))
    signal, columns = X[:, 0] + 0.5 * X[:, 1], [X]
    often = np.arange(values, 0.0, -1.0)
    for k in range(texts):
        text = rng.choice(values, len(X), p=often / often.sum())
        columns.append(2.0 * (text[:, None] == np.arange(values)))  # in half widths of [0, 1]
        signal = (
            signal + (0.5, -0.5, 1.0, -1.0, 0.0)[k % 5] * (text % 3) + 0.5 * (text == 1) * X[:, 0]
        )
    truth = 0.4 * (signal - signal.mean()) / signal.std()
    y = np.clip(truth + 0.2 * rng.standard_normal(len(X)), -1.0, 1.0)
    if skewed:
        y = truth = np.clip(np.exp(1.25 * y) / 4.0 - 1.0, -1.0, 1.0)
    rows = np.column_stack(columns)
    return rows[:n], y[:n], rows[n:], truth[n:]


def places() -> Iterator[tuple[str, str, Callable[[np.random.Generator], tuple[Array, ...]]]]:
    """Kind, name and records of every place, from a generator."""
    for n in (300, 3000, 20_000):
        for d in (2, 5, 20):
            for shape in SHAPES:
                yield "map", f"{shape}, {d} columns, {n}", partial(draw, Law(n, d, shape))
    for law in CORNERS:
        if law.fill < 1.0:
            yield "narrow labels", f"{law.shape}, {law.d} columns, {law.n}", partial(draw, law)
    for case in OFF_GRID:
        if case.data not in ("diabetes", "medical", "wine"):
            yield "off the map", case.data, partial(records_of, case)
    for name in ("diabetes", "medical cost", "wine", "Friedman"):
        yield "tables", name, partial(of_table, load_task(name, "paper"))
    for n in (300, 3000, 20_000):
        for texts, values in TEXTS:
            for skewed in (False, True):
                name = f"{texts} texts of {values}, {'skewed' if skewed else 'even'}, {n}"
                yield "indicators", name, partial(indicators, n, texts, values, skewed)


def errors(X: Array, y: Array, test: Array, truth: Array, epsilon: float, seed: int) -> list[float]:
    """Errors of the settings, in order."""
    found = []
    for settings in SETTINGS.values():
        told = settings | ({"gamma": 1.0 / X.shape[1]} if "gamma" in settings else {})
        model = PrivateRandomFeatureRegressor(
            epsilon=epsilon, box=(-1.0, 1.0), bounds=(-1.0, 1.0), random_state=seed, **told
        )
        with warnings.catch_warnings(action="ignore"):  # that noise rules is what is measured
            missed = model.fit(X, y).predict(test) - truth
        found.append(float(np.mean(missed**2) / np.var(truth)))
    return found


def rows(
    kind: str, name: str, make: Callable[[np.random.Generator], tuple[Array, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield means over the seeds and standard errors of what the default gains on each setting."""
    data = [make(stream(seed, f"waves-mean-{kind}-{name}", "data")) for seed in SEEDS]
    for epsilon in EPSILONS:
        found = np.array([errors(*one, epsilon, s) for s, one in zip(SEEDS, data, strict=True)])
        gained = found[:, 1:] - found[:, :1]
        se = gained.std(axis=0, ddof=1) / math.sqrt(len(SEEDS))
        yield {
            "kind": kind,
            "name": name,
            "epsilon": epsilon,
            "errors": [round(float(x), 4) for x in found.mean(axis=0)],
            "se": [round(float(x), 4) for x in se],
        }


def main() -> None:
    """Measure everything and write the archive."""
    made = []
    for place in [*places()]:  # a table that is not here is refused before anything is measured
        made += rows(*place)
        print(place[:2], flush=True)
    head = {
        "about": "Squared errors over the variance of the target, mean of five fits; standard "
        "errors of the differences from the first setting.",
        "command": "python -m benchmarks.archive_random_features_mean",
        "settings": list(SETTINGS),
        "seeds": len(SEEDS),
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    lines.append('"rows": [\n' + ",\n".join(json.dumps(row) for row in made) + "\n]")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    write(TARGET, text)


if __name__ == "__main__":
    main()
