"""Figures of the scalar-shift release: its privacy loss, and the attacks on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator
from scipy.stats import laplace

from dplit.erm.experiments.audits import ShiftAudit, privacy_loss
from dplit.erm.pairs import LinePair
from dplit.erm.release import release_scalar_shift

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dplit.erm.experiments.attacks import PatternCurve, ReconstructionRuns

__all__ = [
    "loss_figure",
    "pattern_figure",
    "reconstruction_figure",
    "shift_figure",
]


#: Label, colour, line style and marker of the printed scale and of the one that is needed.
_SCALES = (
    ("printed scale", "#D55E00", "-", "o"),
    ("doubled scale", "#0072B2", "--", "s"),
)

_SIDES = (("z", "#0072B2", "-", "o"), ("neighbour", "#D55E00", "--", "x"))


def _losses(axes: Axes, ends: tuple[float, float], scale: float, audit: ShiftAudit, k: int) -> None:
    name, colour, dashes, marker = _SCALES[k]
    t = np.linspace(audit.centres[0], audit.centres[-1], 401)
    axes.plot(t, privacy_loss(t, *ends, scale=scale), color=colour, linestyle=dashes, label=name)
    band = audit.losses - audit.low, audit.high - audit.losses
    axes.errorbar(
        audit.centres, audit.losses, band, color=colour, marker=marker, markersize=4,
        linestyle="none", capsize=2,
    )  # fmt: skip


def loss_figure(
    pair: LinePair, scales: Sequence[float], audits: Sequence[ShiftAudit], *, epsilon: float
) -> Figure:
    """Densities of one answer on two neighbours, and their log ratio with audit points (F2).

    Parameters
    ----------
    pair : LinePair
        The neighbours; the answer is asked at 1.
    scales : sequence of two float
        Printed and doubled scale.
    audits : sequence of two ShiftAudit
        Audits with these scales.
    epsilon : float
        The claim, drawn as a band.

    Returns
    -------
    Figure
    """
    ends = float(pair.slope), float(pair.other_slope)
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.9))
    centres = audits[0].centres
    t = np.linspace(2 * centres[0], 2 * centres[-1], 601)
    for k, (scale, audit) in enumerate(zip(scales, audits, strict=True)):
        name, colour, dashes, _ = _SCALES[k]
        for centre, width, side in zip(ends, (2.0, 1.0), ("z", "neighbour"), strict=True):
            left.plot(
                t, laplace.pdf(t, centre, scale), color=colour, linestyle=dashes, linewidth=width,
                label=f"{name}, {side}",
            )  # fmt: skip
        _losses(right, ends, scale, audit, k)
    right.axhspan(-epsilon, epsilon, color="#999999", alpha=0.2, linewidth=0, label="claimed")
    left.set(xlabel="released value", ylabel="density")
    right.set(xlabel="released value", ylabel="privacy loss")
    for axes, columns in ((left, 2), (right, 3)):
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=columns, fontsize=8,
            columnspacing=1.0,
        )  # fmt: skip
    return fig


def shift_figure(pair: LinePair, *, scale: float, rng: np.random.Generator) -> Figure:
    """Twenty releases on either data set, and what two of their values tell (F3 a, b).

    Parameters
    ----------
    pair : LinePair
    scale : float
        Laplace scale of the shift.
    rng : numpy.random.Generator

    Returns
    -------
    Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.8))
    ends = np.array([-1.0, 1.0])
    for values, (name, colour, dashes, marker) in zip(pair.values(ends), _SIDES, strict=True):
        noisy = release_scalar_shift(values, scale=scale, rng=rng, releases=20)
        for k, line in enumerate(noisy):
            left.plot(
                ends, line, color=colour, linestyle=dashes, linewidth=0.9,
                label=name if k == 0 else None,
            )  # fmt: skip
        right.plot(
            noisy[:, 1], noisy[:, 1] - noisy[:, 0], color=colour, marker=marker, linestyle="none",
            markersize=5, label=name,
        )  # fmt: skip
    left.set(xlabel="x", ylabel="released function")
    right.set(xlabel="released value at 1", ylabel="value at 1 minus value at −1")
    right.set_ylim(-2.6 * pair.distance, 2.6 * pair.distance)
    handles, names = left.get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=2, fontsize=8)
    right.legend(loc="upper left", fontsize=8)
    return fig


def pattern_figure(curve: PatternCurve) -> Figure:
    """Probability of the labels (+, −) against the nominal budget (F3 c).

    Parameters
    ----------
    curve : PatternCurve

    Returns
    -------
    Figure
    """
    fig, axes = plt.subplots(figsize=(6.0, 3.6))
    epsilon = np.linspace(0.0, 1.05 * float(curve.epsilons.max()), 200)
    for k, (name, colour, dashes, marker) in enumerate(_SCALES):
        exact = -np.expm1(-epsilon / (k + 1))
        axes.plot(epsilon, exact, color=colour, linestyle=dashes, label=f"on z, {name}")
        axes.errorbar(
            curve.epsilons, curve.hits[k] / curve.runs, 5 * curve.se[k], color=colour,
            marker=marker, linestyle="none", capsize=3,
        )  # fmt: skip
    axes.plot(
        curve.epsilons, curve.other_hits.max(axis=0) / curve.runs, color="#333333", marker="x",
        linestyle=":", label="on the neighbour, both scales",
    )  # fmt: skip
    axes.set(xlabel="nominal ε", ylabel="probability of (+, −) at (1, −1)")
    axes.legend(loc="upper left", fontsize=8)
    return fig


def reconstruction_figure(printed: ReconstructionRuns, fresh: ReconstructionRuns) -> Figure:
    """Error of the reconstructed record against the number of answers (F3 d).

    Parameters
    ----------
    printed : ReconstructionRuns
        Attack on one shift for all answers.
    fresh : ReconstructionRuns
        The same attack on fresh noise at every point.

    Returns
    -------
    Figure
    """
    fig, axes = plt.subplots(figsize=(6.4, 3.8))
    axes.plot(
        printed.counts, printed.farthest.T, color="#D55E00", marker="o", markersize=4,
        linewidth=0.7, linestyle="-", alpha=0.8,
    )  # fmt: skip
    axes.plot(
        fresh.counts, fresh.nearest.T, color="#0072B2", marker="s", markersize=4, linewidth=0.7,
        linestyle="--", alpha=0.8,
    )  # fmt: skip
    axes.lines[0].set_label("one shift for all answers (as printed)")
    axes.lines[len(printed.farthest)].set_label("fresh noise at every answer")
    axes.set(
        yscale="log", xlabel="number of released values",
        ylabel="largest error of a coordinate of the record",
    )  # fmt: skip
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center right", fontsize=8)
    return fig
