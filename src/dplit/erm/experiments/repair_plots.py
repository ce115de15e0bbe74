"""Figures of the repairs: paths and power of the process, costs of answers, the comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from dplit._checks import Array
from dplit.erm.attacks import HingePair, LeakAudit
from dplit.erm.experiments.attacks import PowerAudit
from dplit.erm.experiments.comparison import METHODS, Comparison
from dplit.erm.repairs import GaussianProcessOracle, gamma_deviation, largest_power, query_scale
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "comparison_figure",
    "cost_figure",
    "process_figure",
    "release_paths",
]


#: Colour, line style and marker of every method, the same in all panels.
_STYLES: dict[str, tuple[str, Any, str]] = {
    "Gaussian process": ("#0072B2", "-", "o"),
    "gamma norm": ("#D55E00", "--", "s"),
    "20 queries": ("#8c6d1f", (0, (3, 1, 1, 1, 1, 1)), "x"),
    "objective, gamma": ("#CC79A7", ":", "v"),
    "objective, Gaussian": ("#009E73", "-.", "^"),
    "noisy gradient": ("#000000", (0, (5, 1)), "d"),
    "not private": ("#56B4E9", "-", ""),
    "constant": ("#555555", (0, (1, 1)), ""),
}

_SIDES = (("z", "#0072B2", "-"), ("neighbour", "#D55E00", "--"))


def release_paths(
    pair: HingePair, ticks: Array, *, epsilon: float, delta: float, n_paths: int, seed: int
) -> tuple[Array, Array]:
    """Released functions of two neighbours along the first axis.

    Parameters
    ----------
    pair : HingePair
    ticks : ndarray of shape (q,)
        First coordinates; the second is that of the record that differs.
    epsilon, delta : float
        Budget of each release.
    n_paths : int
        Releases of each data set.
    seed : int

    Returns
    -------
    first, second : ndarray of shape (n_paths, q)

    Examples
    --------
    >>> from dplit.erm.attacks import hinge_pair
    >>> pair = hinge_pair(5, rng=np.random.default_rng(0))
    >>> first, second = release_paths(pair, np.linspace(-1, 1, 7), epsilon=1.0, delta=1e-5,
    ...     n_paths=2, seed=0)
    >>> first.shape
    (2, 7)
    """
    points = np.column_stack([ticks, np.full(len(ticks), pair.records[-1, 1])])
    sides = []
    for side, coefficients in enumerate((pair.coefficients, pair.neighbour)):
        rng = stream(seed, "erm-beyond-gp-paths", "noise", side)
        oracles = (
            GaussianProcessOracle(
                pair.kernel, pair.records, coefficients, sensitivity=pair.sensitivity,
                epsilon=epsilon, delta=delta, rng=rng,
            )
            for _ in range(n_paths)
        )  # fmt: skip
        sides.append(np.array([oracle.answer(points) for oracle in oracles]))
    return sides[0], sides[1]


def process_figure(
    ticks: Array, paths: tuple[Array, Array], audit: PowerAudit, leaks: Sequence[LeakAudit]
) -> Figure:
    """Released functions of two neighbours, and the power of the best attack on them.

    Parameters
    ----------
    ticks : ndarray of shape (q,)
    paths : tuple of two ndarray of shape (n_paths, q)
        As :func:`release_paths` gives them.
    audit : PowerAudit
        Attack on the right release.
    leaks : sequence of LeakAudit
        Attacks on implementations, drawn as points.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
    for (name, colour, dashes), values in zip(_SIDES, paths, strict=True):
        for k, path in enumerate(values):
            left.plot(
                ticks, path, color=colour, linestyle=dashes, linewidth=0.9, alpha=0.8,
                label=name if k == 0 else None,
            )  # fmt: skip
    left.set(xlabel="first coordinate of the point asked", ylabel="released value")
    left.legend()
    rates = np.linspace(0.0, 1.0, 401)
    right.plot(rates, largest_power(rates, mu=audit.mu), color="#555555", label="promised curve")
    thresholds = np.linspace(-1.2, 1.2, 13) / audit.mu
    true, false = audit.rates(thresholds)
    bars = [2 * np.sqrt(p * (1 - p) / len(audit.first)) for p in (true, false)]
    right.errorbar(
        false, true, *bars, color="#0072B2", marker="o", markersize=4, linestyle="none",
        capsize=2, label="best attack",
    )  # fmt: skip
    for leak, marker in zip(leaks, ("*", "X", "P"), strict=False):
        right.plot(
            *leak.rates[::-1], marker=marker, markersize=11, linestyle="none", clip_on=False,
            color="#D55E00", label=f"leak: {leak.implementation}",
        )  # fmt: skip
    right.set(xlabel="false-positive rate", ylabel="true-positive rate", xlim=(0, 1), ylim=(0, 1))
    right.legend(loc="lower right")
    return fig


