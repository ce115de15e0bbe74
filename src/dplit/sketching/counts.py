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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_noise, gaussian_sigma

__all__ = [
    "CountCost",
    "InverseMoments",
    "Setting",
    "Tuned",
    "best_fraction",
    "chapman_robbins_bound",
    "cramer_rao_bound",
    "floored_inverse",
    "floored_moments",
    "inverse_moments",
    "joint_deviations",
    "joint_gaussian_release",
    "limit_fraction",
    "minimax_fraction",
    "printed_asymptote",
    "printed_display",
    "printed_fraction",
    "printed_nsr_bound",
    "released_nsr",
    "safe_fraction",
    "simulate_released_nsr",
    "split_loss",
    "split_nsr",
    "threshold_count",
    "threshold_loss",
    "unbiased_inverse",
    "unbiased_moments",
]


# Estimating :math:`1/n` from a count with Laplace noise, and what it costs the sketch.
#
# A released mean is the noisy sum times an estimate :math:`f(y)` of :math:`1/n`, where
# :math:`y=n+\zeta` and :math:`\zeta` is Laplace of scale b. All moments here are integrals of one
# dimension against the Laplace density, computed by quadrature to about 12 digits.


#: Nodes of a quadrature panel, and how far in scales the Laplace tails are followed.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)

_REACH = 80.0


def _real(name: str, value: ArrayLike) -> Array:
    return np.asarray(check_finite_array(name, value), dtype=np.float64)


def floored_inverse(y: ArrayLike, *, floor: float) -> Array:
    """Inverse of the noisy count, raised to a floor first.

    Parameters
    ----------
    y : array_like
        Noisy counts, of any sign.
    floor : float
        Positive; the paper's example is 1.

    Returns
    -------
    ndarray
        ``1 / max(y, floor)``. Private whatever the floor: it looks at the released count only.

    Raises
    ------
    ValueError
        If ``floor`` is not positive or ``y`` not finite.

    Examples
    --------
    >>> from dplit.sketching.counts import floored_inverse
    >>> floored_inverse([-3.0, 4.0], floor=1.0)
    array([1.  , 0.25])
    """
    floor = check_positive("floor", floor)
    inverse: Array = 1.0 / np.maximum(_real("y", y), floor)
    return inverse


def unbiased_inverse(y: ArrayLike, *, scale: float, n_min: float) -> Array:
    r"""Estimate of :math:`1/n` that is unbiased for every real :math:`n\ge n_{\min}`.

    Parameters
    ----------
    y : array_like
        Noisy counts :math:`n+\zeta`.
    scale : float
        Laplace scale b of the noise, positive.
    n_min : float
        Smallest count that matters, positive, and not much below b: 5 b keeps the variance near its
        optimum, b costs some of it for counts below 20 b. With b / 10 it explodes, since the
        tangent is steep: at n = 20 b it is 20.9 in place of 2.1, in units of :math:`b^2/n^4`.

    Returns
    -------
    ndarray
        :math:`1/y-2b^2/y^3` for :math:`y\ge n_{\min}` and :math:`2/n_{\min}-y/n_{\min}^2` below.

    Raises
    ------
    ValueError
        If ``scale`` or ``n_min`` is not positive or ``y`` not finite.

    Notes
    -----
    Convolution with the Laplace density inverts :math:`1-b^2\partial^2`, so that
    :math:`E[(g-b^2g'')(n+\zeta)]=g(n)` for every g that is once continuously differentiable. Here g
    is 1/y, continued below :math:`n_{\min}` by its tangent. Conversely
    :math:`f=(1-b^2\partial^2)E f(\cdot+\zeta)`, so that no other function is unbiased for all real
    counts above :math:`n_{\min}`. Its variance is :math:`2b^2n^{-4}(1+22b^2/n^2+\dots)`.

    Examples
    --------
    >>> from dplit.sketching.counts import unbiased_inverse
    >>> unbiased_inverse([100.0, 1.0], scale=10.0, n_min=50.0)
    array([0.0098, 0.0396])
    """
    scale, n_min = check_positive("scale", scale), check_positive("n_min", n_min)
    counts = _real("y", y)
    inside = np.maximum(counts, n_min)
    above = 1.0 / inside - 2.0 * scale**2 / inside**3
    below = 2.0 / n_min - counts / n_min**2
    return np.where(counts >= n_min, above, below)


class InverseMoments(NamedTuple):
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
) -> InverseMoments:
    r"""Moments of :math:`n f(n+\zeta)` for a Laplace :math:`\zeta`, by quadrature.

    Parameters
    ----------
    estimator : callable
        f, from an array of noisy counts to estimates of 1/n; smooth but for one ``kink``.
    n : float
        True count, positive.
    scale : float
        Laplace scale b, positive.
    kink : float
        Where f is not smooth (the floor, or ``n_min``), positive.

    Returns
    -------
    InverseMoments
        Relative mean, variance and mean squared error around 1.

    Raises
    ------
    ValueError
        If a number is not positive.

    Notes
    -----
    Gauss-Legendre of 20 nodes on panels of half a scale, and geometric ones between kink and n,
    where 1/y varies fast.

    Examples
    --------
    >>> from dplit.sketching.counts import inverse_moments, unbiased_inverse
    >>> moments = inverse_moments(
    ...     lambda y: unbiased_inverse(y, scale=1.0, n_min=5.0), n=100.0, scale=1.0, kink=5.0
    ... )
    >>> round(moments.mean, 9), round(moments.variance * 100**2, 4)
    (1.0, 2.0044)
    """
    n, scale = check_positive("n", n), check_positive("scale", scale)
    ends = _panels(n, scale, check_positive("kink", kink))
    half = np.diff(ends)[:, None] / 2.0
    y = (ends[:-1] + ends[1:])[:, None] / 2.0 + half * _NODES  # (panels, nodes)
    weight = half * _WEIGHTS * np.exp(-np.abs(y - n) / scale) / (2.0 * scale)
    weight /= weight.sum()  # what lies beyond the reach is 1e-35
    relative = n * estimator(y.ravel()).reshape(y.shape)
    mean = float((weight * relative).sum())
    variance = float((weight * (relative - mean) ** 2).sum())
    return InverseMoments(mean, variance, variance + (mean - 1.0) ** 2)


def floored_moments(*, n: float, scale: float, floor: float) -> InverseMoments:
    """Moments of n times :func:`floored_inverse`.

    Parameters
    ----------
    n, scale, floor : float
        Count, Laplace scale of its noise, and the floor; positive.

    Returns
    -------
    InverseMoments
        By quadrature.

    Examples
    --------
    >>> from dplit.sketching.counts import floored_moments
    >>> round(floored_moments(n=1000.0, scale=10.0, floor=1.0).mean_squared_error * 1e4, 3)
    2.007
    """
    return inverse_moments(lambda y: floored_inverse(y, floor=floor), n=n, scale=scale, kink=floor)


def unbiased_moments(*, n: float, scale: float, n_min: float) -> InverseMoments:
    """Moments of n times :func:`unbiased_inverse`.

    Parameters
    ----------
    n, scale, n_min : float
        Count, Laplace scale of its noise, and the threshold; positive.

    Returns
    -------
    InverseMoments
        By quadrature; the mean is 1 for ``n >= n_min``.

    Examples
    --------
    >>> from dplit.sketching.counts import unbiased_moments
    >>> round(unbiased_moments(n=1000.0, scale=10.0, n_min=50.0).variance * 1e4, 3)
    2.004
    """
    return inverse_moments(
        lambda y: unbiased_inverse(y, scale=scale, n_min=n_min), n=n, scale=scale, kink=n_min
    )


def cramer_rao_bound(*, n: float, scale: float) -> float:
    r"""Cramer-Rao bound on the relative variance of an unbiased estimate of 1/n.

    Parameters
    ----------
    n : float
        True count, positive.
    scale : float
        Laplace scale b of the noise on it, positive.

    Returns
    -------
    float
        :math:`b^2/n^2`, which is :math:`\sigma_\zeta^2/(2n^2)`: a bound on
        :math:`n^2\mathrm{Var}f`. The truth is twice as large: see :func:`unbiased_inverse`.

    Notes
    -----
    The Laplace location family is differentiable in quadratic mean, with information
    :math:`1/b^2`; the corner of the density is no obstacle.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemma 27 and Appendix D.

    Examples
    --------
    >>> from dplit.sketching.counts import cramer_rao_bound
    >>> cramer_rao_bound(n=1000.0, scale=10.0)
    0.0001
    """
    return (check_positive("scale", scale) / check_positive("n", n)) ** 2


