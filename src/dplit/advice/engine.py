"""What the rules share: what they return, what they learnt, and where that was tried."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

#: Least and largest value that was tried, or the names that were.
Tried = tuple[float, float] | tuple[str, ...]


@cache
def _all_learnt() -> dict[str, dict[str, list[float]]]:
    text = files("dplit.advice").joinpath("learnt.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def learnt(rule: str) -> dict[str, tuple[float, ...]]:
    """Return the coefficients of a rule by candidate, or by what else it tells apart.

    Maps of simulations made them (``benchmarks.maps``); ``learnt.json`` holds them all.

    >>> learnt("entries")
    {'gradients': (0.27, 1.04, 1.69, -1.5, -1.31)}
    """
    return {name: tuple(row) for name, row in _all_learnt()[rule].items()}


def outside(facts: Mapping[str, float | str | None], tried: Mapping[str, Tried]) -> str:
    """Say, as the end of a sentence, which numbers lie outside what was tried; None lies nowhere.

    >>> outside({"n": 10, "d": 3, "rank": None}, {"n": (100, 1e5), "d": (2, 5), "rank": (5, 20)})
    '; n beyond what was tried, so this extrapolates'
    """
    beyond = []
    for name, ends in tried.items():
        value = facts.get(name)
        if isinstance(value, (int, float)) and isinstance(ends[0], (int, float)):
            low, high = float(ends[0]) * (1.0 - 1e-9), float(ends[-1]) * (1.0 + 1e-9)
            beyond += [] if low <= value <= high else [name]
    return f"; {', '.join(beyond)} beyond what was tried, so this extrapolates" if beyond else ""


class ExpectedError(NamedTuple):
    """The error to expect: a mean over data sets and noise, with the deviation of a single run.

    Attributes
    ----------
    measure : str
        What the error is.
    mean, spread : float
        Mean, and standard deviation of one run around it: data, noise and what the rule missed.
    trivial, best : float
        Error of the best constant, and of the best that any prediction could do.

    Examples
    --------
    >>> print(ExpectedError("share of wrong classes", 0.12, 0.03, trivial=0.5, best=0.1))
    share of wrong classes 0.12 +- 0.03 (a constant 0.5, the best 0.1)
    """

    measure: str
    mean: float
    spread: float
    trivial: float
    best: float

    def __str__(self) -> str:
        return (
            f"{self.measure} {self.mean:.2g} +- {self.spread:.1g} "
            f"(a constant {self.trivial:.2g}, the best {self.best:.2g})"
        )


@dataclass(frozen=True)
class Recommendation:
    """What to use, why, where that was tried, and the error to expect.

    Attributes
    ----------
    estimator : object or None
        Configured and not fitted; None where nothing was found to be useful at this budget.
    reason : str
        One sentence.
    tried : mapping of str to tuple
        For each public fact the least and the largest value that were tried, or the names.
    expected : ExpectedError
        For data of the strength that was asked for.
    name : str or None
        By which a table is released with it: one of :mod:`dplit.tables.mechanisms`. None where
        nothing is useful, and of rules that are not about a table's release: these configure an
        estimator by more than a name says.

    Examples
    --------
    >>> error = ExpectedError("share of wrong classes", 0.5, 0.02, 0.5, 0.1)
    >>> advice = Recommendation(None, "Ten records are too few.", {"n": (100, 1e5)}, error)
    >>> print(advice)
    nothing useful at this budget
      why       Ten records are too few.
      tried     n 100 to 100,000
      expected  share of wrong classes 0.5 +- 0.02 (a constant 0.5, the best 0.1)
    """

    estimator: Any | None
    reason: str
    tried: Mapping[str, Tried]
    expected: ExpectedError
    name: str | None = None

    def __repr__(self) -> str:
        what = "nothing useful at this budget" if self.estimator is None else repr(self.estimator)
        ranges = "; ".join(f"{name} {_told(values)}" for name, values in self.tried.items())
        lines = textwrap.wrap(" ".join(what.split()), 80, subsequent_indent="    ")
        for name, text in (("why", self.reason), ("tried", ranges), ("expected", self.expected)):
            gap = " " * 12
            lines += textwrap.wrap(
                str(text), 80, initial_indent=f"  {name:10}", subsequent_indent=gap
            )
        return "\n".join(lines)


def _told(values: Tried) -> str:
    """Say a range or a list of names."""
    if isinstance(values[0], str):
        return ", ".join(map(str, values))
    low, high = (f"{value:,g}" if value < 1e6 else f"{value:g}" for value in map(float, values))
    return f"{low} to {high}"
