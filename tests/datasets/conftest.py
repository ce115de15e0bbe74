"""What tests of the loaders share: a machine without data."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a data folder and a cache that hold nothing yet."""
    monkeypatch.setenv("DPLIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DPLIT_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path
