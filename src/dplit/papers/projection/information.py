r"""MI-DP in bits: the noise that the paper buys with it, and what it is worth in other currencies.

For every prior on the database at most :math:`\epsilon` **bits** leak about one entry given all
others; ``epsilon`` is in bits, in (0, 1000], except where a function says that it is that of
:math:`(\varepsilon,\delta)`-DP. Definitions 1 to 3, Propositions 1 and 2, (9), and the two channels
behind a projection, integrated with an error and never sampled.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from dplit._checks import check_integer, check_nonnegative, check_positive, check_probability
from dplit.accounting import gdp_epsilon
from dplit.entries._checks import check_bits
from dplit.entries._quadrature import LN2
from dplit.entries.privacy import additive_sigma


def pinsker_delta(*, epsilon: float) -> float:
    r"""Proposition 2: the delta :math:`\sqrt{2\epsilon\ln2}` that :math:`\epsilon` bits imply.

    At least 1, hence empty, from :math:`1/(2\ln2)=0.7213` bits on.

    >>> round(pinsker_delta(epsilon=0.5), 4)
    0.8326
    """
    return math.sqrt(2.0 * LN2 * check_bits(epsilon))


def binary_information(distance: float) -> float:
    r"""Least information in bits that two laws at total variation distance t must leak.

    :math:`1-h\big(\tfrac{1-t}2\big)` with the binary entropy h, the capacity of the binary
    symmetric channel; written :math:`\big(t\,\mathrm{artanh}\,t+\tfrac12\ln(1-t^2)\big)/\ln2`,
    whose terms do not cancel for small t.

    >>> round(binary_information(0.7799), 3)
    0.5
    """
    t = check_probability("distance", distance, zero=True, one=True)
    if t == 1.0:
        return 1.0
    return (t * math.atanh(t) + 0.5 * math.log1p(-t * t)) / LN2


def sharp_delta(*, epsilon: float) -> float:
    r"""Smallest :math:`\delta` for which :math:`\epsilon`-MI-DP implies (0, delta)-DP.

    :math:`1-2h^{-1}(1-\epsilon)`, the inverse of :func:`binary_information`; 1 from one bit on,
    where a binary entry may be published.

    >>> round(sharp_delta(epsilon=0.5), 4)
    0.7799
    """
    bits = check_bits(epsilon)
    if bits >= 1.0:
        return 1.0
    # t^2 / (2 ln 2) <= 1 - h <= t^2 brackets the root
    low, high = math.sqrt(bits), min(1.0, math.sqrt(2.0 * LN2 * bits))
    root = brentq(lambda t: binary_information(t) / bits - 1.0, low, high, xtol=1e-300, rtol=1e-15)
    return float(root)


def dp_to_tv(*, epsilon: float, delta: float) -> float:
    r"""Smallest :math:`\delta'` for which (epsilon, delta)-DP implies (0, delta')-DP, from (4).

    :math:`(e^\varepsilon-1+2\delta)/(e^\varepsilon+1)`; ``epsilon`` is **not bits**, and
    nonnegative.
    """
    eps = check_nonnegative("epsilon", epsilon)
    slip = check_probability("delta", delta, zero=True, one=True)
    half = math.tanh(eps / 2.0)
    return half + (1.0 - half) * slip


def row_mu(*, epsilon: float, n_features: int, width: float = 2.0) -> float:
    r"""Gaussian-DP parameter of a row of d entries: :math:`\text{width}\sqrt d/\sigma_{AN}`.

    ``epsilon`` is the budget in bits of one **entry**; the worst rows are opposite corners of the
    cube.
    """
    shift = check_positive("width", width) * math.sqrt(check_integer("n_features", n_features))
    return shift / additive_sigma(epsilon=epsilon)


def entry_dp_epsilon(*, epsilon: float, delta: float, width: float = 2.0) -> float:
    r"""Exact :math:`\varepsilon` (in nats) at ``delta`` that additive noise gives one entry.

    >>> round(entry_dp_epsilon(epsilon=0.5, delta=1e-5), 2)
    10.0
    """
    return row_dp_epsilon(epsilon=epsilon, delta=delta, n_features=1, width=width)


def row_dp_epsilon(*, epsilon: float, delta: float, n_features: int, width: float = 2.0) -> float:
    r"""Exact :math:`\varepsilon` (in nats) at ``delta`` that additive noise gives one row.

    ``epsilon`` is the budget in bits of one **entry**, ``width`` the length of its interval.

    >>> round(row_dp_epsilon(epsilon=0.5, delta=1e-5, n_features=800))
    1840
    """
    mu = row_mu(epsilon=epsilon, n_features=n_features, width=width)
    return gdp_epsilon(delta=check_probability("delta", delta), mu=mu)
