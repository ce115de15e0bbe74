"""Figures of the comparisons: k-means at equal privacy, mixtures, principal components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter, ScalarFormatter

from dplit.trials import quantile_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.sketching.experiments.comparison import KMeansComparison
    from dplit.sketching.experiments.models import MixtureComparison, PCAComparison

__all__ = [
    "comparison_figure",
    "mixture_figure",
    "pca_figure",
]


#: Label, colour, line style and marker of every method, the same in all figures.
STYLES: dict[str, tuple[str, str, Any, str]] = {
    "lloyd-laplace": ("private Lloyd, Laplace", "#000000", ":", "o"),
    "lloyd-gaussian": ("private Lloyd, Gaussian", "#8c6d1f", (0, (8, 2)), "d"),
    "laplace": ("sketch, Laplace", "#0072B2", "-", "s"),
    "polydisc": ("sketch, polydisc", "#009E73", "-.", "v"),
    "cube": ("one-bit sketch, cube", "#CC79A7", (0, (5, 1, 1, 1, 1, 1)), "P"),
    "gaussian": ("sketch, Gaussian", "#D55E00", "--", "^"),
    "gaussian-exact": ("Gaussian frequencies, no noise", "#8c6d1f", ":", "d"),
    "orthonormal-exact": ("orthonormal bases, no noise", "#000000", ":", "o"),
    "gaussian-laplace": ("Gaussian frequencies", "#D55E00", "--", "^"),
    "orthonormal-laplace": ("orthonormal bases", "#0072B2", "-", "s"),
    "covariance-laplace": ("noisy covariance", "#009E73", "-.", "v"),
    "gaussian-gaussian": ("Gaussian frequencies", "#D55E00", "--", "^"),
    "orthonormal-gaussian": ("orthonormal bases", "#0072B2", "-", "s"),
    "covariance-gaussian": ("noisy covariance", "#009E73", "-.", "v"),
}


def _line(axes: Axes, x: Any, values: Any, method: str) -> None:
    """Draw the median over trials with the band of the middle half."""
    label, colour, dashes, marker = STYLES[method]
    median, low, high = quantile_band(values, coverage=0.5)
    axes.plot(x, median, color=colour, linestyle=dashes, marker=marker, label=label, zorder=3)
    axes.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)


def _plain_log(axes: Axes, ticks: Sequence[float]) -> None:
    axes.set_yscale("log")
    axes.set_yticks(list(ticks))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())


def _legend_below(fig: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)


def comparison_figure(panels: dict[str, KMeansComparison]) -> Figure:
    """Relative k-means risk against epsilon, one panel per data set.

    Parameters
    ----------
    panels : dict of str to KMeansComparison
        Title -> comparison.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, row = plt.subplots(1, len(panels), figsize=(7.6, 4.4), sharey=True, squeeze=False)
    for axes, (title, run) in zip(row[0], panels.items(), strict=True):
        for method, values in run.risks.items():
            _line(axes, run.epsilons, values, method)
        exact = float(np.median(run.exact))
        axes.axhline(
            exact, color="#808080", linestyle="-", linewidth=1.2, label="sketch without noise"
        )
        axes.set_xscale("log")
        axes.set_xlabel(r"$\varepsilon$")
        axes.set_title(title, fontsize=10.5)
    _plain_log(row[0, 0], [1, 1.2, 1.5, 2, 3, 5])
    row[0, 0].set_ylabel("risk over Lloyd's")
    _legend_below(fig, row[0, 0], 3)
    return fig


def mixture_figure(run: MixtureComparison) -> Figure:
    """Loss of log-likelihood per record against EM, for every noise and budget.

    Parameters
    ----------
    run : MixtureComparison
        The comparison.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, axes = plt.subplots(figsize=(6.4, 3.9))
    for noise, gains in run.gains.items():
        _line(axes, run.epsilons, np.maximum(-gains, 1e-5), noise)
    spacing = float(np.median(np.abs(run.truth)))
    axes.axhline(
        spacing, color="#808080", linewidth=1.2, label="EM against the true law (its overfit)"
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(r"$\varepsilon$")
    axes.set_ylabel("log-likelihood lost to EM, per record")
    axes.legend(fontsize=9)
    return fig


def pca_figure(panels: dict[str, tuple[PCAComparison, Sequence[str]]]) -> Figure:
    """Risk of the components over the optimum, against the size of the sketch.

    Parameters
    ----------
    panels : dict
        Title -> (comparison, methods to draw).

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, row = plt.subplots(1, len(panels), figsize=(7.8, 4.2), sharey=True, squeeze=False)
    labelled: dict[str, Any] = {}
    for axes, (title, (run, methods)) in zip(row[0], panels.items(), strict=True):
        for method in methods:
            _line(axes, run.sizes, run.risks[method], method)
        axes.set_xscale("log")
        axes.set_xticks(list(run.sizes), [str(m) for m in run.sizes])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("size m of the sketch")
        axes.set_title(title, fontsize=10.5)
        labelled.update(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    _plain_log(row[0, 0], [1, 1.05, 1.1, 1.2, 1.5, 2])
    row[0, 0].set_ylim(0.99, 2.3)
    row[0, 0].set_ylabel("risk over the optimum")
    fig.legend(
        list(labelled.values()), list(labelled), loc="outside lower center", ncols=2, fontsize=9
    )
    return fig
