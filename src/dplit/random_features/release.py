"""Algorithm 1 as printed and with its noise repaired, and the price of any private interpolator."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import classical_gaussian_sigma, gaussian_noise, gaussian_sigma
from dplit.random_features.sensitivity import lemma9_bound

__all__ = [
    "GammaVersion",
    "NoiseVersion",
    "correct_scale",
    "crossing_records",
    "fairness_scale",
    "frequency_moments",
    "gamma_norm_bound",
    "gamma_scale",
    "interpolator_noise_floor",
    "min_norm_error",
    "noise_norm_bound",
    "printed_sigma",
    "private_excess_bound",
    "private_excess_exact",
    "published_scale",
    "release_coefficients",
    "sgd_scale",
]


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


# How large the noise of a release is: Lemma 13, the Gamma remark, and the exact excess error.
#
# Throughout ``epsilon``, ``delta`` and ``eta`` are those of Algorithm 1, ``failure`` is the
# probability with which a bound may fail, and the noise variance per real coefficient is
# ``sigma^2 = 8 ln(1.25/delta) / (N epsilon^2 (1 - 2 eta))``.


NoiseVersion = Literal["printed", "corrected", "laurent_massart", "exact"]

GammaVersion = Literal["printed", "corrected", "exact"]


def noise_norm_bound(
    *,
    n_components: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    version: NoiseVersion = "laurent_massart",
) -> float:
    """Bound on ``||z||^2`` for the noise of Algorithm 1, claimed with probability 1 - failure.

    Parameters
    ----------
    n_components : int
        Number N of real noise coordinates.
    epsilon, delta, eta : float
        As in Algorithm 1: positive, in (0, 1), in (0, 1/2).
    failure : float
        In (0, 1).
    version : {"printed", "corrected", "laurent_massart", "exact"}
        "printed" is Lemma 13, **false** for every N. "corrected" is what its sub-exponential proof
        gives, "laurent_massart" a sharper bound, "exact" the quantile itself.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    ``E||z||^2 = N sigma^2 = 8 ln(1.25/delta)/((1 - 2 eta) epsilon^2)``; the printed leading
    constant is 2. With sub-exponential parameters ``nu = 2 sigma^2 sqrt N`` and ``4 sigma^2`` and
    l = log(1/failure) the deviation is ``nu sqrt(2 l)`` for ``N >= 8 l`` and ``8 sigma^2 l`` below;
    the printed one halves its constant, drops ln(1.25/delta) and has epsilon for epsilon^2.
    Laurent and Massart: ``sigma^2 (N + 2 sqrt(N l) + 2 l)``.

    References
    ----------
    Liao, Needell, Schaeffer and Xue, Differentially private random feature model, manuscript of
    September 9, 2025, Lemma 13. Laurent and Massart (2000), Annals of Statistics 28(5), Lemma 1.

    Examples
    --------
    >>> setting = dict(n_components=1000, epsilon=1.0, delta=1e-5, eta=0.375, failure=0.05)
    >>> round(noise_norm_bound(**setting, version="printed"), 1)
    96.4
    >>> round(noise_norm_bound(**setting), 1)
    418.9
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
    *,
    n_components: int,
    epsilon: float,
    eta: float,
    failure: float,
    version: GammaVersion = "exact",
) -> float:
    """Bound on ``||z||`` for noise of density ``exp(-xi ||z||)``, with probability 1 - failure/2.

    Parameters
    ----------
    n_components : int
        Number N of coordinates.
    epsilon : float
        Budget (pure), positive; ``xi = epsilon / Delta`` with ``Delta = 2/sqrt(N (1 - 2 eta))``.
    eta : float
        In (0, 1/2).
    failure : float
        In (0, 1).
    version : {"printed", "corrected", "exact"}
        "printed" has sqrt 2 where Chebyshev's inequality gives 2 ("corrected"), and is **false**
        for large N; "exact" is the quantile of the Gamma law.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    ``||z||`` is Gamma(N) with scale ``1/xi``: mean ``N Delta/epsilon = 2 sqrt N / (sqrt(1 - 2 eta)
    epsilon)``, standard deviation ``2 / (sqrt(1 - 2 eta) epsilon)``; Chebyshev with
    ``sqrt(2/failure)`` standard deviations. Like ``||z||`` of the Gaussian mechanism it scales as
    1/epsilon.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), remark after Lemma 13.

    Examples
    --------
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
    *,
    n_components: int,
    epsilon: float,
    delta: float,
    eta: float,
    row_norm_squared: float | None = None,
) -> float:
    """Expected squared distance of the private and the non-private model in ``L^2(mu)``.

    Parameters
    ----------
    n_components : int
        Number N of features.
    epsilon, delta, eta : float
        As in Algorithm 1.
    row_norm_squared : float, optional
        Mean of ``||phi(x)||^2`` under the law mu of the inputs; None is N, the paper's
        unnormalised features. The published code has about 1.

    Returns
    -------
    float
        ``sigma^2 * row_norm_squared``; for the paper's features
        ``8 ln(1.25/delta)/((1 - 2 eta) epsilon^2)`` for every N, every m, every law.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The difference of the models is ``z^T phi(x)``, whose mean square over z is
    ``sigma^2 ||phi(x)||^2``. More features do not help; Theorem 12's bound grows like sqrt(N).

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Theorem 12.

    Examples
    --------
    >>> round(private_excess_exact(n_components=2000, epsilon=1.0, delta=1e-5, eta=0.375), 2)
    375.55
    """
    variance = printed_sigma(n_components=n_components, epsilon=epsilon, delta=delta, eta=eta) ** 2
    if row_norm_squared is None:
        return variance * n_components
    return variance * check_positive("row_norm_squared", row_norm_squared)


def frequency_moments(
    frequencies: ArrayLike, *, input_variance: float = 1.0
) -> NDArray[np.float64]:
    """Matrix ``M`` with ``||sum_k z_k e^{i<w_k, .>}||^2 = z^T M z`` for Gaussian inputs.

    Parameters
    ----------
    frequencies : array_like of shape (d, N)
        One frequency per column.
    input_variance : float, default=1.0
        The inputs are N(0, input_variance * I); positive.

    Returns
    -------
    ndarray of shape (N, N)
        ``exp(-input_variance ||w_k - w_l||^2 / 2)``, with ones on the diagonal.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> frequency_moments([[0.0, 1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    w = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    squares = np.sum(w**2, axis=0)
    distance2 = np.maximum(squares[:, None] + squares[None, :] - 2.0 * w.T @ w, 0.0)
    np.fill_diagonal(distance2, 0.0)
    return np.asarray(np.exp(-check_positive("input_variance", input_variance) * distance2 / 2.0))


def private_excess_bound(moments: ArrayLike, *, sigma: float, failure: float) -> float:
    """Bound on ``z^T M z`` with probability 1 - failure, by the weighted chi-square tail.

    Parameters
    ----------
    moments : array_like of shape (N, N)
        Positive semidefinite M, for example of :func:`frequency_moments`.
    sigma : float
        Standard deviation of the coordinates of z, positive.
    failure : float
        In (0, 1).

    Returns
    -------
    float
        ``sigma^2 (tr M + 2 ||M||_F sqrt l + 2 ||M|| l)`` with l = log(1/failure): what should stand
        in the place of Theorem 12.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Laurent and Massart (2000), Annals of Statistics 28(5), Lemma 1.

    Examples
    --------
    >>> round(private_excess_bound(np.eye(100), sigma=1.0, failure=0.05), 2)
    140.61
    """
    M = check_finite_array("moments", moments, ndim=2)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {M.shape}")
    log = -math.log(check_probability("failure", failure))
    spread = float(np.linalg.norm(M)) * math.sqrt(log)
    largest = float(np.linalg.eigvalsh(M)[-1])
    trace = float(np.trace(M))
    return check_positive("sigma", sigma) ** 2 * (trace + 2.0 * spread + 2.0 * largest * log)


# Noise scales of the methods that the paper compares, and the excess errors they cause.
#
# All standard deviations are per coefficient. With rows of norm one, the variance of a
# coefficient
# is also the expected excess of the squared test error.


def published_scale(
    n_components: int, *, epsilon: float, delta: float, sensitivity: float = 4.0
) -> float:
    """Standard deviation of the noise that the published code adds to each coefficient.

    Parameters
    ----------
    n_components : int
        Number N of features, at least 1.
    epsilon : float
        Privacy budget, positive.
    delta : float
        Privacy parameter in (0, 1).
    sensitivity : float, default=4.0
        Numerator of Delta = sensitivity / sqrt(N); the code has 4, and 2 in Figure 5.

    Returns
    -------
    float
        ``sqrt(2 log(1.25/delta)) sensitivity / (sqrt(N) epsilon)``. No privacy guarantee: this
        Delta belongs to features of norm sqrt(N), the code's features have norm 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Algorithm 1 and Section 4.1.

    Examples
    --------
    >>> round(published_scale(1500, epsilon=1.0, delta=1e-5) ** 2, 5)
    0.25037
    """
    return correct_scale(epsilon=epsilon, delta=delta, sensitivity=sensitivity) / math.sqrt(
        check_integer("n_components", n_components)
    )


def correct_scale(*, epsilon: float, delta: float, sensitivity: float = 4.0) -> float:
    """Standard deviation that Lemma 9 asks for when every row of the feature matrix has norm one.

    Parameters
    ----------
    epsilon, delta, sensitivity : float
        As in :func:`published_scale`. For unit rows the lemma's value is
        2 / sqrt(1 - 2 eta) = 4 at eta = 3/8, whatever the number of features.

    Returns
    -------
    float
        ``sqrt(2 log(1.25/delta)) sensitivity / epsilon``; its square is the expected excess error.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Theorem 7 and Lemma 9.

    Examples
    --------
    >>> round(correct_scale(epsilon=1.0, delta=1e-5) ** 2, 2)
    375.55
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta)
    sensitivity = check_positive("sensitivity", sensitivity)
    return math.sqrt(2.0 * math.log(1.25 / delta)) * sensitivity / epsilon


def fairness_scale(n_components: int, *, epsilon: float, sensitivity: float = 4.0) -> float:
    """Standard deviation of the noise in the published fairness code (Figures 7 and 8).

    Parameters
    ----------
    n_components : int
        Number N of features, at least 1.
    epsilon : float
        Privacy budget, positive.
    sensitivity : float, default=4.0
        Numerator of Delta.

    Returns
    -------
    float
        ``5 Delta / sqrt(2 epsilon)``: proportional to epsilon**-0.5, so that gaps of squared
        errors fall like 1/epsilon and not like 1/epsilon**2.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(fairness_scale(4000, epsilon=0.05) ** 2, 12)
    1.0
    """
    n_components = check_integer("n_components", n_components)
    epsilon = check_positive("epsilon", epsilon)
    sensitivity = check_positive("sensitivity", sensitivity)
    return 5.0 * sensitivity / math.sqrt(2.0 * epsilon * n_components)


def gamma_scale(n_components: int, *, epsilon: float, sensitivity: float = 4.0) -> float:
    """Root mean square of a coefficient of the Gamma baseline's noise.

    Parameters
    ----------
    n_components : int
        Number N of features, at least 1.
    epsilon : float
        Privacy budget, positive.
    sensitivity : float, default=4.0
        Numerator of Delta.

    Returns
    -------
    float
        ``sqrt(N + 1) Delta / epsilon``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    z = R u with u uniform on the sphere and R ~ Gamma(N, scale Delta/epsilon), so
    E z_k^2 = E R^2 / N = (N + 1) (Delta/epsilon)^2. With Delta = 4/sqrt(N) that is 16 (N + 1)/N.

    Examples
    --------
    >>> round(gamma_scale(1000, epsilon=1.0) ** 2, 3)
    16.016
    """
    n_components = check_integer("n_components", n_components)
    epsilon = check_positive("epsilon", epsilon)
    sensitivity = check_positive("sensitivity", sensitivity)
    return math.sqrt((n_components + 1.0) / n_components) * sensitivity / epsilon


def sgd_scale(
    n_records: int,
    *,
    epsilon: float,
    delta: float,
    steps: int | None = None,
    learning_rate: float | None = None,
) -> float:
    """Standard deviation of the noise that the SGD baseline adds to each coefficient.

    Parameters
    ----------
    n_records : int
        Number m of training records, at least 1.
    epsilon, delta : float
        Privacy parameters.
    steps : int, optional
        Number T of steps; m by default.
    learning_rate : float, optional
        Step size eta; 1/m by default.

    Returns
    -------
    float
        ``sqrt(2 log(2.5/delta)) Delta / epsilon`` with
        ``Delta = 4 e eta^2 (1 + sqrt(eta T))^2 T (1 + C) (1 + T (1 + C)/m) / m`` and
        ``C = max(sqrt(a), a)``, ``a = 3 m log(2m/delta) / T``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Section 4.1 and the published code.

    Examples
    --------
    >>> round(sgd_scale(1000, epsilon=1.0, delta=1e-5) ** 2, 5)
    0.5636
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
    *, epsilon: float = 1.0, delta: float = 1e-5, components: str = "2m", maximum: int = 100_000
) -> int:
    """Smallest number of records from which the SGD baseline's noise is below the published one.

    Parameters
    ----------
    epsilon, delta : float
        Privacy parameters.
    components : {"2m", "m+200", "correct"}, default="2m"
        Number of features: as in the code of Figure 3, as in its text, or ``"correct"`` for the
        noise that Lemma 9 asks for with unit rows.
    maximum : int, default=100000
        Largest number of records to try.

    Returns
    -------
    int
        Both variances are about 1/m and 1/m^2, so they cross once. At 1481 records
        (N = 2m) the published noise is still the smaller.

    Raises
    ------
    ValueError
        If an argument is out of range, or no crossing lies below ``maximum``.

    Examples
    --------
    >>> crossing_records(), crossing_records(components="m+200")
    (1482, 1221)
    """
    check_choice("components", components, ("2m", "m+200", "correct"))
    check_integer("maximum", maximum)

    def ours(m: int) -> float:
        if components == "correct":
            return correct_scale(epsilon=epsilon, delta=delta)
        n = 2 * m if components == "2m" else m + 200
        return published_scale(n, epsilon=epsilon, delta=delta)

    def ahead(m: int) -> bool:
        return sgd_scale(m, epsilon=epsilon, delta=delta) < ours(m)

    if not ahead(maximum):
        raise ValueError(f"maximum must be above the crossing, got maximum={maximum!r}")
    low, high = 0, maximum
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ahead(middle) else (middle, high)
    return high


def min_norm_error(
    *, test_mean_square: float, train_norm2: float, n_records: int, n_components: int
) -> float:
    """Expected test error of the minimum-norm interpolant when the kernel sees no neighbour.

    Parameters
    ----------
    test_mean_square : float
        Mean of the squared test labels, nonnegative: the error of the zero predictor.
    train_norm2 : float
        Squared norm of the training labels, nonnegative.
    n_records, n_components : int
        m and N, with N > m + 1.

    Returns
    -------
    float
        ``test_mean_square + train_norm2 / (N - m)``: worse than predicting zero.

    Raises
    ------
    ValueError
        If an argument is out of range or N <= m + 1.

    Notes
    -----
    In the narrow-kernel limit features of distinct points are independent with covariance I/N, a
    test prediction has conditional variance ``||c||^2 / N`` and
    ``E ||c||^2 = ||y||^2 N / (N - m)`` up to 1/N (inverse Wishart).

    Examples
    --------
    >>> round(min_norm_error(test_mean_square=.0005, train_norm2=.5, n_records=1000,
    ...                      n_components=1500), 6)
    0.0015
    """
    mean_square = check_nonnegative("test_mean_square", test_mean_square)
    norm2 = check_nonnegative("train_norm2", train_norm2)
    m = check_integer("n_records", n_records)
    n = check_integer("n_components", n_components, minimum=m + 2)
    return mean_square + norm2 / (n - m)
