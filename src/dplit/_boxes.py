"""Boxes that hold the data: stated by the caller, never read from the records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_finite_array

__all__ = ["Box", "check_box"]


class Box(NamedTuple):
    """A box by its middle and its half widths, both of shape (d,)."""

    middle: NDArray[np.float64]
    half: NDArray[np.float64]

    @property
    def low(self) -> NDArray[np.float64]:
        """Lowest corner."""
        return self.middle - self.half

    @property
    def high(self) -> NDArray[np.float64]:
        """Highest corner."""
        return self.middle + self.half

    def unit(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return records in the units of the box, clipped to [-1, 1].

        They are clipped to the box first: no finite record overflows.
        """
        inside = np.clip(X, self.low, self.high)
        return np.asarray(np.clip((inside - self.middle) / self.half, -1.0, 1.0), np.float64)

    def data(self, U: NDArray[Any]) -> NDArray[np.float64]:
        """Return points of [-1, 1]^d in the units of the data."""
        return np.asarray(self.middle + self.half * U, dtype=np.float64)


def check_box(bounds: Any, n_features: int) -> Box:
    """Return the box of ``bounds = (low, high)``, two numbers or two rows of ``n_features`` each.

    Raises
    ------
    ValueError
        If ``bounds`` is missing, not a pair, of another length, infinite or not increasing.
    """
    if bounds is None:
        raise ValueError(
            "bounds must be given as (lowest, highest): bounds read from the data are not private, "
            "got bounds=None"
        )
    if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
        raise ValueError(f"bounds must be a pair (low, high), got bounds={bounds!r}")
    ends = [np.asarray(check_finite_array("bounds", end), dtype=np.float64) for end in bounds]
    if any(end.ndim > 1 or (end.ndim == 1 and len(end) != n_features) for end in ends):
        raise ValueError(
            f"bounds must be numbers or hold one number for each of {n_features} columns, "
            f"got bounds={bounds!r}"
        )
    low, high = (np.broadcast_to(end, n_features) for end in ends)
    half = high / 2 - low / 2
    if not np.all((low < high) & (half > 0)):
        raise ValueError(f"bounds must be increasing, got bounds={bounds!r}")
    return Box(low / 2 + high / 2, half)
