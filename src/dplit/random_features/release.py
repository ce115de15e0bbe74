"""Algorithm 1 as printed and with its noise repaired, and the price of any private interpolator."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import classical_gaussian_sigma, gaussian_noise, gaussian_sigma
from dplit.random_features.sensitivity import lemma9_bound

__all__ = ["interpolator_noise_floor", "printed_sigma", "release_coefficients"]


def printed_sigma(*, n_components: int, epsilon: float, delta: float, eta: float) -> float:
    """Noise standard deviation per coefficient of Algorithm 1, step 1.

    Parameters
    ----------
    n_components : int
        Number N of features.
    epsilon : float
        Privacy budget, positive; Theorem 7 asks for epsilon < 1, the experiments use 1 as well.
    delta : float
        Privacy parameter in (0, 1).
    eta : float
        Parameter of Lemma 9, in (0, 1/2).

    Returns
    -------
    float
        ``(2 / epsilon) sqrt(2 ln(1.25/delta) / (N (1 - 2 eta)))``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The classical Gaussian mechanism for the bound of Lemma 9, which is not a sensitivity: the
    release is not (epsilon, delta)-private.

    References
    ----------
    Liao, Needell, Schaeffer and Xue, Differentially private random feature model, manuscript of
    September 9, 2025, Algorithm 1.

    Examples
    --------
    >>> round(printed_sigma(n_components=1, epsilon=1.0, delta=1e-5, eta=0.375), 3)
    19.379
    """
    bound = lemma9_bound(n_components=n_components, eta=eta)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    return float(classical_gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=bound))


def release_coefficients(
    coef: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    eta: float,
    rng: np.random.Generator,
    as_printed: bool = True,
) -> NDArray[Any]:
    """Coefficients with the noise of Algorithm 1: **not differentially private**, for study only.

    Parameters
    ----------
    coef : array_like of shape (N,)
        Real or complex coefficients of the interpolator.
    epsilon, delta, eta
        As in :func:`printed_sigma`.
    rng : numpy.random.Generator
        Source of the noise.
    as_printed : bool, default=True
        With True the noise is real, as Algorithm 1 has it: complex coefficients keep their
        imaginary part. With False both parts of complex coefficients get noise of the same
        standard deviation. Real coefficients get real noise in both cases.

    Returns
    -------
    ndarray of shape (N,)
        ``coef + z``. Even with ``as_printed=False`` the noise is calibrated to Lemma 9, which is
        not a sensitivity.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Algorithm 1, steps 2 and 3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> c = np.array([1.0 + 2.0j])
    >>> release_coefficients(c, epsilon=1.0, delta=1e-5, eta=0.375, rng=rng).imag
    array([2.])
    """
    c = check_finite_array("coef", coef, ndim=1)
    sigma = printed_sigma(n_components=len(c), epsilon=epsilon, delta=delta, eta=eta)
    both_parts = np.iscomplexobj(c) and not as_printed
    return np.asarray(
        c + gaussian_noise(len(c), sigma=sigma, rng=check_rng(rng), complex=both_parts)
    )


def interpolator_noise_floor(
    *,
    label_bound: float,
    epsilon: float,
    delta: float,
    calibration: Literal["analytic", "classical"] = "analytic",
) -> float:
    """Smallest noise variance of a private interpolator's prediction at a training input.

    Parameters
    ----------
    label_bound : float
        Labels lie in [-b, b]; positive.
    epsilon : float
        Privacy budget, positive.
    delta : float
        Privacy parameter in (0, 1).
    calibration : {"analytic", "classical"}, default="analytic"
        "analytic" bounds every mechanism below. "classical" is what the classical calibration
        pays, a property of that formula and not of privacy.

    Returns
    -------
    float
        ``(2 b / mu)^2``, mu the Gaussian-DP parameter of the budget. The labels themselves have
        mean square at most ``b^2``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    **Theorem.** Let ``c + z`` be (epsilon, delta)-private, z Gaussian with any covariance S and
    independent of the data, and let c interpolate. Then ``phi* S phi >= (2 b / mu)^2`` for the
    feature vector phi of every possible training input: for every N and every feature map.

    *Proof.* Take a data set that contains the input, and change its label from b to -b. Both
    interpolate, so v = c - c' has ``phi* v = 2b``. The two releases are Gaussians with covariance S
    whose means differ by v. If v is not in the range of S they are told apart with certainty;
    else the pair is exactly Gaussian-private with parameter ``(v* S^+ v)^{1/2}``, which must be at
    most mu. By Cauchy-Schwarz ``(2b)^2 = (phi* v)^2 <= (phi* S phi) (v* S^+ v) <=
    (phi* S phi) mu^2``. For complex features read phi, v and S over the real and imaginary parts.

    A single record with S = (2 b / (mu ||phi||))^2 I attains it. Early-stopped Kaczmarz does not
    interpolate and is not covered.

    Examples
    --------
    >>> round(interpolator_noise_floor(label_bound=1.0, epsilon=1.0, delta=1e-5), 2)
    55.67
    """
    change = 2.0 * check_positive("label_bound", label_bound)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_choice("calibration", calibration, ("analytic", "classical"))
    calibrate = gaussian_sigma if calibration == "analytic" else classical_gaussian_sigma
    return float(calibrate(epsilon=epsilon, delta=delta, sensitivity=change)) ** 2
