"""What a second public fact beside the strength mends: limits by its answers, and regrets.

A fact has few answers. For each the limits of least regret are learnt, half from the laws of
:mod:`benchmarks.maps.expected` and half from the face-off's tables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.maps.expected import BOUNDS, Cell
from benchmarks.maps.face_off import _LIMITS, DELTA, Row
from benchmarks.maps.face_off_learnt import Limit, family, fitted_curve
from dplit.advice.tables import recommend, strength

#: From which R2 what columns can tell is called some, and much.
ENDS = (0.2, 0.5)

ANSWERS = ("little", "some", "much")

#: Width of the face-off's label bounds in deviations: of made tables; of others it is not archived.
_WIDTH = 6.0

_SIZES = {"all": (0, math.inf), "below 500": (0, 500), "from 2000": (2000, math.inf)}

_strength = cache(strength)


def moved(cell: Cell) -> float:
    """Return the deviation of what columns tell over the width of the label bounds."""
    return math.sqrt(max(cell.explained, 0.0)) / cell.width


def _level(value: float, ends: Sequence[float]) -> int:
    return int(np.searchsorted(ends, value, side="right"))


def answer(cell: Cell) -> int:
    """Return the place of the answer that the rule is told, by the R2 that columns can reach."""
    return _level(cell.explained, ENDS)


#: Facts that are tried, each with few answers; "none" is the strength alone.
FACTS: dict[str, Callable[[Cell], Any]] = {
    "none": lambda cell: 0,
    "explained": answer,
    "alike": lambda cell: cell.alike,
    "width": lambda cell: _level(cell.width, (5.0, 9.0)),
    "moved": lambda cell: _level(moved(cell), (1 / 16, 1 / 8)),
    "explained and alike": lambda cell: (answer(cell), cell.alike),
}


class Limits(NamedTuple):
    """Below a strength nothing, from another on shapes, and lines between."""

    nothing: float
    shapes: float

    def score(self, cell: Cell) -> float:
        """Return the R2 of what is named; of nothing it is 0."""
        reach = _reach(cell)
        if reach < self.nothing:
            return 0.0
        return cell.lines if reach < self.shapes else cell.shapes


def _reach(cell: Cell) -> float:
    return _strength(cell.n, cell.columns, cell.epsilon, DELTA)


def best(cell: Cell) -> float:
    """Return the largest R2 of both mechanisms and a constant."""
    return max(0.0, cell.lines, cell.shapes)


@cache
def _named(n: int, columns: int, epsilon: float) -> str | None:
    told = {"n": n, "n_columns": columns, "epsilon": epsilon, "delta": DELTA}
    return recommend(task="regression", **told).name


def plain(cell: Cell) -> float:
    """Return the R2 of what the rule names that is told no second fact."""
    name = _named(cell.n, cell.columns, cell.epsilon)
    return {None: 0.0, "noisy_gradient": cell.lines, "additive": cell.shapes}[name]


def known_cells(rows: Sequence[Row]) -> list[Cell]:
    """Return the face-off's regressions; the best R2 met on a table stands for what can be told."""
    rows = [row for row in rows if row.kind == "regression"]
    tops: dict[str, float] = {}
    for row in rows:
        whole = row.table.removesuffix(", a tenth")
        tops[whole] = max(tops.get(whole, 0.0), *row.scores.values())
    return [
        Cell(
            family(row),
            row.table,
            row.n,
            row.columns,
            row.epsilon,
            tops[row.table.removesuffix(", a tenth")],
            _WIDTH,
            family(row).startswith(("ames", "weather")),
            row.scores["noisy_gradient"],
            row.scores["additive"],
        )
        for row in rows
    ]


def best_limits(collections: Sequence[Sequence[Cell]]) -> Limits:
    """Return the limits of most mean R2, each collection of as much weight; of equal ones the
    first.
    """
    limits = np.array(_LIMITS)
    totals = np.where(limits[:, None] <= limits, 0.0, -math.inf)
    for cells in filter(None, collections):
        reach, lines, shapes = np.array([(_reach(c), c.lines, c.shapes) for c in cells]).T
        from_on = reach >= limits[:, None]
        above, top = from_on @ lines / len(cells), from_on @ shapes / len(cells)
        totals += above[:, None] - above + top
    low, high = np.unravel_index(totals.round(6).argmax(), totals.shape)
    return Limits(_LIMITS[low], _LIMITS[high])


def learnt_limits(
    collections: Sequence[Sequence[Cell]], fact: Callable[[Cell], Any]
) -> dict[Any, Limits]:
    """Return the limits for each answer to a fact."""
    answers = {fact(cell) for cells in collections for cell in cells}
    return {
        answer: best_limits([[c for c in cells if fact(c) == answer] for cells in collections])
        for answer in sorted(answers)
    }


def scored(cell: Cell, limits: Mapping[Any, Limits], fact: Callable[[Cell], Any]) -> float:
    """Return the R2 of what is named; an answer that was met nowhere counts as the next below."""
    near = max((one for one in limits if one <= fact(cell)), default=min(limits))
    return limits[near].score(cell)


