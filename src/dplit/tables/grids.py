"""Exact second moments on a public grid: summaries that add, whatever the order or the parts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from dplit._checks import Array, quiet
from dplit._numerics.clipping import clip_rows
from dplit._numerics.exact import grid_rows, grid_values
from dplit.features.hats import HatFeatures, HatMap
from dplit.linear.adaptive import AdaSSPRegressor
from dplit.linear.regressors import SufficientStatisticsRegressor
from dplit.tables.reading import read

#: Rows whose moments are added at a time: what is made of them stays in the second-level cache.
_BLOCK = 1 << 13

#: Records up to which totals of squares of 16 bits stay in 64-bit integers.
_MOST_RECORDS = 1 << 30

#: Gap to a bound, or in steps to half of one, beyond which no rounding can decide whether a row is
#: clipped or where an entry goes.
_GAP = 1e-9


class Grid(Protocol):
    """How records and labels become whole numbers of at most 16 bits; public and comparable.

    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 2.0), fit_intercept=False)
    >>> grid: Grid = MomentGrid.of(model, 1)
    >>> grid([np.array([0.5, 1.0])], np.array([0.0, 2.0])).shape  # a row of records, one of labels
    (2, 2)
    """

    def __call__(self, columns: Sequence[Array], labels: Array, room: _Room | None = None) -> Array:
        """Return whole numbers (q, n) of ``columns``, each (n,), and in the last row the labels.

        They may stand in ``room``, where the next call with it writes.
        """


class _Room:
    """Memory that one block of records leaves to the next.

    What an allocator gives back to the system, as dask's workers tell theirs to, comes again page
    by page: blocks that are allocated anew take a third more of the processor's seconds there.

    >>> room = _Room()
    >>> room.of(2, 3).shape, room.of(1, 2).base is room.of(2, 3).base
    ((2, 3), True)
    """

    def __init__(self) -> None:
        self._held = np.empty(0)

    def of(self, rows: int, columns: int) -> Array:
        """Return an array of these sizes that holds anything."""
        if len(self._held) < rows * columns:
            self._held = np.empty(rows * columns)
        return self._held[: rows * columns].reshape(rows, columns)


@dataclass(frozen=True)
class MomentGrid:
    """The grid of :func:`~dplit.linear._moments.sufficient_statistics`, for unit records.

    Parameters
    ----------
    norm, low, high : float
        Norm to which rows are clipped, and the bounds of the labels.
    intercept : bool
        Whether a constant stands behind the columns.
    hats : tuple or None
        ``(n_hats, lowest, highest, indicators, interactions)`` of the features that stand before
        the rows.

    Examples
    --------
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 2.0), fit_intercept=False)
    >>> grid = MomentGrid.of(model, 1)
    >>> grid.norm, grid.low, grid.high, grid.intercept
    (1.0, 0.0, 2.0, False)
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
            asked = hats.indicators, n_columns, hats.interactions
            HatMap.of(hats.n_hats, hats.box, *asked)  # checks them
            low, high = (np.broadcast_to(np.asarray(e, float), n_columns) for e in hats.box)
            groups, pairs = (
                tuple(tuple(map(int, columns)) for columns in named)
                for named in (hats.indicators, hats.interactions)
            )
            given = (int(hats.n_hats), tuple(low.tolist()), tuple(high.tolist()), groups, pairs)
        return cls(
            float(regressor.data_norm), low_label, high_label, bool(regressor.fit_intercept), given
        )

    def __call__(self, columns: Sequence[Array], labels: Array, room: _Room | None = None) -> Array:
        """Return whole numbers (q, n): unit records, with a constant if there is one, and labels.

        They are those of the estimator to the bit: rows that are longer than a bound, or so near
        that rounding could decide, are clipped as it clips.
        """
        if self.hats is not None:
            knots, low, high, groups, pairs = self.hats
            box = np.array(low), np.array(high)
            features = HatMap.of(knots, box, groups, len(columns), pairs)
            rows = features(np.column_stack(columns))
            columns = np.ascontiguousarray(rows.T)  # type: ignore[assignment]
        d, ones = len(columns), int(self.intercept)
        step, root = grid_rows(np.zeros((1, d + ones)), 1.0)[1], np.sqrt(2.0) if ones else 1.0
        whole = (room or _Room()).of(d + ones + 4, len(labels))
        out, held, square = whole[:-3], whole[-3:-1], whole[-1]
        square[:] = 0.0
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
        inside = np.clip(labels, middle - half, middle + half, out=out[-1])
        inside -= middle
        inside /= half
        out[-1] = grid_values(inside, 1.0)[0]
        return out


@dataclass(frozen=True)
class SummaryFacts:
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

    Examples
    --------
    >>> from dplit.tables.summaries import summarise
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 2.0))
    >>> table = {"age": [0.1, 0.2], "days": [1.0, 2.0]}
    >>> facts = summarise(table, model, columns=["age"], target="days").facts
    >>> facts.columns, facts.target, facts.grid == MomentGrid.of(model, 1)
    (('age',), 'days', True)
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
    facts : SummaryFacts
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

    Examples
    --------
    >>> from dplit.tables.summaries import summarise
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 2.0))
    >>> whole = summarise((np.array([[0.1], [0.2], [0.3]]), [0.0, 1.0, np.nan]), model)
    >>> whole.count, whole.labels, whole.facts.target
    (3, 2, 'y')
    """

    facts: SummaryFacts
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
            :func:`~dplit.tables.summaries.summarise`.
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

    Examples
    --------
    >>> from dplit.tables.summaries import summarise
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 2.0))
    >>> X, y = np.array([[0.1], [0.2], [0.3]]), np.array([0.0, 1.0, 2.0])
    >>> first, rest = summarise((X[:1], y[:1]), model), summarise((X[1:], y[1:]), model)
    >>> merged = merge_summaries([first, rest])
    >>> merged.count, bool((merged.gram == summarise((X, y), model).gram).all())
    (3, True)
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
    facts: SummaryFacts,
    blocks: Iterable[tuple[Array, NDArray[np.bool_]]],
    persons: NDArray[Any] | None = None,
) -> Summary:
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
def _on_grid(grid: Grid, columns: Sequence[Array], room: _Room) -> tuple[Array, NDArray[np.bool_]]:
    """Return whole numbers (q, n), zeros where there is no label, and which records have one."""
    known = ~np.isnan(columns[-1])
    block = grid(columns[:-1], np.where(known, columns[-1], 0.0), room)
    block[:, ~known] = 0.0
    return block, known


def _grid_blocks(part: Any, facts: SummaryFacts, size: int) -> Iterable[tuple[Any, ...]]:
    """Yield whole numbers (q, n) of a part's records, which have a label, and their persons.

    The numbers are of one block: the next is written over them.
    """
    room = _Room()
    names, told = (*facts.columns, facts.target), {"group": facts.group, "target": facts.target}
    for columns, people in read(part, names, dict(facts.fill), size=size, **told):
        for at in range(0, len(columns[-1]), _BLOCK):
            cut = slice(at, at + _BLOCK)
            block = _on_grid(facts.grid, [column[cut] for column in columns], room)
            yield *block, None if people is None else people[cut]
