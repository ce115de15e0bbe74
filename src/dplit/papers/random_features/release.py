"""Algorithm 1 as printed and with its noise repaired, and how large the noise of a release is.

Scales are standard deviations per real coefficient; for rows of norm one their squares are the
expected excess of the squared test error. ``failure`` is the probability that a bound fails.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_flag,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit.mechanisms import classical_gaussian_sigma, gaussian_noise, gaussian_sigma
from dplit.mechanisms._draws import record_draw
from dplit.papers.random_features.sensitivity import lemma9_bound


def printed_sigma(*, n_components: int, epsilon: float, delta: float, eta: float) -> float:
    """Noise standard deviation per coefficient of Algorithm 1, step 1.

    ``(2 / epsilon) sqrt(2 ln(1.25/delta) / (N (1 - 2 eta)))`` for N = ``n_components`` and ``eta``
    of Lemma 9, in (0, 1/2); Theorem 7 asks for epsilon < 1, the experiments use 1 as well. The
    classical Gaussian mechanism for the bound of Lemma 9, which is not a sensitivity: the release
    is not (epsilon, delta)-private.

    >>> round(printed_sigma(n_components=1, epsilon=1.0, delta=1e-5, eta=0.375), 3)
    19.379
    """
    bound = lemma9_bound(n_components=n_components, eta=eta)
    return float(classical_gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=bound))


@quiet
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

    Steps 2 and 3, for N real or complex coefficients. As printed the noise is real, and complex
    coefficients keep their imaginary part; else both parts get noise of one standard deviation. It
    is calibrated to Lemma 9 in both cases, which is not a sensitivity.

    >>> rng = np.random.default_rng(0)
    >>> c = np.array([1.0 + 2.0j])
    >>> release_coefficients(c, epsilon=1.0, delta=1e-5, eta=0.375, rng=rng).imag
    array([2.])
    """
    c = check_finite_array("coef", coef, ndim=1)
    sigma = printed_sigma(n_components=len(c), epsilon=epsilon, delta=delta, eta=eta)
    both_parts = not check_flag("as_printed", as_printed) and np.iscomplexobj(c)
    record_draw("gaussian", "coefficients", of=c, scale=sigma, shape=c.shape)
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

    ``(2 b / mu)^2`` for labels in [-b, b], mu the Gaussian-DP parameter of the budget: for every
    number of features, feature map and noise covariance. "classical" is what the classical
    calibration pays, a property of that formula and not of privacy.

    >>> round(interpolator_noise_floor(label_bound=1.0, epsilon=1.0, delta=1e-5), 2)
    55.67
    """
    change = 2.0 * check_positive("label_bound", label_bound)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_choice("calibration", calibration, ("analytic", "classical"))
    calibrate = gaussian_sigma if calibration == "analytic" else classical_gaussian_sigma
    return float(calibrate(epsilon=epsilon, delta=delta, sensitivity=change)) ** 2


def unbiased_noise_floor(*, label_bound: float, epsilon: float) -> float:
    r"""Smallest variance of a pure private unbiased prediction where the label is ``label_bound``.

    :math:`b^2/\sinh^2(\epsilon/2)` by the inequality of Chapman and Robbins, for any law of noise:
    the chi-square divergence of two laws whose odds stay within :math:`e^{\pm\epsilon}` is at most
    :math:`4\sinh^2(\epsilon/2)`, and the mean has to move by 2b. Randomised response on a label of
    :math:`\pm b` attains it. A label y between them pays :math:`b^2\coth^2(\epsilon/2)-y^2` there.

    >>> round(unbiased_noise_floor(label_bound=1.0, epsilon=1.0), 3)
    3.683
    """
    bound = check_positive("label_bound", label_bound)
    return float(bound / math.sinh(min(check_positive("epsilon", epsilon) / 2.0, 700.0))) ** 2
