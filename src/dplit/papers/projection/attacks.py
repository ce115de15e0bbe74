"""Reading one entry of X off a projected release: the attacks of an adversary who knows the
rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.stats import chi

from dplit._checks import (
    Array,
    check_integer,
    check_nonnegative,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.entries._checks import check_pair
from dplit.entries.projections import ProjectionRelease, release_projection
from dplit.papers.projection.leakage import _check_entry


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
    release: ProjectionRelease,
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    variance: float,
    row: int,
    column: int,
    levels: ArrayLike,
) -> float:
    r"""The candidate of ``levels`` (m,) that is most likely as one entry, given everything else.

    :math:`-\frac{n'}2\log\det\Sigma_x-\frac12\operatorname{tr}\Sigma_x^{-1}Z^\top Z`, with the
    covariance of a released row if the entry is x. It is not read from X; without y the released
    responses are ignored.
    """
    rows, labels = check_pair(X, y)
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
    X: ArrayLike,
    y: ArrayLike,
    *,
    variance: float,
    n_components: int,
    row: int,
    column: int,
    truth: ArrayLike,
    levels: ArrayLike,
    n_trials: int,
    rng: np.random.Generator,
) -> _AttackedEntry:
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
