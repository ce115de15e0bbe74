"""Reading one entry of X off a projected release, and data on which the printed release leaks.

The adversary of the definition knows every other entry, y and the noise variance; it takes the most
likely value. In the counterexamples the other columns and y share S with the column in question,
and the printed noise variance is itself a function of the entry.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.stats import chi

from dplit._checks import (
    Array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.projection.information import _Bits, scale_information
from dplit.projection.leakage import _check_entry
from dplit.projection.projection import ProjectionRelease, printed_variance, release_projection
from dplit.projection.regression import _check_pair


def rms_attack(release: ProjectionRelease) -> float:
    """Size of the entry by which two columns differ: root mean square of their difference."""
    Z = np.asarray(release.X)
    if Z.ndim != 2 or Z.shape[1] != 2:
        raise ValueError(f"release.X must have 2 columns, got shape {Z.shape}")
    return float(np.sqrt(np.mean((Z[:, 0] - Z[:, 1]) ** 2)))


def rms_attack_quantiles(size: float, probabilities: ArrayLike, *, n_components: int) -> Array:
    r"""Quantiles of :func:`rms_attack` without noise: its law is :math:`|x|\chi_{n'}/\sqrt{n'}`."""
    n = check_integer("n_components", n_components)
    p = check_real_array("probabilities", probabilities)
    for share in (p.min(), p.max()):
        check_probability("probabilities", float(share), zero=True, one=True)
    return np.asarray(check_nonnegative("size", size) * chi.ppf(p, n) / np.sqrt(n))


def likeliest_entry(
    release: ProjectionRelease, X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int,
    column: int, levels: ArrayLike,
) -> float:  # fmt: skip
    r"""The candidate of ``levels`` (m,) that is most likely as one entry, given everything else.

    :math:`-\frac{n'}2\log\det\Sigma_x-\frac12\operatorname{tr}\Sigma_x^{-1}Z^\top Z`, with the
    covariance of a released row if the entry is x. It is not read from X; without y the released
    responses are ignored.
    """
    rows, labels = _check_pair(X, y)
    i, j = _check_entry(rows, row, column)
    candidates = check_real_array("levels", levels, 1)
    noise = check_nonnegative("variance", variance)
    table = rows.copy() if y is None else np.column_stack([rows, labels])
    Z = np.asarray(release.X if y is None else np.column_stack([release.X, release.y]))
    if Z.ndim != 2 or Z.shape[1] != table.shape[1]:
        raise ValueError(f"release must have {table.shape[1]} columns, got shape {Z.shape}")
    added = np.diag(np.where(np.arange(table.shape[1]) < rows.shape[1], noise, 0.0))
    logs = []
    for x in candidates:
        table[i, j] = x
        factor = np.linalg.cholesky(table.T @ table + added)
        white = solve_triangular(factor, Z.T, lower=True)
        logs.append(-len(Z) * float(np.sum(np.log(np.diag(factor)))) - float(np.sum(white**2)) / 2)
    return float(candidates[int(np.argmax(logs))])


class _AttackedEntry(NamedTuple):
    """True values, and for each the guesses of the adversary in repeated releases."""

    truth: Array
    guesses: Array


def attack_entry(
    X: ArrayLike, y: ArrayLike, *, variance: float, n_components: int, row: int, column: int,
    truth: ArrayLike, levels: ArrayLike, n_trials: int, rng: np.random.Generator,
) -> _AttackedEntry:  # fmt: skip
    """Release ``n_trials`` times for each true value of one entry, and guess the value each time.

    ``truth`` (t,) are the values that the entry really has, ``levels`` the adversary's candidates.
    """
    data, values = check_real_array("X", X, 2), check_real_array("truth", truth, 1)
    i, j = _check_entry(data, row, column)
    count = check_integer("n_trials", n_trials)
    check_rng(rng)
    guesses = np.empty((len(values), count))
    for k, value in enumerate(values):
        data[i, j] = value
        for trial in range(count):
            Z = release_projection(data, y, n_components=n_components, variance=variance, rng=rng)
            guesses[k, trial] = likeliest_entry(
                Z, data, y, variance=variance, row=row, column=column, levels=levels
            )
    return _AttackedEntry(values, guesses)


def paired_columns(x: float, *, n_records: int = 3) -> Array:
    """Two columns that agree except in row 1, where they hold x and 0; all else is 1.

    The released columns differ by ``s_1 x``, and f^2 is n - 2, for every x in [-1, 1].
    """
    if abs(check_interval("x", x, -math.inf, math.inf)) > 1:
        raise ValueError(f"x must be in [-1, 1], got x={x!r}")
    X = np.ones((check_integer("n_records", n_records, minimum=3), 2))
    X[0] = x, 0.0
    return X


def scale_leakage(
    tables: list[Array], weights: ArrayLike, *, epsilon: float, n_components: int
) -> _Bits:
    """Bits that columns without the entry give, because the printed variance depends on it.

    ``tables`` are the data for each value of the entry, equally likely; rows of ``weights`` (d,) or
    (m, d) combine columns other than the first, orthogonal in the released covariance and of equal
    variance. A lower bound on the leakage of the whole release.
    """
    W = np.atleast_2d(check_real_array("weights", weights))
    if np.any(W[:, 0] != 0):
        raise ValueError("weights must be zero on column 1, which holds the entry")
    variances = []
    for table in tables:
        printed = printed_variance(table, epsilon=epsilon, n_components=n_components)
        covariance = W @ (table.T @ table + printed * np.eye(table.shape[1])) @ W.T
        size = float(covariance[0, 0])
        if not np.allclose(covariance, size * np.eye(len(W)), rtol=1e-9, atol=1e-9 * size):
            raise ValueError("weights must give independent combinations of equal variance")
        variances.append(size)
    return scale_information(variances, n_samples=n_components * len(W))
