"""Which way imports go, what is public, and what shields a release: rules without a number."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import dplit
from scripts.digest import imported_names, notebook_code
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[1])
PACKAGE = LAYOUT.package
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for folder in (PACKAGE, LAYOUT.studies)
    for path in sorted(folder.rglob("*.py"))
}
PAPERS = PACKAGE / "papers"
PUBLIC = LAYOUT.tests / "public_names.txt"


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): source for path, source in SOURCES.items()}


def of_library(module: str) -> bool:
    return module.split(".")[0] == "dplit" and module.split(".")[1:2] not in (
        ["papers"],
        ["notebook"],
    )


def imports() -> Iterator[tuple[str, str]]:
    """Yield each module's name and what it imports of ours."""
    for path, source in SOURCES.items():
        for name in imported_names(source, name_of(path), path.stem == "__init__"):
            if name.split(".")[0] in ("dplit", "dplit_studies"):
                yield name_of(path), name


def test_imports_go_one_way() -> None:
    """The contracts of pyproject.toml: kills a library that imports a paper, a paper that imports
    another, and an installed module that imports what only the book runs."""
    assert lint_imports(config_filename=str(LAYOUT.root / "pyproject.toml")) == EXIT_STATUS_SUCCESS


def public_names() -> list[str]:
    """What a user of the library may name: definitions without an underscore in public modules."""
    found = []
    for module, source in MODULES.items():
        if not of_library(module) or any(part.startswith("_") for part in module.split(".")):
            continue
        for node in ast.parse(source).body:
            names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                told = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [name.id for name in told if isinstance(name, ast.Name)]
            found += [f"{module}.{name}" for name in names if name[0] != "_"]
    return sorted(set(found))


def test_public_names_of_the_library_are_those_of_the_list() -> None:
    """A new one is a decision, which tests/public_names.txt shows."""
    assert public_names() == PUBLIC.read_text(encoding="utf-8").split()


def test_a_public_name_has_an_example() -> None:
    """Kills a function or class that a user may name, and whose docstring shows no use of it, also
    where a face gives it from an underscored module. Constants and names of types run nothing."""
    told: dict[str, str] = defaultdict(str)  # of overloads only the last one is told
    for module, source in MODULES.items():
        for node in ast.parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                told[f"{module}.{node.name}"] += ast.get_docstring(node) or ""
    faces = {name_of(path) for path in SOURCES if path.stem == "__init__"}
    given = {name for module, name in imports() if module in faces and of_library(module)}
    given |= {f"dplit.{home}.{name}" for name, home in dplit._HOME.items()}
    wanted = told.keys() & given.union(public_names())
    unshown = {name for name in wanted if ">>>" not in told[name]}
    assert sorted(unshown) == []
    assert "dplit.audit._ledger.Ledger" in wanted


#: What every rule of advice has under the same name, for what it advises on.
OF_EACH_RULE = {
    "recommend",
    "configure",
    "chosen",
    "ranking",
    "strength",
    "gain",
    "errors_of",
}


def test_a_name_means_one_thing() -> None:
    """Kills a second definition of a public name, in the library, a paper or a study."""
    homes = defaultdict(set)
    for module, source in MODULES.items():
        for node in ast.parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_":
                homes[node.name].add(module)
    shared = {
        name: sorted(modules)
        for name, modules in homes.items()
        if len(modules) > 1
        if not (name in OF_EACH_RULE and all(m.startswith("dplit.advice.") for m in modules))
    }
    assert shared == {}


