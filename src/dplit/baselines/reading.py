"""Records from folders of Parquet files, dask and tables in memory, some rows at a time.

A part of a source is read where its work is done, by the columns that are named and no others, and
no more than a batch of it is in memory. Nothing that is said of a refused column quotes a value,
and no names of columns are told where none of them is one that was asked for: they may be a record.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, as_number, as_numbers, check_integer, check_real_array, quiet
from dplit._records import is_missing, person_names

#: Rows that are read at a time.
BATCH_ROWS = 1 << 14

#: Endings of Parquet files.
PARQUET = (".parquet", ".pq")

#: Folders of tables whose files hold removed records beside those that are left, and what tells.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}


# Files: what pyarrow's data set would read, and each real file once.


def files_of(folder: Path, endings: Collection[str]) -> list[Path]:
    """Return the data files of a folder, at any depth, each real file once.

    Names that begin with "." or "_" are skipped at every level below the folder, as pyarrow's data
    sets do: other programs stage and hide files there. Links to files and folders are followed; a
    file or folder that is reached twice, by links of either kind, counts once.

    Raises
    ------
    ValueError
        If the folder is a table with a log of its own (Delta, Hudi, Iceberg), whose files hold
        removed records too; or if a file, which then would be lost, has none of the ``endings``.
    FileNotFoundError
        If a link leads nowhere.
    """
    seen: set[Any] = set()
    return list(_walked(folder, tuple(endings), seen))


def _walked(folder: Path, endings: tuple[str, ...], seen: set[Any]) -> Iterator[Path]:
    if not _is_new(folder, seen):
        return
    held = sorted(folder.iterdir())
    for path in held:
        kind = _LOGS.get(path.name)
        if kind and path.is_dir() and (kind != "Iceberg" or any(path.glob("*.metadata.json"))):
            raise ValueError(
                f"a folder with {path.name!r} is a table of {kind}, whose files hold removed "
                "records too: read it by its own package, and pass the table"
            )
    for path in held:
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir():
            yield from _walked(path, endings, seen)
        elif not path.exists():
            raise FileNotFoundError(
                f"a folder must hold no link that leads nowhere: {_shown(path)!r}"
            )
        elif not path.name.lower().endswith(endings):
            raise ValueError(
                f"files of a folder must end in {' or '.join(endings)} (names that begin with '.' "
                f"or '_' are skipped), got {_shown(path)!r}"
            )
        elif _is_new(path, seen):
            yield path


def _shown(path: Path) -> str:
    """Return a name as it is shown: what stands behind "=" may be a value."""
    name, mark, _ = path.name.partition("=")
    return name + mark


def _is_new(path: Path, seen: set[Any]) -> bool:
    """Notice a file or folder by its place on the disk; whether it is met for the first time."""
    told = path.stat()
    place: Any = (told.st_dev, told.st_ino) if told.st_ino else os.path.realpath(path)
    new = place not in seen
    seen.add(place)
    return new


def told_by_folders(folder: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what the names of each file's folders, such as ``ward=3``, tell of its records.

    Names and values are decoded as in a URI. A value is read by itself, as a cell is: an integer,
    or a text; one value never decides how another is read, as it does in pyarrow, for which one
    text makes texts of all. ``__HIVE_DEFAULT_PARTITION__``, and a column that other files' folders
    tell and a file's do not, is missing, None. What stands above ``folder`` tells nothing.

    Raises
    ------
    ValueError
        If a column is told twice on the way to one file. No value is quoted.
    """
    told = []
    for file in files:
        parts = [part for part in file.relative_to(folder).parts[:-1] if "=" in part]
        split = (part.partition("=") for part in parts)
        pairs = [(unquote(name), unquote(text)) for name, _, text in split]
        if len(dict(pairs)) < len(pairs):
            raise ValueError("names of folders must tell a column once on the way to a file")
        told.append({name: _told_value(text) for name, text in pairs})
    every = dict.fromkeys(name for values in told for name in values)
    return [every | values for values in told]


def _told_value(text: str) -> int | str | None:
    if text == "__HIVE_DEFAULT_PARTITION__":
        return None
    return int(text) if re.fullmatch("-?[0-9]+", text) else text


def fingerprints(parts: Sequence[Any]) -> frozenset[str]:
    """Return a digest of the name, length and time of each file of some parts; none of tables."""
    told = []
    for name in {part.path for part in parts if isinstance(part, RowGroup)}:
        state = os.stat(name)
        told.append(f"{os.path.realpath(name)} {state.st_size} {state.st_mtime_ns}")
    return frozenset(hashlib.sha256(text.encode()).hexdigest() for text in told)


