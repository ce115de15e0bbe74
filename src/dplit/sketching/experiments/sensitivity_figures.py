"""Figures of sensitivities: how near records come to the bounds, and what a replacement adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "alignment_figure",
    "replacement_figure",
]


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#8c6d1f")

_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":")

_MARKERS = ("s", "^", "o", "d")


def _median_line(axes: Any, x: Any, runs: NDArray[Any], style: int, label: str) -> None:
    axes.plot(
        x, np.median(runs, axis=0), color=_COLOURS[style], linestyle=_DASHES[style],
        marker=_MARKERS[style], label=label, zorder=3,
    )  # fmt: skip
    axes.fill_between(x, runs.min(0), runs.max(0), color=_COLOURS[style], alpha=0.15, linewidth=0)


def _level(axes: Any, value: float, text: str, side: str = "right") -> None:
    axes.axhline(value, color="#777777", linewidth=1.0, linestyle=(0, (2, 2)))
    axes.annotate(
        text, (float(side == "right"), value), xycoords=("axes fraction", "data"),
        xytext=(-3 if side == "right" else 3, 2), textcoords="offset points", ha=side,
        va="bottom", fontsize=8,
    )  # fmt: skip


def _size_axis(axes: Any, ratio: NDArray[Any]) -> None:
    """Label a logarithmic axis by the sizes themselves."""
    axes.set_xscale("log")
    axes.set_xticks(ratio, [f"{value:g}" for value in ratio])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("frequencies per dimension, m/d")


def alignment_figure(
    curves: NDArray[Any], n_features: int, sizes: Sequence[int], radii: Sequence[float]
) -> Figure:
    """Best ratios that searches find, against m/d, for several radii of the starts.

    Parameters
    ----------
    curves : ndarray of shape (2, n_trials, len(sizes), len(radii))
        From :func:`dplit.sketching.experiments.tables.alignment_curves`.
    n_features : int
        Dimension d.
    sizes, radii : sequence
        The axes of the curves.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per norm; median, and the range of all draws.
    """
    fig, grid = plt.subplots(1, 2, figsize=(8.2, 3.9))
    ratio = np.asarray(sizes) / n_features
    titles = ("Lemma 7: one record, norm 1", "Lemma 12: a replacement, norm 2")
    typical = (4 / (np.pi * np.sqrt(2.0)), np.sqrt(0.5))
    names = ("a typical record", "a typical pair")
    for at_norm, (axes, runs) in enumerate(zip(grid, curves, strict=True)):
        for at, radius in enumerate(radii):
            _median_line(axes, ratio, runs[:, :, at], at, f"radius {radius:g}")
        _level(axes, typical[at_norm], names[at_norm])
        _size_axis(axes, ratio)
        axes.set_title(titles[at_norm], fontsize=9.5)
        axes.set_ylabel("reached / bound")
    handles, labels = grid[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(radii), fontsize=9)
    return fig


def replacement_figure(
    curves: Mapping[str, NDArray[Any]], n_features: int, sizes: Sequence[int]
) -> Figure:
    """Replace-one sensitivities over the printed ones, against m/d.

    Parameters
    ----------
    curves : mapping of str to ndarray of shape (4, n_trials, len(sizes))
        From :func:`dplit.sketching.experiments.tables.replacement_curves`, per label.
    n_features : int
        Dimension d.
    sizes : sequence of int
        Numbers of frequencies.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per norm: reached (median and range) and the corrected calibration (thin).
    """
    fig, grid = plt.subplots(1, 2, figsize=(8.2, 3.9))
    ratio = np.asarray(sizes) / n_features
    limits = ((4 / np.pi, "limit 4/π"), (2 / np.sqrt(3.0), "limit 2/√3"))
    for norm, (axes, (value, text)) in enumerate(zip(grid, limits, strict=True)):
        for at, (label, runs) in enumerate(curves.items()):
            _median_line(axes, ratio, runs[2 * norm], at, f"{label}: reached")
            axes.plot(
                ratio, np.median(runs[2 * norm + 1], axis=0), color=_COLOURS[at], linewidth=1.0,
                linestyle=":", marker="x", label=f"{label}: calibration",
            )  # fmt: skip
        _level(axes, value, text, "left")
        _level(axes, 1.0, "printed")
        _size_axis(axes, ratio)
        axes.set_title(f"norm {norm + 1}", fontsize=9.5)
        axes.set_ylabel("sensitivity / printed value")
    handles, labels = grid[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return fig
