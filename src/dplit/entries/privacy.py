"""Bits for an entry: the noise that buys them, and what they are worth to a whole record."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.optimize import brentq
from scipy.stats import chi2

from dplit._checks import check_integer, check_nonnegative, check_positive
from dplit.entries._checks import LEAST_DELTA, check_bits, check_least_delta
from dplit.entries._quadrature import LN2, chi_nodes
from dplit.mechanisms import gaussian_delta, gaussian_epsilon


def additive_sigma(*, epsilon: float) -> float:
    r"""Noise (9) on one entry in [-1, 1]: :math:`\sigma_{AN}=1/\sqrt{2^{2\epsilon}-1}`.

    On every entry it is :math:`\epsilon`-MI-DP; the least such noise is
    :func:`dplit.papers.projection.capacity.exact_sigma`.

    >>> round(additive_sigma(epsilon=0.5), 12)  # 2^1 - 1 = 1
    1.0
    """
    nats = 2.0 * LN2 * check_bits(epsilon)
    return math.exp(-nats / 2.0) / math.sqrt(-math.expm1(-nats))


def fixed_variance(*, epsilon: float, n_components: int) -> float:
    r"""Noise variance :math:`n'/(2^{2\epsilon}-1)`, private whatever the data: (13) without f.

    >>> round(fixed_variance(epsilon=0.5, n_components=10), 12)
    10.0
    """
    return check_integer("n_components", n_components) * additive_sigma(epsilon=epsilon) ** 2


def row_delta(*, epsilon: float, variance: float, n_components: int, row_change: float) -> float:
    r"""Exact delta at ``epsilon`` (nats) of a release with public S, for one changed row.

    ``variance`` was chosen without the data; ``row_change`` is the largest Euclidean norm of the
    change, ``2 sqrt(d)`` for d entries in [-1, 1] and 2 for a single entry. Given S the mean moves
    by :math:`\|s_i\|\|\Delta\|` with :math:`\|s_i\|^2\sim\chi^2_{n'}`: a mixture of Gaussian
    mechanisms. Responses are not protected.

    >>> round(row_delta(epsilon=1.0, variance=100.0, n_components=100, row_change=2.0), 3)
    0.507
    """
    sigma = math.sqrt(check_positive("variance", variance))
    change = check_positive("row_change", row_change)
    level = check_nonnegative("epsilon", epsilon)
    lengths, mass = chi_nodes(check_integer("n_components", n_components), 96, tail=1e-17)
    profile = gaussian_delta(epsilon=level, sigma=sigma / change, sensitivity=lengths)
    return min(1.0, float(mass @ profile) + 2e-17)


def row_epsilon(*, delta: float, variance: float, n_components: int, row_change: float) -> float:
    """Smallest epsilon at ``delta`` >= 1e-14 of a release with public S, on the safe side by 1e-9.

    It is 0 where delta is reached there already, and inf where the mean signal-to-noise ratio
    exceeds 1e15.

    >>> round(row_epsilon(delta=1e-5, variance=100.0, n_components=100, row_change=2.0), 1)
    10.7
    """
    target = check_least_delta(delta, LEAST_DELTA)
    return _row_epsilon(
        target,
        check_positive("variance", variance),
        check_integer("n_components", n_components),
        check_positive("row_change", row_change),
    )


@lru_cache(maxsize=256)
def _row_epsilon(target: float, variance: float, n: int, change: float) -> float:
    """Compute :func:`row_epsilon`; an estimator that is fitted again asks the same question."""
    if n * change**2 > 1e15 * variance:
        return math.inf

    def gap(epsilon: float) -> float:
        reached = row_delta(epsilon=epsilon, variance=variance, n_components=n, row_change=change)
        return math.log(reached / target)

    if gap(0.0) <= 0:
        return 0.0
    longest = change * math.sqrt(float(chi2.isf(target / 2, n)))
    high = gaussian_epsilon(delta=target / 2, sigma=math.sqrt(variance), sensitivity=longest)
    root = brentq(gap, 0.0, 1.0001 * high + 1e-9, xtol=1e-12, rtol=1e-12)
    return float(root) * (1 + 1e-9) + 1e-11


def row_variance(*, epsilon: float, delta: float, n_components: int, row_change: float) -> float:
    """Smallest variance with public S, safe by 1e-9, that is (epsilon, delta)-private for a row.

    >>> size = {"n_components": 100, "row_change": 2.0}
    >>> variance = row_variance(epsilon=1.0, delta=1e-5, **size)
    >>> round(row_delta(epsilon=1.0, variance=variance, **size), 8)
    1e-05
    """
    level = check_positive("epsilon", epsilon)
    target = check_least_delta(delta, LEAST_DELTA)

    def gap(log_variance: float) -> float:
        return math.log(
            row_delta(
                epsilon=level,
                variance=math.exp(log_variance),
                n_components=n_components,
                row_change=row_change,
            )
            / target
        )

    size = check_integer("n_components", n_components)
    centre = math.log(check_positive("row_change", row_change) ** 2 * size)
    low, high = centre - 10.0, centre + 10.0
    while gap(low) < 0:
        low -= 5.0
    while gap(high) > 0:
        high += 5.0
    return math.exp(float(brentq(gap, low, high, xtol=1e-12))) * (1 + 1e-9)
