"""What the private estimators share: their random streams and the clipping of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, gen_batches
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dplit._checks import as_numbers, check_finite_array, check_positive, check_real_array

# Boxes that hold the data: stated by the caller, never read from the records.


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
    """Return the box of ``bounds = (low, high)``, two numbers or rows of ``n_features`` each."""
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
    half = high / 2 - low / 2
    if not np.all((low < high) & (half > 0)):
        raise ValueError(f"bounds must be increasing, got bounds={bounds!r}")
    return Box(low / 2 + high / 2, half)


RandomState = int | np.random.Generator | np.random.RandomState | None

#: Entries of finite records are clamped here, so that no product or square of two overflows.
LARGEST_INPUT = 1e150


def spawn_generators(random_state: RandomState, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators that belong to one call of ``fit``.

    ``None`` takes entropy from the operating system for each: what is published of one (features,
    projections, starting points) tells nothing of another (the noise). An integer gives the same in
    every call. A ``Generator`` is asked to spawn, so that two fits of one estimator differ while
    two clones (which copy its state) agree. A ``RandomState`` gives four words of entropy and
    advances.
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


def stated_norm(data_norm: object) -> float:
    """Return the bound on the length of records, which the caller has to state."""
    if data_norm is None:
        raise ValueError(
            "data_norm must be given: a bound read from the data is not private, got data_norm=None"
        )
    return check_positive("data_norm", data_norm)


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
    return float(ends[0]), float(ends[1])


def clamp(X: NDArray[Any]) -> NDArray[Any]:
    """Return finite records with entries clamped to ``[-LARGEST_INPUT, LARGEST_INPUT]``."""
    return np.asarray(np.clip(X, -LARGEST_INPUT, LARGEST_INPUT))


def clip_rows(X: NDArray[Any], norm: float) -> NDArray[Any]:
    """Return ``X`` (n, d) with every row longer than ``norm`` scaled back to it.

    No row of what is returned is longer than ``norm``, nor when it is divided by ``norm``: lengths
    are compared with, and scaled to, a bound below ``norm`` by what d products, sums and quotients
    can round. Every row is first divided by a power of two near its largest entry, so that no
    finite row overflows, underflows, warns or loses its direction, and none takes another route.
    """
    X, kind = np.ascontiguousarray(X), X.dtype.type  # rows of other layouts add in another order
    bound = kind(norm) * (1 - kind(X.shape[1] + 8) * np.finfo(X.dtype).eps)
    top = np.finfo(X.dtype).maxexp - 1
    largest = np.maximum(np.abs(X).max(axis=1, keepdims=True), kind(norm))
    unit = np.ldexp(kind(1.0), np.minimum(np.frexp(largest)[1], top))  # (n, 1)
    rows = X / unit
    lengths, target = np.linalg.norm(rows, axis=1, keepdims=True), bound / unit
    return np.where(lengths <= target, X, rows * (bound / np.maximum(lengths, target)))


def lifted(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (n, d) of the unit ball with a constant coordinate, (n, d + 1), in it again.

    >>> lifted(np.array([[1.0, 0.0]])).round(3).tolist()
    [[0.707, 0.0, 0.707]]
    """
    return np.asarray(np.hstack([rows, np.ones((len(rows), 1))]) / np.sqrt(2.0))


