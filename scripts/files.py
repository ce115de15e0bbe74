"""Files that are written whole or not at all, and the digests by which the build decides."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class BuildError(Exception):
    """A step of the build cannot go on; the message is for the reader of the terminal."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one move: readers see the old content or the new, never a part.

    A file that has this content already is not touched.

    Parameters
    ----------
    path : Path
        The file; its folder is made if it is missing.
    content : bytes
        What the file is to hold.

    Raises
    ------
    BuildError
        If the content cannot be stored (full disk, quota, no permission). The old file stays.
    """
    temporary: str | None = None
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        reason = error.strerror or str(error)
        raise BuildError(f"cannot write {path}: {reason}; the file was left as it was") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file in one move; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file with sorted keys in one move; see `write_bytes`."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, or None if it is missing or not readable as JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def digest_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file, or "missing"."""
    try:
        return digest_bytes(path.read_bytes())
    except OSError:
        return "missing"


def digest_files(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Return the SHA-256 of several files by their names relative to ``root``, sorted."""
    return {name: digest_file(root / name) for name in sorted({_name(p, root) for p in paths})}


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def changed_parts(old: Mapping[str, str] | None, new: Mapping[str, str]) -> list[str]:
    """Return the names whose digests differ between two sets of parts.

    Examples
    --------
    >>> changed_parts({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"})
    ['b', 'c']
    """
    old = old or {}
    return sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