def cost_figure(*, epsilon: float, delta: float, largest: int = 200) -> Figure:
    """Noise of one answer against the number of answers or of features.

    Parameters
    ----------
    epsilon, delta : float
        Budget of all answers.
    largest : int, default=200
        Largest number of answers and of features.

    Returns
    -------
    matplotlib.figure.Figure
    """
    counts = np.unique(np.geomspace(1, largest, 60).round().astype(int))
    queries = [
        math.sqrt(2.0) * query_scale(n_queries=int(q), sensitivity=1.0, epsilon=epsilon)
        for q in counts
    ]
    features = [gamma_deviation(int(d), sensitivity=1.0, epsilon=epsilon) for d in counts]
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta))
    fig, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
    lines = (
        ("Gaussian process", np.full(len(counts), sigma), "any answers, any features"),
        ("gamma norm", features, "against the number of features"),
        ("20 queries", queries, "against the number of answers"),
    )
    for name, values, what in lines:
        colour, dashes, _ = _STYLES[name]
        label = f"{'Laplace answers' if name == '20 queries' else name}: {what}"
        axes.plot(counts, values, color=colour, linestyle=dashes, label=label)
    axes.set(
        xscale="log", yscale="log", xlabel="number of answers, or of features",
        ylabel="standard deviation / sensitivity",
    )  # fmt: skip
    axes.legend()
    return fig


def _panel(axes: Axes, result: Comparison, x: Sequence[float]) -> None:
    for method in METHODS:
        colour, dashes, marker = _STYLES[method]
        values = result.errors[method]
        mean, se = values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))
        axes.plot(
            x, mean, color=colour, linestyle=dashes, marker=marker or None, markersize=4,
            label=method,
        )  # fmt: skip
        axes.fill_between(x, mean - 2 * se, mean + 2 * se, color=colour, alpha=0.15, linewidth=0)
    axes.set(xscale="log", yscale="log", ylabel="misclassification")
    axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], labels=["0.02", "0.05", "0.1", "0.2", "0.5"])
    axes.minorticks_off()


def comparison_figure(by_epsilon: Mapping[str, Comparison], by_size: Comparison) -> Figure:
    """Misclassification of all methods against epsilon, a panel for each problem, and against m.

    Parameters
    ----------
    by_epsilon : mapping of str to Comparison
        Panel titles and results with one number of records and several epsilons.
    by_size : Comparison
        Result with one epsilon and several numbers of records.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, grid = plt.subplots(2, 2, figsize=(8.6, 6.6), layout="constrained")
    panels = list(grid.flat)
    for axes, (title, result) in zip(panels, by_epsilon.items(), strict=False):
        _panel(axes, result, [epsilon for _, epsilon in result.settings])
        axes.set(title=title, xlabel="ε")
    last = panels[len(by_epsilon)]
    _panel(last, by_size, [m for m, _ in by_size.settings])
    last.set(title=f"waves, ε = {by_size.settings[0][1]:g}", xlabel="number of records m")
    for axes in panels[len(by_epsilon) + 1 :]:
        axes.remove()
    fig.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig
