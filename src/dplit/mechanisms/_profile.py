r"""Exact privacy profile of the Gaussian mechanism on arrays, and its two inverses.

Let :math:`\mu=\Delta/\sigma` (sensitivity over standard deviation), :math:`x=\epsilon/\mu-\mu/2`
and :math:`y=x+\mu`. Since :math:`y^2-x^2=2\epsilon`, the profile is .. math::
\delta=\Phi(-x)-e^\epsilon\Phi(-y)=\varphi(x)\,h,\qquad h=M(x)-M(y)=\int_x^y D(s)\,ds, with the
Mills ratio :math:`M(s)=\Phi(-s)/\varphi(s)=\int_0^\infty e^{-t^2/2-st}\,dt` and its drop
:math:`D=-M'=1-sM>0`. Equivalently, with everything positive under the integral,
:math:`h=2\int_0^\infty e^{-t^2/2-\epsilon t/\mu}\sinh(\mu t/2)\,dt`. Three facts carry the
module. * *Conditioning.* :math:`\partial\log\delta/\partial\log\mu=1/g`, where :math:`g=h/\mu` is
the mean of :math:`D` over :math:`[x,y]`. An absolute error :math:`u` in :math:`g` is therefore a
relative error :math:`u` in :math:`\sigma`, however small :math:`\delta` is. Absolute accuracy is
easy: ten Gauss-Legendre nodes on :math:`D` where :math:`\mu<1`, the plain difference elsewhere. *
*Concavity.* :math:`\log\delta` is concave in :math:`\log\mu`: its second derivative is
:math:`g^{-1}(1+xy-g^{-1})`, and :math:`h\,(1+xy)\le y-x`. (For :math:`x\ge0` integrate
:math:`D(s)\le1/(1+s^2)`: :math:`h\le\arctan y-\arctan x\le(y-x)/(1+xy)`. For :math:`-1/y<x=-k<0`
compare :math:`h` with :math:`(y-x)/(1+xy)`: at :math:`y=k` their halves are :math:`\sum_i
k^{2i+1}/(2i+1)!!` and :math:`\sum_i k^{2i+1}`; beyond, the second grows at least at rate
:math:`1\ge D(y)`.) For fixed :math:`\mu` it is concave in :math:`x`: the profile is a marginal of
the log-concave function :math:`(1-e^{\epsilon-z})_+\,\varphi((z-\mu^2/2)/\mu)`. Newton's method
from the private side never oversteps; Halley's correction makes it cubic. * *Starting points.*
:math:`\delta\le\Phi(-x)`, so :math:`x\le-\Phi^{-1}(\delta)` at the root; and :math:`\mu` is at
least its value at :math:`\epsilon=0`, where :math:`\delta=\operatorname{erf}(\mu/\sqrt8)`.
Arguments are one-dimensional float64 arrays of one shape, validated by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from dplit._checks import Array

_SQRT_HALF, _SQRT_HALF_PI = math.sqrt(0.5), math.sqrt(math.pi / 2)

_SQRT_TWO_PI, _SQRT_8 = math.sqrt(2 * math.pi), math.sqrt(8.0)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)

_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]

_SAFETY = 2.0**-47  # allowance of the safe side, per unit of conditioning: 32 ulps

_UNIT = 2.0**-53  # rounding error of one operation, relative

_FAR, _DEPTH = 12.0, 14  # there that many levels of the continued fraction are exact

_SPLIT = 2.0**27 + 1.0  # cuts a number into two of 26 bits

_LEAST = 5e-324  # the smallest float; a product of tiny factors can lose two of it

_CONVERGED = 1e-6  # a cubic method that still moves by this is exact after the move

_MAX_STEPS = 60  # seven are used on the whole range

_BLOCK = 4096  # keeps the ten nodes of every element in cache


def _mills(s: Array) -> Array:
    """Return Phi(-s) / phi(s)."""
    ratio: Array = _SQRT_HALF_PI * special.erfcx(_SQRT_HALF * s)
    return ratio


def _slope_drop(s: Array) -> Array:
    """Return D = 1 - s M(s), by the continued fraction of M where the difference loses digits."""
    far = np.maximum(s, _FAR)
    tail = far
    for k in range(_DEPTH, 1, -1):
        tail = far + k / tail  # M(s) = 1 / (s + 1 / tail)
    drop: Array = np.where(s > _FAR, 1.0 / (1.0 + far * tail), 1.0 - s * _mills(s))
    return drop


def _mills_drop(x: Array, mu: Array) -> Array:
    """Return h = M(x) - M(x + mu): where mu < 1 to 4 units of mu, beyond ``_FAR`` to a few of h."""
    width = np.minimum(mu, 1.0)
    s = x[:, None] + width[:, None] * _NODES  # (n, nodes)
    narrow = width * (_slope_drop(s) @ _WEIGHTS)
    drop: Array = np.where(mu < 1.0, narrow, _mills(x) - _mills(x + mu))
    return drop


def _split(a: Array) -> tuple[Array, Array]:
    big = _SPLIT * a
    high: Array = big - (big - a)
    return high, a - high


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """Return a b - product exactly (Dekker); numbers within 1e+-150 of 1."""
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    error: Array = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
    return error


def _position(epsilon: Array, mu: Array) -> tuple[Array, Array]:
    """Return x = epsilon / mu - mu / 2 rounded, at most 1e100, and what the rounding took.

    The two parts of x cancel where epsilon is large, and phi(x) magnifies the error of x by x.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        quotient = np.minimum(epsilon / mu, 1e100)
        rest = (epsilon - quotient * mu - _product_error(quotient, mu, quotient * mu)) / mu
        x = quotient - mu / 2
        back = x - quotient
        low = (quotient - (x - back)) + (-mu / 2 - back) + rest
    ordinary = (quotient < 1e100) & (mu < 1e100) & np.isfinite(low)
    return x, np.where(ordinary, low, 0.0)


