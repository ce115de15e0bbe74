"""Boxes have the papers' numbers or none, and formulas in HTML are typeset."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from scripts.finish import (
    box_title,
    full_name,
    imported,
    keep_together,
    link_code,
    name_boxes,
    on_read,
    size_pictures,
    thin_code,
)
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


def test_names_of_the_package_in_code_lead_to_their_entries_once_a_block() -> None:
    """Kills a link from prose or from another object's attribute, and one at each occurrence."""
    code = (
        "from dplit.notebook import figures as drawn\nfrom dplit import gaussian_sigma\nimport math"
    )
    names = dict(imported([code], "dplit"))
    assert sorted(names) == ["drawn", "gaussian_sigma"]
    full = full_name(names["gaussian_sigma"])
    assert full.startswith("dplit.mechanisms.")
    assert full_name(3) == ""

    def spelled(*words: str) -> str:
        dot = '<span class="o">.</span>'
        return dot.join(f'<span class="n">{word}</span>' for word in words)

    panel = next(n for n, f in vars(names["drawn"]).items() if full_name(f).endswith(f"s.{n}"))
    addresses = {full: "mechanisms.html#sigma", full_name(getattr(names["drawn"], panel)): "p.html"}
    one, other = spelled("gaussian_sigma"), spelled("model", "gaussian_sigma")
    inner = f"{one} {one} {other} {spelled('drawn', panel)} {spelled('math', 'inf')}"
    block = f'<div class="highlight"><pre>{inner}</pre></div>'
    linked = link_code(f"<p>{one}</p>{block}{block}", names, addresses)
    assert linked.startswith(f"<p>{one}</p>")
    link = f'<a class="dplit-api" href="mechanisms.html#sigma">{one}</a>'
    assert linked.count(link) == 2
    assert f"{link} {one} {other}" in linked
    assert f'<a class="dplit-api" href="p.html">{spelled("drawn", panel)}</a>' in linked


def test_code_keeps_its_text_its_links_and_its_colours() -> None:
    """Kills a word or an entity lost with its element, a link that goes too, and thinned prose."""
    inner = (
        '<span></span><span class="kn">import</span><span class="w"> </span>'
        '<span class="nn">a</span>\n<a class="dplit-api" href="p.html"><span class="n">f</span></a>'
        '<span class="p">(</span><span class="n">x</span><span class="o">&lt;=</span>'
        '<span class="mi">1</span><span class="p">)</span>'
    )
    prose = '<span class="p">Text</span>'
    shown = thin_code(f'{prose}<div class="highlight"><pre>{inner}</pre></div>')
    assert shown == (
        f'{prose}<div class="highlight"><pre><span></span><span class="kn">import</span> a\n'
        '<a class="dplit-api" href="p.html">f</a>(x&lt;=<span class="mi">1</span>)</pre></div>'
    )


FORMULA = '<span class="math notranslate nohighlight" style="--room:1.3ex">\\(x\\)</span>'


@pytest.mark.parametrize(
    ("before", "glued"),
    [
        ("at FORMULA, and", "FORMULA,"),
        ("at (FORMULA) and", "(FORMULA)"),
        ("the FORMULA-dimensional ball", "FORMULA-dimensional"),
        ("the FORMULAth row", "FORMULAth"),
        (
            'of FORMULA<span class="pasted-text">0.3</span> here',
            'FORMULA<span class="pasted-text">',
        ),
        ("at FORMULA here", None),
        ("at FORMULA<b>, here</b>", None),
    ],
)
def test_a_formula_keeps_what_is_glued_to_it(before: str, glued: str | None) -> None:
    """Kills a comma, a bracket, the end of a word or a number that can begin the next line."""
    told = keep_together(before.replace("FORMULA", FORMULA))
    assert told.count("dplit-nobreak") == (glued is not None)
    if glued:
        held = told.partition('<span class="dplit-nobreak">')[2]
        assert held.startswith(glued.replace("FORMULA", FORMULA))


def test_a_picture_has_its_place_before_it_comes(tmp_path: Path) -> None:
    """Kills points for pixels, a side for the other, and the size of a picture that has one."""
    page = '<img alt="a" src="../_images/a.svg" /><img alt="b" src="../_images/b.svg" />'
    head = '<svg xmlns:x="y" width="475.2pt" height="216pt" viewBox="0 0 475.2 216">'
    (tmp_path / "of_a.svg").write_text(head)
    told = size_pictures(page, {"a.svg": tmp_path / "of_a.svg"})
    box = '<span class="dplit-wide" style="--wide:634px"><img width="634" height="288" alt="a"'
    assert told == page.replace('<img alt="a"', box).replace('a.svg" />', 'a.svg" /></span>')
    assert size_pictures(told, {"a.svg": tmp_path / "of_a.svg"}) == told
