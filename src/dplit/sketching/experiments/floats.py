"""What one record moves in sums that a machine computes: single precision against exact sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream

#: Records of a block of ``_single_precision_sum``, and of a pattern that is repeated.
_BLOCK = 128


def _single_precision_sum(X: NDArray[np.float64], sketch_map: SketchMap) -> NDArray[np.complex128]:
    """Sum of Fourier features in float32 blocks of 128 records, blocks added in float64.

    The mean is right to 1e-7, and one record moves the sum by more than its feature.
    """
    omega = sketch_map.frequencies.astype(np.float32)
    total = np.zeros((2, sketch_map.n_components))
    ones = np.ones((1, _BLOCK), np.float32)
    for start in range(0, len(X), _BLOCK):
        angles = X[start : start + _BLOCK].astype(np.float32) @ omega
        parts = np.stack([np.cos(angles), np.sin(angles)])
        total += (ones[:, : len(angles)] @ parts)[:, 0]
    return np.asarray(total[0] + 1j * total[1])


def _exact_sum(X: NDArray[np.float64], sketch_map: SketchMap) -> NDArray[np.complex128]:
    """Sum of :func:`dplit.sketching.sketches.sketch`."""
    return np.asarray(sketch(X, sketch_map).sum)


def float_sensitivity(
    total: Callable[[NDArray[np.float64], SketchMap], NDArray[np.complex128]],
    sketch_map: SketchMap, n_samples: int, *, n_patterns: int, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Largest move of an entry that a search finds when the first record is removed.

    The pattern of 128 records whose block changes most when rolled by one is repeated: a removal
    rolls every block. Half are short, half as long as the bound.
    """
    best, gain = np.zeros((_BLOCK, sketch_map.n_features)), -1.0
    for index in range(n_patterns):
        longest = np.asarray(sketch_map.bound) if index % 2 else 0.15
        pattern = longest * rng.uniform(-1.0, 1.0, best.shape)
        rolled = np.roll(pattern, -1, axis=0)
        change = float(np.abs(total(pattern, sketch_map) - total(rolled, sketch_map)).max())
        if change > gain:
            best, gain = pattern, change
    X = np.tile(best, (-(-n_samples // _BLOCK), 1))[:n_samples]
    moved = total(X, sketch_map) - total(X[1:], sketch_map)
    return float(np.abs(moved).max())


@dataclass(frozen=True)
class _FloatCurve:
    """Largest moves found at every number of records."""

    sizes: tuple[int, ...]
    single: tuple[float, ...]
    exact: tuple[float, ...]


def float_curve(sizes: Sequence[int], *, n_patterns: int, seed: int, name: str) -> _FloatCurve:
    """Search at every size with both sums, on eight frequencies in two dimensions."""
    fourier = SketchMap("fourier", stream(seed, name, "public").standard_normal((2, 8)))
    found = {
        total: [
            float_sensitivity(
                total, fourier, n, n_patterns=n_patterns, rng=stream(seed, name, "data")
            )
            for n in sizes
        ]
        for total in (_single_precision_sum, _exact_sum)
    }
    single, exact = found.values()
    return _FloatCurve(tuple(sizes), tuple(single), tuple(exact))
