"""Small changes of what estimators share that larger tests do not tell apart."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from dplit._checks import _LARGEST_NUMBER, as_number
from dplit._predictors import nearest_center
from dplit._records import _door


def test_the_nearest_centre_is_nearest_in_all_coordinates() -> None:
    """Kills the largest coordinate of a centre for its length."""
    X = np.array([[1.0, 1.0, 1.0], [1.6, 0.1, 0.1]])
    centers = np.array([[1.7, 0.0, 0.0], [1.2, 1.2, 1.2], [0.4, 0.4, 0.4]])
    expected = [np.linalg.norm(centers - x, axis=1).argmin() for x in X]
    assert expected == [1, 0]
    assert nearest_center(X, centers).tolist() == expected
    assert nearest_center(np.array([[0.7, 0.7, 0.7]]), centers).tolist() == [2]


def test_only_what_is_beyond_the_floats_becomes_the_largest_number() -> None:
    """Kills an infinity that is read as a number, a NaN that is read as one, and whole numbers
    beyond 2**53, which no float is, that are read as the largest."""
    assert as_number(10**400) == _LARGEST_NUMBER
    assert as_number(-(10**400)) == -_LARGEST_NUMBER
    assert as_number(math.inf) == math.inf
    assert math.isnan(as_number(math.nan))
    assert as_number(2**53 + 1) == 2.0**53
    assert as_number(Decimal("0.1")) == 0.1


class Table:
    """Columns and an array, and no other way to NumPy, as tables of Arrow."""

    columns = ("a",)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return np.array([[1.0], [2.0]])


def test_tables_and_long_doubles_pass_the_door() -> None:
    """Kills a table that is taken for a frame, and a long double that is no float."""
    table = Table()
    assert _door(table) is table
    largest = np.array([[np.finfo(np.longdouble).max, 1.0]], np.longdouble)
    found = _door(largest)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
