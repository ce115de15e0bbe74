"""How well a Gaussian process hides a function: exact power of the best test."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

from dplit._checks import (
    Array,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)


def distinguishing_power(
    difference: ArrayLike, gram: ArrayLike, *, sigma: float, floor: float = 0.0
) -> float:
    r"""How far apart finitely many answers are under two hypotheses, in standard deviations.

    :math:`\sqrt{d^\top(\sigma^2K+\text{floor}^2I)^{-1}d}` with the ``difference`` d of the values
    and the covariance K of the noise for ``sigma`` 1; ``floor`` is the deviation of further
    independent noise.
    """
    d = check_real_array("difference", difference, 1)
    K = check_real_array("gram", gram, 2)
    if K.shape != (len(d), len(d)):
        raise ValueError(f"gram must have shape {(len(d),) * 2}, got gram of shape {K.shape}")
    scale = check_positive("sigma", sigma)
    extra = check_nonnegative("floor", floor) / scale
    factor = cho_factor(K + extra**2 * np.eye(len(d)), lower=True)
    return math.sqrt(max(0.0, float(d @ cho_solve(factor, d)))) / scale


def largest_power(false_positive_rate: ArrayLike, *, mu: float) -> Array:
    r"""Largest true-positive rate of any attack on a mu-Gaussian-DP release.

    :math:`\Phi(\Phi^{-1}(\mathrm{FPR})+\mu)` (Dong, Roth and Su 2022, Definition 2.6).
    """
    rates = check_real_array("false_positive_rate", false_positive_rate)
    for rate in (rates.min(), rates.max()):
        check_probability("false_positive_rate", float(rate), zero=True, one=True)
    return np.asarray(norm.cdf(norm.ppf(rates) + check_nonnegative("mu", mu)))
