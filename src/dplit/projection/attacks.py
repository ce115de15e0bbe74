"""Reading one entry of X off a projected release, and data on which the printed release leaks.

The adversary of the definition knows every other entry, y and the noise variance; it takes the most
likely value. In the counterexamples the other columns and y share S with the column in question,
and the printed noise variance is itself a function of the entry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_rng,
)
from dplit.projection.information import _Bits, scale_information
from dplit.projection.leakage import (
    EntryChannel,
    _filtered_entry,
    _levels_leakage,
    _log_likelihoods,
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
    single_entry,
)
from dplit.projection.projection import ProjectionRelease, printed_variance, release_projection


def rms_attack(release: ProjectionRelease) -> float:
    """Size of the entry by which two columns differ: root mean square of their difference."""
    Z = np.asarray(release.X)
    if Z.ndim != 2 or Z.shape[1] != 2:
        raise ValueError(f"release.X must have 2 columns, got shape {Z.shape}")
    return float(np.sqrt(np.mean((Z[:, 0] - Z[:, 1]) ** 2)))


def rms_attack_quantiles(size: float, probabilities: ArrayLike, *, n_components: int) -> Array:
    r"""Quantiles of :func:`rms_attack` without noise: its law is :math:`|x|\chi_{n'}/\sqrt{n'}`."""
    n = check_integer("n_components", n_components)
    p = np.asarray(check_finite_array("probabilities", probabilities), dtype=float)
    return np.asarray(check_nonnegative("size", size) * chi.ppf(p, n) / np.sqrt(n))


def _whitened_gram(
    release: ProjectionRelease, X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int,
    column: int,
) -> tuple[EntryChannel, Array]:  # fmt: skip
    """Channel of an entry, and the Gram matrix of ``W a`` and ``W b``, W the whitened release.

    It is a sufficient statistic from what the adversary knows: the entry itself is not read.
    Without y the released responses are ignored.
    """
    channel, filters = _filtered_entry(X, y, variance=variance, row=row, column=column)
    Z = release.X if y is None else np.column_stack([release.X, release.y])
    seen = np.asarray(Z) @ filters  # (n', 2): W a and W b
    return channel, np.asarray(seen.T @ seen)


def likeliest_entry(
    release: ProjectionRelease, X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int,
    column: int, levels: ArrayLike,
) -> float:  # fmt: skip
    """The candidate of ``levels`` (m,) that is most likely as one entry, given everything else."""
    candidates = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    channel, gram = _whitened_gram(release, X, y, variance=variance, row=row, column=column)
    logs = _log_likelihoods(channel, candidates, gram, n_components=len(np.asarray(release.X)))
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
    data = np.array(check_finite_array("X", X, ndim=2), dtype=float)
    values = np.asarray(check_finite_array("truth", truth, ndim=1), dtype=float)
    count = check_integer("n_trials", n_trials)
    check_rng(rng)
    guesses = np.empty((len(values), count))
    for k, value in enumerate(values):
        data[row, column] = value
        for trial in range(count):
            release = release_projection(
                data, y, n_components=n_components, variance=variance, rng=rng
            )
            guesses[k, trial] = likeliest_entry(
                release, data, y, variance=variance, row=row, column=column, levels=levels
            )
    return _AttackedEntry(values, guesses)


def paired_columns(x: float, *, n_records: int = 3) -> Array:
    """Two columns that agree except in row 1, where they hold x and 0; all else is 1.

    The released columns differ by ``s_1 x``, and f^2 is n - 2, for every x in [-1, 1].
    """
    n = check_integer("n_records", n_records, minimum=3)
    X = np.ones((n, 2))
    X[0] = _entry(x), 0.0
    return X


def single_column(x: float, *, n_records: int = 3) -> tuple[Array, Array]:
    """One column (x, 1, ..., 1) and the responses (0, 1, ..., 1): ``S X - S y = s_1 x``."""
    both = paired_columns(x, n_records=n_records)
    return both[:, :1], both[:, 1]


def _entry(x: float) -> float:
    if check_nonnegative("abs(x)", abs(x)) > 1:
        raise ValueError(f"x must be in [-1, 1], got x={x!r}")
    return float(x)


def shared_sketch_leakage(levels: ArrayLike, *, n_components: int = 1) -> _Bits:
    """Bits on the entry x of :func:`paired_columns` or :func:`single_column`, without noise.

    ``levels`` are its nonzero values, equally likely: the differences of the two released columns
    show the scale :math:`x^2` through n' Gaussian samples.

    >>> round(shared_sketch_leakage([1.0, 0.1]).value, 3)
    0.625
    """
    values = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    if np.any(values == 0):
        raise ValueError("levels must not be zero: x = 0 would be recognised with certainty")
    return scale_information(values**2, n_samples=n_components)


def collinear_bystanders(square: float, *, small: float = 1e-3) -> Array:
    """A table (25, 3) whose collinear bystanders reveal the printed variance, by ``square`` = x^2.

    Column 1 has x and ten ones, column 2 thirteen ones elsewhere, column 3 the same and ``small``
    in the last row. With n' = 10 and half a bit (13) gives :math:`1-x^2`, and the difference of
    columns 2 and 3 has the variance :math:`small^2+2(1-x^2)`.
    """
    value = check_nonnegative("square", square)
    X = np.zeros((25, 3))
    X[0, 0] = _entry(float(np.sqrt(value)))
    X[1:11, 0] = 1.0
    X[11:24, 1:] = 1.0
    X[24, 2] = check_positive("small", small)
    return X


def disjoint_columns(square: float, *, ones: int, n_features: int) -> Array:
    """Columns with disjoint supports: the shared S plays no role, the printed variance does.

    Each has m = ``ones`` ones; column 1 has one fewer, and x with :math:`x^2` = ``square``. (13)
    gives :math:`c+2-m-x^2` (if positive), which every other column shows.
    """
    m = check_integer("ones", ones, minimum=2)
    d = check_integer("n_features", n_features, minimum=2)
    X: Array = np.kron(np.eye(d), np.ones((m, 1))).astype(np.float64)
    X[0, 0] = _entry(float(np.sqrt(check_nonnegative("square", square))))
    return X


def scale_leakage(
    tables: list[Array], weights: ArrayLike, *, epsilon: float, n_components: int
) -> _Bits:
    """Bits that columns without the entry give, because the printed variance depends on it.

    ``tables`` are the data for each value of the entry, equally likely; rows of ``weights`` (d,) or
    (m, d) combine columns other than the first, orthogonal in the released covariance and of equal
    variance. A lower bound on the leakage of the whole release.

    >>> tables = [collinear_bystanders(1.0 - gap) for gap in (1.0, 1e-2)]
    >>> round(scale_leakage(tables, [0, 1, -1], epsilon=0.5, n_components=10).value, 2)
    1.0
    """
    W = np.atleast_2d(np.asarray(check_finite_array("weights", weights), dtype=float))
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


def _near_duplicate_columns(
    n_records: int, *, redrawn: float, alice: float = -1.0, rng: np.random.Generator
) -> Array:
    """Two uniform columns: the second copies the first but for Alice and a share of redrawn rows.

    Row 0 is Alice's: her first entry is 0, her second ``alice``, clipped to [-1, 1].
    """
    n = check_integer("n_records", n_records, minimum=3)
    count = max(1, round(check_interval("redrawn", redrawn, 0.0, 1.0) * n))
    check_rng(rng)
    column = rng.uniform(-1.0, 1.0, n)
    X = np.column_stack([column, column])
    X[1 : 1 + count, 1] = rng.uniform(-1.0, 1.0, count)
    X[0] = 0.0, float(np.clip(alice, -1.0, 1.0))
    return X


class _NearDuplicate(NamedTuple):
    """Audit of one draw: printed variance (largest over the grid), bits, their error, TV(-1, 1)."""

    variance: float
    bits: float
    error: float
    total_variation: float


def near_duplicate_audit(
    n_records: int, *, redrawn: float, epsilon: float, n_components: int, alice: float = -1.0,
    rng: np.random.Generator, n_draws: int = 1000,
) -> _NearDuplicate:  # fmt: skip
    """Leakage of Alice's entry on a grid of nine values, from ``S X`` alone.

    The prior is optimised on ``n_draws`` draws per value of its own: the bits are unbiased.
    """
    X = _near_duplicate_columns(n_records, redrawn=redrawn, alice=alice, rng=rng)
    levels = np.linspace(-1.0, 1.0, 9)
    largest = 0.0
    for level in levels:
        X[0, 0] = level
        largest = max(largest, printed_variance(X, epsilon=epsilon, n_components=n_components))
    channel = single_entry(X, None, variance=largest, row=0, column=0)
    bits = _levels_leakage(
        channel, levels, n_components=n_components, rng=rng, n_draws=n_draws, optimise=True
    )
    distance = float(binary_total_variation(channel, n_components=n_components))
    return _NearDuplicate(largest, bits.value, bits.error, distance)


def outlier_leakage(
    responses: ArrayLike, *, epsilon: float = 0.5, n_records: int = 200, n_features: int = 3,
    n_components: int = 50, rng: np.random.Generator,
) -> tuple[Array, float, float]:  # fmt: skip
    """Leakage of a fair +-1 entry of row 1 as its response grows: bits (m,), bound, variance.

    Under the printed noise; X is uniform, the other responses standard normal, the bound coherent.
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
