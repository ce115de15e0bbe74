"""The figures of the chapter, drawn from what the experiments return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.random_features.experiments.fairness import GapCurves, ParityScores
    from dplit.random_features.experiments.frontier import Frontier
    from dplit.trials import Curves

__all__ = [
    "baseline_figure",
    "budget_figure",
    "feature_figure",
    "frontier_figure",
    "gap_figure",
    "near_duplicate_figure",
    "noise_cost_figure",
    "parity_figure",
    "record_figure",
]


#: Label, colour, line style and marker of every method, the same in all figures.
STYLES: dict[str, tuple[str, str, Any, str]] = {
    "ours": ("private, as published", "#0072B2", "-", "o"),
    "corrected": ("private, with the Δ of unit rows", "#D55E00", "--", "s"),
    "gamma": ("Gamma baseline", "#009E73", "-.", "^"),
    "sgd": ("SGD baseline", "#CC79A7", ":", "v"),
    "nonprivate": ("non-private", "#56B4E9", (0, (5, 1, 1, 1)), "d"),
    "zero": ("predict 0", "#8c6d1f", (0, (1, 1)), ""),
    "constant": ("predict the mean", "#555555", (0, (8, 2)), ""),
}


def _line(
    axes: Axes, x: Any, y: Any, method: str, *, se: Any = None, label: str | None = None
) -> None:
    name, colour, dashes, marker = STYLES[method]
    axes.plot(
        x, y, color=colour, linestyle=dashes, marker=marker or None, label=label or name, zorder=3
    )
    if se is not None:
        low, high = np.asarray(y) - 2 * se, np.asarray(y) + 2 * se
        axes.fill_between(x, np.maximum(low, 1e-12), high, color=colour, alpha=0.2, linewidth=0)


def _private(axes: Axes, curves: Curves, method: str, k: int) -> None:
    """Draw the exact expectation as a line and, where it was simulated, the band of the mean."""
    exact = f"{method}_expected"
    if exact in curves.errors:
        _line(axes, curves.axis, curves.mean(exact)[:, k], method)
    if method in curves.errors:
        colour, marker = STYLES[method][1], STYLES[method][3]
        axes.errorbar(
            curves.axis, curves.mean(method)[:, k], 2 * curves.se(method)[:, k],
            color=colour, marker=marker, linestyle="none", capsize=2, zorder=4,
        )  # fmt: skip


def _plain(axes: Axes, curves: Curves, method: str) -> None:
    _line(axes, curves.axis, curves.mean(method), method)


def _legend_below(fig: Figure, axes: Axes, columns: int = 3) -> None:
    handles, labels = axes.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)


def feature_figure(curves: Curves) -> Figure:
    """Test error against the number of features, one panel per privacy budget (Figures 1, 2)."""
    count = len(curves.epsilons)
    fig, panels = plt.subplots(1, count, figsize=(7.4, 4.4), sharey=True, squeeze=False)
    for k, axes in enumerate(panels[0]):
        for method in ("corrected", "gamma", "sgd", "ours"):
            _private(axes, curves, method, k)
        for method in ("nonprivate", "zero", "constant"):
            _plain(axes, curves, method)
        axes.set(yscale="log", xlabel=curves.axis_name, title=f"ε = {curves.epsilons[k]:g}")
    panels[0, 0].set_ylabel("mean squared test error")
    _legend_below(fig, panels[0, 0])
    return fig


def record_figure(panels: Mapping[str, Mapping[str, Curves]]) -> Figure:
    """Test error against the number of records (Figure 3); one panel per test function."""
    fig, grid = plt.subplots(1, len(panels), figsize=(7.4, 4.4), sharey=True, squeeze=False)
    for axes, (title, versions) in zip(grid[0], panels.items(), strict=True):
        code, text = versions["code"], versions["text"]
        for method in ("corrected", "gamma", "sgd", "ours"):
            _private(axes, code, method, 0)
        axes.plot(
            text.axis, text.mean("ours_expected")[:, 0], color="#0072B2", linestyle=(0, (3, 2)),
            label="private, as published, N = m + 200",
        )  # fmt: skip
        for method in ("nonprivate", "constant"):
            _plain(axes, code, method)
        axes.set(yscale="log", xlabel=code.axis_name, title=title)
    grid[0, 0].set_ylabel("mean squared test error")
    _legend_below(fig, grid[0, 0])
    return fig


def budget_figure(panels: Mapping[str, Curves]) -> Figure:
    """Test error against the number of features for several budgets (Figure 4)."""
    fig, grid = plt.subplots(1, len(panels), figsize=(7.4, 4.4), squeeze=False)
    dashes, markers = ["-", "--", "-."], ["o", "s", "^"]
    colours = ["#0072B2", "#D55E00", "#009E73"]
    for axes, (title, curves) in zip(grid[0], panels.items(), strict=True):
        for k, epsilon in enumerate(curves.epsilons):
            axes.errorbar(
                curves.axis, curves.mean("ours")[:, k], 2 * curves.se("ours")[:, k],
                color=colours[k], linestyle=dashes[k], marker=markers[k], capsize=2,
                label=f"private, ε = {epsilon:g}",
            )  # fmt: skip
        for method in ("nonprivate", "constant"):
            _plain(axes, curves, method)
        axes.set(yscale="log", xlabel=curves.axis_name, title=title)
        axes.set_ylabel("mean squared test error")
    _legend_below(fig, grid[0, 0])
    return fig


def _rates(axes: Axes, curves: Curves, method: str, rates: Sequence[float]) -> None:
    for rate, dashes, marker in zip(rates, ("-", "--", ":"), ("v", "<", ">"), strict=True):
        k = curves.learning_rates.index(rate)
        label = "SGD, step 1/m" if rate == 1 else f"SGD, step 1/({1 / rate:.0f}m)"
        axes.plot(
            curves.axis, curves.mean(method)[:, k], color="#CC79A7", linestyle=dashes,
            marker=marker, label=label,
        )  # fmt: skip


def baseline_figure(curves: Curves) -> Figure:
    """Non-private and private test errors beside the SGD baseline (Figures 5, 6)."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 4.4))
    _line(left, curves.axis, curves.mean("nonprivate"), "nonprivate",
          se=curves.se("nonprivate"), label="interpolation, m Kaczmarz steps")  # fmt: skip
    _rates(left, curves, "sgd_nonprivate", curves.learning_rates)
    _private(right, curves, "ours", 0)
    _private(right, curves, "corrected", 0)
    _rates(right, curves, "sgd", curves.learning_rates)
    for axes, title in ((left, "non-private"), (right, f"private, ε = {curves.epsilons[0]:g}")):
        for method in ("zero", "constant"):
            _plain(axes, curves, method)
        axes.set(yscale="log", xlabel=curves.axis_name, ylabel="mean squared test error")
        axes.set_title(title)
    handles, labels = left.get_legend_handles_labels()
    for handle, label in zip(*right.get_legend_handles_labels(), strict=True):
        if label not in labels:
            handles.append(handle)
            labels.append(label)
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def gap_figure(panels: Mapping[str, GapCurves]) -> Figure:
    """Excess-risk gaps against epsilon: published estimate, its floor, the truth (Figures 7, 8)."""
    fig, grid = plt.subplots(1, len(panels), figsize=(7.4, 4.4), sharey=True, squeeze=False)
    models = (("rf", "random features", "#0072B2", "o"), ("rls", "linear model", "#D55E00", "s"))
    for axes, (title, gaps) in zip(grid[0], panels.items(), strict=True):
        for key, label, colour, marker in models:
            estimate, exact = getattr(gaps, key).mean((0, 2)), getattr(gaps, f"{key}_exact")
            floor = getattr(gaps, f"{key}_floor").mean((0, 2))
            axes.plot(
                gaps.epsilons, estimate, color=colour, marker=marker, linestyle="none",
                label=f"{label}, published estimate",
            )  # fmt: skip
            axes.plot(
                gaps.epsilons, floor, color=colour, linestyle=":",
                label=f"{label}, estimate of a zero gap",
            )  # fmt: skip
            axes.plot(
                gaps.epsilons, exact.mean((0, 2)), color=colour, linestyle="-",
                label=f"{label}, exact gap",
            )  # fmt: skip
        axes.set(yscale="log", xlabel="privacy budget ε", title=title)
    grid[0, 0].set_ylabel("excess risk gap, mean of the groups")
    _legend_below(fig, grid[0, 0], columns=2)
    return fig


