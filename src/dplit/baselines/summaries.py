"""Releases from records that no machine holds at once: exact second moments, which add.

A summary is a matrix of whole numbers, the second moments of records and labels on a public grid,
so that its bits depend on no partition, worker or order. It is as secret as the records.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from dplit._checks import (
    Array,
    check_integer,
    check_interval,
    check_neighboring,
    check_positive,
    check_probability,
    check_real_array,
    quiet,
)
from dplit._estimators import clip_rows, fitting, spawn_generators, state_guarantee
from dplit._numerics.exact import gram_rounding, grid_rows, grid_values
from dplit._records import label_numbers
from dplit.baselines.adaptive import _LEAST, AdaSSPRegressor, _budget_of, _three_releases
from dplit.baselines.linear import (
    _LEAST_WEIGHT,
    _SHARE,
    PrivateMoments,
    SufficientStatisticsRegressor,
    _ClippedLinearRegressor,
    _ridge,
    _warn_of_noise,
    moment_sensitivity,
)
from dplit.baselines.reading import (
    BATCH_ROWS,
    check_columns,
    check_fill,
    fingerprints,
    parts_of,
    read,
)
from dplit.features.hats import HatFeatures, HatMap
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.mechanisms.draws import record_draw

#: Rows whose moments are added at a time: what is made of them stays in the second-level cache.
_BLOCK = 1 << 14

#: Records up to which totals of squares of 16 bits stay in 64-bit integers.
_MOST_RECORDS = 1 << 30

#: Gap to a bound, or in steps to half of one, beyond which no rounding can decide whether a row is
#: clipped or where an entry goes.
_GAP = 1e-9


class Grid(Protocol):
    """How records and labels become whole numbers of at most 16 bits; public and comparable."""

    def __call__(self, columns: Sequence[Array], labels: Array) -> Array:
        """Return whole numbers (q, n) of ``columns``, each (n,), and in the last row the labels."""


@dataclass(frozen=True)
class MomentGrid:
    """The grid of :func:`~dplit.baselines.sufficient_statistics`, for unit records.

    Parameters
    ----------
    norm, low, high : float
        Norm to which rows are clipped, and the bounds of the labels.
    intercept : bool
        Whether a constant stands behind the columns.
    hats : tuple or None
        ``(n_hats, lowest, highest, indicators)`` of the features that stand before the rows.
    """

    norm: float
    low: float
    high: float
    intercept: bool
    hats: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, model: Any, n_columns: int) -> MomentGrid:
        """Return the grid of a regressor, or of a pipeline of hat features and a regressor."""
        steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        features, regressor = steps[:-1], steps[-1]
        known = isinstance(regressor, (SufficientStatisticsRegressor, AdaSSPRegressor))
        if not known or len(features) > 1 or not all(type(f) is HatFeatures for f in features):
            raise TypeError(
                "model must be a SufficientStatisticsRegressor, an AdaSSPRegressor, or a pipeline "
                f"of HatFeatures and one of them, got model={model!r}"
            )
        regressor._limits()  # checks them
        low_label, high_label = map(float, regressor.bounds)
        given = None
        if features:
            hats = features[0]
            HatMap.of(hats.n_hats, hats.box, hats.indicators, n_columns)  # checks them
            low, high = (np.broadcast_to(np.asarray(e, float), n_columns) for e in hats.box)
            groups = tuple(tuple(map(int, group)) for group in hats.indicators)
            given = (int(hats.n_hats), tuple(low.tolist()), tuple(high.tolist()), groups)
        return cls(
            float(regressor.data_norm), low_label, high_label, bool(regressor.fit_intercept), given
        )

    def __call__(self, columns: Sequence[Array], labels: Array) -> Array:
        """Return whole numbers (q, n): unit records, with a constant if there is one, and labels.

        They are those of the estimator to the bit: rows that are longer than a bound, or so near
        that rounding could decide, are clipped as it clips.
        """
        if self.hats is not None:
            knots, low, high, groups = self.hats
            box = np.array(low), np.array(high)
            rows = HatMap.of(knots, box, groups, len(columns))(np.column_stack(columns))
            columns = np.ascontiguousarray(rows.T)  # type: ignore[assignment]
        d, ones = len(columns), int(self.intercept)
        step, root = grid_rows(np.zeros((1, d + ones)), 1.0)[1], np.sqrt(2.0) if ones else 1.0
        out, square = np.empty((d + ones + 1, len(labels))), np.zeros(len(labels))
        held = np.empty((2, len(labels)))
        scale = 1.0 / (self.norm * step * root) if 1e-290 < self.norm < 1e290 else math.nan
        for row, column in zip(out, columns, strict=False):
            near = np.multiply(column, scale, out=held[0])  # by 4 roundings from the estimator's
            square += np.multiply(near, near, out=held[1])
            np.rint(near, out=row)
            near -= row
            if not max(near.max(), -near.min()) < 0.5 - _GAP:
                np.rint(column / self.norm / root / step, out=row)
        square *= (root * step) ** 2
        if ones:
            out[d] = np.rint(1.0 / np.sqrt(2.0) / step)
        inner = (1.0 - (math.sqrt(d + ones) / 2.0 + 1.0) * step) ** 2 * (1.0 - _GAP)
        long = np.flatnonzero(~(square <= (2.0 * inner - 1.0 if ones else inner)))
        if len(long):
            rows = np.column_stack([column[long] for column in columns])
            unit = clip_rows(rows, self.norm) / self.norm
            unit = np.hstack([unit, np.ones((len(unit), ones))]) / root
            out[:-1, long] = grid_rows(unit, 1.0)[0].T
        middle, half = self.low / 2 + self.high / 2, self.high / 2 - self.low / 2
        inside = np.clip(labels, middle - half, middle + half)
        out[-1] = grid_values(np.clip((inside - middle) / half, -1.0, 1.0), 1.0)[0]
        return out


@dataclass(frozen=True)
class Facts:
    """What a summary was made with: public, and equal in all that are merged.

    Attributes
    ----------
    columns : tuple of str
    target : str
    named : bool
        Whether the columns have names of their own.
    fill : tuple of (str, float)
        What missing values count as.
    group : str or None
        The column of persons.
    rows_each : int or None
        Records of a person that count, at most.
    grid : Grid
    """

    columns: tuple[str, ...]
    target: str
    named: bool
    fill: tuple[tuple[str, float], ...]
    group: str | None
    rows_each: int | None
    grid: Grid


@dataclass(frozen=True, eq=False)
class Summary:
    """Exact moments of some records, as secret as these; it can be pickled, kept and merged.

    Attributes
    ----------
    facts : Facts
        The public facts that it was made with.
    gram : ndarray of shape (q, q)
        Second moments of records and labels in int64, in squared steps of the grid.
    count : int
        Number of records in it.
    ends : tuple of int
        Least and largest label in steps; (1, -1) of none.
    persons : ndarray or None
        Whose records these are, sorted, where there is a column of persons.
    labels : int
        Number of records in it that have a label; the others add nothing but to ``count``.
    made : frozenset of str
        What the calls that made it are told by, and digests of the places, lengths and times of the
        files that they read: the same records twice are refused where one of these is met twice.
    """

    facts: Facts
    gram: NDArray[np.int64] = field(repr=False)
    count: int = field(repr=False)
    ends: tuple[int, int] = field(repr=False)
    persons: NDArray[Any] | None = field(default=None, repr=False)
    labels: int = field(default=0, repr=False)
    made: frozenset[str] = field(default=frozenset(), repr=False)

    def merge(self, other: Summary) -> Summary:
        """Return the summary of the records of both, which must be different records.

        Raises
        ------
        ValueError
            If the two were made with unlike public facts, or in part by one call or from one file
            (copies of a summary know it, copies of a file do not); or a person has records in
            both: which of these count can be told from all of them alone, in one call of
            :func:`summarise`.
        """
        return merge_summaries([self, other])


def merge_summaries(summaries: Iterable[Summary]) -> Summary:
    """Return the summary of all records of disjoint parts, in any order, to the same bits.

    Parameters
    ----------
    summaries : iterable of Summary
        At least one, made with the same public facts.

    Returns
    -------
    Summary
    """
    found = list(summaries)
    if not found or not all(isinstance(part, Summary) for part in found):
        raise TypeError("summaries must be summaries, at least one")
    facts = found[0].facts
    for part in found[1:]:
        for name, value in vars(facts).items():
            if vars(part.facts)[name] != value:
                raise ValueError(
                    f"summaries must have the same public facts, got {name}={value!r} and "
                    f"{name}={vars(part.facts)[name]!r}"
                )
    made: frozenset[str] = frozenset().union(*(part.made for part in found))
    if len(made) < sum(len(part.made) for part in found):
        raise ValueError(
            "summaries must be of different records, and two of them are of one call or one file: "
            "each record would count twice; nothing is merged"
        )
    count = sum(part.count for part in found)
    if count > _MOST_RECORDS:
        raise ValueError(f"summaries must hold at most {_MOST_RECORDS} records together")
    spans = [part.ends for part in found if part.labels] or [(1, -1)]
    ends = min(low for low, _ in spans), max(high for _, high in spans)
    everyone = None
    if facts.group is not None:
        everyone = _sorted([part.persons for part in found])
        if (everyone[1:] == everyone[:-1]).any():
            raise ValueError(
                "summaries must not share a person, whose records must be summarised in one call; "
                "nothing is merged"
            )
    gram = functools.reduce(np.add, (part.gram for part in found))
    labels = sum(part.labels for part in found)
    return Summary(facts, gram, count, ends, everyone, labels, made)


def _sorted(persons: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Return all persons of some parts in order; those without one have no type."""
    held = [part for part in persons if part is not None and len(part)]
    if len({part.dtype for part in held}) > 1:
        raise TypeError("persons must be integers in all parts, or texts in all")
    return np.sort(np.concatenate(held)) if held else np.empty(0, np.int64)


