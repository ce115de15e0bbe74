"""Persons: integers or texts, none of them missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
