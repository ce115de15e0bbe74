"""The one door by which records, labels and persons come in.

NumPy gives all entries of a list one type: a text among numbers makes texts of them all, a missing
integer makes floats. One record would then decide how all others are read. Here each entry is read
by itself, whatever the container, and finiteness is asked whatever scikit-learn was told to assume.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dplit._checks import Array, as_number, as_numbers

# Records: real finite numbers in float64.


def validated(estimator: BaseEstimator, X: ArrayLike, **rules: Any) -> NDArray[Any]:
    """Return finite records (n, d) as scikit-learn's ``validate_data`` does, in silence.

    It adds up the entries to see whether all are finite, and warns where large entries of two signs
    meet, or asks nothing where a user said ``assume_finite``. It reads dates as nanoseconds, and
    prints complex numbers and records that have not two axes when it refuses them.
    """
    with np.errstate(all="ignore"):
        found = validate_data(estimator, _door(X), ensure_all_finite=False, **rules)
    return _finite(found)


def fitted_records(estimator: BaseEstimator, X: ArrayLike) -> Array:
    """Return finite records with the columns that ``estimator`` was fitted to."""
    check_is_fitted(estimator)
    return validated(estimator, X, dtype=np.float64, reset=False)


def labelled_records(estimator: BaseEstimator, X: ArrayLike, y: Any) -> tuple[Array, Array]:
    """Return records (n, d) and numbers (n,) in float64, NaN where there is no label.

    At least one record has one: no fit would mean anything, and this one bit is told.
    """
    records, held = _checked_pair(estimator, X, y)
    labels = label_numbers("y", held.ravel())
    if np.isnan(labels).all():
        raise ValueError("y must hold a finite number in one record at least, got none")
    return records, labels


def classified_records(
    estimator: BaseEstimator, X: ArrayLike, y: Any, classes: Any, *, binary: bool = True
) -> tuple[Array, NDArray[Any], NDArray[np.intp]]:
    """Return records (n, d), the classes, and each label's place among them, -1 for none of them.

    With ``classes`` these are public, in the given order, and nothing is learnt from ``y`` but that
    one label at least is one of them. Without, they are read off ``y``, sorted, and so are treated
    as public. ``binary`` asks for two.
    """
    told = None if classes is None else stated_classes(classes, binary=binary)
    records, held = _checked_pair(estimator, X, y)
    labels = held.ravel()
    if told is None:
        told = _found_classes(labels, binary)
    places = class_places(labels, told.tolist())
    if (places < 0).all():
        raise ValueError(
            "y must hold one of the stated classes in one record at least, got none of "
            f"classes={classes!r} (meta-estimators of scikit-learn encode labels as 0, 1, ...: "
            "state these)"
        )
    return records, told, places


def _door(X: Any) -> Any:
    """Return records of which no refusal of scikit-learn would quote an entry; columns keep their
    names.
    """
    framed = hasattr(X, "columns") and hasattr(X, "to_numpy")
    if issparse(X):
        return _real(X, X.dtype.kind)  # type: ignore[attr-defined]
    if isinstance(X, np.ma.MaskedArray):  # what is masked is not there
        X = np.ma.filled(X.astype(np.float64 if X.dtype.kind in "biuf" else object), np.nan)
    try:
        values: Any = X.to_numpy() if framed else np.asarray(X)
    except (OverflowError, TypeError, ValueError):  # integers beyond the floats, dates, rows of
        values = X = as_numbers("X", X)  # unlike lengths
    if values.dtype.kind not in "biufc" or values.dtype.itemsize > 8:
        values = as_numbers("X", values)
        X = type(X)(values, **_named_columns(X)) if framed else values
    _real(X, values.dtype.kind)
    if values.ndim != 2:
        raise ValueError(
            f"X must have two axes (n_samples, n_features), got X with {values.ndim}. Reshape your "
            "data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one record"
        )
    return X


def _real(X: Any, kind: str) -> Any:
    """Return records whose numbers are of a real kind."""
    if kind == "c":
        raise ValueError("Complex data not supported: X must be real")
    return X


def _named_columns(frame: Any) -> dict[str, Any]:
    """Return the argument by which a frame of pandas or of polars is told its columns."""
    return {"columns" if hasattr(frame, "iloc") else "schema": frame.columns}


def _finite(records: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite(records).all():
        raise ValueError("X must be finite, got X with NaN or infinite entries")
    return records


def _checked_pair(estimator: BaseEstimator, X: Any, y: Any) -> tuple[Array, NDArray[Any]]:
    """Return finite records and as many labels as they were given; scikit-learn sees the shape of
    the labels and nothing else.
    """
    told, held = _door(X), np.zeros(0) if y is None else entries("y", y)
    shape = None if y is None else np.zeros(held.shape)
    with np.errstate(all="ignore"):
        records, _ = validate_data(
            estimator, told, shape, dtype=np.float64, ensure_all_finite=False
        )
    return _finite(records), held


# Entries of a column, each by itself.


def entries(name: str, values: Any) -> NDArray[Any]:
    """Return a column of labels or persons as an array: of numbers or texts, as such an array came
    in, otherwise of objects.

    Dates, durations and complex numbers are refused by their type.
    """
    if hasattr(values, "compute") and hasattr(values, "dask"):
        values = values.compute()
    if hasattr(values, "columns") and hasattr(values, "to_numpy"):  # a frame of one column
        if len(values.columns) != 1:
            return np.empty(values.shape, object)
        column = values.iloc[:, 0] if hasattr(values, "iloc") else values.to_series()
        return entries(name, column).reshape(-1, 1)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "mMcV":
        what = "Complex data not supported" if kind == "c" else "dates are no labels"
        raise ValueError(f"{what}: {name} must hold numbers, or classes")
    plain = isinstance(getattr(values, "dtype", None), np.dtype) and kind in "biuf"
    if (plain or isinstance(values, np.ndarray)) and not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            try:
                return _objects(getattr(values, method)())
            except Exception:  # of Arrow: a broken text, which it would quote
                raise ValueError(f"{name} must be read entry by entry, which failed") from None
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, memoryview)):
        return _objects(values)
    found = np.asarray(values)
    if found.dtype.kind in "mMcV":
        return entries(name, found)
    return found


def _objects(values: Any) -> NDArray[Any]:
    """Return a sequence as an array of the very objects in it."""
    if not isinstance(values, Sequence):
        return np.asarray(values, dtype=object)
    nested = (list, tuple, np.ndarray)
    if len(values) and all(isinstance(entry, nested) and np.ndim(entry) for entry in values):
        lengths = {np.shape(entry) for entry in values}
        if len(lengths) == 1:
            return np.array([_objects(list(entry)) for entry in values], dtype=object)
    found = np.empty(len(values), object)
    for index, entry in enumerate(values):
        found[index] = entry
    return found


def is_missing(entry: Any) -> bool:
    """Whether an entry says nothing: None, NaN, NaT, pandas' NA, an empty text.

    >>> [is_missing(entry) for entry in (None, float("nan"), " ", 0, "no")]
    [True, True, True, False, False]
    """
    if entry is None or (isinstance(entry, (str, bytes)) and not entry.strip()):
        return True
    try:
        return bool(entry != entry)
    except Exception:  # of NA, of signalling NaN, of whatever an object does when it is compared
        return type(entry).__name__ in ("NAType", "Decimal")


# Labels: numbers, or classes.


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


# Persons: integers or texts, none of them missing.


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
