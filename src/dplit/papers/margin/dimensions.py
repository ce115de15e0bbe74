"""How many dimensions keep margins.

Failure probabilities of random projections, and their rules.
"""

from __future__ import annotations

import math

from dplit._checks import check_integer, check_interval, check_positive, check_probability

#: Share of the margin that the projection may use up: 0.15 is left for rounding to a cover.
_DISTORTION_SHARE = 0.85


def _jl_exponent(distortion: float) -> float:
    r"""Rate :math:`\eta^2/4-\eta^3/6` at which a sign projection's failure falls with k."""
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    return eta**2 / 4 - eta**3 / 6


def jl_failure(*, n_components: int, distortion: float, n_events: float = 1) -> float:
    """Union bound ``n_events * exp(-k (eta^2/4 - eta^3/6))`` on the failure of a sign projection.

    One-sided events: 2 for a squared length, 4 for an inner product of unit vectors,
    :func:`margin_events` for a sample and a comparator. Above 1 it says nothing.
    """
    k = check_integer("n_components", n_components)
    return check_positive("n_events", n_events) * math.exp(-k * _jl_exponent(distortion))


def margin_events(n_samples: int) -> int:
    """One-sided events that a sample and one comparator need from a projection, 5 m + 1.

    Four for each inner product with the comparator, one for each length.
    """
    return 5 * check_integer("n_samples", n_samples) + 1


def _jl_dimension(*, normalized_margin: float, n_samples: int, beta: float) -> int:
    r"""Dimension in which a sign projection keeps the margins of m points, with our constants.
    :math:`\lceil\log((5m+1)/\beta)/(\eta^2/4-\eta^3/6)\rceil` at :math:`\eta=0.85a`: with
    probability :math:`1-\beta` all inner products with the comparator are off by at most
    :math:`0.85\rho`, and no length grows by more than :math:`\sqrt{1+0.85a}`.
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    events = margin_events(n_samples) / check_probability("beta", beta)
    return max(1, math.ceil(math.log(events) / _jl_exponent(_DISTORTION_SHARE * a)))


def _order(n_features: int) -> int:
    return int(1 << (check_integer("n_features", n_features) - 1).bit_length())


def hadamard_failure(
    *, n_components: int, distortion: float, n_features: int, n_vectors: int
) -> float:
    r"""Bound on the failure of a fast projection to keep n squared lengths (Lemma A.2).

    :math:`2nd'e^{-t/2}+2n\exp(-k\eta^2/(2t(1+\eta/3)))` at the t that makes both terms equal, d'
    the power of two from d on. For inner products of m points with a comparator n = 3 m + 1.
    """
    k = check_integer("n_components", n_components)
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    n, order = check_integer("n_vectors", n_vectors), _order(n_features)
    rate = k * eta**2 / (1 + eta / 3)  # 2 log d' = t - rate / t where the terms agree
    log_order = math.log(order)
    t = log_order + math.sqrt(log_order**2 + rate)
    return 4 * n * math.exp(-rate / (2 * t))


def hadamard_dimension(*, distortion: float, n_features: int, n_vectors: int, beta: float) -> int:
    r"""Coordinates that a fast projection needs to keep the squared lengths of n vectors.

    :math:`\lceil4(1+\eta/3)\log(4nd'/\beta)\log(4n/\beta)/\eta^2\rceil`, which may exceed d'.
    """
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    n, order = check_integer("n_vectors", n_vectors), _order(n_features)
    spread = math.log(4 * n * order / check_probability("beta", beta))
    return math.ceil(4 * (1 + eta / 3) * spread * math.log(4 * n / beta) / eta**2)
