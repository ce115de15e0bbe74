r"""Splitting a budget between the sum of features and the count.

A fraction :math:`\gamma` of :math:`\varepsilon` hides the sum, the rest hides the count. For
Fourier features with Laplace noise, and the mean :math:`z` of the population as signal, the
noise-to-signal ratio is :math:`(1+A(1-\gamma)^{-2})(B+C\gamma^{-2})-1` (Section 6.5), where
:math:`A=(n\varepsilon)^{-2}`, :math:`B=1-\frac1n+\frac{C_0}{\alpha n}`, :math:`C=8C_0m^2A` and
:math:`C_0=m/\|z\|^2\ge1`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from dplit._checks import (
    Array,
    check_at_least,
    check_integer,
    check_positive,
    check_probability,
    check_real_array,
)

#: Nodes of a quadrature panel, and how far in scales the Laplace tails are followed.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


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
        check_at_least("c0", self.c0, 1.0)
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
    """Noise-to-signal ratio of a release that gives a fraction of its budget to the sum.

    >>> split_nsr(0.99, Setting(1e4, 0.1, 320, 5.0)).round(4)
    np.float64(4.2314)
    """
    gamma = check_real_array("fraction", fraction)
    if not (gamma > 0).all() or not (gamma < 1).all():
        raise ValueError(f"fraction must be in (0, 1), got fraction={fraction!r}")
    a, b, c = setting.checked().terms()
    inverse, total = a / (1.0 - gamma) ** 2, b - 1.0 + c / gamma**2
    return np.asarray(inverse + total + inverse * total)[()]


def best_fraction(setting: Setting) -> float:
    r"""The fraction that minimises :func:`split_nsr`, exactly: Lemma 28.

    With :math:`t=1-\gamma` the root in (0, 1) of :math:`t^3=A(1-2t)+\kappa(1-t)^3`, whose
    difference of sides increases in t. ``setting.n`` is a public guess, never the true count.

    >>> round(best_fraction(Setting(1e6, 0.1, 320, 5.0)), 6)
    0.993788
    """
    a, kappa = setting.checked().terms()[0], setting.kappa
    size = 1.0 + a + kappa

    def gap(t: float) -> float:
        return (t**3 - a * (1.0 - 2.0 * t) - kappa * (1.0 - t) ** 3) / size

    return 1.0 - float(brentq(gap, 0.0, 1.0, xtol=1e-16, rtol=8.9e-16, maxiter=500))


def printed_fraction(*, n: float, epsilon: float) -> float:
    r"""The closed form of Appendix E, exact for :math:`\kappa=0`.

    :math:`1-E/3+2A/E` with :math:`E=2^{-1/3}(27A+3\sqrt{81A^2+96A^3})^{1/3}`; it loses its digits
    for A above about 1e10.

    >>> round(printed_fraction(n=1e4, epsilon=0.1), 6)
    0.990067
    """
    a = 1.0 / (check_positive("n", n) * check_positive("epsilon", epsilon)) ** 2
    e = ((27.0 * a + 3.0 * np.sqrt(81.0 * a**2 + 96.0 * a**3)) / 2.0) ** (1.0 / 3.0)
    return float(1.0 - e / 3.0 + 2.0 * a / e)


def printed_asymptote(*, n: float, epsilon: float) -> float:
    r"""The printed approximation :math:`1-(n\varepsilon)^{-2/3}` for :math:`n\gg1/\varepsilon`.

    Right while :math:`n\varepsilon\ll m\sqrt{8C_0}`; :func:`limit_fraction` beyond.

    >>> round(printed_asymptote(n=1e4, epsilon=0.1), 9)
    0.99
    """
    product = check_positive("n", n) * check_positive("epsilon", epsilon)
    if product <= 1:
        raise ValueError(f"n * epsilon must be above 1, got n * epsilon = {product:g}")
    return float(1.0 - product ** (-2.0 / 3.0))


def printed_display(a: float, *, as_printed: bool = False) -> float:
    r"""The displayed approximation of the closed form for :math:`A=(n\varepsilon)^{-2}\gg1`.

    It tends to 1/2; as printed, with a denominator that misses a factor 3, to -1/2.

    >>> round(printed_display(1e6), 3), round(printed_display(1e6, as_printed=True), 3)
    (0.5, -0.5)
    """
    a = check_positive("a", a)
    factor = 1.0 if as_printed else 3.0
    inner = np.expm1(2.0 / 3.0 * np.log1p(27.0 / (3.0 * np.sqrt(96.0 * a))))
    return float(1.0 - 6.0 * a * inner / (factor * np.sqrt(6.0 * a)))


def safe_fraction(setting: Setting) -> float:
    r"""Simple rule for large counts: :math:`1-\gamma=\min\{(A+\kappa)^{1/3},1/2\}`.

    Its loss is below 1.0003 from :math:`n\epsilon=100` on (m = 50 to 3200), and 1.22 at 3.

    >>> round(safe_fraction(Setting(1e6, 0.1, 320, 5.0)), 4)
    0.9937
    """
    a = setting.checked().terms()[0]
    cube = float(a + setting.kappa)
    return 1.0 - min(float(np.cbrt(cube)), 0.5)


def limit_fraction(*, n_components: int, c0: float) -> float:
    r"""Best fraction as :math:`n\to\infty`, which is :math:`1/(1+(8C_0m^2)^{-1/3})`."""
    m, ratio = check_integer("n_components", n_components), check_at_least("c0", c0, 1.0)
    return float(1.0 / (1.0 + (8.0 * ratio * m**2) ** (-1.0 / 3.0)))


def split_loss(setting: Setting, *, fraction: float) -> float:
    """Ratio of a fraction's noise-to-signal ratio to the best possible one."""
    return float(split_nsr(fraction, setting) / split_nsr(best_fraction(setting), setting))


def threshold_loss(
    *, n_components: int, kd: int, epsilon: float, c0: float, subsampled: bool = False
) -> float:
    """Loss of :func:`printed_asymptote` at the public count for which it is made: Section 6.5.

    The acceptable ratio is ``m / (1000 kd)``; ``subsampled``: each record contributes one feature.
    """
    m = check_integer("n_components", n_components)
    nsr = m / (1000.0 * check_integer("kd", kd))
    n0 = float(m * max(1.0 / nsr, 1.0 / (check_positive("epsilon", epsilon) * math.sqrt(nsr))))
    setting = Setting(n0, epsilon, m, c0, 1.0 / m if subsampled else 1.0)
    return split_loss(setting, fraction=printed_asymptote(n=n0, epsilon=epsilon))


def minimax_fraction(setting: Setting, *, counts: ArrayLike) -> float:
    """The fraction whose worst ratio over several counts is least, by direct search."""
    cases = [setting._replace(n=float(n)) for n in np.atleast_1d(np.asarray(counts))]

    def worst(t: float) -> float:
        return max(float(split_nsr(1.0 - np.exp(t), case)) for case in cases)

    found = minimize_scalar(worst, bounds=(-12.0, -1e-3), method="bounded", options={"xatol": 1e-9})
    return 1.0 - float(np.exp(found.x))
