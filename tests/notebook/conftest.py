"""What is displayed, caught before it is shown."""

from __future__ import annotations

from typing import Any

import pytest


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
