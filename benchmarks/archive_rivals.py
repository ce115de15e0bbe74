"""Rivals of the face-off's rule on ten tables, archived in ``results/rivals.json``.

    python -m benchmarks.archive_rivals

DP-EBM and diffprivlib ask for an older scikit-learn than this package: the command makes them an
environment of their own in a temporary folder (pip needs a registry), writes the tables there as
numbers and calls this file again inside it. Ours are what :func:`dplit.advice.tables.recommend`
names, AdaSSP runs beside them. All are told the same public facts, each in the way of its
documentation, and meet the same splits; predictions of numbers are clipped to the public bounds. Of
a skewed table stands also what the rule's mechanism reaches once ``skewed=`` is stated. Five
minutes.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import sys
import tempfile
import venv
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parent.parent / "results" / "rivals.json"
NEEDS = ("diffprivlib==0.6.6", "interpret-core==0.7.3", "scikit-learn<1.6")
EPSILONS = (0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6
SPLITS = 3

#: Of the tables of the rule's map those that are met here, by their names.
TABLES = (
    "bent, strong, 5000",
    "bent, medium, 5000",
    "straight, medium, 5000",
    "texts, medium, 5000",
    "diabetes",
    "sphere, medium, 5000",
    "clusters, medium, 5000",
    "skewed, strong, 5000",
    "rare, strong, 5000",
    "breast cancer",
)


def order_of(size: int, split: int) -> np.ndarray:
    """Return the records in the order of a split, of which the first 70 % train."""
    return np.random.default_rng(split).permutation(size)


def score(table: Any, predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return R^2 or accuracy."""
    if str(table["task"]) == "classification":
        return float((predicted == truth).mean())
    rest = truth - np.clip(predicted, *table["bounds"])
    return float(1.0 - (rest**2).sum() / ((truth - truth.mean()) ** 2).sum())


def scored(table: Any, answer: Callable[..., Any], measure: Callable[..., Any]) -> np.ndarray:
    """Return what ``measure`` says of a method's answers, by split and budget.

    ``answer`` takes split, place of the budget, and the numbers of the records that train and that
    are held out; ``measure`` takes the table, what is answered, and the truth.
    """
    n = len(table["X"])
    found = []
    for split in range(SPLITS):
        train, test = np.split(order_of(n, split), [int(0.7 * n)])
        truth = table["y"][test]
        found += [
            measure(table, answer(split, j, train, test), truth) for j in range(len(EPSILONS))
        ]
    return np.array(found).reshape(SPLITS, len(EPSILONS), *np.shape(found[0])).round(4)


def _columns(table: Any) -> list[tuple[int, ...]]:
    """Return the entries of each column of a table: one, or the indicators of a text."""
    groups = [tuple(group) for group in json.loads(str(table["indicators"]))]
    named = {k for group in groups for k in group}
    return sorted([*groups, *((k,) for k in range(table["X"].shape[1]) if k not in named)])


def _explained(table: Any, epsilon: float, seed: int) -> Any:
    """DP-EBM with its defaults: kinds and bounds of the columns, and those of a number."""
    from interpret import privacy

    columns, low = _columns(table), table["box"][0]
    told = {
        "epsilon": epsilon,
        "delta": DELTA,
        "random_state": seed,
        "n_jobs": 1,
        "feature_types": ["continuous" if len(c) == 1 else "nominal" for c in columns],
        "privacy_bounds": {
            k: (float(low[c[0]]), 1.0) for k, c in enumerate(columns) if len(c) == 1
        },
    }
    if str(table["task"]) == "classification":
        return privacy.DPExplainableBoostingClassifier(**told)
    least, most = map(float, table["bounds"])
    ends = {"privacy_target_min": least, "privacy_target_max": most}
    return privacy.DPExplainableBoostingRegressor(**ends, **told)


