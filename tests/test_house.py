"""Which way imports go, what is public, and what shields a release: rules without a number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from scripts.digest import imported_names, notebook_code
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[1])
PACKAGE = LAYOUT.package
MODULES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
STUDIES = {path: path.read_text(encoding="utf-8") for path in LAYOUT.studies.rglob("*.py")}
PAPERS = {path.parent.name for path in PACKAGE.glob("*/claims.yml")} - {"face_off", "audits"}


def imports() -> Iterator[tuple[str, str, str]]:
    """Yield each module's name, its room (the first part after ``dplit``) and what it imports."""
    for path, source in MODULES.items():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        for name in imported_names(source, module, path.stem == "__init__"):
            if name.split(".")[0] == "dplit":
                yield module, parts[1], name


def test_imports_go_one_way() -> None:
    """Kills a paper that imports another, a shared folder that imports a paper, and a package that
    imports what only the book runs."""
    wrong = []
    for module, home, name in imports():
        to = (*name.split("."), "", "")
        if to[1] == home or home == "audits":
            continue
        foreign = to[1] in PAPERS and home in PAPERS
        upwards = to[1] in PAPERS | {"face_off", "audits"} and home not in {*PAPERS, "face_off"}
        if foreign or upwards:
            wrong.append(f"{module} imports {name}")
    wrong += [
        f"{path.name} imports {name}"
        for path, source in MODULES.items()
        for name in imported_names(source)
        if name.split(".")[0] == LAYOUT.studies.name
    ]
    for path, source in STUDIES.items():
        home = path.relative_to(LAYOUT.studies).parts[0]
        for name in imported_names(source):
            to = (*name.split("."), "")[1]
            if name.startswith("dplit") and to in PAPERS and home not in (to, "audits", "face_off"):
                wrong.append(f"studies of {home} import {name}")
    assert wrong == []


def test_a_public_function_of_a_chapter_is_named_outside_its_room() -> None:
    """Kills a function that is public and that no claim, cell, page, benchmark or room names."""
    root = LAYOUT.root
    told = [*root.glob("notebooks/*.md"), *root.glob("book/*.md"), *root.glob("benchmarks/*.py")]
    told += [*PACKAGE.glob("*/claims.yml"), root / "README.md", PACKAGE / "__init__.pyi"]
    words = {w for path in told for w in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    taken = {(home, name.rpartition(".")[2]) for _, home, name in imports()}
    taken |= {
        ("studies", name.rpartition(".")[2])
        for source in STUDIES.values()
        for name in imported_names(source)
    }
    unused = {
        node.name
        for path, source in MODULES.items()
        if (home := path.relative_to(PACKAGE).parts[0]) in PAPERS and path.name[0] != "_"
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_" and node.name not in words
        if not any(name == node.name and room != home for room, name in taken)
    }
    assert unused == set()


def inside(name: str) -> bool:
    """Whether a dotted name is private to a room; ``dplit._checks`` and its like are for all."""
    return any(part.startswith("_") and part[:2] != "__" for part in name.split(".")[2:])


def test_what_other_rooms_use_is_public() -> None:
    """Kills an import of an underscore name, or of a module of one, from another room's inside,
    and a chapter's."""
    wrong = {
        f"{m} imports {n}" for m, home, n in imports() if inside(n) and n.split(".")[1] != home
    }
    for slug in LAYOUT.names():
        cells = notebook_code(LAYOUT.notebooks / f"{slug}.ipynb")
        names = {name for cell in cells for name in imported_names(cell)}
        wrong |= {f"{slug}.ipynb imports {n}" for n in names if n[:6] == "dplit." and inside(n)}
    assert wrong == set()


def test_no_two_modules_import_each_other() -> None:
    names = {}
    for path, source in MODULES.items():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        top = [n for n in ast.parse(source).body if isinstance(n, (ast.Import, ast.ImportFrom))]
        body = "\n".join(ast.unparse(node) for node in top)
        names[module] = set(imported_names(body, module, path.stem == "__init__"))
    edges = {  # a module always brings the packages that hold it
        m: {n for n in found if n in names and not f"{m}.".startswith(f"{n}.")}
        for m, found in names.items()
    }
    while free := [m for m, found in edges.items() if not found]:
        edges = {m: found - set(free) for m, found in edges.items() if m not in free}
    assert sorted(edges) == []


def test_every_folder_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    """Kills pytest's own list of folders to pass by, which has "build" in it."""
    passed_by = pytestconfig.getini("norecursedirs")
    folders = {path.parent for path in LAYOUT.root.glob("tests/**/test_*.py")}
    names = {part for folder in folders for part in folder.relative_to(LAYOUT.root).parts}
    assert {"build", "site"} <= names
    assert [n for n in names if any(fnmatch(n, pattern) for pattern in passed_by)] == []


def test_what_draws_private_noise_has_floating_point_errors_of_its_own() -> None:
    """A user's `np.errstate` would tell of records; kills a release without `@quiet`.

    Functions for exact arithmetic with public numbers alone are listed.
    """
    loud = []
    for path, source in MODULES.items():
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            calls = {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call)
                     and isinstance(n.func, ast.Name)}  # fmt: skip
            decorated = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
            if "record_draw" in calls and "quiet" not in decorated:
                loud.append(f"{path.stem}.{node.name}")
    assert sorted(loud) == []