def parity_figure(scores: ParityScores) -> Figure:
    """Distribution functions of labels and outputs in the two groups (Figure 9)."""
    fig, grid = plt.subplots(1, 4, figsize=(8.6, 3.6), sharey=True)
    titles = {
        "targets": "targets",
        "dp_rf": "private RF",
        "rls": "linear",
        "dp_rls": "private linear",
    }
    first = np.asarray(scores.samples["groups"]) == 0
    for axes, (key, title) in zip(grid, titles.items(), strict=True):
        for group, colour, dashes, rows in zip(
            scores.group_names, ("#0072B2", "#D55E00"), ("-", "--"), (first, ~first), strict=True
        ):
            values = np.sort(np.asarray(scores.samples[key])[rows])
            axes.plot(
                values, np.arange(1, len(values) + 1) / len(values), color=colour,
                linestyle=dashes, label=group,
            )  # fmt: skip
        axes.set(xlabel="output", title=title)
        axes.tick_params(axis="x", labelrotation=45)
    grid[0].set_ylabel("share of the group below")
    _legend_below(fig, grid[0], columns=2)
    return fig


def near_duplicate_figure(
    scaled: Sequence[float], delta: Sequence[float], points: Mapping[str, tuple[Any, Any]]
) -> Figure:
    """True delta at the claimed epsilon against the scaled distance of a near-duplicate pair.

    Parameters
    ----------
    scaled, delta : sequence of float
        Predicted curve.
    points : mapping of str to (scaled distances, deltas)
        Measured values by label.
    """
    fig, axes = plt.subplots(figsize=(7.0, 3.9))
    axes.plot(scaled, delta, color="#0072B2", label="predicted")
    for (label, (x, y)), colour, marker in zip(
        points.items(), ("#D55E00", "#009E73", "#CC79A7"), ("o", "s", "^"), strict=False
    ):
        axes.plot(x, y, color=colour, marker=marker, linestyle="none", label=label)
    axes.axhline(1e-5, color="#555555", linestyle=(0, (8, 2)), label="claimed δ = 1e-5")
    axes.set(xscale="log", yscale="log", ylim=(1e-7, 2.0), ylabel="true δ at ε = 1")
    axes.set_xlabel(r"distance $h$ times $\sigma_\omega$")
    axes.legend(fontsize=9)
    return fig


