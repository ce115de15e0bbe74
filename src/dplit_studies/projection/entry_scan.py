"""Leakage of every entry of real tables, and of the paper's uniform data, printed and repaired."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits

from dplit._checks import Array, check_integer, check_rng
from dplit.entries.privacy import additive_sigma
from dplit.notebook.datasets.classification import scaled_table
from dplit.papers.projection.calibration import printed_variance, projection_variance
from dplit.papers.projection.channels import _pair_bits
from dplit.papers.projection.leakage import (
    EntryChannel,
    _entry_factors,
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
)
from dplit.papers.projection.regression import column_energy_floor
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
    rng: np.random.Generator,
) -> _UniformScan:
    """Leakage of the entries of three rows, noise (13): normal coefficients, unit noise."""
    n, d = check_integer("n_records", n_records), check_integer("n_features", n_features)
    if n <= d + 1:
        raise ValueError(f"n_records must exceed n_features + 1, got {n} and {d}")
    X = check_rng(rng).uniform(-1.0, 1.0, (n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    variance = printed_variance(X, epsilon=epsilon, n_components=n_components)
    channel = entry_channels(X, y, variance=variance, rows=np.arange(3))
    bits, _ = binary_leakage(channel, n_components=n_components, nodes=24)
    bound = coherent_bound(channel, n_components=n_components)
    distance = binary_total_variation(channel, n_components=n_components)
    return _UniformScan(n, n_components, variance, bits, bound, distance)


#: Projected rows of a sweep, over the number from which (13) adds noise, rounded away from it.
MULTIPLES = (0.25, 0.5, 1.0, 1.05, 1.1, 1.2, 1.3, 2.0)


@dataclass(frozen=True)
class _Sweep:
    """Share of drawn +-1 entries that leak more than the budget, by budget and :data:`MULTIPLES`.

    ``components`` are the numbers of projected rows, ``printed`` the shares with (13),
    ``repaired`` those of the repaired noise at the first budget; ``floor`` is f^2.
    """

    components: NDArray[np.int64]
    budgets: tuple[float, ...]
    n_entries: int
    floor: float
    printed: Array
    repaired: Array


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


def _share_above(
    X: Array, y: Array, chosen: NDArray[np.int64], budget: float, rows: int, noise: float
) -> float:
    channel = EntryChannel(*(np.ravel(p)[chosen] for p in entry_channels(X, y, variance=noise)))
    return float(np.mean(_pair_bits(_entry_factors(channel, -1.0, 1.0), rows, 24) > budget))


def leak_sweeps(*, budgets: tuple[float, ...], n_entries: int, seed: int) -> dict[str, _Sweep]:
    """Share of leaking entries of four tables, about the f^2 (2^(2 epsilon) - 1) rows of (13).

    "cancer", "diabetes", "digits" and "uniform"; the same ``n_entries`` of a table everywhere.
    """
    rng = stream(seed, "proj-beyond-scan-sweep", "data")
    found = {}
    for name, (X, y) in _sweep_tables(rng).items():
        chosen = rng.choice(X.size, check_integer("n_entries", n_entries), replace=False)
        floor = column_energy_floor(X, squared=True)
        share = [additive_sigma(epsilon=e) ** 2 for e in budgets]  # of the noise, per row
        sizes = np.outer(floor / np.array(share), MULTIPLES)
        components = np.where(np.array(MULTIPLES) > 1.0, np.ceil(sizes), sizes).astype(int)
        above = partial(_share_above, X, y, chosen)
        lines = zip(budgets, share, components.tolist(), strict=True)
        every = [[above(e, n, max(n * v - floor, 0.0)) for n in line] for e, v, line in lines]
        repaired = [above(budgets[0], n, n * share[0]) for n in components[0].tolist()]
        found[name] = _Sweep(
            components, budgets, n_entries, floor, np.array(every), np.array(repaired)
        )
    return found