def _add(
    facts: Facts, blocks: Iterable[tuple[Array, NDArray[np.bool_]]],
    persons: NDArray[Any] | None = None,
) -> Summary:  # fmt: skip
    """Return the summary of blocks of whole numbers (q, n), each of few enough for float64, with
    which of the records have a label.
    """
    gram: Any = np.int64(0)
    count, labels, low, high = 0, 0, 1 << 30, -(1 << 30)
    for block, known in blocks:
        gram = gram + (block @ block.T).astype(np.int64)
        count += block.shape[1]
        labels += int(known.sum())
        low = int(block[-1].min(initial=low, where=known))
        high = int(block[-1].max(initial=high, where=known))
    if count == 0:  # the shape is public
        width = len(facts.grid([np.zeros(1)] * len(facts.columns), np.zeros(1)))
        return Summary(facts, np.zeros((width, width), np.int64), 0, (1, -1), persons)
    ends = (low, high) if labels else (1, -1)
    return Summary(facts, np.asarray(gram), count, ends, persons, labels)


@quiet
def _on_grid(grid: Grid, columns: Sequence[Array]) -> tuple[Array, NDArray[np.bool_]]:
    """Return whole numbers (q, n), zeros where there is no label, and which records have one."""
    known = ~np.isnan(columns[-1])
    block = grid(columns[:-1], np.where(known, columns[-1], 0.0))
    block[:, ~known] = 0.0
    return block, known


