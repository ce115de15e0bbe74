"""The contract of all estimators: scikit-learn's checks, states, attributes, bad parameters."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

from dplit import (
    AdaSSPRegressor,
    AdditiveNoiseRegressor,
    CompressiveGaussianMixture,
    CompressiveKMeans,
    CompressivePCA,
    EntryMomentsRegressor,
    HatFeatures,
    NoisyGradientClassifier,
    NoisyGradientRegressor,
    ObjectivePerturbationClassifier,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateConstantClassifier,
    PrivateConstantRegressor,
    PrivateKernelClassifier,
    PrivateKernelMachine,
    PrivateKernelMarginClassifier,
    PrivateLloyd,
    PrivateMarginClassifier,
    PrivatePCA,
    PrivateRandomFeatureRegressor,
    ProjectedObjectiveClassifier,
    RandomProjectionRegressor,
    SufficientStatisticsRegressor,
)
from dplit.features import RandomFourierFeatures
from dplit.streams import stream
from tests.estimator_checks import estimator_checks

# scikit-learn's checks fit so few records that the estimators warn of their noise
pytestmark = [
    pytest.mark.filterwarnings("ignore::dplit.NoiseWarning"),
    pytest.mark.filterwarnings("ignore:no width of the kernel"),
]
_NORM: dict[str, Any] = {"data_norm": 4.0}
_ENDS: dict[str, Any] = {"bounds": (-4.0, 4.0)}
_BOX: dict[str, Any] = {"box": (-4.0, 4.0)}
_COUNTED: dict[str, Any] = {"neighboring": "add_remove", "public_size": 100}
_MOMENTS: dict[str, Any] = {"data_norm": 5.0, **_ENDS}


#: Budgets at which noise is nothing, and at which a fit of few records learns what is asked.
_HUGE, _ENOUGH = 1e6, 8.0
_SKETCH: dict[str, Any] = {"bounds": (-10.0, 10.0), "n_frequencies": 40}
_QUERIES: dict[str, Any] = {"release": "queries", "n_queries": 300, "data_norm": 4.0}
_KERNEL = PrivateKernelMachine(regularization=1e-4, width=5.0, **_ENDS)
_KERNEL_CLASSES = PrivateKernelClassifier(regularization=1e-3, width=2.0)
_KERNEL_MARGIN = PrivateKernelMarginClassifier(gamma=0.05, radius=5.0, margin=0.5)
_WAVES = PrivateRandomFeatureRegressor(**_ENDS)
_MARGINS: list[dict[str, Any]] = [
    {"margin": 0.5, "fit_intercept": True},
    {"margin": "private"},
    {"margin": 0.5, "solver": "phased"},
]
_SIGN: dict[str, Any] = {"margin": 0.5, "projection": "fast", "n_components": 1, "n_steps": 20}
_SKETCHES = [
    CompressiveKMeans(2, n_restarts=1, **_SKETCH),
    CompressiveGaussianMixture(1, n_starts=1, **_SKETCH),
    CompressivePCA(1, data_norm=10.0),
]
_ENTRIES = [
    kind(correction=correction, bounds=(-5.0, 5.0))
    for kind in (AdditiveNoiseRegressor, RandomProjectionRegressor)
    for correction in ("none", "attenuation")
]
#: The checks set n_components of waves to 1, and half a pair of cosine and sine has no norm.
_TRANSFORMERS = [
    RandomFourierFeatures(n_components=20),
    RandomFourierFeatures(n_components=20, n_jobs=2, normalize=False, dtype="float32"),
    RandomFourierFeatures(n_components=20, kind="complex"),
    HatFeatures(**_BOX),
    HatFeatures(2, **_BOX),
]
_AT_A_HUGE_BUDGET = [
    SufficientStatisticsRegressor(**_MOMENTS),
    SufficientStatisticsRegressor(
        neighboring="replace_one", fit_intercept=False, alpha=1.0, **_MOMENTS
    ),
    NoisyGradientRegressor(**_MOMENTS),
    NoisyGradientRegressor(radius=20.0, **_COUNTED, **_MOMENTS),
    AdaSSPRegressor(**_NORM, **_ENDS),
    AdaSSPRegressor(neighboring="replace_one", fit_intercept=False, **_NORM, **_ENDS),
    NoisyGradientClassifier(**_NORM),
    NoisyGradientClassifier(steps=200, **_COUNTED, **_NORM),
    ObjectivePerturbationClassifier(**_NORM),
    ObjectivePerturbationClassifier(loss="logistic", delta=1e-5, **_NORM),
    PrivateAdditiveRegressor(**_ENDS, **_BOX),
    PrivateAdditiveRegressor(n_hats=2, **_COUNTED, **_ENDS, **_BOX),
    PrivateAdditiveClassifier(**_BOX),
    PrivateAdditiveClassifier(loss="logistic", **_BOX),
    PrivateConstantClassifier(),
    PrivateConstantRegressor(**_ENDS),
    PrivatePCA(1, data_norm=10.0),
    PrivatePCA(1, data_norm=10.0, neighboring="replace_one"),
    PrivateLloyd(3, bounds=(-10.0, 10.0), n_iter=10),
    _WAVES,
    clone(_WAVES).set_params(sensitivity="crude", **_BOX),
    _KERNEL,
    clone(_KERNEL).set_params(loss="pinball", release="gamma"),
    clone(_KERNEL).set_params(**_QUERIES),
    _KERNEL_CLASSES,
    clone(_KERNEL_CLASSES).set_params(loss="logistic", release="gamma"),
    clone(_KERNEL_CLASSES).set_params(**_QUERIES),
    *(PrivateMarginClassifier(n_steps=60, **_NORM, **kind) for kind in _MARGINS),
    _KERNEL_MARGIN,
    clone(_KERNEL_MARGIN).set_params(n_frequencies=400, n_components=151),
    clone(_KERNEL_MARGIN).set_params(margin="private"),
    ProjectedObjectiveClassifier(fit_intercept=True, **_NORM),
    ProjectedObjectiveClassifier(n_components=1, **_NORM),
    *_ENTRIES,
    *_SKETCHES,
]
_AT_THE_DEFAULT_BUDGET = [
    NoisyGradientRegressor(**_MOMENTS),
    NoisyGradientClassifier(**_NORM),
    ObjectivePerturbationClassifier(**_NORM),
    ObjectivePerturbationClassifier(fit_intercept=False, regularization=0.01, **_NORM),
    PrivateLloyd(3, bounds=(-10.0, 10.0)),
    PrivateLloyd(3, bounds=(-9.0, 9.0), noise="gaussian", delta=1e-5),
    PrivateKernelClassifier(),
    *(PrivateMarginClassifier(n_steps=20, **_NORM, **kind) for kind in _MARGINS),
    PrivateKernelMarginClassifier(),
    *_SKETCHES,
    # of 300 records at epsilon = 1 these learn what is asked in some draws
    ObjectivePerturbationClassifier(epsilon=_ENOUGH, loss="logistic", delta=1e-5, **_NORM),
    PrivateAdditiveClassifier(epsilon=_ENOUGH, **_BOX),
]
#: 200 records at epsilon = 1: noise exceeds the signal, or the fit keeps less than R^2 = 0.5.
_RULED_BY_NOISE = [
    SufficientStatisticsRegressor(**_MOMENTS),
    AdaSSPRegressor(**_NORM, **_ENDS),
    PrivateAdditiveRegressor(**_ENDS, **_BOX),
    PrivateRandomFeatureRegressor(**_ENDS),
    PrivateKernelMachine(**_ENDS),
    *(kind(bounds=(-5.0, 5.0)) for kind in (AdditiveNoiseRegressor, RandomProjectionRegressor)),
    EntryMomentsRegressor(bounds=(-5.0, 5.0)),
]


#: What scikit-learn asks of weights, and estimators that hide them refuse.
_BEYOND = "it gives weights beyond 1, which noise does not cover"
_WEIGHTS = {
    "check_sample_weights_list": _BEYOND,
    "check_sample_weights_not_overwritten": _BEYOND,
    "check_sample_weight_equivalence_on_dense_data": _BEYOND,
    "check_all_zero_sample_weights_error": "to refuse them would tell that all weights are zero",
}


@estimator_checks(
    [
        *(clone(model).set_params(epsilon=_HUGE) for model in _AT_A_HUGE_BUDGET),
        EntryMomentsRegressor(epsilon=50.0, bounds=(-5.0, 5.0)),
        *_AT_THE_DEFAULT_BUDGET,
        *_TRANSFORMERS,
    ],
    {"check_class_weight_classifiers": _BEYOND, **_WEIGHTS},
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@estimator_checks(
    _RULED_BY_NOISE, {"check_regressors_train": "noise exceeds the signal", **_WEIGHTS}
)
def test_scikit_learn_checks_of_regressors_that_noise_rules(estimator: Any, check: Any) -> None:
    check(estimator)


@estimator_checks(
    [PrivateMarginClassifier(**_NORM, **_SIGN)],
    {"check_classifiers_train": "two features are projected to one: a sign of chance"},
)
def test_scikit_learn_checks_of_a_projection(estimator: Any, check: Any) -> None:
    check(estimator)


class Careless(SufficientStatisticsRegressor):
    """Sets one of its parameters while it is fitted."""

    def fit(self, X: Any, y: Any) -> Careless:
        super().fit(X, y)
        self.alpha = 2.0
        return self


def test_scikit_learn_checks_see_a_careless_estimator() -> None:
    """They assert within scikit-learn; kills a list from which the checks that matter are gone."""
    careless = Careless(epsilon=_HUGE, **_MOMENTS)
    found = [getattr(pair, "values", pair) for pair in estimator_checks([careless]).args[1]]
    checks = {check.func.__name__: check for _, check in found}
    assert len(checks) > 30
    for name in ("check_dont_overwrite_parameters", "check_estimators_overwrite_params"):
        with pytest.raises(AssertionError, match=r"should not change|changes public attribute"):
            checks[name](careless)


_KERNEL_OWN = "coef_ frequencies_ noise_scale_ regularization_ sensitivity_"
_ENTRY_OWN = "coef_ intercept_ entry_epsilon_ row_epsilon_"

#: By name: a model, what it keeps of its own, and what it says.
MODELS: dict[str, tuple[Any, str, str]] = {
    "moments": (
        SufficientStatisticsRegressor(**_MOMENTS),
        "coef_ intercept_ sigma_ _ends",
        r"removing one record \(rows clipped to norm 5, labels to \[-4, 4\]\)",
    ),
    "descent": (
        NoisyGradientRegressor(**_MOMENTS),
        "coef_ intercept_ sigma_ _ends",
        "replacing one record .rows clipped to norm 5.*their number is public",
    ),
    "adassp": (
        AdaSSPRegressor(**_NORM, **_ENDS),
        "coef_ intercept_ sigma_ _ends alpha_ least_eigenvalue_",
        "adding or removing",
    ),
    "gradient": (
        NoisyGradientClassifier(**_NORM),
        "coef_ intercept_ sigma_ classes_ data_norm_",
        "one of 100 records.*norm 4, the 2 labels are taken",
    ),
    "objective": (
        ObjectivePerturbationClassifier(**_NORM),
        "coef_ intercept_ noise_ regularization_ classes_ data_norm_ loss_",
        "100 records.*norm 4",
    ),
    "shapes": (
        PrivateAdditiveRegressor(**_ENDS, **_BOX),
        "coef_ intercept_ sigma_ shapes_ _map _ends",
        "stated box, labels to .-4, 4",
    ),
    "classes": (
        PrivateAdditiveClassifier(**_BOX),
        "coef_ intercept_ shapes_ classes_ loss_ _map",
        "one of 100 records.*stated box, the 2 labels are taken",
    ),
    "mean": (
        PrivateConstantRegressor(**_ENDS),
        "constant_ interval_",
        r"replacing one of 100 records.*labels are clipped to \[-4, 4\]",
    ),
    "majority": (
        PrivateConstantClassifier(neighboring="add_remove"),
        "shares_ interval_ classes_",
        "removing one record .the 2 labels are taken",
    ),
    "pca": (PrivatePCA(1, **_NORM), "components_ moments_ sigma_ _n_features_out", "to norm 4"),
    "lloyd": (
        PrivateLloyd(2, **_ENDS),
        "cluster_centers_ counts_ _n_features_out",
        "adding or removing one record",
    ),
    "waves": (
        PrivateRandomFeatureRegressor(**_ENDS, **_BOX),
        "coef_ intercept_ sigma_ alpha_ bounds_ frequencies_ gamma_ sensitivity_",
        "replacing one of 100 records.*labels clipped to .-4, 4., inputs arbitrary",
    ),
    "process": (_KERNEL, f"{_KERNEL_OWN} intercept_ bounds_", "100 records.*whole function"),
    "gamma": (
        clone(_KERNEL).set_params(release="gamma"),
        f"{_KERNEL_OWN} intercept_ bounds_",
        "labels clipped to .-4, 4",
    ),
    "queries": (
        clone(_KERNEL).set_params(**_QUERIES),
        f"{_KERNEL_OWN} intercept_ bounds_",
        "labels clipped to .-4, 4",
    ),
    "process classes": (_KERNEL_CLASSES, f"{_KERNEL_OWN} classes_", "the two labels taken"),
    "margin": (
        PrivateMarginClassifier(**_NORM),
        "coef_ intercept_ classes_ data_norm_ margin_",
        "records are clipped to norm 4, the two labels.*the margin is given",
    ),
    "kernel margin": (
        PrivateKernelMarginClassifier(),
        "coef_ classes_ features_ gamma_ margin_",
        "the margin is given, inputs arbitrary",
    ),
    "projected": (
        ProjectedObjectiveClassifier(**_NORM),
        "coef_ intercept_ classes_ data_norm_ n_components_ noise_ projection_ regularization_",
        "the projection are public; rows are clipped to norm 4",
    ),
    "entry noise": (_ENTRIES[0], f"{_ENTRY_OWN} sigma_", "2 bits of.*RESPONSES y.*NOT PROTECTED"),
    "entry rows": (_ENTRIES[2], f"{_ENTRY_OWN} sigma_", "2 bits of.*for research"),
    "entry moments": (
        EntryMomentsRegressor(bounds=(-5.0, 5.0)),
        f"{_ENTRY_OWN} alpha_ cross_ cross_sigma_ gram_ gram_sigma_",
        "2 bits of.*RESPONSES y.*NOT PROTECTED",
    ),
    "sketch": (
        _SKETCHES[0],
        "cluster_centers_ sketch_ weights_ _n_features_out",
        "sketch_ is covered",
    ),
    "mixture": (_SKETCHES[1], "means_ covariances_ sketch_ weights_", "sketch_ is covered"),
    "directions": (
        _SKETCHES[2],
        "components_ second_moments_ sketch_ _n_features_out",
        "rows clipped to norm 10; sketch_ is covered",
    ),
}
#: Noise whose law is of real numbers, as its statement says.
_FLOAT_NOISE = {"entry rows"}


def _fitted(model: Any, **changes: Any) -> Any:
    X = stream(0, "contract", "data").uniform(-1.0, 1.0, (100, 3))
    y = X[:, 0] if is_regressor(model) else X[:, 0] > 0.1
    return model.set_params(**changes).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_random_states_mean_what_they_say(name: str) -> None:
    """Kills a state that is not passed on, or is the same for all fits of an estimator.

    Some numbers may agree: what noise moves out of the bounds is clipped.
    """
    given, own, _ = MODELS[name]
    model = clone(given)  # the state below stays in it

    def released(model: Any, **state: Any) -> np.ndarray:
        return np.array(getattr(_fitted(model, **state), own.split()[0]))

    one, other = (released(clone(model), random_state=seed) for seed in (1, 2))
    np.testing.assert_array_equal(released(clone(model), random_state=1), one)
    assert (one != other).any()
    assert (released(clone(model)) != released(clone(model))).any()
    told = _fitted(clone(model)).privacy_statement_
    assert "operating system" in told
    assert "voids" not in told
    legacy = np.random.RandomState(0)
    assert (released(model, random_state=legacy) != released(model, random_state=legacy)).any()
    shared = clone(model).set_params(random_state=np.random.default_rng(3))
    twin = clone(shared)
    first = released(shared)
    np.testing.assert_array_equal(released(twin), first)  # clones share their noise
    assert (released(shared) != first).any()  # fits of one estimator do not


@pytest.mark.parametrize("name", MODELS)
def test_only_what_is_private_is_kept_and_the_guarantee_is_stated(name: str) -> None:
    model, own, words = MODELS[name]
    found = _fitted(clone(model), epsilon=2.0, random_state=0)
    stated = {"epsilon_", "delta_", "neighboring_", "privacy_statement_", "n_features_in_"}
    assert set(vars(found)) == {*model.get_params(), *stated, *own.split()}
    assert (found.epsilon_, found.delta_) in ((2.0, getattr(model, "delta", 0.0)), (2.0, 0.0))
    assert found.neighboring_ == getattr(model, "neighboring", found.neighboring_)
    budget = rf"\(2, {found.delta_:g}\)-differential privacy"
    parts = [words, "not finite", "fixed random_state, which voids"]
    parts += [] if name.startswith("entry") else [budget]
    parts += ["floating-point noise" if name in _FLOAT_NOISE else "exact to the last bit"]
    for part in parts:
        assert re.search(part, found.privacy_statement_), part
    for attribute, kept in vars(found).items():  # no axis of 100 records
        size = np.shape(kept) if isinstance(kept, (np.ndarray, list)) else ()
        assert attribute == "frequencies_" or 100 not in size, attribute
    again = pickle.loads(pickle.dumps(found))
    ask = "predict" if hasattr(found, "predict") and name != "lloyd" else "transform"
    np.testing.assert_array_equal(getattr(again, ask)(np.eye(3)), getattr(found, ask)(np.eye(3)))


_WITH_RELATION = tuple(n for n, (m, *_) in MODELS.items() if hasattr(m, "neighboring"))
_SAID = "moments descent adassp shapes"
_NOTHING_SAID = "gradient objective pca moments descent adassp"
#: Models by name, what is bad, and what must be said.
BAD: list[tuple[Any, dict[str, Any], str]] = [
    (tuple(MODELS), {"epsilon": 0.0}, "epsilon must be positive"),
    (_WITH_RELATION, {"neighboring": "none"}, "neighboring must be"),
    (tuple(MODELS), {"random_state": -1}, "random_state must be nonnegative"),
    (_NOTHING_SAID, {"data_norm": None}, "data_norm must be given"),
    (_NOTHING_SAID, {"data_norm": -1.0}, "data_norm must be positive"),
    (f"{_SAID} waves lloyd mean", {"bounds": None}, "bounds must be given"),
    (f"{_SAID} waves", {"bounds": (1.0, 1.0)}, "bounds must be two increasing numbers"),
    (f"{_SAID} gradient pca waves", {"delta": 0.0}, "delta must be"),
    (f"{_SAID} gradient pca waves", {"delta": 1.0}, "delta must be"),
    ("objective classes", {"delta": 0.5}, "delta must be below 1/2"),
    ("objective classes", {"delta": -0.1}, "delta must be"),
    ("objective classes waves", {"neighboring": "add_remove"}, "must be 'replace_one'"),
    ("objective classes", {"loss": "hinge"}, "loss must be one of"),
    ("descent gradient shapes", {"neighboring": "add_remove"}, "public_size must be given under"),
    ("shapes classes", {"box": None}, "box must be given"),
    ("shapes classes", {"box": (1.0, -1.0)}, "box must be increasing"),
    ("shapes classes", {"indicators": ((2, 2),)}, "indicators must name a column once"),
    ("shapes classes", {"n_hats": 1}, "n_hats must be at least 2"),
    ("classes gradient", {"classes": ("a", "a")}, "classes must be two or more labels"),
    ("gradient majority", {"classes": ("a",)}, "classes must be two or more labels"),
    ("classes", {"classes": (0, 1, 2), "delta": 0.0}, "delta must be in"),
    ("adassp", {"rho": 1.0}, r"rho must be in \(1e-100, 1\), got rho=1.0"),
    ("pca", {"n_components": 4}, "n_components must be at most 3, got n_components=4"),
    ("descent gradient", {"clip": 0.0}, "clip must be positive"),
    ("descent gradient", {"steps": 0}, "steps must be at least 1"),
    ("descent gradient", {"learning_rate": -1.0}, "learning_rate must be positive"),
    ("objective", {"smoothing": 0.0}, "smoothing must be positive"),
    ("objective", {"regularization": 0.0}, "regularization must be positive"),
    ("objective", {"classes": ("a", "a")}, "classes must be two labels"),
    ("moments", {"alpha": 0.0}, "alpha must be positive"),
    ("lloyd", {"bounds": (1.0, 1.0)}, "bounds must be increasing"),
    ("lloyd", {"bounds": ([0.0] * 2, 1.0)}, "one number for each of 3 columns"),
    ("lloyd", {"delta": 0.1}, "delta must be 0 with Laplace noise"),
    ("lloyd", {"noise": "gaussian"}, r"delta must be in \(0, 1\)"),
    ("lloyd", {"noise": "cauchy"}, "noise must be one of"),
    ("lloyd", {"n_iter": 0}, "n_iter must be at least 1"),
    ("lloyd", {"n_candidates": 1}, "n_candidates must be at least 2"),
    ("lloyd", {"n_clusters": 0}, "n_clusters must be at least 1"),
    ("lloyd", {"start": [[0.0, 0.0]]}, r"start must have shape \(2, 3\)"),
]


@pytest.mark.parametrize(("names", "changes", "message"), BAD)
def test_bad_parameters_are_named(names: Any, changes: dict[str, Any], message: str) -> None:
    for name in names.split() if isinstance(names, str) else names:
        with pytest.raises(ValueError, match=message):
            _fitted(clone(MODELS[name][0]), **changes)


@pytest.mark.parametrize("name", ["gradient", "objective", "classes", "majority"])
def test_one_class_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="y must hold two classes unless classes is given"):
        MODELS[name][0].fit(np.zeros((30, 3)), np.zeros(30))
