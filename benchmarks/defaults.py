"""What every estimator of the package gives at its defaults: a table, not a race.

Run ``python -m benchmarks.defaults [words] [--splits 10] [--epsilon 1 10]``. For every task and
budget it prints the median score on held-out records at the defaults, at the best of a few settings
chosen in hindsight (not private: the ceiling of any choice), without privacy, and of a trivial
model: the mean, the larger class, one centre. Scores are R^2, accuracy, and the share of the
squared distance to one centre that k centres explain. A default below the trivial model must warn.

All scales are stated, none is read from records: columns are brought into the unit ball by the
ranges below, or into [-1, 1] where an estimator's defaults ask for that, and norms and label bounds
follow from them. The budget of the two estimators of
projections is in bits per entry.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split

from dplit.baselines import NoisyGradientRegressor, PrivateLloyd, SufficientStatisticsRegressor
from dplit.datasets import load_medical, load_wine
from dplit.erm.estimators import PrivateKernelClassifier, PrivateKernelMachine
from dplit.margin.estimators import PrivateKernelMarginClassifier, PrivateMarginClassifier
from dplit.projection.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.random_features.estimators import PrivateRandomFeatureRegressor
from dplit.sketching.estimators import CompressiveKMeans

Array = NDArray[Any]
Grid = Mapping[str, Sequence[Any]]

#: How far a default may stay below the trivial model, and below its own best setting.
TRIVIAL_SLACK, HINDSIGHT_SLACK = 0.02, 0.1
#: Ranges from the description of the wine data: eleven measurements.
_WINE = np.array([
    (3.8, 15.9), (0.08, 1.58), (0, 1.66), (0.6, 65.8), (0.009, 0.611), (1, 289), (6, 440),
    (0.987, 1.039), (2.72, 4.01), (0.22, 2.0), (8.0, 14.9),
])  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Records in the unit ball with labels, the public facts about them, and a model to beat."""

    name: str
    X: Array
    y: Array
    public: Mapping[str, Any]
    plain: BaseEstimator

    @property
    def largest(self) -> float:
        """Stated bound on an entry."""
        return 0.3 if self.name == "medical cost" else float(self.X.shape[1] ** -0.5)


def _ball(X: Array, low: Any, high: Any) -> Array:
    """Bring columns with stated ranges into the unit ball."""
    low, high = np.asarray(low), np.asarray(high)
    return np.asarray((2.0 * X - low - high) / (high - low) / np.sqrt(X.shape[1]))


def regressions() -> Iterator[Task]:
    """Four tables with stated label bounds; two of them where the data of the papers are found."""
    ridge = Ridge(alpha=1e-2)
    diabetes = datasets.load_diabetes(return_X_y=True)
    yield Task("diabetes", _ball(diabetes[0], -0.2, 0.2), diabetes[1], {"bounds": (25, 350)}, ridge)
    wine = load_wine()
    if wine.source == "paper":
        yield Task("wine", _ball(wine.numeric, *_WINE.T), wine.target, {"bounds": (0, 10)}, ridge)
    cost = load_medical()
    if cost.source == "paper":
        texts = [cost.categorical[name] for name in ("sex", "smoker", "region")]
        dummies = [text == value for text in texts for value in sorted(set(text))]
        X = np.hstack([_ball(cost.numeric, (18, 15, 0), (64, 55, 5)), np.array(dummies).T * 0.5])
        X = X / 2.0
        yield Task("medical cost", X, cost.target, {"bounds": (1000, 65000)}, ridge)
    X, y = datasets.make_friedman1(5000, noise=1.0, random_state=0)
    yield Task("Friedman", _ball(X, 0, 1), y, {"bounds": (0, 30)}, ridge)