def _grid_blocks(part: Any, facts: Facts, size: int) -> Iterable[tuple[Any, ...]]:
    """Yield whole numbers (q, n) of a part's records, which have a label, and their persons."""
    names, told = (*facts.columns, facts.target), {"group": facts.group, "target": facts.target}
    for columns, people in read(part, names, dict(facts.fill), size=size, **told):
        for at in range(0, len(columns[-1]), _BLOCK):
            cut = slice(at, at + _BLOCK)
            block = _on_grid(facts.grid, [column[cut] for column in columns])
            yield *block, None if people is None else people[cut]


def _part_summary(part: Any, facts: Facts, size: int) -> Summary:
    """Return the summary of one part without persons."""
    return _add(facts, ((block, known) for block, known, _ in _grid_blocks(part, facts, size)))


# Persons: at most so many of the records of each count, chosen by these records alone.


def _scrambled(rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a public hash of each record, column (q, n) by column, which decides who is first."""
    mixed = np.zeros(rows.shape[1], np.uint64)
    for row in rows:
        mixed = (mixed ^ row.astype(np.int64).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


def _chosen(codes: NDArray[Any], rows: NDArray[np.int32], most: int) -> NDArray[np.intp]:
    """Return which records (q, n) of persons (n,) count: of each the first ``most`` by their hash.

    A record of a person counts or not whatever the records of others are, and in any order;
    records of one hash are in the order of their entries, and equal ones are interchangeable.
    """
    mixed = _scrambled(rows)
    order = np.lexsort((mixed, codes))
    before, after = order[:-1], order[1:]
    even = (codes[before] == codes[after]) & (mixed[before] == mixed[after])
    if (rows[:, before[even]] != rows[:, after[even]]).any():
        order = np.lexsort((*rows, mixed, codes))
    people = codes[order]
    first = np.flatnonzero(np.r_[True, people[1:] != people[:-1]][: len(people)])
    rank = np.arange(len(people)) - np.repeat(first, np.diff(np.r_[first, len(people)]))
    return np.asarray(order[rank < most])


def _people(part: Any, facts: Facts, size: int) -> NDArray[Any]:
    """Return who has records in a part, sorted: a first pass that reads no other column."""
    held: list[Any] = [who for _, who in read(part, (), {}, group=facts.group, size=size)]
    return np.unique(np.concatenate(held)) if held else np.empty(0, np.int64)


def _person_summary(
    part: Any, facts: Facts, size: int, shared: NDArray[Any]
) -> tuple[Summary, list[tuple[NDArray[Any], NDArray[np.int32]]]]:
    """Return the summary of persons who are in this part alone, and what may count of others."""
    held = [
        (np.vstack([block, known]).astype(np.int32), people)
        for block, known, people in _grid_blocks(part, facts, size)
    ]
    if not held:
        return _add(facts, (), np.empty(0, np.int64)), []
    rows, people = np.hstack([r for r, _ in held]), np.concatenate([p for _, p in held])
    return _first_records(rows, people, facts, shared)


def _first_records(
    rows: NDArray[np.int32], people: NDArray[Any], facts: Facts, shared: NDArray[Any]
) -> tuple[Summary, list[tuple[NDArray[Any], NDArray[np.int32]]]]:
    """Add the records that count, but for those of ``shared`` persons, which are returned.

    The last row says which records have a label: of a person only these are chosen from.
    """
    everyone, codes = np.unique(people, return_inverse=True)
    known = rows[-1] > 0
    rows, codes = rows[:, known], codes[known]
    keep = _chosen(codes, rows, facts.rows_each or 1)
    rows, codes = rows[:, keep], codes[keep]
    elsewhere = np.isin(everyone, shared)
    away = elsewhere[codes]
    mine = rows[:-1, ~away]
    cuts = (mine[:, at : at + _BLOCK] for at in range(0, mine.shape[1], _BLOCK))
    blocks = ((cut.astype(np.float64), np.ones(cut.shape[1], bool)) for cut in cuts)
    left = [(everyone[codes[away]], rows[:, away])] if away.any() else []
    return _add(facts, blocks, everyone[~elsewhere]), left


def summarise(
    source: Any,
    model: Any,
    *,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    fill: Mapping[str, float] | None = None,
    group: str | None = None,
    rows_each: int | None = None,
    distributed: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Summary:
    """Exact second moments of a folder of Parquet files: not to be published.

    Parameters
    ----------
    source : path, dask DataFrame, sequence of delayed tables, table, or pair (X, y)
        A Parquet file, or a folder whose files are read at any depth, as
        :func:`~dplit.baselines.reading.files_of` says; what dask computes, part by part; a table of
        pyarrow, pandas or polars, or a mapping of names to columns.
    model : estimator or Grid
        A SufficientStatisticsRegressor or AdaSSPRegressor, or a pipeline of HatFeatures and one of
        them: its public facts (norm, bounds, intercept, knots) say what is added. Or a grid, such
        as ``dplit.projection.summaries.entry_grid`` makes.
    columns, target : sequence of str, and str
        Columns of numbers, in the order of the features, and the one of the labels; None for a
        pair.
    fill : mapping of str to float or None, default=None
        What missing values (null, NaN, None, NA) of a column count as. Where there is none for the
        target, a record without a label contributes nothing; any other missing value is refused.
    group : str or None, default=None
        Column of integers or text that says whose record it is: neighbours differ in a person.
    rows_each : int or None, default=None
        Records of a person that count, at most; must be given with ``group``.
    distributed : bool, default=False
        Whether dask's workers read the row groups of files, on the client or scheduler that is
        active. What is delayed is always theirs.
    batch_rows : int, default=16384
        Rows that are read at a time.

    Returns
    -------
    Summary
        Of the same bits for every partition, order, batch, number of workers and BLAS.

    Raises
    ------
    RuntimeError
        If workers die for good. One that dies once costs time only: its part is read again.

    Notes
    -----
    One pass, in the memory of a batch and of a matrix. With persons it is two: the first reads who
    is in which part. Of each person those ``rows_each`` records count that come first by a public
    hash of their own clipped and rounded values, whatever the records of others and wherever they
    lie; what may count of persons with records in several parts travels to the caller, and each
    part is held as 32-bit numbers.

    Examples
    --------
    >>> from dplit import SufficientStatisticsRegressor
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 4.0), random_state=0)
    >>> parts = [summarise((part, 2.0 + part[:, 0]), model) for part in (X[:9], X[9:])]
    >>> fitted = fit_summary(model, parts[0].merge(parts[1]))
    >>> bool(fitted.coef_ == model.fit(X, 2.0 + X[:, 0]).coef_)
    True
    """
    named = not _is_pair(source)
    if not named:
        source, columns, target = _named(source, columns, target)
    if columns is None or target is None:
        raise ValueError(f"columns and target must be given, got {columns!r} and {target!r}")
    names = check_columns(columns)
    if not isinstance(target, str) or target in names:
        raise ValueError(f"target must be a column that is none of columns, got {target!r}")
    if (group is None) != (rows_each is None):
        raise ValueError(f"rows_each must be given with group, got {group!r} and {rows_each!r}")
    most = None if rows_each is None else check_integer("rows_each", rows_each)
    grid = model if not hasattr(model, "fit") and callable(model) else MomentGrid.of(
        model, len(names)
    )  # fmt: skip
    stated = tuple(sorted(check_fill(fill, (*names, target)).items()))
    facts = Facts(names, target, named, stated, group, most, grid)
    size = check_integer("batch_rows", batch_rows)
    parts, delayed = parts_of(source)
    made = fingerprints(parts) | {os.urandom(16).hex()}
    run = functools.partial(_run, delayed or distributed)
    if group is not None:
        return replace(_summarise_persons(parts, facts, size, run), made=made)
    found = run(_part_summary, [(part, facts, size) for part in parts])
    return replace(merge_summaries(found or [_add(facts, ())]), made=made)


def _summarise_persons(parts: Any, facts: Facts, size: int, run: Callable[..., Any]) -> Summary:
    """Find who has records in several parts, then add those that count."""
    people = run(_people, [(part, facts, size) for part in parts])
    everyone = _sorted(people)
    shared = np.unique(everyone[1:][everyone[1:] == everyone[:-1]])
    told = [shared[np.isin(shared, held)] for held in people]
    tasks = [(part, facts, size, some) for part, some in zip(parts, told, strict=True)]
    done = run(_person_summary, tasks)
    found, left = [summary for summary, _ in done], [row for _, rows in done for row in rows]
    if left:
        rows, whose = np.hstack([r for _, r in left]), np.concatenate([p for p, _ in left])
        found.append(_first_records(rows, whose, facts, shared[:0])[0])
    return merge_summaries(found or [_add(facts, (), np.empty(0, np.int64))])


def _is_pair(source: Any) -> bool:
    return isinstance(source, tuple) and len(source) == 2 and not hasattr(source[0], "dask")


def _named(pair: tuple[ArrayLike, ArrayLike], columns: Any, target: Any) -> tuple[Any, Any, Any]:
    """Return a pair of arrays as named columns."""
    if columns is not None or target is not None:
        raise ValueError("columns and target must be None for a pair of arrays (X, y)")
    X, y = check_real_array("X", pair[0], 2), label_numbers("y", pair[1])
    if y.shape != (len(X),):
        raise ValueError(f"y must have {len(X)} entries, got y of shape {y.shape}")
    names = [f"x{j}" for j in range(X.shape[1])]
    return {**dict(zip(names, X.T, strict=True)), "y": y}, names, "y"


def _work(index: int, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work of one part; an error says which part it was."""
    try:
        return work(*arguments)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"part {index}: {error}; nothing is summarised") from None


