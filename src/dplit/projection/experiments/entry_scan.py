"""Leakage of every entry of real tables, and of the paper's uniform data, printed and repaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_rng
from dplit.projection.leakage import (
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
)
from dplit.projection.projection import projection_variance

__all__ = ["scan_entries", "uniform_scan"]


@dataclass(frozen=True)
class _EntryScan:
    """Leakage of every entry of a table, each -1 or 1 with equal odds: bits (n, d), their error.

    ``bound`` (n, d) is the coherent one, for every prior on [-1, 1].
    """

    epsilon: float
    variance: float
    bits: Array
    error: float
    bound: Array

    @property
    def share_above(self) -> float:
        """Share of the entries that leak more than the budget."""
        return float(np.mean(self.bits > self.epsilon))

    @property
    def median(self) -> float:
        """Median leakage in bits."""
        return float(np.median(self.bits))

    @property
    def largest(self) -> float:
        """Largest leakage in bits."""
        return float(self.bits.max())


def scan_entries(
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    epsilon: float,
    n_components: int,
    as_printed: bool = False,
    nodes: int = 32,
) -> _EntryScan:
    """Exact leakage of all entries of a table in [-1, 1] through the projected release.

    Without y the release of ``S X + sigma N`` is audited; noise (13) is held at the table's value.
    """
    variance = projection_variance(
        X, epsilon=epsilon, n_components=n_components, as_printed=as_printed
    )
    channel = entry_channels(X, y, variance=variance)
    bits, error = binary_leakage(channel, n_components=n_components, nodes=nodes)
    bound = coherent_bound(channel, n_components=n_components)
    return _EntryScan(float(epsilon), variance, bits, float(error.max()), bound)


@dataclass(frozen=True)
class _UniformScan:
    """Leakage of fair +-1 entries of some rows of one uniform table: arrays (rows, d).

    Exact bits, the coherent bound, and the total variation between -1 and 1.
    """

    n_records: int
    n_components: int
    variance: float
    bits: Array
    bound: Array
    distance: Array


def uniform_scan(
    n_records: int,
    *,
    n_components: int,
    epsilon: float = 0.5,
    n_features: int = 800,
    n_rows: int = 3,
    as_printed: bool = True,
    rng: np.random.Generator,
) -> _UniformScan:
    """Leakage of all entries of ``n_rows`` rows of the paper's synthetic data, n > d + 1.

    y has normal coefficients and unit noise.
    """
    n, d = check_integer("n_records", n_records), check_integer("n_features", n_features)
    if n <= d + 1:
        raise ValueError(f"n_records must exceed n_features + 1, got {n} and {d}")
    X = check_rng(rng).uniform(-1.0, 1.0, (n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    variance = projection_variance(
        X, epsilon=epsilon, n_components=n_components, as_printed=as_printed
    )
    rows = np.arange(check_integer("n_rows", n_rows))
    channel = entry_channels(X, y, variance=variance, rows=rows)
    bits, _ = binary_leakage(channel, n_components=n_components, nodes=24)
    bound = coherent_bound(channel, n_components=n_components)
    distance = binary_total_variation(channel, n_components=n_components)
    return _UniformScan(n, n_components, variance, bits, bound, distance)
