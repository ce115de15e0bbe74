r"""Splitting a budget between the sum of features and the count.

A fraction :math:`\gamma` of :math:`\varepsilon` hides the sum, the rest hides the count. For
Fourier features with Laplace noise, and the mean :math:`z` of the population as signal, the
noise-to-signal ratio is :math:`(1+A(1-\gamma)^{-2})(B+C\gamma^{-2})-1` (Section 6.5), where
:math:`A=(n\varepsilon)^{-2}`, :math:`B=1-\frac1n+\frac{C_0}{\alpha n}`, :math:`C=8C_0m^2A` and
:math:`C_0=m/\|z\|^2\ge1`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from dplit._checks import (
    Array,
    check_at_least,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.mechanisms import gaussian_sigma

# Estimating :math:`1/n` by :math:`f(y)`, :math:`y=n+\zeta` a count with Laplace noise of scale b.
# All moments are integrals of one dimension, computed by quadrature to about 12 digits.


#: Nodes of a quadrature panel, and how far in scales the Laplace tails are followed.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)

_REACH = 80.0


def _real(name: str, value: ArrayLike) -> Array:
    return check_real_array(name, value)


def floored_inverse(y: ArrayLike, *, floor: float) -> Array:
    """Inverse ``1 / max(y, floor)`` of noisy counts y, of any sign; the paper's floor is 1."""
    floor = check_positive("floor", floor)
    inverse: Array = 1.0 / np.maximum(_real("y", y), floor)
    return inverse


def unbiased_inverse(y: ArrayLike, *, scale: float, n_min: float) -> Array:
    r"""Estimate of :math:`1/n` that is unbiased for every real :math:`n\ge n_{\min}`.

    :math:`1/y-2b^2/y^3` for :math:`y\ge n_{\min}`, :math:`2/n_{\min}-y/n_{\min}^2` below; its
    variance is :math:`2b^2n^{-4}(1+22b^2/n^2+\dots)`. ``n_min`` should not be much below b: 5 b
    keeps the variance near its optimum, with b / 10 it explodes (20.9 in place of 2.1
    :math:`b^2/n^4` at n = 20 b).

    >>> unbiased_inverse([100.0, 1.0], scale=10.0, n_min=50.0)
    array([0.0098, 0.0396])
    """
    scale, n_min = check_positive("scale", scale), check_positive("n_min", n_min)
    counts = _real("y", y)
    inside = np.maximum(counts, n_min)
    above = 1.0 / inside - 2.0 * scale**2 / inside**3
    below = 2.0 / n_min - counts / n_min**2
    return np.where(counts >= n_min, above, below)


class _InverseMoments(NamedTuple):
    """Moments of n times an estimate of 1/n: ideal are 1, 0 and 0."""

    mean: float
    variance: float
    mean_squared_error: float


def _panels(n: float, scale: float, kink: float) -> Array:
    """Return ends of panels: half a scale wide, geometric towards the kink, broken at n."""
    steps = np.arange(0.0, _REACH + 0.5, 0.5)
    near = n + scale * np.concatenate([-steps, steps])
    below = kink - scale * steps
    geometric = np.geomspace(kink, max(n, kink * 1.5), 60)
    return np.unique(np.concatenate([near, below, geometric, [kink, n]]))


def inverse_moments(
    estimator: Callable[[Array], Array], *, n: float, scale: float, kink: float
) -> _InverseMoments:
    r"""Moments of :math:`n f(n+\zeta)`, Laplace :math:`\zeta` of scale b, smooth f with a kink."""
    n, scale = check_positive("n", n), check_positive("scale", scale)
    ends = _panels(n, scale, check_positive("kink", kink))
    half = np.diff(ends)[:, None] / 2.0
    y = (ends[:-1] + ends[1:])[:, None] / 2.0 + half * _NODES  # (panels, nodes)
    weight = half * _WEIGHTS * np.exp(-np.abs(y - n) / scale) / (2.0 * scale)
    weight /= weight.sum()  # what lies beyond the reach is 1e-35
    relative = n * estimator(y.ravel()).reshape(y.shape)
    mean = float((weight * relative).sum())
    variance = float((weight * (relative - mean) ** 2).sum())
    return _InverseMoments(mean, variance, variance + (mean - 1.0) ** 2)


