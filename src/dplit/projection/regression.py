r"""Least squares and the quantities in which the paper measures a design and an error.

The relative error :math:`\eta=g(\theta)/g(\theta^\star)`, :math:`g(\theta)=\|X\theta-y\|^2`, comes
from Pythagoras, never from a ratio of two sums, so that no digits are lost near 1. In the
eigenbasis of :math:`X^\top X` (:class:`Spectrum`) ridge fits and errors are sums over d terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, eigh, lstsq, svdvals

from dplit._checks import Array, check_flag, check_nonnegative, check_real_array


def _matrix(X: ArrayLike) -> Array:
    return check_real_array("X", X, 2, copy=False)


def _check_pair(X: ArrayLike, y: ArrayLike | None, *, columns: bool = False) -> tuple[Array, Array]:
    """Return X (n, d) and y (n,), zeros if None, in float64; ``columns`` allows a y (n, k)."""
    rows = _matrix(X)
    if y is None:
        return rows, np.zeros(len(rows))
    response = check_real_array("y", y, None if columns else 1, copy=False)
    if response.ndim not in (1, 2):
        raise ValueError(f"y must have 1 or 2 axes, got y of shape {response.shape}")
    if len(response) != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {response.shape}")
    return rows, response


def _tall(X: Array) -> Array:
    n, d = X.shape
    if n <= d:
        raise ValueError(f"X must have more rows than columns, got X of shape {X.shape}")
    return X


def _deficient(rank: int, d: int) -> ValueError:
    return ValueError(f"X must have full column rank {d}, got X of numerical rank {rank}")


def _cutoff(X: Array) -> float:
    """Return the relative size below which a singular value of X counts as zero."""
    return float(np.finfo(np.float64).eps * max(X.shape))


def _singular_values(X: ArrayLike) -> Array:
    """Singular values, largest first, of a design with n > d and rank d."""
    design = _tall(_matrix(X))
    values = np.asarray(svdvals(design), dtype=np.float64)
    rank = int(np.sum(values > _cutoff(design) * values[0]))
    if rank < design.shape[1]:
        raise _deficient(rank, design.shape[1])
    return values


def _check_design(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Check the paper's assumptions on X (n, d) and y (n,), and return both in float64.

    Refused are n <= d and numerical rank below d (for example two constant columns).
    """
    design, response = _check_pair(X, y)
    _singular_values(design)
    return design, response


def least_squares(X: ArrayLike, y: ArrayLike) -> Array:
    r"""Minimiser of :math:`\|X\theta-y\|^2`: (1), (10), (14).

    X has rank d and n >= d (n = d is allowed here: a projection may leave d rows).
    """
    design, response = _check_pair(X, y)
    if design.shape[0] < design.shape[1]:
        raise _deficient(min(design.shape), design.shape[1])
    solution: tuple[Any, ...] = lstsq(
        design, response, cond=_cutoff(design), lapack_driver="gelsy", check_finite=False
    )
    if int(solution[2]) < design.shape[1]:
        raise _deficient(int(solution[2]), design.shape[1])
    return np.asarray(solution[0], dtype=np.float64)


def _residual_energy(X: Array, y: Array, best: Array) -> float:
    """Return the squared residual norm, exactly 0 where it is rounding error of an exact fit."""
    energy = float(np.sum((y - X @ best) ** 2))
    scale = float(np.linalg.norm(y) + np.linalg.norm(X) * np.linalg.norm(best))
    return energy if energy > (_cutoff(X) * scale) ** 2 else 0.0


def relative_error(theta: ArrayLike, X: ArrayLike, y: ArrayLike) -> Any:
    r"""Relative error (5), :math:`g(\theta)/g(\theta^\star)`, of coefficients of shape (..., d).

    :math:`1+\|X(\theta-\theta^\star)\|^2/\|X\theta^\star-y\|^2`, as the residual is orthogonal to
    the columns. Where y lies in the column space of X it is infinite, or 1 for the exact solution.
    """
    design, response = _check_design(X, y)
    coefficients = check_real_array("theta", theta)
    if coefficients.ndim == 0 or coefficients.shape[-1] != design.shape[1]:
        raise ValueError(
            f"theta must have {design.shape[1]} entries, got theta of shape {coefficients.shape}"
        )
    best = least_squares(design, response)
    residual = _residual_energy(design, response, best)
    excess = np.sum(((coefficients - best) @ design.T) ** 2, axis=-1)
    if residual > 0:
        eta = 1.0 + excess / residual
    else:
        zero = (_cutoff(design) * np.linalg.norm(response)) ** 2
        eta = np.where(excess <= zero, 1.0, math.inf)
    return float(eta) if np.ndim(eta) == 0 else np.asarray(eta)


def condition_number(X: ArrayLike) -> float:
    r"""Condition number (6), :math:`\kappa(X)=\sigma_{\max}/\sigma_{\min}`."""
    values = _singular_values(X)
    return float(values[0] / values[-1])


def root_snr(X: ArrayLike, y: ArrayLike) -> float:
    r"""Equation (7), :math:`r(y)=\|X\theta^\star\|/\|X\theta^\star-y\|`, or infinity."""
    design, response = _check_design(X, y)
    if not response.any():
        raise ValueError("y must not be zero: explained and unexplained part both vanish")
    best = least_squares(design, response)
    residual = _residual_energy(design, response, best)
    explained = float(np.linalg.norm(design @ best))
    return explained / math.sqrt(residual) if residual > 0 else math.inf


def column_energy_floor(X: ArrayLike, *, squared: bool = False) -> float:
    r"""The paper's :math:`f(X)`, with :math:`f^2(X)=\min_j\big(\sum_iX_{ij}^2-\max_iX_{ij}^2\big)`.

    ``squared`` returns :math:`f^2(X)`, which enters (13). Section II, with the indices exchanged: i
    runs over rows, j over columns.

    >>> column_energy_floor([[1.0, 1.0], [0.5, 0.0], [-0.5, 1.0]], squared=True)
    0.5
    """
    squares = np.sort(_matrix(X) ** 2, axis=0)
    floor = float(np.min(np.sum(squares[:-1], axis=0)))
    return floor if check_flag("squared", squared) else math.sqrt(floor)


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
    design, response = _check_pair(X, y)
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
