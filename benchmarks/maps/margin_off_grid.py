"""Margins off the grid: other sizes and laws, and tables, through the estimators."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.maps.margin import _WIDE, METHODS, _rounded, records
from benchmarks.maps.margin_learnt import by_rank, formulas, learn, regrets, surprises
from dplit._checks import Array
from dplit._numerics.clipping import clip_rows
from dplit.advice._classifier_settings import ClassifierFacts, chosen, configure, gained, names_of
from dplit.notebook.datasets.classification import scaled_classes
from dplit.notebook.datasets.digits import load_fours_and_nines
from dplit_studies.trials import Trial, run_trials


class Case(NamedTuple):
    """Records by name and what a user would say of them."""

    data: str
    n: int
    d: int
    margin: float
    flips: float


OFF_GRID = (
    Case("round", 1000, 60, 0.2, 0.1),
    Case("leaning", 1000, 60, 0.2, 0.1),
    Case("leaning", 6000, 100, 0.15, 0.0),
    Case("round", 600, 600, 0.4, 0.05),
    Case("low rank", 2000, 300, 0.2, 0.05),
    Case("low rank", 500, 1000, 0.3, 0.1),
    Case("cancer", 284, 30, 0.1, 0.05),
    Case("digits", 180, 64, 0.1, 0.05),
    Case("mnist", 995, 784, 0.1, 0.05),
)

OFF_EPSILONS = (0.3, 1.0, 4.0)


def off_cases() -> Iterator[tuple[Case, float, float]]:
    """Yield cases, epsilon and delta off the grid, but for the slowest."""
    for case, epsilon, delta in itertools.product(OFF_GRID, OFF_EPSILONS, METHODS):
        if (case.data, epsilon, delta > 0.0) != ("mnist", 4.0, True):
            yield case, epsilon, delta


#: Guesses of the margin, over the one that is stated.
GUESSES = {"stated": 1.0, "three times": 3.0, "a third": 1.0 / 3.0}

TABLES = {"cancer": 0.3, "digits": 0.3, "mnist": 0.13}  # public centres of their columns


def table(name: str) -> tuple[Array, Array]:
    """Records less a public centre, clipped to 0.3 roots of d and divided by it, and signs."""
    if name == "mnist":
        digits = load_fours_and_nines("paper")
        X, y = digits.images.reshape(len(digits.labels), -1), digits.labels
    else:
        X, y = scaled_classes(name)
    norm = 0.3 * math.sqrt(X.shape[1])
    return np.asarray(clip_rows(X - TABLES[name], norm) / norm), np.asarray(y, float)


def _low_rank(facts: ClassifierFacts, rng: np.random.Generator) -> tuple[Array, Array]:
    """Unit records whose rest lives in five directions."""
    X, y = records("round", facts._replace(d=6), rng)
    return np.hstack([X, np.zeros((facts.n, facts.d - 6))]), y


def halves(case: Case, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Training and test records of a case; laws are tested on 2,000 others."""
    if case.data in TABLES:
        X, y = table(case.data)
        order = rng.permutation(len(y))
        train, test = order[: case.n], order[case.n :]
        return X[train], y[train], X[test], y[test]
    facts = ClassifierFacts(case.n + 2000, *case[2:], 1.0, 0.0)
    if case.data == "low rank":
        X, y = _low_rank(facts, rng)
    else:
        law = "round" if case.data == "round" else "crowd"
        X, y = records(law, facts, rng, lean=0.5)
    return X[: case.n], y[: case.n], X[case.n :], y[case.n :]


def _off_trial(trial: Trial, *, case: Case, epsilon: float, delta: float) -> list[float]:
    """Errors of the candidates at the guesses of the margin, then of a constant."""
    X, y, T, labels = halves(case, trial.stream("data"))
    noise, found = trial.stream("noise"), []
    for factor in GUESSES.values():
        margin = min(factor * case.margin, 1.0)
        facts = ClassifierFacts(case.n, case.d, margin, case.flips, epsilon, delta)
        for name in names_of(facts):
            if name == "objective" and case.d > _WIDE:
                found.append(math.nan)
                continue
            model = configure(name, facts)
            model.set_params(random_state=noise.spawn(1)[0], classes=(-1.0, 1.0))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found.append(float(np.mean(model.fit(X, y).predict(T) != labels)))
    majority = float(np.mean(labels > 0.0))
    return [*found, min(majority, 1.0 - majority)]


