"""Chi-square tests of exact samplers on their error counts, and what they can see."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import chi2, chisquare, ncx2

from dplit._checks import check_finite_array, check_integer, check_interval

__all__ = ["detectable_budget", "level_pvalue"]


def level_pvalue(counts: ArrayLike, law: ArrayLike, drawn: ArrayLike) -> tuple[float, int]:
    """Chi-square test of drawn error counts against an enumerated law.

    Parameters
    ----------
    counts : array_like of shape (n,)
        Error counts of all candidates.
    law : array_like of shape (n,)
        Their probabilities.
    drawn : array_like of shape (t,)
        Error counts of the draws.

    Returns
    -------
    pvalue : float
        Of Pearson's statistic; counts with fewer than five expected draws are merged.
    levels : int
        Number of cells.

    Raises
    ------
    TypeError, ValueError
        If an array is not a finite vector, or a drawn count is none of the candidates'.

    Examples
    --------
    >>> round(level_pvalue([0, 1], [0.5, 0.5], [0] * 60 + [1] * 40)[0], 4)
    0.0455
    """
    values = check_finite_array("counts", counts, ndim=1).astype(float)
    masses = check_finite_array("law", law, ndim=1).astype(float)
    seen_counts = check_finite_array("drawn", drawn, ndim=1).astype(float)
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

    Parameters
    ----------
    counts, law : array_like of shape (n,)
        Error counts of all candidates, and their probabilities.
    n_draws : int
        Draws of the test.
    cells : int
        Cells of the test, at least 2.
    level : float
        Its false-alarm probability, in (0, 1).

    Returns
    -------
    float
        :math:`|\Delta\epsilon|`, to first order: the statistic has noncentrality
        :math:`t\,\Delta\epsilon^2\,\mathrm{Var}(N)/4` for t draws.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> options = dict(n_draws=10_000, cells=2, level=1e-4)
    >>> round(detectable_budget([0, 1], [0.5, 0.5], **options), 2)
    0.21
    """
    values = check_finite_array("counts", counts, ndim=1).astype(float)
    masses = check_finite_array("law", law, ndim=1).astype(float)
    df = check_integer("cells", cells, minimum=2) - 1
    critical = chi2.isf(check_interval("level", level, 0.0, 1.0), df)
    needed = brentq(lambda shift: ncx2.sf(critical, df, shift) - 0.9, 1e-6, 1e4)
    variance = float(masses @ (values - masses @ values) ** 2)
    return float(np.sqrt(4 * needed / (check_integer("n_draws", n_draws) * variance)))
