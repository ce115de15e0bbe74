"""Figures on private selection: bounds, dimension, the example on a line, networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle
from numpy.typing import ArrayLike

from dplit.margin.exponential import cover_terms, gaussian_prior_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.margin.data import LineDistribution
    from dplit.margin.experiments.bounds import CompressionCurve
    from dplit.margin.experiments.dimension import DimensionCurve

__all__ = [
    "bound_figure",
    "dimension_figure",
    "line_figure",
    "network_figure",
    "schematic_figure",
]


_BLUE, _RED, _GREEN = "#0072B2", "#D55E00", "#009E73"

_GREY = "#7f7f7f"


def bound_figure(margins: Sequence[float], *, epsilon: float, beta: float) -> Figure:
    """Bounds on the excess training error against the sample size, cover beside Gaussian prior.

    Parameters
    ----------
    margins : sequence of float
        Normalised margins, one panel each.
    epsilon, beta : float
        Privacy loss and failure probability.

    Returns
    -------
    matplotlib.figure.Figure
    """
    sizes = np.geomspace(300, 1e6, 40).round().astype(int)
    fig, panels = plt.subplots(1, len(margins), figsize=(8.2, 3.4), sharey=True)
    for axes, a in zip(np.atleast_1d(panels), margins, strict=True):
        options: list[dict[str, Any]] = [
            {"normalized_margin": a, "n_samples": int(m), "epsilon": epsilon, "beta": beta}
            for m in sizes
        ]
        cover = [cover_terms(**q).excess for q in options]
        plain = [gaussian_prior_bound(sharpened=False, **q) for q in options]
        sharp = [gaussian_prior_bound(**q) for q in options]
        axes.loglog(sizes, cover, color=_RED, linestyle="--", label="cover")
        axes.loglog(sizes, plain, color=_BLUE, linestyle="-.", label="Gaussian prior")
        axes.loglog(sizes, sharp, color=_GREEN, linestyle="-", label="Gaussian prior, sharpened")
        axes.axhline(1.0, color=_GREY, linestyle=":", linewidth=1.0)
        axes.set(xlabel="records m", title=f"normalised margin {a:g}")
    np.atleast_1d(panels)[0].set_ylabel("bound on the excess error")
    handles, labels = np.atleast_1d(panels)[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def dimension_figure(curves: Sequence[DimensionCurve]) -> Figure:
    """Errors of the Gaussian-prior mechanism by dimension, below their bounds.

    Parameters
    ----------
    curves : sequence of DimensionCurve
        From :func:`dplit.margin.experiments.dimension.dimension_curve`, one panel each.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, panels = plt.subplots(1, len(curves), figsize=(8.2, 3.5), sharey=True)
    for axes, curve in zip(np.atleast_1d(panels), curves, strict=True):
        names = (("training error", _BLUE, "o", "-"), ("test error", _RED, "s", "--"))
        for column, (label, colour, marker, dashes) in enumerate(names):
            mean, se = curve.mean(column)
            axes.errorbar(
                curve.dimensions, mean, yerr=2 * se, color=colour, marker=marker,
                linestyle=dashes, capsize=3, label=label,
            )  # fmt: skip
        axes.axhline(curve.bound, color=_GREEN, linestyle="-.", label="95 % bound, training")
        axes.set_xscale("log")
        title = f"margin {curve.margin:g}, {curve.n_samples} records"
        axes.set(xlabel="dimension d", title=title, ylim=(0, None))
    np.atleast_1d(panels)[0].set_ylabel("zero-one error")
    handles, labels = np.atleast_1d(panels)[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def line_figure(line: LineDistribution, others: Mapping[str, LineDistribution]) -> Figure:
    """Masses of the distribution on the line, and the expected hinge of several such.

    Parameters
    ----------
    line : LineDistribution
        Drawn as stems.
    others : mapping of str to LineDistribution
        Label and distribution of each hinge curve.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.5), width_ratios=(1, 1.25))
    places = np.array([-line.radius, -line.gamma, line.gamma, line.radius])
    near, far = line.near_mass / 2, (1 - line.near_mass) / 2
    masses = [far, near, near, far]
    for x, mass in zip(places, masses, strict=True):
        positive = x > 0
        left.plot([x, x], [0, mass], color=_BLUE if positive else _RED, linestyle="-")
        marker, colour = ("^", _BLUE) if positive else ("v", _RED)
        left.plot([x], [mass], marker=marker, color=colour, markersize=8)
    left.axhline(0, color="#000000", linewidth=0.8, linestyle="-")
    left.set_xticks(places, ["-r", "-γ", "+γ", "+r"])
    left.set(xlabel="x (label +1: ▲, label -1: ▼)", ylabel="mass", ylim=(0, 1.15 * max(near, far)))
    for label, each in others.items():
        weights = np.geomspace(0.3 / each.radius, 4 / each.gamma, 400)
        (drawn,) = right.plot(weights, each.expected_hinge(weights), label=label)
        best = each.minimiser
        colour = drawn.get_color()
        right.plot([best], each.expected_hinge(best), marker="o", color=colour, markersize=7)
    right.set_xscale("log")
    right.set(xlabel="weight w", ylabel="expected hinge, margin 1")
    right.legend(fontsize=9)
    return fig


def network_figure(
    curves: Mapping[str, CompressionCurve], errors: Mapping[int, ArrayLike], epsilons: ArrayLike
) -> Figure:
    """Compression error by dimension, and errors of the exhaustive selection by budget.

    Parameters
    ----------
    curves : mapping of str to CompressionCurve
        Label and curve.
    errors : mapping of int to array_like of shape (draws, budgets, 2)
        For each sample size, expected training and test errors.
    epsilons : array_like
        Budgets.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.7))
    for (label, curve), marker in zip(curves.items(), "os^d", strict=False):
        left.errorbar(
            curve.dimensions, curve.mean, yerr=2 * curve.se, marker=marker, capsize=3, label=label
        )
    left.set_xscale("log", base=2)
    left.set_yscale("log")
    left.set(xlabel="projected dimension k", ylabel="mean change of the output")
    left.legend(fontsize=9)
    budgets = np.asarray(epsilons, dtype=float)
    for (m, values), marker in zip(errors.items(), "os^d", strict=False):
        mean = np.maximum(np.asarray(values).mean(axis=0), 1e-8)
        right.loglog(budgets, mean[:, 0], marker=marker, label=f"training, m = {m}")
        right.loglog(
            budgets, mean[:, 1], marker=marker, markerfacecolor="none", label=f"test, m = {m}"
        )
    right.set(xlabel="epsilon", ylabel="expected error")
    right.legend(fontsize=9)
    return fig


