"""Compare two builds number by number: what a pure move of code must leave equal, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.files import BuildError
from scripts.layout import Layout

#: Of a record, and of each of its checks: what does not name a function, a test or a page.
RECORD, CHECK = ("verdict", "status"), ("measured", "expected", "ok", "rows")


def _values(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a JSON value by their paths."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _values(value[key], f"{name}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _values(item, f"{name}[{index}]")
    else:
        yield name, json.dumps(value)


def _claims(path: Path) -> Iterator[tuple[str, str]]:
    for record in json.loads(path.read_text("utf-8")):
        for key in RECORD:
            yield f"{record['id']} {key}", json.dumps(record[key])
        for index, check in enumerate(record["checks"]):
            for key in CHECK:
                yield from _values(check.get(key), f"{record['id']} check {index + 1} {key}")


def _glued(path: Path) -> Iterator[tuple[str, str]]:
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            glue = output.get("metadata", {}).get("scrapbook")
            if glue:
                shown = {mime: text for mime, text in output["data"].items() if "image" not in mime}
                yield from _values(shown, f"{path.stem} glue {glue['name']}")


def numbers(layout: Layout) -> dict[str, str]:
    """Return every number of a build: of the claims' checks, and those glued into the text.

    Raises
    ------
    BuildError
        If the folder holds no finished build.
    """
    if not layout.claims.is_file():
        raise BuildError(f"{layout.root}: no build here, {layout.claims} is missing")
    found = dict(_claims(layout.claims))
    for path in sorted(layout.chapters.glob("*.ipynb")):
        found.update(_glued(path))
    return found


def differences(old: Layout, new: Layout) -> list[str]:
    """Return one line for each number that two builds do not share.

    Parameters
    ----------
    old, new : Layout
        Two checkouts with finished builds.

    Returns
    -------
    list of str
        Name and both values; empty if the builds agree bit for bit.
    """
    before, after = numbers(old), numbers(new)
    return [
        f"{name}: {before.get(name, 'missing')} became {after.get(name, 'missing')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def main(old: Layout, new: Layout, say: Callable[[str], None]) -> int:
    """Say what two builds do not share; return 0 if that is nothing."""
    found = differences(old, new)
    say("\n".join(found) or f"{len(numbers(new))} numbers are equal, bit for bit")
    return int(bool(found))
