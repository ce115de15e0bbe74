"""Leakage through near-duplicate columns and through outlying responses: full-rank examples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_interval,
    check_rng,
)
from dplit.projection.leakage import (
    EntryChannel,
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
    single_entry,
)
from dplit.projection.levels import levels_leakage
from dplit.projection.projection import printed_variance

__all__ = ["NearDuplicate", "near_duplicate_audit", "near_duplicate_columns", "outlier_leakage"]

_Array = NDArray[np.float64]


def near_duplicate_columns(
    n_records: int, *, redrawn: float, alice: float = -1.0, rng: np.random.Generator
) -> _Array:
    """Two uniform columns: the second copies the first but for Alice and a share of redrawn rows.

    Parameters
    ----------
    n_records : int
        Rows n, at least 3. Row 0 is Alice's; her first entry is set to 0.
    redrawn : float
        Share of rows whose second entry is drawn anew, in (0, 1).
    alice : float, default=-1
        Alice's second entry, clipped to [-1, 1].
    rng : numpy.random.Generator
        Source of the data.

    Returns
    -------
    ndarray of shape (n_records, 2)
        Of full rank, with and without Alice's row.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X = near_duplicate_columns(100, redrawn=0.02, rng=stream(0, "doc", "data"))
    >>> int(np.sum(X[:, 0] != X[:, 1]))
    3
    """
    n = check_integer("n_records", n_records, minimum=3)
    count = max(1, round(check_interval("redrawn", redrawn, 0.0, 1.0) * n))
    check_rng(rng)
    column = rng.uniform(-1.0, 1.0, n)
    X = np.column_stack([column, column])
    X[1 : 1 + count, 1] = rng.uniform(-1.0, 1.0, count)
    X[0] = 0.0, float(np.clip(alice, -1.0, 1.0))
    return X


class NearDuplicate(NamedTuple):
    """Audit of one draw: printed variance (largest over the grid), bits, their error, TV(-1, 1)."""

    variance: float
    bits: float
    error: float
    total_variation: float


def near_duplicate_audit(
    n_records: int,
    *,
    redrawn: float,
    epsilon: float,
    n_components: int,
    alice: float = -1.0,
    rng: np.random.Generator,
    n_draws: int = 1000,
) -> NearDuplicate:
    """Leakage of Alice's entry on a grid of nine values, from ``S X`` alone.

    Parameters
    ----------
    n_records, redrawn, alice, rng
        As in :func:`near_duplicate_columns`; the same generator serves the Monte-Carlo draws.
    epsilon : float
        Claimed budget in bits.
    n_components : int
        Rows n' of the release.
    n_draws : int, default=1000
        Draws per value and pass.

    Returns
    -------
    NearDuplicate
        With the prior optimised on draws of its own; the bits are unbiased.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> audit = near_duplicate_audit(300, redrawn=0.02, epsilon=0.5, n_components=90,
    ...                              rng=stream(0, "doc", "data"), n_draws=500)
    >>> bool(audit.bits > 0.5), audit.variance
    (True, 0.0)
    """
    X = near_duplicate_columns(n_records, redrawn=redrawn, alice=alice, rng=rng)
    levels = np.linspace(-1.0, 1.0, 9)
    largest = 0.0
    for level in levels:
        X[0, 0] = level
        largest = max(largest, printed_variance(X, epsilon=epsilon, n_components=n_components))
    channel = single_entry(X, None, variance=largest, row=0, column=0)
    bits = levels_leakage(
        channel, levels, n_components=n_components, rng=rng, n_draws=n_draws, optimise=True
    )
    distance = float(binary_total_variation(channel, n_components=n_components))
    return NearDuplicate(largest, bits.value, bits.error, distance)


def outlier_leakage(
    responses: ArrayLike,
    *,
    epsilon: float = 0.5,
    n_records: int = 200,
    n_features: int = 3,
    n_components: int = 50,
    rng: np.random.Generator,
) -> tuple[_Array, float, float]:
    """Leakage of an entry of row 1 as the response of row 1 grows.

    Parameters
    ----------
    responses : array_like of shape (m,)
        Values of y_1; the other responses are standard normal, X is uniform on [-1, 1].
    epsilon : float, default=0.5
        Claimed budget in bits.
    n_records, n_features, n_components : int
        Sizes n, d, n'.
    rng : numpy.random.Generator
        Source of the data.

    Returns
    -------
    bits : ndarray of shape (m,)
        Leakage of a fair +-1 entry under the printed variance.
    bound : float
        The coherent bound for the same data.
    variance : float
        The printed variance.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> bits, bound, _ = outlier_leakage([0.0, 1000.0], rng=stream(0, "doc", "data"))
    >>> bool(bits[0] < 0.05 < 0.3 < bits[1] < bound)
    True
    """
    values = np.asarray(check_finite_array("responses", responses, ndim=1), dtype=float)
    n, d = check_integer("n_records", n_records), check_integer("n_features", n_features)
    m = check_integer("n_components", n_components)
    X, y = check_rng(rng).uniform(-1.0, 1.0, (n, d)), rng.standard_normal(n)
    variance = printed_variance(X, epsilon=epsilon, n_components=m)
    bits = []
    for value in values:
        y[0] = value
        channel = entry_channels(X, y, variance=variance)
        first = EntryChannel(*(part[0, 0] for part in channel))
        bits.append(float(binary_leakage(first, n_components=m)[0]))
    bound = float(coherent_bound(first, n_components=m))
    return np.array(bits), bound, variance
