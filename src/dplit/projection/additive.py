r"""Additive noise: the release, the fit on it, the bias that it keeps, and a correction.

Every entry of the design gets independent Gaussian noise; the response is published in clear.
Least squares on a noisy design is biased towards zero (attenuation), and more data do not remove
the bias: for fixed d the relative error tends to a limit in closed form.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, eigvalsh, svd

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_interval,
    check_nonnegative,
    check_rng,
)
from dplit.mechanisms import gaussian_noise
from dplit.projection.capacity import exact_sigma
from dplit.projection.information import additive_sigma
from dplit.projection.regression import check_design, least_squares

__all__ = [
    "additive_scale",
    "attenuation_limit",
    "fit_additive",
    "fit_corrected",
    "release_additive",
    "uniform_attenuation",
]

_Array = NDArray[np.float64]
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
) -> _Array:
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


def fit_additive(released: ArrayLike, y: ArrayLike) -> _Array:
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


def fit_corrected(released: ArrayLike, y: ArrayLike, *, sigma: float, cap: float = 0.8) -> _Array:
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
