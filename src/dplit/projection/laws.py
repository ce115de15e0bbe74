r"""The exact law of least squares on randomly projected data: a multivariate Student t.

In the eigenbasis of :math:`X^\top X` the law of the fit :math:`\theta_{RP}` on n' projected rows,
with noise of variance ``penalty`` on the projected design, is known without a draw, and draws cost
little whatever n. All draws are research noise, not a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import betaprime

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.projection.regression import Spectrum, ridge_coefficients, ridge_error, ridge_objective


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
    problems: Sequence[Spectrum], sigmas: Sequence[float], n_samples: int,
    rng: np.random.Generator, size: tuple[int, ...] = (),
) -> Iterator[tuple[Array, Array]]:  # fmt: skip
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


def _projected_moments(
    problems: Sequence[Spectrum], penalties: Sequence[float], n_components: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Array, Array, Array]]:  # fmt: skip
    """Yield X'X, X'Y and the energies of Y of projected releases, with common noise, rotated.

    One triple per penalty; the problems share X and the direction of their residuals.
    """
    d, k = problems[0].n_features, len(problems)
    energies = problems[0].energies
    scores = np.column_stack([p.scores for p in problems])
    left = [math.sqrt(p.residual) for p in problems]
    T = bartlett_factor(n_components, d + min(k, d + 1), rng=rng)
    square = T.T @ T
    for penalty in penalties:
        root = np.sqrt(energies + penalty)
        last = np.sqrt(energies)[:, None] * scores / root[:, None]
        # the padded responses outside the span of the padded design: sqrt(penalty) U'y / root, r
        bent = math.sqrt(penalty) * scores / root[:, None]
        mix = np.vstack([last, np.linalg.qr(np.vstack([bent, left]), mode="r")])
        crossed = square @ mix
        gram = root[:, None] * square[:d, :d] * root
        yield gram, root[:, None] * crossed[:d], np.sum(mix * crossed, axis=0)


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


def expected_error(problem: Spectrum, *, penalty: float, n_components: int) -> float:
    r"""Mean of the relative error of the projected fit, given the data:
    :math:`\eta_1+\frac{\tau^2}{(n'-d-1)\|r\|^2}\sum_i\frac{\sigma_i^2}{\sigma_i^2+\lambda}`.

    Without noise it is :math:`(n'-1)/(n'-d-1)`, whatever the data. Infinite for n' <= d + 1, and if
    the design explains the response.
    """
    lam = check_nonnegative("penalty", penalty)
    _degrees(problem.n_features, n_components)
    if problem.residual <= 0 or n_components <= problem.n_features + 1:
        return math.inf
    spread = float(np.sum(problem.energies / (problem.energies + lam)))
    sketch = ridge_objective(problem, penalty=lam) * spread / problem.residual
    return ridge_error(problem, penalty=lam) + sketch / (n_components - problem.n_features - 1)


def error_sd(problem: Spectrum, *, penalty: float, n_components: int) -> float:
    r"""Standard deviation of the relative error, given the data; infinite for n' <= d + 3.

    With :math:`m=n'-d+1`, :math:`D_i=\sigma_i^2/(\sigma_i^2+\lambda)` and
    :math:`a_i=\lambda(u_i^\top y)/(\sigma_i^2+\lambda)`,

    .. math:: \|r\|^4\operatorname{Var}\eta=\frac{4\tau^2\sum a_i^2D_i}{m-2}
        +\tau^4\Big(\frac{2\sum D_i^2+(\sum D_i)^2}{(m-2)(m-4)}-\frac{(\sum D_i)^2}{(m-2)^2}\Big).
    """
    lam = check_nonnegative("penalty", penalty)
    _, m = _degrees(problem.n_features, n_components)
    if m <= 4 or problem.residual <= 0:
        return math.inf
    share = problem.energies / (problem.energies + lam)
    bias = lam / (problem.energies + lam) * problem.scores
    tau2 = ridge_objective(problem, penalty=lam)
    total, squares = float(share.sum()), float(share @ share)
    linear = 4.0 * tau2 * float(bias**2 @ share) / (m - 2)
    # written without the difference of two nearly equal fractions
    quadratic = (2.0 * squares + 2.0 * total**2 / (m - 2)) / ((m - 2) * (m - 4))
    return math.sqrt(linear + tau2**2 * quadratic) / problem.residual


def projection_moments(
    problem: Spectrum, *, penalty: float, n_components: int
) -> tuple[Array, Array]:
    r"""Mean (d,) and covariance (d, d) of the projected fit, given the data and n' >= d + 2 rows.

    The ridge coefficients, and :math:`\tau^2C^{-1}/(n'-d-1)` with :math:`C=X^\top X+\lambda I`.
    """
    lam = check_nonnegative("penalty", penalty)
    _, m = _degrees(problem.n_features, n_components)
    if m <= 2:
        raise ValueError(
            f"n_components must be at least d + 2 = {problem.n_features + 2} for a covariance, "
            f"got n_components={n_components}"
        )
    weights = ridge_objective(problem, penalty=lam) / ((problem.energies + lam) * (m - 2))
    covariance = (problem.basis * weights) @ problem.basis.T
    return ridge_coefficients(problem, penalty=lam), covariance


def sketch_factors(problem: Spectrum, coefficients: ArrayLike, *, penalty: float) -> Array:
    r"""Sketching factors :math:`\eta_3` of fits of shape (..., d) on projected data.

    :math:`1+(\theta-\theta_{RR})^\top C(\theta-\theta_{RR})/\tau^2`: the regularised objective over
    its least value.
    """
    lam = check_nonnegative("penalty", penalty)
    thetas = check_finite_array("coefficients", coefficients)
    gaps = problem.rotate(thetas - ridge_coefficients(problem, penalty=lam))
    excess = gaps**2 @ (problem.energies + lam)
    return np.asarray(1.0 + excess / ridge_objective(problem, penalty=lam))


def sketch_mean(*, n_features: int, n_components: int) -> float:
    """Mean :math:`(n'-1)/(n'-d-1)` of the sketching factor; infinite for n' <= d + 1."""
    d, m = _degrees(n_features, n_components)
    return (d + m - 2) / (m - 2) if m > 2 else math.inf


