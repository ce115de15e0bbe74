"""Look at the built site as a reader does: in a browser, at two widths, light and dark.

axe-core was weighed: roles and names are its subject, and it is run by hand before a release; cut
labels, raw TeX, dead anchors, requests to elsewhere and what moves are not. pytest-playwright gives
a page to each test; here one browser, the system's, serves all, and `make pdf` as well.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
WIDTHS = (1280, 360)
LOCAL = ("file:", "data:", "blob:", "http://127.0.0.1")
#: Lowest contrast of text against its background that still counts as legible (WCAG 2, level AA);
#: large is what has 24 pixels, or 18.66 and is bold.
CONTRAST = {"text": 4.5, "large": 3.0}

LOOK = Path(__file__).with_name("site_look.js").read_text(encoding="utf-8")


def chromium() -> str | None:
    """Return the browser: ``$CHROMIUM``, or Debian's chromium, or None where there is none."""
    given = os.environ.get("CHROMIUM")
    return given or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def browser() -> Iterator[Any]:
    """Start one browser for many pages; host names do not resolve in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield started
        finally:
            started.close()


def listen(page: Any) -> list[str]:
    """Return a list that fills with the page's console messages, errors and foreign requests."""
    told: list[str] = []

    def on_console(message: Any) -> None:
        if message.type in ("error", "warning"):
            told.append(f"console {message.type}: {message.text[:200]}")

    def on_request(request: Any) -> None:
        if not request.url.startswith(LOCAL):
            told.append(f"external request: {request.url[:200]}")

    def on_failure(request: Any) -> None:
        told.append(f"request failed: {request.url[:200]}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: told.append(f"script error: {str(error)[:200]}"))
    page.on("request", on_request)
    page.on("requestfailed", on_failure)
    return told


def look(opened: Any, url: str, width: int) -> list[str]:
    """Return what is wrong with one page at one width, in both themes.

    Parameters
    ----------
    opened : playwright Browser
        The browser of `browser`.
    url : str
        Address of the page, usually ``file://``.
    width : int
        Width of the window in CSS pixels.

    Returns
    -------
    list of str
        One sentence per fault; empty for a page without one.
    """
    page = opened.new_page(viewport={"width": width, "height": 900})
    try:
        told = listen(page)
        page.goto(url, wait_until="load", timeout=180_000)  # a busy machine is no fault of a page
        told += page.evaluate(LOOK, CONTRAST)
        return told
    finally:
        page.close()


SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map((e) => e.value)))
    .observe({ type: "layout-shift", buffered: true });
}"""
SETTLED = """async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  await document.fonts.ready;
  const near = () => [...document.querySelectorAll("mjx-lazy")].some((mark) => {
    const at = mark.getBoundingClientRect();
    return mark.checkVisibility() && at.bottom > 0 && at.top < innerHeight;
  });
  const pause = (time) => new Promise((end) => setTimeout(end, time));
  for (let k = 0; k < 200 && near(); k++) await pause(50);
  await pause(300);
  return window.shifts.reduce((a, b) => a + b, 0);
}"""


def shift(opened: Any, url: str) -> float:
    """Return how much moves on a page, at the place that its address names, until it is set.

    It is the sum of the browser's layout shifts: the share of the window that moves, times how far.
    """
    page = opened.new_page(viewport={"width": 1280, "height": 900})
    try:
        page.add_init_script(f"({SHIFTS})()")
        page.goto(url, wait_until="load", timeout=180_000)
        moved: float = page.evaluate(SETTLED)
        return moved
    finally:
        page.close()


CUT = """() => {
  const frame = document.documentElement.getBoundingClientRect();
  const out = (box) => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  return [...document.querySelectorAll("g[id^=text]")]
    .filter((text) => out(text.getBoundingClientRect()))
    .map((text) => [...text.childNodes].find((x) => x.nodeType === 8)?.data.trim() ?? text.id);
}"""


def cut_labels(opened: Any, figure: Path) -> list[str]:
    """Return the labels of a figure (SVG, by Matplotlib) that its frame cuts off.

    Parameters
    ----------
    opened : playwright Browser
        The browser of `browser`.
    figure : Path
        The figure's file.
    """
    page = opened.new_page()
    try:
        page.goto(figure.as_uri(), timeout=180_000)
        found: list[str] = page.evaluate(CUT)
        return found
    finally:
        page.close()


def pages(site: Path) -> list[Path]:
    """Return the pages: neither those that only send on to another, nor theme templates."""
    found = (p for p in site.rglob("*.html") if p.relative_to(site).parts[0] != "_static")
    own = (p for p in found if p != site / "index.html")
    return sorted(p for p in own if b"data-moved" not in p.read_bytes()[:80])


@lru_cache(maxsize=4096)
def _parsed(path: Path, stamp: int) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(path.read_bytes(), "html.parser")
    anchors = {str(tag["id"]) for tag in soup.find_all(id=True)}
    anchors |= {str(tag["name"]) for tag in soup.find_all("a", attrs={"name": True})}
    links = []
    for tag in soup.find_all(["a", "link", "img", "script", "source", "iframe", "form"]):
        for key in ("href", "src", "srcset"):
            if tag.get(key):
                links.append((tag.name, str(tag[key])))
    return frozenset(anchors), tuple(dict.fromkeys(links))


def _page(path: Path) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    return _parsed(path, path.stat().st_mtime_ns)


def _has_anchor(page: Path, name: str) -> bool:
    return not name or name in _page(page)[0]


def broken_links(page: Path, site: Path) -> list[str]:
    """Return the links of one page that lead nowhere: files, anchors, foreign scripts and pictures.

    Parameters
    ----------
    page : Path
        A page of the site.
    site : Path
        The site's folder; a link must not leave it.
    """
    told = []
    for tag, address in _page(page)[1]:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") or address.startswith("//"):
            if tag not in ("a", "form") and not re.match(r"https?://schema\.org", address):
                told.append(f"foreign {tag}: {address}")
            continue
        if parts.scheme:
            continue
        # not resolve(): a link is followed by its text, whatever the file system links to
        place = page.parent / unquote(parts.path) if parts.path else page
        target = Path(os.path.normpath(place.absolute()))
        if target.is_dir():
            target = target / "index.html"
        if not target.exists():
            told.append(f"dead link: {address}")
        elif not target.is_relative_to(site.absolute()):
            told.append(f"link out of the site: {address}")
        elif target.suffix == ".html" and not _has_anchor(target, unquote(parts.fragment)):
            told.append(f"dead anchor: {address}")
    return told
