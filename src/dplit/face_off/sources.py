"""Where a table's records come from: CSV and Parquet files, and data frames that are in memory.

Each source gives the names of its columns and then its records, chunk by chunk, as Python values by
column, by their positions. Frames are recognised by what they can do, so that none of their
packages is needed here. What csv, pyarrow, pandas, polars or dask say when they fail may quote a
cell, so that none of it is passed on.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from dplit.baselines.reading import PARQUET, files_of, told_by_folders

#: Values of some records, by column.
Chunk = Mapping[str, Sequence[Any]]

#: How the texts of CSV files are stored, by the last part of their names.
_STORED: dict[str, Callable[..., Any]] = {
    "": open,
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
#: Endings of CSV files, and of all that are read.
_CSV = tuple(f"{kind}{stored}" for kind in (".csv", ".tsv", ".txt") for stored in _STORED)
_ENDINGS = (*PARQUET, *_CSV)
#: How texts begin that are no table.
_MARKS = {
    rb"\{\s*[\"}]|\[\s*[\[{\"\d\-\]]": "JSON",
    rb"<[!?hH]": "a page or XML",
    rb"%PDF-": "a PDF file",
}

#: Bytes of a Parquet column that are read at a time.
_BUFFER = 1 << 20
#: What pyarrow raises for a value that has no counterpart in Python.
_UNREADABLE = (ValueError, OverflowError)


class TableError(ValueError):
    """A fact about a table must be stated, or a file cannot be read; no record is quoted."""


@contextmanager
def opened(
    source: Any, size: int, separator: str | None = None
) -> Iterator[tuple[list[str], Iterator[Chunk]]]:
    """Open a table: the names of its columns, and its records in chunks of at most ``size``.

    Parameters
    ----------
    source : str, path or table
        A CSV file, also one that gzip, bz2 or xz compressed, a Parquet file, or a folder of either
        kind, whose files are read as :func:`~dplit.baselines.reading.files_of` says, with the
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
    return _parquet(path, size) if path.name.lower().endswith(PARQUET) else _csv(
        path, size, separator
    )  # fmt: skip


def _told(chunks: Iterator[Chunk], refusal: str) -> Iterator[Chunk]:
    """Yield chunks; an error of the package that makes them, which may quote a cell, is not."""
    while True:
        try:
            chunk = next(chunks, None)
        except TableError:
            raise
        except Exception:
            raise TableError(refusal) from None
        if chunk is None:
            return
        yield chunk


# CSV files.


@contextmanager
def _csv(path: Path, size: int, separator: str | None) -> Iterator[tuple[list[str], Any]]:
    refusal = f"{path.name} cannot be read as a CSV file"
    stored = path.suffix.lower() if path.suffix.lower() in _STORED else ""
    try:
        with _STORED[stored](path, "rb") as raw:
            start = raw.read(1024)
        lines = _STORED[stored](
            path, "rt", newline="", encoding=_encoding(path.name, start), errors="replace"
        )
    except TableError:
        raise
    except (OSError, EOFError, lzma.LZMAError, ValueError):
        raise TableError(refusal) from None
    with lines:
        try:
            first = lines.readline()
            given = separator or _separator(first)
            rows = csv.reader(chain([first], lines), delimiter=given)
            header = [named(name) for name in next(rows, [])]
        except Exception:
            raise TableError(refusal) from None
        if not header:
            raise TableError("the file must name the columns in its first line; it is empty")
        if rows.line_num > 1 or "\0" in first:
            raise TableError(
                f"{path.name} must name the columns in its first line, each name in one line"
            )
        records = (row for row in rows if row or len(header) == 1)
        yield header, _told(_columns(header, records, size), refusal)


def _encoding(name: str, start: bytes) -> str:
    """Return the encoding of a text by its first bytes; refuse what is no table of text."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    content = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    for mark, kind in _MARKS.items():
        if re.match(mark, content):
            raise TableError(f"{name} must be a CSV file by its name, and begins as {kind} does")
    if content.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise TableError(f"{name} is compressed: its name must end in .gz, .bz2 or .xz")
    if b"\0" in content.partition(b"\n")[0] or content.startswith((b"PAR1", b"PK\3\4")):
        raise TableError(f"{name} must be a CSV file by its name, and is no text")
    return "utf-8-sig"


def _separator(first: str) -> str:
    """Return what separates names, counted outside of quotes."""
    return max(",;\t|", key=re.sub(r'"[^"]*"', "", first).count)


def named(name: Any) -> str:
    """Return the name of a column as it is compared: without blanks at its ends, in NFC."""
    return unicodedata.normalize("NFC", str(name)).strip()


def is_number(text: str) -> bool:
    """Whether a name is a number, as the cells of a record are where a file has no names."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _columns(header: Sequence[str], rows: Iterator[Sequence[Any]], size: int) -> Iterator[Chunk]:
    """Yield records by column; fields that a record lacks are missing, more are dropped."""
    while True:
        with _long_fields():
            held = list(islice(rows, size))
        if not held:
            return
        columns = zip_longest(header, islice(zip_longest(*held), len(header)))
        yield {name: values or (None,) * len(held) for name, values in columns}


class _LongFields:
    """How many chunks are read at the moment, in all threads, and the limit of the process."""

    lock, readers, before = threading.Lock(), 0, 0


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let fields be of any length while some records are read: a long text must not raise.

    The limit belongs to the process; it is what it was as soon as nobody reads.
    """
    with _LongFields.lock:
        if not _LongFields.readers:
            _LongFields.before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a C long
        _LongFields.readers += 1
    try:
        yield
    finally:
        with _LongFields.lock:
            _LongFields.readers -= 1
            if not _LongFields.readers:
                csv.field_size_limit(_LongFields.before)


# Parquet files.


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


# Tables in memory.


def _frame(table: Any, size: int) -> tuple[list[str], Iterator[Chunk]]:
    """Return names and chunks of a table in memory, or of dask's, part by part."""
    if hasattr(table, "partitions"):  # dask: each part is a frame of pandas
        parts = (_frame(part.compute(), size)[1] for part in table.partitions)
        return list(map(named, table.columns)), (chunk for part in parts for chunk in part)
    if hasattr(table, "to_batches"):  # pyarrow
        names = list(map(named, table.schema.names))
        return names, _batches(names, table.to_batches(max_chunksize=size))
    if hasattr(table, "schema") and hasattr(table, "num_rows"):  # one batch of pyarrow's records
        names = list(map(named, table.schema.names))
        return names, _batches(names, (table.slice(at, size) for at in range(0, len(table), size)))
    if hasattr(table, "iloc"):  # pandas
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
