"""The slow second route: leakage from naive releases and full-dimensional likelihoods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_rng
from dplit.projection.channels import Bits
from dplit.projection.projection import release_projection

__all__ = ["simulated_leakage"]

_Array = NDArray[np.float64]


def simulated_leakage(
    tables: Sequence[ArrayLike],
    y: ArrayLike | None,
    *,
    variance: float,
    n_components: int,
    rng: np.random.Generator,
    n_draws: int = 2000,
) -> Bits:
    """Information that naive releases give about which of several tables they came from.

    Parameters
    ----------
    tables : sequence of array_like of shape (n, d)
        The data for each value of an entry, equally likely.
    y : array_like of shape (n,) or None
        Responses; None looks at ``S X + sigma N`` alone.
    variance : float
        Noise variance of the release, the same for all tables.
    n_components : int
        Rows n' of the release.
    rng : numpy.random.Generator
        Source of S and N.
    n_draws : int, default=2000
        Releases per table, at least 2.

    Returns
    -------
    Bits
        Mean log2 of likelihood over mixture, and its standard error. S and N are drawn, multiplied
        and added as the mechanism says; likelihoods are Gaussian with the full covariance.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.
    numpy.linalg.LinAlgError
        If the covariance of a released row is singular.

    Examples
    --------
    >>> from dplit.projection.counterexamples import paired_columns
    >>> from dplit.streams import stream
    >>> tables = [paired_columns(x) for x in (1.0, 0.1)]
    >>> bits = simulated_leakage(tables, None, variance=0.0, n_components=1,
    ...                          rng=stream(0, "doc", "noise"))
    >>> bool(abs(bits.value - 0.625) < 5 * bits.error)
    True
    """
    count = check_integer("n_draws", n_draws, minimum=2)
    check_rng(rng)
    noise = check_nonnegative("variance", variance)
    data = [np.asarray(check_finite_array("tables", table, ndim=2), float) for table in tables]
    seen = np.zeros(len(data[0])) if y is None else np.asarray(check_finite_array("y", y), float)
    factors = []
    for table in data:
        M = table if y is None else np.column_stack([table, seen])
        added = np.where(np.arange(M.shape[1]) < table.shape[1], noise, 0.0)
        factors.append(np.linalg.cholesky(M.T @ M + np.diag(added)))
    value, square = 0.0, 0.0
    for k, table in enumerate(data):
        release = release_projection(
            table, seen, n_components=count * n_components, variance=noise, rng=rng
        )
        rows = release.X if y is None else np.column_stack([release.X, release.y])
        logs = np.stack([_log_densities(rows, L, n_components) for L in factors], axis=1)
        mixture = np.logaddexp.reduce(logs, axis=1) - np.log(len(data))
        bits = (logs[:, k] - mixture) / np.log(2.0)
        value += float(bits.mean()) / len(data)
        square += float(bits.var(ddof=1)) / count / len(data) ** 2
    return Bits(value, float(np.sqrt(square)))


def _log_densities(rows: _Array, L: _Array, n_components: int) -> _Array:
    """Log densities, up to a constant, of consecutive blocks of rows with covariance L L^T."""
    white = np.linalg.solve(L, rows.T)
    energy = np.sum(white**2, axis=0).reshape(-1, n_components).sum(axis=1)
    size = n_components * float(np.sum(np.log(np.diag(L))))
    return np.asarray(-size - energy / 2)
