r"""Conversions between zero-concentrated, Gaussian and approximate differential privacy.

A release is :math:`\rho`-zCDP if its Rényi divergence of every order :math:`\alpha>1` between
neighbours is at most :math:`\rho\alpha`, and :math:`\mu`-GDP if telling neighbours apart is at
least as hard as telling :math:`N(0,1)` from :math:`N(\mu,1)`.  A Gaussian release with
:math:`\mu=\Delta/\sigma` is exactly :math:`\mu`-GDP and :math:`\mu^2/2`-zCDP.

Every result is rounded outward: a stated loss is never below the exact one, a budget never above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from dplit._checks import check_integer, check_nonnegative, check_positive, check_probability
from dplit._numerics.rounding import round_down, round_up
from dplit.mechanisms import gaussian_delta, gaussian_epsilon, gaussian_sigma

# zCDP to approximate privacy and back, by the optimal order of the Rényi moments.
#
# Every order gives a valid bound, so that floats may choose it; the bound of the order that they
# chose is then computed with 50 digits and rounded outward.  All of it is public through
# :mod:`dplit.accounting.conversions`.


_SMALLEST_ROOT = 1e-290  # its inverse is still a number

_LARGEST_LOG = 708.0  # of a root, below the largest float


def _precisely(*numbers: float) -> Context:
    """Return a context of 50 digits and those that sums of numbers of such sizes can lose."""
    lost = sum(abs(math.frexp(number)[1]) for number in numbers)
    return Context(prec=50 + 2 * lost // 3, Emin=-(10**9), Emax=10**9)


def _outward(value: Decimal, sign: int) -> Fraction:
    """Move a number by more than its computation can have lost: 1e-40 of it."""
    return Fraction(value) * (1 + sign * Fraction(1, 10**40))


def _log_delta(rho: float, epsilon: float, beta: float) -> Decimal:
    """Return log delta by the moment of order ``1 + beta``: valid for each beta > 0."""
    with localcontext(_precisely(rho, epsilon, beta)):
        b, one = Decimal(beta), Decimal(1)
        exponent = (one + b) * Decimal(rho) - Decimal(epsilon) - (one + one / b).ln()
        return b * exponent - (one + b).ln()


def _excess(log_odds: Decimal, beta: float) -> Decimal:
    """Return what the moment of order ``1 + beta`` adds to ``(1 + beta) rho`` in epsilon."""
    b, one = Decimal(beta), Decimal(1)
    return (log_odds - (one + b).ln()) / b - (one + one / b).ln()


def _increasing_root(function: Callable[[float], float], start: float) -> float:
    """Root in [1e-290, inf) of an increasing function; 1e-290 if it is smaller (then delta is 1).

    By bisection in the logarithm.
    """
    floor = math.log(_SMALLEST_ROOT)
    low = high = math.log(min(start, 1e300))
    while high < _LARGEST_LOG and function(math.exp(high)) < 0:
        low, high = high, high + 1
    while low > floor and function(math.exp(low)) > 0:
        low, high = low - 1, low
    if low <= floor:
        return _SMALLEST_ROOT
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(math.exp(middle)) < 0 else (low, middle)
    return math.exp((low + high) / 2)


def zcdp_delta(*, epsilon: float, rho: float) -> float:
    r"""Return the smallest delta at ``epsilon`` that the moments of :math:`\rho`-zCDP imply.

    Parameters
    ----------
    epsilon, rho : float
        Privacy loss, nonnegative, and zCDP parameter, positive.

    Returns
    -------
    float
        :math:`\delta\in(0,1]`, rounded up.  Valid for every :math:`\rho`-zCDP release; for a
        Gaussian release :func:`gdp_delta` is smaller.

    Notes
    -----
    With :math:`\beta=\alpha-1` the conversion minimises over :math:`\beta>0` the convex function

    .. math:: \log\delta=\beta\bigl((1+\beta)\rho-\epsilon-\log(1+1/\beta)\bigr)-\log(1+\beta),

    whose derivative vanishes where :math:`\epsilon=\rho(1+2\beta)-\log(1+1/\beta)`; there
    :math:`\log(1/\delta)=\rho\beta^2+\log(1+\beta)`.  Every :math:`\beta` gives a valid delta, so
    the accuracy of the minimiser does not touch the guarantee.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020,
    arXiv:2004.00010, the conversion from Rényi to approximate privacy, with
    :math:`\tau(\alpha)=\rho\alpha`.

    Examples
    --------
    >>> f"{zcdp_delta(epsilon=1.0, rho=0.02):.3e} >= {gdp_delta(epsilon=1.0, mu=0.2):.3e}"
    '8.825e-08 >= 1.755e-08'
    """
    epsilon, rho = check_nonnegative("epsilon", epsilon), check_positive("rho", rho)
    beta = _increasing_root(
        lambda b: rho * (1 + 2 * b) - math.log1p(1 / b) - epsilon, 1 + epsilon / (2 * rho)
    )
    if rho * beta * beta > 800:  # log(1 / delta) is more, see the notes
        return math.nextafter(0.0, 1.0)
    log_delta = _log_delta(rho, epsilon, beta)
    with localcontext(_precisely()):
        return min(1.0, round_up(_outward(min(log_delta, Decimal(0)).exp(), 1)))


def zcdp_epsilon(*, rho: float, delta: float) -> float:
    r"""Return the smallest epsilon at ``delta`` that the moments of :math:`\rho`-zCDP imply.

    Parameters
    ----------
    rho, delta : float
        zCDP parameter, positive, and probability in (0, 1).

    Returns
    -------
    float
        :math:`\epsilon\ge0`, rounded up, below the textbook
        :math:`\rho+2\sqrt{\rho\log(1/\delta)}`.  Valid for every :math:`\rho`-zCDP release; for a
        Gaussian release :func:`gdp_epsilon` is smaller.

    Notes
    -----
    :math:`\beta>0` solves :math:`\rho\beta^2+\log(1+\beta)=\log(1/\delta)`, see :func:`zcdp_delta`;
    then :math:`\epsilon=\rho(1+\beta)+\frac1\beta\log\frac{1}{\delta(1+\beta)}-\log(1+1/\beta)`,
    which is valid for every :math:`\beta`.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, arXiv:2004.00010, as in :func:`zcdp_delta`; M. Bun and
    T. Steinke, arXiv:1605.02065v1, Proposition 1.3 (the textbook form).

    Examples
    --------
    >>> round(zcdp_epsilon(rho=0.02, delta=1e-5), 6)
    0.794315
    """
    rho, delta = check_positive("rho", rho), check_probability("delta", delta)
    log_odds = -math.log(delta)
    beta = _increasing_root(
        lambda b: rho * b * b + math.log1p(b) - log_odds, math.sqrt(log_odds / rho)
    )
    with localcontext(_precisely(rho, beta)):
        main, rest = Decimal(rho) * (1 + Decimal(beta)), _excess(-Decimal(delta).ln(), beta)
        return round_up(max(_outward(main, 1) + _outward(rest, 1 if rest > 0 else -1), Fraction(0)))


def zcdp_rho(*, epsilon: float, delta: float) -> float:
    r"""Return the largest :math:`\rho` whose moments imply the budget.

    Parameters
    ----------
    epsilon, delta : float
        Positive privacy loss and probability in (0, 1).

    Returns
    -------
    float
        :math:`\rho`, rounded down, such that every :math:`\rho`-zCDP release is
        :math:`(\epsilon,\delta)`-private.

    Notes
    -----
    The inverse of :func:`zcdp_epsilon`: eliminating :math:`\rho` from its two equations leaves
    :math:`\beta^2\,\frac{\epsilon+\log(1+1/\beta)}{1+2\beta}+\log(1+\beta)=\log(1/\delta)`, whose
    left side increases in :math:`\beta`.

    Examples
    --------
    >>> round(zcdp_epsilon(rho=zcdp_rho(epsilon=1.0, delta=1e-5), delta=1e-5), 12)
    1.0
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    log_odds = -math.log(delta)
    beta = _increasing_root(
        lambda b: b * (b / (1 + 2 * b)) * (epsilon + math.log1p(1 / b)) + math.log1p(b) - log_odds,
        1 + log_odds / epsilon,
    )
    with localcontext(_precisely(epsilon, beta)):
        rest = _excess(-Decimal(delta).ln(), beta)
        exact = (Fraction(epsilon) - _outward(rest, 1 if rest > 0 else -1)) / (1 + Fraction(beta))
        return round_down(max(exact, Fraction(0)))


