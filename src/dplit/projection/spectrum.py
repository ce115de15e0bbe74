r"""Least squares and ridge regression in the eigenbasis of the Gram matrix.

One eigendecomposition of :math:`X^\top X` makes every quantity of this chapter a sum over d terms:
the ridge fit and its objective for any penalty, relative errors, and the law of projected fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from dplit._checks import check_finite_array, check_nonnegative

__all__ = [
    "Spectrum",
    "ridge_coefficients",
    "ridge_error",
    "ridge_objective",
    "spectra_from_moments",
    "spectrum",
]

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spectrum:
    """One least-squares problem in the eigenbasis of the Gram matrix of its design.

    Attributes
    ----------
    energies : ndarray of shape (d,)
        Squared singular values of the design, increasing, positive.
    basis : ndarray of shape (d, d)
        Right singular vectors, one per column.
    scores : ndarray of shape (d,)
        Inner products of the left singular vectors with the response.
    residual : float
        Squared norm of the least-squares residual; 0 where the design explains the response.
    """

    energies: _Array
    basis: _Array
    scores: _Array
    residual: float

    @property
    def n_features(self) -> int:
        """Number d of columns of the design."""
        return len(self.energies)

    @property
    def snr(self) -> float:
        """Explained over unexplained energy, the square of the paper's r(y)."""
        explained = float(self.scores @ self.scores)
        return explained / self.residual if self.residual > 0 else math.inf

    def rotate(self, coefficients: ArrayLike) -> _Array:
        """Return coefficients (last axis d) in the eigenbasis."""
        return np.asarray(np.asarray(coefficients) @ self.basis)

    def errors(self, rotated: ArrayLike) -> _Array:
        """Return the relative errors of coefficients given in the eigenbasis (last axis d).

        Infinite where the design explains the response.
        """
        gaps = np.sqrt(self.energies) * np.asarray(rotated) - self.scores
        excess = np.sum(gaps**2, axis=-1)
        if self.residual <= 0:
            return np.full(np.shape(excess), math.inf)
        return np.asarray(1.0 + excess / self.residual)


def spectra_from_moments(
    gram: ArrayLike, cross: ArrayLike, response_energies: ArrayLike
) -> list[Spectrum]:
    r"""Spectra of several responses to one design, from the second moments of the data alone.

    Parameters
    ----------
    gram : array_like of shape (d, d)
        :math:`X^\top X`.
    cross : array_like of shape (d, m)
        :math:`X^\top Y`, one column per response.
    response_energies : array_like of shape (m,)
        Squared norms of the responses.

    Returns
    -------
    list of Spectrum
        One per response. A residual below 1e-13 of the response's energy is rounding and becomes 0.

    Raises
    ------
    TypeError, ValueError
        If an array is not numeric, not finite or of the wrong shape, or X is rank-deficient.

    Examples
    --------
    >>> one = spectra_from_moments([[4.0]], [[2.0]], [3.0])[0]
    >>> float(one.scores[0]), one.residual, one.snr
    (1.0, 2.0, 0.5)
    """
    G = check_finite_array("gram", gram, ndim=2).astype(float)
    C = check_finite_array("cross", cross, ndim=2).astype(float)
    energy = check_finite_array("response_energies", response_energies, ndim=1).astype(float)
    if G.shape[0] != G.shape[1] or C.shape != (len(G), len(energy)):
        raise ValueError(
            "gram, cross and response_energies must have shapes (d, d), (d, m) and (m,), "
            f"got {G.shape}, {C.shape} and {energy.shape}"
        )
    values, basis = eigh(G, driver="evd", check_finite=False)
    if values[0] <= len(G) * np.finfo(float).eps * max(values[-1], 0.0):
        raise ValueError(
            f"X must have full column rank, got X^T X with eigenvalues from {values[0]:.3g} "
            f"to {values[-1]:.3g}"
        )
    scores = (basis.T @ C) / np.sqrt(values)[:, None]
    residuals = energy - np.sum(scores**2, axis=0)
    residuals[residuals <= 1e-13 * energy] = 0.0
    return [
        Spectrum(values, basis, scores[:, k].copy(), float(residuals[k]))
        for k in range(len(energy))
    ]


