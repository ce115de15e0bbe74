"""Figures of one hand: panels, a line with its band, points with errors, log axes, a legend below.

A chapter names its methods once, ``looks = looks_of(ours="private", plain="not private")``: the
same colour, dashes and marker in every figure, so that none is read by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours that the colour-blind tell apart and that light and dark pages carry.
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#8c6d1f",
    "#000000",
    "#7f7f7f",
)

_DASHES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (1, 1)),
    (0, (3, 1)),
)

_MARKERS = "os^vDxP*"


@dataclass(frozen=True)
class Look:
    """Label, colour, dashes and marker of a method."""

    label: str
    colour: str
    dashes: Any
    marker: str


def style() -> None:
    """Set the one plot style: legible in print, on light and dark pages, not by colour alone."""
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS[:7]) + cycler(linestyle=_DASHES[:7]),
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.axisbelow": True,
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.0, 3.8),
            "font.size": 10.5,
            "grid.alpha": 0.3,
            "grid.linestyle": "-",
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "lines.markersize": 4.5,
            "savefig.transparent": True,
            "svg.fonttype": "path",
            "svg.hashsalt": "dplit",
        }
    )


def looks_of(**labels: str) -> dict[str, Look]:
    """Give every method a look of its own, in the order of the arguments.

    Parameters
    ----------
    **labels
        Method -> its label in legends; at most eight.

    Examples
    --------
    >>> looks_of(ours="private", plain="not private")["plain"].colour
    '#D55E00'
    """
    if len(labels) > len(COLOURS):
        raise ValueError(f"there are looks for {len(COLOURS)} methods, got {len(labels)}")
    rows = zip(labels.items(), COLOURS, _DASHES, _MARKERS, strict=False)
    return {name: Look(text, *look) for (name, text), *look in rows}


def panels(
    columns: int = 1, rows: int = 1, *, width: float = 7.4, height: float = 3.8, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row after row; ``options`` are those of ``plt.subplots``."""
    import matplotlib.pyplot as plt

    size = (width, height * rows)
    fig, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, **options)
    return fig, list(grid.flat)


def line(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    look: Look,
    *,
    band: tuple[ArrayLike, ArrayLike] | None = None,
    every: int = 1,
    label: str | None = None,
) -> None:
    """Draw a line with its marker and, if given, the band from low to high.

    Parameters
    ----------
    axes : Axes
    x, y : array_like of shape (n,)
    look : Look
    band : pair of array_like, optional
        Low and high ends.
    every : int, default=1
        A marker stands on every point of this number; 0 draws none.
    label : str, optional
        Instead of the look's; the empty text keeps the line out of the legend.
    """
    axes.plot(
        np.asarray(x),
        np.asarray(y),
        color=look.colour,
        linestyle=look.dashes,
        zorder=3,
        marker=look.marker if every else None,
        markevery=max(1, every),
        label=look.label if label is None else label or "_nolegend_",
    )
    if band is not None:
        low, high = map(np.asarray, band)
        axes.fill_between(np.asarray(x), low, high, color=look.colour, alpha=0.18, linewidth=0)


def points(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    look: Look,
    *,
    error: ArrayLike | None = None,
    joined: bool = False,
    label: str = "",
) -> None:
    """Draw markers with error bars, joined by the look's line or alone.

    Parameters
    ----------
    axes : Axes
    x, y : array_like of shape (n,)
    look : Look
    error : array_like of shape (n,) or (2, n), optional
        Half lengths of the bars.
    joined : bool, default=False
        Whether the look's line joins the markers.
    label : str, default=""
        Label in the legend; without one only joined points stand there, by the look's label.
    """
    label = label or (look.label if joined else "_nolegend_")
    axes.errorbar(
        np.asarray(x),
        np.asarray(y),
        None if error is None else np.asarray(error),
        zorder=4,
        color=look.colour,
        marker=look.marker,
        linestyle=look.dashes if joined else "none",
        capsize=2,
        label=label,
    )


def level(axes: Axes, value: float, text: str, *, side: str = "right") -> None:
    """Draw a horizontal reference with its name at one end, ``"left"`` or ``"right"``."""
    axes.axhline(value, color="#777777", linewidth=1.0, linestyle=(0, (2, 2)))
    right = side == "right"
    axes.annotate(
        text,
        (float(right), value),
        xycoords=("axes fraction", "data"),
        xytext=(-3 if right else 3, 2),
        textcoords="offset points",
        ha=side,
        va="bottom",
        fontsize=8,
    )


def log_axis(axes: Axes, which: str = "y", *, ticks: Sequence[float] | None = None) -> None:
    """Make an axis logarithmic; with ``ticks`` it shows these numbers, plainly, and no others."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set(**{f"{which}scale": "log"})
    if ticks is not None:
        axis = axes.yaxis if which == "y" else axes.xaxis
        axis.set_major_locator(FixedLocator(list(ticks)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


def legend_below(fig: Figure, *, columns: int = 3) -> None:
    """Put one legend below the panels, each label once, in the order of their first drawing."""
    found: dict[str, Any] = {}
    for axes in fig.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    fig.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=columns, fontsize=9
    )
