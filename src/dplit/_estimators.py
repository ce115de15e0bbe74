"""What the private estimators share: their random streams and the clipping of records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from dplit._checks import check_finite_array

__all__ = [
    "LARGEST_INPUT",
    "RandomState",
    "binary_signs",
    "check_regression",
    "clamp",
    "clip_rows",
    "dp_statement",
    "spawn_generators",
    "validated",
]

RandomState = int | np.random.Generator | np.random.RandomState | None

#: Entries of finite records are clamped here, so that no product or square of two overflows.
LARGEST_INPUT = 1e150


def spawn_generators(random_state: RandomState, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators that belong to one call of ``fit``.

    ``None`` takes entropy from the operating system, for each generator its own: what is published
    of one (features, projections, starting points) tells nothing of another (the noise). An integer
    gives the same generators in every call. A ``Generator`` is asked to spawn, so that two fits of
    one estimator differ while two clones (which copy its state) agree. A ``RandomState`` gives four
    words of entropy and advances.

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
        return [np.random.default_rng() for _ in range(count)]
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be nonnegative, got random_state={random_state!r}")
        return np.random.default_rng(int(random_state)).spawn(count)
    raise TypeError(
        "random_state must be None, an integer, a Generator or a RandomState, "
        f"got random_state={random_state!r}"
    )


def clamp(X: NDArray[Any]) -> NDArray[Any]:
    """Return finite records with entries clamped to ``[-LARGEST_INPUT, LARGEST_INPUT]``."""
    return np.asarray(np.clip(X, -LARGEST_INPUT, LARGEST_INPUT))


def clip_rows(X: NDArray[Any], norm: float) -> NDArray[Any]:
    """Return ``X`` (n, d) with every row longer than ``norm`` scaled back to Euclidean ``norm``.

    Every row is first divided by a power of two near its largest entry, so that no finite row
    overflows, underflows, warns or loses its direction, and none takes another route.
    """
    X, kind = np.ascontiguousarray(X), X.dtype.type  # rows of other layouts add in another order
    top = np.finfo(X.dtype).maxexp - 1
    largest = np.maximum(np.abs(X).max(axis=1, keepdims=True), kind(norm))
    unit = np.ldexp(kind(1.0), np.minimum(np.frexp(largest)[1], top))  # (n, 1)
    rows = X / unit
    lengths, target = np.linalg.norm(rows, axis=1, keepdims=True), norm / unit
    return np.where(lengths <= target, X, rows * (norm / np.maximum(lengths, target)))


def validated(estimator: BaseEstimator, *arrays: ArrayLike, **rules: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` returns, in silence.

    It adds up the entries to see whether all are finite, and warns where large entries of two signs
    meet: one record would decide whether it does.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return validate_data(estimator, *arrays, **rules)


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


def dp_statement(
    epsilon: float, delta: float, change: str, *, random_state: RandomState = None
) -> str:
    """Return the sentences of ``privacy_statement_``.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee.
    change : str
        What neighbours are and what is public, as in "replacing one of 100 records (...)".
    random_state : int, Generator, RandomState or None
        The estimator's; anything but None voids the guarantee, and the statement says so.
    """
    seed = (
        "The noise came from the operating system's entropy"
        if random_state is None
        else "This fit had a fixed random_state, which voids the guarantee"
    )
    return (
        f"({epsilon:.4g}, {delta:g})-differential privacy for {change}. Outside the guarantee: "
        "that data which are not finite, empty or of the wrong shape are refused before anything "
        f"is computed, and time and memory. {seed}; it is floating-point research noise."
    )


def binary_signs(
    y: ArrayLike, classes: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the two classes, and -1 for the first of them and 1 for the second.

    With ``classes`` the pair is public, in the given order: nothing is learnt from ``y``, which may
    hold only one of them, and every other label counts as the first. Without, the pair is read off
    ``y``, sorted, and so is treated as public.

    Raises
    ------
    ValueError
        If ``classes`` is not a pair of different labels, or ``y`` alone does not show two.
    """
    labels = np.asarray(y)
    if classes is None:
        check_classification_targets(y)
        found = np.unique(labels)
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
    return pair, np.where(labels == pair[1], 1.0, -1.0)