def _run(by_dask: bool, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return what the work on each part returns, done here or where dask does it."""
    if not by_dask:
        return [_work(index, work, *task) for index, task in enumerate(tasks)]
    dask: Any = importlib.import_module("dask")
    run = dask.delayed(_work, pure=False)
    later = [run(index, work, *task) for index, task in enumerate(tasks)]
    try:
        return list(dask.compute(*later))
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(f"workers died, nothing is summarised: {error}") from error


# Releases from a summary: what the estimators draw, from the moments that they would add.


def _release(
    summary: Summary, *, epsilon: float, delta: float, neighboring: Any, alpha: float | None,
    rng: np.random.Generator,
) -> PrivateMoments:  # fmt: skip
    """Return what `sufficient_statistics` returns on unit records, at the default of its estimator.

    The k records of a person add to a change of at most k times the one of a record.
    """
    d, each = len(summary.gram) - 1, summary.facts.rows_each or 1
    unit = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=neighboring)
    both = each * (unit + gram_rounding(d * d + d))
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=both)
    step = grid_rows(np.zeros((1, d)), 1.0)[1]
    exact = summary.gram.astype(np.float64)
    second, label = exact[:d, :d], exact[:d, d]
    added = neighboring == "add_remove"
    record_draw(
        "gaussian", "second moments", of=second * step**2, scale=sigma, shape=(d, d),
        sensitivity=each * ((1.0 if added else math.sqrt(2.0)) + gram_rounding(d * d)),
    )  # fmt: skip
    noise = gaussian_noise((d, d), sigma=sigma, rng=rng)
    gram = (second + (noise + noise.T) * (0.5 * (1.0 / step) ** 2)) * step * step
    record_draw(
        "gaussian", "moments with the labels", of=label * step**2, scale=sigma, shape=(d,),
        sensitivity=each * ((1.0 if added else 2.0) + gram_rounding(d)), joint=both / sigma,
    )  # fmt: skip
    line = gaussian_noise(d, sigma=sigma, rng=rng) * (1.0 / step) * (1.0 / step)
    moment = (label + line) * step * step
    ridge = _SHARE * (sigma * math.sqrt(2.0 * d)) if alpha is None else alpha
    coef = _ridge(gram, moment, ridge)
    return PrivateMoments(coef, gram, moment, ridge, epsilon, delta, neighboring, sigma)


def _fit_moments(model: SufficientStatisticsRegressor, summary: Summary) -> PrivateMoments:
    """Return the release of `SufficientStatisticsRegressor.fit`, and warn as it does."""
    epsilon = check_positive("epsilon", model.epsilon)
    delta = check_probability("delta", model.delta)
    squared = model._limits()[0] ** 2 * (2.0 if model.fit_intercept else 1.0)
    given = None if model.alpha is None else check_positive("alpha", model.alpha) / squared
    (rng,) = spawn_generators(model.random_state, 1)
    moments = _release(
        summary, epsilon=epsilon, delta=delta, neighboring=model.neighboring, alpha=given, rng=rng
    )
    weight = float(moments.gram[-1, -1])
    if given is None and model.fit_intercept and weight < _LEAST_WEIGHT * moments.alpha:
        _warn_of_noise(f"about {max(2 * weight, 0):.0f} records (released with noise)")
    return moments


def _fit_adaptive(model: AdaSSPRegressor, summary: Summary) -> PrivateMoments:
    """Return the releases of `AdaSSPRegressor.fit`; the k records of a person move each k times."""
    budget = check_positive("epsilon", model.epsilon), check_probability("delta", model.delta)
    rho = check_interval("rho", model.rho, 0.0, 1.0)
    d, each = len(summary.gram) - 1, summary.facts.rows_each or 1
    alone, together = (each * moved for moved in _three_releases(d, model.neighboring))
    sigma = gaussian_sigma(
        epsilon=budget[0], delta=budget[1], sensitivity=math.hypot(alone, together)
    )
    (rng,) = spawn_generators(model.random_state, 1)
    step = grid_rows(np.zeros((1, d)), 1.0)[1]
    least = float(np.linalg.eigvalsh(summary.gram[:d, :d].astype(np.float64))[0]) * step * step
    record_draw(
        "gaussian", "least eigenvalue of the second moments", of=np.array([least]),
        sensitivity=alone, scale=sigma, shape=(1,),
    )  # fmt: skip
    noisy = least + float(gaussian_noise(1, sigma=sigma, rng=rng)[0])
    epsilon, delta = _budget_of(sigma, together)
    moments = _release(
        summary, epsilon=epsilon, delta=delta, neighboring=model.neighboring, alpha=None, rng=rng
    )
    model.least_eigenvalue_ = max(noisy - sigma * math.sqrt(math.log(6.0 / budget[1])), 0.0)
    reach = sigma * math.sqrt(d * math.log(2.0 * d * d / rho))
    model.alpha_ = max(reach - model.least_eigenvalue_, _LEAST * sigma)
    coef = moments.solve(alpha=model.alpha_)
    return PrivateMoments(
        coef, moments.gram, moments.moment, model.alpha_, *budget, model.neighboring, sigma
    )


@quiet
def fit_summary(model: Any, summary: Summary) -> Any:
    """Fit an estimator from a summary, to the same bits as its ``fit`` from the records.

    Parameters
    ----------
    model : estimator
        A SufficientStatisticsRegressor or AdaSSPRegressor, or a pipeline of HatFeatures and one of
        them, with the public facts of the summary; budget, relation, penalty and ``random_state``
        are its own.
    summary : Summary
        Of at least one record. Each release spends its budget anew.

    Returns
    -------
    estimator
        ``model``, fitted. With a column of persons its guarantee is for one person, whose records
        count up to ``rows_each``: all sensitivities are so many times those for one record.

    Raises
    ------
    ValueError
        If the public facts of the two differ, or the summary is of no record.

    Notes
    -----
    The contribution of a person is a sum over at most k records, so that adding or removing it
    moves each release by at most k times what one record does. Replacing a by b records, a at most
    b, moves it by at most a times the change of a replaced and b - a times the one of an added
    record, which is no larger. Both are attained by k equal records. As the records that count
    depend on the person's own alone, no other contribution changes.

    Examples
    --------
    >>> from dplit import SufficientStatisticsRegressor
    >>> table = {"who": ["ann", "ann", "bob"], "x": [0.1, 0.2, 0.3], "y": [0.0, 1.0, 1.0]}
    >>> model = SufficientStatisticsRegressor(
    ...     epsilon=1e6, data_norm=1.0, bounds=(0.0, 1.0), random_state=0
    ... )
    >>> found = summarise(table, model, columns=["x"], target="y", group="who", rows_each=1)
    >>> found.count, "one person" in fit_summary(model, found).privacy_statement_
    (2, True)
    """
    facts, regressor = summary.facts, model
    grid = MomentGrid.of(model, len(facts.columns))
    if grid != facts.grid:
        raise ValueError(
            f"model must have the public facts of the summary, {facts.grid}, got {grid}"
        )
    if isinstance(model, Pipeline):
        regressor = model.steps[-1][1]
    check_neighboring(regressor.neighboring)
    if summary.labels == 0:
        raise ValueError("summary must be of at least one record with a label")
    fit = _fit_adaptive if isinstance(regressor, AdaSSPRegressor) else _fit_moments
    with fitting(regressor) as draft:
        if isinstance(model, Pipeline):
            _see_columns(model.steps[0][1].fit(np.zeros((1, len(facts.columns)))), facts)
            draft.n_features_in_ = len(summary.gram) - 1 - grid.intercept
        else:
            _see_columns(draft, facts)
        _publish(draft, fit(draft, summary), facts)
    return model


def _see_columns(estimator: Any, facts: Facts) -> None:
    """Tell an estimator its columns, as scikit-learn does where it sees a table or an array."""
    estimator.n_features_in_ = len(facts.columns)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if facts.named:
        estimator.feature_names_in_ = np.asarray(facts.columns, dtype=object)


def _publish(model: _ClippedLinearRegressor, moments: PrivateMoments, facts: Facts) -> None:
    """Set what the estimator publishes; with persons the statement is about one of them."""
    model._publish(moments)
    if facts.group is None:
        return
    grid = facts.grid
    added = moments.neighboring == "add_remove"
    change = (
        f"{'adding or removing one person' if added else 'replacing one person'} with all records "
        f"(of each at most {facts.rows_each} count, chosen by their own values alone; rows clipped "
        f"to norm {model._limits()[0]:g}, labels to [{grid.low:g}, {grid.high:g}]"  # type: ignore[attr-defined]
        f"{'' if added else '; the number of persons is public'})"
    )
    state_guarantee(model, moments.epsilon, moments.delta, moments.neighboring, change)