def gdp_delta(*, epsilon: float, mu: float) -> float:
    r"""Return the delta at ``epsilon`` that :math:`\mu`-GDP implies (exact, never understated).

    Parameters
    ----------
    epsilon, mu : float
        Privacy loss, nonnegative, and GDP parameter, positive.

    Returns
    -------
    float
        :math:`\Phi(\mu/2-\epsilon/\mu)-e^\epsilon\Phi(-\mu/2-\epsilon/\mu)`, see
        :func:`dplit.mechanisms.gaussian_delta`.

    References
    ----------
    J. Dong, A. Roth, W. Su, Gaussian differential privacy, JRSS B 84, 2022, arXiv:1905.02383v3,
    Corollary 1.

    Examples
    --------
    >>> f"{gdp_delta(epsilon=1.0, mu=0.25):.4e}"
    '2.9243e-06'
    """
    return gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=check_positive("mu", mu))


def gdp_epsilon(*, delta: float, mu: float) -> float:
    r"""Return the epsilon at ``delta`` that :math:`\mu`-GDP implies (exact, never understated).

    Parameters
    ----------
    delta, mu : float
        Probability in [1e-300, 1], or 0, and GDP parameter, positive.

    Returns
    -------
    float
        See :func:`dplit.mechanisms.gaussian_epsilon`.

    Examples
    --------
    >>> round(gdp_epsilon(delta=1e-5, mu=0.25), 9)
    0.926341504
    """
    return gaussian_epsilon(delta=delta, sigma=1.0, sensitivity=check_positive("mu", mu))