def _density(x: Array, low: Array) -> Array:
    """Return phi(x + low) to a few ulps, where it is a normal number."""
    x, low = np.clip(x, -1e3, 1e3), np.where(np.abs(x) < 1e3, low, 0.0)  # phi(1000) is 0
    square = x * x
    rest = _product_error(x, x, square) + 2 * x * low
    density: Array = np.exp(-square / 2) * np.exp(-rest / 2) / _SQRT_TWO_PI
    return density


def _profile_delta(epsilon: Array, mu: Array) -> Array:
    """Return delta at ``epsilon`` >= 0 of a Gaussian release with ratio ``mu`` > 0, never below it.

    The exact value may belong to a ``mu`` that was rounded to nearest.  Every rounding is allowed
    for: the bias is a few ulps times ``1 + 1 / g``, below 1e-12 for delta >= 1e-300 and
    epsilon <= 1000.  The rounding of mu enters through the tangent of the concave log delta.
    """
    x, low = _position(epsilon, mu)
    right = np.maximum(x, -0.5)  # mu < 1 implies x >= -1/2
    with np.errstate(over="ignore", under="ignore"):
        density = _density(x, low)
        drop = _mills_drop(right, mu)
        lost = np.where(right > _FAR, 8 * drop, 4 * mu)
        lost = _UNIT * np.where(mu < 1, lost, 8 * (_mills(right) + _mills(x + mu)))
        narrow = density * np.maximum(drop + lost, 0.0)
        below, above = special.ndtr(-x), density * _mills(x + mu)
        wide = below - above + 6 * _UNIT * (below + above)
        delta = np.where((x < 0) & (mu >= 1), wide, narrow)
        slope = mu * density / np.maximum(delta, 1e-310)  # d log delta / d log mu = 1 / g
        delta = delta * np.exp(_UNIT * np.minimum(slope, 1e18)) * (1.0 + 8 * _UNIT)
    safe: Array = np.minimum(delta + np.where(delta > 0, 2 * _LEAST, _LEAST), 1.0)
    return safe