def classifications() -> Iterator[Task]:
    """Two tables with two classes."""
    logistic = LogisticRegression(C=100.0, max_iter=2000)
    X, y = datasets.load_breast_cancer(return_X_y=True)
    low, high = X.min(axis=0), X.max(axis=0)  # printed in the description of the data
    yield Task("breast cancer", _ball(X, low, high), y, {"classes": (0, 1)}, logistic)
    X, y = datasets.load_digits(return_X_y=True)
    yield Task("digits parity", _ball(X, 0, 16), y % 2, {"classes": (0, 1)}, logistic)


def clusterings() -> Iterator[Task]:
    """Separated blobs, and digits."""
    centers = np.random.default_rng(0).uniform(-0.8, 0.8, (6, 4))
    X, y = datasets.make_blobs(20_000, centers=centers, cluster_std=0.08, random_state=0)
    yield Task("blobs", X, y, {"n_clusters": 6, "bounds": (-1, 1)}, KMeans(6, n_init=5))
    X, y = datasets.load_digits(return_X_y=True)
    yield Task("digits", X / 8 - 1, y, {"n_clusters": 10, "bounds": (-1, 1)}, KMeans(10, n_init=5))


#: Estimator, what it must be told of the public facts, and settings to choose from in hindsight.
_REGRESSORS: Sequence[tuple[Any, Mapping[str, Any], Grid]] = (
    (SufficientStatisticsRegressor, {"data_norm": 1.0}, {"alpha": (1.0, 10.0, 100.0, 1000.0)}),
    (
        NoisyGradientRegressor,
        {"data_norm": 1.0},
        {"clip": (0.1, 0.3, 1.0), "steps": (10, 50, 200), "learning_rate": (0.3, 1.0, 3.0)},
    ),
    (PrivateRandomFeatureRegressor, {}, {"alpha": (3.0, 30.0, 300.0), "gamma": (0.1, 0.5, 2.0)}),
    (
        PrivateKernelMachine,
        {},
        {"regularization": (0.003, 0.01, 0.03, 0.1, 0.3), "width": (0.35, 0.7, 1.4)},
    ),
    (AdditiveNoiseRegressor, {}, {"correction": ("none", "attenuation")}),
    (
        RandomProjectionRegressor,
        {},
        {"n_components": (30, 100, 300), "correction": ("none", "attenuation")},
    ),
)
_CLASSIFIERS: Sequence[tuple[Any, Mapping[str, Any], Grid]] = (
    (
        PrivateMarginClassifier,
        {"data_norm": 1.0},
        {"margin": (0.03, 0.1, 0.3), "n_steps": (30, 100, 400)},
    ),
    (
        PrivateKernelMarginClassifier,
        {},
        {
            "margin": (0.01, 0.03, 0.1, 0.3),
            "gamma": (0.5, 2.0, 8.0),
            "n_components": (50, 200),
        },
    ),
    (
        PrivateKernelClassifier,
        {},
        {"regularization": (0.003, 0.01, 0.03, 0.1), "width": (0.35, 0.7, 1.4)},
    ),
)
_CLUSTERERS: Sequence[tuple[Any, Mapping[str, Any], Grid]] = (
    (CompressiveKMeans, {}, {"n_frequencies": (None, 400), "gamma": (None, 0.5, 2.0)}),
    (PrivateLloyd, {}, {"n_iter": (1, 3, 10)}),
)
#: Their defaults are for columns in [-1, 1]: a width is given times sqrt(d), a gamma over d.
_CUBES = (
    PrivateRandomFeatureRegressor,
    PrivateKernelMachine,
    PrivateKernelClassifier,
    PrivateKernelMarginClassifier,
)
_FAMILIES: Sequence[tuple[Callable[[], Iterator[Task]], Any]] = (
    (regressions, _REGRESSORS),
    (classifications, _CLASSIFIERS),
    (clusterings, _CLUSTERERS),
)


