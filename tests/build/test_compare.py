"""Two builds compared number by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import compare
from scripts.files import BuildError
from scripts.layout import Layout


def _build(root: Path, record: dict[str, Any], glued: str) -> Layout:
    layout = Layout(root)
    layout.claims.parent.mkdir(parents=True)
    layout.claims.write_text(json.dumps([record]))
    layout.chapters.mkdir(parents=True)
    text = {"data": {"text/plain": glued}, "metadata": {"scrapbook": {"name": "erm_ratio"}}}
    plain = {"data": {"text/plain": "not glued"}, "metadata": {}}
    cells = [{"cell_type": "markdown"}, {"outputs": [text, plain]}]
    (layout.chapters / "erm.ipynb").write_text(json.dumps({"cells": cells}))
    return layout


def _record(**changes: Any) -> dict[str, Any]:
    check = {"measured": 0.1, "expected": [0.1, 0.25], "ok": True, "how": "two routes"}
    record = {"id": "erm-a", "verdict": "holds", "status": "passed", "functions": ["dplit.f"]}
    return {**record, "checks": [{**check, **changes}]}


def test_moves_of_functions_and_words_are_no_difference(tmp_path: Path) -> None:
    moved = {**_record(how="other words"), "functions": ["dplit.g"]}
    pair = _build(tmp_path / "a", _record(), "0.5"), _build(tmp_path / "b", moved, "0.5")
    assert compare.differences(*pair) == []
    assert len(compare.numbers(pair[0])) == 8


@pytest.mark.parametrize(
    ("record", "glued", "line"),
    [
        (_record(measured=0.10000000000000002), "0.5", "check 1 measured: 0.1 became 0.1000"),
        (_record(expected=[0.1, 0.26]), "0.5", "expected[1]: 0.25 became 0.26"),
        (_record(expected=[0.1]), "0.5", "expected[1]: 0.25 became missing"),
        (_record(ok=False), "0.5", "check 1 ok: true became false"),
        ({**_record(), "verdict": "sharp"}, "0.5", 'erm-a verdict: "holds" became "sharp"'),
        (_record(), "0.6", 'erm glue erm_ratio.text/plain: "0.5" became "0.6"'),
    ],
)
def test_the_last_bit_of_a_number_is_seen(
    tmp_path: Path, record: dict[str, Any], glued: str, line: str
) -> None:
    """Kills rounding before the comparison, and a field that is left out."""
    old, new = _build(tmp_path / "a", _record(), "0.5"), _build(tmp_path / "b", record, glued)
    found = compare.differences(old, new)
    assert len(found) == 1
    assert line in found[0]


def test_a_folder_without_a_build_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no build here"):
        compare.numbers(Layout(tmp_path))
