"""What the private estimators share: their random streams and the clipping of records."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_is_fitted

from dplit._checks import check_finite_array, check_positive, check_real_array
from dplit._records import fitted_records

# A fit that is whole or none.


_Model = TypeVar("_Model")
_Fit = TypeVar("_Fit", bound=Callable[..., Any])

#: What a fit sets beside the attributes that end in an underscore.
_HIDDEN = {"_ends", "_how", "_map", "_n_features_out"}


def _kept(estimator: Any) -> dict[str, Any]:
    """Return what an estimator holds beside what it was fitted to."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in _HIDDEN and not (name.endswith("_") and not name.startswith("__"))
    }


@contextmanager
def fitting(estimator: _Model) -> Iterator[_Model]:
    """Give a copy without fitted attributes to be fitted, and then its attributes to the estimator.

    Until then the estimator has none: an interruption, wherever it comes, leaves it unfitted, and
    no guarantee of one fit stands beside numbers of another.
    """
    estimator.__dict__ = _kept(estimator)
    draft = object.__new__(type(estimator))
    draft.__dict__.update(vars(estimator))
    yield draft
    vars(estimator).update(vars(draft))  # one call, which no signal divides


def whole(fit: _Fit) -> _Fit:
    """Make a method ``fit`` that sets all of its attributes or none; see :func:`fitting`."""

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **kwargs: Any) -> Any:
        with fitting(self) as draft:
            fit(draft, *args, **kwargs)
        return self

    return cast("_Fit", fitted)


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


RandomState = int | np.random.Generator | np.random.RandomState | None

#: Entries of finite records are clamped here, so that no product or square of two overflows.
LARGEST_INPUT = 1e150


def spawn_generators(random_state: RandomState, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators that belong to one call of ``fit``.

    ``None`` takes entropy from the operating system for each: what is published of one (features,
    projections, starting points) tells nothing of another (the noise). An integer gives the same in
    every call. A ``Generator`` is asked to spawn, so that two fits of one estimator differ while
    two clones (which copy its state) agree. A ``RandomState``, or a ``Generator`` that cannot spawn
    since its bits come from a key, gives four words of entropy and advances.
    """
    if isinstance(random_state, np.random.Generator):
        if hasattr(random_state.bit_generator.seed_seq, "spawn"):
            return random_state.spawn(count)
        words = random_state.integers(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(words).spawn(count)
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


def check_regression(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return real finite records (n, d) and labels (n,) in float64."""
    rows, labels = check_real_array("X", X, 2), check_real_array("y", y, 1)
    if len(rows) != len(labels):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows, labels


def dp_statement(
    epsilon: float, delta: float, change: str, *, random_state: RandomState = None,
    labelled: bool = False,
) -> str:  # fmt: skip
    """Return the sentences of ``privacy_statement_``.

    ``change`` says what neighbours are and what is public, as in "replacing one of 100 records
    (...)". Any ``random_state`` but None voids the guarantee, and the statement says so. Where
    records are ``labelled``, it says what one without a label does.
    """
    seed = (
        "The noise came from the operating system's entropy"
        if random_state is None
        else "This fit had a fixed random_state, which voids the guarantee"
    )
    silent, none = ("", "")
    if labelled:
        silent = " A record without a label that can be read contributes nothing."
        none = ", or in which no record has a label,"
    return (
        f"({epsilon:.4g}, {delta:g})-differential privacy for {change}.{silent} Outside the "
        "guarantee: that data which are not finite, empty or of the wrong shape"
        f"{none} are refused before anything "
        f"is computed, and time and memory. {seed}; it is floating-point research noise."
    )


def state_guarantee(
    estimator: Any, epsilon: float, delta: float, neighboring: str, change: str
) -> None:
    """Set what every fitted estimator says of its guarantee; ``change`` as in `dp_statement`."""
    estimator.epsilon_, estimator.delta_ = float(epsilon), float(delta)
    estimator.neighboring_ = neighboring
    estimator.privacy_statement_ = dp_statement(
        estimator.epsilon_, estimator.delta_, change, random_state=estimator.random_state,
        labelled=isinstance(estimator, (ClassifierMixin, RegressorMixin)),
    )  # fmt: skip


def only_replacement(neighboring: str, reason: str) -> None:
    """Refuse any relation but the replacement of one record, and say why."""
    if neighboring != "replace_one":
        raise ValueError(
            f"neighboring must be 'replace_one' ({reason}), got neighboring={neighboring!r}"
        )


def signs_of(places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return 1 for the second of two classes, and -1 for the first; what is neither counts for
    nothing, by the row of zeros that :func:`silenced` makes of its record.
    """
    return np.where(places == 1, 1.0, -1.0)


def silenced(rows: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Return rows (n, d), which are changed, with zeros for records without a label.

    A row of zeros pulls at no linear model: it adds nothing to moments and gradients, and a
    constant to a risk. It is a row that the mechanism takes from anybody, made of its own record
    alone, so that neighbours stay neighbours and no sensitivity changes; and the record is still
    counted where the number of records is public.
    """
    rows[~known] = 0.0
    return rows


# How private estimators predict: linear scores, scores in features, the sign of a score.


# rows whose features are in memory at a time
BATCH = 4096

#: Differences of records and centres that are in memory at a time.
GAPS = 1 << 20


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

    data_norm_: float
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
        rows = clip_rows(fitted_records(self, X), self.data_norm_)
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
        records, centers = fitted_records(self, X), self.cluster_centers_
        found = np.empty((len(records), len(centers)))
        for part in gen_batches(len(records), max(1, GAPS // centers.size)):
            found[part] = np.linalg.norm(records[part][:, None, :] - centers, axis=2)
        return found


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
