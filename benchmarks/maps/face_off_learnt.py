"""What is learnt of the scores of mechanisms on tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import curve_fit
from scipy.special import expit

from benchmarks.maps.face_off import _LIMITS, CANDIDATES, DELTA, Row
from dplit.advice.tables import recommend, strength


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


def followed(row: Row) -> float:
    """Return the regret of what is recommended; where nothing is, of the constant."""
    name = recommend(
        task="regression" if row.kind == "regression" else "classification",
        n=row.n,
        n_columns=row.columns,
        n_classes=row.classes,
        epsilon=row.epsilon,
        delta=DELTA,
    ).name
    best = max(row.trivial, *row.scores.values())
    return best - (row.trivial if name is None else row.scores[name])


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
    """All that :mod:`dplit.advice.tables` states, by kind of task."""
    found = {}
    for kind in CANDIDATES:
        own = [row for row in rows if row.kind == kind]
        limit, loo = best_limit(own), left_out(own)
        sizes = {"all": (0, math.inf), "below 500": (0, 500), "from 2000": (2000, math.inf)}
        found[kind] = {
            "lines": limit.lines,
            "limit": limit.strength,
            "tables": len(set(map(family, own))),
            "cells": len(own),
            "curve": fitted_curve(own, limit)._asdict(),
            "regret": {
                name: round(mean_regret([r for r in own if low <= r.n < high], limit), 4)
                for name, (low, high) in sizes.items()
            },
            "regret left out": {
                name: round(float(np.mean([g for r, g in loo if low <= r.n < high] or [0.0])), 4)
                for name, (low, high) in sizes.items()
            },
        }
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
        "seed": seed,
        "delta": DELTA,
        "learnt": learn([*made, *elsewhere]),
    }
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    told = {
        name: [row._asdict() for row in rows]
        for name, rows in (("made", made), ("elsewhere", elsewhere))
    }
    for key, rows in (told | {"private": list(private)}).items():
        lines = ",\n".join(map(json.dumps, rows))
        parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def rows_of(content: Mapping[str, Any], name: str) -> list[Row]:
    """Read the rows of an archive that stand under a name."""
    return [Row(**row) for row in content[name]]
