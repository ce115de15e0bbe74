"""Who needs the code of random features: a page, an estimator or the advice reaches all of it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jupytext

from scripts.reach import Reach
from tests.test_house import code_lines

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dplit"

#: Doors that a user calls.
DOORS = ["dplit.PrivateRandomFeatureRegressor"] + [
    f"dplit.random_features.choice.{name}" for name in ("recommend", "waves")
]

#: Modules of another origin: what made an archive, and what grades a reader's functions.
ELSEWHERE = {"choice_map", "exercises", "__init__"}


def _cells(name: str) -> list[str]:
    page = jupytext.read(ROOT / "notebooks" / f"{name}.md")
    return [cell.source for cell in page.cells if cell.cell_type == "code"]


def _definitions() -> Iterator[tuple[str, int]]:
    """Dotted names of functions and classes of the chapter, with their lines of code."""
    for folder in (PACKAGE / "random_features", ROOT / "src" / "dplit_studies" / "random_features"):
        for path in folder.glob("*.py"):
            if path.stem in ELSEWHERE:
                continue
            source, module = path.read_text(encoding="utf8"), path.relative_to(ROOT / "src")
            for node in ast.parse(source).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    name = ".".join([*module.with_suffix("").parts, node.name])
                    yield name, code_lines(ast.get_source_segment(source, node) or "")


def test_every_definition_is_reached() -> None:
    """Kills a function that nothing but its own tests calls; prints the lines by who needs them."""
    reach, lines = Reach(PACKAGE), Counter[str]()
    users = {
        "estimator, advice": reach.digests([], DOORS),
        "lesson": reach.digests(_cells("random_features")),
        "record": reach.digests(_cells("random_features_supplement")),
    }
    for name, size in _definitions():
        lines[next((user for user, found in users.items() if name in found), name)] += size
    print(lines)
    assert lines.keys() <= users.keys()
    assert min(lines["estimator, advice"], lines["record"]) > 200  # something was counted
