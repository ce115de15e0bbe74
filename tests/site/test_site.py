"""Every page of the built site in a real browser, and every link between them."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dplit.notebook.claims import load_registry
from scripts import site_check
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[2])
SITE = LAYOUT.html
PAGES = [str(path.relative_to(SITE)) for path in site_check.pages(SITE)]
#: Pages of modules, all made alike: the largest are looked at, links are followed in all.
MODULES = sorted((SITE / "book" / "reference").glob("*.html"), key=lambda p: p.stat().st_size)
LARGEST = {str(path.relative_to(SITE)) for path in MODULES[-6:]}
#: The same of the pages that show a module's source.
SOURCES = sorted((SITE / "_modules").rglob("*.html"), key=lambda p: p.stat().st_size)
KINDS = LARGEST | {str(path.relative_to(SITE)) for path in SOURCES[-3:]}
LOOKED_AT = [p for p in PAGES if p in KINDS or not p.startswith(("book/reference/", "_modules/"))]
pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not PAGES, reason="the book is not built; run: make book"),
]
needs_browser = pytest.mark.skipif(
    site_check.chromium() is None, reason="chromium is not installed"
)


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with site_check.browser() as started:
        yield started


def template(page: str) -> str:
    """Return what a page is made from: pages of one template have most of their faults in common.

    Hand-written pages and the indices are each of a kind.
    """
    folder, _, name = page.rpartition("/")
    if folder in ("", "book"):
        return page
    taught = folder == "book/chapters" and Path(name).stem in LAYOUT.lessons()
    return "a lesson" if taught else folder.partition("/dplit")[0]


#: The largest page of each template is looked at in each run, all are once a week.
LARGE = {
    template(page): page for page in sorted(LOOKED_AT, key=lambda p: (SITE / p).stat().st_size)
}


def weekly(page: str) -> Any:
    """Return the marks of what is asked of a page."""
    return () if page in LARGE.values() else pytest.mark.weekly


LOOKS = [
    pytest.param(page, width, marks=weekly(page))
    for page in LOOKED_AT
    for width in site_check.WIDTHS
]


@needs_browser
@pytest.mark.parametrize(("page", "width"), LOOKS)
def test_page_is_whole_in_light_and_dark(opened: Any, page: str, width: int) -> None:
    assert site_check.look(opened, (SITE / page).as_uri(), width) == []


@needs_browser
@pytest.mark.weekly
def test_no_figure_cuts_its_labels(opened: Any) -> None:
    figures = sorted((SITE / "_images").glob("*.svg"))
    assert figures
    cut = {figure.name: site_check.cut_labels(opened, figure) for figure in figures}
    assert {name: labels for name, labels in cut.items() if labels} == {}


CHAPTER_PAGES = [page for page in PAGES if page.startswith("book/chapters/")]
CHAPTERS = [Path(page).stem for page in CHAPTER_PAGES]
OFTEN = [pytest.param(Path(page).stem, marks=weekly(page)) for page in CHAPTER_PAGES]


@needs_browser
@pytest.mark.parametrize("slug", OFTEN)
def test_figures_are_legible_on_a_phone_and_move_in_their_own_boxes(opened: Any, slug: str) -> None:
    """Kills a figure that is shrunk to the screen: its smallest type, 8 points, has 9 pixels."""
    page = opened.new_page(viewport={"width": 360, "height": 800})
    page.goto((SITE / "book" / "chapters" / f"{slug}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    shown = page.evaluate("""() => [...document.querySelectorAll(".dplit-wide")].map((box) => {
      const image = box.querySelector("img"), wide = image.getBoundingClientRect().width;
      const moved = getComputedStyle(box).overflowX === "auto" || wide <= box.clientWidth + 1;
      return [image.src.split("/").pop(), 8 * 4 / 3 * wide / image.getAttribute("width"), moved];
    })""")
    page.close()
    assert [name for name, type_, moved in shown if type_ < 9.0 or not moved] == []
    assert shown or slug in {"audits", "basics", "audits_supplement"}


#: Places far below the tops of long pages.
ANCHORS = [
    "erm_supplement.html#erm-beyond-gp",
    pytest.param("sketching_supplement.html#sketch-lem15", marks=pytest.mark.weekly),
    pytest.param("random_features_supplement.html#dprf-lem9", marks=pytest.mark.weekly),
    pytest.param("projection_supplement.html#proj-cor1", marks=pytest.mark.weekly),
]
TOPS = [pytest.param(f"{Path(p).stem}.html", marks=weekly(p)) for p in CHAPTER_PAGES]


@needs_browser
@pytest.mark.parametrize("place", [*TOPS, *ANCHORS])
def test_little_moves_while_formulas_are_set(opened: Any, place: str) -> None:
    """Kills a page whose formulas push each other about: a tenth is what readers do not notice.

    At an anchor the browser has jumped while the page still loads, and counts some of that too.
    """
    chapters = (SITE / "book" / "chapters").as_uri()
    assert site_check.shift(opened, f"{chapters}/{place}") <= (0.2 if "#" in place else 0.1)


LINKED = [*(p for p in PAGES if p in KINDS or not p.startswith("_modules/")), "index.html"]
SHOWN = [pytest.param(p, marks=pytest.mark.weekly) for p in PAGES if p not in LINKED]


@pytest.mark.parametrize("page", [*LINKED, *SHOWN])
def test_links_and_anchors_resolve(page: str) -> None:
    assert site_check.broken_links(SITE / page, SITE) == []


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The site over a local server: search reads its summaries by fetch, which file:// forbids."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

        def do_GET(self) -> None:
            if self.path == "/favicon.ico":  # browsers ask for it over http; pages do not
                self.send_response(204)
                self.end_headers()
            else:
                super().do_GET()

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@needs_browser
def test_search_finds_pages_with_summaries(opened: Any, served: str) -> None:
    page = opened.new_page()
    told = site_check.listen(page)
    page.goto(f"{served}/search.html?q=privacy")
    page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
    page.wait_for_selector("#search-results ul.search li p.context", timeout=20_000)
    found = page.locator("#search-results ul.search li").count()
    page.close()
    assert told == []
    assert found >= 2


@needs_browser
@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("dprf-lem9", "random_features_supplement.html#dprf-lem9"),
        ("Lemma 15", "sketching_supplement.html#sketch-lem15"),
        ("erm-beyond-gp", "erm_supplement.html#erm-beyond-gp"),
    ],
)
def test_search_leads_to_the_claim_and_shows_text(
    opened: Any, served: str, words: str, place: str
) -> None:
    """Kills an entry that is not the main one, and previews with code, TeX or words of folds."""
    page = opened.new_page()
    told = site_check.listen(page)
    page.goto(f"{served}/search.html?q={words.replace(' ', '+')}")
    hits = page.locator("#search-results ul.search li")
    page.wait_for_function("Search.status?.innerText.includes('finished')", timeout=60_000)
    page.wait_for_function(
        "[...Search.output.children].every((hit) => hit.children.length > 1)", timeout=60_000
    )
    first = hits.first.locator("a").first
    aims = [hits.nth(i).locator("a").first.get_attribute("href") for i in range(2)]
    named, shown = first.inner_text(), " ".join(hits.all_inner_texts())
    page.close()
    assert told == []
    assert any(str(aim).endswith(f"chapters/{place}") for aim in aims)
    assert " > " in named
    for raw in ("\\(", "\\[", "\\frac", "import numpy", "Toggle hidden", "Show the code"):
        assert raw not in shown


@needs_browser
def test_old_addresses_of_claims_lead_to_the_supplement(opened: Any) -> None:
    """Kills an address that was true before a lesson came, from disk, with its anchor lost."""
    page = opened.new_page()
    first = {claim["slug"]: identifier for identifier, claim in load_registry().items()}
    papers = [slug for slug in first if LAYOUT.record(slug) != slug]
    assert papers
    for slug in papers:
        identifier, record = first[slug], LAYOUT.record(slug)
        page.goto("about:blank")
        folder = (SITE / "book" / "chapters").as_uri()
        page.goto(f"{folder}/{slug}.html#{identifier.lower()}", wait_until="commit")
        target = f"{folder}/{record}.html#{identifier.lower()}"
        page.wait_for_url(target, timeout=20_000, wait_until="commit")
        there = (SITE / "book" / "chapters" / f"{record}.html").read_text(encoding="utf-8")
        assert f'id="{identifier.lower()}"' in there
    page.close()


@needs_browser
@pytest.mark.parametrize(("anchor", "page"), [("gone", "toy_supplement"), ("kept", "toy")])
def test_a_lesson_leads_on_for_the_anchors_that_it_lacks(
    opened: Any, tmp_path: Path, anchor: str, page: str
) -> None:
    """Kills a script that loses the anchor, and one that leaves the lesson for its own."""
    folder = tmp_path / "chapters"
    folder.mkdir()
    script = (LAYOUT.book / "_assets" / "moved.js").as_uri()
    link = '<a href="toy_supplement.html">supplement</a>'
    lesson = f'<script src="{script}"></script><p id="kept">{link}</p>'
    (folder / "toy.html").write_text(f"<!DOCTYPE html>{lesson}")
    (folder / "toy_supplement.html").write_text(f'{lesson}<p id="gone">there</p>')
    shown = opened.new_page()
    shown.goto(f"{folder.as_uri()}/toy.html#{anchor}")
    shown.wait_for_timeout(500)
    assert shown.url == f"{folder.as_uri()}/{page}.html#{anchor}"
    shown.close()


@needs_browser
def test_contents_mark_the_section_that_is_read(opened: Any) -> None:
    """Kills a mark that only a heading which passes by would set, or that stays behind."""
    page = opened.new_page(viewport={"width": 1280, "height": 900})
    marked = "[...document.querySelectorAll('#pst-page-toc-nav a.active')].map((a) => a.hash)"
    heads = "[...document.querySelectorAll('#pst-page-toc-nav a')].map((a) => a.hash.slice(1))"
    within = "(id) => document.getElementById(id).closest('section').id"
    for slug, claim in (("random_features", "dprf-lem9"), ("projection", "proj-cor1")):
        page.goto("about:blank")
        chapter = SITE / "book" / "chapters" / f"{LAYOUT.record(slug)}.html"
        page.goto(f"{chapter.as_uri()}#{claim}")
        section = page.evaluate(within, claim)
        page.wait_for_function(f"String({marked}) === '#{section}'", timeout=20_000)
        for name in page.evaluate(heads)[:3]:
            page.evaluate("(id) => document.getElementById(id).scrollIntoView()", name)
            page.wait_for_function(f"String({marked}) === '#{name}'", timeout=20_000)
        page.evaluate("window.scrollTo(0, 0)")
        page.wait_for_function(f"{marked}.length === 0", timeout=20_000)
    page.close()


@needs_browser
def test_index_of_claims_filters(opened: Any) -> None:
    page = opened.new_page()
    page.goto((SITE / "book" / "claims.html").as_uri())
    rows = page.locator("tr.dplit-row")
    total = rows.count()
    kinds = page.locator("select[data-filter=kind] option").count()
    page.select_option("select[data-filter=kind]", index=kinds - 1)
    shown = sum(rows.nth(i).is_visible() for i in range(total))
    said = page.locator("[data-count]").inner_text()
    page.close()
    assert 0 < shown < total or kinds == 2
    assert said == f"{shown} of {total} claims"


def test_every_chapter_offers_its_clean_notebook() -> None:
    from bs4 import BeautifulSoup

    for chapter in (SITE / "book" / "chapters" / f"{name}.html" for name in CHAPTERS):
        soup = BeautifulSoup(chapter.read_bytes(), "html.parser")
        offered = soup.select(".dplit-download a[download]")
        assert len(offered) == 1, chapter.name
        target = (chapter.parent / str(offered[0]["href"])).resolve()
        source = SITE.parents[1] / "notebooks" / f"{chapter.stem}.ipynb"
        assert target.read_bytes() == source.read_bytes()
