"""The figure of the budget split: fractions, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np

from dplit.sketching.counts import (
    Setting,
    best_fraction,
    limit_fraction,
    printed_asymptote,
    printed_fraction,
    split_loss,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "budget_figure",
]


def budget_figure(
    *, n_components: int, c0: float, epsilon: float, n_frozen: float, decades: tuple[float, float]
) -> Figure:
    r"""Draw the share of the count by :math:`n\varepsilon`, and the loss of three rules.

    Parameters
    ----------
    n_components : int
        Number m of features.
    c0 : float
        :math:`m/\|z\|^2`.
    epsilon : float
        Budget.
    n_frozen : float
        Public count at which the frozen rule takes its fraction.
    decades : tuple of float
        Decimal logarithms of the least and the largest :math:`n\varepsilon`.

    Returns
    -------
    matplotlib.figure.Figure
        Left the shares :math:`1-\gamma`; right noise-to-signal ratios over the best one.
    """
    products = np.logspace(*decades, 61)
    cases = [Setting(product / epsilon, epsilon, n_components, c0) for product in products]
    exact = [1 - best_fraction(case) for case in cases]
    closed = [1 - printed_fraction(n=case.n, epsilon=epsilon) for case in cases]
    above = products > 1.5
    counts = products[above] / epsilon
    asymptote = [1 - printed_asymptote(n=float(n), epsilon=epsilon) for n in counts]
    limit = 1 - limit_fraction(n_components=n_components, c0=c0)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.7))
    left.loglog(products, exact, label="exact")
    left.loglog(products, closed, label="printed closed form")
    left.loglog(products[above], asymptote, label=r"printed $(n\varepsilon)^{-2/3}$")
    left.axhline(limit, color="#000000", linestyle=":", lw=1.2, label="limit")
    left.set(xlabel=r"$n\varepsilon$", ylabel=r"share of the count, $1-\gamma$")
    left.legend(fontsize=8.5)
    frozen = printed_asymptote(n=n_frozen, epsilon=epsilon)
    true = [split_loss(c, fraction=1 - a) for c, a in zip(cases, closed, strict=True)]
    stuck = [split_loss(c, fraction=frozen) for c in cases]
    right.loglog(products, true, label="printed, at the true $n$")
    right.loglog(products, stuck, label="printed, frozen at $n_0$")
    right.axvline(n_frozen * epsilon, ymax=0.7, color="gray", linestyle=":", lw=1.2)
    right.text(n_frozen * epsilon * 1.15, max(true) ** 0.6, r"$n_0\varepsilon$", fontsize=9)
    right.set(xlabel=r"$n\varepsilon$", ylabel="ratio to the best split")
    right.legend(fontsize=8.5)
    return fig
