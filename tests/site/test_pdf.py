"""The book on paper: every printed page, its figures and equations whole, its links alive."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from scripts import pdf, site_check
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[2])
pytestmark = [
    pytest.mark.weekly,
    pytest.mark.site,
    pytest.mark.skipif(
        not (LAYOUT.html / "index.html").exists(), reason="the book is not built; run: make book"
    ),
    pytest.mark.skipif(site_check.chromium() is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def printed() -> bytes:
    told: list[str] = []
    assert pdf.main(LAYOUT, told.append) == 0, told  # nothing is cut, no picture is lost
    return (LAYOUT.build / "pdf" / "dplit.pdf").read_bytes()


@pytest.fixture(scope="module")
def whole(printed: bytes) -> BeautifulSoup:
    text = (LAYOUT.build / "pdf" / "dplit.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def test_every_page_begins_a_sheet_and_fonts_are_in_the_file(printed: bytes) -> None:
    sheets = len(re.findall(rb"/Type /Page\b", printed))
    assert sheets > 10 * len([name for name in pdf.printed_pages(LAYOUT) if "chapters" in name])
    fonts = re.findall(rb"/Type /FontDescriptor.*?>>", printed, re.DOTALL)
    drawn = printed.count(b"/Subtype /Type3")  # glyphs that the file itself draws
    assert sum(b"/FontFile" not in font for font in fonts) <= drawn
    assert any(b"MathJax_Math" in font for font in fonts)  # equations are typeset


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())


def test_the_outline_names_the_pages_and_their_sections(
    printed: bytes, whole: BeautifulSoup
) -> None:
    """The browser loses a heading now and then, never a page's."""
    found = set()
    for text, number in re.findall(rb"/Title (?:\(((?:\\.|[^\\)])*)\)|<([0-9A-F]*)>)", printed):
        wide = bytes.fromhex(number.decode()).decode("utf-16") if number else ""
        found.add(_letters(text.decode("latin-1") + wide))
    missing = [
        heading
        for heading in whole.select("article :is(h1, h2, h3)")
        if not any(_letters(heading.get_text())[:12] in title for title in found)
    ]
    assert not [heading for heading in missing if heading.name == "h1"]
    assert len(missing) < 0.1 * len(found)


def test_every_figure_of_the_pages_is_printed(whole: BeautifulSoup) -> None:
    for name in pdf.printed_pages(LAYOUT):
        page = (LAYOUT.html / f"{name}.html").read_text(encoding="utf-8")
        there = BeautifulSoup(page, "html.parser").select("article :is(img, figure)")
        here = whole.select(f"#{name.replace('/', '-')} :is(img, figure)")
        assert len(here) == len(there), name


def test_paper_shows_proofs_and_solutions_and_no_code_of_figures(whole: BeautifulSoup) -> None:
    """Kills a fold that stays closed where a reader of paper cannot open it."""
    folds = [
        (fold.select_one("summary").get_text().strip(), fold.has_attr("open"))  # type: ignore[union-attr]
        for fold in whole.select("article details")
    ]
    for kind, shown in (("Proof", True), ("Solution", True), ("Code of the figure", False)):
        found = [opened for title, opened in folds if title.startswith(kind)]
        assert len(found) >= 3
        assert set(found) == {shown}


def test_links_between_pages_stay_in_the_document(whole: BeautifulSoup) -> None:
    """Kills anchors that two pages share, and links that leave for a printed page's file."""
    anchors = [str(item["id"]) for item in whole.select("article [id]")]
    known = set(anchors)
    addresses = [str(item["href"]) for item in whole.select("article a[href]")]
    inside = [address[1:] for address in addresses if address.startswith("#")]
    assert len(inside) > 500
    assert [anchor for anchor in inside if anchor not in known] == []
    assert not [a for a in addresses if a.startswith("../html/book/chapters/") and ".html" in a]


def test_what_paper_would_cut_is_told(tmp_path: Path) -> None:
    """Kills a check that sees nothing: one planted wide table, scrolled text, and lost picture."""
    path = tmp_path / "planted.html"
    path.write_text(
        "<article id='a'><table id='wide' style='width: 2000px'><tr><td>x</table>"
        "<pre id='long' style='overflow-x: auto'>" + "x" * 500 + "</pre><p id='fits'>x</p>"
        "<img id='lost' src='none.png' width='9' height='9'></article>"
    )
    with site_check.browser() as opened:
        page = opened.new_page(viewport={"width": pdf.WIDTH, "height": 1000})
        page.goto(path.as_uri())
        told = sorted(line.split("/")[0] for line in pdf.faults(page))
    assert told == [
        "cut at the margin: pre in long",
        "cut at the margin: table in wide",
        "no picture: file:",
    ]
