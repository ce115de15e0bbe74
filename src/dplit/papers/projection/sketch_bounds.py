r"""Theorem 2 and its lemmas: the printed bounds, constants that were missing, and sharp products.

The relative error of the projected fit is a product of four factors, (30), of which the first two
belong together and the third has an exact law. ``penalty`` is the noise variance
:math:`\lambda=\sigma_{RP}^2`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    check_flag,
    check_integer,
    check_nonnegative,
    check_probability,
    check_real_array,
)
from dplit.entries._checks import check_pair
from dplit.papers.projection.additive_bounds import augmented_problem
from dplit.papers.projection.laws import sketch_quantile
from dplit.papers.projection.spectrum import Spectrum


class _NoiseTerms(NamedTuple):
    """The two terms that the noise adds in Theorem 2."""

    l1: float
    l2: float


class _ErrorFactors(NamedTuple):
    """The factors of (30): ridge error, its penalty, sketching, the penalty taken off again."""

    eta1: float
    eta2: float
    eta3: float
    eta4: float


def noise_terms(problem: Spectrum, *, penalty: float) -> _NoiseTerms:
    r"""Terms of Theorem 2, (15): :math:`l_1=\lambda\max_i(\sigma_i/(\sigma_i^2+\lambda))^2r^2(y)`
    and :math:`l_2=\lambda r(y)/(\sigma_{\min}^2+\lambda)`.
    """
    lam = check_nonnegative("penalty", penalty)
    shrink = np.max(problem.energies / (problem.energies + lam) ** 2)
    worst = lam / (problem.energies[0] + lam)
    return _NoiseTerms(
        float(lam * shrink * problem.snr) if lam > 0 else 0.0,
        float(worst * math.sqrt(problem.snr)) if lam > 0 else 0.0,
    )


def printed_sketch_bound(problem: Spectrum, *, penalty: float, sketching: float) -> float:
    r"""Bound of Theorem 2, (15), :math:`(1+\delta)^2(1+l_1)(1+l_2)^2`, with a given first factor.

    ``sketching``, at least 1, is a quantile or the mean of the exact law, since the constants that
    tie delta to a probability are not given.
    """
    factor = check_nonnegative("sketching", sketching)
    if factor < 1:
        raise ValueError(f"sketching must be at least 1, got sketching={sketching!r}")
    l1, l2 = noise_terms(problem, penalty=penalty)
    return factor * (1.0 + l1) * (1.0 + l2) ** 2


def ridge_product_bound(problem: Spectrum, *, penalty: float) -> float:
    r"""Sharp bound :math:`\eta_1\eta_2\le1+\frac{\lambda}{\sigma_{\min}^2+\lambda}r^2(y)`.

    Equality if y lies along the left singular vector of :math:`\sigma_{\min}` and the residual.
    """
    lam = check_nonnegative("penalty", penalty)
    if lam == 0:
        return 1.0
    return float(1.0 + lam / (problem.energies[0] + lam) * problem.snr)


def sharp_bound(problem: Spectrum, *, penalty: float, n_components: int, failure: float) -> float:
    """Bound of the relative error that fails with probability ``failure``, every constant known.

    The quantile of the sketching factor times :func:`ridge_product_bound`; no condition on n' < n
    or on delta.
    """
    beta = check_probability("failure", failure)
    factor = sketch_quantile(1.0 - beta, n_features=problem.n_features, n_components=n_components)
    return float(factor * ridge_product_bound(problem, penalty=penalty))


def ridge_bound(problem: Spectrum, *, penalty: float, squared: bool = False) -> float:
    r"""Lemma 4, (31): bound :math:`1+l_2` of the ridge fit's residual norm over the least one.

    Or its sharp form :math:`\sqrt{1+l_2^2}`, an equality for d = 1.
    """
    _, l2 = noise_terms(problem, penalty=penalty)
    return math.hypot(1.0, l2) if check_flag("squared", squared) else 1.0 + l2


def coefficient_bound(problem: Spectrum, *, penalty: float, as_printed: bool = False) -> float:
    r"""Corollary 3:
    :math:`\|\theta_{RR}\|\le\max_i\frac{\sigma_i}{\sigma_i^2+\lambda}\|X\theta^\star\|`.

    ``as_printed`` has the norm of the **residual** instead, which is false; its proof shows, and
    (39) uses, that of the fitted values.
    """
    lam, printed = check_nonnegative("penalty", penalty), check_flag("as_printed", as_printed)
    shrink = float(np.max(np.sqrt(problem.energies) / (problem.energies + lam)))
    length = problem.residual if printed else float(problem.scores @ problem.scores)
    return shrink * math.sqrt(length)


def objective_bound(problem: Spectrum, *, penalty: float) -> float:
    r"""Bound (39) of the second factor, :math:`\eta_2\le1+l_1`."""
    return 1.0 + noise_terms(problem, penalty=penalty).l1


def error_factors(X: ArrayLike, y: ArrayLike, theta: ArrayLike, *, penalty: float) -> _ErrorFactors:
    """The four factors of (30) for a fit ``theta`` on projected data, from the matrices themselves.

    >>> error_factors([[1.0], [1.0]], [3.0, 1.0], [1.0], penalty=0.0)
    _ErrorFactors(eta1=1.0, eta2=1.0, eta3=2.0, eta4=1.0)
    """
    design, response = check_pair(X, y)
    fit = check_real_array("theta", theta, 1)
    lam = check_nonnegative("penalty", penalty)
    best = np.linalg.lstsq(design, response, rcond=None)[0]
    stacked = augmented_problem(design, response, sigma=math.sqrt(lam))
    ridge = np.linalg.lstsq(*stacked, rcond=None)[0]

    def plain(coefficients: ArrayLike) -> float:
        return float(np.sum((design @ np.asarray(coefficients) - response) ** 2))

    def penalised(coefficients: ArrayLike) -> float:
        return plain(coefficients) + lam * float(np.sum(np.asarray(coefficients) ** 2))

    if plain(best) <= 1e-24 * float(response @ response):
        raise ValueError("y must not lie in the column space of X: every error is infinite")
    return _ErrorFactors(
        plain(ridge) / plain(best),
        penalised(ridge) / plain(ridge),
        penalised(fit) / penalised(ridge),
        plain(fit) / penalised(fit),
    )


def explicit_failure(delta: float, *, n_features: int, n_components: int) -> float:
    r"""Proposition 4 with constants: :math:`P(\eta_3>1+\delta^2)\le2e^{-n'\delta^2/16}`.

    For delta between :math:`\sqrt{8d/n'}` and 1; without the upper limit no constants work, as the
    exact tail is a power of delta.
    """
    value = check_nonnegative("delta", delta)
    d = check_integer("n_features", n_features)
    rows = check_integer("n_components", n_components)
    if rows < 8 * d or not math.sqrt(8 * d / rows) <= value <= 1:
        raise ValueError(
            "delta must lie between sqrt(8 d / n') and 1, "
            f"got delta={delta!r} with d={d}, n'={rows}"
        )
    return 2.0 * math.exp(-rows * value**2 / 16.0)