def noise_cost_figure(
    components: Sequence[int], printed: Sequence[float], exact: float, vacuous: float
) -> Figure:
    """Theorem 12's bound and the exact root mean square against the number of features."""
    fig, axes = plt.subplots(figsize=(7.0, 3.9))
    axes.plot(components, printed, color="#D55E00", linestyle="--", marker="s", label="Theorem 12")
    axes.axhline(exact, color="#0072B2", label="exact root mean square")
    axes.axhline(vacuous, color="#555555", linestyle=(0, (8, 2)), label="size of the signal")
    axes.set(xscale="log", yscale="log", xlabel="number of features N",
             ylabel=r"error in $L_2(\mu)$")  # fmt: skip
    axes.legend(fontsize=9)
    return fig


def frontier_figure(panels: Mapping[str, Frontier]) -> Figure:
    """R^2 of the repaired model against its penalty, with baselines at the same privacy."""
    fig, grid = plt.subplots(1, len(panels), figsize=(7.4, 4.4), sharey=True, squeeze=False)
    rivals = {
        "noisy gradient descent": ("#009E73", "-."),
        "sufficient statistics": ("#CC79A7", ":"),
        "constant": ("#555555", (0, (8, 2))),
    }
    for axes, (title, result) in zip(grid[0], panels.items(), strict=True):
        axes.plot(result.alphas, result.nonprivate.mean(0), color="#56B4E9", linestyle="--",
                  marker="d", label="ridge, non-private")  # fmt: skip
        axes.plot(result.alphas, result.record.mean(0), color="#0072B2", marker="o",
                  label="private, per-record bound")  # fmt: skip
        axes.plot(result.alphas, result.crude.mean(0), color="#D55E00",
                  linestyle=(0, (5, 1, 1, 1)), marker="s",
                  label="private, crude bound (off the scale)")  # fmt: skip
        for name, (colour, dashes) in rivals.items():
            level = float(np.mean(result.baselines[name]))
            axes.axhline(level, color=colour, linestyle=dashes, label=name)
        axes.set(xscale="log", xlabel="ridge penalty", title=title, ylim=(-1.0, 1.0))
    grid[0, 0].set_ylabel("R² on test records")
    _legend_below(fig, grid[0, 0], columns=2)
    return fig
