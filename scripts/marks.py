"""Which tests check which claim: ``pytest.mark.claim``, read without importing the tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.files import BuildError
from scripts.layout import Layout


@dataclass(frozen=True)
class MarkedTest:
    """One test: file (relative to the root), qualified name, claims, source, first line."""

    file: str
    name: str
    claims: tuple[str, ...]
    source: str
    line: int

    @property
    def node(self) -> str:
        """The test as pytest names it."""
        return f"{self.file}::{self.name}"


def _claims_of(mark: ast.expr) -> Iterator[str]:
    """Yield the ids of the claim marks in an expression: a mark, or a list or tuple of marks."""
    if isinstance(mark, (ast.List, ast.Tuple)):
        for element in mark.elts:
            yield from _claims_of(element)
    elif isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.claim":
        for argument in mark.args:
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise BuildError(f"claim marks take a string, got {ast.unparse(mark)}")
            yield argument.value


def _module_marks(body: list[ast.stmt]) -> tuple[str, ...]:
    found: list[str] = []
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            found += _claims_of(node.value)
    return tuple(found)


def _walk(
    body: list[ast.stmt], inherited: tuple[str, ...], prefix: str
) -> Iterator[tuple[str, tuple[str, ...], ast.stmt]]:
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        own = tuple(c for decorator in node.decorator_list for c in _claims_of(decorator))
        claims = tuple(dict.fromkeys((*own, *inherited)))
        if isinstance(node, ast.ClassDef):
            if node.name.startswith("Test"):
                marks = (*claims, *_module_marks(node.body))
                yield from _walk(node.body, marks, f"{prefix}{node.name}::")
        elif node.name.startswith("test"):
            yield f"{prefix}{node.name}", claims, node


def marked_tests(layout: Layout) -> list[MarkedTest]:
    """Return every test that carries a claim mark, by file and line.

    Raises
    ------
    BuildError
        If a test file does not parse or a mark does not name its claim by a string.
    """
    found = []
    for path in sorted(layout.tests.rglob("test_*.py")):
        found += file_tests(path, layout)
    return found


def file_tests(path: Path, layout: Layout) -> list[MarkedTest]:
    """Return the tests of one file that carry a claim mark."""
    return list(_text_tests(path.read_text(encoding="utf-8"), layout.name(path)))


@cache
def _text_tests(text: str, name: str) -> tuple[MarkedTest, ...]:
    """Return the marked tests of a text; a build asks for the same ones three times."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise BuildError(f"{name} does not parse: {error}") from error
    lines = text.split("\n")
    found = []
    for test, claims, node in _walk(tree.body, _module_marks(tree.body), ""):
        if claims and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            source = "\n".join(lines[first - 1 : node.end_lineno])
            found.append(MarkedTest(name, test, claims, source, first))
    return tuple(found)


def nodes_by_claim(tests: list[MarkedTest]) -> dict[str, list[str]]:
    """Return the tests of each claim as pytest names them, sorted."""
    table: dict[str, list[str]] = {}
    for test in tests:
        for claim in test.claims:
            table.setdefault(claim, []).append(test.node)
    return {claim: sorted(nodes) for claim, nodes in sorted(table.items())}
