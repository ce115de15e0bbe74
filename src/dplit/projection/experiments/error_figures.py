"""The figures of errors: by rows, by budget, for digits, and the exact law beside simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter, ScalarFormatter
from numpy.typing import ArrayLike
from scipy.stats import betaprime

from dplit.projection.experiments.curves import RESPONSES
from dplit.projection.laws import sketch_tail, tail_asymptote

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.projection.experiments.curves import ErrorCurves
    from dplit.projection.experiments.digits import DigitCurves

__all__ = [
    "budget_figure",
    "digit_figure",
    "law_figure",
    "row_figure",
]


#: Label, colour, line style and marker of every scheme, the same in all figures.
STYLES: dict[str, tuple[str, str, Any, str]] = {
    "additive": ("additive noise", "#000000", ":", "o"),
    "log": ("projection, logarithmic n'", "#0072B2", "-", "s"),
    "linear": ("projection, linear n'", "#D55E00", "--", "^"),
    "full": ("projection, n' = n", "#009E73", "-.", "v"),
    "ols": ("without privacy", "#8c6d1f", (0, (8, 2)), "d"),
}

_TITLES = {"printed": "noise as printed", "repaired": "repaired noise"}


def _line(axes: Axes, x: Any, y: Any, scheme: str, band: Any = None, every: int = 1) -> None:
    label, colour, dashes, marker = STYLES[scheme]
    axes.plot(
        x, y, color=colour, linestyle=dashes, marker=marker, label=label, markevery=every, zorder=3
    )
    if band is not None:
        axes.fill_between(x, *band, color=colour, alpha=0.15, linewidth=0)


def _legend_below(fig: Figure, axes: Axes, columns: int = 2) -> None:
    handles, labels = axes.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)


def _error_panel(
    axes: Axes, curves: ErrorCurves, response: str, noise: str, x: Any, every: int = 1
) -> None:
    """Draw the means of all schemes; bands reach from the least to the largest trial."""
    values = curves.additive[response]
    _line(axes, x, values.mean(axis=0), "additive", (values.min(0), values.max(0)), every)
    for scheme in ("log", "linear", "full"):
        values = curves.expected[response, scheme, noise]
        _line(axes, x, values.mean(axis=0), scheme, (values.min(0), values.max(0)), every)


def _readable_log_axis(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers where it spans less than a decade."""
    axes.set_yscale("log")
    if axes.get_ylim()[1] < 20:
        axes.set_yticks([1, 1.5, 2, 3, 5, 7])
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())


def row_figure(curves: ErrorCurves, responses: Sequence[str] = ("unit", "noise")) -> Figure:
    """Relative error against n: one row per response model, printed noise beside the repair.

    Parameters
    ----------
    curves : ErrorCurves
        From :func:`dplit.projection.experiments.curves.row_curves`.
    responses : sequence of str
        Response models.

    Returns
    -------
    matplotlib.figure.Figure
    """
    size = (8.2, 0.9 + 2.6 * len(responses))
    fig, grid = plt.subplots(
        len(responses), 2, figsize=size, sharex=True, sharey="row", squeeze=False
    )
    for response, line in zip(responses, grid, strict=True):
        for noise, axes in zip(_TITLES, line, strict=True):
            _error_panel(axes, curves, response, noise, curves.axis / 1000.0)
            _readable_log_axis(axes)
            axes.set_title(f"{_TITLES[noise]}: {RESPONSES[response].title}", fontsize=9.5)
            axes.set_xlabel("rows n, in thousands")
            axes.set_ylabel("relative error")
    _legend_below(fig, grid[0, 0])
    return fig


def budget_figure(curves: ErrorCurves, response: str = "unit") -> Figure:
    """Relative error against the budget, printed noise beside the repair.

    Parameters
    ----------
    curves : ErrorCurves
        From :func:`dplit.projection.experiments.curves.budget_curves`.
    response : str, default="unit"

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, grid = plt.subplots(1, 2, figsize=(8.2, 4.0), sharey=True)
    for noise, axes in zip(_TITLES, grid, strict=True):
        _error_panel(axes, curves, response, noise, curves.axis, 3)
        axes.set_title(_TITLES[noise], fontsize=9.5)
        axes.set_xlabel("budget in bits per entry")
        axes.set_ylabel("relative error")
    _legend_below(fig, grid[0])
    return fig


def digit_figure(curves: DigitCurves) -> Figure:
    """Test error against the number of training samples, printed noise beside the repair.

    Parameters
    ----------
    curves : DigitCurves
        From :func:`dplit.projection.experiments.digits.digit_curves`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, grid = plt.subplots(1, 2, figsize=(8.2, 4.0), sharey=True)
    for noise, axes in zip(_TITLES, grid, strict=True):
        for scheme in ("ols", "additive", "log", "linear", "full"):
            mean, se = curves.mean(scheme, noise), curves.se(scheme, noise)
            _line(axes, curves.axis / 1000.0, mean, scheme, (mean - 2 * se, mean + 2 * se))
        axes.set_title(_TITLES[noise], fontsize=9.5)
        axes.set_xlabel("training samples n, in thousands")
        axes.set_ylabel("test error")
    _legend_below(fig, grid[0], columns=3)
    return fig


def law_figure(
    factors: ArrayLike, *, n_features: int, n_components: int, small: tuple[int, int] = (2, 4)
) -> Figure:
    """Simulated sketching factors beside their exact law, and the tail that no exponential bounds.

    Parameters
    ----------
    factors : array_like of shape (m,)
        Simulated factors eta_3.
    n_features, n_components : int
        Their d and n'.
    small : (int, int), default=(2, 4)
        d and n' of the right panel.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.8))
    values, m = np.asarray(factors, dtype=float), n_components - n_features + 1
    end = float(1.0 + betaprime.ppf(0.995, n_features / 2, m / 2))
    left.hist(
        values[values < end], bins=60, range=(1, end), color="#56B4E9", alpha=0.6,
        weights=np.full(int(np.sum(values < end)), 60 / ((end - 1) * len(values))),
        label="simulated projections",
    )  # fmt: skip
    grid = np.linspace(1.0 + 1e-6, end, 400)
    density = betaprime.pdf(grid - 1.0, n_features / 2, m / 2)
    left.plot(grid, density, color="#000000", linestyle="-", label="exact law")
    left.set(xlabel="sketching factor", ylabel="density")
    d, rows = small
    deltas = np.geomspace(0.3, 100.0, 60)
    shape = {"n_features": d, "n_components": rows}
    right.loglog(deltas, [sketch_tail(float(t), **shape) for t in deltas], label="exact tail")
    power = [tail_asymptote(float(t), **shape) for t in deltas]
    right.loglog(deltas, power, label=f"power δ^-{rows - d + 1}")
    right.loglog(deltas, 2 * np.exp(-rows * deltas**2 / 16), label="2 exp(-n'δ²/16)")
    right.set(xlabel="δ", ylabel="P(factor > (1+δ)²)", ylim=(1e-7, 3.0))
    for axes in (left, right):
        axes.legend(fontsize=9)
    return fig
