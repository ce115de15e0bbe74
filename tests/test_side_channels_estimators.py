"""Every public estimator and release under the tool: nothing but the noised numbers may differ.

A true guarantee is refuted with probability at most 1e-4 for each case (a fresh seed would be; this
one is fixed). A new estimator or release that is not listed here fails the last tests.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import dplit
from dplit import audit
from dplit.baselines import (
    NoisyGradientRegressor,
    PrivateLloyd,
    SufficientStatisticsRegressor,
    noisy_gradient_descent,
    objective_perturbation,
    private_lloyd,
    sufficient_statistics,
)
from dplit.erm.estimators import PrivateKernelClassifier, PrivateKernelMachine
from dplit.margin.estimators import PrivateMarginClassifier
from dplit.margin.gibbs import gaussian_prior_draw
from dplit.margin.kernel_estimators import PrivateKernelMarginClassifier
from dplit.projection.additive import release_additive
from dplit.projection.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.projection.projection import release_projection
from dplit.random_features.estimator import PrivateRandomFeatureRegressor
from dplit.sketching.estimators import (
    CompressiveGaussianMixture,
    CompressiveKMeans,
    CompressivePCA,
)
from dplit.sketching.release import plan_release
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream

CLASSES = (-1.0, 1.0)
#: What the claims say about neighbours, and which labels go with the data.
Distance = Callable[[Any, Any], float]


@dataclass
class Case:
    """One claim: the release, its relation and labels, what is noised, its budget."""

    release: Any
    relation: Any
    labels: Any
    noised: tuple[str, ...]
    epsilon: float = 1.0
    delta: float = 0.0
    distance: Distance | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def report(self, seed: int = 0, **changes: Any) -> audit.SideChannelReport:
        """Run the tool."""
        pairs = audit.nasty_pairs(2, relation=self.relation, labels=self.labels, **self.options)
        return audit.side_channels(
            self.release, pairs, noised=self.noised, epsilon=self.epsilon, delta=self.delta,
            distance=self.distance, bound=1.0 + 1e-9 if self.distance else np.inf,
            rng=stream(seed, "side-channels", "noise"), **{"pilot": 2, "runs": 60} | changes,
        )  # fmt: skip


def moved(one: Any, other: Any) -> float:
    """Distance of coefficients under equal noise, over the sensitivity that is claimed."""
    half = 1.0  # half width of the label bounds below
    return float(np.linalg.norm(one.coef_ - other.coef_) / (half * one.sensitivity_))


def moved_sketch(norm: float, one: Any, other: Any) -> float:
    """Distance of sketches under equal noise, over what calibrates the noise."""
    first, second = (getattr(part, "sketch_", part) for part in (one, other))
    gap = first.sum - second.sum
    parts = np.abs(np.r_[gap.real, gap.imag]) if norm == 1 else np.abs(gap)
    return float(np.linalg.norm(parts, norm) / first.noise.scale)


def polydisc(one: Any, other: Any) -> float:
    """See `moved_sketch`; the largest modulus. Epsilon is 1."""
    return moved_sketch(np.inf, one, other)


def laplace(one: Any, other: Any) -> float:
    """See `moved_sketch`; real and imaginary parts. Epsilon is 1."""
    return moved_sketch(1, one, other)


LINEAR = ("coef_", "intercept_")
CENTERS = ("cluster_centers_", "weights_", "sketch_.sum")
MIXTURE = ("weights_", "means_", "covariances_", "sketch_.sum")
PCA = ("components_", "second_moments_", "sketch_.sum")
MARGIN = (*LINEAR, "margin_")
BITS = 0.02  # an entry is then (.57, 1e-5)-private
BOX = {"bounds": (-1.0, 1.0)}

ESTIMATORS = {
    "SufficientStatisticsRegressor": Case(
        SufficientStatisticsRegressor(data_norm=1.0, **BOX), "add_remove", 1.0, LINEAR, 1.0, 1e-5
    ),
    "SufficientStatisticsRegressor replace_one": Case(
        SufficientStatisticsRegressor(data_norm=1.0, neighboring="replace_one", **BOX),
        "replace_one", 1.0, LINEAR, 1.0, 1e-5,
    ),
    "NoisyGradientRegressor": Case(
        NoisyGradientRegressor(data_norm=1.0, steps=5, **BOX), "replace_one", 1.0, LINEAR, 1.0, 1e-5
    ),
    "PrivateLloyd": Case(
        PrivateLloyd(2, n_iter=3, **BOX), "add_remove", None, ("cluster_centers_", "counts_")
    ),
    "PrivateLloyd gaussian replace_one": Case(
        PrivateLloyd(2, n_iter=3, noise="gaussian", delta=1e-5, neighboring="replace_one", **BOX),
        "replace_one", None, ("cluster_centers_", "counts_"), 1.0, 1e-5,
    ),
    "PrivateKernelMachine": Case(
        PrivateKernelMachine(n_components=5, **BOX), "replace_one", 1.0, ("coef_",), 1.0, 1e-5, moved
    ),
    "PrivateKernelMachine pinball": Case(
        PrivateKernelMachine(n_components=5, loss="pinball", tau=0.9, regularization=0.3, **BOX),
        "replace_one", 1.0, ("coef_",), 1.0, 1e-5, moved,
    ),
    "PrivateKernelMachine gamma": Case(
        PrivateKernelMachine(n_components=5, release="gamma", **BOX),
        "replace_one", 1.0, ("coef_",), distance=moved,
    ),
    "PrivateKernelMachine queries": Case(
        PrivateKernelMachine(n_components=5, release="queries", data_norm=1.0, **BOX),
        "replace_one", 1.0, ("coef_",),
    ),
    "PrivateKernelClassifier": Case(
        PrivateKernelClassifier(n_components=5, classes=CLASSES),
        "replace_one", CLASSES, ("coef_",), 1.0, 1e-5, moved,
    ),
    "PrivateKernelClassifier logistic, rough": Case(
        PrivateKernelClassifier(
            n_components=10, loss="logistic", accuracy=0.5, regularization=13.5635, classes=CLASSES
        ),
        "replace_one", CLASSES, ("coef_",), 1.0, 1e-5, moved,
    ),
    "AdditiveNoiseRegressor": Case(
        AdditiveNoiseRegressor(epsilon=BITS, **BOX), "replace_entry", 1.0, LINEAR, 1.0, 1e-5
    ),
    "AdditiveNoiseRegressor attenuation": Case(
        AdditiveNoiseRegressor(epsilon=BITS, correction="attenuation", **BOX),
        "replace_entry", 1.0, LINEAR, 1.0, 1e-5,
    ),
    "RandomProjectionRegressor": Case(
        RandomProjectionRegressor(epsilon=BITS, n_components=9, **BOX),
        "replace_entry", 1.0, LINEAR, 1.0, 1e-5,
    ),
    "CompressiveKMeans": Case(
        CompressiveKMeans(2, n_restarts=1, n_frequencies=8, noise="polydisc", **BOX),
        "add_remove", None, CENTERS, distance=polydisc,
    ),
    "CompressiveKMeans quantized cube": Case(
        CompressiveKMeans(
            2, n_restarts=1, n_frequencies=8, kind="quantized", noise="cube", gamma=0.5,
            bounds=(-1000.0, 1000.0),
        ),
        "replace_one", None, CENTERS, options={"norm": 1000.0},
    ),
    "CompressiveGaussianMixture": Case(
        CompressiveGaussianMixture(1, n_starts=1, n_frequencies=8, **BOX),
        "add_remove", None, MIXTURE, distance=laplace,
    ),
    "CompressivePCA": Case(
        CompressivePCA(1, data_norm=1.0), "add_remove", None, (*PCA, "sketch_.count")
    ),
    "CompressivePCA replace_one": Case(
        CompressivePCA(1, data_norm=1.0, neighboring="replace_one"),
        "replace_one", None, PCA, distance=laplace,
    ),
    "PrivateMarginClassifier": Case(
        PrivateMarginClassifier(data_norm=1.0, n_steps=5, n_margins=2, classes=CLASSES),
        "replace_one", CLASSES, MARGIN, 1.0, 1e-5,
    ),
    "PrivateMarginClassifier phased": Case(
        PrivateMarginClassifier(
            data_norm=1.0, margin=0.5, solver="phased", projection="fast", fit_intercept=True,
            classes=CLASSES,
        ),
        "replace_one", CLASSES, LINEAR, 1.0, 1e-5,
    ),
    "PrivateKernelMarginClassifier": Case(
        PrivateKernelMarginClassifier(
            n_components=5, n_steps=5, margin=0.5, classes=CLASSES
        ),
        "replace_one", CLASSES, ("coef_",), 1.0, 1e-5,
    ),
    "PrivateRandomFeatureRegressor": Case(
        PrivateRandomFeatureRegressor(n_components=5, **BOX),
        "replace_one", 1.0, ("coef_",), 1.0, 1e-5, moved,
    ),
    "PrivateRandomFeatureRegressor small alpha": Case(
        PrivateRandomFeatureRegressor(n_components=5, alpha=1e-9, **BOX),
        "replace_one", 1.0, ("coef_",), 1.0, 1e-5, moved,
    ),
}  # fmt: skip

FOURIER = SketchMap("fourier", [[1.0, 2.0, -3.0], [0.5, -1.0, 4.0]])
QUADRATIC = SketchMap("quadratic", [[1.0, 0.6], [0.0, 0.8]])


def release_sketch(data: Any, rng: Any) -> Any:
    plan = plan_release(FOURIER, epsilon=1.0, noise="polydisc", count="withheld")
    return plan.apply(sketch(data[0], FOURIER), rng=rng)


def release_with_count(data: Any, rng: Any) -> Any:
    plan = plan_release(FOURIER, epsilon=1.0, split=0.5)
    return plan.apply(sketch(data[0], FOURIER), rng=rng)


def release_squares(data: Any, rng: Any) -> Any:
    plan = plan_release(QUADRATIC, epsilon=1.0, sensitivity=2.0, count="withheld")
    return plan.apply(sketch(data[0], QUADRATIC), rng=rng)


def moments(data: Any, rng: Any) -> Any:
    return sufficient_statistics(
        *data, epsilon=1.0, delta=1e-5, data_norm=1.0, label_bound=1.0, rng=rng
    )


def descent(data: Any, rng: Any) -> Any:
    return noisy_gradient_descent(
        *data, epsilon=1.0, delta=1e-5, clip=1.0, steps=5, learning_rate=1.0, rng=rng
    )


def descent_without_average(data: Any, rng: Any) -> Any:
    return noisy_gradient_descent(
        *data, epsilon=1.0, delta=1e-5, clip=1.0, steps=5, learning_rate=1.0, rng=rng,
        neighboring="add_remove", public_size=7, radius=2.0, average=False,
    )  # fmt: skip


def lloyd(data: Any, rng: Any) -> Any:
    start = [[-0.5, 0.0], [0.5, 0.0]]
    return private_lloyd(data[0], start, bounds=(-1.0, 1.0), epsilon=1.0, n_iter=3, rng=rng)


def perturbed(data: Any, rng: Any) -> Any:
    return objective_perturbation(
        *data, epsilon=1.0, data_norm=1.0, regularization=0.1, rng=rng
    )


def gibbs(data: Any, rng: Any) -> Any:
    return gaussian_prior_draw(*data, epsilon=1.0, rng=rng)


def table(data: Any, rng: Any) -> Any:
    return release_additive(data[0], epsilon=BITS, rng=rng)


def projected(data: Any, rng: Any) -> Any:
    return release_projection(*data, n_components=3, variance=100.0, rng=rng)


MOMENTS = ("coef", "gram", "moment")
RELEASES = {
    "plan_release polydisc": Case(release_sketch, "add_remove", None, ("sum",), distance=polydisc),
    "plan_release laplace and count": Case(release_with_count, "add_remove", None, ("sum", "count")),
    "plan_release quadratic": Case(release_squares, "add_remove", None, ("sum",)),
    "sufficient_statistics": Case(moments, "add_remove", 1.0, MOMENTS, 1.0, 1e-5),
    "noisy_gradient_descent": Case(descent, "replace_one", 1.0, ("coef",), 1.0, 1e-5),
    "noisy_gradient_descent add_remove": Case(
        descent_without_average, "add_remove", 1.0, ("coef",), 1.0, 1e-5
    ),
    "private_lloyd": Case(lloyd, "add_remove", None, ("centers", "counts")),
    "objective_perturbation": Case(perturbed, "replace_one", CLASSES, ("coef",)),
    "gaussian_prior_draw": Case(
        gibbs, "replace_one", CLASSES, ("coef",), options={"sizes": (13,)}
    ),
    "release_additive": Case(table, "replace_entry", None, ("",), 1.0, 1e-5),
    "release_projection": Case(projected, "replace_entry", 1.0, ("X", "y"), 1.0, 1e-5),
}  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_shows_nothing_but_its_noised_numbers(name: str) -> None:
    report = ESTIMATORS[name].report()
    assert not report.violated and not report.n_raised, str(report)


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_shows_nothing_but_its_noised_numbers(name: str) -> None:
    report = RELEASES[name].report()
    assert not report.violated and not report.n_raised, str(report)
