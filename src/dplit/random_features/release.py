"""Algorithm 1 as printed and with its noise repaired, and how large the noise of a release is.

Scales are standard deviations per real coefficient; for rows of norm one their squares are the
expected excess of the squared test error. ``failure`` is the probability that a bound fails.
"""

from __future__ import annotations

import bisect
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_flag,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
    quiet,
)
from dplit.mechanisms import classical_gaussian_sigma, gaussian_noise, gaussian_sigma
from dplit.mechanisms.draws import record_draw
from dplit.random_features.sensitivity import lemma9_bound


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
    coef: ArrayLike, *, epsilon: float, delta: float, eta: float, rng: np.random.Generator,
    as_printed: bool = True,
) -> NDArray[Any]:  # fmt: skip
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
    *, label_bound: float, epsilon: float, delta: float,
    calibration: Literal["analytic", "classical"] = "analytic",
) -> float:  # fmt: skip
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


# How large the noise of a release is: Lemma 13, the Gamma remark, and the exact excess error.


_NoiseVersion = Literal["printed", "corrected", "laurent_massart", "exact"]

_GammaVersion = Literal["printed", "corrected", "exact"]


def noise_norm_bound(
    *, n_components: int, epsilon: float, delta: float, eta: float, failure: float,
    version: _NoiseVersion = "laurent_massart",
) -> float:  # fmt: skip
    """Bound on ``||z||^2`` for the noise of Algorithm 1, with probability 1 - failure.

    "printed" is Lemma 13, **false** for every N; "corrected" what its sub-exponential proof gives
    (``nu sqrt(2 l)`` above the mean for ``N >= 8 l``, ``8 sigma^2 l`` below, l = log(1/failure) and
    ``nu = 2 sigma^2 sqrt N``); "laurent_massart" is ``sigma^2 (N + 2 sqrt(N l) + 2 l)``
    (Laurent and Massart 2000, Lemma 1); "exact" the quantile.

    >>> setting = dict(n_components=1000, epsilon=1.0, delta=1e-5, eta=0.375, failure=0.05)
    >>> [round(noise_norm_bound(**setting, version=v), 1) for v in ("printed", "laurent_massart")]
    [96.4, 418.9]
    """
    check_choice("version", version, ("printed", "corrected", "laurent_massart", "exact"))
    variance = printed_sigma(n_components=n_components, epsilon=epsilon, delta=delta, eta=eta) ** 2
    n, log = n_components, -math.log(check_probability("failure", failure))
    if version == "printed":
        lead = 2.0 * math.log(1.25 / delta) / ((1 - 2 * eta) * epsilon**2)
        return lead + 8.0 * math.sqrt(2.0 * log / n) / ((1 - 2 * eta) * epsilon)
    if version == "corrected":
        return variance * (n + max(2.0 * math.sqrt(2.0 * n * log), 8.0 * log))
    if version == "laurent_massart":
        return variance * (n + 2.0 * math.sqrt(n * log) + 2.0 * log)
    return variance * float(stats.chi2.isf(failure, n))


def gamma_norm_bound(
    *, n_components: int, epsilon: float, eta: float, failure: float,
    version: _GammaVersion = "exact",
) -> float:  # fmt: skip
    """Bound on ``||z||`` for noise of density ``exp(-xi ||z||)``, with probability 1 - failure/2.

    ``xi = epsilon / Delta`` with ``Delta = 2/sqrt(N (1 - 2 eta))`` (remark after Lemma 13).
    "printed" has sqrt 2 where Chebyshev's inequality gives 2 ("corrected"), and is **false** for
    large N; "exact" is the quantile of the radius, which is Gamma(N) with scale 1/xi.

    >>> setting = dict(n_components=1000, epsilon=1.0, eta=0.375, failure=0.05)
    >>> [round(gamma_norm_bound(**setting, version=v), 1) for v in ("printed", "corrected")]
    [107.3, 151.8]
    """
    check_choice("version", version, ("printed", "corrected", "exact"))
    n = check_integer("n_components", n_components, minimum=1)
    probability = check_probability("failure", failure)
    width = check_positive("epsilon", epsilon) * math.sqrt(
        1.0 - 2.0 * check_interval("eta", eta, 0.0, 0.5)
    )
    if version == "exact":
        return float(stats.gamma.isf(probability / 2.0, n)) * 2.0 / (math.sqrt(n) * width)
    constant = math.sqrt(2.0) if version == "printed" else 2.0
    return constant / width * (math.sqrt(n) + math.sqrt(2.0 / probability))


def private_excess_exact(
    *, n_components: int, epsilon: float, delta: float, eta: float
) -> float:  # fmt: skip
    """Expected squared distance of the private and the non-private model in ``L^2(mu)``.

    ``sigma^2 E||phi(x)||^2`` with the mean squared row norm N of the paper's features, which gives
    ``8 ln(1.25/delta)/((1 - 2 eta) epsilon^2)`` for every N, m and law mu, where Theorem 12's bound
    grows like sqrt(N). (Rows of the published code have norms of about 1.)

    >>> round(private_excess_exact(n_components=2000, epsilon=1.0, delta=1e-5, eta=0.375), 2)
    375.55
    """
    sigma = printed_sigma(n_components=n_components, epsilon=epsilon, delta=delta, eta=eta)
    return sigma**2 * n_components


def frequency_moments(frequencies: ArrayLike) -> Array:
    """Matrix ``M`` with ``||sum_k z_k e^{i<w_k, .>}||^2 = z^T M z`` for inputs N(0, I).

    ``exp(-||w_k - w_l||^2 / 2)`` (N, N) for frequencies (d, N), one per column.
    """
    w = check_real_array("frequencies", frequencies, 2)
    squares = np.sum(w**2, axis=0)
    distance2 = np.maximum(squares[:, None] + squares[None, :] - 2.0 * w.T @ w, 0.0)
    np.fill_diagonal(distance2, 0.0)
    return np.asarray(np.exp(-distance2 / 2.0))


