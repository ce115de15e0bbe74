"""Figures of several panels are shown in one column on a phone, from the same drawing."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from dplit.notebook import figures
from scripts.columns import Column, UncutError, in_column
from scripts.ink import Drawing
from scripts.pictures import size_pictures, write_columns

USE = re.compile(r'<use xlink:href="#([\w.]+)" x="([-\d.]+)"/>')
PIECE = re.compile(r'<svg x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" .*')


def drawn(columns: int = 2, rows: int = 1, **options: Any) -> tuple[Figure, list[Any]]:
    """Return a figure as the chapters draw them, with lines and labels."""
    figures.style()
    fig, panels = figures.panels(columns, rows, width=8.0, height=2.5, **options)
    for k, axes in enumerate(panels):
        axes.plot([0.0, 1.0, 2.0], np.array([-900.0, 10.0, 2000.0]) * (k + 1), label="map")
        axes.plot([0.0, 2.0], [5.0, 700.0], "--o", label="a bound")
        axes.set_title(f"panel {k}")
        axes.set_xlabel("people")
    panels[0].set_ylabel("loss of people")
    return fig, panels


def svg(fig: Figure) -> str:
    buffer = io.StringIO()
    fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def pieces(column: Column) -> list[tuple[list[float], dict[str, float]]]:
    """Return the places of a column's pieces, and what they show."""
    shown = column.svg.rpartition("</defs>")[2]
    return [
        ([float(x) for x in found.groups()], {n: float(x) for n, x in USE.findall(found[0])})
        for found in PIECE.finditer(shown)
    ]


def test_what_a_panel_covers_is_what_matplotlib_says() -> None:
    """Kills a turned label read as a level one, glyphs and marks left out or not placed, and a
    curve that counts beyond its frame.

    Matplotlib's own measure of text is the other route: its layout leaves three points on all
    sides. It takes the height of "lp" for that of any text, which the outer labels have.
    """
    fig, panels = drawn(2)
    panels[1].set_xlim(0.5, 1.5)  # curves are cut at the frame
    panels[1].set_ylim(0, 40)
    drawing = Drawing(svg(fig))
    box, _ = drawing.piece([drawing.ids["axes_1"], drawing.ids["axes_2"]]) or ((), [])
    assert box == pytest.approx((3.0, 3.0, 8.0 * 72 - 3.0, 2.5 * 72 - 3.0), abs=0.5)


@pytest.mark.parametrize(("columns", "rows"), [(2, 1), (3, 1), (3, 2)])
def test_every_panel_is_shown_once_below_the_last(columns: int, rows: int) -> None:
    """Kills a panel lost or shown twice, pieces that overlap or leave the picture, and an order
    from right to left."""
    column = in_column(svg(drawn(columns, rows)[0]))
    strips = pieces(column)
    shown = [name for _, uses in strips for name in uses if name.startswith("axes_")]
    assert shown == [f"axes_{1 + c + columns * r}" for c in range(columns) for r in range(rows)]
    ends = [y + tall for (_, y, _, tall), _ in strips]
    assert all(end <= place[1] for end, (place, _) in zip(ends, strips[1:], strict=False))
    assert ends[-1] <= column.tall * 3 / 4
    assert all(x >= 0 and x + wide <= column.wide * 3 / 4 for (x, _, wide, _), _ in strips)
    assert column.wide < 800 / columns + 90
    # the smallest type, that of marks on the axes, has 10.5 of its 14 pixels where the column does
    assert column.least / column.wide == pytest.approx(9 / 14, rel=0.2)


def test_a_panel_that_shares_a_scale_has_its_numbers() -> None:
    """Kills a second panel whose curves stand beside no number, and numbers beside another's."""
    fig, panels = drawn(3, sharey=True)
    text = svg(fig)
    drawing = Drawing(text)
    first, second, third = (uses for _, uses in pieces(in_column(text)))
    own = drawing.texts(drawing.ids["matplotlib.axis_2"])
    assert len(own) >= 4  # numbers and the label
    assert list(first) == ["axes_1"]
    frames = [axes.get_position().x0 * fig.get_figwidth() * 72 for axes in panels]
    for uses, at in ((second, frames[1]), (third, frames[2])):
        moved = {name: by for name, by in uses.items() if name.startswith("text_")}
        assert set(moved) == {e.get("id") for e in own}
        assert list(moved.values()) == pytest.approx([at - frames[0]] * len(own), abs=0.02)


def test_a_panel_without_numbers_of_its_own_will_is_left_without() -> None:
    fig, panels = drawn(2)
    panels[1].set_yticks([])
    assert list(pieces(in_column(svg(fig)))[1][1]) == ["axes_2"]


