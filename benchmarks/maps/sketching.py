"""The evidence behind :mod:`dplit.advice._cluster_settings`.

Private clustering, each rival at its best. The error of k centres is their risk less that of
k-means without privacy, over what k-means gains on the mean of all records: 0 is as good as
without privacy, 1 as bad as one centre. All rivals meet the same records in the box [-1, 1]^d, of
which one may be added or removed, at one budget.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from benchmarks.maps.sketching_methods import FAMILIES, METHODS, _trial
from benchmarks.maps.sketching_off_grid import GUESSES
from benchmarks.maps.sketching_records import _rounded, _told
from dplit._checks import Array
from dplit.advice._cluster_settings import (
    CANDIDATES,
    USEFUL,
    ClusterFacts,
    chosen,
    errors_of,
    law_of_error,
    noise_ratio,
)
from dplit_studies.trials import run_trials

#: Axes of the map: columns, clusters, separation, records, budget.
DS, KS, SEPARATIONS = (2, 6, 20, 60), (2, 6, 20), (2.0, 6.0, 20.0)

NS, EPSILONS = (1_000, 10_000, 100_000), (0.1, 1.0, 10.0)

#: A factor of ten from the middle of the map where the grid has less.
STAR = (
    *(ClusterFacts(10_000, 6, 6, separation, 1.0) for separation in (0.6, 60.0)),
    *(ClusterFacts(10_000, d, 6, 6.0, epsilon) for d in (1, 3) for epsilon in EPSILONS),
    ClusterFacts(10_000, 6, 60, 6.0, 1.0),
    ClusterFacts(100_000, 6, 60, 6.0, 1.0),
)

#: Delta of the budgets that have one: 10,000 records of middling separation.
DELTA = 1e-6

#: Numbers of a data set times its clusters from which the middle separation alone is run.
_LONG = 3_600_000

#: Trials by number of records.
TRIALS = {1_000: 3, 10_000: 3, 100_000: 2}


_SHIPPED = ("sketch", "lloyd")


def groups() -> Iterator[tuple[ClusterFacts, list[tuple[float, float]]]]:
    """Yield the map's settings, those that differ in the budget alone together."""
    pure = [(epsilon, 0.0) for epsilon in EPSILONS]
    for n, d, k, separation in itertools.product(NS, DS, KS, SEPARATIONS):
        if n * d * k > _LONG and separation != 6.0:
            continue
        extra = [] if n != 10_000 or separation != 6.0 else [(e, DELTA) for e in EPSILONS]
        yield ClusterFacts(n, d, k, separation, 1.0), pure + extra
    for _, same in itertools.groupby(STAR, key=lambda facts: facts[:4]):
        held = list(same)
        yield held[0], [(facts.epsilon, 0.0) for facts in held]


def cell(
    facts: ClusterFacts, budgets: Sequence[tuple[float, float]], *, seed: int = 0
) -> list[dict[str, Any]]:
    """Mean errors of all methods and their standard errors, a row for each budget."""
    trials = TRIALS[facts.n]
    name = "sketch-choice-" + "-".join(f"{value:g}" for value in facts[:4])
    one = partial(_trial, facts=facts, budgets=budgets)
    runs = np.array(run_trials(one, trials, seed=seed, name=name, progress=False))
    rows = []
    for at, (epsilon, delta) in enumerate(budgets):
        here = facts._replace(epsilon=epsilon, delta=delta)
        rows.append({**here._asdict(), "trials": trials, **_told(runs[:, at])})
    return rows


def best_of(row: Mapping[str, Any]) -> dict[str, float]:
    """Least mean error of every family on one row, its setting in hindsight."""
    found: dict[str, float] = {}
    for name, error in zip(METHODS, row["errors"], strict=True):
        if error is not None:
            found[FAMILIES[name]] = min(error, found.get(FAMILIES[name], math.inf))
    return found


