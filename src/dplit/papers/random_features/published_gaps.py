"""Gaps of excess risk between groups as they were published, and the floor of their estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_finite_array, check_integer, check_nonnegative, check_rng


def published_gap_estimates(
    eigenvalues: tuple[ArrayLike, ...],
    sizes: tuple[int, ...],
    *,
    sigma: float,
    rng: np.random.Generator,
    draws: int = 100,
) -> Array:
    """Excess-risk gaps ``|R - R_a|`` as the published code estimates them, sampled exactly.

    Eigenvalues of the Gram matrices (or of Phi^T Phi) and sizes, of the whole data set, then of
    each group. A risk has the law of ``(sigma^2 / n) sum_i lambda_i chi2_draws / draws``, anew for
    each set.
    """
    rng = check_rng(rng)
    sigma, draws = check_nonnegative("sigma", sigma), check_integer("draws", draws)
    if len(eigenvalues) != len(sizes) or len(sizes) < 2:
        raise ValueError(f"sizes must have one entry per spectrum and at least 2, got {sizes!r}")
    risks = []
    for values, size in zip(eigenvalues, sizes, strict=True):
        spectrum = np.clip(check_finite_array("eigenvalues", values, ndim=1), 0.0, None)
        chi2 = rng.chisquare(draws, size=len(spectrum)) / draws
        risks.append(sigma**2 / check_integer("sizes", size) * float(spectrum @ chi2))
    return np.abs(np.array(risks[1:]) - risks[0])


def estimator_floor(
    eigenvalues: tuple[ArrayLike, ...], sizes: tuple[int, ...], *, sigma: float, draws: int = 100
) -> Array:
    """Mean of the published gap estimate where the true gap is zero: its Monte-Carlo floor.

    ``sqrt(2/pi) sigma^2 sqrt((2/draws) (||G||_F^2/n^2 + ||G_a||_F^2/n_a^2))`` for each group;
    arguments as in :func:`published_gap_estimates`.
    """
    sigma, draws = check_nonnegative("sigma", sigma), check_integer("draws", draws)
    squares = [
        float(np.sum(check_finite_array("eigenvalues", v, ndim=1) ** 2))
        / check_integer("sizes", n) ** 2
        for v, n in zip(eigenvalues, sizes, strict=True)
    ]
    spread = 2.0 / draws * (squares[0] + np.array(squares[1:]))
    return np.asarray(np.sqrt(2.0 / np.pi) * sigma**2 * np.sqrt(spread))
