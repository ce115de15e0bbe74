"""Which records of a person count: at most so many, chosen by these records alone."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array
from dplit.tables._chunks import TableError


def _scrambled(rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a public hash of each record, column (q, n) by column, which decides who is first."""
    mixed = np.zeros(rows.shape[1], np.uint64)
    for row in rows:
        mixed = (mixed ^ row.astype(np.int64).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


def chosen_records(
    codes: NDArray[np.int64], rows: NDArray[np.int32], most: int
) -> NDArray[np.intp]:
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


class Contributions:
    """Whose each record of a table is, chunk by chunk."""

    def __init__(self) -> None:
        self._codes: dict[Hashable, int] = {}
        self._held = array("q")

    def see(self, people: Iterable[Hashable]) -> None:
        """Take notice of whose some records are; None is nobody."""
        codes = self._codes
        self._held.extend(
            -1 if who is None else codes.setdefault(who, len(codes)) for who in people
        )

    def slots(self, X: Array, y: Array, known: NDArray[np.bool_], each: int) -> NDArray[np.intp]:
        """Return which record fills each of ``each`` places of every person, -1 for none.

        Persons are in the order in which they were seen. Of more records with a label some count,
        by a public hash of their values. Whatever one person has changes these ``each`` alone.
        """
        if not self._codes:
            raise TableError("the table must have at least one record with a person")
        codes = np.frombuffer(self._held, np.int64)
        mine = np.flatnonzero(known & (codes >= 0))
        values = np.column_stack([X[mine], y[mine]]) + 0.0  # of two zeros one
        parts = np.ascontiguousarray(values).view(np.int32).T
        kept = mine[chosen_records(codes[mine], parts, each)]
        people = codes[kept]
        place = people * each + np.arange(len(kept)) - np.searchsorted(people, people)
        filled = np.full(len(self._codes) * each, -1, np.intp)
        filled[place] = kept
        return filled
