"""Private constants: the mean of labels, or the most frequent class, with an interval.

Where a budget learns nothing of columns it still learns this.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from dplit._base import RandomState, noise_source, whole
from dplit._bounds import stated_ends
from dplit._checks import Neighboring, check_epsilon, check_neighboring, quiet
from dplit._records import classified_records, fitted_records, labelled_records
from dplit._statements import state_guarantee
from dplit.mechanisms import laplace_scale
from dplit.mechanisms._means import laplace_bound, laplace_mean, share_of
from dplit.mechanisms.values import Laplace

#: Chance with which an interval misses.
_CHANCE = 0.05


def _change(neighboring: str, n: int, public: str) -> str:
    """Say what neighbours are."""
    if neighboring == "add_remove":
        return f"adding or removing one record ({public})"
    return f"replacing one of {n} records (their number is public; {public})"


class PrivateConstantRegressor(
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""The private mean of the labels, which is predicted for every record.

    Parameters
    ----------
    epsilon : float, default=1.0
        From 1e-50 to 1e20; no delta is spent.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given, and chosen without the
        data.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee.

    Attributes
    ----------
    constant_ : float
        The mean, with noise, in ``bounds``.
    interval_ : ndarray of shape (2,)
        The mean of *these* labels, clipped to ``bounds``, lies in it with 95 % chance, whatever
        they are: it is about the noise, not about other records.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Labels are scaled to [-1, 1]. Their sum and their number get Laplace noise of scale
    :math:`2/\epsilon` each: together they move by at most 2 in the l1 norm, whether a label
    changes, comes or goes. The mean is off by about :math:`\sqrt2\,w/(n\epsilon)`, w the width of
    the bounds; at delta 1e-6 and epsilon 1 Gaussian noise of the mean alone would be three times as
    wide. The noise is exact (:mod:`dplit.mechanisms`). Records are checked, and otherwise not read.

    Examples
    --------
    >>> model = PrivateConstantRegressor(epsilon=1.0, bounds=(0.0, 60.0), random_state=0)
    >>> model = model.fit(np.zeros((5000, 2)), np.full(5000, 7.0))
    >>> bool(abs(model.predict([[0.0, 0.0]])[0] - 7.0) < 0.2)
    True
    >>> bool(model.interval_[0] < 7.0 < model.interval_[1])
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        bounds: tuple[float, float] | None = None,
        neighboring: Neighboring = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.neighboring = neighboring
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """Say that it learns nothing of the records."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release the mean.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.

        Returns
        -------
        PrivateConstantRegressor
        """
        epsilon, (low, high) = check_epsilon(self.epsilon), stated_ends(self.bounds)
        check_neighboring(self.neighboring)
        records, labels = labelled_records(self, X, y)
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        mean, _ = laplace_mean(
            np.clip((np.clip(labels, low, high) - middle) / half, -1.0, 1.0),
            epsilon=epsilon,
            hides="sum and number of labels",
            chance=_CHANCE,
            most=len(records) if self.neighboring == "replace_one" else None,
            rng=noise_source(self.random_state),
        )
        self.constant_, *ends = (float(np.clip(middle + half * end, low, high)) for end in mean)
        self.interval_ = np.array(ends)
        public = f"labels are clipped to [{low:g}, {high:g}]"
        change = _change(self.neighboring, len(records), public)
        state_guarantee(self, epsilon, 0.0, self.neighboring, change)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the mean for every record (n_samples, n_features)."""
        return np.full(len(fitted_records(self, X)), self.constant_)


class PrivateConstantClassifier(
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""The most frequent class, privately, which is predicted for every record.

    Parameters
    ----------
    epsilon : float, default=1.0
        From 1e-50 to 1e20; no delta is spent.
    classes : tuple or None, default=None
        Two labels or more. Where they are given nothing is learnt from ``y`` but their frequencies;
        a record with another label, or without one, contributes nothing. None takes them from the
        data, and then they are **assumed public**.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee.

    Attributes
    ----------
    shares_ : ndarray of shape (n_classes,)
        Shares of the classes, with noise, which add to 1: what ``predict_proba`` says of a record.
    interval_ : ndarray of shape (2,)
        The share of the predicted class among *these* records lies in it with 95 % chance, whatever
        they are.
    classes_ : ndarray of shape (n_classes,)
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    The counts of the classes get Laplace noise of scale :math:`2/\epsilon`: a record that is
    replaced moves two of them by 1; :math:`1/\epsilon` where one is added or removed. The noise is
    exact (:mod:`dplit.mechanisms`). Records are checked, and otherwise not read.

    Examples
    --------
    >>> model = PrivateConstantClassifier(epsilon=1.0, classes=("no", "yes"), random_state=0)
    >>> model = model.fit(np.zeros((5000, 2)), np.where(np.arange(5000) < 4000, "no", "yes"))
    >>> model.predict([[0.0, 0.0]]).tolist(), model.shares_.round(2).tolist()
    (['no'], [0.8, 0.2])
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        classes: tuple[Any, ...] | None = None,
        neighboring: Neighboring = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.classes = classes
        self.neighboring = neighboring
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """Say that it learns nothing of the records."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release the frequencies of the classes.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; with ``classes`` any labels.

        Returns
        -------
        PrivateConstantClassifier
        """
        epsilon, relation = check_epsilon(self.epsilon), check_neighboring(self.neighboring)
        records, self.classes_, places = classified_records(self, X, y, self.classes, binary=False)
        k, moved = len(self.classes_), 1.0 if relation == "add_remove" else 2.0
        scale = laplace_scale(epsilon=epsilon, sensitivity=moved)
        counts = Laplace(scale).add(
            np.bincount(places[places >= 0], minlength=k).astype(np.float64),
            hides="numbers of records by class",
            sensitivity=moved,
            rng=noise_source(self.random_state),
        )
        there = np.maximum(counts, 0.0)
        self.shares_ = there / there.sum() if there.any() else np.full(k, 1.0 / k)
        most = int(self.shares_.argmax())
        chance = _CHANCE / (2 * k)  # whichever class it is
        offs = (laplace_bound(scale, chance=chance, count=count) for count in (1, k - 1))
        found = share_of(float(counts[most]), float(counts.sum() - counts[most]), *offs)
        self.interval_ = np.array([found.low, found.high])
        labels = "given" if self.classes is not None else "taken from the data as public"
        change = _change(relation, len(records), f"the {k} labels are {labels}")
        state_guarantee(self, epsilon, 0.0, relation, change)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most frequent class for every record (n_samples, n_features)."""
        n = len(fitted_records(self, X))
        return np.asarray(self.classes_[np.full(n, self.shares_.argmax())])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the shares of the classes for every record, (n_samples, n_classes)."""
        n = len(fitted_records(self, X))
        return np.tile(self.shares_, (n, 1))
