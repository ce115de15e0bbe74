"""What :func:`dplit.advice.tables.recommend` was learnt on: scores of mechanisms on many tables.

Tables that anybody can make: scikit-learn's generators at three strengths of signal, and its
bundled data. Those of other packages are in the archive as numbers alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

from dplit._checks import Array
from dplit.advice.tables import ranked
from dplit.streams import stream
from dplit.tables.choosing import _chosen
from dplit.tables.exploring import _plain_models
from dplit.tables.facts import Problem
from dplit.tables.mechanisms import mechanism
from dplit_studies.face_off.comparison import score
from dplit_studies.face_off.tasks import _problem, load_task

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
        n,
        15,
        n_informative=5,
        class_sep=1.5,
        flip_y=0.0,
        weights=[0.93] if name == "rare" else None,
        random_state=int(rng.integers(2**31)),
    )
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
    "bent": _bent,
    "straight": _straight,
    "texts": _texts,
    "sphere": _sphere,
    "clusters": _clusters,
    "shells": _shells,
    "rare": lambda n, signal, rng: _clusters(n, signal, rng, "rare"),
    "skewed": lambda n, signal, rng: _clusters(n, signal, rng, "skewed"),
}

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
            title,
            kind,
            facts["n"],
            facts["n_columns"],
            facts["n_classes"],
            epsilon,
            round(trivial, 4),
            dict(zip(names, totals[i].round(4).tolist(), strict=True)),
        )
        for i, epsilon in enumerate(EPSILONS)
    ]


def measured_facts(problem: Problem) -> dict[str, Any]:
    """Public facts of the training records, as the rule takes them; a text is one column."""
    wide = sum(map(len, problem.indicators)) - len(problem.indicators)
    classes = problem.public.get("classes")
    return {
        "task": problem.task,
        "n": int(0.7 * len(problem.X)),
        "n_columns": problem.X.shape[1] - wide,
        "n_classes": classes and len(classes),
    }


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
        found.append(
            {
                "table": title,
                "epsilon": epsilon,
                "recommended": names[0],
                "chosen": names[best],
                "rule": scores[0],
                "private": scores[1],
            }
        )
    return found


def _trivial(problem: Problem, rows: np.ndarray) -> float:
    if problem.task == "regression":
        return 0.0
    return float(np.unique(problem.y[rows], return_counts=True)[1].max() / len(rows))


def free_models(task: str) -> dict[str, Any]:
    """Models without privacy, as :func:`dplit.tables.exploring.explore` has them."""
    return _plain_models(task, False)
