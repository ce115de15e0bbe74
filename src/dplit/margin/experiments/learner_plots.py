"""Figures on private gradient descent: dimension, alternatives, choice of the margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from dplit.margin.experiments.dimension import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dplit.margin.experiments.choice import MarginTable
    from dplit.margin.experiments.dimension import DimensionCurves
    from dplit.margin.experiments.learners import ExcessTable

__all__ = [
    "choice_figure",
    "descent_figure",
    "excess_figure",
]


#: Colour, line style and marker, the same order in all figures.
_LOOKS: tuple[tuple[str, Any, str], ...] = (
    ("#555555", "-", "o"),
    ("#0072B2", "--", "s"),
    ("#56B4E9", "-.", "^"),
    ("#009E73", "-", "D"),
    ("#D55E00", ":", "v"),
    ("#CC79A7", (0, (5, 1, 1, 1)), "P"),
    ("#8c6d1f", (0, (8, 2)), "X"),
)


def descent_figure(curves: DimensionCurves) -> Figure:
    """Test hinge loss and test error against the dimension, one line per method.

    Parameters
    ----------
    curves : DimensionCurves

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, panels = plt.subplots(1, 2, figsize=(8.2, 4.0))
    for axes, column, label in zip(panels, (1, 0), ("test hinge loss", "test error"), strict=True):
        for k, name in enumerate(METHODS):
            colour, dashes, marker = _LOOKS[k]
            axes.errorbar(
                curves.dimensions, curves.mean[:, k, column], 2 * curves.se[:, k, column],
                color=colour, linestyle=dashes, marker=marker, capsize=2, label=name,
            )  # fmt: skip
        axes.set(xscale="log", xlabel="dimension d", ylabel=label, ylim=(-0.005, None))
    handles, labels = panels[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def excess_figure(tables: Sequence[ExcessTable], methods: Mapping[str, str]) -> Figure:
    """Excess hinge loss against the number of records, both logarithmic.

    Parameters
    ----------
    tables : sequence of ExcessTable
    methods : mapping of str to str
        Name in the tables -> label.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, axes = plt.subplots(figsize=(7.2, 4.2))
    sizes = [table.n_samples for table in tables]
    for (name, label), (colour, dashes, marker) in zip(methods.items(), _LOOKS, strict=False):
        mean = np.array([table.mean[name] for table in tables])
        error = 2 * np.array([table.se[name] for table in tables])
        axes.errorbar(
            sizes, mean, error, color=colour, linestyle=dashes, marker=marker, capsize=2,
            label=label,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="records m", ylabel="excess empirical hinge loss")
    axes.set_xticks(sizes, [f"{m:,}" for m in sizes])
    axes.minorticks_off()
    fig.legend(loc="outside lower center", ncols=3, fontsize=9)
    return fig


def choice_figure(table: MarginTable, chosen: Mapping[str, Any]) -> Figure:
    """Objective of each margin and its two parts; below, where private choices fell.

    Parameters
    ----------
    table : MarginTable
    chosen : mapping of str to array_like
        Label -> chosen margins.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, (top, bottom) = plt.subplots(
        2, 1, figsize=(7.0, 4.8), sharex=True, height_ratios=(3.0, 1.2)
    )
    lines = [
        (table.objective, "objective", _LOOKS[1]),
        (table.hinge, "least hinge loss", _LOOKS[3]),
        (table.objective - table.hinge, "complexity term", _LOOKS[4]),
        (table.error, "error of the minimiser", _LOOKS[0]),
    ]
    for values, label, (colour, dashes, marker) in lines:
        top.plot(table.margins, values, color=colour, linestyle=dashes, marker=marker, label=label)
    top.set(xscale="log", ylabel="loss", ylim=(0.0, 1.0))
    top.legend(loc="upper right", fontsize=9)
    width = 0.16
    for k, (label, margins) in enumerate(chosen.items()):
        shares = [float(np.mean(np.isclose(margins, rho))) for rho in table.margins]
        at = table.margins * 2.0 ** ((k - (len(chosen) - 1) / 2) * 2 * width)
        bottom.bar(
            at, shares, width=at * width, color=_LOOKS[k + 1][0], hatch=("", "//", "..")[k % 3],
            label=label, edgecolor="#555555",
        )  # fmt: skip
    bottom.set(xlabel="margin ρ", ylabel="share of choices", ylim=(0.0, 1.05))
    bottom.legend(loc="upper right", fontsize=9)
    return fig
