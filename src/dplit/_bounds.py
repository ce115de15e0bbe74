"""Boxes and norms that hold the data: stated by the caller, never read from the records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_finite_array, check_positive, check_real_array


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
    """Return the box of ``bounds = (low, high)``, two numbers or rows of ``n_features`` each.

    Two pairs for two columns could be meant column by column. Where both readings make a box, the
    lowest and the highest ends must be two arrays, which nobody writes for a column.
    """
    if bounds is None:
        raise ValueError(
            "bounds must be given as (lowest, highest): bounds read from the data are not private, "
            "got bounds=None"
        )
    if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
        raise ValueError(f"bounds must be a pair (low, high), got bounds={bounds!r}")
    ends = [check_real_array("bounds", end) for end in bounds]
    if any(end.ndim > 1 or (end.ndim == 1 and len(end) != n_features) for end in ends):
        raise ValueError(
            f"bounds must be numbers or hold one number for each of {n_features} columns, "
            f"got bounds={bounds!r}"
        )
    low, high = (np.broadcast_to(end, n_features) for end in ends)
    plain = not all(isinstance(end, np.ndarray) for end in bounds) or isinstance(bounds, np.ndarray)
    paired = n_features == 2 and all(end.ndim == 1 and end[0] < end[1] for end in ends)
    if paired and plain and np.all(low < high):
        raise ValueError(
            "bounds of two columns can be read in two ways, by ends or by columns: for ends write "
            "(numpy.array([LOWEST, LOWEST]), numpy.array([HIGHEST, HIGHEST])), "
            f"got bounds={bounds!r}"
        )
    half = high / 2 - low / 2
    if not np.all((low < high) & (half > 0)):
        raise ValueError(f"bounds must be increasing, got bounds={bounds!r}")
    return Box(low / 2 + high / 2, half)


#: Entries of finite records are clamped here, so that no product or square of two overflows.
LARGEST_INPUT = 1e150


def stated_norm(data_norm: object) -> float:
    """Return the bound on the length of records, which the caller has to state.

    Its square and its inverse's square are floats: coefficients are divided by it.
    """
    if data_norm is None:
        raise ValueError(
            "data_norm must be given: a bound read from the data is not private, got data_norm=None"
        )
    norm = check_positive("data_norm", data_norm)
    if not 1.0 / LARGEST_INPUT <= norm <= LARGEST_INPUT:
        raise ValueError(
            f"data_norm must be from {1.0 / LARGEST_INPUT:g} to {LARGEST_INPUT:g} (measure records "
            f"in another unit), got data_norm={data_norm!r}"
        )
    return norm


def check_squares(box: Box, bounds: Any) -> None:
    """Refuse bounds between which distances and frequencies have no squares in float64."""
    if max(-box.low.min(), box.high.max()) > LARGEST_INPUT or box.half.min() < 1.0 / LARGEST_INPUT:
        raise ValueError(
            f"bounds must be at most {LARGEST_INPUT:g} in size and more than "
            f"{2.0 / LARGEST_INPUT:g} apart (measure coordinates in another unit), got "
            f"bounds={bounds!r}"
        )


def stated_ends(bounds: Any) -> tuple[float, float]:
    """Return the lowest and the highest label, which the caller has to state."""
    if bounds is None:
        raise ValueError(
            "bounds must be given as (lowest label, highest label): bounds read from the data "
            "are not private, got bounds=None"
        )
    ends = check_finite_array("bounds", bounds, ndim=1)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"bounds must be two increasing numbers, got bounds={bounds!r}")
    if max(-ends[0], ends[1]) > LARGEST_INPUT or not ends[0] / 2 < ends[1] / 2:
        raise ValueError(
            f"bounds must be at most {LARGEST_INPUT:g} in size and increase when they are halved, "
            f"got bounds={bounds!r}"
        )
    return float(ends[0]), float(ends[1])
