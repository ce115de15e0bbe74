"""The shapes of a released additive model, in the units of the table."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from dplit._maps import MapAxis, PairMap, draw_maps, split
from dplit.tables.facts import TableFacts

#: Panels side by side, and at most in a picture: a card must stay readable.
_ACROSS, _MOST = 4, 48


def draw_shapes(estimator: Any, facts: TableFacts) -> Any:
    """Draw what each column adds to the score, with the band of the noise where it is known, and
    maps of what pairs add.

    Parameters
    ----------
    estimator : object
        With ``shapes_``, one for each of the facts' columns, and then those of pairs.
    facts : Facts

    Returns
    -------
    matplotlib.figure.Figure
        At most 48 columns and 48 maps, those of the largest range; which these are is made of
        released numbers.
    """
    from matplotlib.figure import Figure

    shapes = dict(zip(facts.columns, estimator.shapes_, strict=False))  # and then those of pairs
    ranges = {c: float(np.ptp(s.values, axis=-1).max()) for c, s in shapes.items()}
    shown = sorted(shapes, key=lambda c: -ranges[c])[:_MOST]
    shown = [column for column in shapes if column in set(shown)]
    across = min(_ACROSS, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(2.6 * across, 2.2 * down), layout="constrained")
    maps = _maps(estimator, facts)
    upper, lower = split(figure, maps)
    panels = upper.subplots(down, across, sharey=True, squeeze=False).ravel()
    for axes, column in zip(panels, shown, strict=False):
        _draw(axes, shapes[column], column, facts)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    told = facts.target if facts.task == "regression" else "score"
    for axes in panels[::across]:
        axes.set_ylabel(told)
    if np.ndim(estimator.shapes_[0].values) == 2:  # a line for each class
        labels = [str(label) for label in facts.classes]
        upper.legend(panels[0].get_lines()[1:], labels, loc="outside upper left", ncols=6)
    if maps:
        draw_maps(lower, maps, told)
    return figure


def _maps(estimator: Any, facts: TableFacts) -> list[PairMap]:
    """Return what the pairs of columns with the largest ranges add, of each of more classes."""
    alone = estimator.shapes_[: len(facts.columns)]
    names = {shape.columns: c for shape, c in zip(alone, facts.columns, strict=True)}
    pairs = estimator.shapes_[len(facts.columns) :]
    each = len(facts.classes) if alone[0].values.ndim == 2 else 1
    kept = sorted(range(len(pairs)), key=lambda k: -float(np.ptp(pairs[k].values)))
    maps = []
    for k in sorted(kept[: _MOST // each]):
        columns = [names[one] for one in pairs[k].columns]
        across, up = (
            _side(column, size, facts)
            for column, size in zip(columns, pairs[k].values.shape[-2:], strict=True)
        )
        if each == 1:
            maps.append(PairMap("", pairs[k].values, across, up, pairs[k].band))
        else:
            tables = zip(facts.classes, pairs[k].values, strict=True)
            maps += [PairMap(str(label), table, across, up) for label, table in tables]
    return maps


def _side(column: str, size: int, facts: TableFacts) -> MapAxis:
    """Return a column as one side of a map, in the units of the table."""
    if column in facts.categories:
        return MapAxis(column, None, [str(text)[:18] for text in facts.categories[column]])
    return MapAxis(column, facts.numbers(column, np.linspace(-1.0, 1.0, size)))


def _draw(axes: Any, shape: Any, column: str, facts: TableFacts) -> None:
    """Draw one shape: lines over a column's bounds, or a point for each of its texts."""
    values = np.atleast_2d(shape.values)
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    if column in facts.categories:
        place: Any = np.arange(values.shape[1])
        texts = [str(text)[:18] for text in facts.categories[column]]
        axes.set_xticks(place, texts, rotation=45, ha="right", fontsize="small")
        looks: dict[str, Any] = {"marker": "o", "linestyle": "none"}
    else:
        place, looks = facts.numbers(column, np.linspace(-1.0, 1.0, values.shape[1])), {}
    for row in values:
        (line,) = axes.plot(place, row, **looks)
        if shape.band is not None and "marker" in looks:
            axes.errorbar(place, row, yerr=shape.band, fmt="none", color=line.get_color())
        elif shape.band is not None:
            axes.fill_between(place, row - shape.band, row + shape.band, alpha=0.25)
    axes.set_title(column, fontsize="medium")


def as_svg(figure: Any) -> str:
    """Return a figure as an SVG element for a page; equal figures give equal texts."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "dplit", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
