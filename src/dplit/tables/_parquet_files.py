"""Tables from Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dplit.tables._chunks import _BUFFER, _UNREADABLE, Chunk, TableError, _told, named


@contextmanager
def _parquet(path: Path, size: int) -> Iterator[tuple[list[str], Iterator[Chunk]]]:
    refusal = f"{path.name} cannot be read as a Parquet file"
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise TableError(
            "Parquet files are read by pyarrow, which is not installed: pip install pyarrow, or "
            "write the table as CSV"
        ) from error
    try:
        # otherwise a whole row group, which may be the table, is in memory
        table = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    except Exception:
        raise TableError(refusal) from None
    with table:
        names = [named(name) for name in table.schema_arrow.names]
        yield names, _told(_batches(names, table.iter_batches(batch_size=size)), refusal)


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