def gdp_budget(*, epsilon: float, delta: float) -> float:
    r"""Return the largest :math:`\mu` such that :math:`\mu`-GDP implies the given budget.

    Parameters
    ----------
    epsilon, delta : float
        Privacy loss in [0, 1e20] and probability in [1e-300, 1).

    Returns
    -------
    float
        :math:`\mu`, never above the exact value.  ``sigma = sensitivity / mu`` meets the budget,
        and ``k`` releases with :math:`\mu/\sqrt k` each meet it together.

    Examples
    --------
    >>> round(gdp_budget(epsilon=1.0, delta=1e-5), 9)
    0.268051123
    """
    return math.nextafter(1.0 / gaussian_sigma(epsilon=epsilon, delta=delta), 0.0)


def group_budget(
    *, epsilon: float, delta: float, size: int, gaussian: bool = False
) -> tuple[float, float]:
    r"""Return a budget for one record that comes to the given one for so many records together.

    Parameters
    ----------
    epsilon, delta : float
        Budget for ``size`` records: epsilon positive, delta in [0, 1/2).
    size : int
        Records of a person that may change at once, at least 1.
    gaussian : bool, default=False
        Whether what it is for has Gaussian noise alone, and is as private as one Gaussian release.

    Returns
    -------
    epsilon, delta : float
        Of one record. In general :math:`\epsilon/k` and
        :math:`\delta(e^{\epsilon/k}-1)/(e^\epsilon-1)` (Vadhan 2017, Lemma 2.2, its sum kept);
        where all is Gaussian the budget of :math:`\mu/k`, which is exact and larger.

    Examples
    --------
    >>> [round(part, 8) for part in group_budget(epsilon=1.0, delta=1e-6, size=2)]
    [0.5, 3.8e-07]
    >>> one = group_budget(epsilon=1.0, delta=1e-6, size=2, gaussian=True)
    >>> round(one[0], 3), one[1], round(gdp_budget(epsilon=1.0, delta=1e-6) / 2, 4)
    (0.475, 1e-06, 0.1184)
    """
    k = check_integer("size", size)
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta, zero=True)
    if k == 1:
        return epsilon, delta
    if gaussian and 0.0 < delta < 0.5:
        whole = gdp_budget(epsilon=epsilon, delta=delta)
        each = float(gaussian_epsilon(sigma=k / whole, delta=delta)) * (1.0 - 1e-9)
        if each > 0.0 and k * gdp_budget(epsilon=each, delta=delta) <= whole:
            return each, delta
    each = round_down(Fraction(epsilon) / k)
    if delta == 0.0:
        return each, 0.0
    share = math.exp(each - epsilon) * math.expm1(-each) / math.expm1(-epsilon)
    return each, delta * share * (1.0 - 1e-12)
