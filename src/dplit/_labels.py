"""Labels as numbers or as stated classes, each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from dplit._checks import Array, as_number, as_numbers, check_real_array
from dplit._entries import _objects, entries, is_missing


def label_numbers(name: str, values: Any) -> Array:
    """Return labels (n,) in float64, each by itself: NaN for what is no finite number.

    Numbers beyond the floats count as the largest float with their sign.
    """
    held = entries(name, values)
    if held.dtype.kind in "biuf":
        labels = as_numbers(name, held).astype(np.float64)
    else:
        labels = np.array([_label(entry) for entry in held.ravel().tolist()], np.float64)
        labels = labels.reshape(held.shape)
    labels[~np.isfinite(labels)] = np.nan
    return labels


def _label(entry: Any) -> float:
    try:
        found = as_number(entry)
    except Exception:  # whatever an object does when it is asked for a number
        return np.nan
    return np.nan if isinstance(found, complex) else found


def stated_classes(classes: Any, *, binary: bool) -> NDArray[Any]:
    """Return the stated classes, two or, unless ``binary``, more, as they are."""
    rule = "two labels" if binary else "two or more labels"
    try:
        told = entries("classes", classes)
        good = told.ndim == 1 and len(told) >= 2 and (len(told) == 2 or not binary)
        good = good and not any(is_missing(label) for label in told.tolist())
        good = good and len(dict.fromkeys(told.tolist())) == len(told)
    except (TypeError, ValueError):  # no labels, or of a kind that cannot be looked up
        good = False
    if not good:
        raise ValueError(f"classes must be {rule}, got classes={classes!r}")
    return _same(told)


def _same(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array of one type where it holds the very same, else as objects."""
    if labels.dtype.kind != "O":
        return labels
    held = labels.tolist()
    kinds = [str, bytes, (bool, int, float, np.bool_, np.number)]
    if not any(all(isinstance(label, kind) for label in held) for kind in kinds):  # type: ignore[arg-type]
        return labels
    found = np.asarray(held)
    return found if found.dtype.kind != "O" and found.tolist() == held else labels


def _found_classes(labels: NDArray[Any], binary: bool) -> NDArray[Any]:
    """Return the classes that labels hold, sorted: what is missing is none."""
    if labels.dtype.kind == "f":
        said = labels[~np.isnan(labels)]
    elif labels.dtype.kind == "O":
        said = _same(_objects([label for label in labels.tolist() if not is_missing(label)]))
    else:
        said = labels
    if not len(said):
        raise ValueError("y must hold two classes unless classes is given, got none")
    check_classification_targets(said)
    found = np.unique(said)
    if binary and len(found) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(said)}."
        )
    if len(found) < 2:
        raise ValueError("y must hold two classes unless classes is given, got one class")
    return found


def class_places(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.intp]:
    """Return the place of each label (n,) among the classes, -1 for a label that is none of them.

    A label agrees with a class if it is equal to it as Python has it, exactly: 1, 1.0 and True are
    one, "1" and b"1" are others, and no large integer is rounded.

    >>> class_places(np.array(["x", 1, 0.0, None], dtype=object), (0, 1)).tolist()
    [-1, 1, 0, -1]
    """
    places, kind = np.full(len(labels), -1, np.intp), labels.dtype.kind
    if kind in "biuUS" or (kind == "f" and labels.dtype.itemsize <= 8):
        held = labels.astype({"b": np.uint8, "f": np.float64}.get(kind, labels.dtype), copy=False)
        for place, label in enumerate(classes):
            twin = _twin(kind, label)
            if twin is not None:
                places[held == twin] = place
        return places
    table = {label: place for place, label in enumerate(classes)}
    for index, entry in enumerate(labels.tolist()):
        try:
            places[index] = table.get(entry, -1)
        except Exception:  # what cannot be looked up, or compared
            places[index] = -1
    return places


def stated_weights(class_weight: Any, classes: NDArray[Any]) -> Array | None:
    """Return the public weight of each class (k,), in [0, 1]; None where none is stated.

    >>> stated_weights({"rare": 1.0, "common": 0.1}, np.array(["common", "rare"]))
    array([0.1, 1. ])
    """
    if class_weight is None:
        return None
    labels, told = classes.tolist(), class_weight
    try:
        if isinstance(told, Mapping):
            held = [told[label] for label in labels] if len(told) == len(labels) else []
        else:
            held = [] if isinstance(told, (str, bytes)) else list(told)
        known = not any(isinstance(one, (bool, np.bool_, str, bytes)) for one in held)
        weights = np.array([float(one) for one in held], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        weights, known = np.zeros(0), False
    good = known and len(weights) == len(labels)
    if not (good and (weights >= 0.0).all() and (weights <= 1.0).all() and weights.any()):
        raise ValueError(
            f"class_weight must have a weight in [0, 1] for each of the {len(labels)} classes, by "
            f"class or in their order, one of them positive, got class_weight={class_weight!r}"
        )
    return weights


def check_weights(name: str, value: Any, n_records: int) -> Array | None:
    """Return the weight of each record (n,), in [0, 1], or None where none is given.

    A weight that is masked is missing, and refused; no message quotes one.
    """
    if value is None:
        return None
    weights = check_real_array(name, entries(name, value), 1)
    if weights.shape != (n_records,) or not ((weights >= 0.0) & (weights <= 1.0)).all():
        raise ValueError(f"{name} must be {n_records} numbers in [0, 1], got others")
    return weights


def record_weights(
    weights: Array | None, places: NDArray[np.intp], own: Array | None = None
) -> Array | None:
    """Return the weight of each record (n,), of its class times its ``own``, in [0, 1] as both are;
    None where neither is stated. What is no class has a row of zeros.
    """
    if weights is None:
        return own
    found = weights[np.maximum(places, 0)]
    return found if own is None else found * own


def _twin(kind: str, label: Any) -> Any:
    """Return the entry of an array of some kind that equals a class exactly, None if none does."""
    if kind in "US":  # such arrays drop zero bytes at the end
        same = isinstance(label, str if kind == "U" else bytes) and len(label) > 0
        return label if same and label[-1:] not in ("\0", b"\0") else None
    if isinstance(label, (str, bytes)):
        return None
    try:
        twin = float(label) if kind == "f" else int(label)
        return twin if twin == label else None
    except Exception:  # no number, or one beyond the floats
        return None
