"""Nodes of a page: names of boxes, links in code, formulas and pictures that keep their places."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document
from dplit_book import code, page
from dplit_book.shown import escape
from pygments import highlight
from pygments.lexers import PythonLexer


def box(kind: str, *title: nodes.Node) -> nodes.Element:
    """Return a box as sphinx-proof makes it."""
    about = {"realtype": kind, "countertype": kind, "ids": ["box-a"], "classes": ["proof", kind]}
    return nodes.Element("", nodes.title("", "", *title), nodes.section(), **about)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Lemma 9, the sensitivity", "Lemma 9, the sensitivity"),
        ("(13) as a leak", "(13) as a leak"),
        ("Definitions 18 and 23, nonresonance", "Definitions 18 and 23, nonresonance"),
        ("End of Section 6.3", "End of Section 6.3"),
        ("Appendix D, corrected (again)", "Appendix D, corrected (again)"),
        ("Definition of a table", "Remark (Definition of a table)"),
        ("Every entry of two tables", "Remark (Every entry of two tables)"),
        ("", "Remark"),
    ],
)
def test_a_box_is_named_by_its_place_or_by_its_kind(title: str, shown: str) -> None:
    """Kills a kind before a place, as in "Remark (Lemma 9)", and a box of which no kind is told."""
    named = page.name_box(box("remark", nodes.Text(title)))
    assert named[0].astext() == shown
    assert (named["ids"], named["classes"]) == (["box-a"], ["proof", "remark"])


def test_the_title_of_a_box_keeps_its_formulas() -> None:
    title = (nodes.Text("What noise of scale "), nodes.math("", "b"), nodes.Text(" hides"))
    named = page.name_box(box("theorem", *title))[0]
    assert [type(part) for part in named] == [
        nodes.Text,
        nodes.Text,
        nodes.math,
        nodes.Text,
        nodes.Text,
    ]
    assert named.astext() == "Theorem (What noise of scale b hides)"


@pytest.mark.parametrize(("text", "expected"), [("costs $x_1$", True), ("costs $5", False)])
def test_formulas_in_html_load_what_typesets_them(text: str, expected: bool) -> None:
    """Kills a page of errata whose formulas stay as they were typed."""
    known = {"page": False}
    domains = {"math": SimpleNamespace(data={"has_equations": known})}
    app = SimpleNamespace(env=SimpleNamespace(docname="page", get_domain=domains.__getitem__))
    document = new_document("page")
    document += nodes.raw("", escape(text), format="html")
    page.on_read(app, document)
    assert known == {"page": expected}


def test_names_of_the_package_in_code_lead_to_their_entries_once_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kills a link of another object's attribute, one at each occurrence, a colour that is lost,
    and an element for what has none."""
    source = "from dplit.notebook import figures as drawn\nfrom dplit import gaussian_sigma\n"
    names = dict(code.imported(source, "dplit"))
    assert sorted(names) == ["drawn", "gaussian_sigma"]
    assert code.full_name(names["gaussian_sigma"]).startswith("dplit.mechanisms.")
    assert code.full_name(3) == ""
    known = {("gaussian_sigma", ""): "m.html#s", ("drawn", "panels"): "p.html?a&b"}
    monkeypatch.setattr(code.Formatter, "address", staticmethod(lambda *name: known.get(name)))
    cell = "gaussian_sigma + model.gaussian_sigma\ndrawn.panels(gaussian_sigma, 1)"
    shown = highlight(cell, PythonLexer(), code.Formatter(nowrap=True))
    assert shown == (
        '<a class="dplit-api" href="m.html#s">gaussian_sigma</a> + model.gaussian_sigma\n'
        '<a class="dplit-api" href="p.html?a&amp;b">drawn.panels</a>'
        '(gaussian_sigma, <span class="mi">1</span>)\n'
    )


@pytest.mark.parametrize(
    ("before", "behind", "glued"),
    [
        ("at ", ", and", "x,"),
        ("at (", ") and", "(x)"),
        ("the ", "-dimensional ball", "x-dimensional"),
        ("the ", "th row", "xth"),
        ("at ", " here", None),
        ("at ", nodes.inline("", "0.3", classes=["pasted-text"]), "x0.3"),
        ("at ", nodes.strong("", ", here"), None),
    ],
)
def test_a_formula_keeps_what_is_glued_to_it(before: str, behind: Any, glued: str | None) -> None:
    """Kills a comma, a bracket, the end of a word or a number that can begin the next line."""
    formula = nodes.math("", "x")
    behind = nodes.Text(behind) if isinstance(behind, str) else behind
    line = nodes.paragraph("", "", nodes.Text(before), formula, behind)
    told = line.astext()
    page.keep_together(formula)
    assert line.astext() == told
    held = [
        part.astext() for part in line.findall(nodes.inline) if "dplit-nobreak" in part["classes"]
    ]
    assert held == ([glued] if glued else [])


def test_a_picture_has_its_place_before_it_comes(tmp_path: Path) -> None:
    """Kills points for pixels, and a side for the other."""
    file = tmp_path / "a.svg"
    file.write_text('<svg xmlns:x="y" width="475.2pt" height="216pt" viewBox="0 0 475.2 216">')
    cell = nodes.paragraph("", "", nodes.image(uri="a.svg"))
    page.size(cell[0], file)
    (held,) = cell.findall(page.Wide)
    assert held["width"] == 634
    assert (held[0]["width"], held[0]["height"]) == ("634", "288")


#: Widths and heights in em as MathJax 3.2.2 set them: a third is no jump.
WIDE = {
    r"\operatorname{tr}M=N": 4.22,
    r"-2,-1,0,1,2": 5.83,
    r"2\le G\le2+A": 6.42,
    r"\sum_iy_i\phi_i": 3.29,
}
TALL = {r"\mathbb ER_1\le\frac{2\kappa^2C_L^2}{\lambda\gamma m}.": 2.49}


def test_a_formula_takes_about_the_room_that_is_kept() -> None:
    assert {tex: page.room(tex, False) for tex in WIDE} == pytest.approx(WIDE, rel=0.4)
    assert {tex: page.room(tex, True) - 2 for tex in TALL} == pytest.approx(TALL, rel=0.2)
