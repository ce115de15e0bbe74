r"""Covers of a ball by a cubic lattice, in blocks.

The lattice of side :math:`h=2\gamma/\sqrt k` has covering radius :math:`\gamma`. Its points within
distance :math:`\gamma` of the ball cover it, and moving those outside radially back into the
ball, which brings no two points of space further apart, keeps a cover.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree
from scipy.special import betainc, expit, gammaln
from scipy.stats import norm

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
)

__all__ = [
    "axis_error",
    "axis_samples",
    "ball_cover",
    "cap_mass",
    "cover_distance",
    "deep_holes",
    "gaussian_failure",
    "hadamard_dimension",
    "hadamard_failure",
    "jl_dimension",
    "jl_exponent",
    "jl_failure",
    "lattice_blocks",
    "lattice_side",
    "log_cover_bound",
    "log_lattice_size",
    "margin_events",
    "score_failure",
]


#: Points of a block: what an enumeration holds at a time.
BLOCK = 1 << 16


def lattice_side(*, n_components: int, covering_radius: float) -> float:
    r"""Side :math:`h=2\gamma/\sqrt k` of the cubic lattice with a given covering radius.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    covering_radius : float
        :math:`\gamma`, positive.

    Returns
    -------
    float
        Half the diagonal of a cube of this side is the covering radius.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(lattice_side(n_components=4, covering_radius=0.5), 3)
    0.5
    """
    k = check_integer("n_components", n_components)
    return 2 * check_positive("covering_radius", covering_radius) / math.sqrt(k)


def reach_squared(radius: float, covering_radius: float, side: float) -> float:
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


def lattice_blocks(
    n_components: int,
    *,
    radius: float,
    covering_radius: float,
    shifted: bool = False,
    block_size: int = BLOCK,
) -> Iterator[Array]:
    r"""Points of the lattice cover of a ball, in blocks: the memory is that of one block.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.
    shifted : bool, default=False
        Whether the origin is the centre of a cube instead of a lattice point: no point then has a
        zero coordinate.
    block_size : int, default=65536
        Points that are gathered before they are passed on.

    Yields
    ------
    ndarray of shape (n, k)
        Points in the ball, always in the same order.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    From k = 4 on two lattice points on one ray may be moved to the same point of the sphere: the
    cover is then a multiset, which costs nothing but a little mass.

    Examples
    --------
    >>> sum(len(b) for b in lattice_blocks(2, radius=2.0, covering_radius=0.1))
    681
    """
    side = lattice_side(n_components=n_components, covering_radius=covering_radius)
    ball = check_positive("radius", radius)
    size = check_integer("block_size", block_size)
    limit = reach_squared(ball, covering_radius, side)
    return _blocks(n_components, limit, side, ball, 0.5 if shifted else 0.0, size)


def _blocks(
    k: int, limit: float, side: float, ball: float, offset: float, size: int
) -> Iterator[Array]:
    held: list[Array] = []
    count = 0
    for line in _lines(k, limit, offset):
        held.append(line)
        count += len(line)
        if count >= size:
            yield _into_ball(side * np.concatenate(held), ball)
            held, count = [], 0
    if count:
        yield _into_ball(side * np.concatenate(held), ball)


def _into_ball(points: Array, ball: float) -> Array:
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    inside: Array = points * (ball / np.maximum(norms, ball))
    return inside


def ball_cover(
    n_components: int, *, radius: float, covering_radius: float, shifted: bool = False
) -> Array:
    r"""Lattice cover of a ball as one array, for small dimensions.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.
    shifted : bool, default=False
        See :func:`dplit.margin.covers.lattice_blocks`.

    Returns
    -------
    ndarray of shape (n, k)
        Every point of the ball is within :math:`\gamma` of a row.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> ball_cover(3, radius=2.0, covering_radius=0.2).shape
    (3695, 3)
    """
    blocks = lattice_blocks(
        n_components, radius=radius, covering_radius=covering_radius, shifted=shifted
    )
    return np.concatenate(list(blocks))


def deep_holes(n_components: int, *, radius: float, covering_radius: float) -> Array:
    """Centres of the lattice's cubes that lie in the ball: the points hardest to cover.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        Covering radius of the lattice, positive.

    Returns
    -------
    ndarray of shape (n, k)
        Each is at the covering radius from its nearest lattice points.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> len(deep_holes(2, radius=1.0, covering_radius=0.5))
    4
    """
    side = lattice_side(n_components=n_components, covering_radius=covering_radius)
    limit = (check_positive("radius", radius) / side) ** 2
    return side * np.concatenate(list(_lines(n_components, limit, 0.5)))


def cover_distance(cover: ArrayLike, probes: ArrayLike) -> float:
    """Largest distance of a probe from its nearest point of a cover.

    Parameters
    ----------
    cover : array_like of shape (n, k)
        Points.
    probes : array_like of shape (p, k)
        Points of the set to be covered.

    Returns
    -------
    float
        A lower bound on the covering radius, by a tree of the points.

    Raises
    ------
    TypeError, ValueError
        If an array is not a finite matrix, or their columns do not agree.

    Examples
    --------
    >>> cover_distance([[0.0], [1.0]], [[0.5], [0.25]])
    0.5
    """
    points = check_finite_array("cover", cover, ndim=2)
    targets = check_finite_array("probes", probes, ndim=2)
    if points.shape[1] != targets.shape[1]:
        raise ValueError(
            f"probes must have {points.shape[1]} columns, got probes of shape {targets.shape}"
        )
    return float(np.max(KDTree(points).query(targets)[0]))


def log_cover_bound(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Bound :math:`k\log(1+2R/\gamma)` on the logarithm of the size of a good cover.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.

    Returns
    -------
    float
        It holds for a largest set of points of the ball more than :math:`\gamma` apart, which is a
        cover: balls of radius :math:`\gamma/2` around them are disjoint.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(log_cover_bound(390, radius=2.0, covering_radius=0.05), 1)
    1713.8
    """
    k = check_integer("n_components", n_components)
    ratio = check_positive("radius", radius) / check_positive("covering_radius", covering_radius)
    return k * math.log1p(2 * ratio)


