"""What the private estimators share: their random streams and the clipping of records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array

__all__ = ["check_regression", "clip_rows", "spawn_generators"]


def spawn_generators(
    random_state: int | np.random.Generator | np.random.RandomState | None, count: int
) -> list[np.random.Generator]:
    """Return ``count`` independent generators that belong to one call of ``fit``.

    ``None`` takes entropy from the operating system. An integer gives the same generators in every
    call. A ``Generator`` is asked to spawn, so that two fits of one estimator differ while two
    clones (which copy its state) agree. A ``RandomState`` gives four words of entropy and advances.

    Raises
    ------
    TypeError
        If ``random_state`` is none of these.
    ValueError
        If it is a negative integer.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(count)
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(words).spawn(count)
    if random_state is None:
        return np.random.default_rng().spawn(count)
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be nonnegative, got random_state={random_state!r}")
        return np.random.default_rng(int(random_state)).spawn(count)
    raise TypeError(
        "random_state must be None, an integer, a Generator or a RandomState, "
        f"got random_state={random_state!r}"
    )


def clip_rows(X: NDArray[Any], norm: float) -> NDArray[Any]:
    """Return ``X`` (n, d) with every row longer than ``norm`` scaled back to Euclidean ``norm``.

    A row whose squared length overflows is divided by its largest entry first, so that it keeps its
    direction.
    """
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
    factor = norm / np.maximum(lengths, norm)
    clipped = np.asarray(X * factor)
    huge = np.isinf(lengths[:, 0])
    if huge.any():
        largest = np.abs(X[huge]).max(axis=1, keepdims=True)
        rows = X[huge] / largest
        clipped[huge] = rows * np.minimum(
            norm / np.linalg.norm(rows, axis=1, keepdims=True), largest
        )
    return clipped


def check_regression(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return real finite records (n, d) and labels (n,) in float64."""
    rows = check_finite_array("X", X, ndim=2)
    labels = check_finite_array("y", y, ndim=1)
    for name, array in (("X", rows), ("y", labels)):
        if array.dtype.kind == "c":
            raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    if len(rows) != len(labels):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows.astype(np.float64), labels.astype(np.float64)