def test_a_legend_of_all_panels_comes_first_and_its_entries_stay_whole() -> None:
    """Kills a mark that another line's text stands beside, and a legend as wide as the figure."""
    fig, panels = drawn(2)
    fig.legend(handles=panels[0].get_lines(), loc="outside lower center", ncols=2)
    column = in_column(svg(fig))
    first, second, *strips = pieces(column)
    for _, uses in (first, second):
        kinds = [name.partition("_")[0] for name in uses]
        assert kinds[-1] == "text"
        assert set(kinds[:-1]) == {"line2d"}
    assert first[0][1] == second[0][1]
    assert first[0][3] == second[0][3]  # though one has a letter below the line
    assert first[0][1] + first[0][3] < strips[0][0][1]
    assert [list(uses) for _, uses in strips] == [["axes_1"], ["axes_2"]]
    assert column.wide < 500


def test_a_colour_bar_stays_with_its_panel() -> None:
    fig, panels = drawn(2)
    image = panels[0].imshow(np.eye(3), aspect="auto")
    fig.colorbar(image, ax=panels[0])
    assert [list(uses) for _, uses in pieces(in_column(svg(fig)))] == [
        ["axes_1", "axes_3"],
        ["axes_2"],
    ]


def test_a_label_of_all_panels_stands_beside_each() -> None:
    fig, _ = drawn(2)
    fig.supylabel("for all")
    drawing = Drawing(svg(fig))
    label = next(e for e in drawing.ids["figure_1"] if str(e.get("id"))[:5] == "text_")
    told = drawing.ink(label)
    assert told is not None
    for k, (_, uses) in enumerate(pieces(in_column(svg(fig))), start=1):
        assert list(uses) == [f"axes_{k}", label.get("id")]
        panel = drawing.ink(drawing.ids[f"axes_{k}"])
        assert panel is not None
        assert panel[0] - 12 < told[2] + list(uses.values())[-1] < panel[0] - 3


def test_a_figure_that_cannot_be_told_apart_stays_as_it_is() -> None:
    """Kills a picture that lacks what stands between panels, and a column that gains nothing."""
    fig, _ = drawn(2)
    fig.add_artist(mpl.lines.Line2D([0.3, 0.7], [0.5, 0.5]))
    with pytest.raises(UncutError, match="between"):
        in_column(svg(fig))
    with pytest.raises(UncutError, match="one column"):
        in_column(svg(drawn(1)[0]))
    fig, panels = drawn(2)
    panels[0].text(3.0, 0.0, "a long remark that goes on and on beyond the panel " * 2)
    fig.set_layout_engine("none")
    with pytest.raises(UncutError, match="nearly as wide"):
        in_column(svg(fig))
    fig, _ = drawn(2)
    fig.set_size_inches(4.9, 2.5)
    with pytest.raises(UncutError, match="narrow"):
        in_column(svg(fig))
    with pytest.raises(UncutError, match="matplotlib"):
        in_column('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 9"/>')


def test_the_same_figure_gives_the_same_column() -> None:
    assert in_column(svg(drawn(2)[0])) == in_column(svg(drawn(2)[0]))


def test_a_picture_has_its_place_before_it_comes() -> None:
    """Kills points for pixels, a side for the other, and the size of a picture that has one."""
    page = '<img alt="a" src="../_images/a.svg" /><img alt="b" src="../_images/b.svg" />'
    head = '<svg xmlns:x="y" width="475.2pt" height="216pt" viewBox="0 0 475.2 216">'
    told = size_pictures(page, {"a": head})
    box = '<span class="dplit-wide" style="--wide:634px"><img width="634" height="288" alt="a"'
    assert told == page.replace('<img alt="a"', box).replace('a.svg" />', 'a.svg" /></span>')
    assert size_pictures(told, {"a": head}) == told


def test_a_phone_has_another_picture_and_the_same_words(tmp_path: Path) -> None:
    """Kills a column that is written elsewhere than the page looks, and one on a wide screen."""
    head = '<svg width="600pt" height="150pt" viewBox="0 0 600 150">'
    columns = {"a": Column("<svg/>", 301.2, 420.0, 222.7), "b": None}
    page = '<img alt="words" src="../_images/a.svg" />'
    told = size_pictures(page, {"a": head}, columns)
    assert 'style="--wide:800px;--column:301px;--least:223px"' in told
    source = '<source media="(max-width: 480px)" srcset="../_images/a.column.svg" width="301" '
    assert f'{source}height="420" /><img width="800" height="200" alt="words"' in told
    assert told.count("<img") == 1
    write_columns(tmp_path, columns)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.column.svg": "<svg/>"
    }
