"""`make pdf`: the built site as one document, printed by the browser that reads it.

Sphinx's ``singlehtml`` was tried: it follows the whole table of contents, so that the 300 pages
that are looked up come too, and had not ended after 150 seconds of processor time; here they are
left out, and pages that are written already are joined.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

from scripts.files import BuildError, write_text
from scripts.layout import Layout
from scripts.site_check import browser, chromium

#: Not printed: what is looked up, page by page, where a search works.
LOOKED_UP = ("book/claims", "book/differences", "book/tests/", "book/reference/", "book/run_times")
#: Width of a printed line in CSS pixels; the site's tables and equations fit.
WIDTH = 860
#: A4 between its margins is 658 CSS pixels wide.
SCALE = 658 / WIDTH
TITLE = "Differentially private learning, literately"
STYLE = """
:is(.bd-main, .bd-container, .bd-container__inner, .bd-content, .bd-article),
.bd-article-container {
  margin-inline: 0 !important; max-width: none !important; padding-inline: 0 !important;
}
.bd-article > div > section > h1 { break-before: page; display: block !important; }
#jb-print-docs-body { text-align: center; padding: 30% 0; }
#jb-print-docs-body li { list-style: none; padding: 0.2em; }
.bd-content td code .pre { overflow-wrap: anywhere !important; white-space: normal !important; }
details:not([open])::details-content { content-visibility: hidden !important; display: none; }
"""
#: A page on the screen sets the formulas that are near; paper needs them all.
SET = """async () => {
  await MathJax.startup.promise;
  await MathJax.startup.document.lazyTypesetAll();
  await document.fonts.ready;
}"""
#: What a printed line cuts off, and pictures that did not come.
FAULTS = """() => {
  const shown = item => item.checkVisibility() && item.getClientRects().length > 0;
  const past = item => item.getBoundingClientRect().right > innerWidth + 1;
  const inside = item => item.scrollWidth > item.clientWidth + 1
                         && getComputedStyle(item).overflowX !== 'visible';
  const wide = [...document.querySelectorAll('pre, table, mjx-container, img, svg, div')].filter(
    item => shown(item) && !item.closest('mjx-assistive-mml') && (past(item) || inside(item)));
  const lost = [...document.images].filter(image => shown(image) && !image.naturalWidth);
  const name = item => `${item.tagName.toLowerCase()} in ${item.closest('[id]')?.id}`;
  return [...wide.map(item => `cut at the margin: ${name(item)}`),
          ...lost.map(image => `no picture: ${image.src}`)];
}"""


def printed_pages(layout: Layout) -> list[str]:
    """Return the names of the pages that are printed, in the order of the table of contents.

    Of what stands below a page these are the supplements of lessons.
    """
    toc = yaml.safe_load((layout.root / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    parts = [
        entry["file"]
        for chapter in chapters
        for entry in (chapter, *chapter.get("sections", ()))
        if entry is chapter or entry.get("file", "").startswith("book/chapters/")
    ]
    return [name for name in (toc["root"], *parts) if not name.startswith(LOOKED_UP)]


def _is_read(fold: Tag) -> bool:
    """Return whether paper shows what a fold holds: proofs, exercises, solutions; no other code."""
    summary = fold.select_one("summary")
    title = summary.get_text().strip() if summary else ""
    return "sd-dropdown" in fold.get("class", []) or title.startswith("Solution")


def _own(name: str, anchor: str = "") -> str:
    """Return the name of an anchor in the whole document; empty for the page itself."""
    return "--".join(part for part in (name.replace("/", "-"), anchor) if part)


def article(layout: Layout, name: str, printed: list[str]) -> Tag:
    """Return what a page says, its anchors and links those of the whole document."""
    path = layout.html / f"{name}.html"
    found = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select_one("article")
    if found is None:
        raise BuildError(f"{path.name} has no article; run: make book")
    for item in found.select("[id]"):
        item["id"] = _own(name, str(item["id"]))
    for fold in found.select("details"):
        if _is_read(fold):
            fold["open"] = ""
    for item in found.select("[src], a[href]"):
        kind = "src" if item.has_attr("src") else "href"
        item[kind] = _address(layout, path, str(item[kind]), printed)
    found["id"] = _own(name)
    found.name = "div"
    return found


def _address(layout: Layout, page: Path, address: str, printed: list[str]) -> str:
    """Return an address of a page as the whole document knows it."""
    url = urlsplit(address)
    if url.scheme or url.netloc:
        return address
    target = (page.parent / url.path).resolve() if url.path else page
    inside = (
        target.relative_to(layout.html.resolve()) if url.path else page.relative_to(layout.html)
    )
    name = str(inside.with_suffix(""))
    if inside.suffix == ".html" and name in printed:
        return "#" + _own(name, url.fragment)
    return f"../html/{inside}" + (f"#{url.fragment}" if url.fragment else "")


def whole(layout: Layout) -> str:
    """Return all printed pages as one, in the frame of the first chapter's."""
    names = printed_pages(layout)
    frame = (layout.html / f"book/chapters/{layout.record('erm')}.html").read_text(encoding="utf-8")
    page = BeautifulSoup(frame.replace("../../_static/", "../html/_static/"), "html.parser")
    held = page.select_one("article")
    title, head = page.title, page.head
    cover = page.select_one("#jb-print-docs-body")
    if held is None or title is None or head is None or cover is None:
        raise BuildError("the first chapter's page is not whole; run: make book")
    held.clear()
    contents = page.new_tag("ul")
    for name in names:
        said = article(layout, name, names)
        entry = page.new_tag("li")
        entry.append(link := page.new_tag("a", href="#" + _own(name)))
        link.string = said.h1.get_text().rstrip("#¶") if said.h1 else name
        contents.append(entry)
        held.append(said)
    cover.clear()
    cover.append(heading := page.new_tag("h1"))
    heading.string = TITLE
    cover.append(contents)
    style = page.new_tag("style")
    style.string = STYLE
    head.append(style)
    title.string = TITLE
    return str(page)


def faults(page: Any) -> Iterator[str]:
    """Yield what would be cut off or lost on paper."""
    yield from page.evaluate(FAULTS)


def require_printer() -> None:
    """Refuse to print, before anything is built, where there is nothing to print with.

    Raises
    ------
    BuildError
        If no Chromium is installed.
    """
    if chromium() is None:
        raise BuildError("a PDF needs chromium: install it, or set CHROMIUM to its path")


def main(layout: Layout, say: Callable[[str], None]) -> int:
    """Print the built site into ``_build/pdf/dplit.pdf``; return an exit code."""
    require_printer()
    if not (layout.html / "index.html").exists():
        raise BuildError("there is no site yet; run: make book")
    folder = layout.build / "pdf"
    shutil.rmtree(folder, ignore_errors=True)
    write_text(folder / "dplit.html", whole(layout))
    say("  typesetting all chapters as one page")
    with browser() as opened:
        page = opened.new_page(viewport={"width": WIDTH, "height": 1000})
        page.set_default_timeout(600_000)
        page.emulate_media(media="print")
        page.goto((folder / "dplit.html").as_uri())
        page.evaluate(SET)
        told = list(faults(page))
        margin = {"top": "18mm", "bottom": "18mm", "left": "18mm", "right": "18mm"}
        page.pdf(
            path=str(folder / "dplit.pdf"),
            format="A4",
            margin=margin,
            scale=SCALE,
            outline=True,
            tagged=True,
            print_background=True,
        )
    for fault in told:
        say(f"  {fault}")
    say(f"  wrote {layout.name(folder / 'dplit.pdf')}")
    return 1 if told else 0
