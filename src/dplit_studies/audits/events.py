"""One event for every mechanism, counted on two neighbours: as it is and with half the noise.

Fixed in advance: a label (entry, axis) changes, and the sign of a prediction says which it was.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr

from dplit._checks import Array, check_choice, check_integer, check_positive
from dplit.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from dplit.audit import Controls, EventAudit, audit_event, delta_lower_bound, run_controls
from dplit.clusters.estimator import PrivateLloyd
from dplit.components import PrivatePCA
from dplit.constant import PrivateConstantClassifier, PrivateConstantRegressor
from dplit.entries.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.entries.moments import EntryMomentsRegressor
from dplit.kernels._certified_ridge import feature_ridge, mean_share
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.linear.adaptive import AdaSSPRegressor
from dplit.linear.gradient_classifier import NoisyGradientClassifier
from dplit.linear.objective import objective_perturbation
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.kernel_estimators import PrivateKernelMarginClassifier
from dplit.margins.projected import ProjectedObjectiveClassifier
from dplit.mechanisms import (
    exponential_mechanism,
    gaussian_epsilon,
    gaussian_sigma,
    generalized_exponential_mechanism,
    report_noisy_min,
)
from dplit.papers.margin.gibbs import gaussian_prior_draw
from dplit.papers.projection.additive_noise import release_additive
from dplit.papers.projection.information import binary_information
from dplit.persons import PerPerson
from dplit.streams import stream
from dplit_studies.margin.canaries import audit_learner
from dplit_studies.sketching.estimator_audit import audit_estimator

_Unit = Literal["pure", "gaussian", "bits"]

#: The delta of every Gaussian claim.
DELTA = 1e-5

_BOX = (-1.0, 1.0)


@dataclass(frozen=True)
class _Target:
    """What is audited: ``score(side, budget, rng)`` is above 0 where a release says "side 1".

    ``unit`` is the claim's: pure, Gaussian (with :data:`DELTA`) or bits for an entry.
    """

    score: Callable[[int, float, np.random.Generator], float]
    unit: _Unit
    epsilon: float


class Line(NamedTuple):
    """A claim and what the counts leave possible, both in the unit of the claim."""

    unit: str
    claimed: float
    lower: float
    runs: int

    @property
    def violated(self) -> bool:
        """Whether the counts refute the claim."""
        return self.lower > self.claimed


def budget_at(unit: _Unit, epsilon: float, *, factor: float) -> float:
    """Return the budget at which a mechanism adds ``factor`` times the noise of ``epsilon``."""
    check_choice("unit", unit, ("pure", "gaussian", "bits"))
    share = check_positive("factor", factor)
    if share == 1.0:
        return epsilon
    if unit == "pure":
        return epsilon / share
    if unit == "bits":  # the variance is 1 / (4^epsilon - 1)
        return math.log2(1.0 + (4.0**epsilon - 1.0) / share**2) / 2.0
    sigma = gaussian_sigma(epsilon=epsilon, delta=DELTA) * share
    return float(gaussian_epsilon(delta=DELTA, sigma=sigma))


def lower_bound(audit: EventAudit, unit: _Unit) -> float:
    """Return the smallest claim in a unit that the counts of an event leave possible.

    Gaussian claims are those of Gaussian privacy; bits follow from the total variation.
    """
    if unit == "pure":
        return audit.epsilon_lower
    if unit == "gaussian":
        mu = audit.mu_lower
        return float(gaussian_epsilon(delta=DELTA, sigma=1.0 / mu)) if mu > 0.0 else 0.0
    counts = audit.hits_in, audit.hits_out, audit.runs
    return binary_information(delta_lower_bound(*counts, epsilon=0.0, confidence=audit.confidence))


def _seeded(estimator: Any, budget: float, rng: np.random.Generator, *data: Any) -> Any:
    """Fit an estimator at a budget with a seed of its own."""
    return estimator.set_params(epsilon=budget, random_state=int(rng.integers(2**31))).fit(*data)


def _fitted(estimator: Any, side: int, budget: float, rng: np.random.Generator) -> Any:
    """Fit one record whose label (or entry) says the side."""
    X, y = np.array([[1.0, 0.0]]), np.array([2.0 * side - 1.0])
    if isinstance(estimator, (AdditiveNoiseRegressor, RandomProjectionRegressor)):
        X, y = y[None], np.ones(1)
    return _seeded(estimator, budget, rng, X, y)


def _by_prediction(estimator: Any) -> Callable[[int, float, np.random.Generator], float]:
    """Score a supervised estimator by its prediction at the record."""

    def score(side: int, budget: float, rng: np.random.Generator) -> float:
        model = _fitted(estimator, side, budget, rng)
        asked = np.eye(1, model.n_features_in_)
        predict = getattr(model, "decision_function", model.predict)
        return float(predict(asked)[0])

    return score


def noise_of_mean(n_records: int, budget: float) -> float:
    """Return the deviation that ridge on waves states for its mean of labels in [-1, 1]."""
    unit = float(gaussian_sigma(epsilon=budget, delta=DELTA))
    return 2.0 / n_records * unit / math.sqrt(mean_share(n_records / unit))


def before_drawn(mean: float, sigma: float) -> float:
    """Return the noisy mean that was drawn to this one, which is not 0."""
    return (mean + math.copysign(math.hypot(mean, 4.0 * sigma), mean)) / 2.0


def ratio_of_means(mean: float, exact: Array, sigma: float) -> float:
    """Return the log likelihood ratio of a mean, which is 0 where two deviations hide it."""
    if mean != 0.0:
        return float((before_drawn(mean, sigma) - exact.mean()) * np.diff(exact)[0] / sigma**2)
    hidden = ndtr(2.0 - exact / sigma) - ndtr(-2.0 - exact / sigma)
    return float(np.log(hidden[1] / hidden[0]))


def after_mean(X: Array, y: Array, model: Any) -> Array:
    """Return weights of waves without noise, for labels in [-1, 1] and the mean that was told."""
    left = np.clip(y - model.intercept_, -1.0, 1.0)
    return feature_ridge(X, left, model.frequencies_, model.alpha_)


def _mean_and_weights(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score both parts of ridge on waves: the mean, and weights of what labels are beyond it.

    Eleven labels of .3 let the mean be heard in 4 runs of 10, and the record's own be clipped
    little. Either part alone has .6 or .7 of the claim's mu, both .9.
    """
    X, ends = np.eye(12, 2), np.full((2, 12), 0.3)
    ends[:, 0] = -1.0, 1.0
    asked = PrivateRandomFeatureRegressor(n_components=5, gamma=1.0, bounds=_BOX, delta=DELTA)
    model = _seeded(asked, budget, rng, X, ends[side])
    low, high = (after_mean(X, y, model) for y in ends)
    weights = (model.coef_ - (low + high) / 2.0) @ (high - low) / model.sigma_**2
    means = ratio_of_means(model.intercept_, ends.mean(axis=1), noise_of_mean(12, budget))
    return float(weights + means)


