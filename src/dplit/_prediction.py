"""How private estimators predict: linear scores, scores in features, the sign of a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_is_fitted

from dplit._estimators import validated

__all__ = ["LinearRegressor", "SignClassifier", "feature_scores", "fitted_records", "linear_scores"]

# rows whose features are in memory at a time
BATCH = 4096


def fitted_records(estimator: BaseEstimator, X: ArrayLike) -> NDArray[np.float64]:
    """Return finite records with the columns that ``estimator`` was fitted to.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    ValueError
        If ``X`` is not a finite matrix with the fitted number of columns.
    """
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

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If ``fit`` was not called.
        ValueError
            If ``X`` is not a finite matrix with the fitted number of columns.
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

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If ``fit`` was not called.
        ValueError
            If ``X`` is not a finite matrix with the fitted number of columns.
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])
