"""Collect the records of all claims from the chapters and hold them against the registry.

jsonschema holds the form of a record; that ids, functions, tests and cells name each other is
between files. One list of faults tells both.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from dplit.notebook import claims as library
from scripts.files import BuildError, read_json, write_json
from scripts.layout import Layout, slug_of
from scripts.marks import marked_tests, nodes_by_claim
from scripts.normalise import CLAIM, records

Record = dict[str, Any]


def registered() -> dict[str, dict[str, Any]]:
    """Return the registered claims by id, in the order of the registry."""
    return library.load_registry()


def resolve(name: str) -> Any:
    """Return the object of a dotted name: a function, class or method of a module.

    Raises
    ------
    BuildError
        If no module prefix can be imported or an attribute is missing.
    """
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = ".".join(parts[:cut])
        try:
            value: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and (module + ".").startswith(error.name + "."):
                continue
            raise
        try:
            for part in parts[cut:]:
                value = getattr(value, part)
        except AttributeError as error:
            raise BuildError(f"{name} does not exist ({error})") from error
        return value
    raise BuildError(f"{name} does not exist (no such module)")


def gather(layout: Layout) -> list[Record]:
    """Return the records of all executed chapters, with the page and anchor of each."""
    found = []
    for slug in layout.names():
        notebook = read_json(layout.chapters / f"{slug}.ipynb")
        if notebook is None:
            raise BuildError(f"chapter {slug} has not been run; run: make book")
        for record in records(notebook, CLAIM):
            page = f"book/chapters/{slug}.html"
            found.append({**record, "page": page, "anchor": record["id"].lower()})
    return found


def faults(
    layout: Layout,
    registry: Mapping[str, Mapping[str, Any]],
    found: Iterable[Record] | None = None,
    *,
    strict: bool = False,
) -> list[str]:
    """Return what is wrong with the claims, one sentence each.

    Parameters
    ----------
    layout : Layout
        The copy of the repository: its tests and the cells of its notebooks.
    registry : mapping
        The registered claims by id.
    found : iterable of dict, optional
        The records of all chapters, where they have run.
    strict : bool
        Whether a claim that was not run is a fault.

    Returns
    -------
    list of str
        Empty where every registered claim names functions that exist, has a test and a cell of its
        chapter, is recorded once and passed, and where no mark, cell or record names another.
    """
    tests = nodes_by_claim(marked_tests(layout))
    told = []
    for identifier, entry in registry.items():
        told += _link_faults(identifier, tests.get(identifier), entry.get("functions"))
    for slug in layout.names():
        strings, called = _named(layout, slug)
        own = {i for i, entry in registry.items() if layout.record(entry["slug"]) == slug}
        told += [f"{i} is registered and no cell of {slug} names it" for i in sorted(own - strings)]
        for i in sorted(called - own):
            told.append(f"notebooks/{slug}.md records {i}, not registered there{_meant(i, own)}")
    for identifier in sorted(tests.keys() - registry.keys()):
        told += [f"{node} marks {identifier}, not registered" for node in tests[identifier]]
    if found is not None:
        told += _record_faults(found, registry, strict)
    return told


def _meant(identifier: str, known: Iterable[str]) -> str:
    """Return which known ids are near one that is not, as the end of a sentence."""
    near = difflib.get_close_matches(identifier, known, n=3, cutoff=0.4)
    return f"; did you mean {' or '.join(near)}" if near else ""


def _link_faults(identifier: str, tests: Any, functions: Any) -> list[str]:
    """Return what is wrong with a claim's tests and functions."""
    told = [] if tests else [f"{identifier} has no test (pytest.mark.claim)"]
    if not functions:
        told.append(f"{identifier} names no function")
    for name in functions or []:
        if "._" in name:
            told.append(f"{identifier}: {name} is private; the package page cannot show it")
        try:
            resolve(name)
        except BuildError as error:
            told.append(f"{identifier}: {error}")
    return told


def _named(layout: Layout, slug: str) -> tuple[set[str], set[str]]:
    """Return all strings of a chapter's code, and those that ``claim("...")`` is called with."""
    notebook = read_json(layout.notebooks / f"{slug}.ipynb") or {"cells": []}
    strings, called = set(), set()
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.add(node.value)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "claim":
                called |= {a.value for a in node.args[:1] if isinstance(a, ast.Constant)}
    return strings, called


