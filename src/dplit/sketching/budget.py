r"""Splitting a budget between the sum of features and the count.

A fraction :math:`\gamma` of :math:`\varepsilon` hides the sum, the rest hides the count. For
Fourier features with Laplace noise, and the mean :math:`z` of the population as signal, the
noise-to-signal ratio of the release is

.. math::

    \Big(1+\frac{A}{(1-\gamma)^2}\Big)\Big(B+\frac{C}{\gamma^2}\Big)-1,\quad
    A=\frac1{(n\varepsilon)^2},\quad B=1-\frac1n+\frac{C_0}{\alpha n},\quad C=8C_0m^2A,

with :math:`C_0=m/\|z\|^2\ge1` and the rate :math:`\alpha` of feature subsampling.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from dplit._checks import check_finite_array, check_integer, check_positive, check_probability

__all__ = [
    "Setting",
    "best_fraction",
    "limit_fraction",
    "minimax_fraction",
    "printed_asymptote",
    "printed_display",
    "printed_fraction",
    "safe_fraction",
    "split_loss",
    "split_nsr",
    "threshold_count",
    "threshold_loss",
]

Array = NDArray[np.float64]


class Setting(NamedTuple):
    """What the ratio depends on besides the fraction.

    ``n`` records, budget ``epsilon``, ``n_components`` features, ``c0`` (at least 1), sampling
    rate ``alpha`` of features, and ``count_factor``: 1 for the Cramer-Rao term of Lemma 27, 2 for
    the variance that an unbiased inverse count really has.
    """

    n: float
    epsilon: float
    n_components: int
    c0: float
    alpha: float = 1.0
    count_factor: float = 1.0

    def checked(self) -> Setting:
        """Return the setting after a check of every field."""
        check_positive("n", self.n)
        check_positive("epsilon", self.epsilon)
        check_integer("n_components", self.n_components)
        check_probability("alpha", self.alpha, one=True)
        check_positive("count_factor", self.count_factor)
        if check_positive("c0", self.c0) < 1:
            raise ValueError(f"c0 must be at least 1, got c0={self.c0!r}")
        return self

    def terms(self) -> tuple[float, float, float]:
        """Return A (times the count factor), B and C."""
        base = 1.0 / (self.n * self.epsilon) ** 2
        spread = 1.0 - 1.0 / self.n + self.c0 / (self.alpha * self.n)
        return self.count_factor * base, spread, 8.0 * self.c0 * self.n_components**2 * base

    @property
    def kappa(self) -> float:
        """The coefficient AB/C that the printed approximation drops."""
        a, b, c = self.terms()
        return a * b / c


def split_nsr(fraction: ArrayLike, setting: Setting) -> Array:
    r"""Noise-to-signal ratio of a release that gives a fraction of its budget to the sum.

    Parameters
    ----------
    fraction : array_like
        Fractions gamma in (0, 1).
    setting : Setting
        Everything else.

    Returns
    -------
    ndarray
        The ratio, of the shape of ``fraction``.

    Raises
    ------
    ValueError
        If a fraction is not inside (0, 1) or the setting is out of range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Section 6.5 and Appendix E.

    Examples
    --------
    >>> from dplit.sketching.budget import Setting, split_nsr
    >>> split_nsr(0.99, Setting(1e4, 0.1, 320, 5.0)).round(4)
    np.float64(4.2314)
    """
    gamma = np.asarray(check_finite_array("fraction", fraction), dtype=np.float64)
    if not (gamma > 0).all() or not (gamma < 1).all():
        raise ValueError(f"fraction must be in (0, 1), got fraction={fraction!r}")
    a, b, c = setting.checked().terms()
    inverse, total = a / (1.0 - gamma) ** 2, b - 1.0 + c / gamma**2
    return np.asarray(inverse + total + inverse * total)[()]


def best_fraction(setting: Setting) -> float:
    r"""The fraction that minimises :func:`split_nsr`, exactly.

    Parameters
    ----------
    setting : Setting
        n here is a public guess, never the true count.

    Returns
    -------
    float
        Root of :math:`(\kappa+1)\gamma^3-3\gamma^2+(2A+3)\gamma-(A+1)=0` in (0, 1).

    Raises
    ------
    ValueError
        If the setting is out of range.

    Notes
    -----
    With :math:`t=1-\gamma` the cubic is :math:`t^3=A(1-2t)+\kappa(1-t)^3`, whose difference of
    sides increases in t: exactly one root.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemma 28 and Appendix E.

    Examples
    --------
    >>> from dplit.sketching.budget import Setting, best_fraction
    >>> round(best_fraction(Setting(1e6, 0.1, 320, 5.0)), 6)
    0.993788
    """
    a = setting.checked().terms()[0]
    return 1.0 - _root(a, setting.kappa)


def _root(a: float, kappa: float) -> float:
    """Return the root t in (0, 1) of ``t^3 = a (1 - 2 t) + kappa (1 - t)^3``."""
    size = 1.0 + a + kappa

    def gap(t: float) -> float:
        return (t**3 - a * (1.0 - 2.0 * t) - kappa * (1.0 - t) ** 3) / size

    return float(brentq(gap, 0.0, 1.0, xtol=1e-16, rtol=8.9e-16, maxiter=500))


def printed_fraction(*, n: float, epsilon: float) -> float:
    r"""The closed form of Appendix E, exact for :math:`\kappa=0`.

    Parameters
    ----------
    n : float
        Count, positive.
    epsilon : float
        Budget, positive.

    Returns
    -------
    float
        :math:`1-E/3+2A/E` with :math:`E=2^{-1/3}(27A+3\sqrt{81A^2+96A^3})^{1/3}`. It loses its
        digits to cancellation for A above about 1e10.

    Examples
    --------
    >>> from dplit.sketching.budget import printed_fraction
    >>> round(printed_fraction(n=1e4, epsilon=0.1), 6)
    0.990067
    """
    a = 1.0 / (check_positive("n", n) * check_positive("epsilon", epsilon)) ** 2
    e = ((27.0 * a + 3.0 * np.sqrt(81.0 * a**2 + 96.0 * a**3)) / 2.0) ** (1.0 / 3.0)
    return float(1.0 - e / 3.0 + 2.0 * a / e)


def printed_asymptote(*, n: float, epsilon: float) -> float:
    r"""The printed approximation :math:`1-(n\varepsilon)^{-2/3}` for :math:`n\gg1/\varepsilon`.

    Parameters
    ----------
    n : float
        Count.
    epsilon : float
        Budget, with :math:`n\varepsilon>1`.

    Returns
    -------
    float
        Right while :math:`1\ll n\varepsilon\ll m\sqrt{8C_0}`; :func:`limit_fraction` beyond.

    Raises
    ------
    ValueError
        If :math:`n\varepsilon` is not above 1.

    Examples
    --------
    >>> from dplit.sketching.budget import printed_asymptote
    >>> round(printed_asymptote(n=1e4, epsilon=0.1), 9)
    0.99
    """
    product = check_positive("n", n) * check_positive("epsilon", epsilon)
    if product <= 1:
        raise ValueError(f"n * epsilon must be above 1, got n * epsilon = {product:g}")
    return float(1.0 - product ** (-2.0 / 3.0))


def printed_display(a: float, *, as_printed: bool = False) -> float:
    r"""The displayed approximation of the closed form for :math:`A\gg1`.

    Parameters
    ----------
    a : float
        :math:`A=(n\varepsilon)^{-2}`, positive.
    as_printed : bool, default=False
        If True with the denominator :math:`\sqrt6A^{1/2}` of the paper, which misses a factor 3.

    Returns
    -------
    float
        Tends to 1/2; as printed to -1/2.

    Examples
    --------
    >>> from dplit.sketching.budget import printed_display
    >>> round(printed_display(1e6), 3), round(printed_display(1e6, as_printed=True), 3)
    (0.5, -0.5)
    """
    a = check_positive("a", a)
    factor = 1.0 if as_printed else 3.0
    inner = np.expm1(2.0 / 3.0 * np.log1p(27.0 / (3.0 * np.sqrt(96.0 * a))))
    return float(1.0 - 6.0 * a * inner / (factor * np.sqrt(6.0 * a)))


def safe_fraction(setting: Setting) -> float:
    r"""Simple rule for large counts: :math:`1-\gamma=\min\{(A+\kappa)^{1/3},1/2\}`.

    Parameters
    ----------
    setting : Setting
        n here is a public guess, never the true count.

    Returns
    -------
    float
        Fraction in [1/2, 1). At m = 50, 320 or 3200 features its :func:`split_loss` is below 1.0003
        from :math:`n\epsilon=100` on, and reaches 1.22 at :math:`n\epsilon=3`.

    Examples
    --------
    >>> from dplit.sketching.budget import Setting, safe_fraction
    >>> round(safe_fraction(Setting(1e6, 0.1, 320, 5.0)), 4)
    0.9937
    """
    a = setting.checked().terms()[0]
    cube = float(a + setting.kappa)
    return 1.0 - min(float(np.cbrt(cube)), 0.5)


def limit_fraction(*, n_components: int, c0: float) -> float:
    r"""Best fraction as :math:`n\to\infty`, which is :math:`1/(1+(8C_0m^2)^{-1/3})`.

    Parameters
    ----------
    n_components : int
        Number m of features.
    c0 : float
        :math:`m/\|z\|^2`, at least 1.

    Returns
    -------
    float
        The fraction; it does not tend to 1.

    Examples
    --------
    >>> from dplit.sketching.budget import limit_fraction
    >>> round(limit_fraction(n_components=320, c0=5.0), 6)
    0.993789
    """
    m, ratio = check_integer("n_components", n_components), check_positive("c0", c0)
    if ratio < 1:
        raise ValueError(f"c0 must be at least 1, got c0={c0!r}")
    return float(1.0 / (1.0 + (8.0 * ratio * m**2) ** (-1.0 / 3.0)))


def threshold_count(*, n_components: int, epsilon: float, nsr_max: float) -> float:
    r"""The public count :math:`n_0` at which the paper freezes its fraction.

    Parameters
    ----------
    n_components : int
        Number m of features.
    epsilon : float
        Budget, positive.
    nsr_max : float
        Largest acceptable ratio, positive; the paper takes :math:`m/(10^3kd)`.

    Returns
    -------
    float
        :math:`m\max(1/\mathrm{NSR},1/(\varepsilon\sqrt{\mathrm{NSR}}))`.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Section 6.5.

    Examples
    --------
    >>> from dplit.sketching.budget import threshold_count
    >>> threshold_count(n_components=320, epsilon=0.1, nsr_max=0.01)
    32000.0
    """
    m, nsr = check_integer("n_components", n_components), check_positive("nsr_max", nsr_max)
    return float(m * max(1.0 / nsr, 1.0 / (check_positive("epsilon", epsilon) * math.sqrt(nsr))))


def split_loss(setting: Setting, *, fraction: float) -> float:
    """Ratio of a fraction's noise-to-signal ratio to the best possible one.

    Parameters
    ----------
    setting : Setting
        The true setting.
    fraction : float
        The fraction in use, chosen without the true count.

    Returns
    -------
    float
        At least 1.

    Examples
    --------
    >>> from dplit.sketching.budget import Setting, split_loss
    >>> round(split_loss(Setting(1e6, 0.1, 320, 5.0), fraction=0.9), 4)
    1.2097
    """
    return float(split_nsr(fraction, setting) / split_nsr(best_fraction(setting), setting))


def threshold_loss(
    *, n_components: int, kd: int, epsilon: float, c0: float, subsampled: bool = False
) -> float:
    """Loss of the paper's rule at the count for which it is made.

    Parameters
    ----------
    n_components : int
        Number m of features.
    kd : int
        Number of clusters times dimension; the acceptable ratio is ``m / (1000 kd)``.
    epsilon : float
        Budget.
    c0 : float
        Signal constant.
    subsampled : bool, default=False
        Whether each record contributes a single feature (``alpha = 1 / m``).

    Returns
    -------
    float
        :func:`split_loss` of :func:`printed_asymptote`, both at :func:`threshold_count`.

    Examples
    --------
    >>> from dplit.sketching.budget import threshold_loss
    >>> round(threshold_loss(n_components=320, kd=32, epsilon=0.1, c0=5.0), 3)
    1.004
    """
    m = check_integer("n_components", n_components)
    nsr = m / (1000.0 * check_integer("kd", kd))
    n0 = threshold_count(n_components=m, epsilon=epsilon, nsr_max=nsr)
    setting = Setting(n0, epsilon, m, c0, 1.0 / m if subsampled else 1.0)
    return split_loss(setting, fraction=printed_asymptote(n=n0, epsilon=epsilon))


def minimax_fraction(setting: Setting, *, counts: ArrayLike) -> float:
    """The fraction whose worst ratio over several counts is least, by direct search.

    Parameters
    ----------
    setting : Setting
        Its n is replaced by each of ``counts``.
    counts : array_like of shape (n_counts,)
        Counts that may occur, positive.

    Returns
    -------
    float
        Minimiser over (0, 1) of the largest ratio. Since the ratio decreases with n, it is
        :func:`best_fraction` of the smallest count.

    Examples
    --------
    >>> from dplit.sketching.budget import Setting, minimax_fraction
    >>> round(minimax_fraction(Setting(1e4, 0.1, 320, 5.0), counts=[1e4, 1e6]), 5)
    0.98933
    """
    cases = [setting._replace(n=float(n)) for n in np.atleast_1d(np.asarray(counts))]

    def worst(t: float) -> float:
        return max(float(split_nsr(1.0 - np.exp(t), case)) for case in cases)

    found = minimize_scalar(worst, bounds=(-12.0, -1e-3), method="bounded", options={"xatol": 1e-9})
    return 1.0 - float(np.exp(found.x))