def floored_moments(*, n: float, scale: float, floor: float) -> _InverseMoments:
    """Moments of n times :func:`floored_inverse`."""
    return inverse_moments(lambda y: floored_inverse(y, floor=floor), n=n, scale=scale, kink=floor)


def unbiased_moments(*, n: float, scale: float, n_min: float) -> _InverseMoments:
    """Moments of n times :func:`unbiased_inverse`."""
    return inverse_moments(
        lambda y: unbiased_inverse(y, scale=scale, n_min=n_min), n=n, scale=scale, kink=n_min
    )


def cramer_rao_bound(*, n: float, scale: float) -> float:
    r"""Cramer-Rao bound :math:`b^2/n^2` on :math:`n^2\mathrm{Var}f` for unbiased f: Lemma 27.

    The truth is twice as large: see :func:`unbiased_inverse`.
    """
    return (check_positive("scale", scale) / check_positive("n", n)) ** 2


def chapman_robbins_bound(*, n: float, scale: float) -> float:
    r"""Chapman-Robbins bound :math:`\sup_h(n/(n+h)-1)^2/\chi^2(|h|/b)`, about 1.167 times that.

    Two Laplace laws at distance :math:`ab` have :math:`\chi^2(a)=\tfrac23e^a+\tfrac13e^{-2a}-1`.

    >>> round(chapman_robbins_bound(n=1e6, scale=1.0) * 1e12, 3)
    1.167
    """
    n, scale = check_positive("n", n), check_positive("scale", scale)
    if scale >= n / 4:
        raise ValueError(f"scale must be below n / 4 = {n / 4:g}, got scale={scale:g}")
    a = np.linspace(1e-3, 3.0, 3000)
    divergence = 2 / 3 * np.expm1(a) + np.expm1(-2 * a) / 3
    gain = (a / (n / scale - a)) ** 2  # shifts towards zero, where 1/n changes faster
    return float(np.max(gain / divergence))


def released_nsr(nsr: float, moments: _InverseMoments) -> float:
    r"""Noise-to-signal ratio of a sketch whose count is estimated: (35).

    :math:`n^2E f^2(\mathrm{NSR}+1)-2nEf+1`, which is :math:`(1+n^2\mathrm{Var}f)(\mathrm{NSR}+1)-1`
    for an unbiased f; ``nsr`` is the ratio with the count known.
    """
    nsr = check_nonnegative("nsr", nsr)
    second = moments.variance + moments.mean**2
    return second * (nsr + 1.0) - 2.0 * moments.mean + 1.0


def printed_nsr_bound(nsr: float, *, n: float, scale: float) -> float:
    r"""Lower bound :math:`(1+\sigma_\zeta^2/(2n^2))(\mathrm{NSR}+1)-1`, Lemma 27, not attained."""
    nsr = check_nonnegative("nsr", nsr)
    return (1.0 + cramer_rao_bound(n=n, scale=scale)) * (nsr + 1.0) - 1.0


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


# Hiding the count with Gaussian noise: apart, or as one more coordinate of the sum.


def joint_deviations(
    *, epsilon: float, delta: float, sensitivity: float, weight: float
) -> tuple[float, float]:
    r"""Return the noise on the sum and on the count of one joint Gaussian release.

    Of :math:`(\Sigma,\lambda n)`, with :math:`\lambda` the ``weight``; the second is that of the
    count after division by it.

    >>> sigma, count_sigma = joint_deviations(epsilon=1.0, delta=1e-5, sensitivity=3.0, weight=4.0)
    >>> round(sigma, 6), round(count_sigma, 6)
    (18.653158, 4.66329)
    """
    both = check_positive("sensitivity", sensitivity), check_positive("weight", weight)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(np.hypot(*both)))
    return sigma, sigma / weight


