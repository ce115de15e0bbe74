r"""Conversions between zero-concentrated, Gaussian and approximate differential privacy.

A release is :math:`\rho`-zCDP if its Rényi divergence of every order :math:`\alpha>1` between
neighbours is at most :math:`\rho\alpha`, and :math:`\mu`-GDP if telling neighbours apart is at
least as hard as telling :math:`N(0,1)` from :math:`N(\mu,1)`.  A Gaussian release with
:math:`\mu=\Delta/\sigma` is exactly :math:`\mu`-GDP and :math:`\mu^2/2`-zCDP.

Every result is rounded outward: a stated loss is never below the exact one, a budget never above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from dplit._checks import check_iterable, check_nonnegative, check_positive
from dplit._rounding import root_down, root_up, round_up
from dplit._zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho
from dplit.mechanisms import gaussian_delta, gaussian_epsilon, gaussian_sigma

__all__ = [
    "compose_gdp",
    "compose_zcdp",
    "gaussian_rho",
    "gdp_budget",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "gdp_to_zcdp",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
    "zcdp_to_gaussian_mu",
]


def _ratio(sigma: float, sensitivity: float) -> Fraction:
    numerator = Fraction(check_positive("sensitivity", sensitivity))
    return numerator / Fraction(check_positive("sigma", sigma))


def _nonnegative(name: str, values: Iterable[float]) -> Iterator[Fraction]:
    return (Fraction(check_nonnegative(name, value)) for value in check_iterable(name, values))


def gdp_mu(*, sigma: float, sensitivity: float = 1.0) -> float:
    r"""Return the GDP parameter :math:`\mu=\Delta/\sigma` of a Gaussian release.

    Parameters
    ----------
    sigma : float
        Standard deviation per real coordinate, positive.
    sensitivity : float, default=1.0
        :math:`\ell_2` sensitivity, positive, in the units of ``sigma``.

    Returns
    -------
    float
        The smallest float :math:`\mu` for which the release is :math:`\mu`-GDP.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a positive finite number.

    References
    ----------
    J. Dong, A. Roth, W. Su, Gaussian differential privacy, JRSS B 84, 2022, arXiv:1905.02383v3,
    Theorem 1.

    Examples
    --------
    >>> from dplit.conversions import gdp_mu
    >>> gdp_mu(sigma=4.0, sensitivity=2.0)
    0.5
    """
    mu = round_up(_ratio(sigma, sensitivity))
    return check_positive("sensitivity / sigma", mu)


def gaussian_rho(*, sigma: float, sensitivity: float = 1.0) -> float:
    r"""Return the zCDP parameter :math:`\rho=\Delta^2/(2\sigma^2)` of a Gaussian release.

    Parameters
    ----------
    sigma : float
        Standard deviation per real coordinate, positive.
    sensitivity : float, default=1.0
        :math:`\ell_2` sensitivity, positive, in the units of ``sigma``.

    Returns
    -------
    float
        The smallest float :math:`\rho` for which the release is :math:`\rho`-zCDP.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a positive finite number.

    References
    ----------
    M. Bun and T. Steinke, Concentrated differential privacy, TCC 2016, arXiv:1605.02065v1,
    Proposition 1.6.

    Examples
    --------
    >>> from dplit.conversions import gaussian_rho
    >>> gaussian_rho(sigma=4.0, sensitivity=2.0)
    0.125
    """
    rho = round_up(_ratio(sigma, sensitivity) ** 2 / 2)
    return check_positive("sensitivity**2 / (2 sigma**2)", rho)


def gdp_delta(*, epsilon: float, mu: float) -> float:
    r"""Return the delta at ``epsilon`` that :math:`\mu`-GDP implies (exact, never understated).

    Parameters
    ----------
    epsilon : float
        Nonnegative privacy loss.
    mu : float
        GDP parameter, positive.

    Returns
    -------
    float
        :math:`\Phi(\mu/2-\epsilon/\mu)-e^\epsilon\Phi(-\mu/2-\epsilon/\mu)`, see
        :func:`dplit.mechanisms.gaussian_delta`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    J. Dong, A. Roth, W. Su, Gaussian differential privacy, JRSS B 84, 2022, arXiv:1905.02383v3,
    Corollary 1.

    Examples
    --------
    >>> from dplit.conversions import gdp_delta
    >>> f"{gdp_delta(epsilon=1.0, mu=0.25):.4e}"
    '2.9243e-06'
    """
    return gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=check_positive("mu", mu))


def gdp_epsilon(*, delta: float, mu: float) -> float:
    r"""Return the epsilon at ``delta`` that :math:`\mu`-GDP implies (exact, never understated).

    Parameters
    ----------
    delta : float
        Probability in [1e-300, 1], or 0.
    mu : float
        GDP parameter, positive.

    Returns
    -------
    float
        See :func:`dplit.mechanisms.gaussian_epsilon`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dplit.conversions import gdp_epsilon
    >>> round(gdp_epsilon(delta=1e-5, mu=0.25), 9)
    0.926341504
    """
    return gaussian_epsilon(delta=delta, sigma=1.0, sensitivity=check_positive("mu", mu))


def gdp_budget(*, epsilon: float, delta: float) -> float:
    r"""Return the largest :math:`\mu` such that :math:`\mu`-GDP implies the given budget.

    Parameters
    ----------
    epsilon : float
        Privacy loss in [0, 1e20].
    delta : float
        Probability in [1e-300, 1).

    Returns
    -------
    float
        :math:`\mu`, never above the exact value.  ``sigma = sensitivity / mu`` meets the budget,
        and ``k`` releases with :math:`\mu/\sqrt k` each meet it together.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dplit.conversions import gdp_budget
    >>> round(gdp_budget(epsilon=1.0, delta=1e-5), 9)
    0.268051123
    """
    return math.nextafter(1.0 / gaussian_sigma(epsilon=epsilon, delta=delta), 0.0)


def gdp_to_zcdp(*, mu: float) -> float:
    r"""Return the smallest :math:`\rho` such that :math:`\mu`-GDP implies :math:`\rho`-zCDP.

    Parameters
    ----------
    mu : float
        GDP parameter, positive.

    Returns
    -------
    float
        :math:`\mu^2/2`, rounded up: a :math:`\mu`-GDP release is a post-processing of the pair
        :math:`N(0,1),N(\mu,1)`, whose Rényi divergence is :math:`\alpha\mu^2/2`.

    Raises
    ------
    TypeError, ValueError
        If ``mu`` is not a positive finite number.

    References
    ----------
    J. Dong, A. Roth, W. Su, Gaussian differential privacy, JRSS B 84, 2022, arXiv:1905.02383v3,
    Corollary B.6.

    Examples
    --------
    >>> from dplit.conversions import gdp_to_zcdp
    >>> gdp_to_zcdp(mu=2.0)
    2.0
    """
    rho = round_up(Fraction(check_positive("mu", mu)) ** 2 / 2)
    return check_positive("mu**2 / 2", rho)


def zcdp_to_gaussian_mu(*, rho: float) -> float:
    r"""Return the :math:`\mu` of the Gaussian release whose zCDP parameter is ``rho``.

    Parameters
    ----------
    rho : float
        zCDP parameter of a *Gaussian* release, positive.

    Returns
    -------
    float
        :math:`\sqrt{2\rho}`, the noise budget ``sensitivity / sigma``, rounded down: the noise
        ``sensitivity / mu`` spends no more than ``rho``.

    Raises
    ------
    TypeError, ValueError
        If ``rho`` is not a positive finite number.

    Warnings
    --------
    zCDP alone does not imply GDP with this parameter.  Randomised response with
    :math:`\epsilon=1` is 1/2-zCDP, and tells neighbours apart with advantage
    :math:`(e-1)/(e+1)=0.462`; 1-GDP allows 0.383.

    Examples
    --------
    >>> from dplit.conversions import zcdp_to_gaussian_mu
    >>> zcdp_to_gaussian_mu(rho=0.5)
    1.0
    """
    return root_down(2 * Fraction(check_positive("rho", rho)))


def compose_zcdp(rhos: Iterable[float]) -> float:
    r"""Return the zCDP parameter :math:`\sum_i\rho_i` of (adaptive) releases together.

    Parameters
    ----------
    rhos : iterable of float
        Nonnegative zCDP parameters; none at all compose to 0.

    Returns
    -------
    float
        The sum, rounded up (inf if it is no float64).

    Raises
    ------
    TypeError, ValueError
        If an entry is not a nonnegative finite number.

    References
    ----------
    M. Bun and T. Steinke, arXiv:1605.02065v1, Lemma 1.7.

    Examples
    --------
    >>> from dplit.conversions import compose_zcdp
    >>> compose_zcdp([0.125] * 8)
    1.0
    """
    return round_up(sum(_nonnegative("rhos", rhos), Fraction(0)))


def compose_gdp(mus: Iterable[float]) -> float:
    r"""Return the GDP parameter :math:`\sqrt{\sum_i\mu_i^2}` of (adaptive) releases together.

    Parameters
    ----------
    mus : iterable of float
        Nonnegative GDP parameters; none at all compose to 0.

    Returns
    -------
    float
        The root of the sum of squares, rounded up (inf if it is no float64).

    Raises
    ------
    TypeError, ValueError
        If an entry is not a nonnegative finite number.

    References
    ----------
    J. Dong, A. Roth, W. Su, arXiv:1905.02383v3, Corollary 2.

    Examples
    --------
    >>> from dplit.conversions import compose_gdp
    >>> compose_gdp([3.0, 4.0])
    5.0
    """
    squares = (mu**2 for mu in _nonnegative("mus", mus))
    return root_up(sum(squares, Fraction(0)))