def _raw(table: Any, X: np.ndarray) -> np.ndarray:
    """Return records with texts as texts, which DP-EBM asks for."""
    parts = [
        X[:, c[0]].astype(object)
        if len(c) == 1
        else np.array([f"v{k}" for k in X[:, list(c)].argmax(axis=1)], object)
        for c in _columns(table)
    ]
    return np.column_stack(parts)


def _model(name: str, table: Any, epsilon: float, seed: int) -> Any:
    """A rival that needs the other environment, told what is public."""
    if name == "DP-EBM":
        return _explained(table, epsilon, seed)
    from diffprivlib import models

    common: dict[str, Any] = {"epsilon": epsilon, "random_state": seed}
    box = tuple(table["box"])
    if str(table["task"]) == "regression":
        bounds = tuple(map(float, table["bounds"]))
        return models.LinearRegression(bounds_X=box, bounds_y=bounds, **common)
    if name == "diffprivlib, Bayes":
        return models.GaussianNB(bounds=box, **common)
    return models.LogisticRegression(data_norm=float(table["norm"]), max_iter=500, **common)


def answers(
    name: str, table: Any, ranks: bool = False, epsilons: Sequence[float] = EPSILONS
) -> Callable[..., Any]:
    """Answers of a rival, for :func:`scored`; with ``ranks`` a second array, by which to rank."""
    regression = str(table["task"]) == "regression"
    X = _raw(table, table["X"]) if name == "DP-EBM" else table["X"]
    y = np.clip(table["y"], *table["bounds"]) if regression else table["y"]
    told = y if regression or name != "DP-EBM" else y.astype(str)

    def answer(split: int, j: int, train: np.ndarray, test: np.ndarray) -> Any:
        model = _model(name, table, epsilons[j], split).fit(X[train], told[train])
        predicted = np.asarray(model.predict(X[test])).astype(y.dtype)
        return (predicted, model.predict_proba(X[test])[:, 1]) if ranks else predicted

    return answer


def rivals_of(table: Any) -> list[str]:
    """Names of the rivals of the other environment; DP-EBM has no more than two classes."""
    if str(table["task"]) == "regression":
        return ["DP-EBM", "diffprivlib"]
    return ["DP-EBM"] * (len(table["classes"]) == 2) + ["diffprivlib", "diffprivlib, Bayes"]


def write_table(path: Path, title: str, problem: Any) -> None:
    """Write a table as numbers, with what is public of it."""
    public = {key: np.asarray(value) for key, value in problem.public.items()}
    np.savez(
        path,
        name=title,
        task=problem.task,
        X=problem.X,
        y=problem.y,
        norm=problem.data_norm,
        box=np.array(problem.box),
        indicators=json.dumps(problem.indicators),
        **public,
    )


def write_tables(folder: Path) -> None:
    """Write every table of the map that is met here."""
    from benchmarks.maps.face_off import tables

    for title, problem, _ in tables():
        if title in TABLES:
            write_table(folder / f"{TABLES.index(title)}.npz", title, problem)


def environment(folder: Path, needs: tuple[str, ...] = NEEDS) -> Path:
    """Make the rivals' environment in a folder, and return its Python."""
    venv.create(folder / "env", with_pip=True)
    made = [folder / "env" / place for place in ("bin/python", "Scripts/python.exe")]
    python = next(path for path in made if path.exists())
    subprocess.run([python, "-m", "pip", "install", "-q", *needs], check=True)
    return python


def versions() -> dict[str, str]:
    """Versions of what runs in the other environment."""
    return {p: version(p) for p in ("diffprivlib", "interpret-core", "scikit-learn")}


def rivals(folder: Path) -> None:
    """Score the rivals, in the other environment."""
    warnings.simplefilter("ignore")  # of convergence and of a budget accountant
    found: dict[str, Any] = {"versions": versions()}
    for place in range(len(TABLES)):
        table = dict(np.load(folder / f"{place}.npz"))
        found[str(table["name"])] = {
            name: scored(table, answers(name, table), score).tolist() for name in rivals_of(table)
        }
    (folder / "rivals.json").write_text(json.dumps(found), encoding="utf-8")


