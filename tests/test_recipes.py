"""The recipes run from top to bottom, as they stand, in an empty folder."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest


def test_recipes_run_in_order(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kills a recipe that names what is no longer there, or forgets a fact that must be stated."""
    text = (root / "book" / "recipes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == text.count("```python") >= 9
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "recipes"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of noise, on few records
        for number, block in enumerate(blocks):
            exec(compile(block, f"recipe {number}", "exec"), namespace)
    told = capsys.readouterr().out
    assert "epsilon 2 of 3" in told
    assert "replacing all records of one of" in told
    assert namespace["model"].differs_from_releases() == ()
