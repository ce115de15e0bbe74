"""Learners off the grid: other sizes, budgets and laws, and tables that come with scikit-learn."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons

from benchmarks.maps.erm import _TEST, DELTAS, EPSILONS, QUESTIONS, SLOPES, TRIALS, Setting, Task
from benchmarks.maps.erm_archive import cells, learn
from benchmarks.maps.erm_candidates import Errors, _all_errors
from dplit._checks import Array
from dplit.advice._function_settings import CANDIDATES, FunctionFacts, ranking, usable
from dplit.notebook.datasets.classification import CANCER_RANGES
from dplit_studies.trials import Trial, run_trials


class Case(NamedTuple):
    """Data by name, how many records of them, and what a user would say of the task. The signal is
    the nearest by the law (or, for tables, by what is published of them).
    """

    data: str
    n: int
    d: int
    loss: str
    shape: str = "linear"
    signal: str = "medium"


OFF_GRID = (
    Case("normal", 300, 5, "hinge"),
    Case("normal", 3000, 20, "logistic", signal="strong"),
    Case("sparse", 2000, 35, "hinge", signal="strong"),
    Case("heavy", 5000, 6, "logistic"),
    Case("moons", 1500, 2, "hinge", "curved", "strong"),
    Case("cancer", 400, 30, "hinge", signal="strong"),
    Case("cancer", 250, 30, "logistic", signal="strong"),
    Case("normal", 500, 4, "squared"),
    Case("normal", 4000, 15, "squared"),
    Case("diabetes", 300, 10, "squared"),
    Case("friedman", 3000, 5, "squared", "curved", "strong"),
)

#: Budgets and numbers of questions of the cases.
OFF_EPSILONS, OFF_DELTAS, OFF_QUESTIONS = (0.2, 0.6, 2.0, 6.0), (0.0, 1e-5), (2, 20, None)

#: Public ranges of the diabetes table and of its response.
_DIABETES = (
    (18, 1, 15, 50, 80, 30, 10, 1, 3, 50),
    (80, 2, 45, 140, 310, 250, 110, 10, 6.5, 130),
)


def _law(case: Case, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw columns in [-1, 1] and labels of a law that the map has not."""
    if case.data == "moons":
        X, y = make_moons(n, noise=0.25, random_state=int(rng.integers(2**31)))
        return np.clip((X - [0.5, 0.25]) / 2.0, -1.0, 1.0), 2.0 * y - 1.0
    if case.data == "friedman":
        U = rng.uniform(0.0, 1.0, (n, case.d))
        mean = 10.0 * np.sin(math.pi * U[:, 0] * U[:, 1]) + 20.0 * (U[:, 2] - 0.5) ** 2
        y = mean + 10.0 * U[:, 3] + 5.0 * U[:, 4] + rng.standard_normal(n)
        return 2.0 * U - 1.0, np.clip((y - 15.0) / 15.0, -1.0, 1.0)
    X = np.clip(rng.standard_normal((n, case.d)) / 2.5, -1.0, 1.0)
    weights = np.linspace(2.0, 0.5, case.d)
    if case.data == "sparse":
        X *= rng.random((n, case.d)) < 0.3
        weights = np.where(np.arange(case.d) < 4, 5.0, 0.0)
    if case.data == "heavy":
        X = np.clip(rng.standard_t(2.5, (n, case.d)) / 6.0, -1.0, 1.0)
    score = X @ weights + 0.3
    if case.loss == "squared":
        score = 0.5 * score / np.linalg.norm(weights) + 0.15 * rng.standard_normal(n)
        return X, np.clip(score, -1.0, 1.0)
    return X, np.where(rng.random(n) < expit(3.0 * score), 1.0, -1.0)


def _table(case: Case) -> tuple[Array, Array]:
    """Return a bundled table, scaled by public constants."""
    if case.data == "cancer":
        found = load_breast_cancer()
        low, high = CANCER_RANGES
        labels = 2.0 * found.target - 1.0
    else:
        found = load_diabetes(scaled=False)
        low, high = (np.array(ends, dtype=np.float64) for ends in _DIABETES)
        labels = np.clip(found.target / 200.0 - 1.0, -1.0, 1.0)
    return np.clip(2.0 * (found.data - low) / (high - low) - 1.0, -1.0, 1.0), labels


def off_grid_task(case: Case, rng: np.random.Generator) -> Task:
    """Draw training records and test records with their labels."""
    if case.data in ("cancer", "diabetes"):
        X, y = _table(case)
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
    else:
        X, y = _law(case, case.n + _TEST, rng)
    train, test = slice(None, case.n), slice(case.n, None)
    classes = case.loss != "squared"
    truth = (y[test] > 0).astype(np.float64) if classes else y[test]
    return Task(X[train], y[train], X[test], truth, 0.0, classes, float(y.var()))


