"""Regressions on which a second public fact beside the strength is tried: laws and tables.

Columns that are independent, that follow two hidden factors, of which half are texts, or whose box
is loose; labels that few or many of them tell, bent, straight or as a product; signals, numbers of
columns and widths of label bounds that differ by factors of 8, 15 and 3.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score

from benchmarks.maps.face_off import DELTA, EPSILONS
from dplit._checks import Array
from dplit.streams import stream
from dplit.tables.facts import Problem
from dplit.tables.mechanisms import mechanism
from dplit_studies.face_off.tasks import _problem, load_task

COLUMNS = ("apart", "alike", "texts", "loose")

SIGNALS = ("few bent", "many bent", "few straight", "many straight", "product")

#: Tables that are made of each law.
TABLES = 6

#: Runs of each: records and noise are new, for bundled tables the split and noise.
RUNS, SPLITS = 3, 4

#: Held-out records of made tables.
_HELD = 3000

#: Training records of made tables, with weights: errors of the choice are those of small tables.
_SIZES = {200: 7, 280: 7, 350: 7, 500: 7, 700: 6, 1000: 6, 2000: 5, 5000: 3, 20_000: 2}

_WIDTHS = (5, 8, 12, 20, 40, 75)

#: Columns of tables with texts, and of those of 5,000 records and more: 75 after encoding, for
#: time.
_FEWER = (5, 8, 12, 20, 30)

EXPLAINED = (0.1, 0.3, 0.6, 0.85)

#: Width of label bounds in deviations of labels.
BOUNDS = (4.0, 6.0, 8.0, 12.0)

#: Training records to which bundled tables are cut.
_CUT = 280

_MECHANISMS = ("noisy_gradient", "additive")


class Cell(NamedTuple):
    """R2 of both mechanisms on one table at one epsilon, means over runs; n counts training.

    ``explained`` is the share of the labels' variance that columns can tell, ``width`` that of the
    label bounds in deviations of labels, ``alike`` whether columns follow hidden factors.
    """

    law: str
    table: str
    n: int
    columns: int
    epsilon: float
    explained: float
    width: float
    alike: bool
    lines: float
    shapes: float


class Law(NamedTuple):
    """What a made table is drawn from."""

    columns: str
    signal: str
    n: int
    width: int
    explained: float
    bounds: float
    middle: float
    skewed: bool


def laws(seed: int = 0) -> Iterator[tuple[str, Law]]:
    """Yield a name and what is drawn, for every table that is made."""
    for columns in COLUMNS:
        for signal in SIGNALS:
            for k in range(TABLES):
                rng = stream(seed, f"expected-{columns}-{signal}", "public", k)
                sizes = np.array(list(_SIZES.values())) / sum(_SIZES.values())
                n = int(rng.choice(list(_SIZES), p=sizes))
                wide = columns != "texts" and n < 5000
                bounds = float(rng.choice(BOUNDS))
                yield (
                    f"{columns}, {signal}, {k}",
                    Law(
                        columns,
                        signal,
                        n,
                        int(rng.choice(_WIDTHS if wide else _FEWER)),
                        float(rng.choice(EXPLAINED)),
                        bounds,
                        0.0 if bounds == BOUNDS[0] else float(rng.choice((0.0, 0.15, 0.25))),
                        bool(rng.uniform() < 0.25),
                    ),
                )


def _columns(law: Law, n: int, rng: np.random.Generator) -> Array:
    """Return columns in [-1, 1]."""
    if law.columns == "loose":
        return np.clip(rng.normal(size=(n, law.width)) * rng.uniform(0.1, 0.4, law.width), -1, 1)
    if law.columns == "alike":
        loads = rng.normal(size=(2, law.width)) * np.array([[1.0], [0.5]])
        loads[0] = abs(loads[0])
        loads /= np.sqrt((loads**2).sum(axis=0))
        own = rng.normal(size=(n, law.width))
        told = math.sqrt(0.7) * rng.normal(size=(n, 2)) @ loads + math.sqrt(0.3) * own
        return np.asarray(np.clip(0.4 * told, -1.0, 1.0))
    return rng.uniform(-1.0, 1.0, (n, law.width))


def _bent(z: Array, kind: int) -> Array:
    """Return one of four bent functions of a column of variance 1; the first is even."""
    if kind == 0:
        return z**2
    if kind == 1:
        return np.sin(2.5 * z)
    return (z > 0.3) + 0.3 * z if kind == 2 else np.exp(0.8 * z).clip(0.0, 6.0)


def made(law: Law, rng: np.random.Generator) -> Problem:
    """Return a table of a law: labels have variance 1, and rows beyond ``law.n`` are held out."""
    n = law.n + _HELD
    X = _columns(law, n, rng)
    unit = (X - X.mean(axis=0)) / X.std(axis=0)
    n_texts = law.width // 2 if law.columns == "texts" else 0
    ends = np.cumsum([0.5, 0.25, 0.15])
    texts = [np.searchsorted(ends, (X[:, k] + 1.0) / 2.0) for k in range(n_texts)]
    used = rng.permutation(law.width)[: law.width if law.signal.startswith("many") else 3]
    alike = law.columns == "alike"
    signal = np.zeros(n)
    if law.signal == "product":
        signal = unit[:, used[0]] * unit[:, used[1]] + 0.5 * unit[:, used[2]]
        used = used[:0]
    for k in used:
        if k < n_texts:
            part = rng.normal(size=4)[texts[k]]
        elif law.signal.endswith("straight"):
            part = unit[:, k]
        else:
            part = _bent(unit[:, k], int(rng.integers(1, 4) if alike else rng.integers(4)))
        size = rng.uniform(0.5, 1.5) * (1.0 if alike else rng.choice((-1.0, 1.0)))
        signal += size * (part - part.mean()) / part.std()
    signal = (signal - signal.mean()) / signal.std()
    noise = rng.exponential(1.0, n) - 1.0 if law.skewed else rng.normal(size=n)
    y = math.sqrt(law.explained) * signal + math.sqrt(1.0 - law.explained) * noise
    middle = law.middle * law.bounds  # above the mean of labels, which is 0
    public = {"bounds": (middle - law.bounds / 2.0, middle + law.bounds / 2.0)}
    told: list[Any] = [(column, range(4)) for column in texts]
    return _problem("made", "regression", X[:, n_texts:], y, public, (-1.0, 1.0), told)


def _scores(
    problem: Problem, train: np.ndarray, test: np.ndarray, title: str, run: int, seed: int
) -> Array:
    """R2 on held-out records, of shape (epsilons, mechanisms)."""
    found = np.empty((len(EPSILONS), len(_MECHANISMS)))
    for i, epsilon in enumerate(EPSILONS):
        for j, name in enumerate(_MECHANISMS):
            rng = stream(seed, f"expected-{title}-{name}", "noise", run * len(EPSILONS) + i)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of noise that leaves no time
                model, _ = mechanism(name, "regression").fit(
                    problem, rows=train, epsilon=epsilon, delta=DELTA, random_state=rng
                )
            found[i, j] = model.score(problem.X[test], problem.y[test])
    return found


def _cells(scores: Array, **facts: Any) -> list[dict[str, Any]]:
    """Return a row for each epsilon."""
    means = scores.round(4).tolist()
    return [
        Cell(**facts, epsilon=epsilon, lines=means[i][0], shapes=means[i][1])._asdict()
        for i, epsilon in enumerate(EPSILONS)
    ]


def measured_law(title: str, law: Law, seed: int = 0) -> list[dict[str, Any]]:
    """Return the cells of a made table."""
    scores = np.zeros((len(EPSILONS), len(_MECHANISMS)))
    for run in range(RUNS):
        problem = made(law, stream(seed, f"expected-{title}", "data", run))
        held = np.arange(law.n, law.n + _HELD)
        scores += _scores(problem, np.arange(law.n), held, title, run, seed) / RUNS
    return _cells(
        scores,
        law=f"{law.columns}, {law.signal}",
        table=title,
        n=law.n,
        columns=law.width,
        explained=law.explained,
        width=law.bounds,
        alike=law.columns == "alike",
    )


def _box(X: Array) -> Any:
    """Return ends a tenth beyond the values; of columns that are not negative the lower is 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    gap = np.where(high > low, high - low, 1.0)
    return np.where(low >= 0.0, 0.0, low - 0.1 * gap), high + 0.1 * gap


