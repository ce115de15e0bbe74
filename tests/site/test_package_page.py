"""The pages of the package list what its classes can do, inherited methods too."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from dplit.notebook import claims
from scripts.layout import Layout
from scripts.reference import documented_modules, page_name, public_names

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "_build" / "html" / "book" / "reference"
LAYOUT = Layout(ROOT)
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
        anchors = set(re.findall(r'id="(dplit[\w.]+)"', text))
        module = importlib.import_module(name)
        for label in public_names(Path(str(module.__file__))) or ():
            public = getattr(module, label)
            if inspect.isclass(public):
                wanted = {f"{name}.{label}.{method}" for method in _methods(public)}
                missing += sorted(wanted - anchors)
    assert not missing


def test_every_claimed_function_leads_to_the_boxes_of_its_claims() -> None:
    """Kills a function, class or method without its line, and a line with another's claims."""
    from bs4 import BeautifulSoup

    anchors = defaultdict[str, list[str]](list)
    for identifier, claim in claims.load_registry().items():
        page = f"../chapters/{LAYOUT.record(claim['slug'])}.html"
        for function in claim["functions"]:
            anchors[function].append(f"{page}#{identifier.lower()}")
    shown = {}
    for name in MODULES:
        told = (FOLDER / f"{page_name(name)}.html").read_bytes()
        for entry in BeautifulSoup(told, "html.parser").select("dl.py"):
            head = entry.select_one(":scope > dt[id]")
            line = entry.select_one(":scope > dd > p.dplit-claims")
            if head and line:
                shown[str(head["id"])] = [str(a["href"]) for a in line.select("a")]
    assert shown == anchors
