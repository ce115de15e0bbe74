"""Where a table's records come from: CSV and Parquet files, and data frames that are in memory.

Each source gives the names of its columns and then its records, chunk by chunk, as Python values by
column. Frames are recognised by what they can do, so that none of their packages is needed here.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

#: Values of some records, by column.
Chunk = Mapping[str, Sequence[Any]]

#: Bytes of a Parquet column that are read at a time.
_BUFFER = 1 << 20
#: What pyarrow raises for a value that has no counterpart in Python.
_UNREADABLE = (ValueError, OverflowError)


class TableError(ValueError):
    """A fact about a table must be stated, or a file cannot be read; no record is quoted."""


@contextmanager
def opened(source: Any, size: int) -> Iterator[tuple[list[str], Iterator[Chunk]]]:
    """Open a table: the names of its columns, and its records in chunks of at most ``size``.

    Parameters
    ----------
    source : str, path or table
        A CSV file (comma, semicolon or tabulator, as the first line has it), a Parquet file, or a
        table of pandas, polars, pyarrow or dask, or a mapping of names to equally long columns.
    size : int
        Records that are in memory as Python values at a time.

    Yields
    ------
    header : list of str
    chunks : iterator of mapping
    """
    if not isinstance(source, (str, os.PathLike)):
        yield _frame(source, size)
        return
    path = Path(source)
    if not path.is_file():
        raise TableError(f"file must be a CSV or Parquet file, got file={str(path)!r}")
    if path.suffix.lower() in (".parquet", ".pq"):
        with _parquet(path, size) as table:
            yield table
        return
    csv.field_size_limit(sys.maxsize)  # a long text must not raise
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
        delimiter = max(",;\t", key=first.count)
        header = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
        if not header:
            raise TableError("the file must name the columns in its first line; it is empty")
        if any(map(_is_number, header)):  # a record, then, which nothing may quote
            raise TableError(
                "the first line of the file must name the columns; here it holds numbers, and is "
                "not shown"
            )
        rows = csv.reader(lines, delimiter=delimiter)
        yield header, _columns(header, (row for row in rows if row or len(header) == 1), size)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _columns(header: Sequence[str], rows: Iterator[Sequence[Any]], size: int) -> Iterator[Chunk]:
    """Yield records by column; fields that a record lacks are missing, more are dropped."""
    while held := list(islice(rows, size)):
        columns = zip_longest(header, islice(zip_longest(*held), len(header)))
        yield {name: values or (None,) * len(held) for name, values in columns}


@contextmanager
def _parquet(path: Path, size: int) -> Iterator[tuple[list[str], Iterator[Chunk]]]:
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
            names = list(table.schema_arrow.names)
            yield names, _batches(names, table.iter_batches(batch_size=size))
    except (ArrowException, OSError) as error:
        raise TableError(f"{path.name} cannot be read as a Parquet file") from error


def _batches(names: Sequence[str], batches: Any) -> Iterator[Chunk]:
    """Yield Arrow's batches of records by column."""
    for batch in batches:
        yield dict(zip(names, map(_values, batch.columns), strict=True))


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


def _frame(table: Any, size: int) -> tuple[list[str], Iterator[Chunk]]:
    """Return names and chunks of a table in memory, or of dask's, part by part."""
    if hasattr(table, "partitions"):  # dask: each part is a frame of pandas
        parts = (_frame(part.compute(), size)[1] for part in table.partitions)
        return list(map(str, table.columns)), (chunk for part in parts for chunk in part)
    if hasattr(table, "to_batches"):  # pyarrow
        names = list(table.schema.names)
        return names, _batches(names, table.to_batches(max_chunksize=size))
    if hasattr(table, "iloc"):  # pandas
        names = list(map(str, table.columns))
        return names, (
            {name: table.iloc[at : at + size, j].tolist() for j, name in enumerate(names)}
            for at in range(0, len(table), size)
        )
    if hasattr(table, "get_column"):  # polars
        names = list(table.columns)
        cuts = (table.slice(at, size) for at in range(0, len(table), size))
        return names, ({n: cut.get_column(n).to_list() for n in names} for cut in cuts)
    if isinstance(table, Mapping):
        names = list(map(str, table))
        columns = [list(column) for column in table.values()]
        if len({len(column) for column in columns}) > 1:
            raise TableError("file must be a mapping of names to columns that are equally long")
        return names, (
            {name: column[at : at + size] for name, column in zip(names, columns, strict=True)}
            for at in range(0, len(columns[0]) if columns else 0, size)
        )
    raise TableError(
        "file must be a path, a table of pandas, polars, pyarrow or dask (a lazy one is collected "
        f"first), or a mapping of names to columns, got a {type(table).__name__}"
    )
