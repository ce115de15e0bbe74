"""What the paper says about Figures 4, 5 and 8, as comparisons of medians."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dplit_studies.sketching.noise_experiments import _NoiseGrid, expected_to_succeed
from dplit_studies.sketching.size_experiments import _SizeCurves

#: A median RSSE below this counts as a success of the experiment.
_GOOD = 1.05

#: In Figure 8 a size is good if its median RSSE is at most this.
_USABLE = 1.2


class _Sentence(NamedTuple):
    """A sentence, whether it came out true, and what was compared."""

    text: str
    outcome: bool
    how: str


def _accepted_cells(grid: _NoiseGrid, *, n_clusters: int, n_features: int) -> np.ndarray:
    """Cells of a grid in which the rule of Section 6.1 expects a success."""
    return np.array(
        [
            [expected_to_succeed(int(m), n_clusters, n_features, nsr=float(r)) for r in grid.ratios]
            for m in grid.sizes
        ]
    )


def noise_sentences(grid: _NoiseGrid, *, n_clusters: int, n_features: int) -> list[_Sentence]:
    """Figure 4: risk follows the noise-to-signal ratio, and accepted noise costs nothing."""
    median = grid.median[0]
    accepted = _accepted_cells(grid, n_clusters=n_clusters, n_features=n_features)[0]
    thirds = median[[0, int(np.searchsorted(grid.ratios, 0.04)), -1]]
    return [
        _Sentence(
            "The RSSE rises with the noise-to-signal ratio",
            bool(np.all(np.diff(thirds) > 0)),
            "medians at the least, a middle and the largest ratio",
        ),
        _Sentence(
            "Accepted noise costs nothing yet",
            bool(np.all(median[accepted] < _GOOD)),
            f"medians below {_GOOD:g} up to the largest accepted ratio",
        ),
    ]


def noise_size_sentences(grid: _NoiseGrid, *, n_clusters: int, n_features: int) -> list[_Sentence]:
    """Figure 5: failure at small sizes, success of what the rule accepts."""
    unit, median = n_clusters * n_features, grid.median
    accepted = _accepted_cells(grid, n_clusters=n_clusters, n_features=n_features)
    accepted &= (grid.sizes >= 2.5 * unit)[:, None]
    low = grid.sizes <= 1.3 * unit
    at_line = median[np.flatnonzero(grid.sizes >= 2 * unit)[0], 0]
    return [
        _Sentence(
            "Reconstruction fails well below m = 2kd, whatever the noise",
            bool(np.all(median[low] > 1.5)),
            "medians above 1.5 up to m = 1.3 kd",
        ),
        _Sentence(
            "The line m = 2kd is where it begins to succeed",
            bool(at_line < 0.5 * (1 + median[low, 0].min())),
            "excess risk at the line at most half of that at 1.3 kd, least noise",
        ),
        _Sentence(
            "Everything that the rule accepts succeeds from m = 2.5 kd on",
            bool(np.all(median[accepted] < _GOOD)),
            f"medians below {_GOOD:g}",
        ),
    ]


def size_sentences(curves: _SizeCurves, *, n_clusters: int, n_features: int) -> list[_Sentence]:
    """Figure 8: what Section 6.6 says about private sketches of growing size."""
    unit, median = n_clusters * n_features, curves.median
    places = [int(np.argmin(np.abs(curves.sizes / unit - r))) for r in (1, 2, 5, 20)]
    free = median[:, 0, -1][:, places]
    budgets = np.log(np.outer(curves.n_samples, curves.epsilons[:-1]) / 1000.0)
    moderate = np.array(
        [median[n, 0, int(np.argmin(np.abs(row)))] for n, row in enumerate(budgets)]
    )
    good = curves.within(_USABLE)
    return [
        _Sentence(
            "Without privacy the risk falls with m",
            bool(np.all(np.diff(free, axis=1) < 0)),
            "medians at m/kd = 1, 2, 5, 20 for every n",
        ),
        _Sentence(
            "With Laplace noise larger sketches are worse at some point",
            bool(np.all(moderate[:, -1] > 1.1 * moderate.min(axis=1))),
            "largest m at least 10 % above the best, n epsilon = 1000, every n",
        ),
        _Sentence(
            "A smaller epsilon leaves fewer good sizes",
            bool(
                np.all(np.diff(good[:, 0], axis=1) >= -1) and np.all(good[:, 0, 0] < good[:, 0, -1])
            ),
            f"sizes with median at most {_USABLE:g}, up to one size of the grid",
        ),
        _Sentence(
            "Gaussian noise leaves more good sizes at equal epsilon",
            bool(np.all(good[:, 1].sum(axis=1) > good[:, 0].sum(axis=1))),
            f"sizes with median at most {_USABLE:g}, all budgets, every n",
        ),
    ]
