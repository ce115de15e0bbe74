"""What the private estimators share: their random streams and the clipping of records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from dplit._checks import check_finite_array

__all__ = ["RandomState", "binary_signs", "check_regression", "clip_rows", "spawn_generators"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def spawn_generators(random_state: RandomState, count: int) -> list[np.random.Generator]:
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


def binary_signs(
    y: ArrayLike, classes: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the two classes, and -1 for the first of them and 1 for the second.

    With ``classes`` the pair is public, in the given order, and ``y`` may hold only one of them;
    without, the pair is read off ``y``, sorted, and so is treated as public.

    Raises
    ------
    ValueError
        If ``classes`` is not a pair of different labels, ``y`` holds another label, or ``y`` alone
        does not show two.
    """
    check_classification_targets(y)
    found = np.unique(np.asarray(y))
    if classes is None:
        if len(found) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        if len(found) < 2:
            raise ValueError(
                f"y must hold two classes unless classes is given, got one class: {found[0]!r}"
            )
        pair = found
    else:
        pair = np.asarray(classes)
        if pair.shape != (2,) or pair[0] == pair[1]:
            raise ValueError(f"classes must be two labels, got classes={classes!r}")
        if not np.isin(found, pair).all():
            raise ValueError(f"y must hold the classes {classes!r} only")
    return pair, np.where(np.asarray(y) == pair[1], 1.0, -1.0)
