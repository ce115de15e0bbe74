r"""Additive noise: the release, the fit on it, the bias that it keeps, and a correction.

Every entry of the design gets independent Gaussian noise; the response is published in clear.
Least squares on a noisy design is biased towards zero (attenuation), and more data do not remove
the bias: for fixed d the relative error tends to a limit in closed form.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, eigvalsh, svd, svdvals

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_noise
from dplit.projection.capacity import exact_sigma
from dplit.projection.information import additive_sigma
from dplit.projection.regression import (
    check_design,
    condition_number,
    least_squares,
    root_snr,
    singular_values,
)

__all__ = [
    "Augmented",
    "additive_scale",
    "attenuation_limit",
    "augmented_problem",
    "fit_additive",
    "fit_corrected",
    "necessary_epsilon",
    "noise_quotient",
    "perturbation_bound",
    "release_additive",
    "singular_value_tail",
    "smallest_epsilon",
    "sufficient_ratio",
    "theorem1_bound",
    "uniform_attenuation",
    "worst_perturbation",
]


Calibration = Literal["paper", "exact"]

Interval = tuple[float, float]


def _half_width(clip: Interval) -> float:
    low, high = (float(end) for end in clip)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"clip must be finite (low, high) with low < high, got clip={clip!r}")
    return (high - low) / 2.0


def additive_scale(
    *, epsilon: float, calibration: Calibration = "paper", clip: Interval = (-1.0, 1.0)
) -> float:
    r"""Return the standard deviation of the noise that additive release puts on every entry.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one entry in bits.
    calibration : {"paper", "exact"}, default="paper"
        Equation (9), or the least noise that meets the budget under the limit on the entries.
    clip : tuple of two floats, default=(-1, 1)
        Public interval of the entries. Noise does not care for the origin, so only the half width
        matters: entries in [0, 1] need half the noise of entries in [-1, 1].

    Returns
    -------
    float
        Half the width of ``clip`` times :func:`dplit.projection.information.additive_sigma` or
        :func:`dplit.projection.capacity.exact_sigma`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range (``calibration="exact"`` takes at most 2.5 bits).

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equation (9).

    Examples
    --------
    >>> from dplit.projection.additive import additive_scale
    >>> round(additive_scale(epsilon=0.5, clip=(0, 1)), 12)
    0.5
    """
    check_choice("calibration", calibration, ("paper", "exact"))
    sigma = additive_sigma if calibration == "paper" else exact_sigma
    return _half_width(clip) * sigma(epsilon=epsilon)


def release_additive(
    X: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
    calibration: Calibration = "paper",
    clip: Interval = (-1.0, 1.0),
) -> Array:
    r"""Release a table with independent Gaussian noise on every entry.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Private table. Entries outside ``clip`` are clipped.
    epsilon : float
        MI-DP budget of one **entry** in bits. A row of d entries gets d times as much; the
        response is not protected at all.
    rng : numpy.random.Generator
        Source of the noise. Floating-point noise: research, not release.
    calibration : {"paper", "exact"}, default="paper"
        See :func:`additive_scale`.
    clip : tuple of two floats, default=(-1, 1)
        Public interval of the entries.

    Returns
    -------
    ndarray of shape (n, d)
        :math:`X+\sigma N`, :math:`\epsilon`-MI-DP with respect to every single entry of X.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or X is not a real finite matrix.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equations (8), (9) and Lemma 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive import release_additive
    >>> release_additive([[0.2, 5.0]], epsilon=900.0, rng=np.random.default_rng(0))
    array([[0.2, 1. ]])
    """
    table = check_finite_array("X", X, ndim=2)
    if table.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {table.dtype}")
    sigma = additive_scale(epsilon=epsilon, calibration=calibration, clip=clip)
    noise = gaussian_noise(table.shape, sigma=sigma, rng=check_rng(rng))
    return np.asarray(np.clip(table, *clip) + noise)


def fit_additive(released: ArrayLike, y: ArrayLike) -> Array:
    r"""Return the paper's estimator: least squares on the noisy table and the clear response.

    Parameters
    ----------
    released : array_like of shape (n, d)
        Output of :func:`release_additive`, n >= d.
    y : array_like of shape (n,)
        Responses, in clear.

    Returns
    -------
    ndarray of shape (d,)
        The coefficients.

    Raises
    ------
    TypeError, ValueError
        As :func:`dplit.projection.regression.least_squares`.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equation (10).

    Examples
    --------
    >>> from dplit.projection.additive import fit_additive
    >>> fit_additive([[2.0], [2.0]], [1.0, 3.0]).round(12)
    array([1.])
    """
    return least_squares(released, y)


def fit_corrected(released: ArrayLike, y: ArrayLike, *, sigma: float, cap: float = 0.8) -> Array:
    r"""Return coefficients without (most of) the attenuation that noise on the design causes.

    Parameters
    ----------
    released : array_like of shape (n, d)
        Noisy table, n >= d.
    y : array_like of shape (n,)
        Responses, in clear.
    sigma : float
        Standard deviation of the noise on every entry, nonnegative; public.
    cap : float, default=0.8
        In (0, 1): at most this share of the smallest eigenvalue is subtracted.

    Returns
    -------
    ndarray of shape (d,)
        :math:`(X_{AN}^\top X_{AN}-sI)^{-1}X_{AN}^\top y` with
        :math:`s=\min(n\sigma^2,\,\text{cap}\cdot\lambda_{\min}(X_{AN}^\top X_{AN}))`. A function of
        the release: it costs no privacy.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or the noisy table has rank below d.

    Notes
    -----
    :math:`E[X_{AN}^\top X_{AN}]=X^\top X+n\sigma^2I`, so :math:`s=n\sigma^2` removes the bias; but
    the corrected matrix is then nearly singular or indefinite unless n is large, hence the cap.

    Examples
    --------
    >>> from dplit.projection.additive import fit_corrected
    >>> fit_corrected([[2.0], [2.0]], [1.0, 3.0], sigma=1.0).round(12)
    array([1.33333333])
    """
    design, response = check_design(released, y)
    scale = check_nonnegative("sigma", sigma)
    share = check_interval("cap", cap, 0.0, 1.0)
    gram = design.T @ design
    smallest = float(eigvalsh(gram, subset_by_index=[0, 0])[0])
    shift = min(len(design) * scale**2, share * smallest)
    corrected = cho_factor(gram - shift * np.eye(len(gram)))
    return np.asarray(cho_solve(corrected, design.T @ response))


def attenuation_limit(X: ArrayLike, y: ArrayLike, *, sigma: float) -> float:
    r"""Return the relative error to which the noisy fit tends when n grows and d stays.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    y : array_like of shape (n,)
        Responses outside the column space of X.
    sigma : float
        Standard deviation of the noise on every entry, nonnegative.

    Returns
    -------
    float
        At least 1: the relative error of ridge regression with penalty :math:`n\sigma^2`.

    Raises
    ------
    TypeError, ValueError
        If the problem is not of the kind above.

    Notes
    -----
    :math:`X_{AN}^\top X_{AN}/n-X^\top X/n\to\sigma^2I` and :math:`N^\top y/n\to0`, so the fit tends
    to a ridge fit. With singular values :math:`s_i` and left singular vectors :math:`u_i` of X,

    .. math::
        \eta_{AN}\to1+\sum_i\Big(\frac{n\sigma^2}{s_i^2+n\sigma^2}\Big)^2
        \frac{(u_i^\top y)^2}{\|X\theta^\star-y\|^2}.

    Examples
    --------
    >>> from dplit.projection.additive import attenuation_limit
    >>> round(attenuation_limit([[1.0], [1.0]], [1.0, 3.0], sigma=1.0), 12)
    2.0
    """
    design, response = check_design(X, y)
    penalty = len(design) * check_nonnegative("sigma", sigma) ** 2
    left, values, _ = svd(design, full_matrices=False)
    scores = left.T @ response
    residual = float(np.sum((response - left @ scores) ** 2))
    if residual <= (np.finfo(float).eps * len(design)) ** 2 * float(response @ response):
        raise ValueError("y must not lie in the column space of X: the error is infinite")
    return 1.0 + float(np.sum((penalty / (values**2 + penalty) * scores) ** 2)) / residual


def uniform_attenuation(*, sigma: float, root_snr: float) -> float:
    r"""Return the same limit for designs with independent uniform entries in [-1, 1].

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on every entry, nonnegative.
    root_snr : float
        The paper's r(y), nonnegative.

    Returns
    -------
    float
        :math:`1+\big(\tfrac{3\sigma^2}{1+3\sigma^2}\big)^2r^2(y)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is negative or not finite.

    Examples
    --------
    >>> from dplit.projection.additive import uniform_attenuation
    >>> uniform_attenuation(sigma=1.0, root_snr=4.0)
    10.0
    """
    noise = 3.0 * check_nonnegative("sigma", sigma) ** 2
    return 1.0 + (noise / (1.0 + noise) * check_nonnegative("root_snr", root_snr)) ** 2


# Bounds on the relative error under additive noise: the paper's, a sharper one, and their domain.
#
# All of them say something only if the noise is smaller than the smallest singular value of the
# design, which no design with entries in [-1, 1] grants at half a bit or less.


def singular_value_tail(t: float, *, as_printed: bool = True) -> float:
    r"""Return a bound on the probability that a Gaussian matrix has a large singular value.

    Parameters
    ----------
    t : float
        Excess over :math:`\sqrt n+\sqrt d`, nonnegative.
    as_printed : bool, default=True
        With the factor 2 of a two-sided statement; without it the bound holds too, because only
        the upper tail is asked for.

    Returns
    -------
    float
        :math:`2e^{-t^2/2}`, or half of it. Above 1 it says nothing (printed: up to t = 1.18).

    Raises
    ------
    TypeError, ValueError
        If ``t`` is negative.

    Notes
    -----
    :math:`\|N\|` is a 1-Lipschitz function of the Gaussian entries with mean at most
    :math:`\sqrt n+\sqrt d` (Gordon), so it exceeds that by t with probability at most
    :math:`e^{-t^2/2}`.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Proposition 3, equation (27), after
    M. Rudelson and R. Vershynin, ICM 2010.

    Examples
    --------
    >>> from dplit.projection.additive import singular_value_tail
    >>> round(singular_value_tail(2.0), 4)
    0.2707
    """
    bound = math.exp(-(check_nonnegative("t", t) ** 2) / 2)
    return 2.0 * bound if as_printed else bound


def noise_quotient(
    X: ArrayLike, *, epsilon: float, failure: float, as_printed: bool = True
) -> float:
    r"""Return :math:`\kappa(\Delta+\delta)`, the noise over the smallest singular value.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    epsilon : float
        MI-DP budget of one entry in bits; the noise is the paper's.
    failure : float
        Probability in (0, 1] with which the bound may fail.
    as_printed : bool, default=True
        Factor of :func:`singular_value_tail`.

    Returns
    -------
    float
        :math:`\sigma_{AN}(\sqrt n+\sqrt d+t)/\sigma_{\min}(X)` with the t at which the tail is
        ``failure``. Theorem 1 speaks where it is **strictly** below 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Theorem 1, with
    :math:`\delta=\sigma_{AN}t/\sigma_{\max}`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive import noise_quotient
    >>> round(noise_quotient(np.ones((100, 1)), epsilon=0.5, failure=1.0, as_printed=False), 9)
    1.1
    """
    allowed = check_probability("failure", failure, one=True)
    t = math.sqrt(2 * math.log((2.0 if as_printed else 1.0) / allowed))
    smallest = float(singular_values(X)[-1])
    n, d = np.shape(X)
    size = math.sqrt(n) + math.sqrt(d) + t
    return additive_sigma(epsilon=epsilon) * size / smallest


def _quotient_factor(u: float) -> float:
    """Return u / (1 - u), infinite from u = 1 on, where the statement stops."""
    return u / (1.0 - u) if u < 1.0 else math.inf


def _bound(u: float, kappa: float, snr: float, improved: bool) -> float:
    q = _quotient_factor(u)
    if math.isinf(q) or math.isinf(snr):
        return math.inf if q > 0 else 1.0
    return 1.0 + (q * (1.0 + snr)) ** 2 if improved else (1.0 + q * (kappa + snr)) ** 2


def theorem1_bound(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    failure: float,
    improved: bool = False,
) -> float:
    r"""Return a bound on the relative error of additive noise that fails rarely.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    y : array_like of shape (n,)
        Responses.
    epsilon : float
        MI-DP budget of one entry in bits; the noise is the paper's.
    failure : float
        Probability in (0, 1) with which the bound may fail.
    improved : bool, default=False
        The paper's bound, or ours: no condition number, and quadratic in the noise.

    Returns
    -------
    float
        :math:`(1+q(\kappa+r))^2`, or :math:`1+q^2(1+r)^2`, with :math:`q=u/(1-u)` and u from
        :func:`noise_quotient`; **infinite** for :math:`u\ge1`, where nothing is claimed.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Theorem 1, equation (11). The theorem asks
    for :math:`\kappa\Delta<1` and its footnote for :math:`\kappa(\Delta+\delta)\le1`; what is used
    is the strict :math:`\kappa(\Delta+\delta)<1`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive import theorem1_bound
    >>> X, y = np.ones((100, 1)), np.arange(100.0)
    >>> theorem1_bound(X, y, epsilon=0.5, failure=0.05)
    inf
    >>> theorem1_bound(X, y, epsilon=4.0, failure=0.05) > 1
    True
    """
    allowed = check_probability("failure", failure)
    u = noise_quotient(X, epsilon=epsilon, failure=allowed, as_printed=not improved)
    return _bound(u, condition_number(X), root_snr(X, y), improved)


def perturbation_bound(
    X: ArrayLike, y: ArrayLike, E: ArrayLike, *, improved: bool = False
) -> float:
    r"""Return a bound on the relative error of least squares when the design is X + E.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.
    y : array_like of shape (n,)
        Responses.
    E : array_like of shape (n, d)
        Perturbation of the design.
    improved : bool, default=False
        The square of Lemma 3, or the sharper bound.

    Returns
    -------
    float
        With :math:`u=\|E\|/\sigma_{\min}(X)` and :math:`q=u/(1-u)`: :math:`(1+q(\kappa+r))^2`, or
        :math:`1+q^2(1+r)^2`. Infinite for :math:`u\ge1`. For :math:`u<1` the perturbed design has
        rank d by itself.

    Raises
    ------
    TypeError, ValueError
        If the problem is not of the kind above, or E has another shape than X.

    Notes
    -----
    With :math:`\hat X=X+E`, :math:`\hat\theta-\theta^\star=\hat X^+(r-E\theta^\star)` for the
    residual r. Now :math:`\|X\hat X^+\|\le1/(1-u)`, :math:`\|E\theta^\star\|\le u\|X\theta^\star\|`
    and :math:`\|P_{\hat X}r\|\le u\|r\|`, so that
    :math:`\|X(\hat\theta-\theta^\star)\|\le q(\|r\|+\|X\theta^\star\|)`; by Pythagoras the excess
    of the relative error is the square of that over :math:`\|r\|^2`.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Lemma 3, equation (26), after P.-A. Wedin,
    BIT 13, 1973, Theorem 5.1.

    Examples
    --------
    >>> from dplit.projection.additive import perturbation_bound
    >>> X, y, E = [[1.0], [0.0]], [1.0, 1.0], [[-0.5], [0.0]]
    >>> perturbation_bound(X, y, E), perturbation_bound(X, y, E, improved=True)
    (9.0, 5.0)
    """
    design, response = check_design(X, y)
    change = check_finite_array("E", E, ndim=2)
    if change.shape != design.shape:
        raise ValueError(f"E must have shape {design.shape}, got E of shape {change.shape}")
    u = float(svdvals(change)[0] / singular_values(design)[-1])
    return _bound(u, condition_number(design), root_snr(design, response), improved)


def worst_perturbation(*, u: float, root_snr: float) -> tuple[Array, Array, Array]:
    r"""Return a problem and a perturbation on which the improved bound is attained as r grows.

    Parameters
    ----------
    u : float
        Relative size of the perturbation, in (0, 1).
    root_snr : float
        The paper's r(y), nonnegative.

    Returns
    -------
    tuple of ndarray
        :math:`X=(1,0)^\top`, :math:`y=(r,1)^\top` and :math:`E=-uX`. The excess of the relative
        error is :math:`q^2r^2`; the bound is :math:`q^2(1+r)^2`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.additive import worst_perturbation
    >>> worst_perturbation(u=0.5, root_snr=3.0)[2].ravel()
    array([-0.5,  0. ])
    """
    size = check_probability("u", u)
    X = np.array([[1.0], [0.0]])
    return X, np.array([check_nonnegative("root_snr", root_snr), 1.0]), np.array([[-size], [0.0]])


def sufficient_ratio(X: ArrayLike) -> float:
    r"""Return the noise-free part of the condition of Theorem 1: it must exceed :math:`\sigma`.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.

    Returns
    -------
    float
        :math:`\sigma_{\min}/(\sqrt n+\sqrt d)`: :math:`\kappa\Delta<1` says that
        :math:`\sigma_{AN}` is below it. Below 1 for every X with entries in [-1, 1].

    Raises
    ------
    TypeError, ValueError
        If X is not of the kind above.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive import sufficient_ratio
    >>> round(sufficient_ratio(np.ones((100, 1))), 6)
    0.909091
    """
    smallest = float(singular_values(X)[-1])
    n, d = np.shape(X)
    return smallest / (math.sqrt(n) + math.sqrt(d))


def smallest_epsilon(X: ArrayLike) -> float:
    r"""Return the budget in bits from which Theorem 1 says something about a given design.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design, n > d, rank d.

    Returns
    -------
    float
        The budget at which :math:`\kappa\Delta=1`; for every smaller one the theorem is empty.

    Raises
    ------
    TypeError, ValueError
        If X is not of the kind above.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.additive import smallest_epsilon
    >>> round(smallest_epsilon(np.ones((100, 1))), 3)
    0.572
    """
    return 0.5 * math.log2(1 + sufficient_ratio(X) ** -2)


def necessary_epsilon(*, n_samples: int, n_features: int) -> float:
    r"""Return the budget in bits below which Theorem 1 is empty for **every** admissible design.

    Parameters
    ----------
    n_samples, n_features : int
        Rows and columns of the design, n > d.

    Returns
    -------
    float
        :math:`\tfrac12\log_2\big(1+(1+\sqrt{d/n})^2\big)`, always above half a bit.

    Raises
    ------
    TypeError, ValueError
        If the sizes are not positive integers with n > d.

    Notes
    -----
    The mean of the d squared singular values is :math:`\|X\|_F^2/d\le n`, so
    :math:`\sigma_{\min}\le\sqrt n` and
    :math:`\kappa\Delta=\sigma_{AN}(\sqrt n+\sqrt d)/\sigma_{\min}\ge\sigma_{AN}(1+\sqrt{d/n})`.
    Columns of a Hadamard matrix attain it.

    Examples
    --------
    >>> from dplit.projection.additive import necessary_epsilon
    >>> round(necessary_epsilon(n_samples=10_000, n_features=800), 3)
    0.702
    """
    n = check_integer("n_samples", n_samples, minimum=2)
    d = check_integer("n_features", n_features)
    if n <= d:
        raise ValueError(f"n_samples must exceed n_features={d}, got n_samples={n}")
    return 0.5 * math.log2(1 + (1 + math.sqrt(d / n)) ** 2)


class Augmented(NamedTuple):
    r"""The stacked problem: ``design`` is :math:`[X;\sigma I]`, ``response`` is :math:`[y;0]`."""

    design: Array
    response: Array


def augmented_problem(X: ArrayLike, y: ArrayLike, *, sigma: float) -> Augmented:
    r"""Return the regression problem of which a noisy projection is a noiseless one.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Design.
    y : array_like of shape (n,)
        Responses.
    sigma : float
        Standard deviation of the noise on the projected design, nonnegative.

    Returns
    -------
    Augmented
        :math:`SX+\sigma N=\tilde S\,[X;\sigma I]` and :math:`Sy=\tilde S\,[y;0]` with
        :math:`\tilde S=[S\ N]` of shape (n', n + d). Its least-squares fit is ridge regression
        with penalty :math:`\sigma^2`.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not finite or disagree, or ``sigma`` is negative.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equations (24)-(25) and (28)-(29).

    Examples
    --------
    >>> from dplit.projection.additive import augmented_problem
    >>> augmented_problem([[1.0], [2.0]], [3.0, 4.0], sigma=0.5).design.ravel()
    array([1. , 2. , 0.5])
    """
    table = np.asarray(check_finite_array("X", X, ndim=2), dtype=np.float64)
    response = np.asarray(check_finite_array("y", y, ndim=1), dtype=np.float64)
    if len(response) != len(table):
        raise ValueError(f"y must have {len(table)} entries, got y of shape {response.shape}")
    d = table.shape[1]
    ridge = check_nonnegative("sigma", sigma) * np.eye(d)
    return Augmented(np.vstack([table, ridge]), np.concatenate([response, np.zeros(d)]))