def bundled() -> Iterator[tuple[str, Problem, bool]]:
    """Yield names, tables that exist and whether their columns are alike; boxes are not private."""
    X, _ = datasets.load_breast_cancer(return_X_y=True)
    pixels, numbers = datasets.load_digits(return_X_y=True)
    for name, rows, y, alike in (
        ("cells, fractal dimension", X[:, :9], X[:, 9], True),
        ("cells, worst area", X[:, :10], X[:, 23], True),
        ("cells, worst concave points", X[:, :20], X[:, 27], True),
        ("cells, error of texture", np.delete(X, 11, axis=1), X[:, 11], True),
        ("digits, number", pixels, numbers.astype(float), False),
        ("digits, a pixel", np.delete(pixels, 36, axis=1), pixels[:, 36], False),
    ):
        public = {"bounds": tuple(float(end) for end in _box(y))}
        yield name, _problem(name, "regression", rows, y, public, _box(rows)), alike
    for name in ("wine", "medical cost"):  # diabetes are among the tables of the rule
        yield name, load_task(name, "paper"), False


def measured_table(
    name: str, problem: Problem, alike: bool, cut: bool, loose: bool, seed: int = 0
) -> list[dict[str, Any]]:
    """Return the cells of a bundled table, whole or cut, with its label bounds or twice as wide."""
    n = int(0.7 * len(problem.y))
    size = min(n, _CUT) if cut else n
    low, high = problem.public["bounds"]
    if loose:
        problem = replace(problem, public={"bounds": (low, 2.0 * high - low)})
    scores = np.zeros((len(EPSILONS), len(_MECHANISMS)))
    title = f"{name}, {size}{', loose' if loose else ''}"
    for run in range(SPLITS):
        order = stream(seed, f"expected-{name}", "public", run).permutation(len(problem.y))
        scores += _scores(problem, order[:size], order[n:], title, run, seed) / SPLITS
    folds = KFold(3, shuffle=True, random_state=seed)
    told = max(
        float(cross_val_score(model, problem.X, problem.y, cv=folds).mean())
        for model in (RidgeCV(), HistGradientBoostingRegressor(max_iter=60, random_state=0))
    )
    ends = problem.public["bounds"]
    return _cells(
        scores,
        law=name,
        table=title,
        n=size,
        columns=problem.X.shape[1] - sum(map(len, problem.indicators)) + len(problem.indicators),
        explained=round(max(told, 0.0), 3),
        width=round(float((ends[1] - ends[0]) / problem.y.std()), 2),
        alike=alike,
    )