def _off_grid_trial(trial: Trial, *, case: Case) -> tuple[Errors, float]:
    task = off_grid_task(case, trial.stream("data"))
    at = Setting(case.loss, case.shape, case.n, case.d, "medium")
    public, noise = trial.stream("public"), trial.stream("noise")
    found = _all_errors(
        task,
        at,
        public=public,
        noise=noise,
        epsilons=OFF_EPSILONS,
        delta=OFF_DELTAS[1],
        questions=[q for q in OFF_QUESTIONS if q is not None],
    )
    return found, task.trivial


Trials = list[tuple[Errors, float]]


def off_grid(case: Case, *, seed: int, n_trials: int = 6) -> Trials:
    """Errors of all candidates, and of a constant, on the data of a case."""
    return run_trials(
        partial(_off_grid_trial, case=case),
        n_trials,
        seed=seed,
        name="erm-choice-off-grid-" + "-".join(map(str, case[:5])),
        progress=False,
    )


def regrets(case: Case, trials: Trials) -> list[dict[str, Any]]:
    """Regret of the advice against the best candidate in hindsight, at each budget of a case.

    Constants are candidates as well, and hindsight takes the least mean over the trials.
    """
    out = []
    signals = dict.fromkeys(("medium", case.signal))
    for epsilon, delta, q, signal in itertools.product(
        OFF_EPSILONS, OFF_DELTAS, OFF_QUESTIONS, signals
    ):
        facts = FunctionFacts(case.n, case.d, case.loss, epsilon, delta, q, case.shape, signal)
        errors = {"constant": np.array([trivial for _, trivial in trials])}
        for name in usable(facts):
            full = f"answers {q}" if name == "answers" else name
            values = [found[full, epsilon] for found, _ in trials]
            errors[name] = np.array(values).mean(axis=1)
        told = chosen(facts)
        best = min(errors, key=lambda name, e=errors: float(e[name].mean()))  # type: ignore[misc]
        gaps = errors[told] - errors[best]
        out.append(
            {
                "data": case.data,
                "setting": facts._asdict(),
                "known": signal == case.signal,
                "errors": {name: round(float(value.mean()), 4) for name, value in errors.items()},
                "recommended": told,
                "best": best,
                "regret": round(float(gaps.mean()), 4),
                "se": round(float(gaps.std(ddof=1)) / math.sqrt(len(trials)), 4),
            }
        )
    return out


