"""A reader's table: public facts that its owner states, and records encoded by these alone.

Names of columns are public. No value of a record can raise an error, drop a row or change how
another is read: what is no number is filled, what is out of bounds clipped, what is no stated
category counts as the first.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

_Task = Literal["regression", "classification", "clustering"]
Array = NDArray[np.float64]

#: Rows that are in memory as text at a time.
_CHUNK = 16384
#: Bytes of a Parquet column that are read at a time.
_BUFFER = 1 << 20
#: What pyarrow raises for a value that has no counterpart in Python.
_UNREADABLE = (ValueError, OverflowError)
_BLANK: dict[type, str] = {dict: "{}", list: "[]"}


class TableError(ValueError):
    """A fact about a table must be stated, or a file cannot be read; no record is quoted."""


@dataclass(frozen=True)
class Facts:
    """What is public about a table, stated by its owner.

    Attributes
    ----------
    task : {"regression", "classification", "clustering"}
    target : str
        Column that is predicted; empty for clustering.
    bounds : mapping of str to (float, float)
        Lowest and highest value of each numeric column, a numeric target included.
    categories : mapping of str to tuple
        Values of each column of texts; every other value counts as the first of them.
    classes : tuple
        The two classes; every other label counts as the first.
    fill : mapping of str to float
        What stands for a missing number; by default the middle of the bounds.
    ignore : tuple of str
        Columns that are not used.
    n_clusters : int
        Number of clusters; 0 where there are none.
    columns : tuple of str
        Columns that are used, in the order of the file, without the target.
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

    @property
    def data_norm(self) -> float:
        """Bound on the norm of an encoded row: every column adds at most 1 to its square."""
        return math.sqrt(len(self.columns))

    @property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest entries of an encoded row: [-1, 1], or [0, 1] for indicators."""
        low = [[0.0] * len(self.categories[c]) if c in self.categories else [-1.0]
               for c in self.columns]  # fmt: skip
        flat = np.array([entry for part in low for entry in part])
        return flat, np.ones(len(flat))

    @property
    def public(self) -> dict[str, Any]:
        """What mechanisms are told of the labels or clusters."""
        if self.task == "regression":
            return {"bounds": tuple(map(float, self.bounds[self.target]))}
        if self.task == "classification":
            return {"classes": tuple(self.classes)}
        return {"n_clusters": self.n_clusters}

    def as_json(self) -> dict[str, Any]:
        """Return the facts as `Facts.from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return the facts that `as_json` wrote."""
        return cls(**facts)

    def encode(self, columns: Mapping[str, Sequence[Any]]) -> Array:
        """Return values, given by column, as an array (n, d) in the box, every row by itself."""
        parts = []
        for column in self.columns:
            values = columns[column]
            if column in self.categories:
                place = _place(self.categories[column])
                units = np.eye(len(self.categories[column]))
                parts.append(units[[place(value) for value in values]])
            else:
                number, (low, high) = self._number(column), self.bounds[column]
                numbers = np.array([number(value) for value in values]).reshape(-1, 1)
                unit = (numbers - (low / 2 + high / 2)) / (high / 2 - low / 2)
                parts.append(np.clip(unit, -1.0, 1.0))
        return np.hstack(parts)

    def _number(self, column: str) -> Callable[[Any], float]:
        """Return what maps one value of a numeric column to a number in its bounds."""
        low, high = self.bounds[column]
        fill = self.fill.get(column, low / 2 + high / 2)

        def number(value: Any) -> float:
            try:
                x = float(value)
            except (TypeError, ValueError, OverflowError):
                return fill
            return fill if math.isnan(x) else min(max(x, low), high)

        return number

    def _label(self) -> Callable[[Any], float]:
        """Return what maps one value of the target to a number: a class to its index."""
        if self.task == "classification":
            return _place(self.classes)
        return self._number(self.target) if self.target else lambda _: 0.0


def _place(values: Sequence[Any]) -> Callable[[Any], int]:
    """Return what maps a value to its index among stated ones, and any other to 0."""
    texts = {str(value).strip(): i for i, value in enumerate(values)}
    numbers = {float(v): i for i, v in enumerate(values) if isinstance(v, (int, float))}

    def place(value: Any) -> int:
        text = "" if value is None else str(value).strip()
        if text in texts or not numbers:
            return texts.get(text, 0)
        try:
            return numbers.get(float(text), 0)
        except ValueError:
            return 0

    return place


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
        Labels: numbers, or classes.
    public : mapping
        What mechanisms are told: label ``bounds``, ``classes``, ``n_clusters`` or ``n_components``.
    data_norm : float
    box : pair of ndarray of shape (d,)
    """

    name: str
    task: str
    X: Array
    y: NDArray[Any]
    public: Mapping[str, Any]
    data_norm: float
    box: tuple[Array, Array] = field(repr=False)


def _parsed(name: str, text: str, kind: type, told: list[str]) -> Any:
    """Return a parameter that is written as JSON, or say what form it must have."""
    try:
        value = json.loads(text or _BLANK[kind])
    except ValueError:
        value = None
    if isinstance(value, kind):
        return value
    form = '{"NAME": ...}' if kind is dict else '["value", ...]'
    told.append(f"{name} must be JSON of the form '{form}', got {name}={text!r}")
    return kind()


def _is_pair(ends: Any) -> bool:
    good = isinstance(ends, list) and len(ends) == 2
    good = good and all(isinstance(e, (int, float)) and abs(e) <= 1e150 for e in ends)
    return bool(good and ends[0] < ends[1] and ends[1] - ends[0] >= 1e-150)


def _value_faults(bounds: Any, categories: Any, classes: Any, fill: Any) -> Iterator[str]:
    """Say which stated values have the wrong form."""
    for column, ends in bounds.items():
        if not _is_pair(ends):
            yield f"bounds of {column} must be two increasing numbers, got {ends!r}"
    for column, values in [*categories.items(), *([("the target", classes)] if classes else [])]:
        texts = [str(v) for v in values] if isinstance(values, list) else []
        if len(texts) < 1 or len(set(texts)) < len(texts):
            yield f"values of {column} must be a list of different ones, got {values!r}"
    if classes and len(classes) != 2:
        yield f"classes must be two (the mechanisms learn two classes), got {classes!r}"
    for column, value in fill.items():
        if column not in bounds or not (isinstance(value, (int, float)) and math.isfinite(value)):
            yield f"fill of {column} must be a number, for a column with bounds, got {value!r}"


def _inferred(task: str, target: str, bounds: Any, classes: Any, k: int, told: list[str]) -> str:
    """Return the task from what is stated, never from records."""
    if task and task not in get_args(_Task):
        told.append(f"task must be one of {', '.join(get_args(_Task))}, got task={task!r}")
    found = task or ("clustering" if not target else "classification" if classes else "regression")
    if found == "clustering" and k < 1:
        told.append("how many clusters: -p n_clusters NUMBER (or name the column to be predicted: "
                    "-p target COLUMN)")  # fmt: skip
    if found != "clustering" and not target:
        told.append("which column is predicted: -p target COLUMN")
    if found == "classification" and not classes:
        told.append("""the two classes: -p classes '["FIRST", "SECOND"]'""")
    if found == "regression" and target and target not in bounds:
        told.append(f"{target}, which is predicted: its bounds, or for two classes "
                    """-p classes '["FIRST", "SECOND"]'""")  # fmt: skip
    return found


def state_facts(
    header: Sequence[str], *, target: str = "", task: str = "", bounds: str = "",
    categories: str = "", classes: str = "", fill: str = "", ignore: str = "", n_clusters: int = 0,
) -> Facts:  # fmt: skip
    """Check what is stated about a table against the names of its columns.

    Parameters
    ----------
    header : sequence of str
        Names of the columns, which are public.
    target, task, n_clusters
        As in :class:`Facts`; an empty task follows from what else is stated.
    bounds, categories, classes, fill, ignore : str
        As in :class:`Facts`, written as JSON.

    Returns
    -------
    Facts

    Raises
    ------
    TableError
        With the whole list of what is missing or wrong, in the form in which to state it.

    Examples
    --------
    >>> facts = state_facts(["age", "cost"], target="cost", bounds='{"age": [0, 99]}')
    Traceback (most recent call last):
    ...
    dplit.face_off.tables.TableError: to be stated, and never read from the records:
      cost, which is predicted: its bounds, or for two classes -p classes '["FIRST", "SECOND"]'
      numbers have bounds: -p bounds '{"age": [0, 99], "cost": ["LOW", "HIGH"]}'
    """
    told: list[str] = []
    ranges, texts = (_parsed(n, t, dict, told) for n, t in
                     (("bounds", bounds), ("categories", categories)))  # fmt: skip
    fills, labels = _parsed("fill", fill, dict, told), _parsed("classes", classes, list, told)
    left = _parsed("ignore", ignore, list, told)
    kind = _inferred(task, target, ranges, labels, n_clusters, told)
    told += _value_faults(ranges, texts, labels, fills)
    named = [*ranges, *texts, *left, *([target] if target else [])]
    told += [f"{c} is no column of the table ({', '.join(header)})"
             for c in dict.fromkeys(named) if c not in header]  # fmt: skip
    told += [f"{c} is the name of several columns" for c in dict.fromkeys(header)
             if list(header).count(c) > 1]  # fmt: skip
    told += [f"{c} is stated twice: as bounds, categories or to be ignored"
             for c in header if (c in ranges) + (c in texts) + (c in left) > 1]  # fmt: skip
    open_ones = [c for c in header if c not in {*ranges, *texts, *left, target}]
    missing = [*open_ones, *([target] if kind == "regression" and target not in ranges else [])]
    if missing:
        form = ranges | {c: ["LOW", "HIGH"] for c in missing if c}
        told.append(f"numbers have bounds: -p bounds '{json.dumps(form)}'")
    if open_ones:
        form = texts | {c: ["VALUE", "VALUE"] for c in open_ones}
        told.append(f"texts have categories instead: -p categories '{json.dumps(form)}'")
        told.append(f"what is not used is ignored: -p ignore '{json.dumps(left + open_ones)}'")
    used = tuple(c for c in header if c != target and c not in left)
    if not used:
        told.append("at least one column to learn from, beside the target")
    if told:
        lines = "\n  ".join(told)
        raise TableError(f"to be stated, and never read from the records:\n  {lines}")
    return Facts(kind, target, ranges, texts, tuple(labels), fills, tuple(left),  # type: ignore[arg-type]
                 n_clusters if kind == "clustering" else 0, used)  # fmt: skip


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[tuple[list[str], Iterator[Sequence[Any]]]]:
    """Open a table: the names of its columns, and its rows one after the other."""
    if not path.is_file():
        raise TableError(f"file must be a CSV or Parquet file, got file={str(path)!r}")
    if path.suffix.lower() in (".parquet", ".pq"):
        with _parquet(path) as table:
            yield table
        return
    csv.field_size_limit(sys.maxsize)  # a long text must not raise
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
        delimiter = max(",;\t", key=first.count)
        header = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
        if any(map(_is_number, header)):  # a record, then, which nothing may quote
            raise TableError(
                "the first line of the file must name the columns; here it holds numbers, and is "
                "not shown"
            )
        rows = csv.reader(lines, delimiter=delimiter)
        yield header, (row for row in rows if row or len(header) == 1)


@contextmanager
def _parquet(path: Path) -> Iterator[tuple[list[str], Iterator[Sequence[Any]]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise TableError(
            "Parquet files are read by pyarrow, which is not installed: pip install pyarrow, or "
            "write the table as CSV"
        ) from error
    try:
        # otherwise a whole row group, which may be the table, is in memory
        streamed = {"buffer_size": _BUFFER, "pre_buffer": False}
        with parquet.ParquetFile(path, **streamed) as table:
            batches = table.iter_batches(batch_size=_CHUNK)
            columns = (map(_values, batch.columns) for batch in batches)
            rows = (row for values in columns for row in zip(*values, strict=True))
            yield list(table.schema_arrow.names), rows
    except (ArrowException, OSError) as error:
        raise TableError(f"{path.name} cannot be read as a Parquet file") from error


def _values(column: Any) -> list[Any]:
    """Return the values of an Arrow column; what Python cannot hold is missing, and only that.

    Such are moments outside of the years 1 to 9999 or between microseconds, and broken UTF-8.
    """
    try:
        return list(column.to_pylist())
    except _UNREADABLE:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except _UNREADABLE:
        return None


def header_of(file: str | os.PathLike[str]) -> list[str]:
    """Return the names of a table's columns; no record is read."""
    with _opened(Path(file)) as (header, _):
        return header


def load_problem(
    file: str | os.PathLike[str], facts: Facts, *, progress: bool | None = None
) -> Problem:
    """Read a table, chunk by chunk, and encode it by what is stated.

    Memory holds the encoded numbers, eight bytes each, and the text of one chunk of rows.

    Parameters
    ----------
    file : str or path
        CSV (comma, semicolon or tabulator, as the first line has it), or Parquet.
    facts : Facts
        From :func:`state_facts`, for this file's header.
    progress : bool or None, default=None
        Whether a line on stderr counts the rows; None: only where stderr is a terminal.

    Returns
    -------
    Problem

    Raises
    ------
    TableError
        If there is no such file, pyarrow is missing for Parquet, the first line of a CSV holds a
        number instead of names, or the table has no record.
    """
    shown = sys.stderr.isatty() if progress is None else progress
    with _opened(Path(file)) as (header, rows):
        numbers, labels = array("d"), array("d")
        label = facts._label()
        while chunk := list(islice(rows, _CHUNK)):
            columns = dict(zip_longest(header, islice(zip_longest(*chunk), len(header))))
            columns = {name: values or (None,) * len(chunk) for name, values in columns.items()}
            numbers.frombytes(facts.encode(columns).tobytes())
            if facts.target:
                labels.extend(float(label(value)) for value in columns[facts.target])
            if shown:
                sys.stderr.write(f"\r{len(numbers) // len(facts.box[0]):,} rows read")
                sys.stderr.flush()
    if not numbers:
        raise TableError("the table must have at least one record")
    X = np.frombuffer(numbers).reshape(-1, len(facts.box[0]))
    y: NDArray[Any] = np.frombuffer(labels) if labels else np.zeros(len(X))
    if facts.task == "classification":
        y = np.array(facts.classes)[y.astype(int)]
    return Problem(Path(file).name, facts.task, X, y, facts.public, facts.data_norm, facts.box)
