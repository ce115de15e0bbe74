"""Traces of training values in what was released."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit.audit._nasty_pairs import NeighbourPair, rows_of
from dplit.audit._seen import _leaves


def _traces(pair: NeighbourPair, data: Sequence[Any]) -> NDArray[np.float64]:
    """Return what may have been kept of the data: as given, clipped to unit rows, centred; not
    numbers of several records, which may be public constants.
    """
    found = [np.zeros(0)]
    with np.errstate(all="ignore"):
        for part in map(rows_of, data[:1] if pair.relation == "replace_entry" else data):
            if part.dtype.kind == "f":
                rows = part.reshape(len(part), -1)
                lengths = np.linalg.norm(rows, axis=1, keepdims=True)
                for version in (rows, rows - rows.mean(axis=0), rows / lengths):
                    sizes, counts = np.unique(np.abs(version), return_counts=True)
                    found += [sizes[counts == 1], -sizes[counts == 1]]
    values = np.concatenate(found)
    return values[np.isfinite(values)]


def _words(blob: bytes, width: int) -> NDArray[Any]:
    """Return the words of a number of bytes that begin anywhere in a text of bytes."""
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(blob, np.uint8), width)
    return np.ascontiguousarray(windows).view(f"u{width}").ravel()


def _found_traces(released: Any, values: NDArray[np.float64]) -> int:
    """Count the training values whose bits are in the pickle or in anything that is reachable.

    Only numbers with a bit in nearly every byte are looked for; in single precision two of them
    must be there, since one is found in a large pickle by chance.
    """
    try:
        blob = pickle.dumps(released)
    except Exception:  # not to be pickled: what is reachable remains
        blob = b""
    arrays = [
        item for _, item in _leaves(released) if isinstance(item, (np.ndarray, np.generic, float))
    ]
    blob += b"".join(
        np.asarray(item).tobytes() for item in arrays if np.asarray(item).dtype != object
    )
    total = 0
    for width, least, enough in ((8, 6, 1), (4, 4, 2)):
        with np.errstate(all="ignore"):
            bits = values.astype(f"f{width}")
        busy = np.count_nonzero(bits.view(np.uint8).reshape(-1, width), axis=1) >= least
        wanted = np.unique(bits[busy].view(f"u{width}"))
        if len(blob) >= width:
            hits = int(np.isin(wanted, _words(blob, width)).sum())
            total += hits if hits >= enough else 0
    return total
