"""Tables in memory: frames and arrays of pandas, polars, pyarrow, dask and NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dplit.tables._chunks import Chunk, TableError, named
from dplit.tables._parquet_files import _batches, _values


def _frame(table: Any, size: int) -> tuple[list[str], Iterator[Chunk]]:
    """Return names and chunks of a table in memory, or of dask's, part by part."""
    if hasattr(table, "partitions") and hasattr(
        table, "columns"
    ):  # dask: each part is a frame of pandas
        parts = (_frame(part.compute(), size)[1] for part in table.partitions)
        return list(map(named, table.columns)), (chunk for part in parts for chunk in part)
    counted = hasattr(table, "num_rows")  # a table or a batch of pyarrow's, and nothing lazy
    if counted and hasattr(table, "to_batches"):
        names = list(map(named, table.schema.names))
        return names, _batches(names, table.to_batches(max_chunksize=size))
    if counted and hasattr(table, "schema"):  # one batch
        names = list(map(named, table.schema.names))
        return names, _batches(names, (table.slice(at, size) for at in range(0, len(table), size)))
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas
        names = list(map(named, table.columns))
        return names, (
            {name: table.iloc[at : at + size, j].tolist() for j, name in enumerate(names)}
            for at in range(0, len(table), size)
        )
    if hasattr(table, "get_column"):  # polars
        names = list(map(named, table.columns))
        cuts = (table.slice(at, size).get_columns() for at in range(0, len(table), size))
        return names, (dict(zip(names, (c.to_list() for c in cut), strict=True)) for cut in cuts)
    if isinstance(table, Mapping):
        names = list(map(named, table))
        columns = [
            _listed(name, column) for name, column in zip(names, table.values(), strict=True)
        ]
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


def _listed(name: str, column: Any) -> list[Any]:
    """Return one column of a mapping as a list of its own values."""
    if isinstance(column, (str, bytes)):  # a value, whose characters are none
        raise TableError(f"column {name!r} must hold a value for every record, got a text")
    try:
        return _values(column) if hasattr(column, "to_pylist") else list(column)
    except Exception:
        raise TableError(f"column {name!r} must hold a value for every record") from None
