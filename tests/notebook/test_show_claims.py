"""The score board of a lesson: every registered claim once, by verdict, with a link."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dplit import claims
from dplit.notebook import show_claims
from scripts.tables import typeset_numbers


def shown(monkeypatch: pytest.MonkeyPatch, slug: str) -> dict[str, str]:
    import IPython.display

    caught: list[dict[str, Any]] = []
    monkeypatch.setattr(IPython.display, "display", lambda data, **_: caught.append(data))
    show_claims(slug)
    return caught[0]


@pytest.mark.parametrize("slug", ["erm", "margin"])
def test_every_claim_is_linked_once_beside_its_verdict(
    slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a verdict that is left out, there or on the page, and a claim in the row of another."""
    page = typeset_numbers(shown(monkeypatch, slug)["text/html"])
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


def test_it_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = claims.shown_records()
    data = shown(monkeypatch, "erm")
    assert set(data) == {"text/html", "text/plain"}
    assert claims.shown_records() == before


def test_a_slug_without_claims_is_named() -> None:
    with pytest.raises((KeyError, ValueError, FileNotFoundError), match="nowhere"):
        show_claims("nowhere")
