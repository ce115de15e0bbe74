r"""The integral operator :math:`L_Kf(t)=\int K(x,t)f(x)\,d\rho_X(x)`, whose eigenvalues sum to at
most :math:`\kappa^2`, and the source condition on the target function.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_nonnegative, check_real_array
from dplit.kernels._grams import check_gram


def operator_spectrum(gram: ArrayLike) -> Array:
    """Eigenvalues of the integral operator, decreasing, for the uniform law on the points."""
    K = check_gram(gram)
    return np.asarray(np.maximum(np.linalg.eigvalsh(K / len(K))[::-1], 0.0), dtype=np.float64)


def trigonometric_spectrum(n_frequencies: int) -> Array:
    r"""Eigenvalues of :func:`dplit.papers.erm.kernels.trigonometric_features` for the uniform law.

    >>> trigonometric_spectrum(2)
    array([0.4, 0.1])
    """
    weights = 1.0 / np.arange(1, check_integer("n_frequencies", n_frequencies) + 1) ** 2.0
    return np.asarray(0.5 * weights / weights.sum())


def source_norm(coefficients: ArrayLike, eigenvalues: ArrayLike, r: float) -> Array:
    r"""Partial norms of :math:`L_K^{-r}f`, one for each number of terms.

    :math:`(\sum_{j\le k}a_j^2\mu_j^{-2r})^{1/2}`; f is in the range of :math:`L_K^r` iff they stay
    bounded, and r = 1/2 gives the norm of the space.
    """
    a = check_real_array("coefficients", coefficients, 1)
    mu = check_real_array("eigenvalues", eigenvalues, 1)
    if a.shape != mu.shape or (mu <= 0).any():
        raise ValueError(
            f"eigenvalues must be positive, one for each coefficient, got {mu.shape} for "
            f"{a.shape} with least value {mu.min():g}"
        )
    return np.asarray(np.sqrt(np.cumsum(a**2 * mu ** (-2.0 * check_nonnegative("r", r)))))


def step_coefficients(n_terms: int) -> Array:
    r"""Coefficients of :math:`\mathrm{sgn}\sin2\pi x` in :math:`\sqrt2\sin2\pi kx`, k = 1, 2, ...

    >>> step_coefficients(3).round(4)
    array([0.9003, 0.    , 0.3001])
    """
    k = np.arange(1, check_integer("n_terms", n_terms) + 1)
    return np.where(k % 2 == 1, 2.0 * np.sqrt(2.0) / (np.pi * k), 0.0)
