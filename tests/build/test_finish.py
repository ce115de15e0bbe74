"""Boxes have the papers' numbers or none, and formulas in HTML are typeset."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from scripts.finish import box_title, name_boxes, on_read
from scripts.pages import escape

BOX = '<p class="admonition-title"><span class="caption-number">{} </span>{}</p><p>Text (1).</p>'


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Lemma 9, the sensitivity", "Lemma 9, the sensitivity"),
        ("(13) as a leak", "(13) as a leak"),
        ("Definitions 18 and 23, nonresonance", "Definitions 18 and 23, nonresonance"),
        ("End of Section 6.3", "End of Section 6.3"),
        ("Appendix D, corrected", "Appendix D, corrected"),
        ("Definition of a table", "Remark (Definition of a table)"),
        ("Every entry of two tables", "Remark (Every entry of two tables)"),
        ("", "Remark"),
    ],
)
def test_a_box_is_named_by_its_place_or_by_its_kind(title: str, shown: str) -> None:
    """Kills a kind before a place, as in "Remark (Lemma 9)", and a box of which no kind is told."""
    assert box_title("Remark", title) == shown


def test_boxes_lose_our_numbers_and_keep_their_formulas() -> None:
    """Kills a title that ends at its first bracket, and one box that swallows the next."""
    formula = "What noise (1) of scale <span>\\(b\\)</span> hides"
    page = BOX.format("Lemma 1.1", f" ({formula})") + BOX.format("Remark 5.12", "")
    page += '<figcaption><p><span class="caption-number">Fig. 3.1 </span> (a)</p></figcaption>'
    shown = name_boxes(page)
    assert shown.count(f'<p class="admonition-title">Lemma ({formula})</p><p>Text (1).</p>') == 1
    assert shown.count('<p class="admonition-title">Remark</p><p>Text (1).</p>') == 1
    assert shown.endswith("Fig. 3.1 </span> (a)</p></figcaption>")


@pytest.mark.parametrize(("text", "expected"), [("costs $x_1$", True), ("costs $5", False)])
def test_formulas_in_html_load_what_typesets_them(text: str, expected: bool) -> None:
    """Kills a page of errata whose formulas stay as they were typed."""
    known = {"page": False}
    domains = {"math": SimpleNamespace(data={"has_equations": known})}
    app = SimpleNamespace(env=SimpleNamespace(docname="page", get_domain=domains.__getitem__))
    document = new_document("page")
    document += nodes.raw("", escape(text), format="html")
    on_read(app, document)
    assert known == {"page": expected}
