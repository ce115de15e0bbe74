"""What a budget is spent on around a private estimator, as a ledger hears it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplit._checks import Array
from dplit.audit import ledger
from dplit.components import PrivatePCA
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.linear.gradient_classifier import NoisyGradientClassifier
from dplit.linear.regressors import SufficientStatisticsRegressor
from dplit.streams import stream

#: The delta of every fit, and of what is composed of them.
DELTA = 1e-5

_RECORDS = 500


class Spending(NamedTuple):
    """One way to use an estimator of epsilon 1: releases that were made, and their epsilon.

    ``unheard`` says what else is told of the records, without noise or several times over; where
    there is such a thing epsilon bounds nothing.
    """

    way: str
    releases: int
    epsilon: float
    unheard: str = ""


#: What stands around fits and tells of the records, though no ledger hears it.
_UNHEARD = {
    "cross_val_score": "scores without noise",
    "GridSearchCV": "scores without noise, and the choice by them",
    "AdaBoostRegressor": "weights of members and records, from errors without noise",
    "CalibratedClassifierCV": "the calibration, fitted to labels without noise",
    "a pipeline": "the scaler's means and deviations",
}


def _table(seed: int) -> tuple[Array, Array]:
    rng = stream(seed, "audits-spending", "data")
    X = rng.uniform(-0.7, 0.7, (_RECORDS, 2))
    return X, X @ [0.5, -0.5]


def _model(random_state: Any = None) -> SufficientStatisticsRegressor:
    return SufficientStatisticsRegressor(
        data_norm=1.0, bounds=(-1.0, 1.0), delta=DELTA, random_state=random_state
    )


def _classifier() -> NoisyGradientClassifier:
    """A classifier that spends like `_model`: Gaussian noise at the same budget."""
    return NoisyGradientClassifier(data_norm=1.0, classes=(0, 1), delta=DELTA, steps=10)


def _ways(seed: int) -> dict[str, Callable[[], Any]]:
    X, y = _table(seed)
    two, three = (y > 0).astype(int), np.digitize(y, [-0.2, 0.2])
    once, again = _model(), _model()

    def twice() -> None:
        again.fit(X, y).fit(X, y)

    def two_models() -> None:
        _model().fit(X, y)
        PrivatePCA(data_norm=1.0, delta=DELTA, neighboring="add_remove").fit(X)

    members = [("one", _model()), ("two", _model())]
    grid = GridSearchCV(_model(), {"alpha": [1.0, 10.0, 100.0]}, cv=3)
    return {
        "one fit": lambda: once.fit(X, y),
        "its predictions, a copy, a clone that is not fitted": lambda: (
            copy.deepcopy(once).predict(X),
            clone(once),
        ),
        "a second fit of the same object": twice,
        "two models of one table": two_models,
        "cross_val_score, five folds": lambda: cross_val_score(_model(), X, y, cv=5),
        "GridSearchCV, three settings, three folds": lambda: grid.fit(X, y),
        "BaggingRegressor, ten members, no replacement": lambda: BaggingRegressor(
            _model(), bootstrap=False
        ).fit(X, y),
        "VotingRegressor, two members": lambda: VotingRegressor(members).fit(X, y),
        "StackingRegressor, two members, five folds": lambda: StackingRegressor(
            members, _model(), cv=5
        ).fit(X, y),
        "AdaBoostRegressor, five rounds": lambda: AdaBoostRegressor(
            _model(), n_estimators=5, random_state=seed
        ).fit(X, y),
        "MultiOutputRegressor, two columns": lambda: MultiOutputRegressor(_model()).fit(
            X, np.c_[y, -y]
        ),
        "VotingClassifier, two members": lambda: VotingClassifier(
            [("one", _classifier()), ("two", _classifier())]
        ).fit(X, two),
        "OneVsRestClassifier, three classes": lambda: OneVsRestClassifier(_classifier()).fit(
            X, three
        ),
        "CalibratedClassifierCV, five folds": lambda: CalibratedClassifierCV(
            _classifier(), cv=5
        ).fit(X, two),
        "a pipeline, StandardScaler in front": lambda: make_pipeline(
            StandardScaler(), _model()
        ).fit(X, y),
    }


#: What is drawn once in each fit of the estimators that are used here.
_FIRST = ("second moments", "sums of clipped gradients")


def _unheard(way: str) -> str:
    return next((what for name, what in _UNHEARD.items() if way.startswith(name)), "")


def spending(seed: int) -> list[Spending]:
    """Run each way with a ledger open; a release is a fit, whatever its number of draws.

    The ledger takes all fits to see all records. A record is in four of five training folds, and
    what it loses is less; scores of a cross-validation are not noised at all, and no ledger hears
    of them.
    """
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for way, use in _ways(seed).items():
            with ledger() as book:
                use()
            first = sum(draw.purpose in _FIRST for draw in book)
            spent = book.epsilon(delta=DELTA) if len(book) else 0.0
            found.append(Spending(way, first, spent, _unheard(way)))
    return found


def scaler_moves(seed: int) -> tuple[float, float]:
    """How far one record moves what the noise hides, over the sensitivity that it was made for.

    Of the estimator alone, and behind a StandardScaler, which reads mean and deviation off all
    records: one far record shrinks everybody else.
    """
    X, y = _table(seed)
    other = X.copy()
    other[0] = 1e3

    def largest(model: Any) -> float:
        seen: list[tuple[Any, float]] = []

        def watch(draw: Any, of: Any, _: Any) -> None:
            seen.append((np.array(of), draw.sensitivity))

        with ledger(watch):
            model.fit(X, y)
            model.fit(other, y)
        half = len(seen) // 2
        pairs = zip(seen[:half], seen[half:], strict=True)
        return max(float(np.linalg.norm(one - two)) / moved for (one, moved), (two, _) in pairs)

    replacing = _model().set_params(neighboring="replace_one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return largest(replacing), largest(make_pipeline(StandardScaler(), replacing))


def clones_differ(seed: int) -> tuple[float, float]:
    """Distance of two clones' coefficients after a fit to the same table.

    With a ``Generator`` as ``random_state``, which clone copies *with its state*: both add the same
    noise, so that the difference of two releases has none. And with None.
    """
    X, y = _table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)

        def distance(random_state: Any) -> float:
            one, two = (clone(_model(random_state)).fit(X, y) for _ in range(2))
            return float(np.linalg.norm(one.coef_ - two.coef_))

        return distance(stream(seed, "audits-spending", "noise")), distance(None)


def missed_in_threads(seed: int) -> tuple[int, int]:
    """Draws of a cross-validation on two threads that a ledger heard, and that it missed."""
    X, y = _table(seed)
    with warnings.catch_warnings(), parallel_config("threading"), ledger() as book:
        warnings.simplefilter("ignore", UserWarning)
        cross_val_score(_model(), X, y, cv=4, n_jobs=2)
    return len(book), book.unheard


def most_in_a_resample(seed: int) -> int:
    """How often one record stands in the resample of one member of a bagging, at most.

    Of an estimator without weights of records: one with them is told how often, and refuses.
    """
    X, y = _table(seed)
    model = PrivateRandomFeatureRegressor(n_components=4, bounds=(-1.0, 1.0), delta=DELTA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        bag = BaggingRegressor(model, random_state=seed).fit(X, y)
    return max(int(np.bincount(rows).max()) for rows in bag.estimators_samples_)