def chapman_robbins_bound(*, n: float, scale: float) -> float:
    r"""Chapman-Robbins bound on the same relative variance: no derivatives, and a little larger.

    Parameters
    ----------
    n : float
        True count, positive.
    scale : float
        Laplace scale b, positive and below n / 4.

    Returns
    -------
    float
        :math:`\sup_h(n/(n+h)-1)^2/\chi^2(|h|/b)`, about :math:`1.167\,b^2/n^2` for large n.

    Raises
    ------
    ValueError
        If ``scale`` is not below n / 4.

    Notes
    -----
    Two Laplace laws at distance :math:`ab` have
    :math:`\chi^2(a)=\tfrac23e^a+\tfrac13e^{-2a}-1`. For small a this is :math:`a^2-a^3/3`: the
    ratio :math:`a^2/\chi^2` exceeds its limit 1, and is largest near a = 0.95.

    References
    ----------
    D. Chapman and H. Robbins, Minimum variance estimation without regularity assumptions, Ann.
    Math. Statist. 22 (1951) 581-586.

    Examples
    --------
    >>> from dplit.sketching.counts import chapman_robbins_bound
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


def released_nsr(nsr: float, moments: InverseMoments) -> float:
    r"""Noise-to-signal ratio of a sketch whose count is estimated.

    Parameters
    ----------
    nsr : float
        Ratio with the count known, nonnegative.
    moments : InverseMoments
        Of the estimate of 1/n, independent of the noise on the sum.

    Returns
    -------
    float
        :math:`n^2E f^2(\mathrm{NSR}+1)-2nEf+1`; for an unbiased f this is
        :math:`(1+n^2\mathrm{Var}f)(\mathrm{NSR}+1)-1`, the paper's (35).

    Notes
    -----
    The noisy sum over n is the signal s plus an independent error of squared norm
    :math:`\mathrm{NSR}\,\|s\|^2` and mean zero; expand :math:`E\|f\tilde\Sigma-s\|^2`.

    Examples
    --------
    >>> from dplit.sketching.counts import InverseMoments, released_nsr
    >>> round(released_nsr(0.5, InverseMoments(1.0, 0.1, 0.1)), 12)
    0.65
    """
    nsr = check_nonnegative("nsr", nsr)
    second = moments.variance + moments.mean**2
    return second * (nsr + 1.0) - 2.0 * moments.mean + 1.0


def printed_nsr_bound(nsr: float, *, n: float, scale: float) -> float:
    r"""Lower bound of Lemma 27, :math:`(1+\sigma_\zeta^2/(2n^2))(\mathrm{NSR}+1)-1`.

    Parameters
    ----------
    nsr : float
        Ratio with the count known, nonnegative.
    n : float
        True count, positive.
    scale : float
        Laplace scale b of the noise on the count; :math:`\sigma_\zeta^2=2b^2`.

    Returns
    -------
    float
        Valid for unbiased estimates, and not attained: double the count term to get the truth.

    Examples
    --------
    >>> from dplit.sketching.counts import printed_nsr_bound
    >>> round(printed_nsr_bound(0.5, n=100.0, scale=10.0), 12)
    0.515
    """
    nsr = check_nonnegative("nsr", nsr)
    return (1.0 + cramer_rao_bound(n=n, scale=scale)) * (nsr + 1.0) - 1.0


def simulate_released_nsr(
    signal: ArrayLike,
    *,
    nsr: float,
    n: float,
    scale: float,
    n_min: float,
    n_trials: int,
    rng: np.random.Generator,
) -> Array:
    """Squared relative errors of released means, one per trial: the route without formulas.

    Parameters
    ----------
    signal : array_like of shape (m,), complex
        The mean that would be released without noise.
    nsr : float
        Ratio of the Gaussian noise on the sum, with the count known; positive.
    n, scale, n_min : float
        Count, Laplace scale of its noise and threshold of :func:`unbiased_inverse`.
    n_trials : int
        Number of releases.
    rng : numpy.random.Generator
        Stream of noise.

    Returns
    -------
    ndarray of shape (n_trials,)
        ``||f(y) (n s + noise) - s||^2 / ||s||^2``; their mean estimates :func:`released_nsr`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.counts import simulate_released_nsr
    >>> simulate_released_nsr(
    ...     np.ones(3), nsr=0.1, n=1e3, scale=1.0, n_min=5.0, n_trials=2,
    ...     rng=np.random.default_rng(0),
    ... ).shape
    (2,)
    """
    s: Any = check_finite_array("signal", signal, ndim=1)
    trials = check_integer("n_trials", n_trials)
    energy = float(np.sum(np.abs(s) ** 2))
    sigma = np.sqrt(check_positive("nsr", nsr) * energy / (2 * len(s)))
    parts = check_rng(rng).normal(scale=sigma, size=(trials, len(s), 2))
    noise = parts.view(np.complex128)[..., 0]
    y = n + rng.laplace(scale=check_positive("scale", scale), size=trials)
    relative = n * unbiased_inverse(y, scale=scale, n_min=n_min)
    errors = relative[:, None] * (s + noise) - s
    ratio: Array = np.sum(np.abs(errors) ** 2, axis=1) / energy
    return ratio


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
    >>> from dplit.sketching.counts import Setting, split_nsr
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
    >>> from dplit.sketching.counts import best_fraction, Setting
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
    >>> from dplit.sketching.counts import printed_fraction
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
    >>> from dplit.sketching.counts import printed_asymptote
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
    >>> from dplit.sketching.counts import printed_display
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
    >>> from dplit.sketching.counts import safe_fraction, Setting
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
    >>> from dplit.sketching.counts import limit_fraction
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
    >>> from dplit.sketching.counts import threshold_count
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
    >>> from dplit.sketching.counts import Setting, split_loss
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
    >>> from dplit.sketching.counts import threshold_loss
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
    >>> from dplit.sketching.counts import minimax_fraction, Setting
    >>> round(minimax_fraction(Setting(1e4, 0.1, 320, 5.0), counts=[1e4, 1e6]), 5)
    0.98933
    """
    cases = [setting._replace(n=float(n)) for n in np.atleast_1d(np.asarray(counts))]

    def worst(t: float) -> float:
        return max(float(split_nsr(1.0 - np.exp(t), case)) for case in cases)

    found = minimize_scalar(worst, bounds=(-12.0, -1e-3), method="bounded", options={"xatol": 1e-9})
    return 1.0 - float(np.exp(found.x))