def _record_faults(
    found: Iterable[Record], registry: Mapping[str, Mapping[str, Any]], strict: bool
) -> list[str]:
    """Return what is wrong with the records: their number, form, page and outcome."""
    import jsonschema

    by_id: dict[str, list[Record]] = {}
    for record in found:
        by_id.setdefault(str(record.get("id")), []).append(record)
    told = [f"{i} is registered and not recorded" for i in registry if i not in by_id]
    validator = jsonschema.Draft202012Validator(library.load_schema())
    for identifier, (record, *more) in by_id.items():
        if identifier not in registry:
            told.append(f"{identifier} is recorded and not registered")
        if more:
            told.append(f"{identifier} is recorded {1 + len(more)} times")
        for error in validator.iter_errors(record):
            told.append(f"{identifier}: {error.json_path} {error.message[:200]}")
        page = slug_of(Path(record.get("page") or "").stem)
        if record.get("slug") != page:
            told.append(f"{identifier} belongs to {record.get('slug')}, recorded on {page}")
        if record.get("status") == "failed":
            told.append(f"{identifier} failed: {record.get('reason') or _first_failure(record)}")
        if strict and record.get("status") == "not_run":
            told.append(f"{identifier} was not run: {record.get('reason')}")
        elif strict:
            unasked = record.get("unasked", ())
            told += [f"{identifier} was not asked: {one['how']}" for one in unasked]
    return told


def _first_failure(record: Record) -> str:
    bad = [check["how"] for check in record.get("checks", []) if not check.get("ok")]
    return bad[0] if bad else "no reason given"


def is_strict() -> bool:
    """Return whether missing data and skipped tests are faults here (CI)."""
    return os.environ.get("DPLIT_STRICT", "") not in ("", "0")


def check(layout: Layout, found: Iterable[Record] | None = None) -> int:
    """Return the number of claims, held together by :func:`faults`.

    Raises
    ------
    BuildError
        Listing everything that is wrong.
    """
    registry = registered()
    told = faults(layout, registry, found, strict=is_strict())
    if told:
        raise BuildError("the claims do not hold together:\n  " + "\n  ".join(told))
    return len(registry)


def collect(layout: Layout) -> list[Record]:
    """Write ``_build/claims.json``: one record per registered claim, sorted by id.

    Returns
    -------
    list of dict
        The records.

    Raises
    ------
    BuildError
        Listing everything that is wrong; nothing is written then.
    """
    tests = nodes_by_claim(marked_tests(layout))
    found = [{**record, "tests": tests.get(record["id"], [])} for record in gather(layout)]
    found.sort(key=lambda record: str(record["id"]))
    check(layout, found)
    write_json(layout.claims, found)
    return found


def cells_of(layout: Layout, identifier: str) -> list[str]:
    """Return where the notebooks check a claim: file, number of the cell, heading above it."""
    found = []
    for slug in layout.names():
        heading = ""
        cells = (read_json(layout.notebooks / f"{slug}.ipynb") or {"cells": []})["cells"]
        for number, cell in enumerate(cells, start=1):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                heading = (re.findall(r"^#+ (.+)$", source, re.MULTILINE) or [heading])[-1]
            elif f'"{identifier}"' in source:
                found.append(f"notebooks/{slug}.md, cell {number}, under {heading!r}")
    return found


def test_claim(layout: Layout, identifier: str, say: Callable[[str], None]) -> int:
    """Say which functions, cells and tests belong to a claim, run the tests, return their code.

    Raises
    ------
    BuildError
        If there is no such claim; near ones are named.
    """
    registry = registered()
    if identifier not in registry:
        near = _meant(identifier, registry)
        raise BuildError(f"ID must be a claim of the registry, got ID={identifier!r}{near}")
    tests = nodes_by_claim(marked_tests(layout)).get(identifier, [])
    parts = {
        "function": registry[identifier]["functions"],
        "cell": cells_of(layout, identifier),
        "test": tests,
    }
    for kind, names in parts.items():
        for name in names:
            say(f"  {kind:9}{name}")
    if not tests:  # without names pytest would run them all
        raise BuildError(f"no test is marked with {identifier}: pytest.mark.claim({identifier!r})")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=layout.root, check=False).returncode
