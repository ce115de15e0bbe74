"""What the rule on margins learns, and what it loses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from benchmarks.maps.margin import _WIDE, METHODS, RANKS, _rounded
from dplit._checks import Array
from dplit.advice._classifier_settings import ClassifierFacts, chosen, strength
from dplit.margins.projected import pure_components
from dplit.papers.margin.projected import pure_margin_bound, pure_mean_error


def errors_at(row: Mapping[str, Any], delta: float) -> dict[str, float]:
    """Mean errors of the methods of one delta in a row of the map that were run."""
    first = 0 if delta == 0.0 else len(METHODS[0.0])
    found = row["mean"][first : first + len(METHODS[delta])]
    return {k: v for k, v in zip(METHODS[delta], found, strict=True) if v is not None}


def facts_of(row: Mapping[str, Any], delta: float) -> ClassifierFacts:
    """ClassifierFacts of a row of the map."""
    n, d, margin, flips, epsilon = (row[k] for k in ClassifierFacts._fields[:5])
    return ClassifierFacts(n, d, margin, flips, epsilon, delta, RANKS[row["law"]])


def was_run(row: Mapping[str, Any], delta: float, *, told: bool = True) -> bool:
    """Whether what is advised in a row was run there; ``told`` the rank or not."""
    facts = facts_of(row, delta)
    return chosen(facts if told else facts._replace(rank=None)) in errors_at(row, delta)


def regrets(
    rows: Sequence[Mapping[str, Any]], delta: float, limit: float = 0.0, *, told: bool = True
) -> Array:
    """What the advice loses to the best estimator, over what can be gained over a coin, by row in
    which the advice was run, and in no other; with a ``limit`` of the strength below which it would
    be the mean, ``told`` the rank or not.
    """
    found = []
    for row in rows:
        if not was_run(row, delta, told=told):
            continue
        facts, errors = facts_of(row, delta), errors_at(row, delta)
        name = chosen(facts if told else facts._replace(rank=None), limit=limit)
        best = min(v for k, v in errors.items() if k != "prior")
        found.append((errors[name] - best) / (0.5 - facts.flips))
    return np.array(found)


def by_rank(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """Mean and largest regret with a delta in many columns, by law: rank told, and nothing told."""
    out = {}
    for law in RANKS:
        kept = [row for row in rows if row["law"] == law and row["d"] > _WIDE]
        told, untold = (regrets(kept, 1e-6, told=each) for each in (True, False))
        out[law] = _rounded([told.mean(), told.max(), untold.mean(), untold.max()])
    return out


def missed(rows: Sequence[Mapping[str, Any]], delta: float, *, told: bool) -> int:
    """Count the rows in which an estimator errs less than what is advised, by more than .01 and two
    standard errors; ``told`` the rank or not.
    """
    first, count = 0 if delta == 0.0 else len(METHODS[0.0]), 0
    for row in rows:
        facts, errors = facts_of(row, delta), errors_at(row, delta)
        name = chosen(facts if told else facts._replace(rank=None))
        best = min((k for k in errors if k != "prior"), key=lambda k: errors[k])
        at = [first + METHODS[delta].index(k) for k in (name, best)]
        gap = errors[name] - errors[best]
        count += gap > max(0.01, 2.0 * math.hypot(*(row["se"][i] for i in at)))
    return count


def learn(rows: Sequence[Mapping[str, Any]], delta: float) -> tuple[float, float, float]:
    """Coefficients of ``dplit.advice._classifier_settings.LEARNT``: of the recommended estimators'
    mean shares by least squares, and of a single run around them.
    """
    first = 0 if delta == 0.0 else len(METHODS[0.0])
    shares, logs, noise = [], [], []
    for row in rows:
        facts, name = facts_of(row, delta), chosen(facts_of(row, delta))
        if name not in errors_at(row, delta) or facts.rank is not None:  # where all columns count
            continue
        room = 0.5 - facts.flips
        shares.append((0.5 - errors_at(row, delta)[name]) / room)
        logs.append(math.log(strength(facts)))
        se = row["se"][first + METHODS[delta].index(name)]
        noise.append(se / room * math.sqrt(row["trials"]))
    x, y, one = np.array(logs), np.array(shares), np.array(noise)

    def missed(c: Array) -> Array:
        return np.asarray(expit(c[0] + c[1] * x) - y)

    a, b = least_squares(missed, [0.0, 1.0]).x
    told = expit(a + b * x)
    scale = np.sum((y - told) ** 2 + one**2) / np.sum(told * (1.0 - told))
    return round(float(a), 2), round(float(b), 2), round(math.sqrt(float(scale)), 2)


def surprises(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Cells where a method beats all others of its delta by most standard errors, a row a method:
    facts, the margin in errors and its t.
    """
    out = []
    for delta, names in METHODS.items():
        first = 0 if delta == 0.0 else len(METHODS[0.0])
        for name in names:
            top: dict[str, Any] = {"t": 0.0}
            for row in rows:
                errors = errors_at(row, delta)
                if name not in errors or len(errors) < 2:
                    continue
                rival = min((k for k in errors if k != name), key=lambda k: errors[k])
                at = [first + names.index(k) for k in (name, rival)]
                se = math.hypot(*(row["se"][i] for i in at))
                gap = errors[rival] - errors[name]
                if se > 0.0 and gap / se > top["t"] and gap > 0.01:
                    top = {
                        **{k: row[k] for k in ("law", *ClassifierFacts._fields[:5])},
                        "delta": delta,
                        "method": name,
                        "rival": rival,
                        "gap": round(gap, 4),
                        "t": round(gap / se, 1),
                    }
            out.append(top)
    return [row for row in out if row["t"] > 0.0]


def formulas(rows: Sequence[Mapping[str, Any]]) -> list[list[float | None]]:
    """For round records without a delta: error by ``pure_mean_error`` beside that of the noisy mean
    of projected records, and the bound with a proof (of right labels, at its best k of the data).
    """
    out = []
    for row in rows:
        if row["law"] != "round":
            continue
        facts = facts_of(row, 0.0)
        size: Any = {"n_samples": facts.n, "epsilon": facts.epsilon, "margin": facts.margin}
        k = pure_components(n_features=facts.d, flips=facts.flips, **size)
        wrong = pure_mean_error(n_features=facts.d, n_components=k, flips=facts.flips, **size)
        bound = pure_margin_bound(n_components=k, projected=k < facts.d, **size)
        told = facts.flips + (1.0 - 2.0 * facts.flips) * wrong
        out.append(
            [
                *_rounded([told]),
                errors_at(row, 0.0)["mean, projected"],
                None if math.isinf(bound) or facts.flips else round(bound, 3),
            ]
        )
    return out
