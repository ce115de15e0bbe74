"""The archive of the map: cells with means and standard errors, what is learnt, paired
differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from benchmarks.maps.erm import DELTAS, EPSILONS, SLOPES, Setting
from dplit._checks import Array
from dplit.advice._function_settings import FunctionFacts, strength, usable


def _summed(values: Array) -> list[float]:
    """Return mean, standard error over trials, and deviation of a single run."""
    by_trial = values.mean(axis=1)
    error = by_trial.std(ddof=1) / math.sqrt(len(by_trial))
    return [round(float(x), 5) for x in (values.mean(), error, values.std())]


def cells(at: Setting, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the archive's cells of one setting: epsilon by delta, errors by candidate."""
    out = []
    for epsilon in EPSILONS:
        for delta in DELTAS:
            errors = {
                name: _summed(values)
                for (name, at_epsilon), values in result["errors"].items()
                if at_epsilon == epsilon and (delta > 0.0 or not gaussian(name))
            }
            limits = {key: round(result[key], 5) for key in ("trivial", "best")}
            out.append(
                {**at._asdict(), "epsilon": epsilon, "delta": delta, **limits, "errors": errors}
            )
    return out


def gaussian(name: str) -> bool:
    """Whether a candidate of the map takes a delta."""
    return name in ("objective Gaussian", "gradient", "moments", "process")


def _points(
    rows: Sequence[dict[str, Any]],
) -> dict[str, list[tuple[str, FunctionFacts, float, float]]]:
    """Return what is learnt from, by loss, shape and candidate: facts, gain and its deviation."""
    found: dict[str, list[tuple[str, FunctionFacts, float, float]]] = {}
    for row in rows:
        span = row["trivial"] - row["best"]
        facts = FunctionFacts(
            row["n"],
            row["d"],
            row["loss"],
            row["epsilon"],
            row["delta"],
            None,
            row["shape"],
            row["signal"],
        )
        for full, (mean, _, spread) in row["errors"].items():
            name, _, q = full.partition(" ") if full.startswith("answers") else (full, "", "")
            asked = facts._replace(n_questions=int(q)) if q else facts
            if (row["delta"] > 0.0) == gaussian(full) and name in usable(asked):
                key = f"{row['loss']}, {row['shape']}, {name}"
                value = (row["trivial"] - mean) / span
                found.setdefault(key, []).append((name, asked, value, spread / span))
    return found


#: Signs that coefficients of a gain must have: more records, budget and signal help, columns harm.
_LOW = (-40.0, 0.0, -4.0, 0.0, -40.0, 0.2, 0.2, -4.0, 0.0)

_HIGH = (40.0, 3.0, 0.0, 4.0, 40.0, 3.0, 3.0, 0.0, 4.0)


def learn(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Fit :func:`dplit.advice._function_settings.gain` to the cells by least squares; the tenth
    number is the deviation of single runs around it, where it is above a twentieth.
    """
    learnt = {}
    for key, points in _points(rows).items():
        x = np.array([_regressors(name, facts) for name, facts, _, _ in points])
        # harm counts, up to as much as could be gained: near the border the rule is careful
        target = np.maximum([value for _, _, value, _ in points], -1.0)

        def modelled(c: Array, x: Array = x) -> Array:
            return np.asarray(expit(x[:, :4] @ c[:4]) * expit(x[:, 4:] @ c[4:]))

        def gaps(c: Array, m: Callable[[Array], Array] = modelled, t: Array = target) -> Array:
            return m(c) - t

        start = (1.0, 0.2, -0.1, 0.2, -8.0, 1.0, 1.0, -0.5, 0.5)
        fit = least_squares(gaps, start, bounds=(_LOW, _HIGH), loss="soft_l1", f_scale=0.1)
        c = tuple(round(float(value), 2) for value in fit.x)
        got = modelled(np.array(c))
        missed = got - np.maximum(target, 0.0)
        single = np.array([spread for *_, spread in points]) ** 2 + missed**2
        heard = got > 0.05
        ratio = single[heard] / (got * (1.0 - got) + 0.01)[heard]
        scale = math.sqrt(float(np.mean(ratio))) if heard.any() else 1.0
        learnt[key] = (*c, round(scale, 2))
    return learnt


def _regressors(name: str, facts: FunctionFacts) -> list[float]:
    n, d = math.log(facts.n), math.log(facts.d)
    s = list(SLOPES).index(facts.signal) - 1.0
    return [1.0, n, d, s, 1.0, n, math.log(strength(name, facts)), d, s]
