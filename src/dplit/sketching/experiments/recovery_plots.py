"""Figures 4, 5 and 8: risk of decoded sketches against noise, size and budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dplit.sketching.experiments.recovery import acceptable_nsr
from dplit.trials import quantile_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.sketching.experiments.recovery import NoiseGrid, SizeCurves

__all__ = [
    "noise_figure",
    "noise_size_figure",
    "size_figure",
]


#: Contours of the median RSSE, with line styles.
_LEVELS = (1.05, 1.2, 2.0)

_DASHES = ("solid", "dashed", "dotted")

_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#8c6d1f", "#7f7f7f")

_MARKERS = "o^svDxP*"

_LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), "-")

_RISKS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)


def _risk_axis(axes: Axes, top: float) -> None:
    """Logarithmic axis of a relative risk, with plain numbers."""
    axes.set_yscale("log")
    axes.set_ylim(0.99, top)
    axes.yaxis.set_major_locator(FixedLocator([r for r in _RISKS if r <= top]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def noise_figure(grid: NoiseGrid, *, n_clusters: int, n_features: int) -> Figure:
    """Figure 4: RSSE against the noise-to-signal ratio at one size, and the share of failures.

    Parameters
    ----------
    grid : NoiseGrid
        With positive ratios; the first size is drawn.
    n_clusters, n_features : int
        For the line at the largest ratio that the rule accepts.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.6))
    band = quantile_band(grid.few[:, 0], coverage=0.8)
    left.fill_between(grid.ratios, band.low, band.high, color=_COLOURS[1], alpha=0.2, linewidth=0)
    left.plot(grid.ratios, band.median, color=_COLOURS[1], marker="o", label="median of trials")
    right.plot(grid.ratios, grid.failed[0], color=_COLOURS[2], marker="s", label="share of trials")
    limit = acceptable_nsr(int(grid.sizes[0]), n_clusters, n_features)
    for axes in (left, right):
        axes.axvline(limit, color="black", linestyle=":", label=r"$\mathrm{NSR}_{\max}$")
        axes.set_xscale("log")
        axes.set_xlabel("noise-to-signal ratio")
        axes.legend(loc="upper left", fontsize=9)
    left.set_ylabel("RSSE against 3 starts")
    right.set_ylabel("decodes with RSSE > 1.05")
    _risk_axis(left, 3.2)
    return fig


def noise_size_figure(grid: NoiseGrid, *, n_clusters: int, n_features: int) -> Figure:
    """Figure 5: median RSSE over the relative size and the noise-to-signal ratio.

    Parameters
    ----------
    grid : NoiseGrid
        With positive ratios, increasing sizes and ratios.
    n_clusters, n_features : int
        Unit ``k d`` of the sizes.

    Returns
    -------
    matplotlib.figure.Figure
        Shades and contours of the median, the line ``m = 2 k d`` and the largest ratio that the
        rule accepts.
    """
    unit = n_clusters * n_features
    size = grid.sizes / unit
    fig, axes = plt.subplots(figsize=(7.0, 4.4))
    shades = axes.pcolormesh(
        grid.ratios,
        size,
        np.clip(grid.median, 1.0, 6.0),
        norm=LogNorm(1.0, 6.0),
        cmap="cividis_r",
        shading="nearest",
        rasterized=False,
    )
    axes.contour(grid.ratios, size, grid.median, levels=_LEVELS, colors="black", linestyles=_DASHES)
    for level, dashes in zip(_LEVELS, _DASHES, strict=True):
        axes.plot([], [], color="black", linestyle=dashes, label=f"RSSE {level:g}")
    axes.axhline(2.0, color="#D55E00", linestyle="--", linewidth=2.2, label="m = 2kd")
    accepted = [acceptable_nsr(int(m), n_clusters, n_features) for m in grid.sizes]
    rows = size >= 2.0
    axes.plot(
        np.array(accepted)[rows],
        size[rows],
        color="#D55E00",
        marker="o",
        label=r"largest accepted ratio, $m/(10^3kd)$",
    )
    axes.set(xscale="log", yscale="log", xlabel="noise-to-signal ratio", ylabel="m / kd")
    ticks = [tick for tick in (1, 2, 3, 5, 10) if size[0] <= tick <= size[-1]]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(visible=False)
    bar = fig.colorbar(shades, ax=axes, label="median RSSE", ticks=list(_RISKS))
    bar.ax.set_xlabel(" ")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    fig.legend(loc="outside lower center", ncols=3, fontsize=9)
    return fig


def _size_panel(axes: Axes, curves: SizeCurves, n: int, delta: int, unit: int) -> None:
    for e, epsilon in enumerate(curves.epsilons):
        name = "no noise" if np.isinf(epsilon) else rf"$\varepsilon=10^{{{np.log10(epsilon):g}}}$"
        style = 0 if np.isinf(epsilon) else e + 1
        axes.plot(
            curves.sizes / unit,
            curves.median[n, delta, e],
            color=_COLOURS[style % len(_COLOURS)],
            marker=_MARKERS[style % len(_MARKERS)],
            linestyle=_LINES[style % len(_LINES)],
            linewidth=1.4,
            markersize=4,
            label=name,
        )


def size_figure(curves: SizeCurves, *, n_clusters: int, n_features: int) -> Figure:
    """Figure 8: median RSSE against the relative size, one panel per delta and number of records.

    Parameters
    ----------
    curves : SizeCurves
        All curves; risks above 6 leave the panel.
    n_clusters, n_features : int
        Unit ``k d`` of the sizes.

    Returns
    -------
    matplotlib.figure.Figure
    """
    unit = n_clusters * n_features
    shape = (len(curves.deltas), len(curves.n_samples))
    fig, grid = plt.subplots(
        *shape, figsize=(8.6, 0.9 + 2.6 * shape[0]), sharex=True, sharey=True, squeeze=False
    )
    for delta, line in enumerate(grid):
        for n, axes in enumerate(line):
            _size_panel(axes, curves, n, delta, unit)
            axes.axvline(2.0, color="black", linestyle=":", linewidth=1.0)
            value = curves.deltas[delta]
            law = r"$\delta=0$" if value == 0 else rf"$\delta=10^{{{np.log10(value):g}}}$"
            axes.set_title(rf"$n=10^{{{np.log10(curves.n_samples[n]):g}}}$, {law}", fontsize=9.5)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
            _risk_axis(axes, 6.0)
    for axes in grid[-1]:
        axes.set_xlabel("m / kd")
    for axes in grid[:, 0]:
        axes.set_ylabel("median RSSE")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    return fig
