"""Noise scales of the methods that the paper compares; Delta = sensitivity / sqrt(N)."""

from __future__ import annotations

import bisect
import math

from dplit._checks import check_choice, check_integer, check_positive, check_probability


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
    n_records: int,
    *,
    epsilon: float,
    delta: float,
    steps: int | None = None,
    learning_rate: float | None = None,
) -> float:
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


def crossing_records(*, epsilon: float = 1.0, delta: float = 1e-5, components: str = "2m") -> int:
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
