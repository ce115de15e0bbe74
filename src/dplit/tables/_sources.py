"""Where a table's records come from: CSV and Parquet files, and data frames that are in memory.

Each source gives the names of its columns and then its records, chunk by chunk, as Python values by
column, by their positions. Frames are recognised by what they can do, so that none of their
packages is needed here. What csv, pyarrow, pandas, polars or dask say when they fail may quote a
cell, so that none of it is passed on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from dplit.tables._chunks import _STORED, Chunk, TableError, _told, named
from dplit.tables._csv_files import _csv
from dplit.tables._files import PARQUET, files_of, told_by_folders
from dplit.tables._frames import _frame
from dplit.tables._parquet_files import _parquet

#: Endings of CSV files, and of all that are read.
_CSV = tuple(f"{kind}{stored}" for kind in (".csv", ".tsv", ".txt") for stored in _STORED)

_ENDINGS = (*PARQUET, *_CSV)


@contextmanager
def opened(
    source: Any, size: int, separator: str | None = None
) -> Iterator[tuple[list[str], Iterator[Chunk]]]:
    """Open a table: the names of its columns, and its records in chunks of at most ``size``.

    Parameters
    ----------
    source : str, path or table
        A CSV file, also one that gzip, bz2 or xz compressed, a Parquet file, or a folder of either
        kind, whose files are read as ``files_of`` says, with the
        columns that names of folders tell (``told_by_folders`` there); or a table of pandas,
        polars, pyarrow or dask, or a mapping of names to equally long columns.
    size : int
        Records that are in memory as Python values at a time.
    separator : str or None, default=None
        One character between the fields of a CSV file; None takes comma, semicolon, tabulator or
        bar, whichever the first line has most of outside of quotes.

    Yields
    ------
    header : list of str
        Names without blanks at their ends, in Unicode's form NFC.
    chunks : iterator of mapping
    """
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1):
        raise TableError(f"separator must be one character, got separator={separator!r}")
    if not isinstance(source, (str, os.PathLike)):
        names, chunks = _frame(source, size)
        yield names, _told(chunks, "the table cannot be read to its end by its package")
        return
    path = Path(source)
    files, told = _files(path)
    with _file(files[0], size, separator) as (header, first):
        rest = _others(files[1:], told[1:], header, size, separator)
        yield [*header, *told[0]], chain(_with_told(first, told[0]), rest)


def _files(path: Path) -> tuple[list[Path], list[dict[str, Any]]]:
    """Return the files of a path, at least one, and what the names of their folders tell."""
    if path.is_file():
        if not path.name.lower().endswith(_ENDINGS):
            raise TableError(f"file must end in {', '.join(_ENDINGS)}, got file={str(path)!r}")
        return [path], [{}]
    try:
        files = files_of(path, _ENDINGS) if path.is_dir() else []
        told = told_by_folders(path, files)
    except (ValueError, FileNotFoundError) as error:  # ours, which name files
        raise TableError(str(error)) from None
    except OSError:  # which names folders, and their names may be values
        raise TableError("every folder and file below file must be readable") from None
    if len({file.name.lower().endswith(PARQUET) for file in files}) > 1:
        raise TableError("files of a folder must be all CSV or all Parquet, got some of each")
    if not files:
        raise TableError(
            f"file must be a CSV or Parquet file, or a folder of such, got file={str(path)!r}"
        )
    return files, [{named(name): value for name, value in values.items()} for values in told]


def _with_told(chunks: Iterator[Chunk], told: Mapping[str, Any]) -> Iterator[Chunk]:
    """Yield records with what the names of their folders tell of them."""
    for chunk in chunks:
        length = len(next(iter(chunk.values()), ()))
        yield {**chunk, **{name: [value] * length for name, value in told.items()}}


def _others(
    files: Sequence[Path],
    told: Sequence[Mapping[str, Any]],
    header: Sequence[str],
    size: int,
    separator: str | None,
) -> Iterator[Chunk]:
    """Yield the records of further files of a folder, which have the same names in any order."""
    for file, values in zip(files, told, strict=True):
        with _file(file, size, separator) as (names, chunks):
            if sorted(names) != sorted(header):
                raise TableError(
                    f"files of a folder must have the same columns, and {file.name!r} has others"
                )
            yield from _with_told(chunks, values)


def _file(path: Path, size: int, separator: str | None) -> Any:
    return (
        _parquet(path, size) if path.name.lower().endswith(PARQUET) else _csv(path, size, separator)
    )
