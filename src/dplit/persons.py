"""Persons with several records: what an estimator promises a record, promised to a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from dplit._base import price_of, whole
from dplit._checks import Array, check_integer, quiet
from dplit._labels import check_weights
from dplit._persons import person_names, person_slots
from dplit._records import classified_records, fitted_records, labelled_records, validated
from dplit._statements import dp_statement, whose_records
from dplit.accounting import group_budget
from dplit.mechanisms._draws import charged


def _can(method: str) -> Callable[[Any], bool]:
    """Return whether the estimator, fitted where there is one, has a method."""

    def has(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)  # its own error says why not
        return True

    return has


class PerPerson(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Fit of an estimator whose guarantee is for a person with all records.

    Parameters
    ----------
    estimator : estimator
        Any private estimator that promises a record, with the budget that a *person* is to have:
        classifiers and regressors, and :class:`~dplit.components.PrivatePCA` and
        :class:`~dplit.clusters.estimator.PrivateLloyd` under "add_remove". It stays unfitted.
    rows_each : int, default=1
        Records of a person that count, at most. Public, and chosen without the data: what one more
        tells costs noise for all.

    Attributes
    ----------
    estimator_ : estimator
        A copy, fitted at what one record may cost, ``group_budget(epsilon=..., delta=...,
        size=rows_each)``; its own statement is of one record, and holds beside that for a person.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee for a person.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    classes_ : ndarray
        Of classifiers.
    n_features_in_ : int

    Notes
    -----
    Of each person those records with a label count that come first by a public hash of their own
    values; which they are depends on no other person and on no order. Under "add_remove" a person
    adds or removes at most k = ``rows_each`` records of those that count. Under
    "replace_one" the number N of persons is public: each has k places, and what is missing is
    filled with records without a label, which contribute nothing, so that the fit is to N k records
    and another person is k replaced records at most. Both are a chain of k neighbours, along which
    a guarantee for a record becomes the one for a person (Vadhan 2017, Lemma 2.2, or exactly for
    Gaussian noise; :func:`~dplit.accounting.group_budget`). A budget that is open
    (:class:`~dplit.accounting.Budget`) pays for a person.

    One class for all estimators, and no parameter of each ``fit``: nothing in the proof depends on
    how a record is hidden. Sketches hide a person at the noise of a record
    (``CompressiveKMeans.fit(X, persons=...)``) and are refused here; so are estimators that hide
    less than a record. Estimators without labels have nothing that could stand in an empty place,
    and are refused under "replace_one". Sums of a folder: :func:`~dplit.tables.fits.fit_summary`.

    References
    ----------
    Vadhan, The complexity of differential privacy, 2017, Lemma 2.2.

    Examples
    --------
    >>> from dplit import NoisyGradientClassifier
    >>> X, who = np.linspace(-1, 1, 8000).reshape(-1, 1), np.arange(8000) // 2
    >>> model = NoisyGradientClassifier(
    ...     data_norm=1.0, classes=("low", "high"), epsilon=1.0, delta=1e-6, random_state=0
    ... )
    >>> y = np.where(X[:, 0] > 0.0, "high", "low")
    >>> person = PerPerson(model, rows_each=2).fit(X, y, group=who)
    >>> person.predict([[-0.5], [0.5]]).tolist(), person.epsilon_
    (['low', 'high'], 1.0)
    >>> round(person.estimator_.epsilon_, 3)
    0.475
    """

    def __init__(self, estimator: Any, *, rows_each: int = 1) -> None:
        self.estimator = estimator
        self.rows_each = rows_each

    @whole
    @quiet
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        group: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the records that count and fit a copy of the estimator to them.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,), optional
            Labels, for estimators that take them.
        group : array_like of shape (n_samples,)
            Whose record each is: integers or texts, none of them missing.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], for estimators that take them.

        Returns
        -------
        PerPerson

        Raises
        ------
        TypeError
            If the estimator promises nothing for a record or takes no weights that are given, or
            ``group`` holds something else.
        ValueError
            If the estimator takes persons itself, or has neither labels nor "add_remove".
        """
        model, most = self._checked(), check_integer("rows_each", self.rows_each)
        price = price_of(model, persons=True)
        share = group_budget(
            epsilon=price.epsilon, delta=price.delta, size=most, gaussian=price.gaussian
        )
        model.set_params(epsilon=share[0], **({"delta": share[1]} if price.delta else {}))
        if sample_weight is not None and not has_fit_parameter(model, "sample_weight"):
            raise TypeError(f"estimator must take sample_weight, got {type(model).__name__}")
        rows, labels, n_persons = self._records_that_count(model, X, y, group, sample_weight, most)
        told = {} if sample_weight is None else {"sample_weight": rows[:, -1]}
        with charged(price):
            model.fit(rows if sample_weight is None else rows[:, :-1], labels, **told)
        self.estimator_ = model
        if is_classifier(model):
            self.classes_ = model.classes_
        self.epsilon_ = float(price.epsilon)
        self.delta_ = float(price.delta) if model.delta_ else 0.0
        self.neighboring_ = model.neighboring_
        self._state(n_persons, most, weighted=sample_weight is not None)
        return self

    def _checked(self) -> Any:
        """Return a copy of the estimator, with its own source of noise, if it may be fitted."""
        given = self.estimator
        mine = any(kind.__module__.startswith("dplit.") for kind in type(given).__mro__)
        if not (mine and isinstance(given, BaseEstimator) and hasattr(given, "epsilon")):
            raise TypeError(f"estimator must be a private estimator, got estimator={given!r}")
        name = type(given).__name__
        if has_fit_parameter(given, "persons"):
            raise ValueError(f"estimator must not take persons itself, as {name}.fit does: use it")
        if price_of(given).unit != "record":
            raise TypeError(f"estimator must promise a record, got {name}, which promises less")
        labelled = is_classifier(given) or is_regressor(given)
        if not labelled and given.neighboring != "add_remove":
            raise ValueError(
                "neighboring must be 'add_remove' without labels (nothing can stand in the place "
                f"of a record that is not there), got neighboring={given.neighboring!r}"
            )
        return clone(given).set_params(random_state=given.random_state)  # not a copy of its state

    def _records_that_count(
        self, model: Any, X: ArrayLike, y: Any, group: ArrayLike, weights: Any, most: int
    ) -> tuple[Array, NDArray[Any] | None, int]:
        """Return the records that count, behind each its weight if there are weights, their labels,
        and the number of persons.
        """
        if is_classifier(model):
            records, classes, places = classified_records(self, X, y, model.classes, binary=False)
            labels, known = places.astype(np.float64), places >= 0
        elif is_regressor(model):
            records, labels = labelled_records(self, X, y)
            known = ~np.isnan(labels)
        else:
            records = validated(self, X, dtype=np.float64)
            labels, known = np.zeros(len(records)), np.ones(len(records), bool)
        people = person_names("group", group)
        if people.shape != (len(records),):
            raise ValueError(f"group must have shape ({len(records)},), got shape {people.shape}")
        own = check_weights("sample_weight", weights, len(records))
        if own is not None:
            records = np.column_stack([records, own])
        names, codes = np.unique(people, return_inverse=True)
        filled = person_slots(codes, len(names), records, labels, known, most)
        if getattr(model, "neighboring", "replace_one") == "add_remove":
            filled = filled[filled >= 0]
        there = filled >= 0
        rows, labels = np.where(there[:, None], records[filled], 0.0), labels[filled]
        if is_classifier(model):
            told = np.full(len(rows), None, object)
            told[there] = classes[labels[there].astype(np.intp)]
            return rows, told, len(names)
        if is_regressor(model):
            return rows, np.where(there, labels, np.nan), len(names)
        return rows, None, len(names)

    def _state(self, n_persons: int, most: int, *, weighted: bool) -> None:
        """State the guarantee for a person, beside what one record has."""
        model = self.estimator_
        added = self.neighboring_ == "add_remove"
        change = (
            f"{whose_records(n_persons, most, added=added)}; the fit is ({model.epsilon_:.4g}, "
            f"{model.delta_:.3g})-private for one record, which makes this of {most}; what else is "
            "clipped or public is said by estimator_)"
        )
        self.privacy_statement_ = dp_statement(
            self.epsilon_,
            self.delta_,
            change,
            random_state=model.random_state,
            labelled=is_classifier(model) or is_regressor(model),
            weighted=weighted,
        )

    def __sklearn_tags__(self) -> Tags:
        """Say that it is what the estimator is."""
        tags, told = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "transformer_tags"):
            setattr(tags, name, getattr(told, name))
        tags.target_tags, tags.non_deterministic = told.target_tags, told.non_deterministic
        return tags

    def _ask(self, method: str, X: ArrayLike) -> Any:
        return getattr(self.estimator_, method)(fitted_records(self, X))

    @available_if(_can("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict as the fitted estimator does.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self._ask("predict", X))

    @available_if(_can("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores of the fitted estimator.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return np.asarray(self._ask("decision_function", X))

    @available_if(_can("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the fitted estimator.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(self._ask("predict_proba", X))

    @available_if(_can("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Transform as the fitted estimator does.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        return np.asarray(self._ask("transform", X))

    @available_if(_can("score"))  # type: ignore[untyped-decorator]
    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy, or R^2, of predictions: a number about these records, which is not private.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
        y : array_like of shape (n_samples,)

        Returns
        -------
        float
        """
        return float(self.estimator_.score(fitted_records(self, X), y))
