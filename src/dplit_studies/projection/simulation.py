"""The mechanisms' fits the long way: every projection and every noisy matrix is formed.

For comparison with :mod:`dplit.papers.projection.laws` only; the cost grows with n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_nonnegative, check_positive, check_rng
from dplit.entries._checks import check_pair
from dplit.entries.projections import release_projection
from dplit.papers.projection.channels import _Bits


def simulated_leakage(
    tables: Sequence[ArrayLike],
    y: ArrayLike | None,
    *,
    variance: float,
    n_components: int,
    rng: np.random.Generator,
    n_draws: int = 2000,
) -> _Bits:
    """Information that naive releases give about which of several tables they came from.

    S and N are really drawn, and likelihoods full-dimensional. No y: ``S X + sigma N`` alone.
    """
    count = check_integer("n_draws", n_draws, minimum=2)
    check_rng(rng)
    noise = check_nonnegative("variance", variance)
    pairs = [check_pair(table, y) for table in tables]
    factors, logs = [], []
    for table, seen in pairs:
        M = table if y is None else np.column_stack([table, seen])
        added = np.where(np.arange(M.shape[1]) < table.shape[1], noise, 0.0)
        factors.append(np.linalg.cholesky(M.T @ M + np.diag(added)))
    for table, seen in pairs:
        release = release_projection(
            table, seen, n_components=count * n_components, variance=noise, rng=rng
        )
        rows = release.X if y is None else np.column_stack([release.X, release.y])
        logs.append(np.stack([_log_densities(rows, L, n_components) for L in factors], axis=1))
    return _levels_information(logs)


def _levels_information(logs: Sequence[Array]) -> _Bits:
    """Bits about m equally likely values and their standard error; log-likelihoods (draws, m)."""
    value, square = 0.0, 0.0
    for k, log in enumerate(logs):
        mixture = np.logaddexp.reduce(log, axis=1) - np.log(len(logs))
        bits = (log[:, k] - mixture) / np.log(2.0)
        value += float(bits.mean()) / len(logs)
        square += float(bits.var(ddof=1)) / len(bits) / len(logs) ** 2
    return _Bits(value, float(np.sqrt(square)))


def _log_densities(rows: Array, L: Array, n_components: int) -> Array:
    """Log densities, up to a constant, of consecutive blocks of rows with covariance L L^T."""
    white = np.linalg.solve(L, rows.T)
    energy = np.sum(white**2, axis=0).reshape(-1, n_components).sum(axis=1)
    size = n_components * float(np.sum(np.log(np.diag(L))))
    return np.asarray(-size - energy / 2)


_ENTRIES = 4_000_000  # random numbers held at a time


def _batches(size: int, entries: int) -> Iterator[int]:
    """Yield batch sizes that add up to ``size``."""
    step = max(1, _ENTRIES // entries)
    for start in range(0, size, step):
        yield min(step, size - start)


def _fits(designs: Array, responses: Array) -> Array:
    """Return least-squares fits of a stack of problems, by their normal equations."""
    grams = np.einsum("bij,bik->bjk", designs, designs, optimize=True)
    right = np.einsum("bij,bi->bj", designs, responses, optimize=True)
    return np.asarray(np.linalg.solve(grams, right[..., None])[..., 0])


def naive_projection_draws(
    X: ArrayLike,
    y: ArrayLike,
    *,
    penalty: float,
    n_components: int,
    size: int,
    rng: np.random.Generator,
) -> Array:
    """Draw ``size`` fits (size, d) on S X + sigma N and S y by forming S and N."""
    design, response = check_pair(X, y)
    root = math.sqrt(check_nonnegative("penalty", penalty))
    (n, d), generator = design.shape, check_rng(rng)
    rows = check_integer("n_components", n_components, minimum=d)
    fits = []
    for count in _batches(check_integer("size", size), rows * (n + d)):
        S = generator.standard_normal((count, rows, n))
        released = S @ design
        if root > 0:
            released += root * generator.standard_normal((count, rows, d))
        fits.append(_fits(released, S @ response))
    return np.concatenate(fits)


def naive_additive_draws(
    X: ArrayLike, y: ArrayLike, *, sigma: float, size: int, rng: np.random.Generator
) -> Array:
    """Draw ``size`` fits (size, d) on X + sigma N and y by forming N."""
    design, response = check_pair(X, y)
    level, generator = check_positive("sigma", sigma), check_rng(rng)
    fits = []
    for count in _batches(check_integer("size", size), design.size):
        released = design + level * generator.standard_normal((count, *design.shape))
        fits.append(_fits(released, np.broadcast_to(response, (count, len(response)))))
    return np.concatenate(fits)
