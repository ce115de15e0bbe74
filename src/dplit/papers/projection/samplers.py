"""Draws of fits on projected and on noisy tables through their second moments, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dplit._checks import Array, check_integer, check_nonnegative, check_positive, check_rng
from dplit.papers.projection.spectrum import Spectrum, ridge_objective


def _degrees(n_features: int, n_components: int) -> tuple[int, int]:
    """Return d and the degrees of freedom n' - d + 1."""
    d = check_integer("n_features", n_features)
    rows = check_integer("n_components", n_components)
    if rows < d:
        raise ValueError(
            f"n_components must be at least the {d} columns of X, got n_components={rows}: "
            "least squares on the projected data has no unique solution"
        )
    return d, rows - d + 1


def _student_draws(
    problem: Spectrum, penalty: float, n_components: int, size: int, rng: np.random.Generator
) -> Array:
    """Return projected fits in the eigenbasis, shape (size, d)."""
    lam = check_nonnegative("penalty", penalty)
    d, m = _degrees(problem.n_features, n_components)
    tau = math.sqrt(ridge_objective(problem, penalty=lam))
    z = check_rng(rng).standard_normal((check_integer("size", size), d))
    chi = np.sqrt(rng.chisquare(m, size))
    weights = problem.energies + lam
    center = np.sqrt(problem.energies) * problem.scores / weights
    return np.asarray(center + (tau / chi)[:, None] * z / np.sqrt(weights))


def projection_draws(
    problem: Spectrum, *, penalty: float, n_components: int, size: int, rng: np.random.Generator
) -> Array:
    r"""Draw least-squares fits on projected data, shape (size, d), from their multivariate t law.

    :math:`\theta_{RR}+\tau C^{-1/2}z/\chi_{n'-d+1}` with :math:`C=X^\top X+\lambda I`, given the
    data.
    """
    drawn = _student_draws(problem, penalty, n_components, size, rng)
    return np.asarray(drawn @ problem.basis.T)


def projection_errors(
    problem: Spectrum, *, penalty: float, n_components: int, size: int, rng: np.random.Generator
) -> Array:
    """Draw relative errors of projected fits: d normals and one chi-square each, no matrix."""
    return problem.errors(_student_draws(problem, penalty, n_components, size, rng))


def bartlett_factor(
    n_rows: int, n_columns: int, *, rng: np.random.Generator, size: tuple[int, ...] = ()
) -> Array:
    r"""Draw an upper trapezoidal T: T'T has the law of G'G for a Gaussian G of ``n_rows`` rows.

    :math:`T_{ii}^2\sim\chi^2_{n-i+1}`, :math:`T_{ij}\sim N(0,1)` for i < j, all independent; with
    fewer rows than columns, even 0, the factor has that many rows. ``size`` asks for an array.
    """
    n = check_integer("n_rows", n_rows, minimum=0)
    d = check_integer("n_columns", n_columns)
    generator = check_rng(rng)
    depth = min(n, d)
    factor, on = np.triu(generator.standard_normal((*size, depth, d)), 1), np.arange(depth)
    factor[..., on, on] = np.sqrt(generator.chisquare(n - on, (*size, depth)))
    return np.asarray(factor)


def _additive_moments(
    problems: Sequence[Spectrum],
    sigmas: Sequence[float],
    n_samples: int,
    rng: np.random.Generator,
    size: tuple[int, ...] = (),
) -> Iterator[tuple[Array, Array]]:
    """Yield X'X and X'Y of noisy data in the eigenbasis, one pair per level, with common noise.

    The problems share X and the direction of their residuals; ``size`` asks for arrays of both.
    """
    d = problems[0].n_features
    root = np.sqrt(problems[0].energies)
    scores = np.column_stack([p.scores for p in problems])
    response = np.vstack([scores, [math.sqrt(p.residual) for p in problems]])
    inside = rng.standard_normal((*size, d + 1, d))  # noise in the span of X and y
    # noise orthogonal to both
    outside = bartlett_factor(n_samples - d - 1, d, rng=rng, size=size)
    both = np.concatenate([inside, outside], axis=-2)
    square, mixed = both.mT @ both, root[:, None] * inside[..., :d, :]
    mixed = mixed + mixed.mT
    noisy, on = inside.mT @ response, np.arange(d)
    for sigma in sigmas:
        gram = sigma * mixed + sigma**2 * square
        gram[..., on, on] += problems[0].energies
        yield gram, root[:, None] * scores + sigma * noisy


def _samples(problem: Spectrum, n_samples: int) -> int:
    n = check_integer("n_samples", n_samples)
    if n <= problem.n_features:
        raise ValueError(
            f"n_samples must exceed the {problem.n_features} columns of X, got n_samples={n}"
        )
    return n


def additive_draws(
    problem: Spectrum, *, sigma: float, n_samples: int, size: int, rng: np.random.Generator
) -> Array:
    """Draw fits (size, d) on data with noise ``sigma`` on every entry; the cost is free of n."""
    level, n = check_positive("sigma", sigma), _samples(problem, n_samples)
    generator = check_rng(rng)
    count = check_integer("size", size)
    block, drawn = max(2**20 // problem.n_features**2, 1), []
    for start in range(0, count, block):
        shape = (min(block, count - start),)
        ((gram, cross),) = _additive_moments([problem], [level], n, generator, shape)
        drawn.append(np.linalg.solve(gram, cross)[..., 0])
    return np.asarray(np.concatenate(drawn) @ problem.basis.T)
