"""A design by its spectrum: ridge coefficients, objectives and errors for many penalties at
once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, eigh

from dplit._checks import Array, check_nonnegative
from dplit.entries._checks import check_pair
from dplit.papers.projection.regression import _tall


@dataclass(frozen=True)
class Spectrum:
    """One least-squares problem in the eigenbasis of the Gram matrix of its design.

    Squared singular values (d,) increasing, the right singular vectors as columns of ``basis``,
    ``scores`` (d,), the inner products of the left ones with y, and the squared norm of the
    residual, 0 where the design explains y.
    """

    energies: Array
    basis: Array
    scores: Array
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

    def rotate(self, coefficients: ArrayLike) -> Array:
        """Return coefficients (last axis d) in the eigenbasis."""
        return np.asarray(np.asarray(coefficients) @ self.basis)

    def errors(self, rotated: ArrayLike) -> Array:
        """Return the relative errors of coefficients given in the eigenbasis (last axis d)."""
        gaps = np.sqrt(self.energies) * np.asarray(rotated) - self.scores
        excess = np.sum(gaps**2, axis=-1)
        if self.residual <= 0:
            return np.full(np.shape(excess), math.inf)
        return np.asarray(1.0 + excess / self.residual)


def _shifted_solve(gram: Array, right: Array, amount: float) -> Array:
    """Solve with a positive definite ``gram`` less ``amount`` on its diagonal."""
    matrix = gram.copy()
    matrix.flat[:: len(gram) + 1] -= amount
    # by columns, as LAPACK wants it: a copy would cost as much as the factor
    factor = cho_factor(matrix.T, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right, check_finite=False))


def _spectra_from_moments(
    gram: ArrayLike, cross: ArrayLike, response_energies: ArrayLike
) -> list[Spectrum]:
    """Spectra of m responses to a design, from X'X, X'Y (d, m) and their energies (m,).

    A residual below 1e-13 of the response's energy is rounding and becomes 0.
    """
    G, C, energy = (np.asarray(part, float) for part in (gram, cross, response_energies))
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
    """Spectrum of a design of full column rank, n > d, and one response."""
    design, response = check_pair(X, y)
    _tall(design)
    moments = design.T @ design, (design.T @ response)[:, None]
    found = _spectra_from_moments(*moments, [float(response @ response)])[0]
    theta = found.basis @ (found.scores / np.sqrt(found.energies))
    gap = response - design @ theta
    residual = float(gap @ gap)  # no cancellation, whatever the signal-to-noise ratio
    residual = residual if residual > 1e-24 * float(response @ response) else 0.0
    return Spectrum(found.energies, found.basis, found.scores, residual)


def ridge_coefficients(problem: Spectrum, *, penalty: float) -> Array:
    r"""Minimiser of :math:`\|X\theta-y\|^2+\lambda\|\theta\|^2`, the mean of the projected fit."""
    lam = check_nonnegative("penalty", penalty)
    shrunk = np.sqrt(problem.energies) * problem.scores / (problem.energies + lam)
    return np.asarray(problem.basis @ shrunk)


def ridge_objective(problem: Spectrum, *, penalty: float) -> float:
    r"""Least value of the ridge objective:
    :math:`\tau^2=\|r\|^2+\sum_i\frac{\lambda}{\sigma_i^2+\lambda}(u_i^\top y)^2`.
    """
    lam = check_nonnegative("penalty", penalty)
    weights = lam / (problem.energies + lam)
    return float(problem.residual + weights @ problem.scores**2)


def ridge_error(problem: Spectrum, *, penalty: float) -> float:
    r"""Relative error of the ridge fit, before any sketching; infinite if the design explains y.

    :math:`\eta_1=1+\sum_i\big(\tfrac{\lambda}{\sigma_i^2+\lambda}\big)^2(u_i^\top y)^2/\|r\|^2`.
    """
    lam = check_nonnegative("penalty", penalty)
    if problem.residual <= 0:
        return math.inf
    bias = lam / (problem.energies + lam) * problem.scores
    return float(1.0 + bias @ bias / problem.residual)
