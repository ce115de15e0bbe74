"""The figures on conversions and on the bounds for additive noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_probability
from dplit.mechanisms import gaussian_delta
from dplit.projection.information import entry_mu, pinsker_delta, row_dp_epsilon, sharp_delta

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "bound_figure",
    "conversion_figure",
]


#: Whose privacy, number of entries, and length of the interval of an entry.
ROWS: dict[str, tuple[int, float]] = {
    "one entry in [-1, 1]": (1, 2.0),
    "a row of 300 pixels in [0, 1]": (300, 1.0),
    "a row of 800 entries in [-1, 1]": (800, 2.0),
}


def _entry_distance(epsilon: float) -> float:
    """Return the total variation distance of one entry at its two ends under additive noise."""
    return gaussian_delta(epsilon=0.0, sigma=1 / entry_mu(epsilon=epsilon))


def conversion_figure(*, delta: float, marks: Mapping[str, float]) -> Figure:
    """What a budget in bits means: distances on the left, epsilon of a row on the right.

    Parameters
    ----------
    delta : float
        Probability in (0, 1) at which the right panel is drawn.
    marks : mapping of str to float
        Name -> budget in bits; vertical lines.

    Returns
    -------
    matplotlib.figure.Figure
    """
    slip = check_probability("delta", delta)
    bits = np.geomspace(0.01, 1.0, 60)
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.0))
    left.plot(bits, [pinsker_delta(epsilon=e) for e in bits], label="Proposition 2")
    left.plot(bits, [sharp_delta(epsilon=e) for e in bits], label="sharp (flipped bit)")
    left.plot(bits, [_entry_distance(e) for e in bits], label="additive noise, one entry")
    left.plot(bits, bits, label="bit published with probability ε")
    left.set(xlabel="MI-DP budget in bits", ylabel="δ at ε = 0", ylim=(0, 1.7))
    for name, (d, width) in ROWS.items():
        curve = [row_dp_epsilon(epsilon=e, delta=slip, n_features=d, width=width) for e in bits]
        right.loglog(bits, curve, label=name)
    right.set(xlabel="MI-DP budget in bits", ylabel=f"ε of differential privacy, δ = {slip:g}")
    right.set_ylim(top=1e5)
    for axes in (left, right):
        for name, at in marks.items():
            axes.axvline(at, color="#555555", linewidth=0.8)
            axes.annotate(
                name, (at, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                ha="right", fontsize=8,
            )  # fmt: skip
        axes.legend(fontsize=8, loc="upper left")
    return fig


def bound_figure(
    epsilons: ArrayLike, curves: Mapping[str, ArrayLike], *, starts: Mapping[str, float]
) -> Figure:
    """Excess of the relative error over 1 against the budget, on a logarithmic axis.

    Parameters
    ----------
    epsilons : array_like of shape (k,)
        Budgets in bits.
    curves : mapping of str to array_like of shape (k,)
        Label -> relative errors or bounds on them; infinite ones are not drawn.
    starts : mapping of str to float
        Name -> budget; vertical lines.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a curve has another length than ``epsilons``.
    """
    x = np.asarray(epsilons, dtype=float)
    fig, axes = plt.subplots(figsize=(7.0, 4.2))
    markers: Any = iter("os^vdP")
    for label, values in curves.items():
        y = np.asarray(values, dtype=float) - 1.0
        if y.shape != x.shape:
            raise ValueError(f"curves must have {len(x)} values, got {label!r} of shape {y.shape}")
        axes.semilogy(x, np.where(np.isfinite(y), y, np.nan), marker=next(markers), label=label)
    for name, at in starts.items():
        axes.axvline(at, color="#555555", linewidth=0.8)
        axes.annotate(
            name, (at, 0.98), xycoords=("data", "axes fraction"), rotation=90,
            ha="right", va="top", fontsize=8,
        )  # fmt: skip
    axes.set(xlabel="MI-DP budget in bits per entry", ylabel="relative error minus 1")
    axes.legend(fontsize=9)
    return fig
