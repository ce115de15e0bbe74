r"""All replacements of one record in kernel ridge regression, from a single factorisation.

The fit f minimises :math:`\frac1m\sum_i(f(x_i)-y_i)^2+\lambda\|f\|_K^2`. To delete a record or to
put another in its place changes the normal equations by rank one or two, so that the distances of
all neighbouring fits cost no more than one fit and a few matrix products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from dplit._checks import check_finite_array, check_positive
from dplit.erm.kernels import check_gram
from dplit.erm.losses import check_targets

__all__ = ["RidgeNeighbours", "WorstReplacement"]

Array = NDArray[np.float64]


class WorstReplacement(NamedTuple):
    """The replacement that moves a fit most.

    Attributes
    ----------
    distance : float
        Distance of the two fits in the space.
    removed : int
        Index of the record that leaves the sample.
    added : int
        Index of the candidate that takes its place.
    label : float
        The label that it brings.
    """

    distance: float
    removed: int
    added: int
    label: float


def _finite_matrix(name: str, value: ArrayLike, ndim: int) -> Array:
    array = np.asarray(check_finite_array(name, value, ndim=ndim))
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    return array.astype(np.float64)


class RidgeNeighbours:
    r"""Distances between a kernel ridge fit and the fits of all neighbouring samples.

    Parameters
    ----------
    gram : array_like, shape (m, m)
        Kernel values of the sample.
    y : array_like, shape (m,)
    regularization : float
        lambda, positive. Deletions keep :math:`\lambda m` fixed.

    Attributes
    ----------
    coefficients, predictions : ndarray, shape (m,)
        The fit :math:`f=\sum_ic_iK_{x_i}` and its values.

    Raises
    ------
    TypeError, ValueError
        If ``gram`` is no Gram matrix, ``y`` does not fit to it, or ``regularization`` is not
        positive.

    Notes
    -----
    Write :math:`\alpha=\lambda m`, :math:`R=(S+\alpha)^{-1}` with
    :math:`S=\sum_iK_{x_i}\otimes K_{x_i}`, and :math:`G=(\mathbf K+\alpha I)^{-1}`, so that
    :math:`\alpha R=I-K_X^*GK_X`. Record i goes, candidate j comes. With
    :math:`U=[K_{x_i},K_{x_j'}]`, :math:`D=\mathrm{diag}(-1,1)`, :math:`N=U^*RU` and residuals
    :math:`r=(y_i-f(x_i),\,y_j'-f(x_j'))`,

    .. math:: \bar f-f=RU\,(D+N)^{-1}r,\qquad
        \|\bar f-f\|_K^2=\beta^\top(U^*R^2U)\,\beta,\quad\beta=(D+N)^{-1}r .

    The entries of both 2 x 2 matrices are entries of :math:`G`, :math:`\mathbf KG`,
    :math:`G\mathbf KG`, :math:`G\mathbf k_j` and :math:`G^2\mathbf k_j`. Deletion alone gives
    :math:`f-f_-=\frac{c_i}{G_{ii}}\sum_lG_{li}K_{x_l}`.

    References
    ----------
    The rank-one identity behind leave-one-out formulas; the norms in the space are ours.

    Examples
    --------
    >>> import numpy as np
    >>> near = RidgeNeighbours(np.eye(2), [1.0, 0.0], regularization=0.5)
    >>> near.deletion_distances()
    array([0.5, 0. ])
    >>> near.replacement_distances(np.zeros((2, 1)), [1.0], [1.0])
    array([[0.70710678],
           [0.5       ]])
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

    def deletion_distances(self) -> Array:
        r"""Distances to the fits that lack one record, with :math:`\lambda m` held fixed.

        Returns
        -------
        ndarray, shape (m,)
            Entry i belongs to the deletion of record i.
        """
        diagonal = self._inverse.diagonal()
        # G K G = G - alpha G G
        smooth = np.maximum(diagonal - self._alpha * self._square, 0.0)
        return np.asarray(np.abs(self.coefficients) / diagonal * np.sqrt(smooth))

    def replacement_distances(
        self, cross: ArrayLike, diagonal: ArrayLike, labels: ArrayLike
    ) -> Array:
        r"""Distances to the fits in which a candidate takes the place of a record.

        Parameters
        ----------
        cross : array_like, shape (m, q)
            Kernel values between the sample and q candidates.
        diagonal : array_like, shape (q,)
            Kernel values :math:`K(x_j',x_j')` of the candidates.
        labels : array_like, shape (q,)
            Their labels.

        Returns
        -------
        ndarray, shape (m, q)
            Entry (i, j) belongs to record i replaced by candidate j: of order m^2 q operations
            for all.

        Raises
        ------
        TypeError, ValueError
            If an argument is not finite and real, or shapes do not fit.
        """
        k = _finite_matrix("cross", cross, 2)
        own, targets = _finite_matrix("diagonal", diagonal, 1), _finite_matrix("labels", labels, 1)
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
    ) -> WorstReplacement:
        r"""Exact local sensitivity over all replacements by candidates with labels in [-M, M].

        Parameters
        ----------
        cross, diagonal
            As in :meth:`replacement_distances`.
        label_bound : float
            M, positive.

        Returns
        -------
        WorstReplacement
            The distance is convex in the new label, so that -M and M suffice. It is the
            sensitivity **at this sample**, which may itself be private: a mechanism calibrates
            to the supremum over samples, :func:`dplit.erm.least_squares.least_squares_stability`.

        Raises
        ------
        TypeError, ValueError
            If an argument is not finite and real, shapes do not fit, or ``label_bound`` is not
            positive.
        """
        M = check_positive("label_bound", label_bound)
        best = WorstReplacement(-1.0, 0, 0, 0.0)
        for label in (-M, M):
            labels = np.full(np.asarray(diagonal).shape, label)
            distances = self.replacement_distances(cross, diagonal, labels)
            i, j = np.unravel_index(int(distances.argmax()), distances.shape)
            if distances[i, j] > best.distance:
                best = WorstReplacement(float(distances[i, j]), int(i), int(j), label)
        return best
