"""Parts of a source that may be read at once: row groups of Parquet files, frames, dask.

A part of a source is read where its work is done, by the columns that are named and no others, and
no more than a batch of it is in memory. Nothing that is said of a refused column quotes a value,
and no names of columns are told where none of them is one that was asked for: they may be a record.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

#: Rows that are read at a time.
BATCH_ROWS = 1 << 14

#: Endings of Parquet files.
PARQUET = (".parquet", ".pq")

#: Folders of tables whose files hold removed records beside those that are left, and what tells.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}


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
            columns = {name: _plain(table.iloc[:, told.index(name)]) for name in names}
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


def _plain(column: Any) -> Any:
    """Return a column of pandas as NumPy holds it, whose slices cost less, if NumPy holds it."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column


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
        groups; otherwise as :func:`~dplit.tables.reading.batches` says.

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
