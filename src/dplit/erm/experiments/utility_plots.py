"""Figures on utility: generalisation of private functions, and learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from dplit.erm.experiments.learning_curves import hinge_bounds
from dplit.erm.utility import Side, generalization_bound, response_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.erm.experiments.learning_curves import HingeCurves, LeastSquaresCurves

__all__ = [
    "generalization_figure",
    "hinge_figure",
    "least_squares_figure",
]


#: Label, colour, line style and marker of every noise, the same in all figures.
STYLES: dict[str, tuple[str, str, Any, str]] = {
    "none": ("no noise", "#56B4E9", "-", "d"),
    "printed": ("printed scale", "#0072B2", "--", "o"),
    "doubled": ("doubled scale", "#D55E00", "-.", "s"),
    "sharp": ("smallest proved scale", "#009E73", (0, (5, 1, 1, 1)), "^"),
}


def _curve(axes: Axes, sizes: Any, values: Any, noise: str) -> None:
    """Draw the mean over trials with a band of two standard errors."""
    name, colour, dashes, marker = STYLES[noise]
    mean, se = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    axes.plot(sizes, mean, color=colour, linestyle=dashes, marker=marker, label=name)
    low = np.maximum(mean - 2 * se, 1e-9)
    axes.fill_between(sizes, low, mean + 2 * se, color=colour, alpha=0.25, linewidth=0)


def _legend_below(fig: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)


def _records(axes: Axes, title: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel="records m", title=title)
    axes.set_xscale("log", base=2)


def generalization_figure() -> Figure:
    r"""Gap over G against epsilon: printed bound, sharp bounds, randomised response.

    Returns
    -------
    matplotlib.figure.Figure
        One panel for each sign of the gap.
    """
    grid = np.linspace(0.02, 1.6, 80)
    fig, panels = plt.subplots(1, 2, figsize=(7.4, 4.2))
    sides: tuple[Side, Side] = ("over", "under")
    titles = ("sample minus population", "population minus sample")
    for axes, side, title in zip(panels, sides, titles, strict=True):
        printed = [generalization_bound(epsilon=e, side=side, version="printed") for e in grid]
        sharp = [generalization_bound(epsilon=e, side=side) for e in grid]
        axes.plot(grid, printed, color="#555555", linestyle=":", label="printed bound 2ε")
        axes.plot(grid, sharp, color="#000000", linestyle="-", label="sharp bound")
        for k, colour, marker in (
            (2, "#0072B2", "o"),
            (10, "#D55E00", "s"),
            (1000, "#009E73", "^"),
        ):
            gaps = [response_gap(k, epsilon=e, side=side) for e in grid[::8]]
            label = f"randomised response, k = {k}"
            axes.plot(grid[::8], gaps, color=colour, linestyle="none", marker=marker, label=label)
        axes.set(xlabel="ε", ylabel="gap / G", title=title)
    _legend_below(fig, panels[0], 3)
    return fig


def hinge_figure(curves: HingeCurves) -> Figure:
    r"""Excess hinge risk against m, one panel per choice of budget and regularisation.

    Parameters
    ----------
    curves : HingeCurves

    Returns
    -------
    matplotlib.figure.Figure
        Lines: means over trials, bands of two standard errors; dots: the bound by stability for
        the doubled scale.
    """
    fig, grid = plt.subplots(2, 2, figsize=(7.4, 6.4), sharex=True, sharey=True)
    bounds = hinge_bounds(curves)
    for i, (axes, setting) in enumerate(zip(grid.flat, curves.settings, strict=True)):
        axes.plot(
            curves.sizes, bounds[i], color="#000000", linestyle=":", label="bound by stability"
        )
        for k, noise in enumerate(("none", "printed", "doubled")):
            _curve(axes, curves.sizes, curves.excess[:, i, :, k], noise)
        _records(axes, setting.name)
    for axes in grid[:, 0]:
        axes.set_ylabel("excess hinge risk")
    _legend_below(fig, grid[0, 0], 4)
    return fig


def least_squares_figure(curves: LeastSquaresCurves) -> Figure:
    r"""Excess squared risk against m, one panel per choice of budget and regularisation.

    Parameters
    ----------
    curves : LeastSquaresCurves

    Returns
    -------
    matplotlib.figure.Figure
        Lines: means over trials with bands of two standard errors; a horizontal line for the
        function 0.
    """
    fig, panels = plt.subplots(1, 2, figsize=(7.4, 4.4), sharey=True)
    for i, (axes, setting) in enumerate(zip(panels, curves.settings, strict=True)):
        for noise in ("doubled", "printed", "sharp", "none"):
            _curve(axes, curves.sizes, curves.excess(noise)[:, i], noise)
        axes.axhline(0.125, color="#000000", linestyle=":", label="predict 0")
        _records(axes, setting.name)
    panels[0].set_ylabel("excess squared risk")
    _legend_below(fig, panels[0], 3)
    return fig
