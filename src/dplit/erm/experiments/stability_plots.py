"""Figures of the stability sections, drawn from what the experiments return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array
from dplit.erm.experiments.tables import VERSIONS
from dplit.erm.losses import lipschitz_constant
from dplit.erm.stability import (
    bounded_stability,
    least_squares_lipschitz,
    lipschitz_stability,
    loss_bound,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "bound_curves",
    "least_squares_figure",
    "stability_figure",
]


TITLES = {
    "squared": "least squares",
    "hinge": "hinge",
    "pinball": "pinball, level 0.75",
    "logistic": "logistic",
}


def stability_figure(
    sizes: ArrayLike, largest: Mapping[str, Array], bounds: Mapping[str, Mapping[str, ArrayLike]]
) -> Figure:
    """Draw the largest distance met against the sample size, with the bounds, one panel a loss.

    Parameters
    ----------
    sizes : array_like, shape (s,)
    largest : mapping from loss to ndarray, shape (n_sets, s)
    bounds : mapping from loss to a mapping from label to array_like, shape (s,)

    Returns
    -------
    matplotlib.figure.Figure
    """
    m = np.asarray(sizes)
    fig, panels = plt.subplots(2, 2, sharex=True, sharey=True, figsize=(7.2, 5.6))
    for axes, (loss, values) in zip(panels.flat, largest.items(), strict=True):
        for label, bound in bounds[loss].items():
            axes.plot(m, np.asarray(bound), label=label)
        low, high = values.min(axis=0), values.max(axis=0)
        middle = np.median(values, axis=0)
        axes.errorbar(
            m, middle, yerr=[middle - low, high - middle], color="#000000", linestyle="none",
            marker="o", capsize=3, label="largest distance met",
        )  # fmt: skip
        axes.set(xscale="log", yscale="log", title=TITLES[loss], xticks=m)
        axes.set_xticklabels([str(size) for size in m])
        axes.minorticks_off()
    for axes in panels[1]:
        axes.set_xlabel("records m")
    for axes in panels[:, 0]:
        axes.set_ylabel("distance")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2)
    return fig


def bound_curves(
    loss: str, sizes: ArrayLike, *, regularization: float = 0.1, tau: float = 0.75
) -> dict[str, Array]:
    """Compute the bounds of both theorems for labels in [-1, 1] and kappa = 1.

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "logistic"}
        Least squares enters Theorem 2 with the printed constant of Section 5.1.
    sizes : array_like of int, shape (s,)
    regularization : float, default=0.1
    tau : float, default=0.75
        Level of the pinball loss.

    Returns
    -------
    dict from label to ndarray, shape (s,)
        Theorem 2 and two versions of Theorem 1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> bound_curves("hinge", [400])["Theorem 2"]
    array([0.025])
    """
    if loss == "squared":
        slope = least_squares_lipschitz(regularization=regularization, label_bound=1.0)
    else:
        slope = lipschitz_constant(loss, tau=tau)
    B = loss_bound(loss, regularization=regularization, tau=tau)
    rules = [{"regularization": regularization, "n_records": m} for m in np.asarray(sizes).tolist()]
    two = [lipschitz_stability(lipschitz=slope, **rule) for rule in rules]
    one = [bounded_stability(bound=B, version="printed", **rule) for rule in rules]
    best = [bounded_stability(bound=B, **rule) for rule in rules]
    names = ("Theorem 2", "Theorem 1, printed", "Theorem 1 with the constant 2")
    return {name: np.array(values) for name, values in zip(names, (two, one, best), strict=True)}


def least_squares_figure(regularizations: Sequence[float], table: Mapping[str, Array]) -> Figure:
    """Draw bounds over the worst distance known, against lambda.

    Parameters
    ----------
    regularizations : sequence of float
    table : mapping from name to ndarray
        From :func:`dplit.erm.experiments.tables.bounds_beside_worst`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, axes = plt.subplots()
    for version, label in VERSIONS.items():
        axes.plot(regularizations, table[version] / table["worst"], label=label)
    axes.axhline(1.0, color="#555555", linewidth=0.8, linestyle="-", zorder=1)
    axes.set(
        xscale="log", yscale="log", xlabel="regularisation λ",
        ylabel="bound / worst distance known", yticks=[1, 2, 4, 8],
    )  # fmt: skip
    axes.set_yticklabels(["1", "2", "4", "8"])
    axes.minorticks_off()
    axes.legend()
    return fig