def learn(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Coefficients of the laws of :mod:`dplit.advice._cluster_settings`, by robust least squares on
    roots
    of errors; a grid and a tree are those of the best setting.
    """
    return {name: _learnt(name, rows) for name in CANDIDATES}


def _learnt(name: str, rows: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    found = [(facts_of(row), error_of(row, name)) for row in rows]
    kept = [(facts, error) for facts, error in found if error is not None]
    wanted = np.sqrt(np.maximum([error for _, error in kept], 0.0))
    logs = np.log(
        [(noise_ratio(name, facts), facts.d, facts.k, facts.separation) for facts, _ in kept]
    ).T

    def gaps(c: Array) -> Array:
        return np.asarray(np.sqrt(law_of_error(c, *logs)) - wanted)

    lowest = [-12.0, -3.0, -3.0, -3.0, 0.3, -30.0, 0.2, -5.0, -5.0, -5.0, -5.0]
    highest = [0.0, 3.0, 3.0, 3.0, 3.0, 30.0, 5.0, 5.0, 5.0, 5.0, 5.0]
    start = [-5.0, 0.0, 0.5, 0.0, 1.2, 1.0, 1.5, 0.0, 0.0, 0.0, 0.0]
    fit = least_squares(gaps, start, bounds=(lowest, highest), loss="soft_l1", f_scale=0.1)
    return tuple(round(float(value), 2) for value in fit.x)


def facts_of(row: Mapping[str, Any]) -> ClusterFacts:
    """ClusterFacts of a row of the archive."""
    return ClusterFacts(*(row[name] for name in ClusterFacts._fields))


def error_of(row: Mapping[str, Any], name: str) -> float | None:
    """Mean error of a candidate on a row, of a grid and a tree at their best setting."""
    if name in ("grid", "tree"):
        return best_of(row).get(name)
    found: float | None = row["errors"][METHODS.index(name)]
    return found


def losses(case: ClusterFacts, row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What is recommended by guess of the separation, and what that loses on a row to the best
    setting that the package ships and to the best of all, one centre included.
    """
    out = {}
    shipped = [name for name in CANDIDATES if name in METHODS and FAMILIES[name] in _SHIPPED]
    errors = {name: float(row["errors"][METHODS.index(name)]) for name in shipped}
    ours = min(1.0, *errors.values())
    best = min(ours, *best_of(row).values())
    for guess, factor in GUESSES.items():
        told = errors_of(case._replace(separation=factor * case.separation))
        name = chosen(told)
        none = told[name] > USEFUL
        reached = 1.0 if none else errors[name]
        lost = (round(reached - least, 4) for least in (ours, best))
        out[guess] = ["none" if none else name, *lost]
    return out


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """By guess of the separation the mean and largest loss to the best that the package ships, and
    the mean loss to the best of all.
    """
    out = {}
    for guess in GUESSES:
        lost = np.array([losses(facts_of(row), row)[guess][1:] for row in rows])
        out[guess] = _rounded((lost[:, 0].mean(), lost[:, 0].max(), lost[:, 1].mean()))
    return out


_Rows = Sequence[Mapping[str, Any]]


def archive(cells: _Rows, outside: _Rows, again: _Rows, *, seed: int) -> str:
    """Return the archive as text, a line per row."""
    head = {
        "about": "Errors of private clustering: risk less that of k-means, over what k centres "
        "gain on one; records in [-1, 1]^d, one added or removed. All simulated.",
        "seed": seed,
        "command": "python -m benchmarks.archive_sketching_choice",
        "methods": METHODS,
        "summary": {"cells": summary(cells), "cases": summary(outside)},
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (("cells", cells), ("cases", outside), ("again", again)):
        lines.append(f'"{key}": [\n' + ",\n".join(map(_line, rows)) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(row: Mapping[str, Any]) -> str:
    """A row with the least error of every family, as text."""
    return json.dumps({**row, "best": best_of(row)})
