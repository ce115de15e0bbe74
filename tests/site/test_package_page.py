"""The pages of the package list what its classes can do, inherited methods too."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from scripts.reference import documented_modules, page_name, public_names

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "_build" / "html" / "book" / "reference"
MODULES = documented_modules(ROOT / "src" / "dplit")
pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not FOLDER.exists(), reason="the book is not built; run: make book"),
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
    missing = []
    for name in MODULES:
        text = (FOLDER / f"{page_name(name)}.html").read_text(encoding="utf-8")
        anchors = set(re.findall(r'id="(dplit\.[\w.]+)"', text))
        module = importlib.import_module(name)
        for label in public_names(Path(str(module.__file__))) or ():
            public = getattr(module, label)
            if inspect.isclass(public):
                wanted = {f"{name}.{label}.{method}" for method in _methods(public)}
                missing += sorted(wanted - anchors)
    assert not missing
