r"""Estimating :math:`1/n` by :math:`f(y)`, :math:`y=n+\zeta` a count with Laplace noise of scale b.
All moments are integrals of one dimension, computed by quadrature to about 12 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_nonnegative, check_positive, check_real_array
from dplit.papers.sketching.budget import _NODES, _WEIGHTS

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
