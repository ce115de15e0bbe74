"""Columns of a source as numbers, each cell by itself, and persons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, as_number, as_numbers, check_integer, check_real_array, quiet
from dplit._entries import is_missing
from dplit._persons import person_names
from dplit.tables._files import BATCH_ROWS, Frame, RowGroup, parts_of


def _kind(values: Any) -> tuple[str, str]:
    """Return the kind of a column as NumPy names kinds, and the name of its type.

    The name has no length of texts, which would be that of the longest.
    """
    if hasattr(values, "null_count"):  # pyarrow
        from pyarrow import types

        kind = values.type
        rules = {
            "b": types.is_boolean,
            "f": types.is_floating,
            "n": types.is_null,
            "d": types.is_decimal,
            "i": types.is_integer,
        }
        text = (types.is_string, types.is_large_string, types.is_string_view)
        plain = kind.value_type if types.is_dictionary(kind) else kind
        found = [letter for letter, rule in rules.items() if rule(kind)]
        return (found or ["U" if any(rule(plain) for rule in text) else "O"])[0], str(kind)
    if not hasattr(values, "dtype"):
        return "O", "object"
    kind = getattr(values.dtype, "kind", "O")
    return kind, "text" if kind in "SU" else str(values.dtype)


def _cell(value: Any) -> float | None:
    """Return one cell of a list as a float: NaN where it is missing, None where it is no number."""
    if is_missing(value):
        return math.nan
    if not isinstance(value, (Real, Decimal, np.bool_)) or isinstance(value, np.timedelta64):
        return None
    return float(as_number(value).real)


def _listed(name: str, values: Any, fill: float | None) -> Array:
    """Return the cells of a list or of objects as numbers, each by itself."""
    if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        raise ValueError(f"column {name!r} must have one axis")
    cells = [_cell(value) for value in values]
    agrees = any(cell is not None and not math.isnan(cell) for cell in cells)
    if None in cells and (fill is None or not agrees):
        raise TypeError(f"column {name!r} must hold numbers, got others (texts, dates or the like)")
    return np.array([math.nan if cell is None else cell for cell in cells], np.float64)


@quiet
def numbers(name: str, values: Any, fill: float | None = None, *, label: bool = False) -> Array:
    """Return a column in float64; missing values (null, NaN, None, NA) count as ``fill``.

    Of a ``label`` what is missing without a ``fill``, or infinite, is NaN. Of lists the cells are
    read one by one, and where there is a ``fill`` a cell that is no number counts as missing.

    Raises
    ------
    TypeError
        If the type of the column is no type of numbers, or a cell of a list is none. None is
        quoted.
    ValueError
        If a value is missing and ``fill`` is None, or infinite. None is quoted.

    Examples
    --------
    >>> numbers("age", [30, None], fill=40.0)
    array([30., 40.])
    """
    kind, told = _kind(values)
    plain = not hasattr(values, "dtype") and not hasattr(values, "null_count")
    if not plain and kind not in "biufnd":
        raise TypeError(f"column {name!r} must hold numbers, got type {told}")
    if plain:
        found = _listed(name, values, fill)
    elif hasattr(values, "null_count"):
        if told != "double":
            values = values.cast("float64", safe=False)
        found = values.to_numpy(zero_copy_only=False)
    elif hasattr(values, "iloc"):  # pandas
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        found = as_numbers(f"column {name!r}", values)
    found = np.asarray(found, np.float64)
    if found.ndim != 1:
        raise ValueError(f"column {name!r} must have one axis, got {found.ndim}")
    if math.isfinite(found @ found) or np.isfinite(found).all():
        return found
    if fill is not None:
        found = np.where(np.isnan(found), fill, found)
    elif label:
        return np.where(np.isfinite(found), found, np.nan)
    elif np.isnan(found).any():
        raise ValueError(f"column {name!r} must have no missing value, or a stated one: fill=")
    if np.isinf(found).any():
        raise ValueError(f"column {name!r} must be finite, got infinity")
    return found


def persons(name: str, values: Any) -> NDArray[Any]:
    """Return a column of persons: integers in int64, or texts as objects.

    Floats are refused, as two persons may be one of them, and so are missing names: packages turn
    integers beside one that is missing into floats. A list is read entry by entry.

    >>> persons("who", ["ann", "bob", "ann"])
    array(['ann', 'bob', 'ann'], dtype=object)
    """
    return person_names(f"group column {name!r}", values)


def check_fill(fill: Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    """Return stated values for missing ones, each of a column that is read.

    >>> check_fill({"age": 40}, ["age", "cost"])
    {'age': 40.0}
    """
    stated = {} if fill is None else dict(fill)
    for name, value in stated.items():
        if name not in names:
            raise ValueError(f"fill must name columns that are read, {names}, got {name!r}")
        stated[name] = float(check_real_array(f"fill[{name!r}]", value, 0))
    return stated


def read(
    part: Any,
    names: Sequence[str],
    fill: Mapping[str, float],
    *,
    target: str | None = None,
    group: str | None = None,
    size: int = BATCH_ROWS,
) -> Iterator[tuple[list[Array], NDArray[Any] | None]]:
    """Yield batches of one part: the named columns in float64, and the persons of the rows.

    In the ``target`` what is missing is NaN, unless there is a ``fill`` for it.

    >>> table = {"age": [30.0, None], "who": [7, 8]}
    >>> (((age,), who),) = read(table, ["age"], {"age": 40.0}, group="who")
    >>> age, who
    (array([30., 40.]), array([7, 8]))
    """
    if not isinstance(part, (RowGroup, Frame)):
        part = Frame(part)
    wanted = [*names] if group is None or group in names else [*names, group]
    for chunk in part.chunks(wanted, size):
        columns = [
            numbers(name, chunk[name], fill.get(name), label=name == target) for name in names
        ]
        yield columns, None if group is None else persons(group, chunk[group])


def batches(
    source: Any,
    columns: Sequence[str],
    *,
    fill: Mapping[str, float] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[Array]:
    """Yield the records of a folder of Parquet files in batches, as sketches take them.

    Parameters
    ----------
    source : path or table
        A Parquet file; a folder whose files are read as ``files_of`` says; a table of pyarrow,
        pandas or polars, or a mapping of names to columns.
    columns : sequence of str
        Names of the columns of numbers, in the order of the records' entries.
    fill : mapping of str to float or None, default=None
        What missing values (null, NaN, None, NA) of a column count as, and in lists cells that are
        no numbers; None and any other column: an error.
    batch_rows : int, default=16384
        Rows in memory at a time.

    Yields
    ------
    ndarray of shape (at most batch_rows, len(columns))
        In float64.

    Examples
    --------
    >>> from dplit.sketching.sketches import SketchMap, sketch
    >>> table = {"a": [0.0, 1.0], "b": [1.0, None]}
    >>> fourier = SketchMap("fourier", [[1.0], [2.0]])
    >>> sketch(batches(table, ["a", "b"], fill={"b": 0.0}), fourier).count
    2
    """
    names = check_columns(columns)
    stated, size = check_fill(fill, names), check_integer("batch_rows", batch_rows)
    parts, delayed = parts_of(source)
    if delayed:
        raise TypeError("source must not be delayed: sketch its dask array instead")
    for part in parts:
        yield from (np.column_stack(held) for held, _ in read(part, names, stated, size=size))


def check_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns, at least one and none twice.

    >>> check_columns(["age", "cost"])
    ('age', 'cost')
    """
    good = not isinstance(columns, str) and all(isinstance(name, str) for name in columns)
    if not good or not columns or len(set(columns)) < len(columns):
        raise ValueError(f"columns must be different names, at least one, got columns={columns!r}")
    return tuple(columns)
