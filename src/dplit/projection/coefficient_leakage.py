r"""What the coefficients alone reveal about one entry, by their exact multivariate t law.

If nothing but :math:`\theta_{RP}` is published, its law given the data is
:math:`\theta_{RR}+\tau C^{-1/2}z/\sqrt{\chi^2_{n'-d+1}}` with :math:`C=X^\top X+\lambda I`,
:math:`\theta_{RR}=C^{-1}X^\top y` and
:math:`\tau^2=\min_\theta\|X\theta-y\|^2+\lambda\|\theta\|^2`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_rng
from dplit.projection.channels import Bits

__all__ = ["CoefficientLaw", "coefficient_law", "coefficient_leakage"]

_Array = NDArray[np.float64]


class CoefficientLaw(NamedTuple):
    """Multivariate t: ``mean + scale root^-1 z / sqrt(chi2_dof)``, with ``root^T root = C``."""

    mean: _Array
    root: _Array
    scale: float
    dof: int

    def log_density(self, theta: ArrayLike) -> _Array:
        """Log density at points of shape (..., d), up to a constant that d and dof fix."""
        gap = (np.asarray(theta) - self.mean) @ self.root.T / self.scale
        d = len(self.mean)
        size = np.sum(np.log(np.abs(np.diag(self.root)))) - d * np.log(self.scale)
        return np.asarray(size - (self.dof + d) / 2 * np.log1p(np.sum(gap**2, axis=-1)))

    def sample(self, count: int, *, rng: np.random.Generator) -> _Array:
        """Draw ``count`` coefficient vectors: array of shape (count, d)."""
        z = rng.standard_normal((check_integer("count", count), len(self.mean)))
        z /= np.sqrt(check_rng(rng).chisquare(self.dof, (count, 1)))
        return np.asarray(self.mean + self.scale * np.linalg.solve(self.root, z.T).T)


def coefficient_law(
    X: ArrayLike, y: ArrayLike, *, variance: float, n_components: int
) -> CoefficientLaw:
    """Exact law of the least-squares coefficients (14) of a projected release.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Data.
    y : array_like of shape (n,)
        Responses, not in the column space of X where ``variance`` is 0.
    variance : float
        Noise variance of the release.
    n_components : int
        Rows n' of the release, at least d.

    Returns
    -------
    CoefficientLaw

    Raises
    ------
    TypeError, ValueError
        If an array has the wrong shape, n' < d, or the law is degenerate (no residual).
    numpy.linalg.LinAlgError
        If X with the noise is rank-deficient.

    Examples
    --------
    >>> law = coefficient_law([[1.0], [1.0]], [0.0, 2.0], variance=0.0, n_components=1)
    >>> law.mean, round(law.scale, 6), law.dof
    (array([1.]), 1.414214, 1)
    """
    rows = np.asarray(check_finite_array("X", X, ndim=2), dtype=float)
    labels = np.asarray(check_finite_array("y", y, ndim=1), dtype=float)
    d = rows.shape[1]
    n = check_integer("n_components", n_components, minimum=d)
    if len(labels) != len(rows):
        raise ValueError(f"y must have {len(rows)} entries, got {len(labels)}")
    ridge = np.sqrt(check_nonnegative("variance", variance)) * np.eye(d)
    M, target = np.vstack([rows, ridge]), np.append(labels, np.zeros(d))
    Q, R = np.linalg.qr(M)
    diagonal = np.abs(np.diag(R))
    if diagonal.min() <= 1e-13 * diagonal.max():
        raise np.linalg.LinAlgError("X with the noise must have full column rank")
    mean = np.linalg.solve(R, Q.T @ target)
    scale = float(np.linalg.norm(target - M @ mean))
    if scale <= 1e-13 * np.linalg.norm(target):
        raise ValueError("y must not lie in the column space of X: the coefficients are exact")
    return CoefficientLaw(mean, R, scale, n - d + 1)


def coefficient_leakage(
    X: ArrayLike,
    y: ArrayLike,
    *,
    variance: float,
    n_components: int,
    row: int,
    column: int,
    levels: ArrayLike,
    rng: np.random.Generator,
    n_draws: int = 20_000,
) -> Bits:
    """Information in the coefficients alone about an entry with equally likely values.

    Parameters
    ----------
    X, y, variance, n_components
        As in :func:`coefficient_law`.
    row, column : int
        The entry, counted from zero.
    levels : array_like of shape (m,)
        Values that the entry takes.
    rng : numpy.random.Generator
        Source of the draws.
    n_draws : int, default=20000
        Draws per value, at least 2.

    Returns
    -------
    Bits
        Information, and the standard error of the Monte-Carlo mean. The densities are exact.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> bits = coefficient_leakage([[1.0], [1.0], [1.0]], [0.0, 1.0, 1.0], variance=0.0,
    ...     n_components=1, row=0, column=0, levels=[1, 0.01], rng=stream(0, "doc", "noise"))
    >>> bool(abs(bits.value - 0.739) < 0.02)
    True
    """
    data = np.array(check_finite_array("X", X, ndim=2), dtype=float)
    i, j = check_integer("row", row, minimum=0), check_integer("column", column, minimum=0)
    if i >= data.shape[0] or j >= data.shape[1]:
        raise ValueError(f"the entry ({i}, {j}) must exist in X of shape {data.shape}")
    count = check_integer("n_draws", n_draws, minimum=2)
    laws = []
    for level in np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float):
        data[i, j] = level
        laws.append(coefficient_law(data, y, variance=variance, n_components=n_components))
    value, square = 0.0, 0.0
    for k, law in enumerate(laws):
        theta = law.sample(count, rng=rng)
        logs = np.stack([other.log_density(theta) for other in laws], axis=1)
        mixture = np.logaddexp.reduce(logs, axis=1) - np.log(len(laws))
        bits = (logs[:, k] - mixture) / np.log(2.0)
        value += float(bits.mean()) / len(laws)
        square += float(bits.var(ddof=1)) / count / len(laws) ** 2
    return Bits(value, float(np.sqrt(square)))
