"""Each fault that the site test is there for, planted in a copied page: the test must see it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import site_check

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
PAGES = [p for p in site_check.pages(SITE) if p.parent.name == "chapters"]
pytestmark = [
    pytest.mark.weekly,
    pytest.mark.site,
    pytest.mark.skipif(not PAGES, reason="the book is not built; run: make book"),
]
needs_browser = pytest.mark.skipif(
    site_check.chromium() is None, reason="chromium is not installed"
)

PIXEL = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='9' height='9'%3E%3C/svg%3E"
)
IN_BROWSER = {
    "raw formula": ("<p>costs $x^2$ here</p>", "raw markup"),
    "raw command": (r"<p>about \frac{1}{2}</p>", "raw markup"),
    "raw role": ("<p>see {numref}`fig-x`</p>", "raw markup"),
    "broken role": ("<p>see {ref}</p>", "raw markup"),
    "formula with a fault": (
        r'<div class="math notranslate nohighlight">\[\frac{1}{2\]</div>',
        "maths",
    ),
    "unknown command": (r'<span class="math notranslate nohighlight">\(\nosuch\)</span>', "maths"),
    "formula cut off": (
        '<p><span class="math notranslate nohighlight" style="overflow: hidden">'
        rf"\({'a+' * 40}a\)</span></p>",
        "maths cut off",
    ),
    "comma that can leave its formula": (
        '<div id="late"></div><script>addEventListener("load", () => late.innerHTML = '
        """'<p><span class="math"><mjx-container></mjx-container></span>, as</p>')</script>""",
        "punctuation can leave",
    ),
    "missing picture": ('<img src="missing.png" alt="a picture">', "image not decoded"),
    "picture without alt": (f'<img src="{PIXEL}">', "image without alt"),
    "picture with a path as alt": (f'<img src="{PIXEL}" alt="../figure.svg">', "image without alt"),
    "script from elsewhere": (
        '<script src="https://cdn.example/x.js"></script>',
        "external request",
    ),
    "script error": ("<script>undefinedFunction()</script>", "script error"),
    "console warning": ("<script>console.warn('careful')</script>", "console warning"),
    "wide block": ('<div style="width: 1900px">wide</div>', "wider than the screen"),
    "code that scrolls": (
        f'<pre style="white-space: pre; overflow-x: auto">{"x" * 400}</pre>',
        "cut off: pre",
    ),
    "caption cut off": (
        f'<figcaption style="overflow: hidden; white-space: nowrap">{"a b " * 200}</figcaption>',
        "cut off: figcaption",
    ),
    "table wider than the page": (
        f'<div style="overflow-x: auto"><table><tr><td>{"x" * 400}</td></tr></table></div>',
        "cut off: table",
    ),
    "statement cut off": (
        '<div style="overflow: hidden; width: 9rem"><div class="dplit-claim" '
        'style="width: 19rem; max-width: none">Theorem</div></div>',
        "cut off: div.dplit-claim",
    ),
    "fold without a name": ("<details><summary></summary>x</details>", "without a name: summary"),
    "folds named alike": (
        '<details><summary aria-label="Toggle hidden content">Figure</summary>x</details>',
        "without a name: summary",
    ),
    "traceback": ('<div class="output traceback">ValueError</div>', "error shown"),
    "stderr": ('<div class="output stderr">a warning</div>', "error shown"),
    "pale text": ('<p style="color: #eee; background: #fff">pale</p>', "illegible (light)"),
    "grey text": ('<p style="color: #888; background: #fff">3.5 to 1</p>', "illegible (light)"),
    "dark text on dark": ('<p style="color: #222">dark</p>', "illegible (dark)"),
}
#: Tables may scroll on a phone.
ON_A_DESK = ("table wider than the page",)
IN_LINKS = {
    "dead link": ('<a href="../nowhere.html">x</a>', "dead link"),
    "dead anchor": ('<a href="#nowhere">x</a>', "dead anchor"),
    "dead anchor elsewhere": ('<a href="../claims.html#row-nothing">x</a>', "dead anchor"),
    "link out of the site": ('<a href="../../../../Makefile">x</a>', "link out of the site"),
    "foreign style sheet": (
        '<link rel="stylesheet" href="https://cdn.example/x.css">',
        "foreign link",
    ),
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that shares all files with the built one, and a copy of one chapter's page in it."""
    site = tmp_path_factory.mktemp("outer") / "a" / "site"
    (site / "book").mkdir(parents=True)
    (site.parents[1] / "Makefile").write_text("")
    for path in SITE.iterdir():
        if path.name != "book":
            (site / path.name).symlink_to(path)
    for path in (SITE / "book").iterdir():
        if path.name != "chapters":
            (site / "book" / path.name).symlink_to(path)
    (site / "book" / "chapters").mkdir()
    shutil.copy(PAGES[0], site / "book" / "chapters" / "planted.html")
    return site


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with site_check.browser() as started:
        yield started


def _plant(site: Path, html: str) -> Path:
    """Put some HTML at the start of the copied page's article."""
    text = PAGES[0].read_text(encoding="utf-8")
    assert text.count('<article class="bd-article">') == 1
    page = site / "book" / "chapters" / "planted.html"
    marked = text.replace('<article class="bd-article">', f'<article class="bd-article">{html}')
    page.write_text(marked, encoding="utf-8")
    return page


@needs_browser
@pytest.mark.parametrize("name", IN_BROWSER)
def test_browser_sees_the_fault(opened: Any, copied: Path, name: str) -> None:
    html, message = IN_BROWSER[name]
    width = 1280 if name in ON_A_DESK else 360
    told = site_check.look(opened, _plant(copied, html).as_uri(), width)
    assert [line for line in told if line.startswith(message)], told


@needs_browser
def test_browser_sees_a_label_that_its_figure_cuts(opened: Any, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    axes = (drawn := Figure(figsize=(2, 1))).add_subplot()
    axes.set_ylabel("a label that is longer than its axis")
    drawn.savefig(tmp_path / "cut.svg")
    assert axes.get_ylabel() in site_check.cut_labels(opened, tmp_path / "cut.svg")
    drawn.savefig(tmp_path / "whole.svg", bbox_inches="tight")
    assert site_check.cut_labels(opened, tmp_path / "whole.svg") == []


@needs_browser
def test_browser_sees_nothing_in_the_page_without_fault(opened: Any, copied: Path) -> None:
    assert site_check.look(opened, _plant(copied, "").as_uri(), 360) == []


@pytest.mark.parametrize("name", IN_LINKS)
def test_links_see_the_fault(copied: Path, name: str) -> None:
    html, message = IN_LINKS[name]
    told = site_check.broken_links(_plant(copied, html), copied)
    assert [line for line in told if line.startswith(message)], told
