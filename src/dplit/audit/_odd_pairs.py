"""Neighbouring data sets in lists, frames and columns, of which one record is odd.

NumPy and pandas give all entries of a container one type, so that one record may decide how all
others are read. An array of numbers, as :func:`~dplit.audit.nasty_pairs` makes it, cannot show it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from dplit.audit._nasty_pairs import NeighbourPair, Relation, _are_neighbours, nasty_pairs

#: Labels of one record: missing, or of another kind than all others.
_LABELS: dict[str, Any] = {
    "None": None,
    "NaN": math.nan,
    "an empty text": "",
    "a text": "x",
    "bytes": b"x",
    "a date": date(2020, 1, 31),
    "an integer that no float is": 2**53 + 1,
    "10**400": 10**400,
    "an infinity": math.inf,
    "a complex number": 1j,
    "a list": [1],
    "a decimal NaN": Decimal("nan"),
}

#: Those that are tried in every container.
_EVERYWHERE = ("None", "a text", "an integer that no float is")

#: Numbers of one record, to whose type NumPy would bring the others.
_NUMBERS: dict[str, Any] = {
    "a decimal": Decimal("0.1"),
    "a truth value": True,
    "an integer that no float is": 2**53 + 1,
    "an integer beyond 64 bits": 2**64,
    "a single": np.float32(0.1),
}


def container_pairs(
    n_features: int,
    *,
    relation: Relation,
    labels: float | Sequence[Any] | None = None,
    norm: float = 1.0,
) -> list[NeighbourPair]:
    """Neighbouring data sets in lists, frames and columns, one record of which is odd.

    Parameters
    ----------
    n_features, relation, labels, norm
        As in :func:`~dplit.audit.nasty_pairs`.

    Returns
    -------
    list of NeighbourPair
        Records in lists and frames, one with a number of another type; labels in lists, arrays of
        objects and nullable columns, one missing, a text, a date or an integer that no float is.
        Frames and columns are those of pandas and polars, where these are installed.

    Examples
    --------
    >>> pairs = container_pairs(1, relation="replace_one", labels=(0, 1))
    >>> [pair.data[1] for pair in pairs if pair.name == "label a text in a list"]
    [['x', 1, 0, 1, 0, 1, 0]]
    """
    first = nasty_pairs(n_features, relation=relation, labels=labels, norm=norm, sizes=())[0]
    return list(_odd_pairs(first, labels))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _tables(rows: list[list[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield records in a list and in frames."""
    yield "a list", rows
    columns = {f"x{k}": list(column) for k, column in enumerate(zip(*rows, strict=True))}
    pandas, polars = _library("pandas"), _library("polars")
    if pandas is not None:
        yield "a pandas frame", pandas.DataFrame(columns)
    if all(type(entry) is float for row in rows for entry in row):
        if pandas is not None:
            yield "a nullable pandas frame", pandas.DataFrame(columns).astype("Float64")
        if polars is not None:
            yield "a polars frame", polars.DataFrame(columns)


def _columns(y: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield labels in containers that can hold them, nullable ones where one is missing."""
    objects = np.empty(len(y), object)
    for index, label in enumerate(y):
        objects[index] = label
    yield "a list", y
    yield "an array of objects", objects
    pandas, polars = _library("pandas"), _library("polars")
    if pandas is not None:
        yield "a pandas column of objects", pandas.Series(objects)
    kinds = {type(label) for label in y if label is not None}
    if len(kinds) > 1 or not kinds <= {int, float, str} or 10**400 in y:
        return
    if pandas is not None:
        name = {int: "Int64", float: "Float64", str: "string"}[min(kinds, key=str)]
        yield "a nullable pandas column", pandas.Series(pandas.array(y, dtype=name))
    if polars is not None:
        yield "a polars column", polars.Series(y)


def _with_first(part: Any, entry: Any) -> list[Any]:
    return [entry, *part[1:]]


def _odd_pairs(pair: NeighbourPair, labels: Any) -> Iterator[NeighbourPair]:
    """Yield a pair again in other containers, with something odd in its first record."""
    (X, *y), (other, *z) = pair.data, pair.neighbour
    for what, number in {"records": X[0, 0], **_NUMBERS}.items():
        number = float(number) if what == "records" else number
        rows = _with_first(X.tolist(), [number, *X[0, 1:].tolist()])
        found, beside = dict(_tables(rows)), dict(_tables(other.tolist()))
        for name in [name for name in found if name in beside]:
            sides = (found[name], *y), (beside[name], *z)
            yield from _paired(f"{what} in {name}", pair.relation, *sides)
    if labels is None or pair.relation == "replace_entry":
        return
    whole = all(float(label).is_integer() for label in (*y[0], *z[0]) if not isinstance(label, str))
    kind: Any = int if whole and y[0].dtype.kind in "if" else None
    left, right = (
        part.tolist() if kind is None else list(map(kind, part.tolist())) for part in (*y, *z)
    )
    for what, label in _LABELS.items():
        found, beside = dict(_columns(_with_first(left, label))), dict(_columns(right))
        for name in [name for name in found if name in beside]:
            if name == "a list" or what in _EVERYWHERE:
                sides = (X, found[name]), (other, beside[name])
                yield from _paired(f"label {what} in {name}", pair.relation, *sides)


def _paired(
    name: str, relation: Relation, data: tuple[Any, ...], neighbour: tuple[Any, ...]
) -> Iterator[NeighbourPair]:
    """Yield the pair, where the relation calls the two neighbours."""
    if _are_neighbours(relation, data, neighbour):
        yield NeighbourPair(name, relation, data, neighbour)
