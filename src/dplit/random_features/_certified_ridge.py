r"""Ridge coefficients on cos/sin features whose distance from the exact ones is known beforehand.

A sensitivity is a bound for exact minimisers; what is released is what the machine computed. Let
:math:`u=2^{-53}`, :math:`\gamma_k\approx ku`, p coefficients, n records with rows of norm 1 and
labels in [-1, 1]. The system of q = min(n, p) equations is :math:`M=\alpha I+G`, where
:math:`G=\Phi^\top\Phi` (n >= p) or :math:`\Phi\Phi^\top` has trace n, from sums of length l.

1. Sums: :math:`\|\hat G-G\|\le\gamma_l\,\||\Phi|^\top|\Phi|\|\le\gamma_l n`, in every order.
2. The computed solution solves :math:`(\hat G+\alpha I+E)x=h` exactly with
   :math:`|E|\le\gamma_{3q+1}|R^\top||R|`, R the Cholesky factor (Higham, Accuracy and Stability of
   Numerical Algorithms, 2nd ed., Theorem 10.4). Its pivots are at least :math:`\sqrt\alpha`, so
   :math:`\||R|-\sqrt\alpha I\|_F^2\le\mathrm{tr}\,M-q\alpha=n` and
   :math:`\||R^\top||R|\|\le(\sqrt n+\sqrt\alpha)^2`.
3. So :math:`\|\Delta M\|\le\eta=2u\,(l\,n+4(q+1)(\sqrt n+\sqrt\alpha)^2)`, with a factor of two in
   hand for terms of second order and for the blocks of a fast factorisation. The right side
   :math:`\Phi^\top y` (or the product :math:`\Phi^\top a` at the end) is wrong by
   :math:`\gamma_l\|\Phi\|_F\|y\|\le2u\,l\,n`.
4. Coefficients have norm at most :math:`R=\min(\tfrac12\sqrt{n/\alpha},n/\alpha)`; on both routes

   .. math:: \|\hat c-c\|\le\frac{R\,\eta+2u\,l\,n}{\alpha-\eta}.

The factorisation exists where :math:`q\,\eta\le\alpha/2` (ibid., Theorem 10.7). All of it depends
on n, p and alpha alone, so that what is refused is refused for every data set of these sizes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dplit._estimators import LARGEST_INPUT
from dplit._trigonometry import angle_factor, scaled_cosine_and_sine

__all__ = ["feature_rows", "ridge_coefficients", "ridge_rounding"]

_Array = NDArray[np.float64]

#: Records whose products are added in one matrix product.
_ROWS = 2048
#: Angles of a block, which stay in the second-level cache.
_ANGLES = 1 << 15
#: Largest angle of a record and a frequency, before any cosine: nothing overflows.
_LARGEST_ANGLE = 1e300


def feature_rows(X: _Array, frequencies: _Array) -> _Array:
    """Return rows ``[cos<w_k, x>, sin<w_k, x>] / sqrt(K)`` (n, 2K) of any finite records.

    Angles are added column by column, not in a matrix product, so that a row's bits do not depend
    on its place; records are clamped where angles would overflow.
    """
    weights = frequencies * angle_factor(np.dtype(np.float64))
    count = weights.shape[1]
    longest = max(float(np.abs(frequencies).sum(axis=0).max()), 1e-300)
    limit = min(LARGEST_INPUT, _LARGEST_ANGLE / longest)
    rows = np.empty((len(X), 2 * count))
    step = max(1, _ANGLES // count)
    for start in range(0, len(X), step):
        piece = slice(start, min(start + step, len(X)))
        records = np.clip(X[piece], -limit, limit)
        angle, term = np.zeros((2, len(records), count))
        for column, weight in zip(records.T, weights, strict=True):
            angle += np.multiply(column[:, None], weight, out=term)
        scaled_cosine_and_sine(angle, rows[piece, :count], rows[piece, count:], count**-0.5)
    return rows


def ridge_coefficients(X: _Array, y: _Array, frequencies: _Array, alpha: float) -> _Array:
    """Return the minimiser of ``||Phi c - y||^2 + alpha ||c||^2`` for labels in [-1, 1].

    The smaller of the two systems is solved, which the shapes decide; never more than a block of
    the features is in memory where there are more records than coefficients.
    """
    n, p = len(X), 2 * frequencies.shape[1]
    if n < p:
        rows = feature_rows(X, frequencies)
        return np.asarray(_solve(rows @ rows.T, y, alpha) @ rows)
    gram, moment = np.zeros((p, p)), np.zeros(p)
    for start in range(0, n, _ROWS):
        rows = feature_rows(X[start : start + _ROWS], frequencies)
        gram += rows.T @ rows
        moment += rows.T @ y[start : start + _ROWS]
    return _solve(gram, moment, alpha)


def _solve(gram: _Array, right: _Array, alpha: float) -> _Array:
    gram[np.diag_indices_from(gram)] += alpha
    factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right, check_finite=False))


def ridge_rounding(alpha: float, n_records: int, n_coefficients: int) -> float:
    """Bound on ``||computed - exact||_2`` of :func:`ridge_coefficients`; inf where none holds.

    For all data sets of these sizes with labels in [-1, 1]; the derivation opens the module.
    """
    n, p = n_records, n_coefficients
    q = min(n, p)
    length = p if n < p else min(n, _ROWS) + -(-n // _ROWS)
    eps = float(np.finfo(float).eps)
    sums = eps * length * n
    eta = sums + eps * 4 * (q + 1) * (math.sqrt(n) + math.sqrt(alpha)) ** 2
    if q * eta > alpha / 2:
        return math.inf
    size = min(math.sqrt(n / alpha) / 2, n / alpha)
    return (size * eta + sums) / (alpha - eta)