def sketch_quantile(
    probability: float | Sequence[float], *, n_features: int, n_components: int
) -> float | Array:
    r"""Quantiles of the sketching factor :math:`\eta_3=1+\chi^2_d/\chi^2_{n'-d+1}`.

    >>> round(sketch_quantile(0.95, n_features=800, n_components=1000), 3)
    5.812
    """
    d, m = _degrees(n_features, n_components)
    levels = np.atleast_1d(check_finite_array("probability", probability))
    for level in levels:
        check_probability("probability", float(level))
    found = 1.0 + betaprime.ppf(levels, d / 2, m / 2)
    return float(found[0]) if np.ndim(probability) == 0 else np.asarray(found)


def sketch_tail(delta: float, *, n_features: int, n_components: int) -> float:
    r"""Exact probability that the sketching factor exceeds :math:`(1+\delta)^2`.

    >>> f"{sketch_tail(10.0, n_features=2, n_components=4):.1e}"
    '7.5e-04'
    """
    d, m = _degrees(n_features, n_components)
    excess = check_nonnegative("delta", delta)
    return float(betaprime.sf(excess * (2.0 + excess), d / 2, m / 2))


def tail_asymptote(delta: float, *, n_features: int, n_components: int) -> float:
    r"""Leading term of :func:`sketch_tail` for large :math:`\delta`: a power, no exponential.

    :math:`\frac{\Gamma((n'+1)/2)}{\Gamma(d/2)\,\Gamma((n'-d+3)/2)}\,(\delta^2+2\delta)^{-(n'-d+1)/2}`.
    """
    d, m = _degrees(n_features, n_components)
    excess = check_nonnegative("delta", delta)
    if excess == 0:
        raise ValueError(f"delta must be positive, got delta={delta!r}")
    log = gammaln((d + m) / 2) - gammaln(d / 2) - gammaln(m / 2 + 1)
    return float(np.exp(log - m / 2 * math.log(excess * (2.0 + excess))))
