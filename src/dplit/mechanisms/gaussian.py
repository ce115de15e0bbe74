"""The exact Gaussian profile and its inverses. Public through :mod:`dplit.mechanisms`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_finite_array,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit._numerics.rounding import round_up
from dplit.mechanisms._profile import _in_blocks, _profile_delta, _profile_epsilon, _profile_mu

_SMALLEST_DELTA = 1e-300  # below it mu itself can leave the normal floating-point numbers

_LARGEST_EPSILON = 1e20  # above it neighbouring floating-point mu are far apart in x

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
