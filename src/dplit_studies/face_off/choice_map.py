"""What :func:`dplit.face_off.choice.recommend` was learnt on: scores of mechanisms on many tables.

Tables that anybody can make: scikit-learn's generators at three strengths of signal, and its
bundled data. Those of other packages are in the archive as numbers alone.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import curve_fit
from scipy.special import expit
from sklearn import datasets

from dplit._checks import Array
from dplit.face_off.choice import ranked, strength
from dplit.face_off.choosing import _chosen
from dplit.face_off.exploring import _plain_models
from dplit.face_off.mechanisms import mechanism
from dplit.face_off.tables import Problem
from dplit.face_off.tasks import _problem, load_task
from dplit.streams import stream
from dplit_studies.face_off.comparison import score

EPSILONS = (0.3, 1.0, 3.0, 10.0)

DELTA = 1e-6

#: Share of the labels' variance that noise has, and of labels that are those of other records.
NOISE = {"strong": 0.05, "medium": 0.5, "weak": 0.9}

WRONG = {"strong": 0.0, "medium": 0.2, "weak": 0.6}

#: Splits by number of records. Cut for time: the largest have one, and medium signal only.
SPLITS = {500: 4, 5000: 2, 30_000: 1}

#: What the rule chooses from, in each kind of task.
CANDIDATES = {
    "regression": ("noisy_gradient", "additive"),
    "classes": ("objective_perturbation", "noisy_gradient", "additive"),
    "many": ("noisy_gradient", "additive"),
}

#: Limits of strength that are tried.
_LIMITS = (0.0, *np.geomspace(1.0, 1000.0, 31).round(1).tolist(), math.inf)


class Row(NamedTuple):
    """Scores (R2 or accuracy, means over splits) on one table at one epsilon; n trains."""

    table: str
    kind: str
    n: int
    columns: int
    classes: int | None
    epsilon: float
    trivial: float
    scores: dict[str, float]


def _rescaled(signal: Array, noise: float, rng: np.random.Generator) -> Array:
    """Return labels of mean 0 and variance 1, of which noise has a share."""
    unit = (signal - signal.mean()) / signal.std()
    return np.asarray(
        math.sqrt(1.0 - noise) * unit + math.sqrt(noise) * rng.standard_normal(len(unit))
    )


def _bent(n: int, signal: str, rng: np.random.Generator) -> Problem:
    X, y = datasets.make_friedman1(n, noise=0.0, random_state=int(rng.integers(2**31)))
    y = _rescaled(y, NOISE[signal], rng)
    return _problem("bent", "regression", X, y, {"bounds": (-3.0, 3.0)}, (0.0, 1.0))


def _straight(n: int, signal: str, rng: np.random.Generator) -> Problem:
    X, y = datasets.make_regression(n, 20, n_informative=8, random_state=int(rng.integers(2**31)))
    y = _rescaled(y, NOISE[signal], rng)
    return _problem("straight", "regression", X, y, {"bounds": (-3.0, 3.0)}, (-3.0, 3.0))


def _texts(n: int, signal: str, rng: np.random.Generator) -> Problem:
    """Four columns of numbers, of which two are skewed, and three of texts."""
    X = np.column_stack([rng.uniform(0.0, 1.0, (n, 2)), rng.exponential(0.1, (n, 2))])
    texts = rng.integers(5, size=(n, 3))
    effects = rng.standard_normal((3, 5))
    y = 2.0 * X[:, 0] + np.sqrt(X[:, 2]) + 0.3 * sum(effects[k][texts[:, k]] for k in range(3))
    told: list[Any] = [(texts[:, k], range(5)) for k in range(3)]
    y = _rescaled(y, NOISE[signal], rng)
    return _problem("texts", "regression", X, y, {"bounds": (-3.0, 3.0)}, (0.0, 1.0), told)


def _flipped(y: Array, signal: str, rng: np.random.Generator) -> Array:
    """Return classes of which a share are those of other records."""
    moved = rng.uniform(size=len(y)) < WRONG[signal]
    return np.where(moved, y[rng.permutation(len(y))], y).astype(int)


def _sphere(n: int, signal: str, rng: np.random.Generator) -> Problem:
    X, y = datasets.make_hastie_10_2(n, random_state=int(rng.integers(2**31)))
    y = _flipped(y > 0, signal, rng)
    return _problem("sphere", "classification", X, y, {"classes": (0, 1)}, (-3.0, 3.0))


def _clusters(n: int, signal: str, rng: np.random.Generator, name: str = "clusters") -> Problem:
    """Of normal clusters one class; rare ones, or columns that are skewed, by the name."""
    X, y = datasets.make_classification(
        n, 15, n_informative=5, class_sep=1.5, flip_y=0.0,
        weights=[0.93] if name == "rare" else None, random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    ranges = (-5.0, 5.0)
    if name == "skewed":
        X, ranges = np.exp(X), (0.0, math.exp(4.0))
    y = _flipped(y, signal, rng)
    return _problem(name, "classification", X, y, {"classes": (0, 1)}, ranges)


def _shells(n: int, signal: str, rng: np.random.Generator) -> Problem:
    X, y = datasets.make_gaussian_quantiles(
        n_samples=n, n_features=5, n_classes=4, random_state=int(rng.integers(2**31))
    )
    y = _flipped(y, signal, rng)
    return _problem("shells", "classification", X, y, {"classes": (0, 1, 2, 3)}, (-3.0, 3.0))


def _digits() -> Problem:
    X, y = datasets.load_digits(return_X_y=True)
    return _problem("digits", "classification", X, y, {"classes": tuple(range(10))}, (0.0, 16.0))


_MAKERS: dict[str, Callable[[int, str, np.random.Generator], Problem]] = {
    "bent": _bent, "straight": _straight, "texts": _texts, "sphere": _sphere,
    "clusters": _clusters, "shells": _shells,
    "rare": lambda n, signal, rng: _clusters(n, signal, rng, "rare"),
    "skewed": lambda n, signal, rng: _clusters(n, signal, rng, "skewed"),
}  # fmt: skip

#: Those of the face-off's tasks that scikit-learn ships, and all ten digits.
_BUNDLED = ("diabetes", "breast cancer", "digits 4/9", "digits parity", "moons", "digits")


def tables(seed: int = 0) -> Iterator[tuple[str, Problem, int]]:
    """Yield name, table and number of splits."""
    for name, make in _MAKERS.items():
        for n, splits in SPLITS.items():
            for signal in NOISE if n < 30_000 else ("medium",):
                title = f"{name}, {signal}, {n}"
                yield title, make(n, signal, stream(seed, f"choice-{title}", "data")), splits
    for name in _BUNDLED:
        problem = _digits() if name == "digits" else load_task(name, "bundled")
        if problem is not None:
            yield name, problem, 4


def kind_of(problem: Problem) -> str:
    """Return the kind of task, as the rule calls it."""
    if problem.task == "regression":
        return "regression"
    return "classes" if len(problem.public["classes"]) == 2 else "many"


def measure(title: str, problem: Problem, *, splits: int, seed: int) -> list[Row]:
    """Scores of the candidates, all at their defaults, at each epsilon."""
    kind = kind_of(problem)
    names = CANDIDATES[kind]
    totals, trivial = np.zeros((len(EPSILONS), len(names))), 0.0
    for split in range(splits):
        order = stream(seed, f"choice-{title}", "public", split).permutation(len(problem.X))
        train, test = np.split(order, [int(0.7 * len(order))])
        trivial += _trivial(problem, test) / splits
        for i, epsilon in enumerate(EPSILONS):
            for j, name in enumerate(names):
                rng = stream(seed, f"choice-{title}-{name}", "noise", split * len(EPSILONS) + i)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model, _ = mechanism(name, problem.task).fit(
                        problem, rows=train, epsilon=epsilon, delta=DELTA, random_state=rng
                    )
                totals[i, j] += score(problem, model, test) / splits
    facts = measured_facts(problem)
    return [
        Row(
            title, kind, facts["n"], facts["n_columns"], facts["n_classes"], epsilon,
            round(trivial, 4), dict(zip(names, totals[i].round(4).tolist(), strict=True)),
        )
        for i, epsilon in enumerate(EPSILONS)
    ]  # fmt: skip


def measured_facts(problem: Problem) -> dict[str, Any]:
    """Public facts of the training records, as the rule takes them; a text is one column."""
    wide = sum(map(len, problem.indicators)) - len(problem.indicators)
    classes = problem.public.get("classes")
    return {
        "task": problem.task, "n": int(0.7 * len(problem.X)),
        "n_columns": problem.X.shape[1] - wide, "n_classes": classes and len(classes),
    }  # fmt: skip


def private_choice(title: str, problem: Problem, *, seed: int) -> list[dict[str, Any]]:
    """Scores of the rule and of a private choice between its two, on one split and its budget."""
    order = stream(seed, f"choice-{title}", "public").permutation(len(problem.X))
    train, test = np.split(order, [int(0.7 * len(order))])
    facts, found = measured_facts(problem), []
    part = replace(problem, X=problem.X[train], y=problem.y[train])
    for i, epsilon in enumerate(EPSILONS):
        names = ranked(**facts, epsilon=epsilon, delta=DELTA)
        rng = stream(seed, f"choice-{title}-private", "noise", i)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, _ = mechanism(names[0], problem.task).fit(
                part, epsilon=epsilon, delta=DELTA, random_state=rng
            )
            best, fits, _ = _chosen(
                part, [mechanism(name, problem.task) for name in names], epsilon, DELTA, 0.2, rng
            )
        scores = [round(score(problem, one, test), 4) for one in (model, fits[best][0])]
        found.append({
            "table": title, "epsilon": epsilon, "recommended": names[0], "chosen": names[best],
            "rule": scores[0], "private": scores[1],
        })  # fmt: skip
    return found


def _trivial(problem: Problem, rows: np.ndarray) -> float:
    if problem.task == "regression":
        return 0.0
    return float(np.unique(problem.y[rows], return_counts=True)[1].max() / len(rows))


def free_models(task: str) -> dict[str, Any]:
    """Models without privacy, as :func:`dplit.face_off.exploring.explore` has them."""
    return _plain_models(task, False)


# --- what is learnt of the rows ---------------------------------------------------------------


def family(row: Row) -> str:
    """Return the table of a row without its size and signal: what is left out together."""
    return row.table.split(", ")[0]


_strength = cache(strength)


def reach(row: Row) -> float:
    """Return the strength of a row, which is all that the rule sees of its numbers."""
    return _strength(row.n, row.columns, row.epsilon, DELTA)


def regret(row: Row, name: str) -> float:
    """How much better the best candidate, or a constant, did than the one that is named."""
    return max(row.trivial, *row.scores.values()) - row.scores[name]


class Limit(NamedTuple):
    """Below a strength one mechanism, from it on additive models."""

    lines: str
    strength: float

    def named(self, row: Row) -> str:
        """Return what the rule names for a row."""
        return self.lines if reach(row) < self.strength else "additive"


def mean_regret(rows: Sequence[Row], limit: Limit) -> float:
    """Mean over rows; 0 for none."""
    return float(np.mean([regret(row, limit.named(row)) for row in rows])) if rows else 0.0


def best_limit(rows: Sequence[Row]) -> Limit:
    """Return the limit of least mean regret; of equal ones the first."""
    names = [name for name in rows[0].scores if name != "additive"]
    tried = [Limit(name, at) for name in names for at in _LIMITS]
    return min(tried, key=lambda limit: round(mean_regret(rows, limit), 6))


def left_out(rows: Sequence[Row]) -> list[tuple[Row, float]]:
    """Regret of every row under the limit that is learnt without its table."""
    found = []
    for name in dict.fromkeys(map(family, rows)):
        limit = best_limit([row for row in rows if family(row) != name])
        found += [(row, regret(row, limit.named(row))) for row in rows if family(row) == name]
    return found


class Curve(NamedTuple):
    """Share of what can be gained, ``expit(a + b ln r)``, its deviation, and median errors."""

    a: float
    b: float
    spread: float
    trivial: float
    best: float


def fitted_curve(rows: Sequence[Row], limit: Limit) -> Curve:
    """Fit the share that the recommended mechanism gains of the best score met on its table.

    Shares below -1 count as -1, and tables on which less than 0.02 can be gained do not count.
    """
    tables_: dict[str, list[Row]] = {}
    for row in rows:
        tables_.setdefault(row.table.removesuffix(", a tenth"), []).append(row)
    points, errors = [], []
    for held in tables_.values():
        top = max(max(row.scores.values()) for row in held)
        trivial = held[0].trivial
        if top - trivial < 0.02:
            continue
        errors.append((1.0 - trivial, 1.0 - top))
        for row in held:
            share = (row.scores[limit.named(row)] - row.trivial) / (top - row.trivial)
            points.append((math.log(reach(row)), max(share, -1.0)))
    x, y = np.array(points).T
    (a, b), _ = curve_fit(lambda x, a, b: expit(a + b * x), x, y, p0=(-3.0, 1.0))
    spread = float(np.std(y - expit(a + b * x)))
    trivial, best = np.median(errors, axis=0)
    return Curve(*(float(f"{v:.2g}") for v in (a, b, spread, trivial, best)))


def learn(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """All that :mod:`dplit.face_off.choice` states, by kind of task."""
    found = {}
    for kind in CANDIDATES:
        own = [row for row in rows if row.kind == kind]
        limit, loo = best_limit(own), left_out(own)
        sizes = {"all": (0, math.inf), "below 500": (0, 500), "from 2000": (2000, math.inf)}
        found[kind] = {
            "lines": limit.lines, "limit": limit.strength, "tables": len(set(map(family, own))),
            "cells": len(own), "curve": fitted_curve(own, limit)._asdict(),
            "regret": {
                name: round(mean_regret([r for r in own if low <= r.n < high], limit), 4)
                for name, (low, high) in sizes.items()
            },
            "regret left out": {
                name: round(float(np.mean([g for r, g in loo if low <= r.n < high] or [0.0])), 4)
                for name, (low, high) in sizes.items()
            },
        }  # fmt: skip
    return found


def archive(
    made: Sequence[Row], elsewhere: Sequence[Row], private: Sequence[dict[str, Any]], *, seed: int
) -> str:
    """Return the text of the archive, one row a line."""
    head = {
        "about": "Scores (R2 or accuracy) of mechanisms at their defaults on held-out records, by "
        "public facts; n counts training records. Tables of other packages are numbers only, cut "
        "to 12,000 records and to a tenth of that; made ones can be measured again.",
        "command": "python -m benchmarks.archive_face_off_choice",
        "seed": seed, "delta": DELTA, "learnt": learn([*made, *elsewhere]),
    }  # fmt: skip
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    told = {name: [row._asdict() for row in rows] for name, rows in
            (("made", made), ("elsewhere", elsewhere))}  # fmt: skip
    for key, rows in (told | {"private": list(private)}).items():
        lines = ",\n".join(map(json.dumps, rows))
        parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def rows_of(content: Mapping[str, Any], name: str) -> list[Row]:
    """Read the rows of an archive that stand under a name."""
    return [Row(**row) for row in content[name]]
