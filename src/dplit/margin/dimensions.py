r"""How many dimensions keep margins: failure probabilities of random projections, and their rules.

All constants are derived here. For a sign matrix :math:`\Phi` of k rows, a fixed unit vector u and
:math:`0<\eta<1`, each of the events :math:`\|\Phi u\|^2>1+\eta` and :math:`\|\Phi u\|^2<1-\eta` has
probability at most :math:`e^{-k(\eta^2/4-\eta^3/6)}` (Achlioptas). With
:math:`4\langle u,v\rangle=\|u+v\|^2-\|u-v\|^2` an inner product of unit vectors is off by more than
:math:`\eta` with at most four times that probability.
"""

from __future__ import annotations

import math

from scipy.stats import norm

from dplit._checks import check_integer, check_interval, check_positive, check_probability

__all__ = [
    "gaussian_failure",
    "hadamard_dimension",
    "hadamard_failure",
    "jl_dimension",
    "jl_exponent",
    "jl_failure",
    "margin_events",
]

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
        vectors, :func:`dplit.margin.dimensions.margin_events` for a sample and a comparator.

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
    Half of :math:`\beta` goes to each term of :func:`dplit.margin.dimensions.hadamard_failure`,
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
