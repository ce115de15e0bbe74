"""Chi-square tests of exact samplers on their error counts, and what they can see."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import chi2, chisquare, ncx2

from dplit._checks import check_integer, check_interval, check_real_array


def level_pvalue(counts: ArrayLike, law: ArrayLike, drawn: ArrayLike) -> tuple[float, int]:
    """Chi-square test of drawn error counts against an enumerated law: p-value and cells.

    ``counts`` and ``law`` are those of all candidates; cells of less than five draws are merged.
    """
    values = check_real_array("counts", counts, 1)
    masses = check_real_array("law", law, 1)
    seen_counts = check_real_array("drawn", drawn, 1)
    levels, place = np.unique(values, return_inverse=True)
    where = np.minimum(np.searchsorted(levels, seen_counts), len(levels) - 1)
    if np.any(levels[where] != seen_counts):
        raise ValueError("drawn must hold error counts of candidates only")
    expected = np.bincount(place, weights=masses) * len(seen_counts)
    seen = np.bincount(where, minlength=len(levels)).astype(float)
    big = expected >= 5
    cells = np.append(expected[big], expected[~big].sum())
    hits = np.append(seen[big], seen[~big].sum())
    if cells[-1] < 5 and len(cells) > 1:  # too small a rest joins the cell before it
        cells[-2], hits[-2] = cells[-2] + cells[-1], hits[-2] + hits[-1]
        cells, hits = cells[:-1], hits[:-1]
    result = chisquare(hits, cells * hits.sum() / cells.sum())
    return float(result.pvalue), len(cells)


def detectable_budget(
    counts: ArrayLike, law: ArrayLike, *, n_draws: int, cells: int, level: float
) -> float:
    r"""Error of epsilon that the chi-square test of error counts sees with probability 0.9.

    To first order: the noncentrality of t draws is :math:`t\,\Delta\epsilon^2\,\mathrm{Var}(N)/4`.
    """
    values = check_real_array("counts", counts, 1)
    masses = check_real_array("law", law, 1)
    df = check_integer("cells", cells, minimum=2) - 1
    critical = chi2.isf(check_interval("level", level, 0.0, 1.0), df)
    needed = brentq(lambda shift: ncx2.sf(critical, df, shift) - 0.9, 1e-6, 1e4)
    variance = float(masses @ (values - masses @ values) ** 2)
    return float(np.sqrt(4 * needed / (check_integer("n_draws", n_draws) * variance)))
