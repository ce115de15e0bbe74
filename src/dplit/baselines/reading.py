"""Records from folders of Parquet files, dask and tables in memory, some rows at a time.

A part of a source is read where its work is done, by the columns that are named and no others, and
no more than a batch of it is in memory. Nothing that is said of a refused column quotes a value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, as_numbers, check_integer, check_real_array, quiet
from dplit._records import person_names

#: Rows that are read at a time.
BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class RowGroup:
    """One row group of a Parquet file."""

    path: str
    index: int

    def chunks(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield Arrow's batches of at most ``size`` rows of the named columns."""
        parquet = _parquet()
        # mapped, as no buffer is as fast; and a part is the work of one thread
        with parquet.ParquetFile(self.path, memory_map=True, pre_buffer=False) as file:
            _check_names(names, list(file.schema_arrow.names))
            yield from file.iter_batches(
                size, row_groups=[self.index], columns=list(names), use_threads=False
            )


@dataclass(frozen=True)
class Frame:
    """A table in memory: of pyarrow or pandas, or a mapping of names to columns."""

    table: Any

    def chunks(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield slices of at most ``size`` rows by column."""
        table = self.table
        if hasattr(table, "column_names"):  # pyarrow
            _check_names(names, list(table.column_names))
            held = table.select(list(names))
            for batch in held.to_batches() if hasattr(held, "to_batches") else [held]:
                yield from (batch.slice(at, size) for at in range(0, len(batch), size))
            return
        told = list(table) if isinstance(table, Mapping) else list(getattr(table, "columns", ()))
        _check_names(names, told)
        columns = {name: table[name] for name in names}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise ValueError("columns must be equally long")
        for at in range(0, lengths.pop(), size):
            yield {name: column[at : at + size] for name, column in columns.items()}


Part = RowGroup | Frame


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files are read by pyarrow: pip install pyarrow") from error
    return parquet


def _check_names(names: Sequence[str], found: list[Any]) -> None:
    """Refuse a column that is not there, or there twice; names are public."""
    for name in names:
        if found.count(name) != 1:
            rule = "stand in the table" if name not in found else "stand there once"
            raise ValueError(f"column {name!r} must {rule}, which has the columns {found}")


def parts_of(source: Any) -> tuple[list[Any], bool]:
    """Return the parts of a source, and whether dask has to compute them first.

    Parameters
    ----------
    source : path, dask DataFrame, sequence of delayed tables, or table
        A Parquet file, or a folder whose ``*.parquet`` files are read at any depth, each in its row
        groups; otherwise as :func:`batches` says.

    Returns
    -------
    list
        Row groups, tables, or dask's delayed tables.
    bool
        Whether they are delayed.
    """
    if isinstance(source, (str, os.PathLike)):
        return _row_groups(Path(source)), False
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed()), True
    if isinstance(source, (list, tuple)) and source and hasattr(source[0], "dask"):
        return list(source), True
    if hasattr(source, "column_names") or hasattr(source, "iloc") or isinstance(source, Mapping):
        return [Frame(source)], False
    raise TypeError(
        "source must be the path of a Parquet file or of a folder of them, a dask DataFrame, a "
        "list of delayed tables, or a table of pyarrow or pandas or a mapping of names to columns, "
        f"got a {type(source).__name__}"
    )


def _row_groups(path: Path) -> list[RowGroup]:
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise FileNotFoundError(f"source must be a Parquet file or hold some, got {str(path)!r}")
    parquet = _parquet()
    counts = [(str(file), parquet.ParquetFile(file).metadata.num_row_groups) for file in files]
    return [RowGroup(name, index) for name, count in counts for index in range(count)]


def _kind(values: Any) -> tuple[str, str]:
    """Return the kind of a column as NumPy names kinds, and the name of its type."""
    if hasattr(values, "null_count"):  # pyarrow
        from pyarrow import types

        kind = values.type
        rules = {"b": types.is_boolean, "f": types.is_floating, "n": types.is_null,
                 "d": types.is_decimal, "i": types.is_integer}  # fmt: skip
        text = (types.is_string, types.is_large_string, types.is_string_view)
        plain = kind.value_type if types.is_dictionary(kind) else kind
        found = [letter for letter, rule in rules.items() if rule(kind)]
        return (found or ["U" if any(rule(plain) for rule in text) else "O"])[0], str(kind)
    dtype = values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype
    return getattr(dtype, "kind", "O"), str(dtype)


@quiet
def numbers(name: str, values: Any, fill: float | None = None, *, label: bool = False) -> Array:
    """Return a column in float64; missing values (null or NaN) count as ``fill``.

    Of a ``label`` what is missing without a ``fill``, or infinite, is NaN.

    Raises
    ------
    TypeError
        If the type of the column is no type of numbers.
    ValueError
        If a value is missing and ``fill`` is None, or infinite. None is quoted.
    """
    kind, told = _kind(values)
    plain = not hasattr(values, "dtype") and not hasattr(values, "null_count")
    if kind not in "biufnd" and not (plain and kind == "O"):
        raise TypeError(f"column {name!r} must hold numbers, got type {told}")
    if hasattr(values, "null_count"):
        if told != "double":
            values = values.cast("float64", safe=False)
        found = values.to_numpy(zero_copy_only=False)
    elif hasattr(values, "iloc"):  # pandas
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        gaps = [np.nan if value is None else value for value in values] if plain else values
        found = as_numbers(f"column {name!r}", gaps)
        if found.dtype.kind == "c":
            raise TypeError(f"column {name!r} must hold numbers, got complex ones")
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
    if not np.isfinite(found).all():
        raise ValueError(f"column {name!r} must be finite, got infinity")
    return found


def persons(name: str, values: Any) -> NDArray[Any]:
    """Return a column of persons: integers in int64, or texts as objects.

    Floats are refused, as two persons may be one of them, and so are missing names.
    """
    return person_names(f"group column {name!r}", values)


def check_fill(fill: Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    """Return stated values for missing ones, each of a column that is read."""
    stated = {} if fill is None else dict(fill)
    for name, value in stated.items():
        if name not in names:
            raise ValueError(f"fill must name columns that are read, {names}, got {name!r}")
        stated[name] = float(check_real_array(f"fill[{name!r}]", value, 0))
    return stated


def read(
    part: Any, names: Sequence[str], fill: Mapping[str, float], *, group: str | None = None,
    size: int = BATCH_ROWS, target: str | None = None,
) -> Iterator[tuple[list[Array], NDArray[Any] | None]]:  # fmt: skip
    """Yield batches of one part: the named columns in float64, and the persons of the rows.

    In the ``target`` what is missing is NaN.
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
        A Parquet file; a folder whose ``*.parquet`` files are read at any depth; a table of pyarrow
        or pandas, or a mapping of names to columns.
    columns : sequence of str
        Names of the columns of numbers, in the order of the records' entries.
    fill : mapping of str to float or None, default=None
        What missing values (null or NaN) of a column count as; None and any other column: an error.
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
    """Return names of columns, at least one and none twice."""
    good = not isinstance(columns, str) and all(isinstance(name, str) for name in columns)
    if not good or not columns or len(set(columns)) < len(columns):
        raise ValueError(f"columns must be different names, at least one, got columns={columns!r}")
    return tuple(columns)
