"""What stands in an erratum's place is typeset, as the rest of the book is."""

from __future__ import annotations

import re

import pytest

from dplit.notebook.claims import load_registry
from scripts.normalise import FORMULA

ASCII = re.compile(r"\b(kappa|lambda|sigma|sqrt|epsilon|delta|gamma|eta)\b|\w\^|\$")
CORRECTED = {name: entry["corrected"] for name, entry in load_registry().items()}


@pytest.mark.parametrize("name", [name for name, text in CORRECTED.items() if text])
def test_corrected_statements_are_typeset(name: str) -> None:
    """Kills a formula in letters, and a dollar that begins none."""
    assert ASCII.search(FORMULA.sub("", CORRECTED[name])) is None