# Hiding the count with Gaussian noise: apart, or as one more coordinate of the sum.
#
# A record moves the sum by at most :math:`\Delta_2` and the count by 1, so it moves
# :math:`(\Sigma,\lambda n)` by at most :math:`\sqrt{\Delta_2^2+\lambda^2}`: one Gaussian release
# of
# this vector needs no division of the budget.


def joint_deviations(
    *, epsilon: float, delta: float, sensitivity: float, weight: float
) -> tuple[float, float]:
    r"""Return the noise on the sum and on the count of one joint Gaussian release.

    Parameters
    ----------
    epsilon, delta : float
        Budget of the pair.
    sensitivity : float
        :math:`\ell_2` sensitivity of the sum where a record is added.
    weight : float
        The :math:`\lambda` > 0 by which the count is multiplied before the release.

    Returns
    -------
    sigma, count_sigma : float
        Standard deviations per real coordinate of the sum, and of the count after division by
        :math:`\lambda`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number in its range.

    Examples
    --------
    >>> from dplit.sketching.counts import joint_deviations
    >>> sigma, count_sigma = joint_deviations(epsilon=1.0, delta=1e-5, sensitivity=3.0, weight=4.0)
    >>> round(sigma, 6), round(count_sigma, 6)
    (18.653158, 4.66329)
    """
    size = float(
        np.hypot(check_positive("sensitivity", sensitivity), check_positive("weight", weight))
    )
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=size)
    return sigma, sigma / weight