@dataclass(frozen=True)
class RowGroup:
    """One row group of a Parquet file, and what its folders' names tell of its records."""

    path: str
    index: int
    told: tuple[tuple[str, Any], ...] = ()

    def chunks(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield at most ``size`` rows by column, of the named columns."""
        told = dict(self.told)
        columns = [name for name in names if name not in told]
        # mapped, as no buffer is as fast; and a part is the work of one thread
        with _opened(self.path) as file:
            _check_names(names, [*file.schema_arrow.names, *told])
            batches = file.iter_batches(
                size, row_groups=[self.index], columns=columns, use_threads=False
            )
            while (batch := _next(self.path, batches)) is not None:
                held = {name: [value] * batch.num_rows for name, value in told.items()}
                yield held | {name: batch[name] for name in columns}


@dataclass(frozen=True)
class Frame:
    """A table in memory: of pyarrow, pandas or polars, or a mapping of names to columns."""

    table: Any

    def chunks(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Yield slices of at most ``size`` rows by column, by their positions."""
        table = self.table
        if hasattr(table, "get_column"):  # polars
            _check_names(names, list(table.columns))
            table = table.select(list(names)).to_arrow()
        if hasattr(table, "column_names"):  # pyarrow
            _check_names(names, list(table.column_names))
            held = table.select(list(names))
            for batch in held.to_batches() if hasattr(held, "to_batches") else [held]:
                yield from (batch.slice(at, size) for at in range(0, len(batch), size))
            return
        told = [str(name) for name in (table if isinstance(table, Mapping) else table.columns)]
        _check_names(names, told)
        if hasattr(table, "iloc"):  # pandas, whose labels of rows and columns may be numbers
            columns = {name: table.iloc[:, told.index(name)] for name in names}
        else:
            found = dict(zip(told, table.values(), strict=True))
            columns = {name: _arrow(found[name]) for name in names}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise ValueError("columns must be equally long")
        for at in range(0, lengths.pop(), size):
            yield {name: _slice(column, at, at + size) for name, column in columns.items()}


Part = RowGroup | Frame


def _arrow(column: Any) -> Any:
    """Return a column of polars as one of pyarrow, and any other as it is."""
    return column.to_arrow() if hasattr(column, "to_arrow") else column


def _slice(column: Any, low: int, high: int) -> Any:
    return column.iloc[low:high] if hasattr(column, "iloc") else column[low:high]


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files are read by pyarrow: pip install pyarrow") from error
    return parquet


def _unreadable(path: str) -> ValueError:
    return ValueError(f"{Path(path).name} cannot be read as a Parquet file")


def _opened(path: str) -> Any:
    """Return an open Parquet file; what pyarrow says of another, which may quote it, is not."""
    parquet = _parquet()
    try:
        return parquet.ParquetFile(path, memory_map=True, pre_buffer=False)
    except (ValueError, OSError, KeyError, NotImplementedError):
        raise _unreadable(path) from None


def _next(path: str, batches: Any) -> Any:
    try:
        return next(batches, None)
    except (ValueError, OSError, KeyError, NotImplementedError):
        raise _unreadable(path) from None


def _check_names(names: Sequence[str], found: list[Any]) -> None:
    """Refuse a column that is not there, or there twice; names are public, if these are names."""
    for name in names:
        if found.count(name) != 1:
            rule = "stand in the table" if name not in found else "stand there once"
            known = not set(names).isdisjoint(found)
            told = f"the columns {found}" if known else "none of those that were named"
            raise ValueError(f"column {name!r} must {rule}, which has {told}")


def parts_of(source: Any) -> tuple[list[Any], bool]:
    """Return the parts of a source, and whether dask has to compute them first.

    Parameters
    ----------
    source : path, dask DataFrame, sequence of delayed tables, or table
        A Parquet file, or a folder whose files are read as :func:`files_of` says, each in its row
        groups; otherwise as :func:`batches` says.

    Returns
    -------
    list
        Row groups, tables, or dask's delayed tables.
    bool
        Whether they are delayed.
    """
    if isinstance(source, (str, os.PathLike)):
        return list(_row_groups(Path(source))), False
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed()), True
    if isinstance(source, (list, tuple)) and source and hasattr(source[0], "dask"):
        return list(source), True
    framed = any(hasattr(source, name) for name in ("column_names", "iloc", "get_column"))
    if framed or isinstance(source, Mapping):
        return [Frame(source)], False
    raise TypeError(
        "source must be the path of a Parquet file or of a folder of them, a dask DataFrame, a "
        "list of delayed tables, or a table of pyarrow, pandas or polars or a mapping of names to "
        f"columns, got a {type(source).__name__}"
    )


def _row_groups(path: Path) -> Iterator[RowGroup]:
    files = files_of(path, PARQUET) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise FileNotFoundError(f"source must be a Parquet file or hold some, got {str(path)!r}")
    told = told_by_folders(path, files) if path.is_dir() else [{}]
    for file, values in zip(files, told, strict=True):
        with _opened(str(file)) as opened:
            count = opened.metadata.num_row_groups
        yield from (RowGroup(str(file), i, tuple(values.items())) for i in range(count))


# Columns: numbers, each cell by itself, and persons.


def _kind(values: Any) -> tuple[str, str]:
    """Return the kind of a column as NumPy names kinds, and the name of its type.

    The name has no length of texts, which would be that of the longest.
    """
    if hasattr(values, "null_count"):  # pyarrow
        from pyarrow import types

        kind = values.type
        rules = {"b": types.is_boolean, "f": types.is_floating, "n": types.is_null,
                 "d": types.is_decimal, "i": types.is_integer}  # fmt: skip
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
        found = as_numbers(f"column {name!r}", values).astype(np.float64)
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
    part: Any, names: Sequence[str], fill: Mapping[str, float], *, target: str | None = None,
    group: str | None = None, size: int = BATCH_ROWS,
) -> Iterator[tuple[list[Array], NDArray[Any] | None]]:  # fmt: skip
    """Yield batches of one part: the named columns in float64, and the persons of the rows.

    In the ``target`` what is missing is NaN, unless there is a ``fill`` for it.
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
        A Parquet file; a folder whose files are read as :func:`files_of` says; a table of pyarrow,
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
    """Return names of columns, at least one and none twice."""
    good = not isinstance(columns, str) and all(isinstance(name, str) for name in columns)
    if not good or not columns or len(set(columns)) < len(columns):
        raise ValueError(f"columns must be different names, at least one, got columns={columns!r}")
    return tuple(columns)
