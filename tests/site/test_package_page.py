"""The package page lists what the classes of the package can do, inherited methods too."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "_build" / "html" / "book" / "api.html"
MODULES = re.findall(r"automodule:: (\S+)", (ROOT / "book" / "api.md").read_text(encoding="utf-8"))
pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not PAGE.exists(), reason="the book is not built; run: make book"),
]


def _methods(public: type[Any]) -> set[str]:
    """Names of the documented methods and properties that our own classes give to ``public``."""
    ours = (base for base in public.__mro__ if base.__module__.startswith("dplit"))
    return {
        name
        for base in ours
        for name, value in vars(base).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, (property, classmethod)))
        and inspect.getdoc(getattr(public, name))
    }


def test_every_method_of_every_public_class_has_a_place() -> None:
    """Kills a base class whose methods the page leaves out."""
    anchors = set(re.findall(r'id="(dplit\.[\w.]+)"', PAGE.read_text(encoding="utf-8")))
    missing = []
    for name in MODULES:
        module = importlib.import_module(name)
        classes = [(n, getattr(module, n)) for n in getattr(module, "__all__", ())]
        for label, public in classes:
            if inspect.isclass(public):
                wanted = {f"{name}.{label}.{method}" for method in _methods(public)}
                missing += sorted(wanted - anchors)
    assert not missing
