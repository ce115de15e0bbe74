"""The report of sizes and measures, on a repository small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import report
from scripts.layout import Layout

TEXT = "We suppose that $x$ is private, because you guess.\n\n**1. Exercise.** It is asked here."
SOURCE = '"""Toy."""\n\n\nclass C:\n    def f(self, a, *, b=1):\n        # why\n        return a\n'


def cell(kind: str, source: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {"tags": list(tags)}}


CELLS = [
    cell("code", "x: int = 1", "parameters"),
    cell("markdown", TEXT),
    cell("code", "a = 1\n\n# why\nrunning_proof(a)"),
    cell("code", 'b = 2\ngrade("c")\nd = 3', "hide-input"),
]


def test_a_text_and_its_cells_are_measured() -> None:
    """Kills a fold or the parameters among the open cells, and formulas that count as words."""
    told = report.measures(CELLS)
    assert told["words"] == 13
    assert told["words a sentence"] == pytest.approx((9 + 5) / 2)
    assert told["formulas per 100 words"] == pytest.approx(100 / 13)
    assert told["address per 1000 words"] == pytest.approx(2000 / 13)
    ones = ["predictions", "exercises", "running proofs", "graded", "open cells"]
    assert [told[name] for name in ones] == [1] * 5
    assert [told["open lines"], told["folded lines"], told["longest fold"]] == [2, 3, 3]
    assert all(value == 0 for value in report.measures([]).values())


def test_sizes_are_printed_and_none_of_them_fails(tmp_path: Path) -> None:
    """Kills lines of docstrings and comments that count as code, and ``self`` as a parameter."""
    for name, text in {
        "src/dplit/toy/rooms.py": SOURCE,
        "tests/toy/test_rooms.py": "def test_f():\n    assert True\n",
        "scripts/a.py": "KIND = 'application/vnd.dplit.claim+json'\n",
        "Makefile": "book: environment ## build\n",
        "pyproject.toml": '[x]\nmarkers = [\n  "site: x",\n]\n',
        "notebooks/basics.md": "",
        "notebooks/basics.ipynb": json.dumps({"cells": CELLS}),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    said: list[str] = []
    report.main(Layout(tmp_path), said.append)
    rows = {line.rpartition("  ")[0].strip(): line.split() for line in "\n".join(said).split("\n")}
    lines = [line.split() for line in "\n".join(said).split("\n")]
    assert ["src/dplit/toy", "1", "3", "1", "1", "0"] in lines
    assert ["tests", "1", "2", "0", "0", "1"] in lines
    assert ["src/dplit/toy/rooms.py:", "f", "2"] in lines
    assert rows["kinds of output"][-1] == rows["marks of tests"][-1] == "1"
    assert rows["longest fold"][-1] == "3"
