"""What the paper says about Figures 4, 5 and 8, as comparisons of medians."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplit.sketching.noise_experiments import expected_to_succeed

if TYPE_CHECKING:
    from dplit.sketching.noise_experiments import NoiseGrid
    from dplit.sketching.size_experiments import SizeCurves

__all__ = [
    "Sentence",
    "accepted_cells",
    "noise_sentences",
    "noise_size_sentences",
    "size_sentences",
]

#: A median RSSE below this counts as a success of the experiment.
GOOD = 1.05
#: In Figure 8 a size is good if its median RSSE is at most this.
USABLE = 1.2


class Sentence(NamedTuple):
    """A sentence, whether it came out true, and what was compared."""

    text: str
    outcome: bool
    how: str


def accepted_cells(grid: NoiseGrid, *, n_clusters: int, n_features: int) -> np.ndarray:
    """Cells of a grid in which the rule of Section 6.1 expects a success.

    Parameters
    ----------
    grid : NoiseGrid
        Sizes and ratios.
    n_clusters, n_features : int
        k and d.

    Returns
    -------
    ndarray of bool of shape (S, R)
        True where ``m >= 2 k d`` and the ratio is at most ``m / (10^3 k d)``.
    """
    return np.array(
        [
            [expected_to_succeed(int(m), n_clusters, n_features, nsr=float(r)) for r in grid.ratios]
            for m in grid.sizes
        ]
    )


def noise_sentences(grid: NoiseGrid, *, n_clusters: int, n_features: int) -> list[Sentence]:
    """Figure 4: risk follows the noise-to-signal ratio, and accepted noise costs nothing.

    Parameters
    ----------
    grid : NoiseGrid
        Its first size is used.
    n_clusters, n_features : int
        k and d.

    Returns
    -------
    list of Sentence
        Two sentences.
    """
    median = grid.median[0]
    accepted = accepted_cells(grid, n_clusters=n_clusters, n_features=n_features)[0]
    thirds = median[[0, int(np.searchsorted(grid.ratios, 0.04)), -1]]
    return [
        Sentence(
            "The RSSE rises with the noise-to-signal ratio",
            bool(np.all(np.diff(thirds) > 0)),
            "medians at the least, a middle and the largest ratio",
        ),
        Sentence(
            "Accepted noise costs nothing yet",
            bool(np.all(median[accepted] < GOOD)),
            f"medians below {GOOD:g} up to the largest accepted ratio",
        ),
    ]


def noise_size_sentences(grid: NoiseGrid, *, n_clusters: int, n_features: int) -> list[Sentence]:
    """Figure 5: failure at small sizes, success of what the rule accepts.

    Parameters
    ----------
    grid : NoiseGrid
        Sizes from ``k d`` to beyond ``2.5 k d``.
    n_clusters, n_features : int
        k and d.

    Returns
    -------
    list of Sentence
        Three sentences.
    """
    unit, median = n_clusters * n_features, grid.median
    accepted = accepted_cells(grid, n_clusters=n_clusters, n_features=n_features)
    accepted &= (grid.sizes >= 2.5 * unit)[:, None]
    low = grid.sizes <= 1.3 * unit
    at_line = median[np.flatnonzero(grid.sizes >= 2 * unit)[0], 0]
    return [
        Sentence(
            "Reconstruction fails well below m = 2kd, whatever the noise",
            bool(np.all(median[low] > 1.5)),
            "medians above 1.5 up to m = 1.3 kd",
        ),
        Sentence(
            "The line m = 2kd is where it begins to succeed",
            bool(at_line < 0.5 * (1 + median[low, 0].min())),
            "excess risk at the line at most half of that at 1.3 kd, least noise",
        ),
        Sentence(
            "Everything that the rule accepts succeeds from m = 2.5 kd on",
            bool(np.all(median[accepted] < GOOD)),
            f"medians below {GOOD:g}",
        ),
    ]


def size_sentences(curves: SizeCurves, *, n_clusters: int, n_features: int) -> list[Sentence]:
    """Figure 8: what Section 6.6 says about private sketches of growing size.

    Parameters
    ----------
    curves : SizeCurves
        Deltas 0 and a positive one; epsilons increasing, the last infinite.
    n_clusters, n_features : int
        k and d.

    Returns
    -------
    list of Sentence
        Four sentences; ``n epsilon = 1000`` (nearest budget) stands for a moderate n.
    """
    unit, median = n_clusters * n_features, curves.median
    places = [int(np.argmin(np.abs(curves.sizes / unit - r))) for r in (1, 2, 5, 20)]
    free = median[:, 0, -1][:, places]
    budgets = np.log(np.outer(curves.n_samples, curves.epsilons[:-1]) / 1000.0)
    moderate = np.array(
        [median[n, 0, int(np.argmin(np.abs(row)))] for n, row in enumerate(budgets)]
    )
    good = curves.within(USABLE)
    return [
        Sentence(
            "Without privacy the risk falls with m",
            bool(np.all(np.diff(free, axis=1) < 0)),
            "medians at m/kd = 1, 2, 5, 20 for every n",
        ),
        Sentence(
            "With Laplace noise larger sketches are worse at some point",
            bool(np.all(moderate[:, -1] > 1.1 * moderate.min(axis=1))),
            "largest m at least 10 % above the best, n epsilon = 1000, every n",
        ),
        Sentence(
            "A smaller epsilon leaves fewer good sizes",
            bool(
                np.all(np.diff(good[:, 0], axis=1) >= -1) and np.all(good[:, 0, 0] < good[:, 0, -1])
            ),
            f"sizes with median at most {USABLE:g}, up to one size of the grid",
        ),
        Sentence(
            "Gaussian noise leaves more good sizes at equal epsilon",
            bool(np.all(good[:, 1].sum(axis=1) > good[:, 0].sum(axis=1))),
            f"sizes with median at most {USABLE:g}, all budgets, every n",
        ),
    ]
