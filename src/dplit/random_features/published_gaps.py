"""The published Monte-Carlo estimator of excess-risk gaps: its law and its noise floor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_rng

__all__ = ["estimator_floor", "published_gap_estimates"]

_Array = NDArray[np.float64]


def published_gap_estimates(
    eigenvalues: tuple[ArrayLike, ...], sizes: tuple[int, ...], *, sigma: float,
    rng: np.random.Generator, draws: int = 100,
) -> _Array:  # fmt: skip
    """Excess-risk gaps as the published code estimates them, sampled exactly.

    Parameters
    ----------
    eigenvalues : tuple of array_like
        Eigenvalues of the Gram matrix (or of Phi^T Phi) of the whole data set, then of each group.
    sizes : tuple of int
        Numbers of records, in the same order.
    sigma : float
        Standard deviation of the noise per coefficient.
    rng : numpy.random.Generator
    draws : int, default=100
        Noise draws behind each estimated risk; the code draws them anew for the whole data set and
        for each group.

    Returns
    -------
    ndarray of shape (k,)
        ``|R - R_a|`` of each group.

    Raises
    ------
    ValueError
        If an argument is out of range or there are fewer than two sets.

    Notes
    -----
    For least-squares coefficients the residual is orthogonal to the range of Phi, so the estimated
    excess risk is the mean of ``||Phi z||^2 / n`` and has the law of
    ``(sigma^2 / n) sum_i lambda_i chi2_draws / draws``: no vector of length N is drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> published_gap_estimates(([2.0], [1.0]), (2, 1), sigma=0.0, rng=rng)
    array([0.])
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
) -> _Array:
    """Mean of the published gap estimate where the true gap is zero: its Monte-Carlo floor.

    Parameters
    ----------
    eigenvalues, sizes, sigma, draws
        As in :func:`published_gap_estimates`.

    Returns
    -------
    ndarray of shape (k,)
        ``sqrt(2/pi) sigma^2 sqrt((2/draws) (||G||_F^2/n^2 + ||G_a||_F^2/n_a^2))``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    The mean of a half-normal variable; the estimate is a weighted sum of chi-squares with 100
    degrees of freedom, hence nearly normal.

    Examples
    --------
    >>> estimator_floor(([1.0, 1.0], [1.0]), (2, 1), sigma=1.0).round(6)
    array([0.138198])
    """
    sigma, draws = check_nonnegative("sigma", sigma), check_integer("draws", draws)
    squares = [
        float(np.sum(check_finite_array("eigenvalues", v, ndim=1) ** 2)) / n**2
        for v, n in zip(eigenvalues, sizes, strict=True)
    ]
    spread = 2.0 / draws * (squares[0] + np.array(squares[1:]))
    return np.asarray(np.sqrt(2.0 / np.pi) * sigma**2 * np.sqrt(spread))
