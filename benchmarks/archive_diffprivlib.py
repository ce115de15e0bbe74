"""Scores of IBM's diffprivlib on the tasks of the face-off, archived in ``results/``.

It asks for an older scikit-learn than this package, hence an environment of its own, two steps:

    python -m benchmarks.archive_diffprivlib tables FOLDER
    pip install diffprivlib==0.6.6 "scikit-learn<1.6"          (in the other environment)
    python benchmarks/archive_diffprivlib.py scores FOLDER

Splits, public facts and scores are those of :mod:`dplit.tables`; the settings are its defaults,
and its predictions of numbers are clipped to the public bounds, as ours are. All of its models here
spend epsilon alone, without a delta. Its components take a minute a fit: fewer splits.
"""

from __future__ import annotations

import datetime
import json
import platform
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parent.parent / "results" / "diffprivlib.json"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SPLITS = {"regression": 50, "classification": 50, "clustering": 50, "components": 3}


def write_tables(folder: Path) -> None:
    """Write every task as numbers: records, public facts, the permutations of the splits."""
    from dplit.streams import stream
    from dplit_studies.face_off.tasks import TASKS, load_task

    # a table that is not here is refused before anything is written
    problems = {name: load_task(name, "paper") for name in TASKS}
    folder.mkdir(parents=True, exist_ok=True)
    for name, problem in problems.items():
        place, repeats = f"face-off-{name}", range(SPLITS[problem.task])
        orders = [stream(0, place, "data", i).permutation(len(problem.X)) for i in repeats]
        public = {key: np.asarray(value) for key, value in problem.public.items()}
        np.savez(
            folder / f"{name.replace('/', '-')}.npz",
            name=name,
            task=problem.task,
            X=problem.X,
            y=problem.y,
            orders=orders,
            norm=problem.data_norm,
            box=problem.box,
            **public,
        )


def _model(table: Any, epsilon: float, seed: int) -> Any:
    """Return the unfitted model of the task, told the same public facts as ours."""
    from diffprivlib import models

    task, box, told = str(table["task"]), tuple(table["box"]), {}
    common: dict[str, Any] = {"epsilon": epsilon, "random_state": seed}
    if task == "regression":
        told = {"bounds_X": box, "bounds_y": tuple(map(float, table["bounds"]))}
        return models.LinearRegression(**common, **told)
    if task == "classification":
        return models.LogisticRegression(data_norm=float(table["norm"]), **common)
    if task == "clustering":
        return models.KMeans(int(table["n_clusters"]), bounds=box, **common)
    told = {"data_norm": float(table["norm"]), "bounds": box, "centered": True}
    return models.PCA(int(table["n_components"]), **told, **common)


def _score(table: Any, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return R^2, accuracy, or the share that centres or components explain, as the face-off."""
    task = str(table["task"])
    if task == "clustering":
        gaps = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
        return float(1.0 - gaps.sum() / ((X - X.mean(axis=0)) ** 2).sum())
    if task == "components":
        best = np.linalg.eigvalsh(X.T @ X)[-int(table["n_components"]) :].sum()
        return float(((X @ model.components_.T) ** 2).sum() / best)
    if task == "regression":
        rest = y - np.clip(model.predict(X), *table["bounds"])
        return float(1.0 - (rest**2).sum() / ((y - y.mean()) ** 2).sum())
    return float(model.score(X, y))


def measure(table: Any) -> dict[str, Any]:
    """Return the quartiles of the scores over the splits, by epsilon."""
    X, y = table["X"], table["y"]
    scores = np.empty((len(table["orders"]), len(EPSILONS)))
    for i, order in enumerate(table["orders"]):
        train, test = np.split(order, [int(0.7 * len(order))])
        for j, epsilon in enumerate(EPSILONS):
            model = _model(table, epsilon, seed=i)
            scores[i, j] = _score(table, model.fit(X[train], y[train]), X[test], y[test])
    low, median, high = np.quantile(scores, [0.25, 0.5, 0.75], axis=0).round(4).tolist()
    return {"splits": len(scores), "low": low, "median": median, "high": high}


def main() -> None:
    """Write the tables, or measure and archive."""
    step, folder = sys.argv[1], Path(sys.argv[2])
    if step == "tables":
        write_tables(folder)
        return
    warnings.simplefilter("ignore")  # of convergence and of its privacy budget accountant
    tables = [np.load(path) for path in sorted(folder.glob("*.npz"))]
    content = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("diffprivlib", "scikit-learn", "numpy")},
        "epsilons": EPSILONS,
        "scores": {str(table["name"]): measure(table) for table in tables},
    }
    TARGET.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