def _private(problem: Any, title: str, told: Any, predicts: Any) -> np.ndarray:
    """Scores (splits, epsilons) of a mechanism, or of an estimator, by budget and split."""
    from dplit.streams import stream

    table = {"task": problem.task, "X": problem.X, "y": problem.y, **problem.public}

    def answer(split: int, j: int, train: np.ndarray, test: np.ndarray) -> Any:
        rng = stream(split, f"rivals-{title}", "noise", j)
        given = {"epsilon": EPSILONS[j], "delta": DELTA, "random_state": rng}
        return predicts(told[j], problem, train, given).predict(problem.X[test])

    return scored(table, answer, score)


def named(name: str, problem: Any, train: np.ndarray, given: dict[str, Any]) -> Any:
    """Return a mechanism fitted as a release fits it."""
    from dplit.tables.mechanisms import mechanism

    return mechanism(name, problem.task).fit(problem, rows=train, **given)[0]


def adaptive(_: str, problem: Any, train: np.ndarray, given: dict[str, Any]) -> Any:
    """Return AdaSSP fitted."""
    from dplit.linear.adaptive import AdaSSPRegressor

    told = {"data_norm": problem.data_norm, "neighboring": "replace_one"}
    return AdaSSPRegressor(**told, **given, **problem.public).fit(
        problem.X[train], problem.y[train]
    )


def ours() -> dict[str, Any]:
    """Score what the rule names, AdaSSP and fits without privacy, on the same splits."""
    from benchmarks.maps.face_off import free_models, measured_facts, tables
    from dplit.advice.tables import ranked
    from dplit.tables.facts import logarithmic

    found: dict[str, Any] = {}
    for title, problem, _ in tables():
        if title not in TABLES:
            continue
        facts = measured_facts(problem)
        told = [ranked(epsilon=e, delta=DELTA, **facts)[0] for e in EPSILONS]
        scores = {"the rule": _private(problem, title, told, named).tolist()}
        if problem.task == "regression":
            scores["AdaSSP"] = _private(problem, title, told, adaptive).tolist()
        free: dict[str, list[float]] = {}
        for i in range(SPLITS):
            train, test = np.split(order_of(len(problem.X), i), [int(0.7 * len(problem.X))])
            for name, model in free_models(problem.task).items():
                fitted = model.fit(problem.X[train], problem.y[train])
                table = {"task": problem.task, **problem.public}
                value = score(table, fitted.predict(problem.X[test]), problem.y[test])
                free.setdefault(name, []).append(value)
        found[title] = {
            "facts": facts,
            "recommended": told,
            "not private": {name: round(float(np.mean(v)), 4) for name, v in free.items()},
            "scores": scores,
        }
        if title.startswith(("skewed", "straight")):  # where it is so, and where it is not
            read = replace(problem, X=logarithmic(problem.X))
            found[title]["skew stated"] = _private(read, title, told, named).tolist()
    return found


def main() -> None:
    """Measure all of it and archive it; inside the other environment, the rivals alone."""
    if len(sys.argv) > 1:
        rivals(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        subprocess.run([environment(folder), __file__, folder], check=True)
        theirs = json.loads((folder / "rivals.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ours()
    for title, content in found.items():
        content["scores"] |= theirs[title]
    content = {
        "about": "R2 or accuracy on held-out records, [split][epsilon], at equal public facts; "
        "'the rule' is what dplit.advice.tables.recommend names.",
        "command": "python -m benchmarks.archive_rivals",
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": theirs["versions"],
        "epsilons": EPSILONS,
        "delta": DELTA,
    }
    lines = ",\n".join(f"{json.dumps(t)}: {json.dumps(c)}" for t, c in found.items())
    head = json.dumps(content, indent=1).rstrip("}\n")
    TARGET.write_text(f'{head},\n "tables": {{\n{lines}\n}}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
