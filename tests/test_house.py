"""The rules of CONTRIBUTING.md that say where a line belongs, as far as a machine can see them."""

from __future__ import annotations

import ast
from pathlib import Path

from scripts.digest import imported_names

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "dplit"
MODULES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
PAPERS = {path.parent.name for path in PACKAGE.glob("*/claims.yml")} - {"face_off", "audits"}


def code_lines(source: str) -> int:
    """Return how many lines are neither blank nor comment nor docstring."""
    told = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(
        1 for k, x in lines if x.strip() and not x.lstrip().startswith("#") and k not in told
    )


def test_the_package_stays_small() -> None:
    assert sum(len(source.splitlines()) for source in MODULES.values()) <= 42_000
    long = {path.name: n for path, source in MODULES.items() if (n := code_lines(source)) > 450}
    assert long == {}


def test_a_folder_can_be_looked_over() -> None:
    for folder in {path.parent for path in MODULES}:
        inside = [p for p in folder.iterdir() if p.suffix == ".py" and p.stem != "__init__"]
        inside += [p for p in folder.iterdir() if (p / "__init__.py").exists()]
        assert len(inside) <= (20 if folder == PACKAGE else 14), folder


def test_imports_go_one_way() -> None:
    """Kills a paper that imports another, a shared folder that imports a paper, and experiments
    that are more than a chapter's."""
    wrong = []
    for path, source in MODULES.items():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        home = parts[1] if len(parts) > 1 else ""
        for name in imported_names(source, module, path.stem == "__init__"):
            to = (*name.split("."), "", "")
            if to[0] != "dplit" or to[1] == home or home == "audits":
                continue
            foreign = to[1] in PAPERS and home in PAPERS
            upwards = to[1] in PAPERS | {"face_off", "audits"} and home not in {*PAPERS, "face_off"}
            if foreign or upwards or to[2] == "experiments":
                wrong.append(f"{module} imports {name}")
    assert wrong == []


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
