"""The score board of a lesson: every registered claim once, by verdict, with a link."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dplit.notebook import claims, show_claims
from scripts.tables import typeset_numbers


@pytest.mark.parametrize("slug", ["erm", "margin"])
def test_every_claim_is_linked_once_beside_its_verdict(slug: str, displayed: Any) -> None:
    """Kills a verdict that is left out, there or on the page, and a claim in the row of another."""
    show_claims(slug)
    page = typeset_numbers(displayed[0][0]["text/html"])
    registry = claims.load_registry(slug)
    linked = []
    for row in re.findall(r"<tr><th scope='row'>(.*?)</tr>", page):
        verdict, count = re.match(r"([\w-]+)(?:, ours)? \((\d+)\)", row).groups()  # type: ignore[union-attr]
        names = re.findall(rf'href="{slug}_supplement\.html#([\w-]+)"', row)
        assert len(names) == int(count)
        by_anchor = {name.lower(): one for name, one in registry.items()}
        assert {by_anchor[name]["verdict"] for name in names} == {verdict}
        linked += names
    assert sorted(linked) == sorted(name.lower() for name in registry)


def test_it_records_nothing(displayed: Any) -> None:
    before = claims.shown_records()
    show_claims("erm")
    assert set(displayed[0][0]) == {"text/html", "text/plain"}
    assert claims.shown_records() == before


def test_a_slug_without_claims_is_named() -> None:
    with pytest.raises((KeyError, ValueError, FileNotFoundError), match="nowhere"):
        show_claims("nowhere")
