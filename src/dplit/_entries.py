"""Entries of a column, each by itself: no value of a record changes how another is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def entries(name: str, values: Any) -> NDArray[Any]:
    """Return a column of labels or persons as an array: of numbers or texts, as such an array came
    in, otherwise of objects.

    Dates, durations and complex numbers are refused by their type.
    """
    if hasattr(values, "compute") and hasattr(values, "dask"):
        values = values.compute()
    if hasattr(values, "columns") and hasattr(values, "to_numpy"):  # a frame of one column
        if len(values.columns) != 1:
            return np.empty(values.shape, object)
        column = values.iloc[:, 0] if hasattr(values, "iloc") else values.to_series()
        return entries(name, column).reshape(-1, 1)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "mMcV":
        what = "Complex data not supported" if kind == "c" else "dates are no labels"
        raise ValueError(f"{what}: {name} must hold numbers, or classes")
    plain = isinstance(getattr(values, "dtype", None), np.dtype) and kind in "biuf"
    if (plain or isinstance(values, np.ndarray)) and not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            try:
                return _objects(getattr(values, method)())
            except Exception:  # of Arrow: a broken text, which it would quote
                raise ValueError(f"{name} must be read entry by entry, which failed") from None
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, memoryview)):
        return _objects(values)
    found = np.asarray(values)
    if found.dtype.kind in "mMcV":
        return entries(name, found)
    return found


def _objects(values: Any) -> NDArray[Any]:
    """Return a sequence as an array of the very objects in it."""
    if not isinstance(values, Sequence):
        return np.asarray(values, dtype=object)
    nested = (list, tuple, np.ndarray)
    if len(values) and all(isinstance(entry, nested) and np.ndim(entry) for entry in values):
        lengths = {np.shape(entry) for entry in values}
        if len(lengths) == 1:
            return np.array([_objects(list(entry)) for entry in values], dtype=object)
    found = np.empty(len(values), object)
    for index, entry in enumerate(values):
        found[index] = entry
    return found


def is_missing(entry: Any) -> bool:
    """Whether an entry says nothing: None, NaN, NaT, pandas' NA, an empty text.

    >>> [is_missing(entry) for entry in (None, float("nan"), " ", 0, "no")]
    [True, True, True, False, False]
    """
    if entry is None or (isinstance(entry, (str, bytes)) and not entry.strip()):
        return True
    try:
        return bool(entry != entry)
    except Exception:  # of NA, of signalling NaN, of whatever an object does when it is compared
        return type(entry).__name__ in ("NAType", "Decimal")
