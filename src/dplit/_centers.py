"""What estimators of cluster centres share: assignment of records, and distances to the centres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from dplit._prediction import fitted_records

__all__ = ["CenterEstimator", "nearest_center"]


def nearest_center(X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.intp]:
    """Index of the nearest centre of every record; the first one where two are equally near.

    Parameters
    ----------
    X : ndarray of shape (n_samples, d)
        Records.
    centers : ndarray of shape (k, d)
        Centres.

    Returns
    -------
    ndarray of shape (n_samples,)
        Indices in 0, ..., k - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.baselines import nearest_center
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

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If ``fit`` was not called.
        ValueError
            If ``X`` is not a finite matrix with the fitted number of columns.
        """
        return nearest_center(fitted_records(self, X), self.cluster_centers_)

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.intp]:
        """Fit on ``X`` and return the labels of its records, which are not private."""
        labels: NDArray[np.intp] = self.fit(X).predict(X)
        return labels

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Distance of every record to every centre, of shape (n_samples, n_clusters).

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records; they are not clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Euclidean distances.
        """
        gaps = fitted_records(self, X)[:, None, :] - self.cluster_centers_[None]
        return np.asarray(np.linalg.norm(gaps, axis=2))
