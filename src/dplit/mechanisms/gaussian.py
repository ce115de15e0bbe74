"""The exact Gaussian profile and its inverses. Public through :mod:`dplit.mechanisms`."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dplit._checks import (
    Array,
    check_finite_array,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit._numerics.rounding import round_up

# Exact privacy profile of the Gaussian mechanism on arrays, and its two inverses.
#
# Let :math:`\mu=\Delta/\sigma` (sensitivity over standard deviation),
# :math:`x=\epsilon/\mu-\mu/2` and :math:`y=x+\mu`.  Since :math:`y^2-x^2=2\epsilon`, the profile
# is
#
# .. math:: \delta=\Phi(-x)-e^\epsilon\Phi(-y)=\varphi(x)\,h,\qquad h=M(x)-M(y)=\int_x^y D(s)\,ds,
#
# with the Mills ratio :math:`M(s)=\Phi(-s)/\varphi(s)=\int_0^\infty e^{-t^2/2-st}\,dt` and its
# drop
# :math:`D=-M'=1-sM>0`.  Equivalently, with everything positive under the integral,
# :math:`h=2\int_0^\infty e^{-t^2/2-\epsilon t/\mu}\sinh(\mu t/2)\,dt`.  Three facts carry the
# module.
#
# * *Conditioning.*  :math:`\partial\log\delta/\partial\log\mu=1/g`, where :math:`g=h/\mu` is the
#   mean of :math:`D` over :math:`[x,y]`.  An absolute error :math:`u` in :math:`g` is therefore a
#   relative error :math:`u` in :math:`\sigma`, however small :math:`\delta` is.  Absolute
#   accuracy is
#   easy: ten Gauss-Legendre nodes on :math:`D` where :math:`\mu<1`, the plain difference
#   elsewhere.
# * *Concavity.*  :math:`\log\delta` is concave in :math:`\log\mu`: its second derivative is
#   :math:`g^{-1}(1+xy-g^{-1})`, and :math:`h\,(1+xy)\le y-x`.  (For :math:`x\ge0` integrate
#   :math:`D(s)\le1/(1+s^2)`: :math:`h\le\arctan y-\arctan x\le(y-x)/(1+xy)`.  For
#   :math:`-1/y<x=-k<0` compare :math:`h` with :math:`(y-x)/(1+xy)`: at :math:`y=k` their halves
#   are
#   :math:`\sum_i k^{2i+1}/(2i+1)!!` and :math:`\sum_i k^{2i+1}`; beyond, the second grows at
#   least at
#   rate :math:`1\ge D(y)`.)  For fixed :math:`\mu` it is concave in :math:`x`: the profile is a
#   marginal of the log-concave function :math:`(1-e^{\epsilon-z})_+\,\varphi((z-\mu^2/2)/\mu)`.
#   Newton's method from the private side never oversteps; Halley's correction makes it cubic.
# * *Starting points.*  :math:`\delta\le\Phi(-x)`, so :math:`x\le-\Phi^{-1}(\delta)` at the root;
# and
#   :math:`\mu` is at least its value at :math:`\epsilon=0`, where
#   :math:`\delta=\operatorname{erf}(\mu/\sqrt8)`.
#
# Arguments are one-dimensional float64 arrays of one shape, validated by the caller.


_SMALLEST_DELTA = 1e-300  # below it mu itself can leave the normal floating-point numbers

_LARGEST_EPSILON = 1e20  # above it neighbouring floating-point mu are far apart in x

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


_LARGEST_RATIO = 1e160  # beyond it delta is 1 and epsilon inf in float64

_SMALLEST_RATIO = float(np.finfo(np.float64).tiny)


def _values(name: str, value: Any, check: Callable[[str, object], float]) -> Array:
    """Return ``value`` as float64; ``check`` sees its smallest, smallest positive, largest one."""
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) > 0:
        array = check_finite_array(name, value)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
        for extreme in (array.min(), array.max(), *np.sort(array[array > 0])[:1]):
            check(name, extreme)
        return array.astype(np.float64)
    return np.array(check(name, value.item() if isinstance(value, np.ndarray) else value))


def _elementwise(function: Callable[[Array, Array], Array], first: Array, second: Array) -> Any:
    """Apply ``function`` to broadcast arguments; give a float if both are scalars."""
    if first.ndim == second.ndim == 0:
        return float(function(first.reshape(1), second.reshape(1))[0])
    first, second = np.broadcast_arrays(first, second)
    return _in_blocks(function, first.ravel(), second.ravel()).reshape(first.shape)


def _ratio(sensitivity: ArrayLike, sigma: ArrayLike) -> Array:
    """Return mu = sensitivity / sigma to nearest, inside the range where its powers are numbers."""
    numerator = _values("sensitivity", sensitivity, check_positive)
    denominator = _values("sigma", sigma, check_positive)
    with np.errstate(over="ignore", under="ignore"):
        mu = numerator / denominator
    return np.asarray(np.minimum(np.maximum(mu, _SMALLEST_RATIO), _LARGEST_RATIO))


def _check_budget_epsilon(name: str, value: object) -> float:
    number = check_nonnegative(name, value)
    if number > _LARGEST_EPSILON:
        raise ValueError(f"{name} must be at most {_LARGEST_EPSILON:g}, got {name}={value!r}")
    return number


def _check_budget_delta(name: str, value: object) -> float:
    number = check_interval(name, value, 0.0, 1.0)
    if number < _SMALLEST_DELTA:
        raise ValueError(f"{name} must be at least {_SMALLEST_DELTA:g}, got {name}={value!r}")
    return number


def _check_profile_delta(name: str, value: object) -> float:
    number = check_probability(name, value, zero=True, one=True)
    if 0 < number < _SMALLEST_DELTA:
        raise ValueError(f"{name} must be 0 or at least {_SMALLEST_DELTA:g}, got {name}={value!r}")
    return number


@overload
def gaussian_delta(*, epsilon: float, sigma: float, sensitivity: float = ...) -> float: ...


@overload
def gaussian_delta(
    *, epsilon: ArrayLike, sigma: ArrayLike, sensitivity: ArrayLike = ...
) -> Array: ...


def gaussian_delta(*, epsilon: Any, sigma: Any, sensitivity: Any = 1.0) -> Any:
    r"""Return the delta at ``epsilon`` of the Gaussian mechanism, never understated.

    Parameters
    ----------
    epsilon : float or array_like
        Nonnegative privacy loss.
    sigma : float or array_like
        Standard deviation of the noise per real coordinate, positive.
    sensitivity : float or array_like, default=1.0
        :math:`\ell_2` sensitivity of the released vector, positive, in the units of ``sigma``.

    Returns
    -------
    float or ndarray of float64
        A :math:`\delta\in(0,1]` such that the release is :math:`(\epsilon,\delta)`-private.
        It is never below the smallest one, and above it by a relative ``1e-12`` at most for
        delta >= 1e-300 and epsilon <= 1000; everywhere it is the exact value at a ``sigma`` within
        a few ulps of the given one.  Below 1e-300 it keeps no digits, and it is never 0.

    See Also
    --------
    gaussian_epsilon, gaussian_sigma : its inverses.

    Notes
    -----
    With :math:`\mu=\Delta/\sigma`,

    .. math:: \delta=\Phi(\mu/2-\epsilon/\mu)-e^\epsilon\,\Phi(-\mu/2-\epsilon/\mu).

    The two terms agree to many digits when :math:`\delta` is small; the difference is computed as a
    normal density times a difference of Mills ratios, integrated where :math:`\mu<1`.

    References
    ----------
    B. Balle and Y.-X. Wang, Improving the Gaussian mechanism for differential privacy, ICML 2018,
    arXiv:1805.06530v2, Theorem 8 (there :math:`\mu=\Delta/\sigma`).

    Examples
    --------
    >>> f"{gaussian_delta(epsilon=1.0, sigma=4.0):.6e}"
    '2.924272e-06'
    >>> [f"{d:.6g}" for d in gaussian_delta(epsilon=[0.0, 1.0, 30.0], sigma=1.0)]
    ['0.382925', '0.126937', '4.70933e-193']
    """
    return _elementwise(
        _profile_delta, _values("epsilon", epsilon, check_nonnegative), _ratio(sensitivity, sigma)
    )


@overload
def gaussian_epsilon(*, delta: float, sigma: float, sensitivity: float = ...) -> float: ...


@overload
def gaussian_epsilon(
    *, delta: ArrayLike, sigma: ArrayLike, sensitivity: ArrayLike = ...
) -> Array: ...


def gaussian_epsilon(*, delta: Any, sigma: Any, sensitivity: Any = 1.0) -> Any:
    r"""Return the smallest epsilon at ``delta`` of the Gaussian mechanism, never understated.

    Parameters
    ----------
    delta : float or array_like
        Probability in [1e-300, 1], or 0.
    sigma : float or array_like
        Standard deviation of the noise per real coordinate, positive.
    sensitivity : float or array_like, default=1.0
        :math:`\ell_2` sensitivity of the released vector, positive, in the units of ``sigma``.

    Returns
    -------
    float or ndarray of float64
        An :math:`\epsilon` for which the release is :math:`(\epsilon,\delta)`-private.  With
        :math:`\mu=\Delta/\sigma` it exceeds the smallest one by at most
        :math:`10^{-13}(\epsilon+\mu+\mu^2/2)`.  It is 0 where ``delta`` is at least
        ``gaussian_delta(epsilon=0)`` and inf where ``delta`` is 0. (For a ``delta`` above 0.99
        doubles hold 1 - delta coarsely: at 1 - 1e-9 it was that of a delta 8e-16 larger.)

    See Also
    --------
    gaussian_delta : the profile that this function inverts.

    Notes
    -----
    :math:`\log\delta` is a concave, decreasing function of :math:`x=\epsilon/\mu-\mu/2`; its root
    is found by Halley's method and moved to the private side by 32 ulps.

    References
    ----------
    B. Balle and Y.-X. Wang, Improving the Gaussian mechanism for differential privacy, ICML 2018,
    arXiv:1805.06530v2, Theorem 8.

    Examples
    --------
    >>> round(gaussian_epsilon(delta=1e-5, sigma=4.0), 10)
    0.926341504
    >>> gaussian_epsilon(delta=0.5, sigma=4.0)
    0.0
    """
    return _elementwise(
        _profile_epsilon, _values("delta", delta, _check_profile_delta), _ratio(sensitivity, sigma)
    )


@overload
def gaussian_sigma(*, epsilon: float, delta: float, sensitivity: float = ...) -> float: ...


@overload
def gaussian_sigma(
    *, epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike = ...
) -> Array: ...


def gaussian_sigma(*, epsilon: Any, delta: Any, sensitivity: Any = 1.0) -> Any:
    r"""Return the smallest noise of the Gaussian mechanism for a budget, never below the minimum.

    Parameters
    ----------
    epsilon : float or array_like
        Privacy loss in [0, 1e20].
    delta : float or array_like
        Probability in [1e-300, 1).
    sensitivity : float or array_like, default=1.0
        :math:`\ell_2` sensitivity of the released vector, positive.

    Returns
    -------
    float or ndarray of float64
        Standard deviation per real coordinate, in the units of ``sensitivity``.  It is never below
        the true minimum, and above it by a relative ``1e-13`` at most for delta <= 1/2 (more as
        delta tends to 1, where sigma is ill determined); inf if the minimum is no float64.

    See Also
    --------
    classical_gaussian_sigma : the textbook formula: larger for epsilon < 1, wrong for large ones.

    Notes
    -----
    The minimum solves :math:`\delta=\Phi(\mu/2-\epsilon/\mu)-e^\epsilon\Phi(-\mu/2-\epsilon/\mu)`
    for :math:`\mu=\Delta/\sigma`.  The logarithm of the right side is increasing and concave in
    :math:`\log\mu`, with slope :math:`\mu\varphi(\mu/2-\epsilon/\mu)/\delta`; at most seven Halley
    steps are needed, and the root is moved to the private side by at least 32 ulps.

    References
    ----------
    B. Balle and Y.-X. Wang, Improving the Gaussian mechanism for differential privacy, ICML 2018,
    arXiv:1805.06530v2, Theorem 9 and Algorithm 1 (solved there by bisection).

    Examples
    --------
    >>> round(gaussian_sigma(epsilon=1.0, delta=1e-5), 10)
    3.7306316348
    >>> gaussian_sigma(epsilon=[0.5, 10.0], delta=1e-5, sensitivity=2.0).round(6)
    array([14.063653,  0.999777])
    """
    mu = _elementwise(
        _profile_mu,
        _values("epsilon", epsilon, _check_budget_epsilon),
        _values("delta", delta, _check_budget_delta),
    )
    with np.errstate(over="ignore"):
        sigma = _values("sensitivity", sensitivity, check_positive) / mu
        sigma = np.nextafter(sigma, np.inf)  # matters where sigma is subnormal
    return float(sigma) if np.ndim(sigma) == 0 else sigma


@overload
def classical_gaussian_sigma(
    *, epsilon: float, delta: float, sensitivity: float = ...
) -> float: ...


@overload
def classical_gaussian_sigma(
    *, epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike = ...
) -> Array: ...


def classical_gaussian_sigma(*, epsilon: Any, delta: Any, sensitivity: Any = 1.0) -> Any:
    r"""Return the textbook noise :math:`\sqrt{2\ln(1.25/\delta)}\,\Delta/\epsilon`.

    Parameters
    ----------
    epsilon : float or array_like
        Positive privacy loss.  The guarantee is proved for ``epsilon`` < 1 only.
    delta : float or array_like
        Probability in (0, 1).
    sensitivity : float or array_like, default=1.0
        :math:`\ell_2` sensitivity of the released vector, positive.

    Returns
    -------
    float or ndarray of float64
        Standard deviation per real coordinate, in the units of ``sensitivity``, rounded up by a few
        ulps.  For ``epsilon`` < 1 the release is :math:`(\epsilon,\delta)`-private.

    Warnings
    --------
    For ``epsilon`` >= 1 nothing is guaranteed, and nothing is refused: chapters examine papers that
    use the formula there.  At epsilon = 10, delta = 1e-5 it fails: the true delta is 2.27e-5.  For
    a release use :func:`gaussian_sigma`, which is smaller for ``epsilon`` < 1 and right everywhere.

    References
    ----------
    C. Dwork and A. Roth, The algorithmic foundations of differential privacy, 2014, Theorem 3.22
    and Appendix A.

    Examples
    --------
    >>> sigma = classical_gaussian_sigma(epsilon=10.0, delta=1e-5)
    >>> f"{sigma:.6f}, delta = {gaussian_delta(epsilon=10.0, sigma=sigma):.3e}"
    '0.484481, delta = 2.265e-05'
    """
    loss = _values("epsilon", epsilon, check_positive)
    constant = np.sqrt(2 * np.log(1.25 / _values("delta", delta, check_probability)))
    with np.errstate(over="ignore", under="ignore"):
        sigma = constant * (_values("sensitivity", sensitivity, check_positive) / loss)
        sigma = np.nextafter(sigma * (1 + 2.0**-50), np.inf)  # six roundings of half an ulp
    return float(sigma) if np.ndim(sigma) == 0 else sigma


def laplace_scale(*, epsilon: float, sensitivity: float = 1.0) -> float:
    r"""Return the scale :math:`b=\Delta_1/\epsilon` of the Laplace mechanism.

    Parameters
    ----------
    epsilon : float
        Positive privacy loss.
    sensitivity : float, default=1.0
        :math:`\ell_1` sensitivity of the released vector, positive.

    Returns
    -------
    float
        Scale :math:`b` of the noise density :math:`e^{-|z|/b}/(2b)`, whose standard deviation is
        :math:`\sqrt2\,b`, rounded up.  The release is :math:`\epsilon`-private, and with less noise
        it is not.

    References
    ----------
    C. Dwork and A. Roth, The algorithmic foundations of differential privacy, 2014, Theorem 3.6.

    Examples
    --------
    >>> laplace_scale(epsilon=0.5, sensitivity=2.0)
    4.0
    """
    numerator = Fraction(check_positive("sensitivity", sensitivity))
    scale = round_up(numerator / Fraction(check_positive("epsilon", epsilon)))
    return check_positive("sensitivity / epsilon", scale)