def _components(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score second moments: the record lies on the first axis or on the second."""
    asked = PrivatePCA(1, delta=DELTA, data_norm=1.0, neighboring="replace_one")
    model = _seeded(asked, budget, rng, np.eye(2)[[1 - side]])
    return float(model.moments_[0, 0] - model.moments_[1, 1])


def _steps(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score one of Lloyd's steps: a record at one end of the box or the other, among nine at 0."""
    relation: dict[str, Any] = {"neighboring": "replace_one", "noise": "gaussian", "delta": DELTA}
    asked = PrivateLloyd(1, start=[[0.0]], n_iter=1, bounds=_BOX, **relation)
    model = _seeded(asked, budget, rng, np.r_[2.0 * side - 1.0, np.zeros(9)][:, None])
    return float(model.cluster_centers_[0, 0])


def _mean(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score a mean of one label: at its upper bound or below, where the claim is attained."""
    asked = PrivateConstantRegressor(bounds=_BOX)
    model = _seeded(asked, budget, rng, np.zeros((1, 1)), np.array([2.0 * side - 1.0]))
    return 1.0 if model.constant_ == _BOX[1] else -1.0


def _frequencies(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score frequencies of one record's class: whether it alone has a positive count."""
    asked = PrivateConstantClassifier(**_CLASSES)
    model = _seeded(asked, budget, rng, np.zeros((1, 1)), np.array([2.0 * side - 1.0]))
    return 1.0 if model.shares_[1] == 1.0 else -1.0


def _person(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score the mean of a person's two labels, which are at one bound or the other together."""
    asked = PerPerson(PrivateConstantRegressor(bounds=_BOX), rows_each=2)
    asked.estimator.set_params(epsilon=budget, random_state=int(rng.integers(2**31)))
    labels = np.full(2, 2.0 * side - 1.0)
    model = asked.fit(np.array([[0.0], [1.0]]), labels, group=np.zeros(2, int))
    return 1.0 if model.predict([[0.0]])[0] == _BOX[1] else -1.0


def _table(side: int, budget: float, rng: np.random.Generator) -> float:
    return float(release_additive([[2.0 * side - 1.0]], epsilon=budget, rng=rng)[0, 0])


def _moments(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score an entry by all moments that it is in: in many columns its claim is nearly attained."""
    row = np.append(2.0 * side - 1.0, np.ones(19))[None]
    model = _seeded(EntryMomentsRegressor(**_PLAIN), budget, rng, row, np.ones(1))
    beside = model.gram_[0, 1:].sum() / model.gram_sigma_**2
    return float(beside + model.cross_[0] / model.cross_sigma_**2)


def _perturbed(side: int, budget: float, rng: np.random.Generator) -> float:
    fitted = objective_perturbation(
        np.ones((1, 1)),
        np.array([2.0 * side - 1.0]),
        epsilon=budget,
        data_norm=1.0,
        regularization=1000.0,
        loss="huberised_hinge",
        rng=rng,
    )
    return float(fitted.coef[0])


def _perturbed_classifier(side: int, budget: float, rng: np.random.Generator) -> float:
    """The same through the estimator, in one column, where the claim is nearly attained."""
    asked = ObjectivePerturbationClassifier(fit_intercept=False, **_WEAK)
    model = _seeded(asked, budget, rng, np.ones((1, 1)), np.array([2.0 * side - 1.0]))
    return float(model.decision_function(np.ones((1, 1)))[0])


def _drawn(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score a draw: three other records carry the normaliser, to lose nearly epsilon."""
    labels = np.array([2.0 * side - 1.0, 1.0, 1.0, 1.0])
    return float(gaussian_prior_draw(np.ones((4, 1)), labels, epsilon=budget, rng=rng)[0])


#: Candidates among which the selectors choose.
_N = 10


def _exponential(side: int, budget: float, rng: np.random.Generator) -> float:
    """Score a choice: the first of ten is better than the others, or worse, by the sensitivity."""
    scores = np.append(side, np.full(_N - 1, 1 - side))
    chosen = exponential_mechanism(scores, epsilon=budget, sensitivity=1.0, rng=rng)
    return 1.0 if chosen == 0 else -1.0


def _noisy_min(monotone: bool, side: int, budget: float, rng: np.random.Generator) -> float:
    """The same; where all scores move in one direction the first one stays."""
    scores = np.append(0 if monotone else 1 - side, np.full(_N - 1, side))
    chosen = report_noisy_min(scores, epsilon=budget, sensitivity=1.0, rng=rng, monotone=monotone)
    return 1.0 if chosen == 0 else -1.0


def _generalized(side: int, budget: float, rng: np.random.Generator) -> float:
    """The same among ten that are widely uncertain; one sure candidate makes their normalised
    scores, which lose most where they are 0 and 1, those of their own.
    """
    scores, widths, beta = np.append(1 - side, np.full(_N, side)), np.ones(_N + 1), 0.5
    scores[_N], widths[_N] = 2.0 / budget * math.log((_N + 1) / beta), 1e-6
    chosen = generalized_exponential_mechanism(scores, widths, epsilon=budget, beta=beta, rng=rng)
    return 1.0 if chosen == 0 else -1.0


#: Private selections and their scores; a run costs microseconds.
SELECTORS: dict[str, Callable[[int, float, np.random.Generator], float]] = {
    "exponential_mechanism": _exponential,
    "report_noisy_min": partial(_noisy_min, False),
    "report_noisy_min monotone": partial(_noisy_min, True),
    "generalized_exponential_mechanism": _generalized,
}

_PLAIN: dict[str, Any] = {"bounds": _BOX, "fit_intercept": False}
_LINEAR: dict[str, Any] = {"data_norm": 1.0, **_PLAIN}
_REPLACE: dict[str, Any] = {"neighboring": "replace_one", **_LINEAR}
_CLASSES: dict[str, Any] = {"classes": (-1.0, 1.0)}
_WEAK: dict[str, Any] = {"regularization": 1000.0, "data_norm": 1.0, **_CLASSES}
_QUERY: dict[str, Any] = {"release": "queries", "n_queries": 1, "data_norm": 1.0, "width": 100.0}

#: By unit and budget; Gaussian ones at which half the noise is seen in a few hundred fits.
_ESTIMATORS: dict[tuple[_Unit, float], dict[str, Any]] = {
    ("gaussian", 8.0): {
        "SufficientStatisticsRegressor replace_one": SufficientStatisticsRegressor(**_REPLACE),
        "AdaSSPRegressor": AdaSSPRegressor(**_REPLACE),
        "NoisyGradientRegressor": NoisyGradientRegressor(steps=5, **_LINEAR),
        "NoisyGradientClassifier": NoisyGradientClassifier(
            data_norm=1.0, steps=5, learning_rate=0.01, fit_intercept=False, **_CLASSES
        ),
        "PrivateAdditiveRegressor": PrivateAdditiveRegressor(n_hats=2, box=_BOX, bounds=_BOX),
        "PrivateAdditiveClassifier": PrivateAdditiveClassifier(n_hats=2, box=_BOX, **_CLASSES),
        "PrivateKernelMachine": PrivateKernelMachine(n_components=4, bounds=_BOX),
        "PrivateKernelClassifier": PrivateKernelClassifier(n_components=4, **_CLASSES),
        "PrivateMarginClassifier": PrivateMarginClassifier(
            data_norm=1.0, margin=1.0, n_steps=5, **_CLASSES
        ),
        "PrivateKernelMarginClassifier": PrivateKernelMarginClassifier(
            n_components=5, n_steps=5, margin=0.5, **_CLASSES
        ),
    },
    ("pure", 1.0): {
        "PrivateKernelMachine gamma": PrivateKernelMachine(
            n_components=1, bounds=_BOX, release="gamma"
        ),
        "PrivateKernelMachine queries": PrivateKernelMachine(n_components=1, bounds=_BOX, **_QUERY),
        # after one public row of signs, whichever they are: the record lies on an axis
        "ProjectedObjectiveClassifier": ProjectedObjectiveClassifier(n_components=1, **_WEAK),
    },
    ("bits", 0.5): {
        "AdditiveNoiseRegressor": AdditiveNoiseRegressor(**_PLAIN),
        "RandomProjectionRegressor": RandomProjectionRegressor(n_components=20, **_PLAIN),
    },
}

#: Everything with an event of its own; sketches and Lloyd's Laplace steps have theirs elsewhere.
TARGETS: dict[str, _Target] = {
    name: _Target(_by_prediction(estimator), *claim)
    for claim, estimators in _ESTIMATORS.items()
    for name, estimator in estimators.items()
} | {
    "PrivatePCA replace_one": _Target(_components, "gaussian", 8.0),
    "PrivateLloyd gaussian replace_one": _Target(_steps, "gaussian", 8.0),
    "PrivateRandomFeatureRegressor": _Target(_mean_and_weights, "gaussian", 8.0),
    "EntryMomentsRegressor": _Target(_moments, "bits", 0.5),
    "release_additive": _Target(_table, "bits", 0.5),
    "PrivateConstantRegressor": _Target(_mean, "pure", 1.0),
    "PrivateConstantClassifier": _Target(_frequencies, "pure", 1.0),
    "PerPerson": _Target(_person, "pure", 1.0),
    "objective_perturbation": _Target(_perturbed, "pure", 1.0),
    "ObjectivePerturbationClassifier": _Target(_perturbed_classifier, "pure", 1.0),
    "gaussian_prior_draw": _Target(_drawn, "pure", 1.0),
    **{name: _Target(score, "pure", 1.0) for name, score in SELECTORS.items()},
}

#: Estimators with an event of their own in their chapter: sketches, and Lloyd's steps beside them.
SKETCHES = {
    "CompressiveKMeans laplace": "kmeans-laplace",
    "CompressiveKMeans cube": "kmeans-cube",
    "CompressiveKMeans": "kmeans-polydisc",
    "CompressiveGaussianMixture gaussian": "mixture-gaussian",
    "CompressivePCA": "pca-laplace",
    "CompressivePCA replace_one": "pca-replace",
    "PrivateLloyd": "lloyd-laplace",
}

#: The learner whose canaries are guessed in every run.
PHASED = "PrivateMarginClassifier phased"


def audit_target(name: str, *, runs: int, confidence: float, seed: int) -> Controls[Line]:
    """Audit a mechanism as it is and, planted, with half its noise."""
    check_choice("name", name, (*TARGETS, *SKETCHES, PHASED))
    check_integer("runs", runs)
    if name in SKETCHES:
        return _audit_sketch(name, runs=runs, confidence=confidence, seed=seed)
    if name == PHASED:
        return _audit_phased(runs=runs, confidence=confidence, seed=seed)
    target = TARGETS[name]

    def audit(factor: float) -> Line:
        budget = budget_at(target.unit, target.epsilon, factor=factor)
        with warnings.catch_warnings():  # that noise hides one record is the point
            warnings.simplefilter("ignore", UserWarning)
            found = audit_event(
                lambda side, rng: target.score(side, budget, rng),
                1,
                0,
                lambda score: score > 0.0,
                runs=runs,
                epsilon=target.epsilon,
                confidence=confidence,
                rng=stream(seed, f"audits-{name}-{factor:g}", "noise"),
            )
        return Line(target.unit, target.epsilon, lower_bound(found, target.unit), runs)

    return run_controls(audit)


def _audit_sketch(name: str, *, runs: int, confidence: float, seed: int) -> Controls[Line]:
    found = audit_estimator(
        SKETCHES[name], runs=runs, confidence=confidence, seed=seed, name="audits"
    )
    null, planted = (
        Line("pure" if one.delta == 0.0 else f"delta {one.delta:g}", 1.0, one.epsilon_lower, runs)
        for one in (found.null, found.planted)
    )
    return Controls(null, planted)


def _audit_phased(*, runs: int, confidence: float, seed: int) -> Controls[Line]:
    def audit(factor: float) -> Line:
        found = audit_learner(
            "phased",
            epsilon=8.0,
            delta=DELTA,
            n_canaries=32,
            runs=runs,
            seed=seed,
            noise_factor=factor,
            confidence=confidence,
        )
        mu = found.mu_lower
        lower = float(gaussian_epsilon(delta=DELTA, sigma=1.0 / mu)) if mu > 0.0 else 0.0
        return Line("gaussian", 8.0, lower, runs)

    return run_controls(audit)
