"""Utility of all mechanisms of a task at equal privacy, on the same splits."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dplit._checks import check_positive, check_probability
from dplit.streams import stream
from dplit.tables._chunks import TableError
from dplit.tables.facts import Array, Problem
from dplit.tables.mechanisms import TableMechanism, _applicable, _ceilings
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, run_trials

_Key = tuple[str, int]


@dataclass(frozen=True)
class Comparison(Runs):
    """Scores on held-out records, (repeats, epsilons): R^2, accuracy, or shares explained.
    ``"<name>, best"`` is a mechanism's best setting at each epsilon in hindsight where that was
    asked for; ``warned`` has the share of fits at the defaults that warned.
    """

    epsilons: tuple[float, ...]
    private: tuple[str, ...]
    warned: dict[str, Array]
    chosen: dict[str, list[dict[str, Any]]]  # settings of "<name>, best" at each epsilon

    def winner(self, index: int, *, least: float = 0.02) -> tuple[str | None, float]:
        """Return the best default at one epsilon, and its mean score.

        None if it does not beat the trivial prediction by ``least``, by two standard errors.
        """
        name = max(self.private, key=lambda method: float(self.mean(method)[index]))
        gain, se = self.gap(name, "trivial")
        worth = gain[index] - 2.0 * se[index] > least
        return (name if worth else None), float(self.mean(name)[index])


def score(problem: Problem, model: Any, rows: np.ndarray) -> float:
    """Return R^2, accuracy, or the share that centres or components explain of what can be."""
    X, y = problem.X[rows], problem.y[rows]
    if problem.task == "clustering":
        centers = model.cluster_centers_
        gaps = (X**2).sum(1)[:, None] - 2.0 * X @ centers.T + (centers**2).sum(1)
        total = float(((X - X.mean(axis=0)) ** 2).sum())
        return float(1.0 - gaps.min(axis=1).sum() / total) if total else 0.0
    if problem.task == "components":
        best = np.linalg.eigvalsh(X.T @ X)[-problem.public["n_components"] :].sum()
        return float(((X @ model.components_.T) ** 2).sum() / best)
    return float(model.score(X, y))


def _trivial(problem: Problem, rows: np.ndarray) -> float:
    """Return the score of the mean, the larger class, one centre, or random directions."""
    X, y = problem.X[rows], problem.y[rows]
    if problem.task == "classification":
        return float(np.unique(y, return_counts=True)[1].max() / len(y))
    if problem.task == "components":
        k, values = problem.public["n_components"], np.linalg.eigvalsh(X.T @ X)
        return float(values.mean() * k / values[-k:].sum())
    return 0.0


def _trial(
    trial: Trial,
    *,
    problem: Problem,
    epsilons: Sequence[float],
    delta: float,
    neighboring: str,
    hindsight: int,
    mechanisms: Sequence[TableMechanism],
) -> tuple[dict[_Key, list[float]], dict[str, list[bool]]]:
    order = trial.stream("data").permutation(len(problem.X))
    cut = int(0.7 * len(order))
    train, test = order[:cut], order[cut:]
    scores: dict[_Key, list[float]] = {("trivial", 0): [_trivial(problem, test)] * len(epsilons)}
    warned: dict[str, list[bool]] = {}
    for name, plain in _ceilings(problem, train).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for a ceiling
            value = score(problem, plain.fit(problem.X[train], problem.y[train]), test)
        scores[f"{name}, not private", 0] = [value] * len(epsilons)
    for found in mechanisms:
        settings = [{}, *(found.settings(problem) if trial < hindsight else [])]
        for index, setting in enumerate(settings):
            scores[found.name, index] = []
            for epsilon in epsilons:
                rng = stream(trial.seed, f"{trial.name}-{found.name}", "noise", int(trial))
                model, told = found.fit(
                    problem,
                    rows=train,
                    epsilon=epsilon,
                    delta=delta,
                    neighboring=neighboring,
                    random_state=rng,
                    settings=setting,
                )
                scores[found.name, index].append(score(problem, model, test))
                if not index:
                    warned.setdefault(found.name, []).append(bool(told))
    return scores, warned


def compare(
    problem: Problem,
    *,
    epsilons: Sequence[float],
    delta: float = 1e-5,
    neighboring: str = "replace_one",
    hindsight: int = 0,
    seed: int,
    n_repeats: int,
    n_jobs: int = 1,
    mechanisms: Sequence[TableMechanism] | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Scores of mechanisms (by default all of the task) on the same splits, 70 % for training. In
    the first ``hindsight`` repeats all settings are tried, and the best by its mean over them at
    each epsilon is kept beside the default: no private choice reaches it.
    """
    problem = problem.labelled()
    if len(problem.X) < 10:  # a split keeps three for the score then
        raise TableError(f"exploring needs at least 10 records, got {len(problem.X)}")
    n_classes = len(problem.public.get("classes", ()))
    chosen = mechanisms or _applicable(problem.task, neighboring, n_classes)
    budgets = tuple(check_positive("epsilons", epsilon) for epsilon in epsilons)
    work = partial(
        _trial,
        problem=problem,
        epsilons=budgets,
        delta=check_probability("delta", delta),
        neighboring=neighboring,
        hindsight=hindsight,
        mechanisms=chosen,
    )
    name = f"face-off-{problem.name}"
    options: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs, "progress": progress}
    trials = run_trials(work, n_repeats, name=name, **options)
    keys = trials[0][0]
    whole = {key: np.array([s[key] for s, _ in trials if key in s]) for key in keys}
    private = tuple(found.name for found in chosen)
    values = {method: whole[method, 0] for method, index in keys if index == 0}
    settings: dict[str, list[dict[str, Any]]] = {}
    for found in chosen if hindsight else ():
        tried = np.array([whole[key][:hindsight] for key in keys if key[0] == found.name])
        best = tried.mean(axis=1).argmax(axis=0)  # of the means: one setting for all splits
        values[f"{found.name}, best"] = np.moveaxis(tried, 0, 2)[:, np.arange(len(budgets)), best]
        known = [{}, *found.settings(problem)]
        settings[found.name] = [known[index] for index in best]
    warned = {m: np.array([w[m] for _, w in trials]).mean(axis=0) for m in private}
    return Comparison(values, budgets, private, warned, settings)


#: By task, what the lesson's map and rivals compare; the record has the others.
_ELSEWHERE = {
    "regression": {"additive"},
    "classification": {"additive", "noisy_gradient", "objective_perturbation"},
}


def of_the_record(task: str) -> list[TableMechanism]:
    """Return the mechanisms of a task that the record compares."""
    return [m for m in _applicable(task) if m.name not in _ELSEWHERE.get(task, ())]


def fit_costs(
    problem: Problem, *, epsilon: float = 1.0, delta: float = 1e-5, repeats: int = 3
) -> dict[str, tuple[float, float]]:
    """Median processor seconds of a fit at the defaults, and its peak memory in megabytes."""
    costs = {}
    for found in of_the_record(problem.task):
        seconds, peak = [], 0
        for repeat in range(repeats + 1):
            if repeat == repeats:
                tracemalloc.start()
            start = time.process_time()
            found.fit(problem, epsilon=epsilon, delta=delta, random_state=repeat)
            seconds.append(time.process_time() - start)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        costs[found.name] = (float(np.median(seconds[:-1])), peak / 1e6)
    return costs
