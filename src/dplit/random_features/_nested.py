"""One pass over random frequencies that serves every number of features of a figure.

The first N of one sequence of frequencies are a valid draw of N frequencies, so the Gram matrices
of all N are partial sums of one pass, rescaled by 2/N. Coefficients are kept as c = Phi^T a: a
vector of length m instead of N.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplit.features import phased_cosine_features
from dplit.random_features.duplicates import distinct_rows
from dplit.random_features.interpolation import min_norm_dual

_Array = NDArray[np.float64]
_BLOCK = 1024


@dataclass(frozen=True)
class NestedGram:
    """What one number of features N needs, for Phi = sqrt(2/N) cos(X Omega + b).

    gram (m, m) is Phi_train Phi_train^T, cross (n, m) is Phi_test Phi_train^T, row_norms2 (n,) are
    the squared norms of the test rows, responses (n, q) is Phi_test Z with standard normal Z of
    shape (N, q) and direction_norms2 (q,) are the squared norms of its columns.
    """

    n_components: int
    gram: _Array
    cross: _Array
    row_norms2: _Array
    responses: _Array
    direction_norms2: _Array


def nested_grams(
    X_train: _Array,
    X_test: _Array,
    components: Sequence[int],
    *,
    frequency_sd: float,
    rng: np.random.Generator,
    noise_rng: np.random.Generator | None = None,
    directions: int = 0,
) -> Iterator[NestedGram]:
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
        factor = 2.0 / target
        yield NestedGram(
            target,
            factor * gram,
            factor * cross,
            factor * norms,
            np.sqrt(factor) * responses,
            squares.copy(),
        )


def gradient_dual(gram: _Array, y: _Array, rows: NDArray[np.intp], step: float) -> _Array:
    """Return the dual vector of stochastic gradient descent from zero on half the squared loss.

    Step t adds ``step * (y_i - <c, phi_i>) phi_i`` with i = rows[t].
    """
    dual = np.zeros(len(y))
    for i in rows.tolist():
        dual[i] += step * (y[i] - gram[i] @ dual)
    return dual


def min_norm_dual_distinct(gram: _Array, y: _Array, X: _Array) -> _Array:
    """Return the dual vector of the minimum-norm least-squares fit where rows may repeat.

    Equal rows of X have equal features: the least-squares fit interpolates the mean of their
    labels. One representative of each carries the coefficient, and its Gram matrix is regular.
    """
    first, inverse = distinct_rows(X)
    means = np.bincount(inverse, weights=y) / np.bincount(inverse)
    dual = np.zeros(len(y))
    dual[first] = min_norm_dual(gram[np.ix_(first, first)], means)
    return dual
