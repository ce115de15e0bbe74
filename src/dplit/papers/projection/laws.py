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

from dplit._checks import Array, check_finite_array, check_nonnegative, check_probability
from dplit.papers.projection.samplers import _degrees, bartlett_factor
from dplit.papers.projection.spectrum import (
    Spectrum,
    ridge_coefficients,
    ridge_error,
    ridge_objective,
)


def _projected_moments(
    problems: Sequence[Spectrum],
    penalties: Sequence[float],
    n_components: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Array, Array, Array]]:
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


def projected_error(problem: Spectrum, *, penalty: float, n_components: int) -> float:
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
