"""What is displayed, caught before it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the figures that a test drew."""
    yield
    plt.close("all")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a folder for results, in which the test runs."""
    (tmp_path / "src" / "dplit").mkdir(parents=True)
    (tmp_path / "src" / "dplit" / "__init__.py").touch()
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Data and metadata of everything displayed, in order."""
    pytest.importorskip("IPython")
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def record(data: Any, metadata: Any = None, raw: bool = False) -> None:
        assert raw is True
        calls.append((data, metadata or {}))

    monkeypatch.setattr("IPython.display.display", record)
    return calls
