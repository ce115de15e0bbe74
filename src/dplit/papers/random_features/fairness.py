"""Fairness measures of a linear model under Gaussian output noise, exact and as published.

For squared loss what Section 3.4 approximates is exact: noise of standard deviation sigma on the
coefficients adds sigma^2 ||phi(x)||^2 to the expected squared error at x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_real_array,
)


def risk(residuals: ArrayLike) -> float:
    """Empirical risk (1): the mean squared residual, without the factor 1/2."""
    return float(np.mean(check_real_array("residuals", residuals, 1) ** 2))


def _row_norms2(features: ArrayLike) -> Array:
    matrix = check_finite_array("features", features, ndim=2)
    return np.asarray(np.sum(np.abs(matrix) ** 2, axis=1), dtype=float)


def excess_risk_exact(features: ArrayLike, *, sigma: float) -> float:
    """Expected excess risk of a linear model with Gaussian noise on its coefficients, Definition 3.

    ``sigma^2 mean_j ||phi(x_j)||^2`` for feature rows (n, N): no minimality of the coefficients and
    no second-order approximation is needed. For complex noise sigma is the root of ``E|z_k|^2``.
    """
    return check_nonnegative("sigma", sigma) ** 2 * float(_row_norms2(features).mean())


def excess_risk_gap_exact(features: ArrayLike, groups: ArrayLike, *, sigma: float) -> Array:
    """Exact excess-risk gaps of the groups, in increasing order (Definition 4).

    ``sigma^2 |mean_a ||phi||^2 - mean ||phi||^2|``, the coefficients being those of the whole data
    set: zero where all rows have one norm. The printed chain (9) is half of this.
    """
    norms = _row_norms2(features)
    members = np.asarray(groups)
    if members.shape != norms.shape:
        raise ValueError(f"groups must have one entry per row, got shape {members.shape}")
    sigma = check_nonnegative("sigma", sigma)
    means = [norms[members == group].mean() for group in np.unique(members)]
    return np.asarray(sigma**2 * np.abs(np.array(means) - norms.mean()))


def ks_distance(a: ArrayLike, b: ArrayLike, *, grid: ArrayLike | None = None) -> float:
    """Kolmogorov-Smirnov distance of the outputs in two groups (Definition 5), exact or on a grid.

    A grid, which the paper uses, never over-estimates.
    """
    first = np.sort(check_real_array("a", a, 1))
    second = np.sort(check_real_array("b", b, 1))
    points = np.concatenate([first, second]) if grid is None else check_real_array("grid", grid)
    left = np.searchsorted(first, points, side="right") / len(first)
    right = np.searchsorted(second, points, side="right") / len(second)
    return float(np.max(np.abs(left - right)))


def ks_null(n1: int, n2: int) -> tuple[float, float]:
    """Mean and standard deviation of the KS distance of two samples of one continuous law.

    ``0.8687 / sqrt(n)`` and ``0.2603 / sqrt(n)`` with ``n = n1 n2 / (n1 + n2)``: what parity scores
    of pure independent noise look like. From the Kolmogorov law (mean ``sqrt(pi/2) log 2``, second
    moment ``pi^2/12``); below about 100 records the exact mean is smaller by some percent.

    >>> ks_null(1599, 4898)[0].__round__(4)
    0.025
    """
    n1, n2 = check_integer("n1", n1), check_integer("n2", n2)
    n = n1 * n2 / (n1 + n2)
    mean = np.sqrt(np.pi / 2.0) * np.log(2.0)
    sd = np.sqrt(np.pi**2 / 12.0 - mean**2)
    return float(mean / np.sqrt(n)), float(sd / np.sqrt(n))


def _expected_absolute_error(residuals: ArrayLike, noise_sd: ArrayLike) -> Array:
    """Expected absolute residual ``E |r + s g|``, g normal; s, one or by record, is
    ``sigma ||phi||``: ``s sqrt(2/pi) exp(-r^2 / 2s^2) + r erf(r / (s sqrt 2))``.
    """
    r = check_real_array("residuals", residuals, 1)
    s = check_real_array("noise_sd", noise_sd)
    if np.any(s < 0):
        raise ValueError(f"noise_sd must be nonnegative, got noise_sd={float(s.min())!r}")
    s = np.broadcast_to(s, r.shape)
    safe = np.where(s > 0, s, 1.0)
    folded = safe * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * (r / safe) ** 2)
    return np.asarray(np.where(s > 0, folded + r * erf(r / (safe * np.sqrt(2.0))), np.abs(r)))


@dataclass(frozen=True)
class _ErrorGaps:
    """Largest difference of two groups' mean squared, absolute and signed residuals in a stratum.

    ``*_private`` is after the noise; ``strata`` counts the strata that contain two groups.
    """

    squared: float
    squared_private: float
    absolute: float
    absolute_private: float
    bias: float
    bias_private: float
    strata: int


def error_gaps(
    residuals: ArrayLike, groups: ArrayLike, *, noise_sd: ArrayLike, strata: ArrayLike | None = None
) -> _ErrorGaps:
    """Equalised-odds gaps of a regression: error differences between groups given the label.

    Exact expectations over noise of standard deviation ``noise_sd``, one or one per record;
    ``strata`` holds the label stratum of each record, one by default (equal errors overall).
    """
    r = check_real_array("residuals", residuals, 1)
    members = np.asarray(groups)
    bins = np.zeros(len(r), dtype=int) if strata is None else np.asarray(strata)
    if members.shape != r.shape or bins.shape != r.shape:
        raise ValueError("groups and strata must have one entry per residual")
    absolute = _expected_absolute_error(r, noise_sd)
    s2 = np.broadcast_to(np.asarray(noise_sd, dtype=float), r.shape) ** 2
    values = np.column_stack([r**2, r**2 + s2, np.abs(r), absolute, r, r])
    kinds = [kind + end for kind in ("squared", "absolute", "bias") for end in ("", "_private")]
    gaps = []
    for value in np.unique(bins):
        inside = bins == value
        present = np.unique(members[inside])
        if len(present) < 2:
            continue
        means = np.array([values[inside & (members == g)].mean(axis=0) for g in present])
        gaps.append(means.max(axis=0) - means.min(axis=0))
    if not gaps:
        raise ValueError("strata must include one that contains two groups")
    return _ErrorGaps(
        strata=len(gaps), **dict(zip(kinds, np.max(gaps, axis=0).tolist(), strict=True))
    )
