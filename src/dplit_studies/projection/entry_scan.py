"""Leakage of every entry of real tables, and of the paper's uniform data, printed and repaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.datasets import load_digits

from dplit._checks import Array, check_integer, check_rng
from dplit.datasets.classification import scaled_table
from dplit.projection.information import _pair_bits, fixed_variance
from dplit.projection.leakage import (
    EntryChannel,
    _entry_factors,
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
)
from dplit.projection.projection import projection_variance
from dplit.projection.regression import column_energy_floor
from dplit.streams import stream


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
    X: ArrayLike, y: ArrayLike | None, *, epsilon: float, n_components: int,
    as_printed: bool = False, nodes: int = 32,
) -> _EntryScan:  # fmt: skip
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
    n_records: int, *, n_components: int, epsilon: float = 0.5, n_features: int = 800,
    n_rows: int = 3, as_printed: bool = True, rng: np.random.Generator,
) -> _UniformScan:  # fmt: skip
    """Leakage of the entries of ``n_rows`` rows of data with normal coefficients, unit noise."""
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


@dataclass(frozen=True)
class _Sweep:
    """Share of drawn +-1 entries that leak more than the budget, against n'; ``floor`` is f^2.

    ``every`` has a row per budget, with (13); ``printed`` and ``repaired`` are at the first budget.
    """

    components: tuple[int, ...]
    budgets: tuple[float, ...]
    n_entries: int
    floor: float
    every: Array
    repaired: Array

    @property
    def printed(self) -> Array:
        """Shares with (13) at the first budget."""
        return np.asarray(self.every[0])


def _sweep_tables(rng: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Return four tables in [-1, 1]; the digits, even against odd, without constant pixels."""
    pixels, digit = load_digits(return_X_y=True)
    pixels = pixels[:, np.ptp(pixels, axis=0) > 0]
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    uniform = rng.uniform(-1.0, 1.0, (569, 30))
    return {
        "cancer": scaled_table("breast_cancer"),
        "diabetes": scaled_table("diabetes"),
        "digits": (2 * (pixels - low) / (high - low) - 1, np.where(digit % 2 == 0, 1.0, -1.0)),
        "uniform": (uniform, uniform @ rng.standard_normal(30) + rng.standard_normal(569)),
    }


def leak_sweeps(
    *, budgets: tuple[float, ...], n_entries: int, seed: int,
    components: tuple[int, ...] = (10, 20, 40, 60, 65, 70, 80, 100, 200, 400, 780, 840, 1000),
) -> dict[str, _Sweep]:  # fmt: skip
    """Share of leaking entries of four tables against n' and budget, with (13), and repaired.

    "cancer", "diabetes", "digits" and "uniform"; the same ``n_entries`` of a table everywhere.
    """
    rng = stream(seed, "proj-beyond-scan-sweep", "data")
    found = {}
    for name, (X, y) in _sweep_tables(rng).items():
        chosen = rng.choice(X.size, check_integer("n_entries", n_entries), replace=False)
        every, repaired = np.empty((len(budgets), len(components))), np.empty(len(components))
        floor = column_energy_floor(X) ** 2
        for k, n in enumerate(components):
            safe = [fixed_variance(epsilon=e, n_components=n) for e in budgets]
            known: dict[float, Array] = {}
            for variance in {*(max(c - floor, 0.0) for c in safe), safe[0]}:
                parts = entry_channels(X, y, variance=variance)
                channel = EntryChannel(*(np.ravel(part)[chosen] for part in parts))
                known[variance] = _pair_bits(_entry_factors(channel, -1.0, 1.0), n, 24)
            leaks = [known[max(c - floor, 0.0)] for c in safe]
            every[:, k] = [np.mean(b > e) for b, e in zip(leaks, budgets, strict=True)]
            repaired[k] = np.mean(known[safe[0]] > budgets[0])
        found[name] = _Sweep(components, budgets, n_entries, floor, every, repaired)
    return found
