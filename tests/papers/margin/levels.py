"""Draws by their error counts, against the law of all candidates."""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

MERGE = 5.0  # expected count below which levels are merged


def levels_agree(counts, law, drawn):
    """Chi-square p-value of drawn error counts against the law of the levels."""
    levels, place = np.unique(counts, return_inverse=True)
    expected = np.bincount(place, weights=law) * len(drawn)
    seen = np.bincount(np.searchsorted(levels, drawn), minlength=len(levels)).astype(float)
    big = expected >= MERGE
    expected = np.append(expected[big], expected[~big].sum())
    seen = np.append(seen[big], seen[~big].sum())
    if expected[-1] < 1e-9:
        expected, seen = expected[:-1], seen[:-1]
    return chisquare(seen, expected * seen.sum() / expected.sum()).pvalue
