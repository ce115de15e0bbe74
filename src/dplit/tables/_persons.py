"""Persons: at most so many of the records of each count, chosen by these records alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._persons import chosen_records
from dplit.tables.grids import _BLOCK, Summary, SummaryFacts, _add, _grid_blocks
from dplit.tables.reading import read


def _people(part: Any, facts: SummaryFacts, size: int) -> NDArray[Any]:
    """Return who has records in a part, sorted: a first pass that reads no other column."""
    held: list[Any] = [who for _, who in read(part, (), {}, group=facts.group, size=size)]
    return np.unique(np.concatenate(held)) if held else np.empty(0, np.int64)


def _person_summary(
    part: Any, facts: SummaryFacts, size: int, shared: NDArray[Any]
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
    rows: NDArray[np.int32], people: NDArray[Any], facts: SummaryFacts, shared: NDArray[Any]
) -> tuple[Summary, list[tuple[NDArray[Any], NDArray[np.int32]]]]:
    """Add the records that count, but for those of ``shared`` persons, which are returned.

    The last row says which records have a label: of a person only these are chosen from.
    """
    everyone, codes = np.unique(people, return_inverse=True)
    known = rows[-1] > 0
    rows, codes = rows[:, known], codes[known]
    keep = chosen_records(codes, rows, facts.rows_each or 1)
    rows, codes = rows[:, keep], codes[keep]
    elsewhere = np.isin(everyone, shared)
    away = elsewhere[codes]
    mine = rows[:-1, ~away]
    cuts = (mine[:, at : at + _BLOCK] for at in range(0, mine.shape[1], _BLOCK))
    blocks = ((cut.astype(np.float64), np.ones(cut.shape[1], bool)) for cut in cuts)
    left = [(everyone[codes[away]], rows[:, away])] if away.any() else []
    return _add(facts, blocks, everyone[~elsewhere]), left