def off_grid(
    case: Case, epsilon: float, delta: float, n_trials: int, *, seed: int = 0
) -> dict[str, Any]:
    """Mean errors on one case, and what the advice loses there by guess of the margin."""
    name = "margin-choice-off-" + "-".join(map(str, (*case, epsilon, delta)))
    one = partial(_off_trial, case=case, epsilon=epsilon, delta=delta)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    row = {**case._asdict(), "epsilon": epsilon, "delta": delta, "trials": n_trials}
    return row | {"mean": _rounded(mean), "se": _rounded(se)} | losses(case, epsilon, delta, mean)


def losses(
    case: Case, epsilon: float, delta: float, mean: Any, *, limit: float | None = None
) -> dict[str, list[Any]]:
    """What is recommended by guess of the margin, and how much of what can be gained over a
    constant that loses to the best candidate at any guess; with a ``limit`` always something.
    """
    values = np.array(mean, dtype=float)
    names = names_of(ClassifierFacts(case.n, case.d, case.margin, case.flips, epsilon, delta))
    errors, out = values[:-1].reshape(len(GUESSES), len(names)), {}
    best = min(float(np.nanmin(errors)), values[-1])
    for got, (guess, factor) in zip(errors, GUESSES.items(), strict=True):
        margin = min(factor * case.margin, 1.0)
        facts = ClassifierFacts(case.n, case.d, margin, case.flips, epsilon, delta)
        useful = limit is not None or gained(facts) >= 0.05
        name = chosen(facts, limit=limit or 0.0) if useful else "none"
        reached = values[-1] if name == "none" else got[names.index(name)]
        out[guess] = [name, round(float(reached - best) / (values[-1] - case.flips), 4)]
    return out


#: Limits that were tried, by delta.
TRIED_LIMITS = {
    0.0: (0.0, 0.15, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0),
    1e-6: (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0),
}


def price(
    rows: Sequence[Mapping[str, Any]],
    outside: Sequence[Mapping[str, Any]],
    delta: float,
    limit: float,
) -> float:
    """What a limit loses: half of its mean regret on the map and half of its mean loss on tables,
    at all guesses of the margin.
    """
    tables = [
        losses(
            Case(*(row[k] for k in Case._fields)), row["epsilon"], delta, row["mean"], limit=limit
        )
        for row in outside
        if row["data"] in TABLES and row["delta"] == delta
    ]
    lost = np.mean([[found[guess][1] for guess in GUESSES] for found in tables])
    return float(regrets(rows, delta, limit).mean() + lost) / 2.0


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Mean and largest loss off the grid, on laws and on tables, by guess of the margin."""
    told = {}
    for kind in ("laws", "tables"):
        kept = [row for row in rows if (row["data"] in TABLES) == (kind == "tables")]
        for guess in GUESSES:
            lost = [row[guess][1] for row in kept]
            told[f"{kind}, {guess}"] = [round(float(np.mean(lost)), 4), max(lost)]
    return told


def archive(
    rows: Sequence[Mapping[str, Any]], outside: Sequence[Mapping[str, Any]], *, seed: int
) -> str:
    """Return the archive as text, a line per row; ``regret`` has means, maxima and counts."""
    outside = [
        {
            **row,
            **losses(
                Case(*(row[k] for k in Case._fields)), row["epsilon"], row["delta"], row["mean"]
            ),
        }
        for row in outside
    ]
    head = {
        "about": "Errors of private linear classifiers on records of length 1 with a margin: share "
        "of wrong classes among new records, flipped labels included, exact given the weights; "
        "replacement of a record. Cases off the grid are tested on other records.",
        "seed": seed,
        "command": "python -m benchmarks.archive_margin_choice",
        "methods": {f"{delta:g}": names for delta, names in METHODS.items()},
        "learnt": [learn(rows, delta) for delta in METHODS],
        "regret": {
            f"{delta:g}": [*_rounded((v.mean(), v.max())), len(v)]
            for delta in METHODS
            for v in (regrets(rows, delta),)
        },
        "ranks": by_rank(rows),
        "summary": summary(outside),
        "formulas": formulas(rows),
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, found in (("cells", rows), ("cases", outside), ("surprises", surprises(rows))):
        lines.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in found) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"