def log_lattice_size(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Logarithm of the size of the lattice cover, by volumes.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.

    Returns
    -------
    float
        :math:`\log\big(V_k((R+\gamma)/h)^k\big)`, the volume of the enlarged ball over that of a
        cube; the number of points differs by a boundary term.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(log_lattice_size(390, radius=2.0, covering_radius=0.05))
    1728
    """
    side = lattice_side(n_components=n_components, covering_radius=covering_radius)
    k, reach = n_components, check_positive("radius", radius) + covering_radius
    unit = k / 2 * math.log(math.pi) - float(gammaln(k / 2 + 1))
    return unit + k * math.log(reach / side)


# How many dimensions keep margins: failure probabilities of random projections, and their rules.
#
# All constants are derived here. For a sign matrix :math:`\Phi` of k rows, a fixed unit vector u
# and
# :math:`0<\eta<1`, each of the events :math:`\|\Phi u\|^2>1+\eta` and :math:`\|\Phi u\|^2<1-\eta`
# has
# probability at most :math:`e^{-k(\eta^2/4-\eta^3/6)}` (Achlioptas). With
# :math:`4\langle u,v\rangle=\|u+v\|^2-\|u-v\|^2` an inner product of unit vectors is off by more
# than
# :math:`\eta` with at most four times that probability.


#: Share of the margin that the projection may use up: 0.15 is left for rounding to a cover.
DISTORTION_SHARE = 0.85


def jl_exponent(distortion: float) -> float:
    r"""Rate :math:`\eta^2/4-\eta^3/6` at which a failure becomes rarer with each dimension.

    Parameters
    ----------
    distortion : float
        :math:`\eta` in (0, 1).

    Returns
    -------
    float
        Positive.

    Raises
    ------
    TypeError, ValueError
        If the distortion is not in (0, 1).

    References
    ----------
    D. Achlioptas, Database-friendly random projections, J. Comput. Syst. Sci. 66 (2003) 671-687,
    Theorem 1.1.

    Examples
    --------
    >>> round(jl_exponent(0.4), 6)
    0.029333
    """
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    return eta**2 / 4 - eta**3 / 6


def jl_failure(*, n_components: int, distortion: float, n_events: float = 1) -> float:
    r"""Union bound on the failure of a sign projection, over so many one-sided events.

    Parameters
    ----------
    n_components : int
        Dimension k after the projection, at least 1.
    distortion : float
        :math:`\eta` in (0, 1).
    n_events : float, default=1
        Number of one-sided events: 2 for a squared length, 4 for an inner product of unit
        vectors, :func:`dplit.margin.covers.margin_events` for a sample and a comparator.

    Returns
    -------
    float
        ``n_events * exp(-k (eta^2/4 - eta^3/6))``; above 1 it says nothing.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(jl_failure(n_components=200, distortion=0.2, n_events=4), 3)
    0.707
    """
    k = check_integer("n_components", n_components)
    return check_positive("n_events", n_events) * math.exp(-k * jl_exponent(distortion))


def gaussian_failure(*, n_components: int, distortion: float, variance: float) -> float:
    r"""Normal approximation of the probability that a projected inner product is off.

    Parameters
    ----------
    n_components : int
        Dimension k after the projection, at least 1.
    distortion : float
        :math:`\eta` in (0, 1).
    variance : float
        Variance of one row's product: :math:`1+\langle u,v\rangle^2-2\sum_iu_i^2v_i^2` for
        unit vectors and signs, so nearly 2 for a squared length of a vector spread out.

    Returns
    -------
    float
        :math:`2\bar\Phi(\eta\sqrt{k/v})`: not a bound, but what a simulation shows.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(gaussian_failure(n_components=50, distortion=0.4, variance=1.25), 4)
    0.0114
    """
    k = check_integer("n_components", n_components)
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    return float(2 * norm.sf(eta * math.sqrt(k / check_positive("variance", variance))))


def margin_events(n_samples: int) -> int:
    """One-sided events that a sample and one comparator need from a projection.

    Parameters
    ----------
    n_samples : int
        Number m of points, at least 1.

    Returns
    -------
    int
        ``5 m + 1``: four for each inner product with the comparator, one for the length of each
        point, one for the length of the comparator.

    Raises
    ------
    TypeError, ValueError
        If ``n_samples`` is no positive integer.

    Examples
    --------
    >>> margin_events(1000)
    5001
    """
    return 5 * check_integer("n_samples", n_samples) + 1


def jl_dimension(
    *,
    normalized_margin: float,
    n_samples: int,
    beta: float,
    distortion_share: float = DISTORTION_SHARE,
) -> int:
    r"""Dimension in which a sign projection keeps the margins of m points, with these constants.

    Parameters
    ----------
    normalized_margin : float
        :math:`a=\rho/(\Lambda r)` in (0, 1].
    n_samples : int
        Number m of points, at least 1.
    beta : float
        Failure probability of the projection in (0, 1).
    distortion_share : float, default=0.85
        Share of the margin that the projection may use up, in (0, 1).

    Returns
    -------
    int
        The least k with ``jl_failure(k, 0.85 a, 5 m + 1) <= beta``. With probability at least
        :math:`1-\beta` all inner products with the comparator are off by at most
        :math:`0.85\rho`, and no length grows by more than :math:`\sqrt{1+0.85a}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    :math:`k=\lceil\log((5m+1)/\beta)/(\eta^2/4-\eta^3/6)\rceil` with :math:`\eta=0.85a`, so
    :math:`k=O(a^{-2}\log(m/\beta))`. A projection cannot help where this is at least d.

    Examples
    --------
    >>> jl_dimension(normalized_margin=0.5, n_samples=1000, beta=0.05 / 3)
    390
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    share = check_interval("distortion_share", distortion_share, 0.0, 1.0)
    events = margin_events(n_samples) / check_probability("beta", beta)
    return max(1, math.ceil(math.log(events) / jl_exponent(share * a)))


def _order(n_features: int) -> int:
    return int(1 << (check_integer("n_features", n_features) - 1).bit_length())


def hadamard_failure(
    *, n_components: int, distortion: float, n_features: int, n_vectors: int
) -> float:
    r"""Bound on the failure of a fast projection: signs, Hadamard transform, random coordinates.

    Parameters
    ----------
    n_components : int
        Number k of coordinates kept, at least 1.
    distortion : float
        :math:`\eta` in (0, 1).
    n_features : int
        Input dimension d, at least 1; padded to the power of two d'.
    n_vectors : int
        Number n of fixed vectors whose squared lengths are to be kept. For the inner products of
        m points with a comparator take 3 m + 1: points, comparator, sums and differences.

    Returns
    -------
    float
        The value of :math:`2nd'e^{-t/2}+2n\exp(-k\eta^2/(2t(1+\eta/3)))` at the t that
        makes both terms equal; above 1 it says nothing.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Each coordinate of :math:`HDu` is a sum of signs: its square exceeds t/d' with probability at
    most :math:`2e^{-t/2}`. On the event that none does, the k squared coordinates, times d', lie in
    [0, t] and have mean 1 and variance at most t: Bernstein's inequality, which holds for drawing
    without replacement too (Hoeffding 1963, Theorem 4).

    Examples
    --------
    >>> k = hadamard_dimension(distortion=0.4, n_features=4096, n_vectors=61, beta=0.1)
    >>> hadamard_failure(n_components=k, distortion=0.4, n_features=4096, n_vectors=61) <= 0.1
    True
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

    Parameters
    ----------
    distortion : float
        :math:`\eta` in (0, 1).
    n_features : int
        Input dimension d, at least 1; padded to the power of two d'.
    n_vectors : int
        Number n of fixed vectors; 3 m + 1 for m inner products with a comparator.
    beta : float
        Failure probability in (0, 1).

    Returns
    -------
    int
        :math:`\lceil4(1+\eta/3)\log(4nd'/\beta)\log(4n/\beta)/\eta^2\rceil`: one logarithm more
        than for a sign matrix. It may exceed d', where a projection is pointless.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Half of :math:`\beta` goes to each term of :func:`dplit.margin.covers.hadamard_failure`,
    with :math:`t=2\log(4nd'/\beta)`.

    References
    ----------
    N. Ailon and B. Chazelle, The fast Johnson-Lindenstrauss transform, SIAM J. Comput. 39 (2009)
    302-322, for the idea; the constants are ours.

    Examples
    --------
    >>> hadamard_dimension(distortion=0.5, n_features=1024, n_vectors=1, beta=0.1)
    732
    """
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    n, order = check_integer("n_vectors", n_vectors), _order(n_features)
    spread = math.log(4 * n * order / check_probability("beta", beta))
    return math.ceil(4 * (1 + eta / 3) * spread * math.log(4 * n / beta) / eta**2)


# Two closed-form examples on what the exponential mechanism costs without a projection.
#
# Records along the axes make the zero-one score need a sample proportional to the dimension, at a
# margin that shrinks with it; one repeated record makes the margin score need it at any margin.


def axis_error(*, n_features: int, n_samples: int, epsilon: float) -> float:
    r"""Expected training error of the mechanism for equally many records along every axis.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1.
    n_samples : int
        Number m of records, a multiple of d: m / d copies of each unit vector, labelled 1.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    float
        :math:`1/(1+e^{\epsilon m/(2d)})`, for the zero-one score and any prior without zero
        coordinates that no change of signs alters.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range or d does not divide m.

    Notes
    -----
    The number of errors is m / d times the number of negative coordinates: the signs are
    independent.

    Examples
    --------
    >>> round(axis_error(n_features=4, n_samples=40, epsilon=0.5), 7)
    0.0758582
    """
    d, m = check_integer("n_features", n_features), check_integer("n_samples", n_samples)
    if m % d:
        raise ValueError(f"n_samples must be a multiple of n_features={d}, got n_samples={m}")
    return float(expit(-check_positive("epsilon", epsilon) * m / (2 * d)))


def axis_samples(*, n_features: int, epsilon: float, error: float) -> float:
    r"""Sample size at which the expected error of :func:`axis_error` is a given one.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1.
    epsilon : float
        Privacy loss, positive.
    error : float
        Expected training error :math:`\alpha` in (0, 1).

    Returns
    -------
    float
        :math:`\frac{2d}\epsilon\log\frac{1-\alpha}\alpha`: proportional to the dimension.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(axis_samples(n_features=1000, epsilon=1.0, error=0.1))
    4394
    """
    d, alpha = check_integer("n_features", n_features), check_probability("error", error)
    return 2 * d / check_positive("epsilon", epsilon) * math.log((1 - alpha) / alpha)


def cap_mass(*, n_features: int, margin: float) -> float:
    r"""Share of the unit ball beyond a hyperplane.

    Parameters
    ----------
    n_features : int
        Dimension d, at least 1.
    margin : float
        Distance :math:`\rho` of the hyperplane from the origin, in [0, 1).

    Returns
    -------
    float
        :math:`P(w_1>\rho)=\frac12I_{1-\rho^2}(\frac{d+1}2,\frac12)` for w uniform in the ball.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(cap_mass(n_features=2, margin=0.5), 4)
    0.1955
    """
    rho = check_probability("margin", margin, zero=True)
    return float(betainc((check_integer("n_features", n_features) + 1) / 2, 0.5, 1 - rho**2) / 2)


def score_failure(mass: float, *, n_samples: int, epsilon: float) -> float:
    r"""Probability that the mechanism misses a set on which one repeated record costs nothing.

    Parameters
    ----------
    mass : float
        Prior mass of the set, in (0, 1).
    n_samples : int
        Copies m of the record, at least 1.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    float
        :math:`(1-M)e^{-\epsilon m/2}/(M+(1-M)e^{-\epsilon m/2})`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(score_failure(0.5, n_samples=10, epsilon=1.0), 4)
    0.0067
    """
    share = check_probability("mass", mass)
    exponent = check_positive("epsilon", epsilon) * check_integer("n_samples", n_samples) / 2
    return float(expit(math.log1p(-share) - math.log(share) - exponent))
