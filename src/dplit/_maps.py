"""Maps of what pairs of columns add together: panels on one scale of colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dplit._checks import Array

#: Panels side by side, and lines of colour between two knots.
_ACROSS, _FINE = 4, 6


class MapAxis(NamedTuple):
    """One side of a map: its name, and numbers at its knots or texts of its values."""

    name: str
    knots: Array | None
    texts: Sequence[str] = ()


class PairMap(NamedTuple):
    """A title, values (K, L), the sides of K and of L, and the band of the noise if it is known."""

    title: str
    values: Array
    across: MapAxis
    up: MapAxis
    band: Array | None = None


def split(figure: Any, maps: Sequence[PairMap]) -> tuple[Any, Any]:
    """Return the parts of a figure for other panels and for maps, for which it is made higher; the
    figure itself where there are none.
    """
    if not maps:
        return figure, None
    below = -(-len(maps) // _ACROSS)
    width, height = figure.get_size_inches()
    figure.set_size_inches(max(width, 3.2 * min(_ACROSS, len(maps))), height + 2.6 * below)
    upper, lower = figure.subfigures(2, 1, height_ratios=[height, 2.6 * below])
    return upper, lower


def draw_maps(figure: Any, maps: Sequence[PairMap], label: str) -> None:
    """Draw maps on one scale of colours, white at 0, which stands beside them under a label."""
    across = min(_ACROSS, len(maps))
    down = -(-len(maps) // across)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    largest = max(float(np.abs(one.values).max()) for one in maps) or 1.0
    for axes, one in zip(panels, maps, strict=False):
        drawn = _draw(axes, one, largest)
    for axes in panels[len(maps) :]:
        axes.set_visible(False)
    figure.colorbar(drawn, ax=list(panels), label=label)


def _draw(axes: Any, one: PairMap, largest: float) -> Any:
    """Draw one map: bands of colour between knots, and cells for values of categories."""
    levels = np.linspace(-largest, largest, 22)  # of which no band is cut by 0
    x, y = one.across.knots, one.up.knots
    if x is not None and y is not None:
        (left, x), (right, y) = _refined(x), _refined(y)
        drawn = axes.contourf(x, y, (left @ one.values @ right.T).T, levels, cmap="RdBu_r")
    else:
        (left, x), (right, y) = (
            (np.eye(size), np.arange(size + 1.0) - 0.5) if knots is None else _cells(knots)
            for size, knots in zip(one.values.shape, (x, y), strict=True)
        )
        ends = {"vmin": -largest, "vmax": largest}
        drawn = axes.pcolormesh(x, y, (left @ one.values @ right.T).T, cmap="RdBu_r", **ends)
    told = one.title if one.band is None else f"{one.title} noise alone: ±{one.band.max():.2g}"
    axes.set(xlabel=one.across.name, ylabel=one.up.name)
    axes.set_title(told.strip(), fontsize="medium")
    for side, mark, turned in (
        (one.across, axes.set_xticks, {"rotation": 45, "ha": "right"}),
        (one.up, axes.set_yticks, {}),
    ):
        if side.knots is None:
            mark(range(len(side.texts)), side.texts, fontsize="small", **turned)
    return drawn


def _refined(knots: Array) -> tuple[Array, Array]:
    """Return the hats (M, K) at evenly many places between all knots, and these places."""
    fine = np.linspace(0.0, len(knots) - 1.0, _FINE * (len(knots) - 1) + 1)
    hats = np.maximum(1.0 - np.abs(fine[:, None] - np.arange(len(knots))), 0.0)
    return hats, hats @ knots


def _cells(knots: Array) -> tuple[Array, Array]:
    """Return the hats (M, K) in the middle of cells between knots, and the M + 1 ends of these."""
    hats, places = _refined(knots)
    return (hats[1:] + hats[:-1]) / 2.0, places
