r"""The integral operator of a kernel and the source condition on the target function.

:math:`L_Kf(t)=\int K(x,t)f(x)\,d\rho_X(x)` has eigenvalues that sum to
:math:`\int K(x,x)\,d\rho_X\le\kappa^2`. A function is in the range of :math:`L_K^r` if its
coefficients, divided by the r-th powers of the eigenvalues, are square summable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative
from dplit.erm.kernels import check_gram

__all__ = ["operator_spectrum", "source_norm", "step_coefficients", "trigonometric_spectrum"]

Array = NDArray[np.float64]


def operator_spectrum(gram: ArrayLike) -> Array:
    r"""Eigenvalues of the integral operator for the uniform law on finitely many points.

    Parameters
    ----------
    gram : array_like, shape (n, n)
        Kernel values of the points.

    Returns
    -------
    ndarray, shape (n,)
        Eigenvalues of ``gram / n``, decreasing; rounding below 0 is set to 0. The largest is
        :math:`\|L_K\|\le\kappa^2`.

    Raises
    ------
    TypeError, ValueError
        If ``gram`` is no Gram matrix.

    Examples
    --------
    >>> operator_spectrum([[2.0, 0.0], [0.0, 1.0]])
    array([1. , 0.5])
    """
    K = check_gram(gram)
    return np.asarray(np.maximum(np.linalg.eigvalsh(K / len(K))[::-1], 0.0), dtype=np.float64)


def trigonometric_spectrum(n_frequencies: int) -> Array:
    r"""Eigenvalues of :func:`dplit.erm.kernels.trigonometric_features` for the uniform law.

    Parameters
    ----------
    n_frequencies : int
        J, at least 1.

    Returns
    -------
    ndarray, shape (J,)
        :math:`\mu_k=w_k/2` for :math:`\sqrt2\cos2\pi kx` and for :math:`\sqrt2\sin2\pi kx`.

    Raises
    ------
    TypeError, ValueError
        If ``n_frequencies`` is not a positive integer.

    Examples
    --------
    >>> trigonometric_spectrum(2)
    array([0.4, 0.1])
    """
    weights = 1.0 / np.arange(1, check_integer("n_frequencies", n_frequencies) + 1) ** 2.0
    return np.asarray(0.5 * weights / weights.sum())


def source_norm(coefficients: ArrayLike, eigenvalues: ArrayLike, r: float) -> Array:
    r"""Partial norms of :math:`L_K^{-r}f`, one for each number of terms.

    Parameters
    ----------
    coefficients : array_like, shape (n,)
        Coefficients :math:`a_k` of f in orthonormal eigenfunctions.
    eigenvalues : array_like, shape (n,)
        Their eigenvalues :math:`\mu_k>0`.
    r : float
        Exponent, at least 0; r = 1/2 gives the norm of :math:`\mathcal H_K`.

    Returns
    -------
    ndarray, shape (n,)
        :math:`(\sum_{j\le k}a_j^2\mu_j^{-2r})^{1/2}`. f is in the range of :math:`L_K^r` iff these
        stay bounded as the expansion goes on.

    Raises
    ------
    TypeError, ValueError
        If an argument is not finite, an eigenvalue not positive, or shapes differ.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Section 5, first paragraph.

    Examples
    --------
    >>> source_norm([1.0, 1.0], [1.0, 0.25], 0.5)
    array([1.        , 2.23606798])
    """
    a = np.asarray(check_finite_array("coefficients", coefficients, ndim=1), dtype=np.float64)
    mu = np.asarray(check_finite_array("eigenvalues", eigenvalues, ndim=1), dtype=np.float64)
    if a.shape != mu.shape or (mu <= 0).any():
        raise ValueError(
            f"eigenvalues must be positive, one for each coefficient, got {mu.shape} for "
            f"{a.shape} with least value {mu.min():g}"
        )
    return np.asarray(np.sqrt(np.cumsum(a**2 * mu ** (-2.0 * check_nonnegative("r", r)))))


def step_coefficients(n_terms: int) -> Array:
    r"""Coefficients of :math:`\mathrm{sgn}\sin2\pi x` in :math:`\sqrt2\sin2\pi kx`.

    Parameters
    ----------
    n_terms : int
        At least 1.

    Returns
    -------
    ndarray, shape (n_terms,)
        :math:`2\sqrt2/(\pi k)` for odd k, 0 for even k. With eigenvalues like :math:`k^{-2}` the
        step is in the range of :math:`L_K^r` exactly for r < 1/4.

    Raises
    ------
    TypeError, ValueError
        If ``n_terms`` is not a positive integer.

    Examples
    --------
    >>> step_coefficients(3).round(4)
    array([0.9003, 0.    , 0.3001])
    """
    k = np.arange(1, check_integer("n_terms", n_terms) + 1)
    return np.where(k % 2 == 1, 2.0 * np.sqrt(2.0) / (np.pi * k), 0.0)