def left_out(
    cells: Sequence[Cell], others: Sequence[Cell], fact: Callable[[Cell], Any]
) -> Iterator[tuple[Cell, float]]:
    """Yield cells with their R2 by limits that are learnt without their law or table."""
    for law in dict.fromkeys(cell.law for cell in cells):
        limits = learnt_limits([[c for c in cells if c.law != law], others], fact)
        for cell in (c for c in cells if c.law == law):
            yield cell, scored(cell, limits, fact)


def regrets(found: Sequence[tuple[Cell, float]]) -> dict[str, dict[str, Any]]:
    """Return mean and worst regret, by the number of records, with the worst cell's facts."""
    told: dict[str, dict[str, Any]] = {}
    for name, (low, high) in _SIZES.items():
        lost = [(best(c) - score, c) for c, score in found if low <= c.n < high]
        if lost:
            most, cell = max(lost, key=lambda pair: pair[0])
            told[name] = {
                "mean": round(float(np.mean([gap for gap, _ in lost])), 4),
                "worst": round(most, 3),
                "at": f"{cell.table}: {cell.n} x {cell.columns}, epsilon {cell.epsilon:g}",
            }
    return told


def lead(found: Sequence[tuple[Cell, float]]) -> dict[str, float]:
    """Return what is gained over the rule without a second fact: a mean of laws or data sets, and
    its standard error.
    """
    by_law: dict[str, list[float]] = {}
    for cell, score in found:
        by_law.setdefault(cell.law, []).append(score - plain(cell))
    gains = np.array([np.mean(values) for values in by_law.values()])
    error = gains.std(ddof=1) / math.sqrt(len(gains))
    return {
        "laws": len(gains),
        "mean": round(float(gains.mean()), 3),
        "error": round(float(error), 3),
    }


def misjudged(
    cells: Sequence[Cell], limits: Mapping[int, Limits], by: int
) -> list[tuple[Cell, float]]:
    """Return R2 where each answer is one too high (1) or too low (-1); the outermost stay."""
    last = len(ANSWERS) - 1
    return [(c, limits[min(max(answer(c) + by, 0), last)].score(c)) for c in cells]


def curve(cells: Sequence[Cell], limits: Limits) -> list[float]:
    """Fit the share that is gained where something is named, as the face-off's rule does."""
    rows = [
        Row(
            c.table,
            "regression",
            c.n,
            c.columns,
            None,
            c.epsilon,
            0.0,
            {"noisy_gradient": c.lines, "additive": c.shapes},
        )
        for c in cells
        if _reach(c) >= limits.nothing
    ]
    return list(fitted_curve(rows, Limit("noisy_gradient", limits.shapes)))


def learn(
    made: Sequence[Cell], tables: Sequence[Cell], known: Sequence[Cell]
) -> dict[str, dict[str, Any]]:
    """Return limits and curves by answer, and regrets on what they were not learnt on."""
    limits = learnt_limits([made, known], answer)
    told: dict[str, Any] = {
        "answers": {
            ANSWERS[k]: [*at, *curve([c for c in (*made, *known) if answer(c) == k], at)]
            for k, at in limits.items()
        },
        "regret": {},
        "lead": {},
        "other facts": {},
    }
    groups: dict[str, tuple[Sequence[Cell], Sequence[Cell]]] = {
        "laws": (made, known),
        "face-off": (known, made),
        "tables": ([c for c in tables if c.width <= max(BOUNDS)], ()),
        "tables, wider bounds": ([c for c in tables if c.width > max(BOUNDS)], ()),
    }
    for name, (cells, others) in groups.items():
        by_fact = {}
        for other, fact in FACTS.items():
            if others:
                pairs = list(left_out(cells, others, fact))
            else:
                found = learnt_limits([made, known], fact)
                pairs = [(c, scored(c, found, fact)) for c in cells]
            by_fact[other] = regrets(pairs)
            if fact is answer:
                told["lead"][name] = lead(pairs)
        told["regret"][name] = {
            "not stated": regrets([(c, plain(c)) for c in cells]),
            "stated": by_fact.pop("explained"),
            "one answer too high": regrets(misjudged(cells, limits, 1)),
            "one answer too low": regrets(misjudged(cells, limits, -1)),
        }
        told["other facts"][name] = by_fact
    return told


def archive(made: Sequence[Cell], tables: Sequence[Cell], rows: Sequence[Row], *, seed: int) -> str:
    """Return the text of the archive, one cell a line."""
    head = {
        "about": "R2 of both mechanisms at their defaults on held-out records, means over runs; n "
        "counts training records. Limits are learnt from the laws and from the regressions of "
        "face_off_choice.json, regrets are of limits learnt without the law or the table, and "
        "nothing is learnt from the bundled tables.",
        "command": "python -m benchmarks.archive_expected",
        "seed": seed,
        "delta": DELTA,
        "learnt": learn(made, tables, known_cells(rows)),
    }
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, cells in {"laws": made, "tables": tables}.items():
        lines = ",\n".join(json.dumps(cell._asdict()) for cell in cells)
        parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"
