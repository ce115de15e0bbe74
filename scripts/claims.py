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
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from dplit.notebook import claims as library
from scripts.files import BuildError, read_json, write_json
from scripts.layout import Layout, slug_of
from scripts.marks import marked_tests, nodes_by_claim
from scripts.normalise import CLAIM, records
from scripts.pairs import code_cells

Record = dict[str, Any]
#: Packages whose names a notebook may misspell.
OURS = ("dplit", "dplit_studies")


def registered() -> dict[str, dict[str, Any]]:
    """Return the registered claims by id, in the order of the registry.

    Raises
    ------
    BuildError
        If a file cannot be read, saying where, or has no or the same id twice.
    """
    import yaml

    try:
        return library.load_registry()
    except (yaml.YAMLError, library.ClaimError) as error:
        raise BuildError(f"the claims cannot be read: {error}") from error


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
            near = meant(part, dir(value))
            raise BuildError(f"{name} does not exist ({error}){near}") from error
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
        where = _place(layout, entry["slug"], identifier)
        for fault in _entry_faults(identifier, tests.get(identifier), entry):
            told.append(f"{where}: {fault}")
    for slug in layout.names():
        strings, called, unknown = _named(layout, slug)
        own = {i for i, entry in registry.items() if layout.record(entry["slug"]) == slug}
        told += unknown
        for i in sorted(own - strings):
            where = _place(layout, registry[i]["slug"], i)
            told.append(
                f"{where}: {i} is registered and no cell of notebooks/{slug}.md names it; end the "
                f'cell that checks it in claim("{i}")'
            )
        for i in sorted(called.keys() - own):
            where = f"notebooks/{slug}.md:{called[i]}"
            told.append(f"{where}: claim {i} is not registered there{meant(i, own)}")
    told += _figures_twice(layout)
    for identifier in sorted(tests.keys() - registry.keys()):
        near = meant(identifier, registry)
        told += [f"{node} marks {identifier}, not registered{near}" for node in tests[identifier]]
    if found is not None:
        told += _record_faults(found, registry, strict)
    return told


def meant(identifier: str, known: Iterable[str]) -> str:
    """Return which known ids are near one that is not, as the end of a sentence."""
    near = difflib.get_close_matches(identifier, known)
    return f"; did you mean {' or '.join(near)}" if near else ""


def _place(layout: Layout, slug: str, identifier: str) -> str:
    """Return where a claim is registered, as file and line."""
    path = layout.package / "papers" / slug / "claims.yml"
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    found = re.compile(rf"\bid: *['\"]?{re.escape(identifier)}\b(?!-)")
    at = next((n for n, line in enumerate(lines, start=1) if found.search(line)), 1)
    return f"{layout.name(path)}:{at}"


#: What an entry must have, and may have beside what is in its record.
ENTRY = ("kind", "place", "title", "verdict", "evidence", "note")
BESIDE = {"data"}


def _entry_faults(identifier: str, tests: Any, entry: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with an entry of the registry, its tests and its functions."""
    import jsonschema

    told = [] if tests else [f"{identifier} has no test (pytest.mark.claim)"]
    schema = {**library.load_schema(), "required": ENTRY}
    validator = jsonschema.Draft202012Validator(schema)
    for error in validator.iter_errors({k: entry[k] for k in entry if k not in BESIDE}):
        told.append(f"{identifier}: {error.json_path} {error.message[:200]}")
    if not entry.get("functions"):
        told.append(f"{identifier} names no function")
    for name in entry.get("functions") or []:
        if "._" in name:
            told.append(f"{identifier}: {name} is private; the package page cannot show it")
        told += [f"{identifier}: {fault}" for fault in _unknown(name)]
    return told


def _unknown(name: str) -> list[str]:
    """Return why a dotted name cannot be had, or nothing.

    Raises
    ------
    BuildError
        If a module cannot be imported: told alone, since every name behind it would say it again.
    """
    try:
        resolve(name)
    except BuildError as error:
        return [str(error)]
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        at = error if isinstance(error, SyntaxError) else last
        kind = type(error).__name__
        raise BuildError(f"{at.filename}:{at.lineno}: {kind}: {error}") from error
    return []


def _named(layout: Layout, slug: str) -> tuple[set[str], dict[str, int], list[str]]:
    """Return what the code of a notebook names.

    All its strings; what ``claim("...")`` is called with, and in which line; and a sentence for
    each name that it imports of us, or takes of a module of ours, and that is not there.
    """
    where = layout.notebooks / f"{slug}.md"
    trees = []
    for first, _, code in code_cells(where.read_text(encoding="utf-8")):
        try:
            trees.append(ast.parse("\n" * (first - 1) + code))
        except SyntaxError as error:
            raise BuildError(f"{layout.name(where)}:{error.lineno}: {error.msg}") from error
    nodes = [node for tree in trees for node in ast.walk(tree)]
    strings, called, ours = set(), dict[str, int](), dict[str, str]()
    taken = dict[str, int]()
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                strings.add(text)
            case ast.Call(func=ast.Name("claim"), args=[ast.Constant(value=text), *_]):
                called.setdefault(text, node.lineno)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in OURS:
                for name in node.names:
                    ours[name.asname or name.name] = f"{module}.{name.name}"
                    taken.setdefault(f"{module}.{name.name}", node.lineno)
    set_again = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in ours.keys() - set_again:
                taken.setdefault(f"{ours[name]}.{node.attr}", node.lineno)
    unknown = [(line, fault) for name, line in taken.items() for fault in _unknown(name)]
    return strings, called, [f"{layout.name(where)}:{line}: {fault}" for line, fault in unknown]


def _figures_twice(layout: Layout) -> list[str]:
    """Return a sentence for each figure that has the name of one before it."""
    told, places = [], dict[str, str]()
    for slug in layout.names():
        lines = (layout.notebooks / f"{slug}.md").read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, start=1):
            for name in re.findall(r"\bname=[\"'](fig-[\w-]+)", line):
                where = f"notebooks/{slug}.md:{number}"
                if where != places.setdefault(name, where):
                    told.append(f"{where}: a figure at {places[name]} is called {name} too")
    return told


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
    """Return where the notebooks check a claim: file, line of the cell, heading above it."""
    return [
        f"notebooks/{slug}.md:{line}, under {heading!r}"
        for slug in layout.names()
        for line, heading, code in code_cells((layout.notebooks / f"{slug}.md").read_text("utf-8"))
        if f'"{identifier}"' in code
    ]


def test_claim(layout: Layout, identifier: str, say: Callable[[str], None]) -> int:
    """Say which functions, cells and tests belong to a claim, run the tests, return their code.

    Raises
    ------
    BuildError
        If there is no such claim; near ones are named.
    """
    registry = registered()
    if identifier not in registry:
        near = meant(identifier, registry)
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
