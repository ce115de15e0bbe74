r"""Covers of a ball by a cubic lattice, dimensions of random projections, and costs without them.

For Algorithm 1, Theorem 3.1, Appendices A and G. Lattice points up to the covering radius
:math:`\gamma` outside the ball are moved onto the sphere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import betainc, expit, gammaln

from dplit._checks import Array, check_integer, check_interval, check_positive, check_probability


def _lattice_side(*, n_components: int, covering_radius: float) -> float:
    r"""Side :math:`h=2\gamma/\sqrt k` of the cubic lattice with a given covering radius."""
    k = check_integer("n_components", n_components)
    return 2 * check_positive("covering_radius", covering_radius) / math.sqrt(k)


def _reach_squared(radius: float, covering_radius: float, side: float) -> float:
    """Squared norm, in sides, up to which lattice points are kept; the rounding is outwards."""
    return ((radius + covering_radius) / side) ** 2 * (1 + 1e-12)


def _lines(k: int, limit: float, offset: float) -> Iterator[Array]:
    """Yield the points of Z^k + offset of squared norm at most ``limit``, line by line."""
    reach = math.floor(math.sqrt(max(limit, 0.0)) + 1)
    axis = np.arange(-reach - 1, reach + 1) + offset
    axis = axis[axis**2 <= limit]
    if k == 1:
        yield axis[:, None].astype(np.float64)
        return
    for value in axis:
        for rest in _lines(k - 1, limit - value**2, offset):
            line = np.empty((len(rest), k))
            line[:, 0], line[:, 1:] = value, rest
            yield line


def ball_cover(
    n_components: int, *, radius: float, covering_radius: float, shifted: bool = False
) -> Array:
    """Lattice cover of a ball as one array (n, k), for small dimensions.

    ``shifted`` puts the origin into the centre of a cube: no point then has a zero coordinate. From
    k = 4 on two lattice points on one ray may be moved to the same point of the sphere: the cover
    is then a multiset, which costs nothing but a little mass.
    """
    side = _lattice_side(n_components=n_components, covering_radius=covering_radius)
    ball = check_positive("radius", radius)
    limit = _reach_squared(ball, covering_radius, side)
    points = side * np.concatenate(list(_lines(n_components, limit, 0.5 if shifted else 0.0)))
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points * (ball / np.maximum(norms, ball)))


def _log_cover_bound(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Bound :math:`k\log(1+2R/\gamma)` on the log size of a :math:`\gamma`-separated set."""
    k = check_integer("n_components", n_components)
    ratio = check_positive("radius", radius) / check_positive("covering_radius", covering_radius)
    return k * math.log1p(2 * ratio)


def log_lattice_size(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Logarithm :math:`\log(V_k((R+\gamma)/h)^k)` of the size of the lattice cover, by volumes.

    >>> round(log_lattice_size(390, radius=2.0, covering_radius=0.05))
    1728
    """
    side = _lattice_side(n_components=n_components, covering_radius=covering_radius)
    k, reach = n_components, check_positive("radius", radius) + covering_radius
    unit = k / 2 * math.log(math.pi) - float(gammaln(k / 2 + 1))
    return unit + k * math.log(reach / side)


# How many dimensions keep margins: failure probabilities of random projections, and their rules.


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


# Two closed-form examples on what the exponential mechanism costs without a projection.


def axis_error(*, n_features: int, n_samples: int, epsilon: float) -> float:
    r"""Expected training error :math:`1/(1+e^{\epsilon m/(2d)})` with m / d records on every axis.

    For the zero-one score, all labels 1, and a prior that no change of signs alters.
    """
    d, m = check_integer("n_features", n_features), check_integer("n_samples", n_samples)
    if m % d:
        raise ValueError(f"n_samples must be a multiple of n_features={d}, got n_samples={m}")
    return float(expit(-check_positive("epsilon", epsilon) * m / (2 * d)))


def cap_mass(*, n_features: int, margin: float) -> float:
    r"""Share :math:`\frac12I_{1-\rho^2}(\frac{d+1}2,\frac12)` of the ball beyond a hyperplane."""
    rho = check_probability("margin", margin, zero=True)
    return float(betainc((check_integer("n_features", n_features) + 1) / 2, 0.5, 1 - rho**2) / 2)


def score_failure(mass: float, *, n_samples: int, epsilon: float) -> float:
    r"""Probability to miss a set of prior mass M on which m copies of a record cost nothing.

    :math:`(1-M)e^{-\epsilon m/2}/(M+(1-M)e^{-\epsilon m/2})`.
    """
    share = check_probability("mass", mass)
    exponent = check_positive("epsilon", epsilon) * check_integer("n_samples", n_samples) / 2
    return float(expit(math.log1p(-share) - math.log(share) - exponent))
