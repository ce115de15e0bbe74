"""What tests of the studies share: calls of a module's functions, watched."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Call = tuple[tuple[Any, ...], dict[str, Any], Any]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, str], list[Call]]:
    """Arguments, options and result of each call of a module's function from now on."""

    def watch(module: ModuleType, name: str) -> list[Call]:
        calls: list[Call] = []
        function = getattr(module, name)

        def kept(*args: Any, **options: Any) -> Any:
            calls.append((args, options, function(*args, **options)))
            return calls[-1][-1]

        monkeypatch.setattr(module, name, kept)
        return calls

    return watch
