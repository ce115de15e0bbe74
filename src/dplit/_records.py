"""The one door by which records, labels and persons come in.

NumPy gives all entries of a list one type: a text among numbers makes texts of them all, a missing
integer makes floats. One record would then decide how all others are read. Here each entry is read
by itself, whatever the container, and finiteness is asked whatever scikit-learn was told to assume.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dplit._checks import Array, as_numbers
from dplit._entries import entries
from dplit._labels import _found_classes, class_places, label_numbers, stated_classes


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
