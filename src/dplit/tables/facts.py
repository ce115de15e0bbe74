"""A reader's table: public facts that its owner states, and records encoded by these alone.

Names of columns are public. No value of a record can raise an error, drop a row or change how
another is read: what is no number is filled, what is out of bounds clipped, what is no stated
category counts as the first. A cell is missing if it is None, NaN, NaT, NA or blank, whatever the
reader; the category ``""``, where it is stated, is that of missing ones. **A record whose target is
missing, no finite number or none of the classes contributes nothing.** Truth values are the numbers
1 and 0, days are texts such as "2020-01-31". One thing is told of the records, because no fit would
mean anything: that a column agrees with what is stated of it in **no** record at all, which counts
as public.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import unicodedata
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from dplit._checks import as_number
from dplit._entries import is_missing
from dplit.tables._chunks import Chunk, TableError, named
from dplit.tables._contributions import Contributions
from dplit.tables._csv_files import is_number
from dplit.tables._sources import opened

_Task = Literal["regression", "classification", "clustering"]
Array = NDArray[np.float64]

#: Rows that are in memory as text at a time.
_CHUNK = 16384
_BLANK: dict[type, str] = {dict: "{}", list: "[]"}
#: How much closer skewed columns are read at their lowest bound than on an even scale, about.
_CROWD = 100.0
#: Texts of truth values, as numbers.
_TRUTHS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class TableFacts:
    """What is public about a table, stated by its owner.

    Attributes
    ----------
    task : {"regression", "classification", "clustering"}
    target : str
        Column that is predicted; empty for clustering.
    bounds : mapping of str to (float, float)
        Lowest and highest value of each numeric column, a numeric target included.
    categories : mapping of str to tuple
        Values of each column of texts; every other value counts as the first of them, a missing
        one as ``""`` if that is among them.
    classes : tuple
        The classes, two or more; a record with another label, or without one, contributes nothing.
    fill : mapping of str to float
        What stands for a missing number; by default the middle of the bounds, or of a skewed scale.
        Without one for a numeric target, a record whose target is missing contributes nothing.
    ignore : tuple of str
        Columns that are not used.
    n_clusters : int
        Number of clusters; 0 where there are none.
    columns : tuple of str
        Columns that are used, in the order of the file, without the target.
    skewed : tuple of str
        Numeric columns, not the target, whose values crowd near their lowest bound, as amounts do:
        they are read on a logarithmic scale, :meth:`units`.
    decimal, thousands : str
        Characters before the decimals of a number that is a text, and between its groups of digits;
        none where it is empty.
    group : str
        Column that says whose a record is; empty where each person has one.
    rows_each : int
        Records of a person that count, at most; a record of nobody counts nothing.
    interactions : tuple of pairs of str
        Columns that say something together that is no sum of what each says, as two coordinates
        do: additive models learn a map of each pair beside the shapes.

    Examples
    --------
    >>> facts = state_facts(["age", "cost"], target="cost", bounds={"age": (0, 99), "cost": (0, 9)})
    >>> facts.task, facts.columns, facts.data_norm
    ('regression', ('age',), 1.0)
    """

    task: _Task
    target: str
    bounds: Mapping[str, Sequence[float]]
    categories: Mapping[str, Sequence[Any]]
    classes: Sequence[Any]
    fill: Mapping[str, float]
    ignore: Sequence[str]
    n_clusters: int
    columns: Sequence[str]
    skewed: Sequence[str] = ()
    decimal: str = "."
    thousands: str = ""
    group: str = ""
    rows_each: int = 1
    interactions: Sequence[Sequence[str]] = ()

    @property
    def data_norm(self) -> float:
        """Bound on the norm of an encoded row: every column adds at most 1 to its square."""
        return math.sqrt(len(self.columns))

    @property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest entries of an encoded row: [-1, 1], or [0, 1] for indicators."""
        low = [
            [0.0] * len(self.categories[c]) if c in self.categories else [-1.0]
            for c in self.columns
        ]
        flat = np.array([entry for part in low for entry in part])
        return flat, np.ones(len(flat))

    @property
    def indicators(self) -> tuple[tuple[int, ...], ...]:
        """Places, in an encoded row, of each column of texts: one of its entries is 1."""
        groups, at = [], 0
        for column in self.columns:
            width = len(self.categories[column]) if column in self.categories else 1
            if column in self.categories:
                groups.append(tuple(range(at, at + width)))
            at += width
        return tuple(groups)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Places, in an encoded row, of the first entries of the columns of ``interactions``."""
        widths = [len(self.categories[c]) if c in self.categories else 1 for c in self.columns]
        first = dict(zip(self.columns, np.cumsum([0, *widths[:-1]]).tolist(), strict=True))
        return tuple((first[one], first[other]) for one, other in self.interactions)

    @property
    def public(self) -> dict[str, Any]:
        """What mechanisms are told of the labels or clusters."""
        if self.task == "regression":
            return {"bounds": tuple(map(float, self.bounds[self.target]))}
        if self.task == "classification":
            return {"classes": tuple(self.classes)}
        return {"n_clusters": self.n_clusters}

    def as_json(self) -> dict[str, Any]:
        """Return the facts as `TableFacts.from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return the facts that `as_json` wrote."""
        return cls(**facts)

    def encode(self, columns: Mapping[str, Sequence[Any]]) -> Array:
        """Return values, given by column, as an array (n, d) in the box, every row by itself."""
        return self._encoded({c: self._raw(c, columns[c]) for c in self.columns})

    def _raw(self, column: str, values: Sequence[Any]) -> Array:
        """Return values as numbers, NaN where they are none; of texts and classes their place among
        those that are stated, NaN for others.
        """
        stated = self.categories.get(column)
        if column == self.target and self.task == "classification":
            stated = self.classes
        read = _reader(self.decimal, self.thousands)
        if stated is not None:
            read = _place(stated, read, blank=column in self.categories)
        return np.fromiter(map(read, values), np.float64, len(values))

    def _encoded(self, raw: Mapping[str, Array]) -> Array:
        """Return the rows of what `_raw` read."""
        parts = []
        for column in self.columns:
            if column in self.categories:
                units = np.eye(len(self.categories[column]))
                parts.append(units[np.nan_to_num(raw[column]).astype(int)])
            else:
                numbers = self._bounded(column, raw[column]).reshape(-1, 1)
                parts.append(self.units(column, numbers))
        return np.hstack(parts)

    def units(self, column: str, numbers: Array) -> Array:
        r"""Place of numbers between a column's bounds, in [-1, 1], each by itself.

        Of a skewed column :math:`2\log(1+100u)/\log(101)-1`, where u in [0, 1] is the place
        between the bounds: half of [-1, 1] is for the lowest tenth.
        """
        low, high = self.bounds[column]
        unit = np.clip((numbers - (low / 2 + high / 2)) / (high / 2 - low / 2), -1.0, 1.0)
        return np.asarray(logarithmic(unit) if column in self.skewed else unit)

    def numbers(self, column: str, units: Array) -> Array:
        """Numbers of a column at places in [-1, 1]: the inverse of :meth:`units`."""
        low, high = map(float, self.bounds[column])
        if column in self.skewed:
            place = np.expm1((units + 1.0) / 2.0 * math.log1p(_CROWD)) / _CROWD
            units = 2.0 * place - 1.0
        return np.asarray(low / 2 + high / 2 + units * (high / 2 - low / 2))

    def _bounded(self, column: str, raw: Array) -> Array:
        """Return the numbers of a column, missing ones filled and all in its bounds."""
        low, high = self.bounds[column]
        middle = self.fill.get(column, float(self.numbers(column, np.zeros(1))[0]))
        filled = np.where(np.isnan(raw), middle, raw)
        return np.asarray(np.clip(filled, low, high))

    def _labels(self, raw: Array) -> Array:
        """Return what `_raw` read of the target as numbers in its bounds, or places of classes;
        NaN where there is none.
        """
        if self.task == "classification":
            return raw
        known = np.isfinite(raw) | (self.target in self.fill)
        return np.where(known, self._bounded(self.target, raw), np.nan)


def logarithmic(units: Array) -> Array:
    """Return places in [-1, 1] on a logarithmic scale, in [-1, 1]: see :meth:`TableFacts.units`.

    >>> logarithmic(np.array([-1.0, -0.8, 1.0])).round(2).tolist()
    [-1.0, 0.04, 1.0]
    """
    place = np.log1p(_CROWD * (units + 1.0) / 2.0) / math.log1p(_CROWD)
    return np.clip(2.0 * place - 1.0, -1.0, 1.0)


#: Types that NumPy or Python would count in nanoseconds or days.
_TIMES = (date, timedelta, np.datetime64, np.timedelta64)


def _reader(decimal: str, thousands: str) -> Callable[[Any], float]:
    """Return what reads a value as a number, or NaN: a date is none."""
    point = re.escape(decimal)
    if thousands:
        mark = re.escape(thousands)
        digits = rf"(?:\d+|\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}})"
    else:
        digits = r"\d+"
    form = re.compile(rf"\s*[+-]?(?:{digits}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?\s*")
    plain = decimal == "." and not thousands

    def read(value: Any) -> float:
        if isinstance(value, (str, bytes)) and not plain:
            text = _text(value)
            if any(mark in text for mark in (decimal, ".", thousands or ".")):
                if form.fullmatch(text) is None:
                    return math.nan
                value = text.replace(thousands, "").replace(decimal, ".")
        return _as_number(value)

    return read


def _text(value: Any) -> str:
    """Return a value as it is compared: without blanks at its ends, in Unicode's form NFC."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return unicodedata.normalize("NFC", text).strip()


def _as_number(value: Any) -> float:
    """Return a value as a number, or NaN; an integer beyond the floats is the largest of them."""
    if isinstance(value, (*_TIMES, complex, np.complexfloating)):
        return math.nan
    try:
        if isinstance(value, (str, bytes)):
            return math.nan if "_" in _text(value) else float(value)  # 1_000 is one to Python
        return float(as_number(value).real)
    except Exception:  # whatever an object does when it is asked for a number
        return _TRUTHS.get(value.strip().lower(), math.nan) if isinstance(value, str) else math.nan


def _exact(value: Any, read: Callable[[Any], float] = _as_number) -> Any:
    """Return a value as a number that is compared exactly, or None if it is no finite one."""
    try:
        plain = isinstance(value, (str, int, np.integer)) and "_" not in str(value)
        whole = int(value if plain else "")
    except ValueError:
        number = read(value)
        return number if math.isfinite(number) else None
    return whole


def _place(
    values: Sequence[Any], read: Callable[[Any], float] = _as_number, *, blank: bool = True
) -> Callable[[Any], float]:
    """Return what maps a value to its index among stated ones, and any other to NaN.

    A text is compared as `_text` has it, then as a number where both are one; what is missing is
    the text "" where that may be stated (``blank``).
    """
    texts = {_text(value): float(i) for i, value in enumerate(values)}
    numbers = {
        number: float(i) for i, value in enumerate(values) if (number := _exact(value)) is not None
    }
    none = texts.get("", math.nan) if blank else math.nan

    def place(value: Any) -> float:
        if is_missing(value):
            return none
        try:
            text = _text(value).removesuffix(" 00:00:00")
        except Exception:  # whatever an object does when it is asked for a text
            return math.nan
        if text in texts or not numbers:
            return texts.get(text, math.nan)
        return numbers.get(
            _exact(text if isinstance(value, (str, bytes)) else value, read), math.nan
        )

    return place


def _person(value: Any) -> Any:
    """Return what tells a person from others, None for nobody: of numbers, and of texts that are
    written as numbers, the number. To take two for one is safe, and not the other way round: write
    numbers above 2^53 in one way.
    """
    if is_missing(value):
        return None
    try:
        number = _exact(value)
        return _text(value) if number is None else number
    except Exception:  # whatever an object does when it is asked for a text
        return None


@dataclass(frozen=True)
class Problem:
    """Encoded records with what is public about them.

    Attributes
    ----------
    name : str
    task : str
        "regression", "classification", "clustering" or "components".
    X : ndarray of shape (n, d)
        In the box, rows of norm at most ``data_norm``.
    y : ndarray of shape (n,)
        Labels: numbers, or classes; of records that are not ``known`` any.
    public : mapping
        What mechanisms are told: label ``bounds``, ``classes``, ``n_clusters`` or ``n_components``.
    data_norm : float
    box : pair of ndarray of shape (d,)
    indicators : tuple of tuple of int
        Entries of a row that come from one column of texts: one of them is 1, the others are 0.
    known : ndarray of bool of shape (n,), or None
        Whether a record has a label; None: all have one.
    facts : TableFacts or None
        What was stated, where the records were read by it.

    Examples
    --------
    >>> facts = state_facts(["age", "cost"], target="cost", bounds={"age": (0, 99), "cost": (0, 9)})
    >>> problem = load_problem({"age": [99.0, 0.0, 33.0], "cost": [3.0, None, 1.0]}, facts)
    >>> problem.labels(), problem.labelled().X.shape
    (array([ 3., nan,  1.]), (2, 1))
    """

    name: str
    task: str
    X: Array
    y: NDArray[Any]
    public: Mapping[str, Any]
    data_norm: float
    box: tuple[Array, Array] = field(repr=False)
    indicators: tuple[tuple[int, ...], ...] = ()
    known: NDArray[np.bool_] | None = field(default=None, repr=False)
    facts: TableFacts | None = field(default=None, repr=False)

    def labels(self, rows: Any = slice(None)) -> NDArray[Any]:
        """Return labels as estimators read them: NaN, or None beside classes, of none.

        Their type does not depend on whether one is missing.
        """
        if self.known is None or self.task not in ("regression", "classification"):
            return np.asarray(self.y[rows])
        if self.task == "regression":
            return np.where(self.known[rows], self.y[rows], np.nan)
        held = self.y[rows].astype(object)
        held[~self.known[rows]] = None
        return np.asarray(held)

    def labelled(self) -> Problem:
        """Return the records that have a label: how many these are is not public."""
        if self.known is None:
            return self
        return replace(self, X=self.X[self.known], y=self.y[self.known], known=None)


def _parsed(name: str, value: Any, kind: type, told: list[str]) -> Any:
    """Return what is written as JSON, or given in Python, or say what form it must have."""
    if isinstance(value, str):
        try:
            found = json.loads(value or _BLANK[kind])
        except ValueError:
            found = None
        form = (
            ("JSON of the form " + repr('{"NAME": ...}'))
            if kind is dict
            else ("JSON of the form " + repr('["value", ...]'))
        )
    else:
        found = kind() if value is None else _plain(value)
        form = "a mapping {'NAME': ...}" if kind is dict else "a tuple ('value', ...)"
    if isinstance(found, kind):
        return found
    told.append(f"{name} must be {form}, got {name}={value!r}")
    return kind()


def _plain(value: Any) -> Any:
    """Return what is given in Python as JSON would read it: dicts, lists and plain scalars."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    if isinstance(value, (Fraction, Decimal)):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _form(name: str, value: Any, python: bool) -> str:
    """Say how to state a fact, to a function or to papermill."""
    if not python:
        return (
            f"-p {name} {value}" if isinstance(value, str) else f"-p {name} '{json.dumps(value)}'"
        )
    return f"{name}={value if isinstance(value, str) else _tupled(value)}"


def _tupled(value: Any) -> str:
    """Return plain values as one would write them in Python."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_tupled(item)}" for key, item in value.items()) + "}"
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def _is_pair(ends: Any) -> bool:
    good = isinstance(ends, list) and len(ends) == 2
    good = good and all(isinstance(e, (int, float)) and abs(e) <= 1e150 for e in ends)
    return bool(good and ends[0] < ends[1] and ends[1] - ends[0] >= 1e-150)


def _value_faults(
    bounds: Any, categories: Any, classes: Any, fill: Any, skewed: Any, target: str
) -> Iterator[str]:
    """Say which stated values have the wrong form."""
    for column, ends in bounds.items():
        if not _is_pair(ends):
            yield f"bounds of {column} must be two increasing numbers, got {ends!r}"
    for column, values in [*categories.items(), *([("the target", classes)] if classes else [])]:
        texts = [_text(v) for v in values] if isinstance(values, list) else []
        if len(texts) < 1 or len(set(texts)) < len(texts):
            yield f"values of {column} must be a list of different ones, got {values!r}"
            continue
        exact = [number for v in values if (number := _exact(v)) is not None]
        if len(set(exact)) < len(exact):
            yield f"values of {column} must be different as numbers too, got {values!r}"
    if len({isinstance(label, str) for label in classes}) > 1:
        yield f"classes must be all numbers or all texts, got {classes!r}"
    if classes and len(classes) < 2:
        yield f"classes must be two or more, got {classes!r}"
    if any(is_missing(label) for label in classes):
        yield f"classes must not be blank: a record without a label is in none, got {classes!r}"
    for column, value in fill.items():
        if column not in bounds or not (isinstance(value, (int, float)) and math.isfinite(value)):
            yield f"fill of {column} must be a number, for a column with bounds, got {value!r}"
    for column in skewed:
        if column not in bounds or column == target:
            yield f"skewed must name columns with bounds beside the target, got {column!r}"


def _pair_faults(pairs: list[Any], used: Sequence[str]) -> Iterator[str]:
    """Say which stated pairs are none of two columns to learn from."""
    for pair in pairs:
        good = isinstance(pair, list) and len(pair) == 2 and pair[0] != pair[1]
        if not good or not set(pair) <= set(used):
            yield f"interactions must be pairs of two columns to learn from, got {pair!r}"
        elif pairs.count(pair) + pairs.count(pair[::-1]) > 1:
            yield f"interactions must name a pair once, got {pair!r}"


def _inferred(
    task: str, target: str, bounds: Any, classes: Any, k: int, told: list[str], python: bool
) -> str:
    """Return the task from what is stated, never from records."""
    pair = _form("classes", ["FIRST", "SECOND"], python)
    if task and task not in get_args(_Task):
        told.append(f"task must be one of {', '.join(get_args(_Task))}, got task={task!r}")
    found = task or ("clustering" if not target else "classification" if classes else "regression")
    if found == "clustering" and k < 1:
        told.append(
            f"how many clusters: {_form('n_clusters', 'NUMBER', python)} (or name the "
            f"column to be predicted: {_form('target', 'COLUMN', python)})"
        )
    if found != "clustering" and not target:
        told.append(f"which column is predicted: {_form('target', 'COLUMN', python)}")
    if found == "classification" and not classes:
        told.append(f"the classes, two or more: {pair}")
    if found == "regression" and target and target not in bounds:
        told.append(f"{target}, which is predicted: its bounds, or for classes {pair}")
    return found


def state_facts(
    header: Sequence[str],
    *,
    target: str | int | None = "",
    task: str = "",
    bounds: Any = "",
    categories: Any = "",
    classes: Any = "",
    fill: Any = "",
    ignore: Any = "",
    n_clusters: int = 0,
    skewed: Any = (),
    decimal: str = ".",
    thousands: str = "",
    group: str | int | None = "",
    rows_each: int = 1,
    interactions: Any = (),
) -> TableFacts:
    """Check what is stated about a table against the names of its columns.

    Parameters
    ----------
    header : sequence of str
        Names of the columns, which are public.
    target, task, n_clusters
        As in :class:`TableFacts`; an empty task follows from what else is stated.
    bounds, categories, classes, fill, ignore, skewed, interactions
        Mappings or sequences, None, or str.
        As in :class:`TableFacts`; texts are JSON. What is missing is told in the form of JSON where
        one of them is a text, else in the form of Python. Names may be numbers, as those of columns
        of pandas are.
    decimal, thousands : str, default="." and ""
        As in :class:`TableFacts`, each one character, or none for ``thousands``.
    group, rows_each
        As in :class:`TableFacts`; for a table with a target.

    Returns
    -------
    TableFacts

    Raises
    ------
    TableError
        With the whole list of what is missing or wrong, in the form in which to state it. No name
        of the header is shown that is a number, or where none of them was stated: it may be a
        record, of a file without names.

    Examples
    --------
    >>> facts = state_facts(["age", "cost"], target="cost", bounds='{"age": [0, 99]}')
    Traceback (most recent call last):
    ...
    dplit.tables._chunks.TableError: to be stated, and never read from the records:
      cost, which is predicted: its bounds, or for classes -p classes '["FIRST", "SECOND"]'
      numbers have bounds: -p bounds '{"age": [0, 99], "cost": ["LOW", "HIGH"]}'
    """
    told: list[str] = []
    python = not any(isinstance(x, str) for x in (bounds, categories, classes, fill, ignore))
    ranges, texts = (
        _parsed(n, t, dict, told) for n, t in (("bounds", bounds), ("categories", categories))
    )
    fills, labels = _parsed("fill", fill, dict, told), _parsed("classes", classes, list, told)
    left, crowded = _parsed("ignore", ignore, list, told), _parsed("skewed", skewed, list, told)
    together = _parsed("interactions", interactions, list, told)
    target, group = ("" if name is None else named(name) for name in (target, group))
    for given in (ranges, texts, fills):
        if len(set(map(named, given))) < len(given):
            told.append(f"names of columns must differ without blanks, got {list(given)}")
    ranges, texts, fills = ({named(c): v for c, v in x.items()} for x in (ranges, texts, fills))
    left, crowded, header = (list(map(named, names)) for names in (left, crowded, header))
    _check_shown(header, {*ranges, *texts, *left, target})
    told += _mark_faults(decimal, thousands)
    kind = _inferred(task, target, ranges, labels, n_clusters, told, python)
    told += _value_faults(ranges, texts, labels, fills, crowded, target)
    told += _group_faults(group, rows_each, kind, {*ranges, *texts, *left, target})
    named_ones = [name for name in (target, group) if name]
    every, counts = [*ranges, *texts, *left, *named_ones], Counter(header)
    told += [
        f"{c} is no column of the table ({', '.join(header)})"
        for c in dict.fromkeys(every)
        if c not in counts
    ]
    told += [f"{c} is the name of several columns" for c, count in counts.items() if count > 1]
    told += [
        f"{c} is stated twice: as bounds, categories or to be ignored"
        for c in header
        if (c in ranges) + (c in texts) + (c in left) > 1
    ]
    stated = {*ranges, *texts, *left, target, group}
    open_ones = [c for c in header if c not in stated]
    missing = [*open_ones, *([target] if kind == "regression" and target not in ranges else [])]
    if missing:
        form = ranges | {c: ["LOW", "HIGH"] for c in missing if c}
        told.append(f"numbers have bounds: {_form('bounds', form, python)}")
    if open_ones:
        form = texts | {c: ["VALUE", "VALUE"] for c in open_ones}
        told.append(f"texts have categories instead: {_form('categories', form, python)}")
        unused = _form("ignore", left + open_ones, python)
        told.append(f"what is not used is ignored: {unused}")
    used = tuple(c for c in header if c not in {target, group, *left})
    if not used:
        told.append("at least one column to learn from, beside the target")
    pairs = [[named(c) for c in one] if isinstance(one, list) else one for one in together]
    told += _pair_faults(pairs, used)
    if told:
        lines = "\n  ".join(told)
        raise TableError(f"to be stated, and never read from the records:\n  {lines}")
    return TableFacts(
        kind,  # type: ignore[arg-type]
        target,
        ranges,
        texts,
        tuple(labels),
        fills,
        tuple(left),
        n_clusters if kind == "clustering" else 0,
        used,
        tuple(crowded),
        decimal,
        thousands,
        group,
        int(rows_each),
        tuple(map(tuple, pairs)),
    )


def _group_faults(group: str, rows_each: Any, kind: str, stated: set[str]) -> Iterator[str]:
    """Say what is wrong with a column of persons."""
    whole = isinstance(rows_each, (int, np.integer)) and not isinstance(rows_each, bool)
    if not whole or rows_each < 1:
        yield f"rows_each must be a positive integer, got rows_each={rows_each!r}"
    elif rows_each > 1 and not group:
        yield f"rows_each needs a group, the column of persons, got rows_each={rows_each!r}"
    if group and kind == "clustering":
        yield "group is for tables with a target: a record that is missing has no label"
    if group in stated - {""}:
        yield f"{group} is the group, and stated to be something else too"


def _check_shown(header: Sequence[str], stated: set[str]) -> None:
    """Refuse a header that may be a record, before anything shows it."""
    numbers = [name for name in header if is_number(name) and name not in stated]
    if numbers:
        raise TableError(
            "the first line of the file must name the columns; here it holds numbers, and is not "
            f"shown: {len(numbers)} of {len(header)} names are numbers that nothing states"
        )
    if stated.isdisjoint(header):
        told = ", ".join(map(repr, sorted(filter(None, stated)))) or "nothing"
        raise TableError(
            f"at least one column must be stated by its name; stated is {told}. The first line of "
            "the table is not shown, as it may be a record; header_of returns it"
        )


def _mark_faults(decimal: Any, thousands: Any) -> Iterator[str]:
    """Say which marks of numbers are none."""
    taken = set("0123456789+-eE")
    for name, mark in (("decimal", decimal), ("thousands", thousands)):
        long = not isinstance(mark, str) or len(mark) > 1 or (name == "decimal" and not mark)
        if long or mark in taken:
            yield f"{name} must be one character that no number has otherwise, got {name}={mark!r}"
    if decimal == thousands:
        yield f"decimal and thousands must differ, got decimal={decimal!r}"


def header_of(file: Any, *, separator: str | None = None) -> list[str]:
    """Return the names of a table's columns; no record is read.

    Of a CSV file without names it is the first record. ``separator`` as in :func:`load_problem`.

    >>> header_of({"age": [40.0], "cost": [1.0]})
    ['age', 'cost']
    """
    with opened(file, _CHUNK, separator) as (header, _):
        return header


class _Agreement:
    """Which columns agree with what is stated about them, in at least one record."""

    def __init__(self, facts: TableFacts, used: Sequence[str]):
        self.facts, self.strange = facts, dict.fromkeys(used, False)
        self._odd = dict.fromkeys(used, 0)

    def see(self, columns: Mapping[str, Sequence[Any]], raw: Mapping[str, Array]) -> None:
        """Take notice of some records, and forget columns of which one record agrees."""
        for column in self._odd:
            self._odd[column] += int(np.isnan(raw[column]).sum())
        for column in list(self.strange):
            if not np.all(np.isnan(raw[column])):
                del self.strange[column]
            elif not all(map(is_missing, columns[column])):
                self.strange[column] = True

    def odd(self, n: int) -> dict[str, float]:
        """Share of each column's cells that are not as is stated, or missing: not private."""
        return {column: count / n for column, count in self._odd.items()}

    def check(self) -> None:
        """Refuse columns that say something and never what is stated."""
        if told := self.faults():
            lines = "\n  ".join(f"{one}, and no record does" for one in told)
            raise TableError(f"what is stated agrees with no record at all:\n  {lines}")

    def warn(self) -> None:
        """Warn of such columns where rows are only read: each cell counts as a missing one."""
        if told := self.faults():
            lines = "\n  ".join(f"{one}, and none of these rows does" for one in told)
            warnings.warn(f"columns that count as missing:\n  {lines}", stacklevel=2)

    def faults(self) -> list[str]:
        """Say of each column that holds something, and never what is stated, what was stated."""
        told = []
        for column in [c for c, something in self.strange.items() if something]:
            stated = self.facts.categories.get(column)
            if column == self.facts.target and self.facts.task == "classification":
                stated = self.facts.classes
            rule = (
                "is stated to hold numbers (a date is none; of others decimal= and thousands= "
                "say how they are written)"
                if stated is None
                else f"is stated to hold {', '.join(map(repr, stated))}"
            )
            told.append(f"{column} {rule}")
        return told


def load_problem(
    file: Any,
    facts: TableFacts,
    *,
    progress: bool | None = None,
    check: bool = True,
    separator: str | None = None,
) -> Problem:
    """Read a table, chunk by chunk, and encode it by what is stated.

    Memory holds the encoded numbers, eight bytes each, and the values of one chunk of rows.

    Parameters
    ----------
    file : str, path or table
        CSV, also compressed by gzip, bz2 or xz, Parquet, or a folder of either, of which names that
        begin with "." or "_" are skipped, links are followed, and each real file counts once; or a
        table of pandas, polars, pyarrow or dask, or a mapping of names to columns.
    facts : TableFacts
        From :func:`state_facts`, for this file's header.
    progress : bool or None, default=None
        Whether a line on stderr counts the rows; None: only where stderr is a terminal.
    check : bool, default=True
        Whether a column that agrees with what is stated of it in no record is refused. That there
        is one that does, for each column, then counts as public.
    separator : str or None, default=None
        One character between the fields of a CSV file; None takes comma, semicolon, tabulator or
        bar, whichever the first line has most of.

    Returns
    -------
    Problem
        With a group ``rows_each`` records for each person: those that count, and others without a
        label, which contribute nothing.

    Raises
    ------
    TableError
        If there is no such file, pyarrow is missing for Parquet, a stated column is not there, the
        table has no record (of a person, where there is a group), or with ``check`` a column holds
        something, and in no record what is stated. What the package of a file says, which may quote
        a cell, is not passed on.

    Examples
    --------
    >>> facts = state_facts(["age", "cost"], target="cost", bounds={"age": (0, 99), "cost": (0, 9)})
    >>> load_problem({"age": [99.0, 49.5, 0.0], "cost": [3.0, 2.0, 1.0]}, facts).X[:, 0]
    array([ 1.,  0., -1.])
    """
    return _loaded(file, facts, progress, check, separator=separator)[0]


def read_rows(file: Any, facts: TableFacts, *, separator: str | None = None) -> Array:
    """Return the encoded rows of a file or table, whose target need not be there.

    Warns
    -----
    UserWarning
        If a column holds something, and in none of these rows what is stated of it: decimals that
        are written otherwise, say, or other names of the categories. It names the column and what
        was stated, and no cell.

    >>> facts = state_facts(["age", "cost"], target="cost", bounds={"age": (0, 99), "cost": (0, 9)})
    >>> read_rows({"age": [99.0, 0.0]}, facts)  # without the target
    array([[ 1.],
           [-1.]])
    """
    with opened(file, _CHUNK, separator) as (header, chunks):
        check_columns_there(header, facts.columns)
        return _encoded_rows(chunks, facts)


def _encoded_rows(chunks: Iterable[Chunk], facts: TableFacts) -> Array:
    """Return rows, given by column and some at a time, as an array (n, d) in the box."""
    numbers, agreement = array("d"), _Agreement(facts, facts.columns)
    for columns in chunks:
        raw = {column: facts._raw(column, columns[column]) for column in facts.columns}
        agreement.see(columns, raw)
        numbers.frombytes(facts._encoded(raw).tobytes())
    agreement.warn()
    return np.frombuffer(numbers).reshape(-1, len(facts.box[0]))


def check_columns_there(header: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a table in which one of the stated columns is absent, or there twice.

    >>> check_columns_there(["age", "cost"], ["cost"])
    >>> try:
    ...     check_columns_there(["age", "age"], ["age"])
    ... except TableError as error:
    ...     print(error)
    the table must have the column 'age', once, by exactly this name
    """
    counts = Counter(header)
    if wrong := [column for column in wanted if counts[column] != 1]:
        raise TableError(
            f"the table must have the column{'s' * (len(wrong) > 1)} "
            f"{', '.join(map(repr, wrong))}, once, by exactly this name"
        )


def _loaded(
    file: Any,
    facts: TableFacts,
    progress: bool | None = None,
    check: bool = True,
    truth: bool = False,
    separator: str | None = None,
) -> tuple[Problem, Array, dict[str, float]]:
    """Return the encoded table; with ``truth`` also its target as it was read, by
    `TableFacts._raw`; and
    the share of cells of each column that are not as is stated.
    """
    shown = sys.stderr.isatty() if progress is None else progress
    used = [*facts.columns, *([facts.target] if facts.target else [])]
    agreement, width = _Agreement(facts, used), len(facts.box[0])
    numbers, labels, read = array("d"), array("d"), array("d")
    people = Contributions()
    with opened(file, _CHUNK, separator) as (header, chunks):
        check_columns_there(header, [*used, *([facts.group] if facts.group else [])])
        for columns in chunks:
            raw = {column: facts._raw(column, columns[column]) for column in used}
            if facts.target:
                labels.frombytes(facts._labels(raw[facts.target]).tobytes())
                read.frombytes(raw[facts.target].tobytes() if truth else b"")
            agreement.see(columns, raw)
            if facts.group:
                people.see(map(_person, columns[facts.group]))
            numbers.frombytes(facts._encoded(raw).tobytes())
            if shown:
                sys.stderr.write(f"\r{len(numbers) // width:,} rows read")
                sys.stderr.flush()
    if not numbers:
        raise TableError("the table must have at least one record")
    if check:
        agreement.check()
    X = np.frombuffer(numbers).reshape(-1, width)
    y: NDArray[Any] = np.frombuffer(labels) if facts.target else np.zeros(len(X))
    known, told = ~np.isnan(y), np.array(read)
    y = np.where(known, y, 0.0)
    if facts.group:  # a place that nobody fills is a record without a label
        filled = people.slots(X, y, known, facts.rows_each)
        known = filled >= 0
        X, y = np.where(known[:, None], X[filled], 0.0), np.where(known, y[filled], 0.0)
        told = np.where(known, told[filled], np.nan) if truth else told
    if facts.task == "classification":
        y = np.array(facts.classes)[y.astype(int)]
    name = Path(file).name if isinstance(file, (str, os.PathLike)) else "table"
    public = (facts.public, facts.data_norm, facts.box, facts.indicators)
    problem = Problem(name, facts.task, X, y, *public, known, facts)
    return problem, told, agreement.odd(len(numbers) // width)
