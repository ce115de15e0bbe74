"""Every public estimator and release, with its claim, its nasty pairs and what is noised.

The tests run all of them through the tool that looks for side channels; the chapter a part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dplit import audit
from dplit.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from dplit.clusters.estimator import PrivateLloyd
from dplit.clusters.lloyd import private_lloyd
from dplit.components import PrivatePCA
from dplit.constant import PrivateConstantClassifier, PrivateConstantRegressor
from dplit.entries.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.entries.moments import EntryMomentsRegressor
from dplit.entries.projections import release_projection
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.linear._descent import noisy_gradient_descent
from dplit.linear._moments import sufficient_statistics
from dplit.linear.adaptive import AdaSSPRegressor
from dplit.linear.gradient_classifier import NoisyGradientClassifier
from dplit.linear.objective import objective_perturbation
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.kernel_estimators import PrivateKernelMarginClassifier
from dplit.margins.projected import ProjectedObjectiveClassifier
from dplit.papers.margin.gibbs import gaussian_prior_draw
from dplit.papers.projection.additive_noise import release_additive
from dplit.sketching.estimators import CompressiveGaussianMixture, CompressiveKMeans, CompressivePCA
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream

_CLASSES = (-1.0, 1.0)
_Distance = Callable[[Any, Any], float]


@dataclass
class _Case:
    """One claim: the release, its relation and labels, what is noised, its budget."""

    release: Any
    relation: Any
    labels: Any
    noised: tuple[str, ...]
    epsilon: float = 1.0
    delta: float = 0.0
    distance: _Distance | None = None
    options: dict[str, Any] = field(default_factory=dict)
    raised: int = 0  # pairs that are refused for their public size
    any_label: bool = True  # or the domain holds the labels -1 and 1 and nothing else

    def report(
        self, seed: int = 0, *, every: int = 1, containers: bool = True, **changes: Any
    ) -> audit.SideChannelReport:
        """Run the tool, on one in ``every`` pairs; without ``containers`` on none of tables."""
        options: dict[str, Any] = {"sizes": (129,), "norm": 0.5} | self.options
        pairs = audit.nasty_pairs(2, relation=self.relation, labels=self.labels, **options)
        pairs = [pair for pair in pairs if self.any_label or "foreign" not in pair.name]
        if containers and hasattr(self.release, "fit"):  # takes tables
            pairs += audit.container_pairs(
                2, relation=self.relation, labels=self.labels, norm=options["norm"]
            )
        pairs = pairs[::every]
        return audit.side_channels(
            self.release,
            pairs,
            noised=self.noised,
            epsilon=self.epsilon,
            delta=self.delta,
            distance=self.distance,
            bound=1.0 + 1e-9 if self.distance else np.inf,
            rng=stream(seed, "side-channels", "noise"),
            **{"pilot": 2, "runs": 100} | changes,
        )


def _moved(one: Any, other: Any) -> float:
    """Distance of coefficients under equal noise, over the sensitivity that is claimed."""
    return float(np.linalg.norm(one.coef_ - other.coef_) / one.sensitivity_)


def _moved_unit(one: Any, other: Any) -> float:
    """The same, where the sensitivity is that of labels divided by half the width of the bounds."""
    return _moved(one, other) * 2.0 / float(one.bounds[1] - one.bounds[0])


def _moved_risk(one: Any, other: Any) -> float:
    r"""Distance of minimisers under equal noise, over what one record moves them at most.

    The risk curves by :math:`2\lambda n\ge6/\epsilon` at the default penalty, and one record turns
    its gradient by at most 2, in the units of rows of norm 1.
    """
    far = np.r_[one.data_norm_ * (one.coef_ - other.coef_), one.intercept_ - other.intercept_]
    lifted = math.sqrt(2.0) if one.fit_intercept else 1.0
    return float(lifted * np.linalg.norm(far) * 3.0 / one.epsilon)


def _moved_sketch(norm: str, one: Any, other: Any, *, share: float = 1.0) -> float:
    """Distance of sketches under equal noise, over what calibrates it at epsilon = ``share``.

    Less what rounding can do: releases of two sums are rounded, with their noise, to steps of at
    most 2^-24 of its scale, times the numbers that share a radius.
    """
    first, second = (getattr(part, "sketch_", part) for part in (one, other))
    gap = first.sum - second.sum
    step = (
        2.0**-24 * first.noise.scale * (4 * (len(gap) + 1) if norm in ("cube", "polydisc") else 1)
    )
    parts = np.maximum(np.abs(np.r_[gap.real, gap.imag]) - step, 0.0)
    longest = max(float(np.abs(gap).max()) - math.sqrt(2.0) * step, 0.0)
    sizes = {"laplace": parts.sum(), "cube": parts.max(), "polydisc": longest}
    return float(sizes[norm] / (share * first.noise.scale))


_polydisc, _cube, _laplace = (
    partial(_moved_sketch, norm) for norm in ("polydisc", "cube", "laplace")
)
_half_laplace = partial(_moved_sketch, "laplace", share=0.5)
_most_laplace = partial(_moved_sketch, "laplace", share=0.95)
_LINEAR = ("coef_", "intercept_")
_CHOSEN = (*_LINEAR, "least_eigenvalue_", "alpha_")
_SHAPES = (*_LINEAR, *(f"shapes_[{k}].values" for k in range(2)))
_CONSTANT = ("constant_", "interval_")
_SHARES = ("shares_", "interval_")
_LOUD = (*_LINEAR, "warnings")  # a warning quotes the noised count
_CENTERS = ("cluster_centers_", "weights_", "sketch_.sum", "sketch_.made")
_MIXTURE = ("weights_", "means_", "covariances_", "sketch_.sum", "sketch_.made")
_PCA = ("components_", "second_moments_", "sketch_.sum", "sketch_.made")
_MARGIN = (*_LINEAR, "margin_")
_BITS = 0.02  # an entry is then (.57, 1e-5)-private
#: Bounds by which nobody can divide the largest numbers.
BOX: dict[str, Any] = {"bounds": (-0.5, 0.25)}
_NORM: dict[str, Any] = {"data_norm": 0.5}
_BLOCKS: dict[str, Any] = {"sizes": (129, 2049)}  # records are added by 128 and by 2048
_POLISH: dict[str, Any] = {"sizes": (1025,)}  # above 1000 records solvers take another way

ESTIMATORS = {
    "SufficientStatisticsRegressor": _Case(
        SufficientStatisticsRegressor(**_NORM, **BOX), "add_remove", 0.5, _LOUD, 1.0, 1e-5
    ),
    "SufficientStatisticsRegressor replace_one": _Case(
        SufficientStatisticsRegressor(neighboring="replace_one", **_NORM, **BOX),
        "replace_one",
        0.5,
        _LOUD,
        1.0,
        1e-5,
    ),
    "AdaSSPRegressor": _Case(
        AdaSSPRegressor(**_NORM, **BOX), "add_remove", 0.5, _CHOSEN, 1.0, 1e-5
    ),
    "AdaSSPRegressor replace_one": _Case(
        AdaSSPRegressor(neighboring="replace_one", **_NORM, **BOX),
        "replace_one",
        0.5,
        _CHOSEN,
        1.0,
        1e-5,
    ),
    "NoisyGradientRegressor": _Case(
        NoisyGradientRegressor(steps=5, **_NORM, **BOX), "replace_one", 0.5, _LINEAR, 1.0, 1e-5
    ),
    "ObjectivePerturbationClassifier": _Case(
        ObjectivePerturbationClassifier(classes=_CLASSES, **_NORM),
        "replace_one",
        _CLASSES,
        _LINEAR,
        distance=_moved_risk,
    ),
    "ObjectivePerturbationClassifier logistic gaussian": _Case(
        ObjectivePerturbationClassifier(
            loss="logistic", delta=1e-5, fit_intercept=False, classes=_CLASSES, **_NORM
        ),
        "replace_one",
        _CLASSES,
        _LINEAR,
        1.0,
        1e-5,
        _moved_risk,
    ),
    "ProjectedObjectiveClassifier": _Case(
        ProjectedObjectiveClassifier(classes=_CLASSES, **_NORM), "replace_one", _CLASSES, _LINEAR
    ),
    "ProjectedObjectiveClassifier one component": _Case(
        ProjectedObjectiveClassifier(n_components=1, fit_intercept=True, classes=_CLASSES, **_NORM),
        "replace_one",
        _CLASSES,
        _LINEAR,
    ),
    "NoisyGradientClassifier": _Case(
        NoisyGradientClassifier(steps=5, classes=(-1.0, 0.0, 1.0), **_NORM),
        "replace_one",
        _CLASSES,
        _LINEAR,
        1.0,
        1e-5,
    ),
    "NoisyGradientClassifier add_remove": _Case(
        NoisyGradientClassifier(
            steps=5, classes=_CLASSES, neighboring="add_remove", public_size=100, **_NORM
        ),
        "add_remove",
        _CLASSES,
        _LINEAR,
        1.0,
        1e-5,
    ),
    "PrivateAdditiveRegressor": _Case(
        PrivateAdditiveRegressor(n_hats=4, box=(-0.5, 0.5), **BOX),
        "replace_one",
        0.5,
        _SHAPES,
        1.0,
        1e-5,
    ),
    "PrivateAdditiveRegressor add_remove": _Case(
        PrivateAdditiveRegressor(
            n_hats=3,
            box=(-0.5, 0.5),
            indicators=((0, 1),),
            neighboring="add_remove",
            public_size=20,
            **BOX,
        ),
        "add_remove",
        0.5,
        _SHAPES,
        1.0,
        1e-5,
    ),
    "PrivateAdditiveClassifier": _Case(
        PrivateAdditiveClassifier(n_hats=4, box=(-0.5, 0.5), delta=0.0, classes=_CLASSES),
        "replace_one",
        _CLASSES,
        _SHAPES,
    ),
    "PrivateAdditiveClassifier three classes": _Case(
        PrivateAdditiveClassifier(n_hats=3, box=(-0.5, 0.5), classes=(-1.0, 0.0, 1.0)),
        "replace_one",
        _CLASSES,
        _SHAPES,
        1.0,
        1e-5,
    ),
    "PrivateLloyd": _Case(
        PrivateLloyd(2, n_iter=3, **BOX), "add_remove", None, ("cluster_centers_", "counts_")
    ),
    "PrivateLloyd gaussian replace_one": _Case(
        PrivateLloyd(2, n_iter=3, noise="gaussian", delta=1e-5, neighboring="replace_one", **BOX),
        "replace_one",
        None,
        ("cluster_centers_", "counts_"),
        1.0,
        1e-5,
    ),
    "PrivateKernelMachine": _Case(
        PrivateKernelMachine(n_components=5, **BOX),
        "replace_one",
        0.5,
        ("coef_",),
        1.0,
        1e-5,
        _moved_unit,
        _POLISH,
    ),
    "PrivateKernelMachine pinball": _Case(
        PrivateKernelMachine(n_components=5, loss="pinball", tau=0.9, regularization=0.3, **BOX),
        "replace_one",
        0.5,
        ("coef_",),
        1.0,
        1e-5,
        _moved_unit,
        _POLISH,
    ),
    "PrivateKernelMachine gamma": _Case(
        PrivateKernelMachine(n_components=5, release="gamma", **BOX),
        "replace_one",
        0.5,
        ("coef_",),
        distance=_moved_unit,
    ),
    "PrivateKernelMachine queries": _Case(
        PrivateKernelMachine(n_components=5, release="queries", **_NORM, **BOX),
        "replace_one",
        0.5,
        ("coef_",),
    ),
    "PrivateKernelClassifier": _Case(
        PrivateKernelClassifier(n_components=5, classes=_CLASSES),
        "replace_one",
        _CLASSES,
        ("coef_",),
        1.0,
        1e-5,
        _moved,
    ),
    "PrivateKernelClassifier logistic, rough": _Case(
        PrivateKernelClassifier(
            n_components=10, loss="logistic", accuracy=0.5, regularization=13.5635, classes=_CLASSES
        ),
        "replace_one",
        _CLASSES,
        ("coef_",),
        1.0,
        1e-5,
        _moved,
        {"n_records": 6},
    ),
    "PrivateKernelClassifier hinge, fine": _Case(
        PrivateKernelClassifier(
            n_components=5, accuracy=1e-4, regularization=0.00905, classes=_CLASSES
        ),
        "replace_one",
        _CLASSES,
        ("coef_",),
        1.0,
        1e-5,
        _moved,
        {"n_records": 3},
    ),
    "AdditiveNoiseRegressor": _Case(
        AdditiveNoiseRegressor(epsilon=_BITS, **BOX), "replace_entry", 0.5, _LINEAR, 1.0, 1e-5
    ),
    "AdditiveNoiseRegressor attenuation": _Case(
        AdditiveNoiseRegressor(epsilon=_BITS, correction="attenuation", **BOX),
        "replace_entry",
        0.5,
        _LINEAR,
        1.0,
        1e-5,
    ),
    "RandomProjectionRegressor": _Case(
        RandomProjectionRegressor(epsilon=_BITS, n_components=9, **BOX),
        "replace_entry",
        0.5,
        _LINEAR,
        1.0,
        1e-5,
    ),
    "EntryMomentsRegressor": _Case(
        EntryMomentsRegressor(epsilon=_BITS, **BOX),
        "replace_entry",
        0.5,
        ("coef_", "intercept_", "gram_", "cross_", "alpha_"),
        1.0,
        1e-5,
    ),
    "CompressiveKMeans": _Case(
        CompressiveKMeans(2, n_restarts=1, n_frequencies=8, noise="polydisc", **BOX),
        "add_remove",
        None,
        _CENTERS,
        distance=_polydisc,
        options=_BLOCKS,
    ),
    "CompressiveKMeans quantized cube": _Case(
        CompressiveKMeans(
            2,
            n_restarts=1,
            n_frequencies=8,
            kind="quantized",
            noise="cube",
            gamma=0.5,
            bounds=(-1000.0, 1000.0),
            neighboring="replace_one",
        ),
        "replace_one",
        None,
        _CENTERS,
        distance=_cube,
        options={"norm": 1000.0} | _BLOCKS,
    ),
    "CompressiveGaussianMixture": _Case(
        CompressiveGaussianMixture(1, n_starts=1, n_frequencies=8, **BOX),
        "add_remove",
        None,
        _MIXTURE,
        distance=_polydisc,
        options=_BLOCKS,
    ),
    "CompressivePCA": _Case(
        CompressivePCA(1, **_NORM),
        "add_remove",
        None,
        (*_PCA, "sketch_.count"),
        distance=_most_laplace,
    ),
    "CompressivePCA replace_one": _Case(
        CompressivePCA(1, **_NORM, neighboring="replace_one"),
        "replace_one",
        None,
        _PCA,
        distance=_laplace,
    ),
    "PrivateConstantRegressor": _Case(
        PrivateConstantRegressor(**BOX), "replace_one", 0.5, _CONSTANT
    ),
    "PrivateConstantRegressor add_remove": _Case(
        PrivateConstantRegressor(neighboring="add_remove", **BOX), "add_remove", 0.5, _CONSTANT
    ),
    "PrivateConstantClassifier": _Case(
        PrivateConstantClassifier(classes=_CLASSES), "replace_one", _CLASSES, _SHARES
    ),
    "PrivateConstantClassifier add_remove": _Case(
        PrivateConstantClassifier(classes=_CLASSES, neighboring="add_remove"),
        "add_remove",
        _CLASSES,
        _SHARES,
    ),
    "PrivatePCA": _Case(
        PrivatePCA(1, **_NORM), "add_remove", None, ("components_", "moments_"), 1.0, 1e-5
    ),
    "PrivatePCA replace_one": _Case(
        PrivatePCA(1, **_NORM, neighboring="replace_one"),
        "replace_one",
        None,
        ("components_", "moments_"),
        1.0,
        1e-5,
    ),
    "PrivateMarginClassifier": _Case(
        PrivateMarginClassifier(n_steps=5, n_margins=2, classes=_CLASSES, **_NORM),
        "replace_one",
        _CLASSES,
        _MARGIN,
        1.0,
        1e-5,
    ),
    "PrivateMarginClassifier phased": _Case(
        PrivateMarginClassifier(
            **_NORM,
            margin=0.25,
            solver="phased",
            projection="fast",
            fit_intercept=True,
            classes=_CLASSES,
        ),
        "replace_one",
        _CLASSES,
        _LINEAR,
        1.0,
        1e-5,
        raised=2,
    ),
    "PrivateKernelMarginClassifier": _Case(
        PrivateKernelMarginClassifier(n_components=5, n_steps=5, margin=0.5, classes=_CLASSES),
        "replace_one",
        _CLASSES,
        ("coef_",),
        1.0,
        1e-5,
    ),
    # the mean first, which may be too faint to be told from the middle of the bounds
    "PrivateRandomFeatureRegressor": _Case(
        PrivateRandomFeatureRegressor(n_components=5, gamma=1.0, **BOX),
        "replace_one",
        0.5,
        _LINEAR,
        1.0,
        1e-5,
    ),
    "PrivateRandomFeatureRegressor without intercept": _Case(
        PrivateRandomFeatureRegressor(n_components=5, gamma=1.0, fit_intercept=False, **BOX),
        "replace_one",
        0.5,
        ("coef_",),
        1.0,
        1e-5,
        _moved,
    ),
    "PrivateRandomFeatureRegressor small alpha": _Case(
        PrivateRandomFeatureRegressor(
            n_components=5, gamma=1.0, alpha=1e-9, fit_intercept=False, **BOX
        ),
        "replace_one",
        0.5,
        ("coef_",),
        1.0,
        1e-5,
        _moved,
        raised=4,
    ),
}

_FOURIER = SketchMap("fourier", np.array([[1.0, 2.0, -3.0], [0.5, -1.0, 4.0]]))
_QUADRATIC = SketchMap("quadratic", np.array([[1.0, 0.6], [0.0, 0.8]]))


def _release_sketch(data: Any, rng: Any) -> Any:
    plan = plan_release(_FOURIER, epsilon=1.0, noise="polydisc", count="withheld")
    return plan.apply(sketch(data[0], _FOURIER), rng=rng)


def _release_with_count(data: Any, rng: Any) -> Any:
    plan = plan_release(_FOURIER, epsilon=1.0, split=0.5)
    return plan.apply(sketch(data[0], _FOURIER), rng=rng)


def _release_squares(data: Any, rng: Any) -> Any:
    plan = plan_release(_QUADRATIC, epsilon=1.0, sensitivity=2.0, count="withheld")
    return plan.apply(sketch(data[0], _QUADRATIC), rng=rng)


def _moments(data: Any, rng: Any) -> Any:
    return sufficient_statistics(
        *data, epsilon=1.0, delta=1e-5, data_norm=0.5, label_bound=0.5, rng=rng
    )


def _descent(data: Any, rng: Any) -> Any:
    return noisy_gradient_descent(
        *data, epsilon=1.0, delta=1e-5, clip=0.5, steps=5, learning_rate=1.0, rng=rng
    )


def _descent_without_average(data: Any, rng: Any) -> Any:
    return noisy_gradient_descent(
        *data,
        epsilon=1.0,
        delta=1e-5,
        clip=0.5,
        steps=5,
        learning_rate=1.0,
        rng=rng,
        neighboring="add_remove",
        public_size=7,
        radius=2.0,
        average=False,
    )


def _lloyd(data: Any, rng: Any) -> Any:
    start = [[-0.5, 0.0], [0.5, 0.0]]
    return private_lloyd(data[0], start, **BOX, epsilon=1.0, n_iter=3, rng=rng)


def _perturbed(data: Any, rng: Any) -> Any:
    return objective_perturbation(*data, epsilon=1.0, data_norm=0.5, regularization=0.1, rng=rng)


def _gibbs(data: Any, rng: Any) -> Any:
    return gaussian_prior_draw(*data, epsilon=1.0, rng=rng)


def _table(data: Any, rng: Any) -> Any:
    return release_additive(data[0], epsilon=_BITS, rng=rng)


def _projected(data: Any, rng: Any) -> Any:
    return release_projection(*data, n_components=3, variance=100.0, rng=rng)


_MOMENTS = ("coef", "gram", "moment")
RELEASES = {
    "plan_release polydisc": _Case(
        _release_sketch, "add_remove", None, ("sum", "made"), distance=_polydisc, options=_BLOCKS
    ),
    "plan_release laplace and count": _Case(
        _release_with_count,
        "add_remove",
        None,
        ("sum", "made", "count"),
        distance=_half_laplace,
        options=_BLOCKS,
    ),
    "plan_release quadratic": _Case(_release_squares, "add_remove", None, ("sum", "made")),
    "sufficient_statistics": _Case(_moments, "add_remove", 0.5, _MOMENTS, 1.0, 1e-5),
    "noisy_gradient_descent": _Case(_descent, "replace_one", 0.5, ("coef",), 1.0, 1e-5),
    "noisy_gradient_descent add_remove": _Case(
        _descent_without_average, "add_remove", 0.5, ("coef",), 1.0, 1e-5
    ),
    "private_lloyd": _Case(_lloyd, "add_remove", None, ("centers", "counts")),
    "objective_perturbation": _Case(_perturbed, "replace_one", _CLASSES, ("coef",)),
    "gaussian_prior_draw": _Case(
        _gibbs, "replace_one", _CLASSES, ("",), options={"sizes": (13,)}, any_label=False
    ),
    "release_additive": _Case(_table, "replace_entry", None, ("",), 1.0, 1e-5),
    "release_projection": _Case(_projected, "replace_entry", 1.0, ("X", "y"), 1.0, 1e-5),
}
