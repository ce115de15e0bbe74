r"""Algorithm 1, Theorem 3.1, and the exponential mechanism with a Gaussian prior.

The law is :math:`P(w)\propto\exp(-\frac\epsilon2N(w))`, N(w) the number of errors, zero products
among them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dplit._checks import Array, check_positive, check_real_array
from dplit._numerics.clipping import scaled_rows
from dplit.margins._checks import signed_records


def _labelled_rows(X: ArrayLike, y: ArrayLike) -> Array:
    """Rows y_i x_i of a checked labelled sample: all that a loss of linear functions sees."""
    records, labels = signed_records(X, y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    return np.asarray(records * labels[:, None])


def error_counts(W: ArrayLike, X: ArrayLike, y: ArrayLike) -> Array:
    """Number of records that each row of ``W`` classifies wrongly; zero products count."""
    weights, rows = check_real_array("W", W, 2), _labelled_rows(X, y)
    if weights.shape[1] != rows.shape[1]:
        raise ValueError(f"W must have {rows.shape[1]} columns, got W of shape {weights.shape}")
    return _counts(weights, scaled_rows(rows))


def _counts(weights: Array, rows: Array) -> Array:
    return np.asarray(np.count_nonzero(weights @ rows.T <= 0, axis=1).astype(float))


def cover_law(counts: ArrayLike, *, epsilon: float) -> Array:
    r"""Law :math:`P(i)\propto e^{-\epsilon N_i/2}` from the error counts of all candidates."""
    values = check_real_array("counts", counts, 1)
    return np.asarray(softmax(-0.5 * check_positive("epsilon", epsilon) * values))
