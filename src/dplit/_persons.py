"""Persons: their names, and which of their records count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array
from dplit._entries import entries


def person_names(name: str, values: Any) -> NDArray[Any]:
    """Return whose each record is (n,): integers in int64, or texts as objects.

    Two persons may never become one, nor one two. So floats are refused, into which integers would
    be rounded, and truth values, mixtures of integers and texts, and columns in which a name is
    missing. No message quotes a name.
    """
    try:
        whole = "uint64" not in str(getattr(values, "dtype", getattr(values, "type", ""))).lower()
        held = entries(name, values)
    except Exception:  # dates, or what cannot be read
        whole, held = False, np.empty(0)
    kind, flat = held.dtype.kind, held.ravel().tolist()
    if whole and kind in "iu":
        return np.asarray(held, np.int64)
    if whole and kind == "O" and flat and all(map(_is_integer, flat)):
        return np.array([int(entry) for entry in flat], np.int64).reshape(held.shape)
    text = kind in "UO" and all(isinstance(entry, str) and entry.strip() for entry in flat)
    if whole and text:
        names = np.empty(len(flat), object)
        names[:] = [str(entry) for entry in flat]
        return names.reshape(held.shape)
    raise TypeError(f"{name} must hold integers up to int64, or texts, none of them missing")


def _is_integer(entry: Any) -> bool:
    whole = isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)
    return whole and -(2**63) <= int(entry) < 2**63


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


def person_slots(
    codes: NDArray[np.int64],
    count: int,
    X: Array,
    y: Array,
    known: NDArray[np.bool_],
    each: int,
) -> NDArray[np.intp]:
    """Return which record fills each of ``each`` places of ``count`` persons, -1 for none.

    Of more ``known`` records of a person (``codes`` (n,), -1 is nobody) some count, by a public
    hash of their values. Whatever one person has changes these ``each`` places alone.
    """
    mine = np.flatnonzero(known & (codes >= 0))
    values = np.column_stack([X[mine], y[mine]]) + 0.0  # of two zeros one
    parts = np.ascontiguousarray(values).view(np.int32).T
    kept = mine[chosen_records(codes[mine], parts, each)]
    people = codes[kept]
    place = people * each + np.arange(len(kept)) - np.searchsorted(people, people)
    filled = np.full(count * each, -1, np.intp)
    filled[place] = kept
    return filled