def joint_gaussian_release(
    total: ArrayLike,
    count: float,
    *,
    epsilon: float,
    delta: float,
    sensitivity: float,
    weight: float,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], float]:
    r"""Return a noisy sum and a noisy count from one Gaussian release.

    Parameters
    ----------
    total : array_like of shape (m,)
        Sum of features, real or complex.
    count : float
        Number of records.
    epsilon, delta : float
        Budget of the pair, for the addition or removal of a record.
    sensitivity : float
        :math:`\ell_2` sensitivity of the sum.
    weight : float
        Weight :math:`\lambda` > 0 of the count in the released vector.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    ndarray of shape (m,), float
        Sum and count, together :math:`(\epsilon,\delta)`-private.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.counts import joint_gaussian_release
    >>> total, count = joint_gaussian_release(np.ones(3), 3, epsilon=1.0, delta=1e-5,
    ...     sensitivity=1.0, weight=1.0, rng=np.random.default_rng(0))
    >>> total.shape
    (3,)
    """
    values = check_finite_array("total", total, ndim=1)
    number = check_nonnegative("count", count)
    sigma, count_sigma = joint_deviations(
        epsilon=epsilon, delta=delta, sensitivity=sensitivity, weight=weight
    )
    noise = gaussian_noise(
        values.shape, sigma=sigma, rng=check_rng(rng), complex=values.dtype.kind == "c"
    )
    released: NDArray[Any] = values + noise
    return released, number + float(rng.normal(scale=count_sigma))


@dataclass(frozen=True)
class Tuned:
    """The smallest noise-to-signal ratio of a scheme, and the parameter that gives it."""

    nsr: float
    parameter: float


@dataclass(frozen=True)
class CountCost:
    r"""Noise-to-signal ratio of a Gaussian sketch of m Fourier features, by what hides the count.

    Parameters
    ----------
    n_samples : int
        Records n.
    n_components : int
        Frequencies m; the sensitivity of the sum is :math:`\sqrt m`.
    energy_ratio : float
        :math:`C_0=m/\|z\|^2`, at least 1.
    epsilon, delta : float
        Budget of the whole release.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With noise of variance :math:`2\sigma^2` per entry of the sum, relative to the sketch z of the
    distribution, NSR :math:`=(C_0-1)/n+2C_0\sigma^2/n^2`; an unbiased inverse of a count of
    variance v gives :math:`(1+v/n^2)(1+\mathrm{NSR})-1` to first order in :math:`v/n^2`.

    Examples
    --------
    >>> from dplit.sketching.counts import CountCost
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
        if check_positive("energy_ratio", self.energy_ratio) < 1:
            raise ValueError(f"energy_ratio must be at least 1, got {self.energy_ratio!r}")

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
        sigma, count = joint_deviations(
            epsilon=self.epsilon,
            delta=self.delta,
            sensitivity=float(np.sqrt(self.n_components)),
            weight=weight,
        )
        return self._ratio(sigma, count**2)

    def best_laplace(self) -> Tuned:
        """The best share of Lemma 10."""
        found = minimize_scalar(
            lambda u: self.laplace(1.0 - np.exp(u)), bounds=(-14.0, -0.01), method="bounded"
        )
        return Tuned(float(found.fun), float(1.0 - np.exp(found.x)))

    def best_gaussian(self) -> Tuned:
        """The best share of epsilon of a separate Gaussian count, over 19 shares of delta."""
        best = Tuned(np.inf, 0.0)
        for part in np.linspace(0.05, 0.95, 19):
            found = minimize_scalar(
                lambda u, part=part: self.gaussian(1.0 - np.exp(u), float(part)),
                bounds=(-14.0, -0.01),
                method="bounded",
            )
            if found.fun < best.nsr:
                best = Tuned(float(found.fun), float(1.0 - np.exp(found.x)))
        return best

    def best_joint(self) -> Tuned:
        """The best weight of a joint release."""
        found = minimize_scalar(
            lambda u: self.joint(float(np.exp(u))), bounds=(-7.0, 7.0), method="bounded"
        )
        return Tuned(float(found.fun), float(np.exp(found.x)))
