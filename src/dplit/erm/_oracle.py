"""What the curator's oracles share: a private function, its exact values, and a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_positive, check_rng
from dplit._estimators import clamp

__all__ = ["CuratedFunction", "Kernel", "real_points"]

_Array = NDArray[np.float64]
Kernel = Callable[[_Array, _Array], _Array]


def real_points(name: str, points: ArrayLike, columns: int | None = None) -> _Array:
    """Return real points in rows, with minus zero turned into zero (equal points are equal)."""
    array = check_finite_array(name, points, ndim=2)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    if columns is not None and array.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, got {name} of shape {array.shape}")
    return np.asarray(array.astype(np.float64) + 0.0)


class CuratedFunction:
    """A function ``sum_i c_i K(x_i, .)`` in the curator's hands, with its own source of noise.

    Records are clamped to 1e150, so that no distance to one of them overflows.
    """

    def __init__(
        self,
        kernel: Kernel,
        records: ArrayLike,
        coefficients: ArrayLike,
        *,
        sensitivity: float,
        epsilon: float,
        rng: np.random.Generator,
    ) -> None:
        if not callable(kernel):
            raise TypeError(f"kernel must be callable, got kernel={kernel!r}")
        self._kernel = kernel
        self._records = clamp(real_points("records", records))
        weights = check_finite_array("coefficients", coefficients, ndim=1)
        if weights.shape != (len(self._records),):
            raise ValueError(
                f"coefficients must have {len(self._records)} entries, got shape {weights.shape}"
            )
        self._coefficients = weights.astype(np.float64)
        self.sensitivity = check_positive("sensitivity", sensitivity)
        self.epsilon = check_positive("epsilon", epsilon)
        self._rng = check_rng(rng)

    def _matrix(self, X: _Array, Z: _Array) -> _Array:
        return np.asarray(self._kernel(X, Z), dtype=np.float64)

    def _exact(self, points: _Array) -> _Array:
        return np.asarray(self._matrix(points, self._records) @ self._coefficients)

    def _keyed(self, points: ArrayLike) -> tuple[list[bytes], dict[bytes, _Array]]:
        """Return one key per point, and the different points by key in order."""
        rows = real_points("points", points, self._records.shape[1])
        keys = [row.tobytes() for row in rows]
        return keys, dict(zip(keys, rows, strict=True))

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: the object holds private records."""
        name = type(self).__name__
        raise TypeError(f"{name} holds the records: publish its answers, not the object")
