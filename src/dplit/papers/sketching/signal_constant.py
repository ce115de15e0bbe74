r"""The constant :math:`C_0=m/\|z\|^2` of Fourier sketches of Gaussian mixtures.

A double sum over the components, since the mean energy over frequencies :math:`N(0,\tau^2I)` is a
Gaussian integral.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_integer, check_nonnegative, check_positive, check_real_array
from dplit.features import gaussian_kernel


def mixture_constant(
    centers: ArrayLike,
    *,
    cluster_std: float,
    frequency_std: float,
    weights: ArrayLike | None = None,
) -> float:
    r"""Exact constant of a mixture of Gaussians of equal spread s, for many frequencies.

    :math:`1/E|\psi(\omega)|^2\ge1`, the limit of :math:`m/\|z\|^2`: with :math:`q=1+2\tau^2s^2`,
    :math:`E|\psi|^2=q^{-d/2}\sum_{ij}w_iw_je^{-\tau^2\|c_i-c_j\|^2/(2q)}`. Weights are equal by
    default.

    >>> round(mixture_constant([[0.0], [100.0]], cluster_std=0.0, frequency_std=1.0), 9)
    2.0
    """
    where = check_real_array("centers", centers, 2)
    k, d = where.shape
    shares = np.full(k, 1.0 / k) if weights is None else check_real_array("weights", weights)
    if shares.shape != (k,) or np.any(shares <= 0) or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights must be {k} positive numbers with sum 1, got {weights!r}")
    spread = check_nonnegative("cluster_std", cluster_std)
    rate = check_positive("frequency_std", frequency_std) ** 2
    q = 1.0 + 2.0 * rate * spread**2
    kernel = gaussian_kernel(where, gamma=rate / (2.0 * q))
    return float(q ** (d / 2.0) / (shares @ kernel @ shares))


def separated_constant(
    n_clusters: int, n_features: int, *, cluster_std: float, frequency_std: float
) -> float:
    """Constant :math:`kq^{d/2}` of equal clusters far apart, the largest of k clusters."""
    k, d = check_integer("n_clusters", n_clusters), check_integer("n_features", n_features)
    spread = check_nonnegative("cluster_std", cluster_std)
    rate = check_positive("frequency_std", frequency_std)
    return float(k * (1.0 + 2.0 * (rate * spread) ** 2) ** (d / 2.0))