def spectrum(X: ArrayLike, y: ArrayLike) -> Spectrum:
    """Spectrum of a design and one response.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Design of full column rank, with more rows than columns.
    y : array_like of shape (n,)
        Response.

    Returns
    -------
    Spectrum

    Raises
    ------
    TypeError, ValueError
        If an array is not numeric, not finite or of the wrong shape, n <= d, or X is
        rank-deficient.

    Examples
    --------
    >>> spectrum([[1.0], [1.0]], [3.0, 1.0]).residual
    2.0
    """
    design = check_finite_array("X", X, ndim=2).astype(float)
    response = check_finite_array("y", y, ndim=1).astype(float)
    n, d = design.shape
    if n <= d:
        raise ValueError(f"X must have more rows than columns, got X of shape {design.shape}")
    if len(response) != n:
        raise ValueError(f"y must have one entry per row of X ({n}), got {len(response)}")
    moments = design.T @ design, (design.T @ response)[:, None]
    found = spectra_from_moments(*moments, [float(response @ response)])[0]
    theta = found.basis @ (found.scores / np.sqrt(found.energies))
    gap = response - design @ theta
    residual = float(gap @ gap)  # no cancellation, whatever the signal-to-noise ratio
    residual = residual if residual > 1e-24 * float(response @ response) else 0.0
    return Spectrum(found.energies, found.basis, found.scores, residual)


def ridge_coefficients(problem: Spectrum, *, penalty: float) -> _Array:
    r"""Minimiser of :math:`\|X\theta-y\|^2+\lambda\|\theta\|^2`, the mean of the projected fit.

    Parameters
    ----------
    problem : Spectrum
    penalty : float
        Noise variance of the projection, nonnegative.

    Returns
    -------
    ndarray of shape (d,)

    Raises
    ------
    TypeError, ValueError
        If ``penalty`` is negative or not finite.

    Examples
    --------
    >>> ridge_coefficients(spectrum([[1.0], [1.0]], [3.0, 1.0]), penalty=2.0)
    array([1.])
    """
    lam = check_nonnegative("penalty", penalty)
    shrunk = np.sqrt(problem.energies) * problem.scores / (problem.energies + lam)
    return np.asarray(problem.basis @ shrunk)


def ridge_objective(problem: Spectrum, *, penalty: float) -> float:
    r"""Least value :math:`\tau^2` of the ridge objective.

    Parameters and errors are those of :func:`ridge_coefficients`.

    Returns
    -------
    float

    Notes
    -----
    :math:`\tau^2=\min_\theta\|X\theta-y\|^2+\lambda\|\theta\|^2
    =\|r\|^2+\sum_i\frac{\lambda}{\sigma_i^2+\lambda}(u_i^\top y)^2`.

    Examples
    --------
    >>> round(ridge_objective(spectrum([[1.0], [1.0]], [3.0, 1.0]), penalty=2.0), 9)
    6.0
    """
    lam = check_nonnegative("penalty", penalty)
    weights = lam / (problem.energies + lam)
    return float(problem.residual + weights @ problem.scores**2)


def ridge_error(problem: Spectrum, *, penalty: float) -> float:
    r"""Relative error :math:`\eta_1` of the ridge fit, before any sketching.

    Parameters and errors are those of :func:`ridge_coefficients`.

    Returns
    -------
    float
        At least 1; infinite if the design explains the response.

    Notes
    -----
    :math:`\eta_1=1+\sum_i\big(\tfrac{\lambda}{\sigma_i^2+\lambda}\big)^2(u_i^\top y)^2/\|r\|^2`.

    Examples
    --------
    >>> round(ridge_error(spectrum([[1.0], [1.0]], [3.0, 1.0]), penalty=2.0), 9)
    2.0
    """
    lam = check_nonnegative("penalty", penalty)
    if problem.residual <= 0:
        return math.inf
    bias = lam / (problem.energies + lam) * problem.scores
    return float(1.0 + bias @ bias / problem.residual)
