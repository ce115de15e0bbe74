"""Small changes of what estimators share that larger tests do not tell apart."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from dplit._checks import _LARGEST_NUMBER, _number
from dplit._estimators import _through_door, nearest_center


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
    assert _number(10**400) == _LARGEST_NUMBER
    assert _number(-(10**400)) == -_LARGEST_NUMBER
    assert _number(math.inf) == math.inf
    assert math.isnan(_number(math.nan))
    assert _number(2**53 + 1) == 2.0**53
    assert _number(Decimal("0.1")) == 0.1


class Table:
    """Columns and an array, and no other way to NumPy, as tables of Arrow."""

    columns = ("a",)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return np.array([[1.0], [2.0]])


def test_tables_and_long_doubles_pass_the_door() -> None:
    """Kills a table that is taken for a frame, and a long double that is no float."""
    table = Table()
    assert _through_door("X", table, numeric=True) is table
    largest = np.array([[np.finfo(np.longdouble).max, 1.0]], np.longdouble)
    found = _through_door("X", largest, numeric=True)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