def _public(task: Task, estimator: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public facts in the form that the estimator wants them."""
    facts = {**task.public, **told}
    if estimator in (AdditiveNoiseRegressor, RandomProjectionRegressor):
        facts["bounds"] = (-task.largest, task.largest)  # of entries: responses are public there
    return facts


def _settings(task: Task, estimator: Any, grid: Grid) -> list[dict[str, Any]]:
    """Return the settings to choose from in hindsight, in the units of the records."""
    d = task.X.shape[1] if estimator in _CUBES else 1
    units = {"width": d**0.5, "gamma": 1.0 / d}
    scaled = {
        name: [value if value is None else value * units.get(name, 1) for value in values]
        if name in units
        else values
        for name, values in grid.items()
    }
    return [dict(zip(scaled, at, strict=True)) for at in product(*scaled.values())]


def _score(model: Any, task: Task, rows: Array) -> float:
    """Return R^2, accuracy, or the share explained by centres."""
    X, y = task.X[rows], task.y[rows]
    if "n_clusters" not in task.public:
        return float(model.score(X, y))
    gaps = ((X[:, None] - model.cluster_centers_[None]) ** 2).sum(axis=2).min(axis=1)
    return float(1.0 - gaps.sum() / ((X - X.mean(axis=0)) ** 2).sum())


def _trivial(task: Task) -> float:
    """Return the score of the mean, the larger class or one centre."""
    return float(np.bincount(task.y).max() / len(task.y)) if "classes" in task.public else 0.0


def _median(task: Task, make: Callable[[], Any], splits: int) -> tuple[float, bool]:
    """Return the median score over splits, and whether a fit warned."""
    scores, warned = [], False
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(task.X)), test_size=0.3, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = make().fit(task.X[train], task.y[train])
        warned |= any(issubclass(warning.category, UserWarning) for warning in caught)
        scores.append(_score(model, task, test))
    return float(np.median(scores)), warned


def rows(words: Sequence[str], budgets: Sequence[float], splits: int) -> Iterator[tuple[str, ...]]:
    """Yield one line of the table for each task, estimator and budget."""
    for tasks, entries in _FAMILIES:
        for task in tasks():
            plain, _ = _median(task, partial(clone, task.plain), splits)
            for (estimator, told, grid), epsilon in product(entries, budgets):
                name = estimator.__name__
                if words and not any(word in f"{task.name} {name}" for word in words):
                    continue
                make = partial(estimator, **_public(task, estimator, told), epsilon=epsilon)
                scaled = task
                if estimator in _CUBES:
                    scaled = replace(task, X=task.X / task.largest)
                default, warned = _median(scaled, make, splits)
                settings = _settings(task, estimator, grid)
                scores = [_median(scaled, partial(make, **at), splits)[0] for at in settings]
                best, trivial = max(scores), _trivial(task)
                chosen = settings[int(np.argmax(scores))]
                verdict = _verdict(default, best, trivial, warned)
                numbers = [f"{number:.3f}" for number in (default, best, plain, trivial)]
                setting = ", ".join(f"{key}={value}" for key, value in chosen.items())
                yield (task.name, name, f"{epsilon:g}", *numbers, verdict, setting)


def _verdict(default: float, best: float, trivial: float, warned: bool) -> str:
    """Say whether the default is worth its name."""
    if default < trivial - TRIVIAL_SLACK:
        return "warns" if warned else "BELOW TRIVIAL"
    if best > trivial and default < best - HINDSIGHT_SLACK:
        return "warns" if warned else "FAR FROM BEST"
    return "good, warns" if warned else "good"


def main() -> None:
    """Print the table line by line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument(
        "words", nargs="*", help="words that a task's or estimator's name must hold"
    )
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 10.0])
    arguments = parser.parse_args()
    widths = (14, 30, 8, 9, 10, 9, 8, 14, 0)
    head = ("task", "estimator", "epsilon", "default", "hindsight", "plain", "trivial", "", "best")
    for line in chain([head], rows(arguments.words, arguments.epsilon, arguments.splits)):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("".join(cells).rstrip(), flush=True)


if __name__ == "__main__":
    main()
