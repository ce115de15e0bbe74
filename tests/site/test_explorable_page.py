"""An explorable figure of a built page: sliders on the screen, a picture on paper, no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import site_check
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[2])
PAGE = LAYOUT.html / "book" / "chapters" / "basics.html"
pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not PAGE.exists(), reason="the book is not built; run: make book"),
    pytest.mark.skipif(site_check.chromium() is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with site_check.browser() as started:
        yield started


FIGURE = "#fig-basics-delta"
LINE = f"{FIGURE}-live svg .mark-line path"


def test_a_slider_moves_the_curve_by_keyboard_and_asks_no_network(opened: Any) -> None:
    tab = opened.new_page(viewport={"width": 1280, "height": 900})
    told = site_check.listen(tab)
    tab.goto(PAGE.as_uri())
    slider = tab.locator(f"{FIGURE}-live").get_by_label("σ / Δ")
    slider.wait_for(timeout=60_000)
    before, value = tab.locator(LINE).first.get_attribute("d"), float(slider.input_value())
    slider.focus()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function(
        "([selector, old]) => document.querySelector(selector).getAttribute('d') !== old",
        arg=[LINE, before],
    )
    assert float(slider.input_value()) == pytest.approx(value + 0.1)
    assert not tab.locator(f"{FIGURE} img").is_visible()
    chart = tab.locator(f"{FIGURE}-live [role=graphics-document]")
    assert chart.get_attribute("aria-label") == tab.locator(f"{FIGURE} img").get_attribute("alt")
    assert tab.locator(f"{FIGURE} figcaption").inner_text().startswith("Fig. ")
    assert told == []
    tab.close()


def test_paper_shows_the_picture(opened: Any) -> None:
    tab = opened.new_page()
    tab.goto(PAGE.as_uri())
    tab.locator(LINE).first.wait_for(timeout=60_000)
    tab.emulate_media(media="print")
    assert tab.locator(f"{FIGURE} img").is_visible()
    assert not tab.locator(f"{FIGURE}-live").is_visible()
    tab.close()


def test_without_scripts_the_picture_stands_alone(opened: Any) -> None:
    tab = opened.new_context(java_script_enabled=False).new_page()
    tab.goto(PAGE.as_uri())
    assert tab.locator(f"{FIGURE} img").is_visible()
    assert tab.locator(f"{FIGURE}-live").count() == 0
    tab.context.close()


def test_it_is_no_wider_than_a_phone(opened: Any) -> None:
    tab = opened.new_page(viewport={"width": 360, "height": 900})
    tab.goto(PAGE.as_uri())
    tab.locator(LINE).first.wait_for(timeout=60_000)
    assert tab.locator(f"{FIGURE}-live svg").bounding_box()["width"] <= 360
    tab.close()


def test_pages_without_such_a_figure_do_not_load_the_library(opened: Any) -> None:
    assert (LAYOUT.html / "_static" / "vega.js").stat().st_size > 500_000
    tab = opened.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(PAGE.with_name("audits.html").as_uri())
    assert asked
    assert not any("vega" in url for url in asked)
    tab.close()
