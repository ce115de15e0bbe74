"""Noise scales of the methods that the paper compares, and the excess errors they cause.

All standard deviations are per coefficient. With rows of norm one, the variance of a coefficient
is also the expected excess of the squared test error.
"""

from __future__ import annotations

import math

from dplit._checks import (
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)

__all__ = [
    "correct_scale",
    "crossing_records",
    "fairness_scale",
    "gamma_scale",
    "min_norm_error",
    "published_scale",
    "sgd_scale",
]


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
