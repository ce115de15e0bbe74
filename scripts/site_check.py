"""Look at the built site as a reader does: in a browser, at two widths, light and dark."""

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
WIDTHS = (1280, 390)
LOCAL = ("file:", "data:", "blob:", "http://127.0.0.1")
#: Lowest contrast of text against its background that still counts as legible (WCAG, large text).
CONTRAST = 3.0

LOOK = r"""
async (minimum) => {
  const told = [];
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "")
    + (typeof e.className === "string" && e.className ? "." + e.className.trim().split(/\s+/)[0] : "");
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  await document.fonts.ready;
  const images = [...document.images];
  for (const image of images) {
    image.loading = "eager";
    try { await image.decode(); } catch (e) { /* seen below */ }
    const file = decodeURIComponent(image.src.split("/").pop());
    if (!image.complete || image.naturalWidth === 0) told.push(`image not decoded: ${file}`);
    const alt = (image.getAttribute("alt") || "").trim();
    if (!alt || /[\\/]|\.(svg|png|jpe?g)$/.test(alt)) told.push(`image without alt text: ${file}`);
  }
  const formulas = [...document.querySelectorAll(".math")];
  const raw = formulas.filter((f) => !f.querySelector("mjx-container"));
  for (const f of raw) told.push(`maths not rendered: ${short(f.textContent)}`);
  for (const f of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    told.push(`maths error: ${short(f.textContent)}`);
  const items = window.MathJax && MathJax.startup.document ? [...MathJax.startup.document.math] : [];
  for (const item of items) item.root.walkTree((node) => {
    const red = node.isKind("mtext") && node.attributes.get("mathcolor") === "red";
    if (red || node.isKind("merror")) told.push(`maths error: ${short(item.math)}`);
  });
  for (const e of document.querySelectorAll(".traceback, .output.stderr, .system-message, .problematic"))
    told.push(`error shown: ${short(e.textContent)}`);
  const skip = "code, pre, script, style, noscript, textarea, mjx-container, .math, .headerlink";
  const tex = /\$[^$\s][^$\n]*\$|\\[a-zA-Z]{2,}|\\[()[\]]|\{(ref|numref|eq|cite|glue|math|prf|doc|download)[:}]|Traceback \(most/;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !parent || parent.closest(skip)) continue;
    words.push([walker.currentNode, parent]);
    if (tex.test(walker.currentNode.data)) told.push(`raw markup: ${short(walker.currentNode.data)}`);
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) {
    const wide = [...document.body.querySelectorAll("*")]
      .filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1)
      .filter((e) => ![...e.children].some((c) => c.getBoundingClientRect().right > root.clientWidth + 1));
    told.push(`wider than the screen: ${root.scrollWidth} px, ${wide.slice(0, 2).map(name).join(", ")}`);
  }
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const memory = new Map();
  const parse = (colour) => {
    if (!memory.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      memory.set(colour, [r, g, b, a / 255]);
    }
    return memory.get(colour);
  };
  const light = ([r, g, b]) => {
    const part = [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const over = (top, base) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * base[i]).concat(1);
  const backgroundOf = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    const paper = document.documentElement.dataset.theme === "dark" ? [20, 24, 30, 1] : [255, 255, 255, 1];
    return layers.reverse().reduce((base, top) => over(top, base), paper);
  };
  for (const theme of ["light", "dark"]) {
    root.dataset.theme = theme;
    root.dataset.mode = theme;
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { transition: none !important; animation: none !important; }";
    document.head.append(style);
    const seen = new Set();
    for (const [node, parent] of words) {
      if (seen.has(parent) || !parent.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      seen.add(parent);
      const behind = backgroundOf(parent);
      const front = over(parse(getComputedStyle(parent).color), behind);
      const [low, high] = [light(front), light(behind)].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      if (ratio < minimum) told.push(`illegible (${theme}): ${short(node.data)} (${name(parent)}, ${ratio.toFixed(1)}:1)`);
    }
    for (const image of document.querySelectorAll("main img, article img")) {
      const inverted = getComputedStyle(image).filter.includes("invert");
      if (light(backgroundOf(image)) < 0.4 && !inverted && /\.svg/.test(image.src))
        told.push(`dark lines on a dark ground (${theme}): ${image.alt.slice(0, 60)}`);
    }
  }
  return [...new Set(told)];
}
"""


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
        page.goto(url, wait_until="load")
        told += page.evaluate(LOOK, CONTRAST)
        return told
    finally:
        page.close()


def pages(site: Path) -> list[Path]:
    """Return the pages: neither the one that only sends on to the first, nor theme templates."""
    found = (p for p in site.rglob("*.html") if p != site / "index.html")
    return sorted(p for p in found if p.relative_to(site).parts[0] != "_static")


@lru_cache(maxsize=4096)
def _parsed(path: Path, stamp: int) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(path.read_bytes(), "lxml" if _has_lxml() else "html.parser")
    anchors = {str(tag["id"]) for tag in soup.find_all(id=True)}
    anchors |= {str(tag["name"]) for tag in soup.find_all("a", attrs={"name": True})}
    links = []
    for tag in soup.find_all(["a", "link", "img", "script", "source", "iframe", "form"]):
        for key in ("href", "src"):
            if tag.get(key):
                links.append((tag.name, str(tag[key])))
    return frozenset(anchors), tuple(dict.fromkeys(links))


@lru_cache(maxsize=1)
def _has_lxml() -> bool:
    from importlib.util import find_spec

    return find_spec("lxml") is not None


def _page(path: Path) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    return _parsed(path, path.stat().st_mtime_ns)


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
        elif parts.fragment and target.suffix == ".html":
            if unquote(parts.fragment) not in _page(target)[0]:
                told.append(f"dead anchor: {address}")
    return told
