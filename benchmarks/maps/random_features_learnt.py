"""What advice on waves, lines and curves learns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from benchmarks.maps.random_features import DELTA, METHODS, ON_COLUMNS, SHAPES
from dplit._checks import Array
from dplit.advice._kernel_settings import (
    CANDIDATES,
    USEFUL,
    KernelFacts,
    gain,
    ranking,
    regressors,
    told_of,
)
from dplit.advice.kernels import waves

Row = Mapping[str, Any]

_LOW = (-8.0, 0.0, -4.0, -30.0, 0.2, -1.0, -6.0, 0.0)

_HIGH = (8.0, 2.0, 1.0, 12.0, 4.0, 1.0, 1.0, 4.0)


def facts_of(row: Row) -> KernelFacts:
    """What a user would say of a cell."""
    return KernelFacts(row["n"], row["d"], row["shape"], row["epsilon"], DELTA, row["fill"])


def error_of(row: Row, name: str) -> float:
    """Error of a candidate in a cell, on as many waves as the rule says; nan if not measured."""
    facts = facts_of(row)
    if name in CANDIDATES and name not in ON_COLUMNS:
        count, gamma = waves(**told_of(facts))
        name = f"{name} {count} {gamma * facts.d:g}"
    found = row["errors"][METHODS.index(name)]
    return math.nan if found is None else float(found)


def learn(rows: Sequence[Row]) -> dict[str, tuple[float, ...]]:
    """Fit :func:`dplit.advice._kernel_settings.gain` to the cells, by shape and candidate; the last
    number is the deviation of single cells around it.
    """
    learnt = {}
    for shape, name in itertools.product(SHAPES, CANDIDATES):
        known = [r for r in rows if r["shape"] == shape and not math.isnan(error_of(r, name))]
        # harm counts, up to as much as could be gained
        wanted = np.maximum([1.0 - error_of(row, name) for row in known], -1.0)
        able, heard = (
            np.array(x) for x in zip(*(regressors(facts_of(r)) for r in known), strict=True)
        )

        def modelled(c: Array, a: Array = able, h: Array = heard) -> Array:
            return np.asarray(expit(a @ c[:3]) * expit(h @ c[3:]))

        def gaps(c: Array, m: Callable[[Array], Array] = modelled, w: Array = wanted) -> Array:
            return m(c) - w

        start = (2.0, 0.1, -0.1, -4.0, 1.0, 0.0, -0.5, 0.5)
        fit = least_squares(gaps, start, bounds=(_LOW, _HIGH), loss="soft_l1", f_scale=0.1)
        c = tuple(round(float(value), 2) for value in fit.x)
        got = modelled(np.array(c))
        ratio = (got - np.maximum(wanted, 0.0)) ** 2 / (got * (1.0 - got) + 0.01)
        learnt[f"{shape}, {name}"] = (*c, round(math.sqrt(float(np.mean(ratio))), 2))
    return learnt


def regret(row: Row, *, told: bool = True) -> float:
    """What the advice explains less in a cell than the best candidate or a constant; the shape is
    told, or not. (Not told, waves are still as wide as for the shape.)
    """
    facts = facts_of(row) if told else facts_of(row)._replace(shape=None)
    errors = {name: error_of(row, name) for name in CANDIDATES}
    measured = {k: e for k, e in errors.items() if not math.isnan(e)}
    first = next(name for name in ranking(facts) if name in measured)
    reached = measured[first] if gain(first, facts) >= USEFUL else 1.0
    return reached - min(1.0, *measured.values())
