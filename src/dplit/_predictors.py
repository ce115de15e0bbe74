"""Prediction from released numbers: linear scores, classes by sign, nearest centres, components."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

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

from dplit._bounds import LARGEST_INPUT
from dplit._checks import check_real_array
from dplit._numerics.clipping import clamp, clip_rows
from dplit._records import fitted_records


def signs_of(places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return 1 for the second of two classes, and -1 for the first; what is neither counts for
    nothing, by the row of zeros that ``silenced`` makes of its record.
    """
    return np.where(places == 1, 1.0, -1.0)


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


def nearest_center(X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.intp]:
    """Index (n_samples,) of the centre (k, d) nearest to each record; the first of equally near.

    >>> nearest_center(np.array([[0.2], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    rows, centers = (
        check_real_array(name, told, 2, copy=False)
        for name, told in (("X", X), ("centers", centers))
    )
    size = float(np.abs(centers).max())
    if size > 0.0 and not 1.0 / LARGEST_INPUT <= size <= LARGEST_INPUT:  # squares are no floats
        power = -math.frexp(size)[1]
        with np.errstate(over="ignore"):
            rows, centers = np.ldexp(rows, power), np.ldexp(centers, power)
    scores = clamp(rows) @ centers.T
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
            found[part] = _distances(records[part][:, None, :], centers)
        return found


def _distances(rows: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lengths of differences, also of those whose squares are no floats; all are finite."""
    with np.errstate(over="ignore"):
        found = np.asarray(np.linalg.norm(rows - centers, axis=2))
        odd = ~((found > 1.0 / LARGEST_INPUT) & (found < LARGEST_INPUT))
        if odd.any():
            halves = np.hypot.reduce(np.abs(rows / 2.0 - centers / 2.0), axis=2)
            found[odd] = 2.0 * np.minimum(halves[odd], np.finfo(np.float64).max / 2.0)
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