def test_a_public_function_of_a_paper_is_named_outside_its_room() -> None:
    """Kills a function that is public and that no claim, cell, page, benchmark or room names."""
    root = LAYOUT.root
    told = [*root.glob("notebooks/*.md"), *root.glob("book/*.md"), *root.glob("benchmarks/**/*.py")]
    told += [*PAPERS.glob("*/claims.yml"), root / "README.md"]
    words = {w for path in told for w in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    taken = {(module.rpartition(".")[0], name.rpartition(".")[2]) for module, name in imports()}
    unused = {
        f"{name_of(path)}.{node.name}"
        for path in sorted(PAPERS.glob("*/[a-z]*.py"))
        for node in ast.parse(SOURCES[path]).body
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_" and node.name not in words
        if not any(
            name == node.name and home != name_of(path).rpartition(".")[0] for home, name in taken
        )
    }
    assert unused == set()


def test_what_other_rooms_use_has_no_underscore() -> None:
    """Kills an import of an underscore name from another room's inside, and a chapter's.

    Studies look inside what they study.
    """
    wrong = {
        f"{module} imports {name}"
        for module, name in imports()
        if name.rpartition(".")[2].startswith("_") and name not in MODULES
        if not module.startswith("dplit_studies")
        if module.rpartition(".")[0] != name.rpartition(".")[0].rpartition(".")[0]
        if module != name.rpartition(".")[0].rpartition(".")[0]
    }
    for slug in LAYOUT.names():
        cells = notebook_code(LAYOUT.notebooks / f"{slug}.ipynb")
        names = {name for cell in cells for name in imported_names(cell)}
        ours = {name for name in names if name.split(".")[0] in ("dplit", "dplit_studies")}
        wrong |= {
            f"{slug}.ipynb imports {name}"
            for name in ours
            if any(part.startswith("_") for part in name.split("."))
        }
    assert wrong == set()


def test_no_two_modules_import_each_other() -> None:
    edges = {}
    for path, source in SOURCES.items():
        top = [n for n in ast.parse(source).body if isinstance(n, (ast.Import, ast.ImportFrom))]
        body = "\n".join(ast.unparse(node) for node in top)
        module = name_of(path)
        found = {n for n in imported_names(body, module, path.stem == "__init__") if n in MODULES}
        # a module always brings the packages that hold it
        edges[module] = {n for n in found if not f"{module}.".startswith(f"{n}.")}
    while free := [m for m, found in edges.items() if not found]:
        edges = {m: found - set(free) for m, found in edges.items() if m not in free}
    assert sorted(edges) == []


def test_a_module_needs_no_chapters() -> None:
    """Kills headings in comments, of which several modules had become one, and lines that are
    kept as somebody packed them."""
    wrong = []
    for module, source in MODULES.items():
        lines = source.splitlines()
        for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            heading = line.startswith("# ") and not above.strip() and not below.strip()
            if heading or "# fmt:" in line:
                wrong.append(f"{module}: {line}")
    assert wrong == []


def test_no_module_is_imported_under_two_names() -> None:
    """In cells a module has its own name, or one other where a variable has it."""
    told: dict[str, set[str]] = defaultdict(set)
    for slug in LAYOUT.names():
        for cell in notebook_code(LAYOUT.notebooks / f"{slug}.ipynb"):
            for node in ast.walk(ast.parse(cell)):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        if (name := f"{node.module}.{alias.name}") in MODULES:
                            told[f"{slug} {name}"].add(alias.asname or alias.name)
    assert {name: names for name, names in told.items() if len(names) > 1} == {}


def test_every_folder_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    """Kills pytest's own list of folders to pass by, which has "build" in it."""
    passed_by = pytestconfig.getini("norecursedirs")
    folders = {path.parent for path in LAYOUT.root.glob("tests/**/test_*.py")}
    names = {part for folder in folders for part in folder.relative_to(LAYOUT.root).parts}
    assert {"build", "site"} <= names
    assert [n for n in names if any(fnmatch(n, pattern) for pattern in passed_by)] == []


def test_what_draws_private_noise_has_floating_point_errors_of_its_own() -> None:
    """A user's `np.errstate` would tell of records; kills a release without `@quiet`."""
    loud = []
    for module, source in MODULES.items():
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            calls = {
                n.func.id
                for n in ast.walk(node)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
            }
            decorated = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
            if "record_draw" in calls and "quiet" not in decorated:
                loud.append(f"{module}.{node.name}")
    assert sorted(loud) == []
