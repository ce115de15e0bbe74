r"""Exact draws of both mechanisms' fits that never form a projection or a noisy data set.

A projected fit costs d normals and one :math:`\chi^2`; a fit on noisy data costs a triangular
matrix of size d, whatever the number of rows. Both are equal in distribution to the mechanism as
written; :mod:`dplit.projection.couplings` shows the algebra, with the same noise on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_rng,
)
from dplit.projection.spectrum import Spectrum, ridge_objective

__all__ = [
    "additive_draws",
    "additive_path",
    "bartlett_factor",
    "projection_draws",
    "projection_errors",
    "wishart_draws",
]

_Array = NDArray[np.float64]


def _projected(problem: Spectrum, n_components: int) -> int:
    rows = check_integer("n_components", n_components)
    if rows < problem.n_features:
        raise ValueError(
            f"n_components must be at least the {problem.n_features} columns of X, "
            f"got n_components={rows}"
        )
    return rows


def _student_draws(
    problem: Spectrum, lam: float, rows: int, size: int, rng: np.random.Generator
) -> _Array:
    """Return projected fits in the eigenbasis, shape (size, d)."""
    tau = math.sqrt(ridge_objective(problem, penalty=lam))
    z = rng.standard_normal((size, problem.n_features))
    chi = np.sqrt(rng.chisquare(rows - problem.n_features + 1, size))
    weights = problem.energies + lam
    center = np.sqrt(problem.energies) * problem.scores / weights
    return np.asarray(center + (tau / chi)[:, None] * z / np.sqrt(weights))


def projection_draws(
    problem: Spectrum,
    *,
    penalty: float,
    n_components: int,
    size: int,
    rng: np.random.Generator,
) -> _Array:
    r"""Draw least-squares fits on projected data, from their multivariate t law.

    Parameters
    ----------
    problem : Spectrum
    penalty : float
        Noise variance :math:`\sigma_{RP}^2` on the projected design, nonnegative.
    n_components : int
        Number n' of projected rows, at least d.
    size : int
        Number of draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (size, d)
        Independent draws of :math:`\theta_{RP}` given the data. This is research noise in floating
        point, not a release.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`\theta_{RR}+\tau C^{-1/2}z/\chi_{n'-d+1}` with :math:`C=X^\top X+\lambda I`; see
    :func:`dplit.projection.exact_law.projection_moments`.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> rng = np.random.default_rng(0)
    >>> projection_draws(problem, penalty=0.0, n_components=9, size=2, rng=rng).shape
    (2, 1)
    """
    lam, rows = check_nonnegative("penalty", penalty), _projected(problem, n_components)
    check_integer("size", size)
    drawn = _student_draws(problem, lam, rows, size, check_rng(rng))
    return np.asarray(drawn @ problem.basis.T)


def projection_errors(
    problem: Spectrum,
    *,
    penalty: float,
    n_components: int,
    size: int,
    rng: np.random.Generator,
) -> _Array:
    """Draw relative errors of projected fits: d normals and one chi-square each, no matrix.

    Parameters and errors are those of :func:`projection_draws`.

    Returns
    -------
    ndarray of shape (size,)

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> rng = np.random.default_rng(0)
    >>> bool((projection_errors(problem, penalty=1.0, n_components=9, size=5, rng=rng) > 1).all())
    True
    """
    lam, rows = check_nonnegative("penalty", penalty), _projected(problem, n_components)
    check_integer("size", size)
    return problem.errors(_student_draws(problem, lam, rows, size, check_rng(rng)))


def bartlett_factor(n_rows: int, n_columns: int, *, rng: np.random.Generator) -> _Array:
    r"""Draw an upper trapezoidal factor T of a Wishart matrix: T'T has the law of G'G.

    Parameters
    ----------
    n_rows : int
        Rows of the Gaussian matrix G that T replaces; 0 is allowed.
    n_columns : int
        Its columns.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (min(n_rows, n_columns), n_columns)

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`T_{ii}^2\sim\chi^2_{n-i+1}`, :math:`T_{ij}\sim N(0,1)` for i < j, all independent. With
    fewer rows than columns the factor has that many rows.

    Examples
    --------
    >>> bartlett_factor(0, 3, rng=np.random.default_rng(0)).shape
    (0, 3)
    """
    n = check_integer("n_rows", n_rows, minimum=0)
    d = check_integer("n_columns", n_columns)
    generator = check_rng(rng)
    depth = min(n, d)
    factor = np.triu(generator.standard_normal((depth, d)), 1)
    np.fill_diagonal(factor, np.sqrt(generator.chisquare(n - np.arange(depth))))
    return np.asarray(factor)


def wishart_draws(
    problem: Spectrum,
    *,
    penalty: float,
    n_components: int,
    size: int,
    rng: np.random.Generator,
) -> _Array:
    r"""Draw projected fits from the Gram matrix of the release, a Wishart matrix.

    The route between the mechanism and its closed law: only :math:`W_{d+1}(n',M^\top M)` matters.

    Parameters and errors are those of :func:`projection_draws`.

    Returns
    -------
    ndarray of shape (size, d)

    Notes
    -----
    In the eigenbasis the Cholesky factor of :math:`M^\top M` is diagonal but for its last column,
    :math:`R=[[C^{1/2},\,C^{-1/2}X^\top y],[0,\tau]]`; the fit solves the leading block of T R.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> rng = np.random.default_rng(0)
    >>> wishart_draws(problem, penalty=0.0, n_components=9, size=2, rng=rng).shape
    (2, 1)
    """
    lam, rows = check_nonnegative("penalty", penalty), _projected(problem, n_components)
    generator, d = check_rng(rng), problem.n_features
    tau = math.sqrt(ridge_objective(problem, penalty=lam))
    root = np.sqrt(problem.energies + lam)
    last = np.sqrt(problem.energies) * problem.scores / root
    drawn = np.empty((check_integer("size", size), d))
    for k in range(size):
        # with n' = d the last column of T has no diagonal entry, and needs none
        T = bartlett_factor(rows, d + 1, rng=generator)[:d]
        right = T[:, :d] @ last + tau * T[:, d]
        drawn[k] = solve_triangular(T[:, :d], right, check_finite=False) / root
    return np.asarray(drawn @ problem.basis.T)


def _additive_rotated(
    problem: Spectrum, sigmas: Sequence[float], n_samples: int, rng: np.random.Generator
) -> _Array:
    """Return fits on noisy data in the eigenbasis, one per noise level, with common noise."""
    d = problem.n_features
    root = np.sqrt(problem.energies)
    response = np.append(problem.scores, math.sqrt(problem.residual))
    inside = rng.standard_normal((d + 1, d))  # noise in the span of X and y
    outside = bartlett_factor(n_samples - d - 1, d, rng=rng)  # noise orthogonal to both
    both = np.vstack([inside, outside])
    square, mixed = both.T @ both, root[:, None] * inside[:d]
    mixed = mixed + mixed.T
    noisy = inside.T @ response
    fits = np.empty((len(sigmas), d))
    for k, sigma in enumerate(sigmas):
        gram = sigma * mixed + sigma**2 * square
        gram[np.diag_indices(d)] += problem.energies
        factor = cho_factor(gram, overwrite_a=True, check_finite=False)
        fits[k] = cho_solve(factor, root * problem.scores + sigma * noisy, check_finite=False)
    return fits


def _samples(problem: Spectrum, n_samples: int) -> int:
    n = check_integer("n_samples", n_samples)
    if n <= problem.n_features:
        raise ValueError(
            f"n_samples must exceed the {problem.n_features} columns of X, got n_samples={n}"
        )
    return n


def additive_draws(
    problem: Spectrum, *, sigma: float, n_samples: int, size: int, rng: np.random.Generator
) -> _Array:
    r"""Draw least-squares fits on data with additive noise, at a cost that n does not enter.

    Parameters
    ----------
    problem : Spectrum
    sigma : float
        Standard deviation of the noise on every entry of X, positive.
    n_samples : int
        Number n of rows of X, above d.
    size : int
        Number of draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (size, d)
        Independent draws of :math:`\theta_{AN}` given the data. Research noise, not a release.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Let Q be an orthonormal frame of the span of X and y, and V the eigenbasis. Then
    :math:`Q^\top XV=[\Sigma;0]`, :math:`Q^\top y=[U^\top y;\|r\|]`, and
    :math:`Q^\top NV` is a Gaussian matrix with d + 1 rows. The rest of the noise is independent and
    orthogonal to y: only its Gram matrix matters, for which an upper trapezoidal factor with
    min(n - d - 1, d) rows is drawn.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> rng = np.random.default_rng(0)
    >>> additive_draws(problem, sigma=1.0, n_samples=2, size=3, rng=rng).shape
    (3, 1)
    """
    level, n = check_positive("sigma", sigma), _samples(problem, n_samples)
    generator = check_rng(rng)
    count = check_integer("size", size)
    drawn = [_additive_rotated(problem, [level], n, generator)[0] for _ in range(count)]
    return np.asarray(np.array(drawn) @ problem.basis.T)


def additive_path(
    problem: Spectrum, *, sigmas: Sequence[float], n_samples: int, rng: np.random.Generator
) -> _Array:
    """Draw one relative error of noisy-data fits per noise level, with common random numbers.

    Parameters
    ----------
    problem, n_samples, rng
        As in :func:`additive_draws`.
    sigmas : sequence of float
        Positive standard deviations. Each result has the right law; they share their noise, so
        that a curve over the levels is smooth and costs one factorisation per level.

    Returns
    -------
    ndarray of shape (len(sigmas),)

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.projection.spectrum import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> rng = np.random.default_rng(0)
    >>> additive_path(problem, sigmas=[1e-9, 1.0], n_samples=2, rng=rng)[0].round(6)
    np.float64(1.0)
    """
    levels = [check_positive("sigmas", float(s)) for s in check_finite_array("sigmas", sigmas)]
    n = _samples(problem, n_samples)
    return problem.errors(_additive_rotated(problem, levels, n, check_rng(rng)))
