"""All replacements of one record in kernel ridge regression, from a single factorisation.

They change the normal equations by rank one or two, at the cost of a few matrix products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from dplit._checks import Array, check_positive, check_real_array
from dplit.kernels._grams import check_gram
from dplit.kernels.losses import check_targets


class _WorstReplacement(NamedTuple):
    """The replacement that moves a fit most: candidate ``added`` with ``label`` for ``removed``."""

    distance: float
    removed: int
    added: int
    label: float


class RidgeNeighbours:
    r"""Distances between a kernel ridge fit and the fits of all neighbouring samples.

    ``gram`` is the Gram matrix of the sample, ``coefficients`` and ``predictions`` are those of its
    fit :math:`f=\sum_ic_iK_{x_i}`. All distances are measured in the space.
    """

    def __init__(self, gram: ArrayLike, y: ArrayLike, *, regularization: float) -> None:
        self._y = check_targets("squared", y)
        self._gram = check_gram(gram)
        m = len(self._y)
        if len(self._gram) != m:
            raise ValueError(f"gram and y must agree, got {len(self._gram)} rows and {m} targets")
        self._alpha = check_positive("regularization", regularization) * m
        shifted = self._gram.copy()
        shifted.flat[:: m + 1] += self._alpha
        self._factor = cho_factor(shifted, lower=True, check_finite=False)
        lower, _ = dpotri(self._factor[0], lower=1)  # the inverse from its factor
        self._inverse: Array = np.tril(lower) + np.tril(lower, -1).T
        self.coefficients: Array = cho_solve(self._factor, self._y, check_finite=False)
        self.predictions: Array = self._gram @ self.coefficients
        self._square = np.einsum("il,li->i", self._inverse, self._inverse)  # (G G)_ii

    def replacement_distances(
        self, cross: ArrayLike, diagonal: ArrayLike, labels: ArrayLike
    ) -> Array:
        """Distances, shape (m, q), to the fits in which candidate j takes the place of record i.

        ``cross`` (m, q) holds kernel values between sample and candidates, ``diagonal`` and
        ``labels`` (q,) the candidates' own; of order m^2 q operations for all.
        """
        k = check_real_array("cross", cross, 2)
        own = check_real_array("diagonal", diagonal, 1)
        targets = check_real_array("labels", labels, 1)
        m, alpha = len(self._y), self._alpha
        if k.shape[0] != m or len(own) != k.shape[1] or len(targets) != k.shape[1]:
            raise ValueError(
                f"cross must have {m} rows and diagonal and labels an entry for each column, got "
                f"shapes {k.shape}, {own.shape} and {targets.shape}"
            )
        Gk = cho_solve(self._factor, k, check_finite=False)
        GGk = cho_solve(self._factor, Gk, check_finite=False)
        n_jj = np.maximum(own - np.einsum("iq,iq->q", k, Gk), 0.0) / alpha
        p_jj = np.maximum(n_jj - np.einsum("iq,iq->q", Gk, Gk), 0.0) / alpha
        g = self._inverse.diagonal()[:, None]
        n_ii, n_ij = 1.0 - alpha * g, Gk
        p_ii = np.maximum(g - alpha * self._square[:, None], 0.0)
        r_i = (self._y - self.predictions)[:, None]
        r_j = targets - k.T @ self.coefficients
        # (D + N) beta = r with D + N = [[n_ii - 1, n_ij], [n_ij, n_jj + 1]]
        determinant = (n_ii - 1.0) * (n_jj + 1.0) - n_ij**2
        b_i = ((n_jj + 1.0) * r_i - n_ij * r_j) / determinant
        b_j = ((n_ii - 1.0) * r_j - n_ij * r_i) / determinant
        squares = b_i**2 * p_ii + 2.0 * b_i * b_j * GGk + b_j**2 * p_jj
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)

    def worst_replacement(
        self, cross: ArrayLike, diagonal: ArrayLike, *, label_bound: float
    ) -> _WorstReplacement:
        """Exact local sensitivity over all replacements by candidates with labels in [-M, M].

        The distance is convex in the new label, so that -M and M suffice. It is the sensitivity
        **at this sample**, which may itself be private: a mechanism calibrates to the supremum over
        samples.
        """
        M = check_positive("label_bound", label_bound)
        best = _WorstReplacement(-1.0, 0, 0, 0.0)
        for label in (-M, M):
            labels = np.full(np.asarray(diagonal).shape, label)
            distances = self.replacement_distances(cross, diagonal, labels)
            i, j = np.unravel_index(int(distances.argmax()), distances.shape)
            if distances[i, j] > best.distance:
                best = _WorstReplacement(float(distances[i, j]), int(i), int(j), label)
        return best
