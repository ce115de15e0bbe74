"""Tables from CSV files, plain or compressed, with stated separators and marks."""

from __future__ import annotations

import csv
import lzma
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from dplit.tables._chunks import _MARKS, _STORED, Chunk, TableError, _told, named


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
