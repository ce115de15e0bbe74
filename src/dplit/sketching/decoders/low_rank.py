"""Principal components from a sketch of second moments, and what a subspace loses on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from dplit._checks import Array, check_integer, check_real_array, check_rng
from dplit.sketching.decoders.clompr import _checked_frequencies


@dataclass(frozen=True)
class _LowRankFit:
    """A positive matrix of low rank whose measurements are near a sketch.

    Orthonormal ``components`` (d, k) in order of falling ``eigenvalues``, of each the entry of
    largest modulus positive; ``cost`` is the least squared distance over all starts, the spectral
    one first.
    """

    components: Array
    eigenvalues: Array
    cost: float
    start_costs: tuple[float, ...]

    @property
    def matrix(self) -> Array:
        """The fitted matrix, of shape (d, d)."""
        return np.asarray((self.components * self.eigenvalues) @ self.components.T)


def pca_risk(X: ArrayLike, components: ArrayLike) -> float:
    """Mean squared distance of records from what ``W W^T`` makes of them: Definition 5.

    W, of shape (d, k), need not be orthonormal; at the minimum it is.

    >>> pca_risk([[3.0, 4.0]], [[1.0], [0.0]])  # the second coordinate is lost
    16.0
    """
    records = check_real_array("X", X, 2)
    W = check_real_array("components", components, 2)
    if W.shape[0] != records.shape[1]:
        raise ValueError(
            f"components must have {records.shape[1]} rows, got components of shape {W.shape}"
        )
    rest = records - (records @ W) @ W.T
    return float(np.einsum("ij,ij->", rest, rest) / len(rest))


def measure(matrix: ArrayLike, frequencies: ArrayLike) -> Array:
    """Quadratic measurements ``omega_j^T C omega_j`` of a matrix.

    >>> measure(np.diag([2.0, 1.0]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    array([2., 1., 3.])
    """
    omega = np.asarray(frequencies, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->j", omega, np.asarray(matrix) @ omega))


def degrees_of_freedom(n_features: int, n_components: int) -> int:
    """Dimension ``k (2 d - k + 1) / 2`` of the positive matrices of size d and rank k.

    A sketch of fewer numbers than that determines no such matrix.

    >>> degrees_of_freedom(3, 1), degrees_of_freedom(3, 3)  # a vector; all entries
    (3, 6)
    """
    return n_components * (2 * n_features - n_components + 1) // 2


def low_rank_cost(factor: Array, frequencies: Array, z: Array) -> float:
    """Objective of (5) at the matrix ``U U^T``: squared distance of its measurements from ``z``.

    >>> low_rank_cost(np.array([[1.0], [0.0]]), np.eye(2), np.array([3.0, 0.0]))  # (1 - 3)^2
    4.0
    """
    return _cost_and_gradient(factor, frequencies, z)[0]


def low_rank_gradient(factor: Array, frequencies: Array, z: Array) -> Array:
    """Gradient ``4 Omega diag(r) Omega^T U`` of :func:`low_rank_cost`, of shape (d, k).

    >>> low_rank_gradient(np.array([[1.0], [0.0]]), np.eye(2), np.array([3.0, 0.0]))  # 4 (1 - 3)
    array([[-8.],
           [ 0.]])
    """
    return _cost_and_gradient(factor, frequencies, z)[1]


def _cost_and_gradient(factor: Array, frequencies: Array, z: Array) -> tuple[float, Array]:
    seen = factor.T @ frequencies
    rest = (seen**2).sum(axis=0) - z
    return float(rest @ rest), 4.0 * frequencies @ (rest[:, None] * seen.T)


def _scaled(factor: Array, frequencies: Array, z: Array) -> Array:
    """Return the multiple of the factor whose measurements are nearest to ``z``."""
    seen = ((factor.T @ frequencies) ** 2).sum(axis=0)
    energy = float(seen @ seen)
    if energy == 0.0:
        return factor
    # at least a thousandth of the size of z, also where z is mostly negative
    ratio = max(float(seen @ z) / energy, 1e-3 * float(np.abs(z).mean() / seen.mean()))
    return np.asarray(factor * np.sqrt(ratio)) if ratio > 0 else factor


def _spectral_start(z: Array, frequencies: Array, n_components: int) -> Array:
    r"""Factor of shape (d, k) from the leading eigenvectors of the back-projected sketch.

    For Gaussian vectors of variance 1/d,
    :math:`E\,z_j\,\omega_j\omega_j^\top=(2C+\mathrm{tr}(C)I)/d^2`; subtracting the mean of z takes
    most of the multiple of the identity away.
    """
    back = (frequencies * (z - z.mean())) @ frequencies.T
    values, vectors = np.linalg.eigh(back)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    lead = float(values[0]) if values[0] > 0 else 1.0
    return _scaled(vectors * np.sqrt(np.maximum(values / lead, 1e-3)), frequencies, z)


def compressive_pca(
    z: ArrayLike, frequencies: ArrayLike, n_components: int, *, rng: np.random.Generator
) -> _LowRankFit:
    r"""Principal components from a sketch: the best positive matrix of rank k, by its factor.

    Of a mean of quadratic features ``z``, with or without noise. L-BFGS on (5) with the matrix
    :math:`UU^\top` starts at the spectral estimate and at a random one; the cost, a function of the
    sketch, decides between local minima.

    >>> rng = np.random.default_rng(0)
    >>> omega = rng.standard_normal((5, 60)) / np.sqrt(5)
    >>> fit = compressive_pca(measure(np.diag([2.0, 1, 0, 0, 0]), omega), omega, 2, rng=rng)
    >>> fit.eigenvalues.round(4)
    array([2., 1.])
    """
    target, k = check_real_array("z", z, 1), n_components
    omega = _checked_frequencies(frequencies, target, k, degrees_of_freedom)
    d = len(omega)
    check_integer("n_components", k, maximum=d)
    guess = check_rng(rng).standard_normal((d, k))
    size = float(target @ target) or 1.0
    first = (_spectral_start(target, omega, k), _scaled(guess, omega, target))
    found = [_descend(U, omega, target, size) for U in first]
    costs = tuple(low_rank_cost(U, omega, target) for U in found)
    U = found[int(np.argmin(costs))]
    return _fit(U, costs)


def _fit(U: Array, costs: tuple[float, ...]) -> _LowRankFit:
    """Return a fit from its best factor; of each component the largest entry is positive.

    The sign of a singular vector is free, and differs from one BLAS core to another.
    """
    left, values, _ = np.linalg.svd(U, full_matrices=False)
    lead = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)
    return _LowRankFit(left * np.where(lead < 0, -1.0, 1.0), values**2, min(costs), costs)


def _descend(U: Array, omega: Array, z: Array, size: float) -> Array:
    """Run L-BFGS on the relative cost from one start."""

    def objective(flat: Array) -> tuple[float, Array]:
        cost, gradient = _cost_and_gradient(flat.reshape(U.shape), omega, z)
        return cost / size, gradient.ravel() / size

    options: Any = {"maxiter": 500, "maxfun": 2000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(objective, U.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(U.shape))
