"""Figures of the sections on kernels and labels: transfer, accuracies, labels, bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike

from dplit.margin.experiments.bounds import BOUNDS, MeasuredErrors
from dplit.margin.experiments.choice import METHODS as LABEL_METHODS
from dplit.margin.experiments.choice import LabelTable
from dplit.margin.experiments.learners import BUDGETS, METHODS, KernelAccuracies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "gap_figure",
    "kernel_figure",
    "label_figure",
    "transfer_figure",
]


#: Colour, line style and marker of the methods, in order.
_STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#8c6d1f", ":", "D"),
)


def transfer_figure(
    counts: Sequence[int], hinges: ArrayLike, reference: float, printed: int, needed: int
) -> Figure:
    """Hinge loss of the transferred predictor by number of frequencies.

    Parameters
    ----------
    counts : sequence of int
        Numbers D of frequencies.
    hinges : array_like of shape (draws, len(counts))
        Hinge losses.
    reference : float
        Loss of the reference predictor with the kernel.
    printed, needed : int
        Frequencies of Algorithm 3, and of the pointwise argument.

    Returns
    -------
    Figure
    """
    fig, axes = plt.subplots(figsize=(6.4, 3.6))
    losses = np.asarray(hinges)
    axes.fill_between(counts, losses.min(axis=0), losses.max(axis=0), color="#0072B2", alpha=0.2)
    axes.plot(counts, losses.mean(axis=0), color="#0072B2", linestyle="-", marker="o",
              label="random features")  # fmt: skip
    axes.axhline(reference, color="#000000", linestyle=":", label="kernel")
    axes.axvline(needed, color="#009E73", linestyle="-.", label="m log(2m/beta)")
    axes.axvline(printed, color="#D55E00", linestyle="--", label="m² log(2m/beta)")
    axes.set(xscale="log", xlabel="number of frequencies D", ylabel="mean hinge loss")
    fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return fig


def kernel_figure(results: Mapping[str, KernelAccuracies]) -> Figure:
    """Test accuracy by budget, one panel per problem, one line per method.

    Parameters
    ----------
    results : mapping of str to KernelAccuracies
        At most six problems.

    Returns
    -------
    Figure
    """
    fig, panels = plt.subplots(2, 3, figsize=(8.4, 5.4), sharex=True)
    x = np.arange(len(BUDGETS))
    for axes, result in zip(panels.ravel(), results.values(), strict=False):
        for row, method in enumerate(result.methods):
            colour, dashes, marker = _STYLES[METHODS.index(method)]
            axes.errorbar(
                x + 0.06 * (row - 1), result.mean[row], result.se[row], color=colour,
                linestyle=dashes, marker=marker, capsize=2, label=method,
            )  # fmt: skip
        axes.set_title(f"{result.name}, m = {result.n_train}", fontsize=10)
        axes.set_xticks(x, ["0.5", "1", "2", "4", "inf"])
    for axes in panels[1]:
        axes.set_xlabel("epsilon")
    for axes in panels[:, 0]:
        axes.set_ylabel("test accuracy")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    return fig


def label_figure(table: LabelTable) -> Figure:
    """Population error of the three methods in every setting.

    Parameters
    ----------
    table : LabelTable
        The runs.

    Returns
    -------
    Figure
    """
    fig, axes = plt.subplots(figsize=(6.8, 3.6))
    x = np.arange(len(table.settings))
    mean = table.errors.mean(axis=0)
    se = table.errors.std(axis=0, ddof=1) / np.sqrt(len(table.errors))
    for k, method in enumerate(LABEL_METHODS):
        colour, _, marker = _STYLES[k]
        axes.errorbar(
            x + 0.15 * (k - 1), mean[:, k], 2 * se[:, k], color=colour, marker=marker,
            linestyle="none", capsize=3, label=method,
        )  # fmt: skip
    axes.axhline(0.1, color="#000000", linestyle=":", label="Bayes")
    names = [f"epsilon {epsilon:g}\nm = {m}" for epsilon, m in table.settings]
    axes.set_xticks(x, names)
    axes.set(xlabel="setting", ylabel="population error", ylim=(0, 0.55))
    fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return fig


def gap_figure(
    sizes: Sequence[int], values: Mapping[str, ArrayLike], measured: Sequence[MeasuredErrors]
) -> Figure:
    """Bounds as curves and measured errors as points, by number of records.

    Parameters
    ----------
    sizes : sequence of int
        Numbers m at which the bounds were evaluated.
    values : mapping of str to array_like
        Curves, by name of the bound.
    measured : sequence of MeasuredErrors
        Points; zero errors are drawn at the lower edge.

    Returns
    -------
    Figure
    """
    fig, axes = plt.subplots(figsize=(6.8, 4.2))
    for (colour, dashes, _), name in zip(_STYLES, BOUNDS, strict=True):
        axes.plot(sizes, values[name], color=colour, linestyle=dashes, label=f"bound: {name}")
    low = 1e-4
    names = {"prior": "measured: Gaussian prior", "compressed": "measured: Algorithm 2"}
    for result, marker in zip(measured, ("s", "^"), strict=False):
        axes.plot(
            result.sizes, np.maximum(result.mean, low), marker=marker, linestyle="none",
            color="#000000", label=names[result.learner],
        )  # fmt: skip
    axes.axhline(0.5, color="#666666", linewidth=1, linestyle=":")
    axes.set(xscale="log", yscale="log", ylim=(low * 0.8, 30))
    axes.set(xlabel="number of records m", ylabel="error, or bound on it")
    fig.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
    return fig