def _chain(axes: Axes, y: float, title: str, stages: Sequence[tuple[float, str, str, str]]) -> None:
    """Draw boxes from left to right: place, text, colour, and the space on the arrow out of it."""
    axes.text(-0.75, y, title, ha="right", va="center", fontsize=11)
    for x, text, colour, _ in stages:
        axes.add_patch(Rectangle((x - 0.36, y - 0.3), 0.72, 0.6, fill=False, edgecolor=colour))
        axes.text(x, y, text, ha="center", va="center", fontsize=10.5)
    for (x, _, _, space), (end, *_) in pairwise(stages):
        axes.add_patch(
            FancyArrowPatch(
                (x + 0.36, y), (end - 0.36, y), arrowstyle="-|>", mutation_scale=9, color="#000000"
            )
        )
        axes.text((x + end) / 2, y + 0.36, space, ha="center", fontsize=9)


def schematic_figure() -> Figure:
    """Figure 2 redrawn: a network of two hidden layers before and after projections.

    Returns
    -------
    matplotlib.figure.Figure
    """
    many, few, real = "$\\mathbb{R}^N$", "$\\mathbb{R}^k$", "$\\mathbb{R}$"
    before = [(0.0, "$x$", _GREY, "$\\mathbb{R}^d$")]
    after = list(before)
    for j in (1, 2, 3):
        x, out = 3.6 * (j - 1), many if j < 3 else real
        before.append((x + 2.4, f"$W_{j}^\\top$", _BLUE, out))
        after.append((x + 1.2, f"$\\Phi_{j - 1}$", _GREEN, few))
        after.append((x + 2.4, f"$\\tilde W_{j}^\\top$", _BLUE, out))
        if j < 3:
            before.append((x + 3.6, "$\\psi$", _RED, many))
            after.append((x + 3.6, "$\\psi$", _RED, many))
    before.append((10.8, "$h(x)$", _GREY, ""))
    after.append((10.8, "$h_\\Phi(x)$", _GREY, ""))
    fig, axes = plt.subplots(figsize=(8.6, 2.1))
    _chain(axes, 1.6, "before", before)
    _chain(axes, 0.0, "after", after)
    axes.set(xlim=(-2.0, 11.4), ylim=(-0.5, 2.4))
    axes.axis("off")
    return fig