def _halley(residual: Array, slope: Array, curvature: Array) -> tuple[Array, bool]:
    """Return the Halley step, at most three Newton steps long, and whether it is the last one.

    Elements whose residual is rounding noise stay: where delta is almost 1 the slope is almost 0.
    """
    newton = np.where(np.abs(residual) < 2 * _SAFETY, 0.0, -residual / slope)
    step: Array = newton / np.maximum(1.0 + newton * curvature / (2 * slope), 1 / 3)
    return step, bool(np.abs(newton).max() < _CONVERGED)


def _profile_mu(epsilon: Array, delta: Array) -> Array:
    """Return the largest ratio ``mu`` whose profile at ``epsilon`` is at most ``delta``.

    Never above it, and below by a relative ``2**-46 (1 + (1 + x**2) g)`` at most, which is under
    1e-13 for ``delta`` <= 1/2 and grows without bound as ``delta`` tends to 1.  ``epsilon`` in
    [0, 1e20], ``delta`` in [1e-300, 1).
    """
    z = -special.ndtri(delta)
    radius = np.hypot(z, math.sqrt(2) * np.sqrt(epsilon))
    from_tail = np.where(z > 0, 2 * (epsilon / np.maximum(z + radius, 1e-300)), radius - z)
    mu = np.maximum(_SQRT_8 * special.erfinv(delta), from_tail)
    for _ in range(_MAX_STEPS):
        x = epsilon / mu - mu / 2
        h = _mills_drop(x, mu)
        slope = mu / h
        residual = np.log(h / (_SQRT_TWO_PI * delta)) - x * x / 2
        step, last = _halley(residual, slope, slope * (1.0 + x * (x + mu) - slope))
        mu = mu * np.exp(step)
        if last:
            safe: Array = mu * (1.0 - np.minimum(_SAFETY * (1.0 + (1.0 + x * x) / slope), 0.5))
            return safe
    raise ArithmeticError(f"no convergence in {_MAX_STEPS} steps, got epsilon={epsilon[0]!r}")


def _profile_epsilon(delta: Array, mu: Array) -> Array:
    """Return the smallest ``epsilon`` >= 0 at which the profile of ``mu`` is at most ``delta``.

    Never below it, and above by at most ``2**-46 (epsilon + mu + mu**2 / 2)``.  It is 0 where
    ``delta`` is at least ``profile_delta`` at 0, and inf where ``delta`` is 0.
    """
    epsilon = np.where(delta > 0, 0.0, np.inf)
    todo = np.flatnonzero((delta > 0) & (delta < _profile_delta(np.zeros_like(mu), mu)))
    if todo.size:
        epsilon[todo] = _positive_epsilon(delta[todo], mu[todo])
    return epsilon


def _positive_epsilon(delta: Array, mu: Array) -> Array:
    """Return ``profile_epsilon`` where the answer is positive, by Halley's method in x."""
    narrow = np.sqrt(2 * np.maximum(np.log(mu) - np.log(_SQRT_TWO_PI * delta), 0.0))
    x = np.minimum(-special.ndtri(delta), narrow)  # delta <= mu phi(x) for x >= 0
    for _ in range(_MAX_STEPS):
        y = x + mu
        h, m = _mills_drop(x, mu), _mills(y)
        slope = -mu * m / h
        residual = np.log(h / (_SQRT_TWO_PI * delta)) - x * x / 2
        decay = np.clip(1.0 / m - y, 0.0, 1.0 / y)  # -d log M(y) / dy
        step, last = _halley(residual, slope, -slope * (x + decay + slope))
        x = np.maximum(x + step, -mu / 2)
        if last:
            with np.errstate(over="ignore"):  # mu beyond 1e154: epsilon is inf
                epsilon: Array = mu * (x + mu / 2)
                return epsilon + _SAFETY * (epsilon + mu + mu * mu / 2)
    raise ArithmeticError(f"no convergence in {_MAX_STEPS} steps, got delta={delta[0]!r}")


def _in_blocks(function: Callable[[Array, Array], Array], first: Array, second: Array) -> Array:
    """Return ``function(first, second)``, evaluated in blocks that fit the cache."""
    if first.size <= _BLOCK:
        return function(first, second)
    starts = range(0, first.size, _BLOCK)
    return np.concatenate([function(first[i : i + _BLOCK], second[i : i + _BLOCK]) for i in starts])
