"""Releases from records that no machine holds at once: exact second moments, which add.

A summary is a matrix of whole numbers, the second moments of records and labels on a public grid,
so that its bits depend on no partition, worker or order. It is as secret as the records.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_integer, check_real_array
from dplit._labels import label_numbers
from dplit.tables._files import BATCH_ROWS, fingerprints, parts_of
from dplit.tables._persons import _first_records, _people, _person_summary
from dplit.tables.grids import (
    MomentGrid,
    Summary,
    SummaryFacts,
    _add,
    _grid_blocks,
    _sorted,
    merge_summaries,
)
from dplit.tables.reading import check_columns, check_fill


def _part_summary(part: Any, facts: SummaryFacts, size: int) -> Summary:
    """Return the summary of one part without persons."""
    return _add(facts, ((block, known) for block, known, _ in _grid_blocks(part, facts, size)))


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
        ``files_of`` says; what dask computes, part by part; a table of
        pyarrow, pandas or polars, or a mapping of names to columns.
    model : estimator or Grid
        A SufficientStatisticsRegressor or AdaSSPRegressor, or a pipeline of HatFeatures and one of
        them: its public facts (norm, bounds, intercept, knots) say what is added. Or a grid, such
        as ``dplit.tables.entry_summaries.entry_grid`` makes.
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
    >>> from dplit.tables.fits import fit_summary
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
    grid = (
        model if not hasattr(model, "fit") and callable(model) else MomentGrid.of(model, len(names))
    )
    stated = tuple(sorted(check_fill(fill, (*names, target)).items()))
    facts = SummaryFacts(names, target, named, stated, group, most, grid)
    size = check_integer("batch_rows", batch_rows)
    parts, delayed = parts_of(source)
    made = fingerprints(parts) | {os.urandom(16).hex()}
    run = functools.partial(_run, delayed or distributed)
    if group is not None:
        return replace(_summarise_persons(parts, facts, size, run), made=made)
    found = run(_part_summary, [(part, facts, size) for part in parts])
    return replace(merge_summaries(found or [_add(facts, ())]), made=made)


def _summarise_persons(
    parts: Any, facts: SummaryFacts, size: int, run: Callable[..., Any]
) -> Summary:
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