def lowered(coef: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
    """Return weights (..., d) and intercepts (...) of the rows that :func:`lifted` was given.

    >>> weights, intercept = lowered(np.sqrt(2.0) * np.array([3.0, 4.0, 5.0]))
    >>> weights.round(3).tolist(), round(float(intercept), 3)
    ([3.0, 4.0], 5.0)
    """
    coef = coef / np.sqrt(2.0)
    return coef[..., :-1], coef[..., -1]


def validated(estimator: BaseEstimator, *arrays: ArrayLike, **rules: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` returns, in silence.

    It adds up the entries to see whether all are finite, and warns where large entries of two signs
    meet: one record would decide whether it does. Numbers beyond the floats come in by the door
    that all input takes; labels of classes are no numbers. What it refuses it prints, where numbers
    are complex or records have not two axes: these are refused here, by their names.
    """
    numeric = 1 + bool(rules.get("y_numeric"))
    doors = [
        _through_door(name, array, k < numeric)
        for k, (name, array) in enumerate(zip("Xy", arrays, strict=False))
    ]
    with np.errstate(all="ignore"):
        return validate_data(estimator, *doors, **rules)


def _through_door(name: str, array: Any, numeric: bool) -> Any:
    """Return records or labels of which no refusal of scikit-learn would quote an entry.

    Columns keep their names, and labels that are no numbers stay as they are.
    """
    if array is None:
        return None
    framed = hasattr(array, "columns") and hasattr(array, "to_numpy")
    values: Any = array
    dense = not issparse(array)
    try:
        if dense:
            values = array.to_numpy() if framed else np.asarray(array)
    except (OverflowError, ValueError):  # integers beyond the floats, or rows of unlike lengths
        values = array = as_numbers(name, array)
    if numeric and dense and (values.dtype.kind in "OUS" or values.dtype.itemsize > 8):
        values = as_numbers(name, values)
        array = type(array)(values, **_named_columns(array)) if framed else values
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must be real")
    if name == "X" and values.ndim != 2:
        raise ValueError(
            f"X must have two axes (n_samples, n_features), got X with {values.ndim}. Reshape your "
            "data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one record"
        )
    return array


def _named_columns(frame: Any) -> dict[str, Any]:
    """Return the argument by which a frame of pandas or of polars is told its columns."""
    return {"columns" if hasattr(frame, "iloc") else "schema": frame.columns}


def check_regression(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return real finite records (n, d) and labels (n,) in float64."""
    rows, labels = check_real_array("X", X, 2), check_real_array("y", y, 1)
    if len(rows) != len(labels):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows, labels


def dp_statement(
    epsilon: float, delta: float, change: str, *, random_state: RandomState = None
) -> str:
    """Return the sentences of ``privacy_statement_``.

    ``change`` says what neighbours are and what is public, as in "replacing one of 100 records
    (...)". Any ``random_state`` but None voids the guarantee, and the statement says so.
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


def state_guarantee(
    estimator: Any, epsilon: float, delta: float, neighboring: str, change: str
) -> None:
    """Set what every fitted estimator says of its guarantee; ``change`` as in `dp_statement`."""
    estimator.epsilon_, estimator.delta_ = float(epsilon), float(delta)
    estimator.neighboring_ = neighboring
    estimator.privacy_statement_ = dp_statement(
        estimator.epsilon_, estimator.delta_, change, random_state=estimator.random_state
    )


def only_replacement(neighboring: str, reason: str) -> None:
    """Refuse any relation but the replacement of one record, and say why."""
    if neighboring != "replace_one":
        raise ValueError(
            f"neighboring must be 'replace_one' ({reason}), got neighboring={neighboring!r}"
        )


def binary_signs(
    y: ArrayLike, classes: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the two classes, and -1 for the first of them and 1 for the second.

    With ``classes`` the pair is public, in the given order: nothing is learnt from ``y``, which may
    hold only one of them, and every other label counts as the first. Without, the pair is read off
    ``y``, sorted, and so is treated as public.
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
            raise ValueError("y must hold two classes unless classes is given, got one class")
        pair = found
    else:
        pair = np.asarray(classes)
        if pair.shape != (2,) or pair[0] == pair[1]:
            raise ValueError(f"classes must be two labels, got classes={classes!r}")
    return pair, np.where(labels == pair[1], 1.0, -1.0)


# How private estimators predict: linear scores, scores in features, the sign of a score.


# rows whose features are in memory at a time
BATCH = 4096


def fitted_records(estimator: BaseEstimator, X: ArrayLike) -> NDArray[np.float64]:
    """Return finite records with the columns that ``estimator`` was fitted to."""
    check_is_fitted(estimator)
    records: NDArray[np.float64] = validated(estimator, X, dtype=np.float64, reset=False)
    return records


def linear_scores(estimator: Any, X: ArrayLike) -> NDArray[np.float64]:
    """Return ``X @ coef_ + intercept_``; raises as `fitted_records`."""
    return np.asarray(fitted_records(estimator, X) @ estimator.coef_ + estimator.intercept_)


def feature_scores(
    estimator: Any, X: ArrayLike, features: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return ``features(X) @ coef_``, with the features of one batch in memory at a time.

    ``features`` maps records (n, d) to features (n, N). Raises as `fitted_records`.
    """
    records = fitted_records(estimator, X)
    batches = [
        features(records[batch]) @ estimator.coef_ for batch in gen_batches(len(records), BATCH)
    ]
    return np.concatenate(batches)


class LinearRegressor(
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A regressor whose release is a linear function in the units of the data."""

    coef_: NDArray[np.float64]
    intercept_: float

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records; they are not clipped.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef_ + intercept_``.
        """
        return linear_scores(self, X)


class SignClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier of two classes by the sign of its ``decision_function``."""

    classes_: NDArray[Any]
    decision_function: Callable[[ArrayLike], NDArray[np.float64]]

    def __sklearn_tags__(self) -> Tags:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Classify by the sign of the released function.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])


class ClippedLinearClassifier(
    SignClassifier,
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier of two classes by one linear score of rows clipped to ``data_norm``."""

    data_norm: float | None
    coef_: NDArray[np.float64]
    intercept_: float

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Signed scores; positive means the second class.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to ``data_norm`` as in training.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef_ + intercept_`` for the clipped records.
        """
        rows = clip_rows(fitted_records(self, X), stated_norm(self.data_norm))
        return np.asarray(rows @ self.coef_ + self.intercept_)


# What estimators of cluster centres share: assignment of records, and distances to the centres.


def nearest_center(X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.intp]:
    """Index (n_samples,) of the centre (k, d) nearest to each record; the first of equally near.

    >>> nearest_center(np.array([[0.2], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    scores = X @ centers.T
    scores -= 0.5 * (centers**2).sum(axis=1)
    return np.asarray(scores.argmax(axis=1), dtype=np.intp)


class CenterEstimator(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Labels and distances from ``cluster_centers_``; no ``ClusterMixin``, which wants ``labels_``.

    The labels of the training records are as sensitive as the records and never an attribute.
    """

    cluster_centers_: NDArray[np.float64]

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Index of the nearest centre of every record.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records; they are not clipped.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. They are as sensitive as the records that were passed.
        """
        return nearest_center(fitted_records(self, X), self.cluster_centers_)

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.intp]:
        """Fit on ``X`` and return the labels of its records, which are not private."""
        labels: NDArray[np.intp] = self.fit(X).predict(X)
        return labels

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Euclidean distance of every record to every centre.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records; they are not clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        gaps = fitted_records(self, X)[:, None, :] - self.cluster_centers_[None]
        return np.asarray(np.linalg.norm(gaps, axis=2))


class ComponentsEstimator(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Coordinates of records in released components, orthonormal rows."""

    components_: NDArray[np.float64]

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Coordinates ``X @ components_.T`` of every record, of shape (n_samples, n_components)."""
        return np.asarray(fitted_records(self, X) @ self.components_.T)

    def inverse_transform(self, Z: ArrayLike) -> NDArray[np.float64]:
        """Records ``Z @ components_`` of coordinates, of shape (n_samples, n_features)."""
        check_is_fitted(self)
        return np.asarray(check_real_array("Z", Z, 2) @ self.components_)
