"""One pass over random frequencies serves every number of features of a figure.

The first N of one sequence are a valid draw of N, so the Gram matrices of all N are partial sums,
rescaled by 2/N. Coefficients are kept as c = Phi^T a: a vector of length m instead of N.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array
from dplit.features import phased_cosine_features
from dplit.papers.random_features.duplicates import _distinct_rows
from dplit.papers.random_features.interpolation import _min_norm_dual

_BLOCK = 1024


@dataclass(frozen=True)
class _NestedGram:
    """What one number of features N needs, for Phi = sqrt(2/N) cos(X Omega + b)."""

    n_components: int
    gram: Array  # Phi_train Phi_train^T, (m, m)
    cross: Array  # Phi_test Phi_train^T, (n, m)
    row_norms2: Array  # squared norms of the test rows, (n,)
    responses: Array  # Phi_test Z for standard normal Z of shape (N, q), (n, q)
    direction_norms2: Array  # squared norms of the columns of Z, (q,)


def _nested_grams(
    X_train: Array,
    X_test: Array,
    components: Sequence[int],
    *,
    frequency_sd: float,
    rng: np.random.Generator,
    noise_rng: np.random.Generator | None = None,
    directions: int = 0,
) -> Iterator[_NestedGram]:
    """Yield the Gram matrices of cosine features for increasing numbers of features."""
    m, n = len(X_train), len(X_test)
    X = np.vstack([X_train, X_test])
    gram, cross = np.zeros((m, m)), np.zeros((n, m))
    norms, responses, squares = np.zeros(n), np.zeros((n, directions)), np.zeros(directions)
    done = 0
    for target in components:
        while done < target:
            width = min(_BLOCK, target - done)
            omega = frequency_sd * rng.standard_normal((X.shape[1], width))
            phases = rng.uniform(0.0, 2.0 * np.pi, width)
            F = phased_cosine_features(X, omega, phases, normalize=False)
            train, test = F[:m], F[m:]
            gram += train @ train.T
            cross += test @ train.T
            norms += np.einsum("ij,ij->i", test, test)
            if directions and noise_rng is not None:
                Z = noise_rng.standard_normal((width, directions))
                responses += test @ Z
                squares += np.einsum("ij,ij->j", Z, Z)
            done += width
        f = 2.0 / target
        yield _NestedGram(
            target, f * gram, f * cross, f * norms, np.sqrt(f) * responses, squares.copy()
        )


def _gradient_dual(gram: Array, y: Array, rows: NDArray[np.intp], step: float) -> Array:
    """Return the dual vector of stochastic gradient descent from zero on half the squared loss.

    Step t adds ``step * (y_i - <c, phi_i>) phi_i`` with i = rows[t].
    """
    dual = np.zeros(len(y))
    for i in rows.tolist():
        dual[i] += step * (y[i] - gram[i] @ dual)
    return dual


def _min_norm_dual_distinct(gram: Array, y: Array, X: Array) -> Array:
    """Return the dual vector of the minimum-norm least-squares fit where rows of X may repeat: the
    fit interpolates the mean of the labels of equal rows, of which one carries the coefficient.
    """
    first, inverse = _distinct_rows(X)
    means = np.bincount(inverse, weights=y) / np.bincount(inverse)
    dual = np.zeros(len(y))
    dual[first] = _min_norm_dual(gram[np.ix_(first, first)], means)
    return dual
