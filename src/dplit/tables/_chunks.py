"""What every source of a table shares: chunks of columns, names, and errors that show no cell."""

from __future__ import annotations

import bz2
import gzip
import lzma
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

#: Values of some records, by column.
Chunk = Mapping[str, Sequence[Any]]

#: How the texts of CSV files are stored, by the last part of their names.
_STORED: dict[str, Callable[..., Any]] = {
    "": open,
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

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
    """A fact about a table must be stated, or a file cannot be read; no record is quoted.

    Examples
    --------
    >>> from dplit import release
    >>> try:
    ...     release({"age": [20.0], "days": [3.0]}, target="days", bounds={"days": (0, 9)},
    ...         epsilon=1.0, delta=1e-6)
    ... except TableError as error:
    ...     print(str(error).splitlines()[1])
      numbers have bounds: bounds={'days': (0, 9), 'age': ('LOW', 'HIGH')}
    """


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


def named(name: Any) -> str:
    """Return the name of a column as it is compared: without blanks at its ends, in NFC."""
    return unicodedata.normalize("NFC", str(name)).strip()