class _Tuned(NamedTuple):
    """The smallest noise-to-signal ratio of a scheme, and the parameter that gives it."""

    nsr: float
    parameter: float


@dataclass(frozen=True)
class CountCost:
    r"""Noise-to-signal ratio of a Gaussian sketch of m Fourier features, by what hides the count.

    Relative to the sketch z of the law, NSR :math:`=(C_0-1)/n+2C_0\sigma^2/n^2` with
    :math:`C_0=m/\|z\|^2` the ``energy_ratio``; an unbiased inverse of a count of variance v gives
    :math:`(1+v/n^2)(1+\mathrm{NSR})-1` to first order in :math:`v/n^2`.

    >>> cost = CountCost(10_000, 320, energy_ratio=5.0, epsilon=0.1, delta=1e-8)
    >>> f"{cost.public:.6f}"
    '0.067928'
    """

    n_samples: int
    n_components: int
    energy_ratio: float
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_integer("n_samples", self.n_samples)
        check_integer("n_components", self.n_components)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_at_least("energy_ratio", self.energy_ratio, 1.0)

    def _ratio(self, sigma: float, variance: float) -> float:
        n, c = self.n_samples, self.energy_ratio
        base = (c - 1.0) / n + 2.0 * c * sigma**2 / n**2
        return float((1.0 + variance / n**2) * (1.0 + base) - 1.0)

    def _sigma(self, epsilon: float, delta: float) -> float:
        return gaussian_sigma(
            epsilon=epsilon, delta=delta, sensitivity=float(np.sqrt(self.n_components))
        )

    @property
    def public(self) -> float:
        """The ratio where the count is published: all of the budget goes to the sum."""
        return self._ratio(self._sigma(self.epsilon, self.delta), 0.0)

    def laplace(self, share: float) -> float:
        """The ratio of Lemma 10: ``share`` of epsilon for the sum, the rest for a Laplace count."""
        gamma = check_probability("share", share)
        variance = 2.0 / ((1.0 - gamma) * self.epsilon) ** 2
        return self._ratio(self._sigma(gamma * self.epsilon, self.delta), variance)

    def gaussian(self, share: float, delta_share: float) -> float:
        """The ratio of a separate Gaussian count, with shares of both parts of the budget."""
        gamma = check_probability("share", share)
        part = check_probability("delta_share", delta_share)
        count = gaussian_sigma(
            epsilon=(1.0 - gamma) * self.epsilon, delta=(1.0 - part) * self.delta
        )
        return self._ratio(self._sigma(gamma * self.epsilon, part * self.delta), count**2)

    def joint(self, weight: float) -> float:
        """The ratio of one Gaussian release of the sum and ``weight`` times the count."""
        size = float(np.sqrt(self.n_components))
        sigma, count = joint_deviations(
            epsilon=self.epsilon, delta=self.delta, sensitivity=size, weight=weight
        )
        return self._ratio(sigma, count**2)

    def best_laplace(self) -> _Tuned:
        """The best share of Lemma 10."""
        return _best_share(self.laplace)

    def best_gaussian(self) -> _Tuned:
        """The best share of epsilon of a separate Gaussian count, over 19 shares of delta."""
        parts = np.linspace(0.05, 0.95, 19).tolist()
        tried = [_best_share(partial(self.gaussian, delta_share=part)) for part in parts]
        return min(tried, key=lambda found: found.nsr)

    def best_joint(self) -> _Tuned:
        """The best weight of a joint release."""
        found = minimize_scalar(
            lambda u: self.joint(float(np.exp(u))), bounds=(-7.0, 7.0), method="bounded"
        )
        return _Tuned(float(found.fun), float(np.exp(found.x)))


def _best_share(ratio: Callable[[float], float]) -> _Tuned:
    """Return the share of the sum at which a ratio is least."""
    found = minimize_scalar(
        lambda u: ratio(float(1.0 - np.exp(u))), bounds=(-14.0, -0.01), method="bounded"
    )
    return _Tuned(float(found.fun), float(1.0 - np.exp(found.x)))
