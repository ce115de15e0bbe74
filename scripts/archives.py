"""Archived runs: when and at which commit each was made, and whether today's run agrees with it.

The quick run of a build and the archived run at the paper's scale compute the same quantities at
some settings. There they may differ by their errors, and by no more.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm, t

from scripts.digest import computing
from scripts.files import BuildError, read_json
from scripts.layout import Layout, slug_of
from scripts.normalise import CURVES, records
from scripts.render import commit

#: Probability that a build whose runs agree, and have normal trials, is refused all the same.
FALSE_ALARM = 1e-4
#: Numbers are archived with six digits: below this share of their size they are equal.
ROUNDING = 2e-5
#: Standard errors that a band reaches above its curve, by what it is called.
BANDS = {"se": 1.0, "2 se": 2.0}
#: Trials below which quantiles say nothing of a law.
FEWEST = 5
#: A median's standard error is at most this many times a mean's, for normal trials.
MEDIAN = (np.pi / 2) ** 0.5


def made_now(layout: Layout, *, seconds: float) -> dict[str, Any]:
    """Return what an archive says of its making: date, commit, versions, CPU seconds."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit(layout),
        "versions": computing(),
        "seconds": round(seconds, 1),
    }


class Point(NamedTuple):
    """One quantity of two runs: its name, both values, and how far apart their errors let it be."""

    name: str
    here: float
    archived: float
    allowed: float

    @property
    def parts(self) -> bool:
        """Whether the two values lie further apart than that."""
        return not abs(self.here - self.archived) <= self.allowed


@cache
def _range_of(trials: int) -> float:
    """Return the expected range of so many standard normal trials."""
    outside = quad(lambda x: 1 - norm.cdf(x) ** trials - norm.sf(x) ** trials, -12, 12)[0]
    return float(outside)


def spread(curve: Mapping[str, Any], errors: str, at: int) -> float | None:
    """Return the standard deviation of one trial at a point of a curve; None where none is told.

    Parameters
    ----------
    curve : mapping
        What :class:`dplit.notebook.Curves` records of a curve.
    errors : {"se", "2 se", "range", "50 %", "80 %"}
        What its band is: one or two standard errors of a mean on each side; the range of the
        trials; the quantiles between which a share of them lies.
    at : int
        Position of the point.
    """
    trials = curve.get("trials")
    if not curve.get("high") or not trials or trials < (2 if errors in BANDS else FEWEST):
        return None
    low, middle, high = (curve[key][at] for key in ("low", "y", "high"))
    if low is None or middle is None or high is None:
        return None
    if errors in BANDS:  # the upper half: a lower end may be cut for a logarithmic axis
        return float(high - middle) / BANDS[errors] * float(trials) ** 0.5
    share = float(errors.removesuffix(" %")) / 100 if errors.endswith("%") else None
    width = _range_of(trials) if share is None else 2 * float(norm.ppf((1 + share) / 2))
    return 2 * float(max(high - middle, middle - low)) / width  # the longer side of a skewed law


def allowance(
    here: Mapping[str, Any], there: Mapping[str, Any], at: tuple[int, int], level: float
) -> float | None:
    """Return how far two runs may lie apart at a point, both being means or medians of trials.

    Both draw from one law, whose width is the larger that they saw: where trials seldom differ one
    run may have met nothing but equal ones. The allowance is a quantile of Student's law with the
    degrees of freedom of the longer run. A range knows less than a standard error.
    """
    errors, trials = here["errors"], (here["trials"], there["trials"])
    widths = [spread(curve, errors, k) for curve, k in zip((here, there), at, strict=True)]
    told = [width for width in widths if width is not None]
    if not told or None in trials or (errors not in BANDS and min(trials) < FEWEST):
        return None
    centre, known = (1.0, 1.0) if errors in BANDS else (MEDIAN, 0.7)
    quantile = float(t.isf(level / 2, known * (max(trials) - 1)))
    return quantile * centre * max(told) * (1 / trials[0] + 1 / trials[1]) ** 0.5