def off_grid_summary(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Regrets where the signal is known to the nearest of three, and where it is left at medium."""
    out = {}
    for told, kept in (
        ("signal known", [row for row in rows if row["known"]]),
        ("signal unsaid", [row for row in rows if row["setting"]["signal"] == "medium"]),
    ):
        found = np.array([row["regret"] for row in kept])
        same = np.mean([row["recommended"] == row["best"] for row in kept])
        out[told] = {
            "settings": len(kept),
            "same": round(float(same), 3),
            "mean": round(float(found.mean()), 4),
            "median": round(float(np.median(found)), 4),
            "ninth decile": round(float(np.quantile(found, 0.9)), 4),
            "largest": round(float(found.max()), 4),
        }
    return out


def chosen(facts: FunctionFacts) -> str:
    """Name of the candidate that is recommended; "constant" for none."""
    advice = ranking(facts)
    return advice[0] if advice else "constant"


def paired(
    results: Mapping[Setting, dict[str, Any]],
    one: str,
    other: str,
    *,
    loss: str,
    shape: str,
    d: int,
    epsilons: Sequence[float],
) -> dict[str, Any]:
    """Difference of the errors of two candidates on the same records, averaged over sizes, signals
    and budgets, with its standard error and t.
    """
    means, variances = [], []
    for at, result in results.items():
        if (at.loss, at.shape, at.d) == (loss, shape, d) and (one, epsilons[0]) in result["errors"]:
            pairs = [
                result["errors"][one, e].mean(axis=1) - result["errors"][other, e].mean(axis=1)
                for e in epsilons
            ]
            gaps = np.mean(pairs, axis=0)
            means.append(float(gaps.mean()))
            variances.append(float(gaps.var(ddof=1)) / len(gaps))
    mean, se = float(np.mean(means)), math.sqrt(sum(variances)) / len(means)
    where = {"loss": loss, "shape": shape, "d": d, "epsilon": list(epsilons)}
    return {
        "cell": where,
        "one": one,
        "other": other,
        "difference": round(mean, 4),
        "se": round(se, 4),
        "t": round(mean / se, 1),
    }


#: Comparisons that are archived: who was thought to win, who was found to.
COMPARED = (
    ("process", "objective Gaussian", ("hinge", "linear")),
    ("process", "objective Gaussian", ("hinge", "curved")),
    ("process", "objective Gaussian", ("logistic", "curved")),
    ("gamma", "objective pure", ("logistic", "curved")),
    ("gamma", "objective pure", ("hinge", "linear")),
    ("gamma", "objective pure", ("hinge", "curved")),
    ("objective Gaussian", "objective pure", ("hinge", "linear")),
    ("objective Gaussian", "gradient", ("hinge", "linear")),
    ("objective pure", "answers 1", ("hinge", "linear")),
    ("objective pure", "answers 3", ("hinge", "linear")),
    ("process", "gradient", ("squared", "linear")),
    ("process", "moments", ("squared", "curved")),
    ("moments", "gradient", ("squared", "linear")),
    ("moments", "gradient", ("squared", "curved")),
    ("process", "answers 1", ("squared", "linear")),
)


def comparisons(results: Mapping[Setting, dict[str, Any]]) -> list[dict[str, Any]]:
    """Every comparison by number of columns, at small budgets and at larger ones."""
    return [
        paired(results, one, other, loss=loss, shape=shape, d=d, epsilons=epsilons)
        for one, other, (loss, shape) in COMPARED
        for d in ((2, 10, 50) if shape == "linear" else (2, 10))
        for epsilons in (EPSILONS[:2], EPSILONS[2:])
    ]


def judged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The advice on every cell and number of questions: recommended, best, regret in gain.

    A regret is a share of what can be gained; constants are candidates as well.
    """
    out = []
    for row in rows:
        for q in (*QUESTIONS, None):
            facts = FunctionFacts(
                row["n"],
                row["d"],
                row["loss"],
                row["epsilon"],
                row["delta"],
                q,
                row["shape"],
                row["signal"],
            )
            errors = {"constant": row["trivial"]}
            for name in usable(facts):
                full = f"answers {q}" if name == "answers" else name
                if full in row["errors"]:
                    errors[name] = row["errors"][full][0]
            told = chosen(facts)
            told = told if told in errors else "constant"  # kernels were not tried at 100,000
            best = min(errors, key=lambda name, e=errors: e[name])  # type: ignore[misc]
            regret = (errors[told] - errors[best]) / (row["trivial"] - row["best"])
            out.append({"facts": facts, "recommended": told, "best": best, "regret": regret})
    return out


def agreement(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Sum up :func:`judged`: how often the best is recommended, or nearly, and what it costs."""
    found = judged(rows)
    regrets_ = np.array([case["regret"] for case in found])
    same = np.array([case["recommended"] == case["best"] for case in found])
    return {
        "cases": len(found),
        "same": round(float(same.mean()), 4),
        "within 0.05": round(float((regrets_ <= 0.05).mean()), 4),
        "mean regret": round(float(regrets_.mean()), 4),
        "largest regret": round(float(regrets_.max()), 4),
    }


#: In words, where it stands for classes too.
RIVAL = (
    "noisy gradients with public steps; for classes on the loss itself, a rival that is no "
    "estimator of this room"
)


def archive(
    results: Mapping[Setting, dict[str, Any]], outside: Mapping[Case, Trials], *, seed: int
) -> str:
    """Return the text of the archive, one cell a line."""
    rows = [row for at, result in results.items() for row in cells(at, result)]
    beyond = [row for case, trials in outside.items() for row in regrets(case, trials)]
    axes = {
        "loss": ["squared", "logistic", "hinge"],
        "shape": ["linear", "curved"],
        "n": list(TRIALS),
        "d": [2, 10, 50],
        "signal": list(SLOPES),
        "epsilon": list(EPSILONS),
        "delta": list(DELTAS),
        "n_questions": [*QUESTIONS, None],
    }
    classes = "share of wrong classes"
    head = {
        "about": "Errors of private learners by public facts; [mean, standard error over trials, "
        "deviation of a single run]. Columns in [-1, 1], replacing one record.",
        "seed": seed,
        "command": "python -m benchmarks.archive_erm_choice",
        "axes": axes,
        "trials": {str(n): count for n, count in TRIALS.items()},
        "measures": {
            "squared": "mean squared error over the variance of labels",
            "logistic": classes,
            "hinge": classes,
        },
        "candidates": CANDIDATES | {"gradient": RIVAL},
        "agreement": agreement(rows),
        "learnt": learn(rows),
        "off_grid_summary": off_grid_summary(beyond),
        "paired": comparisons(results),
    }
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, lines in (("off_grid", beyond), ("cells", rows)):
        parts.append(f"{json.dumps(key)}: [\n" + ",\n".join(map(json.dumps, lines)) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"