def private_excess_bound(moments: ArrayLike, *, sigma: float, failure: float) -> float:
    """Bound on ``z^T M z`` with probability 1 - failure: what should stand for Theorem 12.

    ``sigma^2 (tr M + 2 ||M||_F sqrt l + 2 ||M|| l)`` with l = log(1/failure), by the weighted
    chi-square tail of Laurent and Massart (2000, Lemma 1); M (N, N) positive semidefinite, for
    example of :func:`frequency_moments`.
    """
    M = check_real_array("moments", moments, 2)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {M.shape}")
    log = -math.log(check_probability("failure", failure))
    spread = float(np.linalg.norm(M)) * math.sqrt(log)
    largest = float(np.linalg.eigvalsh(M)[-1])
    trace = float(np.trace(M))
    return check_positive("sigma", sigma) ** 2 * (trace + 2.0 * spread + 2.0 * largest * log)


# Noise scales of the methods that the paper compares; Delta = sensitivity / sqrt(N).


def published_scale(
    n_components: int, *, epsilon: float, delta: float, sensitivity: float = 4.0
) -> float:
    """Noise of the published code, ``sqrt(2 log(1.25/delta)) Delta / epsilon``.

    No privacy guarantee: this Delta belongs to features of norm sqrt(N), the code's features have
    norm 1. The numerator of Delta is 4, and 2 in Figure 5.

    >>> round(published_scale(1500, epsilon=1.0, delta=1e-5) ** 2, 5)
    0.25037
    """
    return _correct_scale(epsilon=epsilon, delta=delta, sensitivity=sensitivity) / math.sqrt(
        check_integer("n_components", n_components)
    )


def _correct_scale(*, epsilon: float, delta: float, sensitivity: float = 4.0) -> float:
    """Noise ``sqrt(2 log(1.25/delta)) sensitivity / epsilon`` of Lemma 9 for rows of norm one;
    sensitivity 2 / sqrt(1 - 2 eta) is 4 at eta = 3/8, whatever the number of features.
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta)
    sensitivity = check_positive("sensitivity", sensitivity)
    return math.sqrt(2.0 * math.log(1.25 / delta)) * sensitivity / epsilon


def _fairness_scale(n_components: int, *, epsilon: float, sensitivity: float = 4.0) -> float:
    """Noise ``5 Delta / sqrt(2 epsilon)`` of the published fairness code (Figures 7 and 8): gaps of
    squared errors fall like 1/epsilon and not like 1/epsilon**2.
    """
    return 5.0 * sensitivity / math.sqrt(2.0 * epsilon * n_components)


def _gamma_scale(n_components: int, *, epsilon: float, sensitivity: float = 4.0) -> float:
    """Root mean square ``sqrt(N+1) Delta/epsilon`` of a coefficient of the Gamma baseline's noise:
    u uniform on the sphere times R ~ Gamma(N, scale Delta/epsilon).
    """
    return math.sqrt((n_components + 1.0) / n_components) * sensitivity / epsilon


def _sgd_scale(
    n_records: int, *, epsilon: float, delta: float, steps: int | None = None,
    learning_rate: float | None = None,
) -> float:  # fmt: skip
    """Noise of the SGD baseline (Section 4.1), ``sqrt(2 log(2.5/delta)) Delta / epsilon``.

    With ``Delta = 4 e eta^2 (1 + sqrt(eta T))^2 T (1 + C) (1 + T (1 + C)/m) / m`` and
    ``C = max(sqrt(a), a)``, ``a = 3 m log(2m/delta) / T``; by default T = m, eta = 1/m.
    """
    m = check_integer("n_records", n_records)
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta)
    t = m if steps is None else check_integer("steps", steps)
    eta = 1.0 / m if learning_rate is None else check_positive("learning_rate", learning_rate)
    a = 3.0 * m * math.log(2.0 * m / delta) / t
    c = max(math.sqrt(a), a)
    sensitivity = 4.0 * math.e * eta**2 * (1.0 + math.sqrt(eta * t)) ** 2
    sensitivity *= t * (1.0 + c) * (1.0 + t * (1.0 + c) / m) / m
    return math.sqrt(2.0 * math.log(2.5 / delta)) * sensitivity / epsilon


def crossing_records(
    *, epsilon: float = 1.0, delta: float = 1e-5, components: str = "2m"
) -> int:  # fmt: skip
    """Smallest number of records from which the SGD baseline's noise is below the published one.

    N is "2m" (the code of Figure 3) or "m+200" (its text); "correct" is the noise of unit rows.
    The variances are about 1/m and 1/m^2, so they cross once; at most 100,000 is tried.

    >>> crossing_records(), crossing_records(components="m+200")
    (1482, 1221)
    """
    check_choice("components", components, ("2m", "m+200", "correct"))
    largest = 100_000

    def ahead(m: int) -> bool:
        if components == "correct":
            ours = _correct_scale(epsilon=epsilon, delta=delta)
        else:
            n = 2 * m if components == "2m" else m + 200
            ours = published_scale(n, epsilon=epsilon, delta=delta)
        return _sgd_scale(m, epsilon=epsilon, delta=delta) < ours

    if not ahead(largest):
        raise ValueError(f"epsilon and delta must let the curves cross before m = {largest}")
    return 1 + bisect.bisect_left(range(1, largest), True, key=ahead)
