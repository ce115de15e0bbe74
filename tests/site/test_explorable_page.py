"""An explorable figure of a built page: sliders on the screen, a picture on paper, no network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from scripts import site_check
from tests.build.conftest import Toy

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(site_check.chromium() is None, reason="chromium is not installed"),
]
CELL = """\
The bell.

```{code-cell} ipython3
import altair as alt
from dplit.notebook import explorable

scale = alt.param(
    name="scale", value=1.0, bind=alt.binding_range(min=0.5, max=4, step=0.5, name="noise scale")
)
bell = alt.Chart(alt.sequence(-4, 4, 0.1, as_="x")).mark_line()
bell = bell.transform_calculate(y="exp(-pow(datum.x / scale, 2) / 2)")
explorable(
    bell.encode(alt.X("x:Q"), alt.Y("y:Q")).add_params(scale),
    name="fig-bell",
    caption="A bell that the slider widens.",
    alt="A bell that grows wider and never higher as the slider moves to the right.",
)
```

See {numref}`fig-bell`. The end"""


@pytest.fixture(scope="module")
def page(built: Toy, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page of a toy chapter with an explorable figure, in a site of its own."""
    root = tmp_path_factory.mktemp("explorable") / "repository"
    shutil.copytree(built.root, root, symlinks=True)
    toy = Toy(root)
    toy.rewrite("The end", CELL)
    assert toy.book() == ["alpha"]
    return toy.path("_build/html/book/chapters/alpha.html")


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with site_check.browser() as started:
        yield started


LINE = "#fig-bell-live svg .mark-line path"


def test_a_slider_moves_the_curve_by_keyboard_and_asks_no_network(opened: Any, page: Any) -> None:
    tab = opened.new_page(viewport={"width": 1280, "height": 900})
    told = site_check.listen(tab)
    tab.goto(page.as_uri())
    slider = tab.get_by_label("noise scale")
    slider.wait_for(timeout=60_000)
    before = tab.locator(LINE).get_attribute("d")
    slider.focus()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function(
        "([selector, old]) => document.querySelector(selector).getAttribute('d') !== old",
        arg=[LINE, before],
    )
    assert slider.input_value() == "1.5"
    assert not tab.locator("#fig-bell img").is_visible()
    chart = tab.locator("#fig-bell-live [role=graphics-document]")
    assert chart.get_attribute("aria-label").startswith("A bell that grows wider")
    assert tab.locator("#fig-bell figcaption").inner_text().startswith("Fig. 1")
    assert told == []
    tab.close()


def test_paper_shows_the_picture(opened: Any, page: Any) -> None:
    tab = opened.new_page()
    tab.goto(page.as_uri())
    tab.locator(LINE).wait_for(timeout=60_000)
    tab.emulate_media(media="print")
    assert tab.locator("#fig-bell img").is_visible()
    assert not tab.locator("#fig-bell-live").is_visible()
    tab.close()


def test_without_scripts_the_picture_stands_alone(opened: Any, page: Any) -> None:
    tab = opened.new_context(java_script_enabled=False).new_page()
    tab.goto(page.as_uri())
    assert tab.locator("#fig-bell img").is_visible()
    assert tab.locator("#fig-bell-live").count() == 0
    tab.context.close()


@pytest.mark.parametrize("width", site_check.WIDTHS)
def test_the_page_is_whole_in_light_and_dark(opened: Any, page: Any, width: int) -> None:
    tab = opened.new_page(viewport={"width": width, "height": 900})
    tab.goto(page.as_uri())
    tab.locator(LINE).wait_for(timeout=60_000)
    assert tab.locator("#fig-bell-live svg").bounding_box()["width"] <= width
    tab.close()
    assert site_check.look(opened, page.as_uri(), width) == []


def test_pages_without_such_a_figure_do_not_load_the_library(opened: Any, page: Any) -> None:
    assert (page.parents[2] / "_static" / "vega.js").stat().st_size > 500_000
    tab = opened.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.with_name("beta.html").as_uri())
    assert asked
    assert not any("vega" in url for url in asked)
    tab.close()
