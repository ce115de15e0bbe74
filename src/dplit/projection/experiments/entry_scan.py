"""Leakage of every entry of real tables, and of the paper's uniform data, printed and repaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_finite_array, check_integer, check_rng
from dplit.projection.leakage import (
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
)
from dplit.projection.projection import projection_variance

__all__ = [
    "EntryScan",
    "UniformScan",
    "scan_entries",
    "uniform_scan",
]


@dataclass(frozen=True)
class EntryScan:
    """Leakage of every entry of one table, each set to -1 or 1 with equal odds.

    Attributes
    ----------
    epsilon : float
        Claimed budget in bits.
    variance : float
        Noise variance of the release.
    bits : ndarray of shape (n, d)
        Exact leakage: a lower bound on what the worst prior gives.
    error : float
        Largest error of the quadrature.
    bound : ndarray of shape (n, d)
        Coherent upper bound for every prior on [-1, 1].
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
) -> EntryScan:
    """Exact leakage of all entries of a table through the projected release.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Data in [-1, 1].
    y : array_like of shape (n,) or None
        Responses; None audits the release of ``S X + sigma N`` alone.
    epsilon : float
        Claimed budget in bits.
    n_components : int
        Rows n' of the release.
    as_printed : bool, default=False
        Whether the noise is that of (13), held at its value for the table as it is.
    nodes : int, default=32
        Nodes per dimension of the quadrature.

    Returns
    -------
    EntryScan
        All n d entries.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Setting an entry to -1 or 1 never lowers its column's energy floor (the entry becomes the
    largest, and what remains is the energy of the others), so every pair of neighbours lies in the
    class over which the proof of Lemma 2 takes its supremum. Where (13) gives no noise for the
    table it gives none for them, and holding it fixed changes nothing.

    Examples
    --------
    >>> X, y = scaled_table("diabetes")
    >>> scan = scan_entries(X, y, epsilon=0.5, n_components=40, as_printed=True)
    >>> scan.variance, round(scan.largest, 2)
    (0.0, 0.95)
    """
    variance = projection_variance(
        X, epsilon=epsilon, n_components=n_components, as_printed=as_printed
    )
    channel = entry_channels(X, y, variance=variance)
    bits, error = binary_leakage(channel, n_components=n_components, nodes=nodes)
    bound = coherent_bound(channel, n_components=n_components)
    return EntryScan(float(epsilon), variance, bits, float(error.max()), bound)


@dataclass(frozen=True)
class UniformScan:
    """Leakage of sampled entries of one uniform table.

    Attributes
    ----------
    n_records, n_components : int
    variance : float
        Noise variance.
    bits, bound, distance : ndarray of shape (rows, d)
        Exact leakage of a fair +-1 entry, coherent bound, total variation between -1 and 1.
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
) -> UniformScan:
    """Leakage of all entries of some rows of the paper's synthetic data.

    Parameters
    ----------
    n_records : int
        Rows n of the data, more than ``n_features``.
    n_components : int
        Rows n' of the release.
    epsilon : float, default=0.5
        Claimed budget in bits.
    n_features : int, default=800
        Columns d.
    n_rows : int, default=3
        Rows whose d entries are audited.
    as_printed : bool, default=True
        Noise (13), or the repaired one.
    rng : numpy.random.Generator
        Source of X uniform on [-1, 1], of normal coefficients and of unit noise in y.

    Returns
    -------
    UniformScan

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> scan = uniform_scan(200, n_components=60, n_features=20, rng=stream(0, "doc", "data"))
    >>> scan.bits.shape
    (3, 20)
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
    channel = entry_channels(check_finite_array("X", X), y, variance=variance, rows=rows)
    bits, _ = binary_leakage(channel, n_components=n_components, nodes=24)
    bound = coherent_bound(channel, n_components=n_components)
    distance = binary_total_variation(channel, n_components=n_components)
    return UniformScan(n, n_components, variance, bits, bound, distance)
