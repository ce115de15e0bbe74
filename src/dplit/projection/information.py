r"""MI-DP in bits: the noise that the paper buys with it, and what it is worth in other currencies.

A mechanism is :math:`\epsilon`-MI-DP if, for every prior on the database, it leaks at most
:math:`\epsilon` bits about one entry given all others.  ``epsilon`` is in **bits** here, except
where a function says that it is the :math:`\varepsilon` of :math:`(\varepsilon,\delta)`-DP.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from dplit._checks import (
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.conversions import gdp_epsilon

__all__ = [
    "additive_sigma",
    "binary_information",
    "dp_to_tv",
    "entry_dp_epsilon",
    "entry_mu",
    "fixed_variance",
    "pinsker_delta",
    "row_dp_epsilon",
    "row_mu",
    "sharp_delta",
]

_LN2 = math.log(2.0)
_LARGEST_BITS = 1000.0


def _check_bits(epsilon: object) -> float:
    bits = check_positive("epsilon", epsilon)
    if bits > _LARGEST_BITS:
        raise ValueError(f"epsilon must be at most {_LARGEST_BITS:g} bits, got epsilon={epsilon!r}")
    return bits


def additive_sigma(*, epsilon: float) -> float:
    r"""Return the paper's standard deviation of the noise on one entry in [-1, 1].

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one entry in bits, in (0, 1000].

    Returns
    -------
    float
        :math:`\sigma_{AN}=1/\sqrt{2^{2\epsilon}-1}`. Noise of this size on every entry is
        :math:`\epsilon`-MI-DP; see :func:`dplit.projection.capacity.exact_sigma` for the least.

    Raises
    ------
    TypeError, ValueError
        If ``epsilon`` is not in (0, 1000].

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equation (9).

    Examples
    --------
    >>> from dplit.projection.information import additive_sigma
    >>> round(additive_sigma(epsilon=0.5), 12)
    1.0
    """
    nats = 2.0 * _LN2 * _check_bits(epsilon)
    return math.exp(-nats / 2.0) / math.sqrt(-math.expm1(-nats))


def fixed_variance(*, epsilon: float, n_components: int) -> float:
    r"""Return the noise variance that makes a projection private whatever the data are.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one entry in bits, in (0, 1000].
    n_components : int
        Number n' of projected rows, at least 1.

    Returns
    -------
    float
        :math:`n'/(2^{2\epsilon}-1)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equation (13) without :math:`f^2(X)`.

    Examples
    --------
    >>> from dplit.projection.information import fixed_variance
    >>> round(fixed_variance(epsilon=0.5, n_components=40), 12)
    40.0
    """
    return check_integer("n_components", n_components) * additive_sigma(epsilon=epsilon) ** 2


def pinsker_delta(*, epsilon: float) -> float:
    r"""Return the paper's :math:`\delta` for which :math:`\epsilon`-MI-DP implies (0, delta)-DP.

    Parameters
    ----------
    epsilon : float
        MI-DP budget in bits, in (0, 1000].

    Returns
    -------
    float
        :math:`\sqrt{2\epsilon\ln2}`; at least 1, hence empty, from :math:`1/(2\ln2)=0.7213` bits.

    Raises
    ------
    TypeError, ValueError
        If ``epsilon`` is out of range.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Proposition 2, after P. Cuff and L. Yu,
    CCS 2016, Lemma 2.

    Examples
    --------
    >>> from dplit.projection.information import pinsker_delta
    >>> round(pinsker_delta(epsilon=0.5), 4)
    0.8326
    """
    return math.sqrt(2.0 * _LN2 * _check_bits(epsilon))


def binary_information(distance: float) -> float:
    r"""Return the least information in bits that two laws at a total variation distance must leak.

    Parameters
    ----------
    distance : float
        Total variation distance t in [0, 1].

    Returns
    -------
    float
        :math:`1-h\big(\tfrac{1-t}2\big)`, with h the binary entropy: the capacity of the binary
        symmetric channel that flips with probability :math:`(1-t)/2`.

    Raises
    ------
    TypeError, ValueError
        If ``distance`` is not in [0, 1].

    Notes
    -----
    Written :math:`\big(t\,\mathrm{artanh}\,t+\tfrac12\ln(1-t^2)\big)/\ln2`, whose terms do not
    cancel for small t.

    Examples
    --------
    >>> from dplit.projection.information import binary_information
    >>> round(binary_information(0.7799), 3)
    0.5
    """
    t = check_probability("distance", distance, zero=True, one=True)
    if t == 1.0:
        return 1.0
    return (t * math.atanh(t) + 0.5 * math.log1p(-t * t)) / _LN2


def sharp_delta(*, epsilon: float) -> float:
    r"""Return the smallest :math:`\delta` for which :math:`\epsilon`-MI-DP implies (0, delta)-DP.

    Parameters
    ----------
    epsilon : float
        MI-DP budget in bits, in (0, 1000].

    Returns
    -------
    float
        :math:`1-2h^{-1}(1-\epsilon)` with the inverse of the binary entropy in [0, 1/2]; 1 from
        one bit on, where a binary entry may be published.

    Raises
    ------
    TypeError, ValueError
        If ``epsilon`` is out of range.

    Notes
    -----
    By Fano's inequality two laws at distance t leak at least :func:`binary_information` of t under
    a uniform prior, and the binary symmetric channel leaks no more: the curve is attained.

    References
    ----------
    Sharpens M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Proposition 2.

    Examples
    --------
    >>> from dplit.projection.information import sharp_delta
    >>> round(sharp_delta(epsilon=0.5), 4)
    0.7799
    """
    bits = _check_bits(epsilon)
    if bits >= 1.0:
        return 1.0
    # t^2 / (2 ln 2) <= 1 - h <= t^2 brackets the root
    low, high = math.sqrt(bits), min(1.0, math.sqrt(2.0 * _LN2 * bits))
    root = brentq(lambda t: binary_information(t) / bits - 1.0, low, high, xtol=1e-300, rtol=1e-15)
    return float(root)


def dp_to_tv(*, epsilon: float, delta: float) -> float:
    r"""Return the smallest :math:`\delta'` for which (epsilon, delta)-DP implies (0, delta')-DP.

    Parameters
    ----------
    epsilon : float
        The :math:`\varepsilon` of differential privacy, **not bits**; nonnegative.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        :math:`(e^\varepsilon-1+2\delta)/(e^\varepsilon+1)`, attained by randomised response that
        publishes the truth with probability delta.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    For an event of probabilities p and q, :math:`p\le e^\varepsilon q+\delta` and
    :math:`1-q\le e^\varepsilon(1-p)+\delta`; the largest :math:`p-q` is where both are equalities.

    References
    ----------
    Direction (b) of (4) in M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Proposition 1.

    Examples
    --------
    >>> from dplit.projection.information import dp_to_tv
    >>> dp_to_tv(epsilon=0.0, delta=0.25)
    0.25
    """
    eps = check_nonnegative("epsilon", epsilon)
    slip = check_probability("delta", delta, zero=True, one=True)
    half = math.tanh(eps / 2.0)
    return half + (1.0 - half) * slip


def entry_mu(*, epsilon: float, width: float = 2.0) -> float:
    r"""Return the Gaussian-DP parameter of one entry under the paper's additive noise.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one entry in bits, in (0, 1000].
    width : float, default=2.0
        Length of the interval in which an entry lives: 2 for [-1, 1], 1 for [0, 1].

    Returns
    -------
    float
        :math:`\mu=\text{width}/\sigma_{AN}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.information import entry_mu
    >>> round(entry_mu(epsilon=0.5), 12)
    2.0
    """
    return row_mu(epsilon=epsilon, n_features=1, width=width)


def row_mu(*, epsilon: float, n_features: int, width: float = 2.0) -> float:
    r"""Return the Gaussian-DP parameter of one person's whole row under additive noise.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one **entry** in bits, in (0, 1000].
    n_features : int
        Number d of entries in a row, at least 1.
    width : float, default=2.0
        Length of the interval in which an entry lives: 2 for [-1, 1], 1 for [0, 1].

    Returns
    -------
    float
        :math:`\mu=\text{width}\sqrt d/\sigma_{AN}`: rows at opposite corners of the cube.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.information import row_mu
    >>> round(row_mu(epsilon=0.5, n_features=400), 12)
    40.0
    """
    shift = check_positive("width", width) * math.sqrt(check_integer("n_features", n_features))
    return shift / additive_sigma(epsilon=epsilon)


def entry_dp_epsilon(*, epsilon: float, delta: float, width: float = 2.0) -> float:
    r"""Return the exact :math:`\varepsilon` at ``delta`` that additive noise gives one entry.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one entry in bits, in (0, 1000].
    delta : float
        Probability in (0, 1) of :math:`(\varepsilon,\delta)`-DP.
    width : float, default=2.0
        Length of the interval in which an entry lives.

    Returns
    -------
    float
        The least :math:`\varepsilon` (natural logarithm), by the exact Gaussian profile.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.information import entry_dp_epsilon
    >>> round(entry_dp_epsilon(epsilon=0.5, delta=1e-5), 2)
    10.0
    """
    return row_dp_epsilon(epsilon=epsilon, delta=delta, n_features=1, width=width)


def row_dp_epsilon(*, epsilon: float, delta: float, n_features: int, width: float = 2.0) -> float:
    r"""Return the exact :math:`\varepsilon` at ``delta`` that additive noise gives one row.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one **entry** in bits, in (0, 1000].
    delta : float
        Probability in (0, 1) of :math:`(\varepsilon,\delta)`-DP.
    n_features : int
        Number d of entries in a row, at least 1.
    width : float, default=2.0
        Length of the interval in which an entry lives.

    Returns
    -------
    float
        The least :math:`\varepsilon` (natural logarithm), by the exact Gaussian profile.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.information import row_dp_epsilon
    >>> round(row_dp_epsilon(epsilon=0.5, delta=1e-5, n_features=800))
    1840
    """
    mu = row_mu(epsilon=epsilon, n_features=n_features, width=width)
    return gdp_epsilon(delta=check_probability("delta", delta), mu=mu)
