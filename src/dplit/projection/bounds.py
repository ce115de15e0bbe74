r"""Theorem 2 and its lemmas: the printed bounds, constants that were missing, and sharp products.

The relative error of the projected fit is a product of four factors, (30). The paper bounds three
of them one by one. The first two belong together, the third has an exact law, and the failure
probability that is printed needs an upper limit on delta.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_probability
from dplit.projection.laws import sketch_quantile
from dplit.projection.regression import Spectrum

__all__ = [
    "ErrorFactors",
    "NoiseTerms",
    "coefficient_bound",
    "error_factors",
    "explicit_failure",
    "noise_terms",
    "objective_bound",
    "printed_bound",
    "ridge_bound",
    "ridge_product_bound",
    "sharp_bound",
]


class NoiseTerms(NamedTuple):
    """The two terms that the noise adds in Theorem 2."""

    l1: float
    l2: float


class ErrorFactors(NamedTuple):
    """The factors of (30): ridge error, its penalty, sketching, the penalty taken off again."""

    eta1: float
    eta2: float
    eta3: float
    eta4: float


def noise_terms(problem: Spectrum, *, penalty: float) -> NoiseTerms:
    r"""Terms l1 and l2 of Theorem 2.

    Parameters
    ----------
    problem : Spectrum
    penalty : float
        Noise variance :math:`\lambda=\sigma_{RP}^2`, nonnegative.

    Returns
    -------
    NoiseTerms
        :math:`l_1=\lambda\max_i(\sigma_i/(\sigma_i^2+\lambda))^2r^2(y)` and
        :math:`l_2=\lambda r(y)/(\sigma_{\min}^2+\lambda)`.

    Raises
    ------
    TypeError, ValueError
        If ``penalty`` is negative or not finite.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Theorem 2, (15).

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> terms = noise_terms(spectrum([[1.0], [1.0]], [3.0, 1.0]), penalty=2.0)
    >>> round(terms.l1, 9), round(terms.l2, 9)
    (1.0, 1.0)
    """
    lam = check_nonnegative("penalty", penalty)
    shrink = np.max(problem.energies / (problem.energies + lam) ** 2)
    worst = lam / (problem.energies[0] + lam)
    return NoiseTerms(
        float(lam * shrink * problem.snr) if lam > 0 else 0.0,
        float(worst * math.sqrt(problem.snr)) if lam > 0 else 0.0,
    )


def printed_bound(problem: Spectrum, *, penalty: float, sketching: float) -> float:
    r"""Bound of Theorem 2 with a given value in the place of its sketching factor.

    Parameters
    ----------
    problem, penalty
        As in :func:`noise_terms`.
    sketching : float
        What stands for :math:`(1+\delta)^2`, at least 1; a quantile or the mean of the exact law,
        since the constants that tie delta to a probability are not given.

    Returns
    -------
    float
        :math:`(1+\delta)^2(1+l_1)(1+l_2)^2`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Theorem 2, (15).

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> round(printed_bound(problem, penalty=2.0, sketching=1.5), 9)
    12.0
    """
    factor = check_nonnegative("sketching", sketching)
    if factor < 1:
        raise ValueError(f"sketching must be at least 1, got sketching={sketching!r}")
    l1, l2 = noise_terms(problem, penalty=penalty)
    return factor * (1.0 + l1) * (1.0 + l2) ** 2


def ridge_product_bound(problem: Spectrum, *, penalty: float) -> float:
    r"""Sharp bound of the first two factors together, in the place of (1 + l1)(1 + l2)^2.

    Parameters and errors are those of :func:`noise_terms`.

    Returns
    -------
    float
        :math:`1+\frac{\lambda}{\sigma_{\min}^2+\lambda}r^2(y)`.

    Notes
    -----
    :math:`\eta_1\eta_2=\tau^2/\|r\|^2=1+\sum_i\frac{\lambda}{\sigma_i^2+\lambda}
    (u_i^\top y)^2/\|r\|^2`, and each weight is at most the one of :math:`\sigma_{\min}`. Equality
    if the response lies along the left singular vector of :math:`\sigma_{\min}` and the residual.

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> round(ridge_product_bound(spectrum([[1.0], [1.0]], [3.0, 1.0]), penalty=2.0), 9)
    3.0
    """
    lam = check_nonnegative("penalty", penalty)
    if lam == 0:
        return 1.0
    return float(1.0 + lam / (problem.energies[0] + lam) * problem.snr)


def sharp_bound(problem: Spectrum, *, penalty: float, n_components: int, failure: float) -> float:
    r"""Bound of the relative error with every constant known.

    Parameters
    ----------
    problem, penalty
        As in :func:`noise_terms`.
    n_components : int
        Number n' of projected rows, at least d.
    failure : float
        Probability with which the bound may fail, in (0, 1).

    Returns
    -------
    float
        The quantile of the sketching factor times :func:`ridge_product_bound`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`\eta=\eta_1\eta_2\eta_3\eta_4\le(\tau^2/\|r\|^2)\,\eta_3` with
    :math:`\eta_3\sim1+\chi^2_d/\chi^2_{n'-d+1}` exactly. No condition on n' < n or on delta.

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> round(sharp_bound(problem, penalty=2.0, n_components=50, failure=0.05), 3)
    3.242
    """
    beta = check_probability("failure", failure)
    factor = sketch_quantile(1.0 - beta, n_features=problem.n_features, n_components=n_components)
    return float(factor * ridge_product_bound(problem, penalty=penalty))


def ridge_bound(problem: Spectrum, *, penalty: float, squared: bool = False) -> float:
    r"""Bound of the ridge fit's residual norm over the least one: Lemma 4, or its sharp form.

    Parameters
    ----------
    problem, penalty
        As in :func:`noise_terms`.
    squared : bool, default=False
        False: the bound as printed, :math:`1+l_2`. True: :math:`\sqrt{1+l_2^2}`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If ``penalty`` is negative or not finite.

    Notes
    -----
    The ridge fit's residual is r plus a vector orthogonal to it, so Pythagoras replaces the
    triangle inequality: the excess is quadratic in :math:`l_2`. Equality for d = 1.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Lemma 4, (31).

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> problem = spectrum([[1.0], [1.0]], [3.0, 1.0])
    >>> ridge_bound(problem, penalty=2.0), round(ridge_bound(problem, penalty=2.0, squared=True), 4)
    (2.0, 1.4142)
    """
    _, l2 = noise_terms(problem, penalty=penalty)
    return math.hypot(1.0, l2) if squared else 1.0 + l2


def coefficient_bound(problem: Spectrum, *, penalty: float, as_printed: bool = False) -> float:
    r"""Bound of the norm of the ridge coefficients: Corollary 3 as proved, or as stated.

    Parameters
    ----------
    problem, penalty
        As in :func:`noise_terms`.
    as_printed : bool, default=False
        True: with the norm of the **residual** as its statement has it, which is false. False:
        with the norm of the fitted values, which is what its proof shows and what (39) uses.

    Returns
    -------
    float
        :math:`\max_i\frac{\sigma_i}{\sigma_i^2+\lambda}\|X\theta^\star\|`.

    Raises
    ------
    TypeError, ValueError
        If ``penalty`` is negative or not finite.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Corollary 3, (36) and (38).

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> problem = spectrum([[1.0], [0.0]], [1.0, 0.1])
    >>> bound = coefficient_bound(problem, penalty=1.0)
    >>> round(bound, 9), round(coefficient_bound(problem, penalty=1.0, as_printed=True), 9)
    (0.5, 0.05)
    """
    lam = check_nonnegative("penalty", penalty)
    shrink = float(np.max(np.sqrt(problem.energies) / (problem.energies + lam)))
    length = problem.residual if as_printed else float(problem.scores @ problem.scores)
    return shrink * math.sqrt(length)


def objective_bound(problem: Spectrum, *, penalty: float) -> float:
    r"""Bound (39) of the second factor, :math:`\eta_2\le1+l_1`.

    Parameters and errors are those of :func:`noise_terms`.

    Returns
    -------
    float

    Examples
    --------
    >>> from dplit.projection.regression import spectrum
    >>> round(objective_bound(spectrum([[1.0], [1.0]], [3.0, 1.0]), penalty=2.0), 9)
    2.0
    """
    return 1.0 + noise_terms(problem, penalty=penalty).l1


def error_factors(X: ArrayLike, y: ArrayLike, theta: ArrayLike, *, penalty: float) -> ErrorFactors:
    """The four factors of (30), from the matrices themselves.

    Parameters
    ----------
    X, y : array_like of shapes (n, d) and (n,)
    theta : array_like of shape (d,)
        A fit on projected data.
    penalty : float
        Noise variance, nonnegative.

    Returns
    -------
    ErrorFactors
        Their product is the relative error of ``theta``. The last one is at most 1, and equals 1
        without noise.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, or the design explains the response.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (30).

    Examples
    --------
    >>> error_factors([[1.0], [1.0]], [3.0, 1.0], [1.0], penalty=0.0)
    ErrorFactors(eta1=1.0, eta2=1.0, eta3=2.0, eta4=1.0)
    """
    design = check_finite_array("X", X, ndim=2).astype(float)
    response = check_finite_array("y", y, ndim=1).astype(float)
    fit = check_finite_array("theta", theta, ndim=1).astype(float)
    lam = check_nonnegative("penalty", penalty)
    d = design.shape[1]
    stacked = np.vstack([design, math.sqrt(lam) * np.eye(d)])
    padded = np.append(response, np.zeros(d))
    best = np.linalg.lstsq(design, response, rcond=None)[0]
    ridge = np.linalg.lstsq(stacked, padded, rcond=None)[0]

    def plain(coefficients: ArrayLike) -> float:
        return float(np.sum((design @ np.asarray(coefficients) - response) ** 2))

    def penalised(coefficients: ArrayLike) -> float:
        return plain(coefficients) + lam * float(np.sum(np.asarray(coefficients) ** 2))

    if plain(best) <= 1e-24 * float(response @ response):
        raise ValueError(
            "y must not lie in the column space of X: every relative error is infinite"
        )
    return ErrorFactors(
        plain(ridge) / plain(best),
        penalised(ridge) / plain(ridge),
        penalised(fit) / penalised(ridge),
        plain(fit) / penalised(fit),
    )


def explicit_failure(delta: float, *, n_features: int, n_components: int) -> float:
    r"""Failure probability for Proposition 4 with constants: :math:`2e^{-n'\delta^2/16}`.

    Parameters
    ----------
    delta : float
        Between :math:`\sqrt{8d/n'}` and 1.
    n_features : int
        Number d of columns.
    n_components : int
        Number n' of projected rows, at least 8 d.

    Returns
    -------
    float
        Bound of the probability that the sketching factor exceeds :math:`1+\delta^2`; so much the
        more that it exceeds :math:`(1+\delta)^2`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With :math:`m=n'-d+1\ge\tfrac78n'`, the factor exceeds :math:`1+\delta^2` only if
    :math:`\chi^2_m\le m/2` or :math:`\chi^2_d>\delta^2m/2`. The first has probability at most
    :math:`e^{-m(\ln2-1/2)/2}\le e^{-n'/12}`. For the second, :math:`\chi^2_d\le2d+3x` but for
    probability :math:`e^{-x}`; :math:`2d\le\delta^2n'/4` and
    :math:`\delta^2m/2\ge\tfrac7{16}\delta^2n'` leave :math:`x=\delta^2n'/16`. As
    :math:`\delta\le1`, both are at most :math:`e^{-n'\delta^2/16}`. Without the upper limit no
    constants work: the exact tail is a power of delta
    (:func:`dplit.projection.laws.tail_asymptote`).

    Examples
    --------
    >>> f"{explicit_failure(0.5, n_features=10, n_components=1000):.1e}"
    '3.3e-07'
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
