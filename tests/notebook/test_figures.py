"""The drawing helpers: what they put on the axes, read back from Matplotlib."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from dplit.notebook import figures


def test_no_two_looks_share_colour_dashes_or_marker() -> None:
    """Kills a table in which a repeated colour, dash or marker makes two methods one."""
    looks = list(figures.looks_of(**{f"m{k}": f"method {k}" for k in range(8)}).values())
    for name in ("label", "colour", "dashes", "marker"):
        assert len({getattr(look, name) for look in looks}) == 8
    with pytest.raises(ValueError, match="8 methods, got 9"):
        figures.looks_of(**{f"m{k}": "" for k in range(9)})


def test_panels_stand_row_after_row() -> None:
    fig, axes = figures.panels(3, 2, height=2.0)
    assert fig.get_size_inches().tolist() == [7.4, 4.0]
    places = [(a.get_subplotspec().rowspan.start, a.get_subplotspec().colspan.start) for a in axes]
    assert places == [(r, c) for r in range(2) for c in range(3)]


def test_line_draws_its_look_and_its_band() -> None:
    """Kills a band around the wrong line, and a label that cannot be left out."""
    _, (axes,) = figures.panels()
    look = figures.looks_of(a="A", b="B")["b"]
    figures.line(axes, [1, 2, 3], [1, 4, 9], look, band=([0, 3, 8], [2, 5, 10]), every=2)
    figures.line(axes, [1, 2], [0, 0], look, label="", every=0)
    drawn = axes.lines[0]
    assert (to_hex(drawn.get_color()).upper(), drawn.get_marker()) == (look.colour, look.marker)
    assert drawn.get_markevery() == 2
    np.testing.assert_array_equal(drawn.get_ydata(), [1, 4, 9])
    (band,) = (c for c in axes.collections if isinstance(c, PolyCollection))
    inside = band.get_paths()[0]
    assert inside.contains_point((2, 4.9))
    assert not inside.contains_point((2, 5.1))
    assert axes.get_legend_handles_labels()[1] == ["B"]


def test_points_carry_error_bars_of_the_given_half_length() -> None:
    _, (axes,) = figures.panels()
    look = figures.looks_of(a="A")["a"]
    figures.points(axes, [1.0, 2.0], [3.0, 4.0], look, error=[0.5, 0.25])
    figures.points(axes, [1.0, 2.0], [3.0, 4.0], look, joined=True)
    ends = [s[:, 1].tolist() for s in axes.containers[0].lines[2][0].get_segments()]
    assert ends == [[2.5, 3.5], [3.75, 4.25]]
    assert axes.get_legend_handles_labels()[1] == ["A"]


def test_log_axis_shows_the_given_numbers_only() -> None:
    fig, (left, right) = figures.panels(2)
    figures.log_axis(left, ticks=[1, 1.5, 2])
    figures.log_axis(right, "x")
    left.set_ylim(0.9, 2.2)
    fig.canvas.draw()
    assert [t.get_text() for t in left.get_yticklabels()] == ["1", "1.5", "2"]
    assert left.yaxis.get_minorticklocs().size == 0
    assert (left.get_xscale(), right.get_xscale(), right.get_yscale()) == (
        "linear",
        "log",
        "linear",
    )


def test_legend_below_names_every_label_once() -> None:
    """Kills the legend of the first panel only, and one that repeats what panels share."""
    fig, (left, right) = figures.panels(2)
    looks = figures.looks_of(a="A", b="B")
    figures.line(left, [1, 2], [1, 2], looks["a"])
    figures.line(right, [1, 2], [1, 2], looks["a"])
    figures.line(right, [1, 2], [2, 1], looks["b"])
    figures.legend_below(fig)
    assert [t.get_text() for t in fig.legends[0].get_texts()] == ["A", "B"]


def test_level_is_named_at_the_side_that_was_asked() -> None:
    _, (axes,) = figures.panels()
    figures.level(axes, 2.0, "trivial", side="left")
    assert np.unique(axes.lines[0].get_ydata()) == [2.0]
    assert (axes.texts[0].get_text(), axes.texts[0].get_ha()) == ("trivial", "left")
