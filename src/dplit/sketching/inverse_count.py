r"""Estimating :math:`1/n` from a count with Laplace noise, and what it costs the sketch.

A released mean is the noisy sum times an estimate :math:`f(y)` of :math:`1/n`, where
:math:`y=n+\zeta` and :math:`\zeta` is Laplace of scale b. All moments here are integrals of one
dimension against the Laplace density, computed by quadrature to about 12 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_rng,
)

__all__ = [
    "InverseMoments",
    "chapman_robbins_bound",
    "cramer_rao_bound",
    "floored_inverse",
    "floored_moments",
    "inverse_moments",
    "printed_nsr_bound",
    "released_nsr",
    "simulate_released_nsr",
    "unbiased_inverse",
    "unbiased_moments",
]

Array = NDArray[np.float64]
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
    >>> from dplit.sketching.inverse_count import floored_inverse
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
    >>> from dplit.sketching.inverse_count import unbiased_inverse
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
    >>> from dplit.sketching.inverse_count import inverse_moments, unbiased_inverse
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
    >>> from dplit.sketching.inverse_count import floored_moments
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
    >>> from dplit.sketching.inverse_count import unbiased_moments
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
    >>> from dplit.sketching.inverse_count import cramer_rao_bound
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
    >>> from dplit.sketching.inverse_count import chapman_robbins_bound
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
    >>> from dplit.sketching.inverse_count import InverseMoments, released_nsr
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
    >>> from dplit.sketching.inverse_count import printed_nsr_bound
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
    >>> from dplit.sketching.inverse_count import simulate_released_nsr
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