def _places(here: Sequence[Any], there: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the positions at which two axes have the same place, a number or a name."""
    for i, x in enumerate(here):
        for j, z in enumerate(there):
            both = isinstance(x, (int, float)) and isinstance(z, (int, float))
            if x == z or (both and abs(x - z) <= ROUNDING * abs(z)):
                yield i, j
                break


def points(notebook: dict[str, Any], archive: Mapping[str, Any]) -> list[Point]:
    """Return the points that a chapter's run and its archive have both, with what is allowed.

    A curve is compared at the places that both have, under equal settings and on the same data,
    where it says what its band is, or that it is exact. All points together raise a false alarm
    with probability ``FALSE_ALARM`` at most.
    """
    pairs = []
    for record in records(notebook, CURVES):
        old = archive.get("curves", {}).get(record["name"])
        if old is None or old["settings"] != record["settings"]:
            continue
        for name, here in record["curves"].items():
            there = old["curves"].get(name)
            if there is None or here.get("errors") is None or name in record["stand_ins"]:
                continue
            told = f"{record['name']}: {name} at "
            pairs += [(told, here, there, at) for at in _places(here["x"], there["x"])]
    level = FALSE_ALARM / max(len(pairs), 1)
    found = []
    for told, here, there, at in pairs:
        values = here["y"][at[0]], there["y"][at[1]]
        exact = here["errors"] == "exact"
        allowed = 0.0 if exact else allowance(here, there, at, level)
        if None not in (*values, allowed):
            allowed += ROUNDING * max(map(abs, values))
            found.append(Point(f"{told}{here['x'][at[0]]}", *values, allowed))
    return found


def check(layout: Layout) -> int:
    """Hold the last run of every chapter against its archive; return how many points were met.

    Raises
    ------
    BuildError
        Naming the points at which they part.
    """
    met, told = 0, []
    for slug in layout.recorded():
        archive = read_json(layout.archive(slug))
        notebook = read_json(layout.raw / f"{slug}.ipynb")
        if archive and notebook:
            found = points(notebook, archive)
            met += len(found)
            told += [(slug, point) for point in found if point.parts]
    if told:
        lines = [
            f"{slug}, {p.name}: {p.here:.6g} in this run, {p.archived:.6g} archived, "
            f"at most {p.allowed:.2g} apart"
            for slug, p in told
        ]
        again = " ".join(sorted({slug_of(slug) for slug, _ in told}))
        raise BuildError(
            "runs part from their archives; where the new numbers are right, "
            f"make paper NAME={again}\n  " + "\n  ".join(lines[:30])
        )
    return met


def _numbers(archive: Mapping[str, Any]) -> dict[str, Any]:
    """Return every number of an archive by its name: glued ones, curves, tables, checks."""
    found = dict(archive.get("numbers", {}))
    for name, one in archive.get("curves", {}).items():
        for curve, told in one["curves"].items():
            at = zip(told["x"], told["y"], strict=True)
            found |= {f"{name}: {curve} at {x}": y for x, y in at}
        for row in one.get("rows", ()):
            found |= {f"{name}: {row[0]}, column {k}": v for k, v in enumerate(row[1:], start=2)}
    for record in archive.get("claims", ()):
        found[f"{record['id']}: status"] = record["status"]
        for k, one in enumerate(record["checks"], start=1):
            found[f"{record['id']}: check {k}"] = one.get("measured")
    return found


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what differs between two archives of a chapter: name, former and new value."""
    before, after = _numbers(old), _numbers(new)
    told = []
    for name in sorted(before.keys() | after.keys()):
        a, b = before.get(name), after.get(name)
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
        if a != b and not (numbers and abs(a - b) <= ROUNDING * max(abs(a), abs(b))):
            told.append((name, *("none" if v is None else _told(v) for v in (a, b))))
    return told


def _told(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return differences as the lines of a table; one sentence where there is none."""
    if not rows:
        return ["no number differs from the archive before"]
    lines = [("quantity", "before", "now"), *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(3)]
    padded = ([c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in lines)
    return ["  ".join(cells).rstrip() for cells in padded]
