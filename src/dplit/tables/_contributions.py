"""Whose the records of a table are, and a fixed number of places for each person."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array
from dplit._persons import person_slots
from dplit.tables._chunks import TableError


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
        return person_slots(codes, len(self._codes), X, y, known, each)
