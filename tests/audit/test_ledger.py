"""What reaches the samplers is what is promised: every estimator, under every setting it has.

Nothing here is random but for fixed seeds: sums are exact, or dp-accounting's closed form.
"""

from __future__ import annotations

import inspect
import math
import pickle
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.base import clone

from dplit import audit
from dplit.audit import LedgerError, ledger
from dplit.clusters import lloyd
from dplit.entries.estimators import RandomProjectionRegressor
from dplit.kernels import gamma, random_features
from dplit.kernels._certified_ridge import noisy_mean
from dplit.kernels.gaussian_process import GaussianProcessOracle
from dplit.kernels.queries import QueryOracle
from dplit.linear import _moments as moments
from dplit.linear import regressors
from dplit.margins import estimators
from dplit.margins import plans as margin_plans
from dplit.mechanisms import (
    exponential_mechanism,
    gaussian,
    gaussian_delta,
    gaussian_sigma,
    report_noisy_min,
    values,
)
from dplit.mechanisms._draws import Draw
from dplit.papers.margin import gibbs
from dplit.papers.sketching.masks import mask_law
from dplit.papers.sketching.subsampled_sketch import noisy_subsampled_sum
from dplit.sketching import plans
from dplit.sketching.additive_noise import noisy_sum, sketch_parts
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import SketchMap, merge_all, sketch, sketch_persons
from dplit.streams import stream
from dplit_studies.audits.cases import BOX, ESTIMATORS, RELEASES
from tests.audit.spies import Hidden, moved, problems, run, told_of_data
from tests.margins.planned import boosted, full_batch, phased

pytest.importorskip("dp_accounting")
# so few records that every estimator warns of its noise
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

_SIGNS = (-1.0, 1.0)
_NORM = {"data_norm": 0.5}
_TWO = [{"neighboring": "add_remove"}, {"neighboring": "replace_one"}]
_BUDGETS: dict[str, list[Any]] = {"epsilon": [{"epsilon": 0.05}, {"epsilon": 6.0}]}
_DELTAS: dict[str, list[Any]] = {"delta": [{"delta": 1e-9}, {"delta": 1e-2}]}

#: What changes neither the number of draws nor how the budget is split: the range of each is tested
#: with its estimator; here they need no case.
_QUIET = {"random_state", "classes", "bounds", "data_norm", "box"}

_SKETCH: dict[str, list[Any]] = {
    **_BUDGETS,
    "delta": [{"delta": 1e-6, "noise": "gaussian"}],
    "noise": [{"noise": "laplace"}, {"noise": "cube"}, {"noise": "polydisc"}],
    "kind": [{"kind": "quantized", "noise": k} for k in ("laplace", "polydisc", "cube")],
    "neighboring": [
        {"neighboring": n, "noise": k, "delta": 1e-6 if k == "gaussian" else 0.0}
        for n in ("add_remove", "replace_one")
        for k in ("laplace", "gaussian", "polydisc", "cube")
    ],
    "n_frequencies": [{"n_frequencies": 3}],
    "gamma": [{"gamma": 3.0}],
}

_KERNEL: dict[str, list[Any]] = {
    **_BUDGETS,
    **_DELTAS,
    "regularization": [{"regularization": 0.5}],
    "width": [{"width": 2.0}],
    "n_components": [{"n_components": 9}],
    "accuracy": [{"accuracy": 0.3}],
    "release": [{"release": "gamma"}, {"release": "queries", **_NORM}],
    "n_queries": [{"release": "queries", "n_queries": q, **_NORM} for q in (1, 7)],
    "neighboring": [{}],
}
_ENTRIES: dict[str, list[Any]] = {
    "epsilon": [{"epsilon": 0.001}, {"epsilon": 0.3}],
    **_DELTAS,
    "fit_intercept": [{"fit_intercept": False}],
    "bounds": [{"bounds": (-0.1, 3.0)}],
}

#: For each estimator a setting to begin with, and for each parameter the settings to try.
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]] = {
    "SufficientStatisticsRegressor": (
        {**_NORM, **BOX},
        {
            **_BUDGETS,
            **_DELTAS,
            "neighboring": _TWO,
            "alpha": [{"alpha": 0.1}],
            "fit_intercept": [{"fit_intercept": False, **n} for n in _TWO],
            "bounds": [{"bounds": (-0.1, 3.0), **n} for n in _TWO],
        },
    ),
    "AdaSSPRegressor": (
        {**_NORM, **BOX},
        {
            **_BUDGETS,
            **_DELTAS,
            "neighboring": _TWO,
            "rho": [{"rho": 0.5}],
            "fit_intercept": [{"fit_intercept": False, **n} for n in _TWO],
        },
    ),
    "NoisyGradientRegressor": (
        {**_NORM, **BOX},
        {
            **_BUDGETS,
            **_DELTAS,
            "steps": [{"steps": 1}, {"steps": 7}],
            "clip": [{"clip": 3.0}],
            "learning_rate": [{"learning_rate": 0.1}],
            "radius": [{"radius": 0.1}],
            "average": [{"average": False}],
            "neighboring": [{"neighboring": "add_remove", "public_size": 9}],
            "public_size": [{"public_size": 30}],
            "fit_intercept": [{"fit_intercept": False}],
        },
    ),
    "ObjectivePerturbationClassifier": (
        {**_NORM, "classes": _SIGNS},
        {
            **_BUDGETS,
            "delta": [{"delta": 1e-9}, {"delta": 1e-2}],
            "loss": [{"loss": "logistic"}, {"loss": "logistic", "delta": 1e-6}],
            "regularization": [{"regularization": 1.0}, {"regularization": 1e-9}],
            "smoothing": [{"smoothing": 0.1}],
            "class_weight": [{"class_weight": (1.0, 0.1)}],
            "fit_intercept": [{"fit_intercept": False}],
            "neighboring": [{}],
        },
    ),
    "NoisyGradientClassifier": (
        {**_NORM, "classes": _SIGNS},
        {
            **_BUDGETS,
            **_DELTAS,
            "steps": [{"steps": 1}, {"steps": 7}],
            "clip": [{"clip": 3.0}],
            "learning_rate": [{"learning_rate": 0.1}],
            "classes": [{"classes": (-1.0, 0.0, 1.0, 2.0)}],
            "class_weight": [{"class_weight": (1.0, 0.1)}],
            "neighboring": [{"neighboring": "add_remove", "public_size": 9}],
            "public_size": [{"public_size": 30}],
            "fit_intercept": [{"fit_intercept": False}],
        },
    ),
    "PrivateAdditiveRegressor": (
        {"box": (-0.5, 0.5), **BOX},
        {
            **_BUDGETS,
            **_DELTAS,
            "n_hats": [{"n_hats": 2}, {"n_hats": 5}],
            "indicators": [{"indicators": ((0, 1),)}, {"indicators": ((1,),)}],
            "interactions": [{"interactions": ((0, 1),)}, {"interactions": ((0, 1),), "n_hats": 2}],
            "neighboring": [{"neighboring": "add_remove", "public_size": 9}],
            "public_size": [{"public_size": 30}],
        },
    ),
    "PrivateAdditiveClassifier": (
        {"box": (-0.5, 0.5), "classes": _SIGNS},
        {
            **_BUDGETS,
            "delta": [{"delta": 0.0}, {"delta": 1e-2}],
            "loss": [{"loss": "logistic"}, {"loss": "logistic", "delta": 0.0}],
            "n_hats": [{"n_hats": 2}, {"n_hats": 5, "delta": 0.0}],
            "indicators": [{"indicators": ((0, 1),)}],
            "interactions": [{"interactions": ((0, 1),), "delta": d} for d in (0.0, 1e-5)],
            "classes": [{"classes": (-1.0, 0.0, 1.0), "epsilon": e} for e in (1.0, 6.0)],
            "class_weight": [{"class_weight": (0.1, 1.0), "delta": d} for d in (0.0, 1e-6)],
            "neighboring": [{}],
        },
    ),
    "PrivateLloyd": (
        {"n_clusters": 2, **BOX},
        {
            **_BUDGETS,
            "delta": [{"noise": "gaussian", "delta": 1e-6}],
            "n_clusters": [{"n_clusters": 5}],
            "n_candidates": [{"n_candidates": 4}],
            "start": [{"start": [[0.0, 0.1], [0.1, 0.0]]}],
            "n_iter": [{"n_iter": 1}, {"n_iter": 6}, {"n_iter": 6, **_TWO[1]}],
            "noise": [
                {"noise": "gaussian", "delta": 1e-6, "n_iter": t, **n} for n in _TWO for t in (1, 4)
            ],
            "neighboring": _TWO,
        },
    ),
    "PrivateKernelMachine": (
        {"n_components": 4, **BOX},
        {
            **_KERNEL,
            "loss": [{"loss": k} for k in ("squared", "pinball")],
            "tau": [{"loss": "pinball", "tau": 0.9}],
        },
    ),
    "PrivateKernelClassifier": (
        {"n_components": 4, "classes": _SIGNS},
        {**_KERNEL, "loss": [{"loss": "hinge"}, {"loss": "logistic"}]},
    ),
    "AdditiveNoiseRegressor": (
        {"epsilon": 0.02, **BOX},
        {**_ENTRIES, "correction": [{"correction": "none"}]},
    ),
    "RandomProjectionRegressor": (
        {"epsilon": 0.02, "n_components": 5, **BOX},
        {
            **_ENTRIES,
            "n_components": [{"n_components": 1}, {"n_components": 40}],
            "correction": [{"correction": "attenuation"}],
        },
    ),
    "EntryMomentsRegressor": (
        {"epsilon": 0.02, **BOX},
        _ENTRIES,
    ),
    "CompressiveKMeans": (
        {"n_clusters": 1, "n_restarts": 1, "n_frequencies": 8, **BOX},
        {**_SKETCH, "n_clusters": [{"n_clusters": 2}], "n_restarts": [{"n_restarts": 2}]},
    ),
    "CompressiveGaussianMixture": (
        {"n_starts": 1, "n_frequencies": 8, **BOX},
        {
            **_SKETCH,
            "n_components": [{"n_components": 2}],
            "n_starts": [{"n_starts": 2}],
            "min_variance": [{"min_variance": 0.1}],
        },
    ),
    "CompressivePCA": (
        {"n_components": 1, **_NORM},
        {
            **_BUDGETS,
            "delta": [{"noise": "gaussian", "delta": 1e-6}],
            "n_components": [{"n_components": 2}],
            "n_frequencies": [{"n_frequencies": 8}],
            "frequencies": [{"frequencies": "gaussian"}],
            "noise": [
                {"noise": k, "delta": 1e-6 if k == "gaussian" else 0.0, **n}
                for k in ("laplace", "gaussian")
                for n in _TWO
            ],
            "neighboring": _TWO,
            "count_share": [{"count_share": 0.3}],
        },
    ),
    "PrivatePCA": (
        {"n_components": 1, **_NORM},
        {**_BUDGETS, **_DELTAS, "n_components": [{"n_components": 2}], "neighboring": _TWO},
    ),
    "PrivateConstantRegressor": (
        {**BOX},
        {**_BUDGETS, "bounds": [{"bounds": (-0.1, 3.0)}], "neighboring": _TWO},
    ),
    "PrivateConstantClassifier": (
        {"classes": _SIGNS},
        {**_BUDGETS, "classes": [{"classes": (-1.0, 0.0, 1.0)}], "neighboring": _TWO},
    ),
    "PrivateMarginClassifier": (
        {"classes": _SIGNS, **_NORM},
        {
            **_BUDGETS,
            **_DELTAS,
            "radius": [{"radius": 3.0}],
            "margin": [
                {"margin": 0.1},
                {"margin": "private"},
                {"margin": "private", "solver": "phased"},
            ],
            "n_margins": [{"margin": "private", "n_margins": k} for k in (1, 5)],
            "projection": [{"projection": k, "n_components": 1} for k in ("fast", "sign")],
            "n_components": [{"projection": "fast", "n_components": 2}],
            "inflation": [{"projection": "sign", "n_components": 1, "inflation": 2.0}],
            "solver": [
                {"solver": "noisy_gradient"},
                {"solver": "phased"},
                {"solver": "phased", "projection": "fast"},
            ],
            "n_steps": [{"n_steps": 1}, {"n_steps": 9}],
            "fit_intercept": [{"fit_intercept": True}],
            "beta": [{"solver": "phased", "beta": b} for b in (0.4, 1e-3)],
        },
    ),
    "ProjectedObjectiveClassifier": (
        {"classes": _SIGNS, **_NORM},
        {
            **_BUDGETS,
            "margin": [{"margin": 0.4}],
            "delta": [{"delta": 1e-6}, {"delta": 1e-2, "n_components": 1}],
            "n_components": [{"n_components": k} for k in (1, 2)],
            "regularization": [{"regularization": a, "n_components": 1} for a in (1e-9, 3.0)],
            "fit_intercept": [{"fit_intercept": True}, {"fit_intercept": True, "n_components": 1}],
        },
    ),
    "PrivateKernelMarginClassifier": (
        {"n_components": 4, "classes": _SIGNS},
        {
            **_BUDGETS,
            **_DELTAS,
            "gamma": [{"gamma": 3.0}],
            "n_components": [{"n_components": 9}],
            "n_frequencies": [{"n_frequencies": 12}],
            "inflation": [{"inflation": 2.0}],
            "margin": [{"margin": 0.1}, {"margin": "private"}],
            "n_margins": [{"margin": "private", "n_margins": k} for k in (1, 5)],
            "radius": [{"radius": 3.0}],
            "n_steps": [{"n_steps": 1}, {"n_steps": 9}],
            "neighboring": [{}],
        },
    ),
    "PrivateRandomFeatureRegressor": (
        {"n_components": 4, "gamma": 1.0, **BOX},
        {
            **_BUDGETS,
            **_DELTAS,
            "alpha": [{"alpha": 3.0}],
            "gamma": [{"gamma": 3.0}, {"gamma": None, "box": (-3.0, 2.0)}],
            "n_components": [{"n_components": 9}, {"n_components": None}],
            "box": [{"box": (-3.0, 2.0)}],
            "sensitivity": [{"sensitivity": "crude"}],
            "neighboring": [{}],
            "fit_intercept": [{"fit_intercept": False}],
        },
    ),
}

CLASSES = {type(case.release).__name__: type(case.release) for case in ESTIMATORS.values()}
_EVERY = [
    pytest.param(name, {**base, **change}, id=f"{name}-{'-'.join(map(str, change.values()))}")
    for name, (base, options) in SETTINGS.items()
    for change in [{}, *(change for changes in options.values() for change in changes)]
]


def _data(labels: Any, n: int = 41) -> tuple[np.ndarray, ...]:
    rng = stream(0, "ledger", "data")
    X = rng.uniform(-0.5, 0.5, (n, 2))
    if labels is None:
        return (X,)
    if isinstance(labels, tuple):
        return X, np.where(np.arange(n) % 3 == 0, *labels)
    return X, rng.uniform(-0.5, 0.5, n)


def _labels(name: str) -> Any:
    return next(c.labels for c in ESTIMATORS.values() if type(c.release).__name__ == name)


def _promised(fitted: Any) -> tuple[float, float]:
    """The guarantee in (epsilon, delta); two estimators state their budget in bits beside it."""
    return getattr(fitted, "entry_epsilon_", fitted.epsilon_), fitted.delta_


def test_every_parameter_of_every_estimator_has_a_case() -> None:
    """Kills the option that is written tomorrow and splits a budget that nobody follows."""
    assert SETTINGS.keys() == CLASSES.keys()
    for name, (base, options) in SETTINGS.items():
        known = inspect.signature(CLASSES[name].__init__).parameters.keys() - {"self"}
        assert options.keys() | _QUIET >= known, name
        assert base.keys() | options.keys() <= known, name


@pytest.mark.parametrize(("name", "settings"), _EVERY)
def test_a_fit_spends_what_it_promises_and_draws_what_it_says(
    name: str, settings: dict[str, Any]
) -> None:
    """Never more than was promised, at least .98 of it, every number from the right stream.

    Kills a budget not divided, noise of another scale, one draw more or less, a silent stream.
    """
    found = run(CLASSES[name](**settings), _data(_labels(name)))
    # margins that are learnt one after the other by another solver than the descent, whose levels
    # compose exactly, share epsilon and delta by adding up, as `plan_learning` says
    adds = settings.get("margin") == "private" and settings.get("solver") == "phased"
    assert problems(found, *_promised(found.result), share=0.8 if adds else 0.98) == []


#: Releases that promise something else than what they spend, and why.
_OTHERWISE = {
    "release_additive": "the case states what a move of half the interval costs",
    "release_projection": "the case states what a move of half the interval costs",
    "plan_release quadratic": "a sensitivity of 2 is stated where 1.6 is enough",
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_spends_what_it_promises_and_draws_what_it_says(name: str) -> None:
    case = RELEASES[name]
    data = _data(case.labels, 13)
    told = problems(run(case.release, data), case.epsilon, case.delta)
    assert bool(told) == (name in _OTHERWISE), told
    assert all(x.startswith(("spends", "uses")) for x in told)


def _turned(relation: str, labels: Any) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yield pairs of small data sets whose first records stand at all angles, at the bounds."""
    ends = (None,) if labels is None else labels if isinstance(labels, tuple) else (-labels, labels)
    for angle in np.arange(0.0, 181.0, 15.0):
        turn = np.deg2rad(angle)
        for end in ends:
            X = np.array([[0.5, 0.0], [0.1, -0.2], [-0.3, 0.1], [0.2, 0.2]])
            other = X.copy()
            other[0] = 0.5 * np.cos(turn), 0.5 * np.sin(turn)
            if labels is None:
                yield (X,), ((other,) if relation == "replace_one" else (X[1:],))
                continue
            y = np.resize(np.array(ends), 4)
            z = y.copy()
            z[0] = end
            same = relation == "replace_one"
            yield (X, y), ((other, z) if same else (X[1:], y[1:]))


#: Where the stated sensitivity is attained. The others are bounds: of a minimiser's stability, of
#: squares of correlated frequencies, of gradients that these records do not make so long.
SHARP = {
    "SufficientStatisticsRegressor",
    "SufficientStatisticsRegressor replace_one",
    "NoisyGradientRegressor",
    "PrivateLloyd",
    "PrivateLloyd gaussian replace_one",
    "AdditiveNoiseRegressor",
    "AdditiveNoiseRegressor attenuation",
    "CompressiveKMeans",
    "CompressiveKMeans quantized cube",
    "CompressiveGaussianMixture",
    "CompressivePCA",
    "PrivatePCA",
    "PrivatePCA replace_one",
    "PrivateConstantRegressor",
    "PrivateConstantRegressor add_remove",
    "PrivateConstantClassifier",
    "PrivateConstantClassifier add_remove",
    "PrivateMarginClassifier",
    "plan_release polydisc",
    "plan_release laplace and count",
    "sufficient_statistics",
    "noisy_gradient_descent add_remove",
    "private_lloyd",
    "release_additive",
}
_NO_ARRAY = {  # an event hides no array that noise is added to
    "ObjectivePerturbationClassifier",
    "ObjectivePerturbationClassifier logistic gaussian",
    "PrivateAdditiveClassifier",
    "RandomProjectionRegressor",
    "objective_perturbation",
    "gaussian_prior_draw",
    "release_projection",
    "ProjectedObjectiveClassifier",
    "ProjectedObjectiveClassifier one component",
}
_CASES = {k: v for k, v in (ESTIMATORS | RELEASES).items() if not k.endswith("small alpha")}
_CASES |= {
    f"{name} pair": replace(
        _CASES[name], release=clone(_CASES[name].release).set_params(interactions=((0, 1),), **more)
    )
    for name, more in (
        ("PrivateAdditiveRegressor", {}),
        ("PrivateAdditiveRegressor add_remove", {"indicators": ((0,),)}),
        ("PrivateAdditiveClassifier three classes", {}),
    )
}


def _neighbours(name: str) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    case = _CASES[name]
    options: dict[str, Any] = {"norm": 0.5} | case.options | {"sizes": (33,)}
    pairs = audit.nasty_pairs(2, relation=case.relation, labels=case.labels, **options)
    kept = [p for p in pairs if case.any_label or "foreign" not in p.name]
    yield from (
        (p.data, p.neighbour)
        for p in kept[
            :: {"PrivateLloy": 12, "Compressive": 6}.get(name[:11], 1 if "phased" in name else 3)
        ]
    )
    if case.relation != "replace_entry":
        yield from _turned(case.relation, case.labels)


@pytest.mark.parametrize("name", _CASES)
def test_no_neighbour_moves_what_is_hidden_further_than_was_told(name: str) -> None:
    """At the door of the sampler, on the very array to which the noise is added; and no record of
    the ledger differs between neighbours.

    Kills a row that is not clipped, a scale for the other relation, draws that count records.
    """
    release, largest, refused = _CASES[name].release, 0.0, 0
    for data, neighbour in _neighbours(name):
        try:
            runs = run(release, data), run(release, neighbour)
        except ValueError:  # for the public number of records
            refused += 1
            continue
        assert told_of_data(*runs) == []
        largest = max(largest, moved(*runs))
    assert bool(refused) == name.endswith("phased")
    assert largest <= 1.0 + 1e-9
    assert largest > (0.99 if name in SHARP else -1.0 if name in _NO_ARRAY else 0.1)


@pytest.mark.parametrize("told", [-1.0, -0.4, 0.0, 0.4, 1.0])
def test_weights_after_a_mean_move_no_further_than_was_told(told: float, monkeypatch: Any) -> None:
    """Both parts of the default ridge on waves, at the array to which noise is added: the mean, and
    the weights *whatever mean was told*, together within what the whole budget hides.

    Kills residuals that are not clipped (1.07 of what was told at a mean of 1 or -1), and the bound
    of one part for both.
    """

    def mean(units: Any, unit: float, rng: Any) -> float:
        noisy_mean(units, unit, rng)
        return told

    monkeypatch.setattr(random_features, "noisy_mean", mean)
    release, largest, joint = _CASES["PrivateRandomFeatureRegressor"].release, np.zeros(2), 0.0
    budget = float(gaussian_sigma(epsilon=1.0, delta=1e-5)) ** -1
    for data, neighbour in _neighbours("PrivateRandomFeatureRegressor"):
        runs = [
            [e for e in run(release, side).log if isinstance(e, Hidden)]
            for side in (data, neighbour)
        ]
        gaps = [np.linalg.norm(a.of - b.of) for a, b in zip(*runs, strict=True)]
        draws = [entry.draw for entry in runs[0]]
        assert [draw.purpose for draw in draws] == ["mean of the labels", "coefficients"]
        shares = [g / draw.sensitivity for g, draw in zip(gaps, draws, strict=True)]
        largest = np.maximum(largest, shares)
        joint = max(joint, math.hypot(*(g / d.scale for g, d in zip(gaps, draws, strict=True))))
    assert (largest <= 1.0 + 1e-9).all()
    assert largest[0] > 0.99
    assert largest[1] > (0.3 if abs(told) == 1.0 else 0.5)
    assert 0.5 * budget < joint <= budget * (1.0 + 1e-9)


# --- the same budget, by other ways -------------------------------------------------------------


def _kernel(X: Any, Z: Any) -> Any:
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(-1))


def _oracle(kind: Any, **options: Any) -> Any:
    rng = stream(0, "ledger", "noise")
    return kind(
        _kernel, [[0.1], [0.7]], [0.5, 0.2], sensitivity=0.3, epsilon=0.8, rng=rng, **options
    )


@pytest.mark.parametrize(
    "parts", [[[0, 1, 2, 3, 4]], [[0], [1], [2], [3], [4]], [[0, 1], [1, 2, 3], [4]]]
)
def test_questions_one_by_one_cost_what_they_cost_at_once(parts: list[list[int]]) -> None:
    """Kills a question with the noise of those that remain: five of them would spend 2.27 of 1."""
    points = np.linspace(0.0, 1.0, 5)[:, None]
    with ledger() as book:
        oracle = _oracle(QueryOracle, n_queries=5)
        for part in parts:
            oracle.answer(points[part])
    assert book.epsilon() == pytest.approx(0.8, rel=1e-12)
    with ledger() as book:
        oracle = _oracle(GaussianProcessOracle, delta=1e-6)
        for part in parts:
            oracle.answer(points[part])
    assert book.epsilon(delta=1e-6) == pytest.approx(0.8, rel=1e-4)
    assert len(book) == len(parts)


def test_a_refit_is_a_second_release_and_a_loaded_model_is_none() -> None:
    model = regressors.SufficientStatisticsRegressor(**_NORM, **BOX)
    data = _data(0.5)
    with ledger() as book:
        model.fit(*data)
        once = book.epsilon(delta=1e-5)
        model.fit(*data)
    assert len(book) == 4
    assert once == pytest.approx(1.0, rel=1e-4)
    assert 1.3 < book.epsilon(delta=1e-5) < 2.0
    with ledger() as book:
        pickle.loads(pickle.dumps(model)).predict(data[0])
    assert len(book) == 0
    with pytest.raises(LedgerError, match="no draw of noise was heard"):
        book.epsilon()


def test_a_ledger_that_heard_nothing_does_not_say_that_nothing_was_spent() -> None:
    """A fit before it was opened, in a worker process, or numbers that hide nothing.

    Kills the answer 0.0, which is what a cross-validation with workers got.
    """
    with ledger() as book:
        pass
    with ledger() as shuffled:
        shuffled.drawn(Draw("secret", "order of the records", 1.0), None)
    for silent in (book, shuffled):
        with pytest.raises(LedgerError, match="threads and processes are not heard"):
            silent.epsilon(delta=1e-5)
        with pytest.raises(LedgerError, match="threads and processes are not heard"):
            silent.delta(epsilon=1.0)
    assert "no draw of noise was heard" in book.table()


def test_a_draw_in_another_thread_is_missed_aloud() -> None:
    """Unless that thread has a ledger of its own. Kills an epsilon of the half that was heard."""
    given: dict[str, Any] = {"sensitivity": 0.5, "epsilon": 0.25}

    def release(own: bool) -> float:
        rng = stream(0, "ledger", "noise")
        if not own:
            gamma.gamma_release([1.0], rng=rng, **given)
            return 0.0
        with ledger() as mine:
            gamma.gamma_release([1.0], rng=rng, **given)
        return mine.epsilon()

    with ledger() as book, ThreadPoolExecutor(1) as pool:
        release(own=False)
        assert pool.submit(release, True).result() == 0.25
        assert book.epsilon() == 0.25
        pool.submit(release, False).result()
        assert book.unheard == 1
        with pytest.raises(LedgerError, match="1 draw was made in other threads"):
            book.epsilon()
    assert "1 draw was made in other threads" in book.table()
    release(own=False)
    assert book.unheard == 1  # it is closed


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0, 1e3, 1e4])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-15])
def test_gaussian_draws_are_one_draw_at_every_budget(epsilon: float, delta: float) -> None:
    """A hundred unlike draws whose squares add up to those of one calibrated draw.

    Without a grid, whose cells at 1e4 were more than memory holds (at 1e3 4.5 GB), and whose
    rounding added 1 % at a delta of 1e-15. The peak of this process' own memory is watched.
    """
    whole = 1.0 / gaussian_sigma(epsilon=epsilon, delta=delta)
    shares = stream(0, "ledger-shares", "data").dirichlet(np.full(100, 0.5))
    tracemalloc.start()
    with ledger() as book:
        for share in shares:
            book.drawn(Draw("gaussian", "a part", 1.0, whole * math.sqrt(share)), None)
        assert book.epsilon(delta=delta) == pytest.approx(epsilon, rel=1e-9)
        assert book.delta(epsilon=epsilon) == pytest.approx(delta, rel=1e-6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26


def test_delta_at_an_epsilon_of_zero_and_far_out() -> None:
    """Against this package's own profile, which shares no line with dp-accounting's."""
    for sensitivity in (1e-6, 0.3, 4.0):
        with ledger() as book:
            book.drawn(Draw("gaussian", "a sum", 1.0, sensitivity), None)
        for epsilon in (0.0, 1e-3, 1.0, 50.0):
            exact = gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=sensitivity)
            told = book.delta(epsilon=epsilon)
            assert told == pytest.approx(exact, rel=1e-5) or max(told, exact) < 1e-290


_FLAT = SketchMap("fourier", np.array([[1.0, 2.0, -3.0], [0.5, -1.0, 4.0]]))


@pytest.mark.parametrize("n_shares", [1, 3])
def test_sketches_that_are_merged_cost_what_one_costs(n_shares: int) -> None:
    """Parts hold different records: a share each, or all of the noise each."""
    plan = plan_release(_FLAT, epsilon=0.7, split=0.6, n_shares=n_shares)
    parts = np.array_split(_data(None)[0], 3)
    with ledger() as book:
        if n_shares > 1:
            sketch_parts(parts, _FLAT, plan=plan, rng=stream(0, "ledger", "noise"))
        else:
            merge_all([plan.apply(sketch(parts[0], _FLAT), rng=stream(0, "ledger", "noise"))])
    sums = [draw for draw in book if draw.purpose == "sum of features"]
    assert len(sums) == n_shares
    assert all(s.sensitivity / s.scale == pytest.approx(0.42) for s in sums)
    if n_shares == 1:
        assert book.epsilon() == pytest.approx(0.7, rel=1e-12)


def test_a_sketch_of_persons_is_told_as_one() -> None:
    """At the sensitivity of a record, as a mean moves no further."""
    X, whose = _data(None)[0], np.arange(len(_data(None)[0])) // 3
    plan = plan_release(_FLAT, epsilon=0.7, split=0.6)
    with ledger() as book:
        for exact in (sketch(X, _FLAT), sketch_persons(X, whose, _FLAT)):
            plan.apply(exact, rng=stream(0, "ledger-persons", "noise"))
    assert [draw.purpose for draw in book] == [
        "sum of features",
        "count of the records",
        "sum of persons' mean features",
        "count of the persons",
    ]
    assert len({draw.sensitivity / draw.scale for draw in list(book)[::2]}) == 1
    assert book.epsilon() == pytest.approx(1.4, rel=1e-12)


def test_secret_masks_are_told_before_their_noise() -> None:
    """They hide nothing and cost nothing, and without them the sum has no amplification."""
    rngs = {"mask_rng": stream(0, "ledger", "public"), "rng": stream(0, "ledger", "noise")}
    with ledger() as book:
        noisy_subsampled_sum(
            np.ones((3, 4)), mask_law("uniform", 4, n_kept=2), noise="laplace", scale=1.0, **rngs
        )
    assert [draw.mechanism for draw in book] == ["secret", "laplace"]
    assert book.draws[0].shape == (3, 4)
    assert book.rows()[0]["sensitivity"] == "hides nothing"


def test_choices_and_their_pure_losses() -> None:
    rng = stream(0, "ledger", "noise")
    scores = np.array([3.0, 1.0, 2.0])
    with ledger() as book:
        exponential_mechanism(scores, epsilon=0.25, sensitivity=2.0, rng=rng)
        report_noisy_min(scores, epsilon=0.25, sensitivity=2.0, rng=rng)
        report_noisy_min(scores, epsilon=0.25, sensitivity=2.0, monotone=True, rng=rng)
        report_noisy_min(iter(scores), epsilon=0.25, sensitivity=2.0, rng=rng)
    assert book.epsilon() == 1.0
    assert book.delta(epsilon=1.0) == 0.0
    assert book.delta(epsilon=0.999) == 1.0
    assert [draw.mechanism for draw in book][2:] == ["monotone_noisy_max", "noisy_max"]


def test_descents_state_their_own_level() -> None:
    """Each of several draws is a release of its own; one with replacement has no simple bound."""
    X, y = _data(_SIGNS)
    options: dict[str, Any] = {"margin": 0.1, "radius": 1.0, "data_norm": 0.5}
    options["rng"] = stream(0, "ledger", "noise")
    for draws in (1, 4):
        together = gaussian_delta(epsilon=1.0, sigma=1.0, sensitivity=0.5 * math.sqrt(draws))
        for learn, told in ((full_batch, {"n_steps": 5}), (phased, {"replacement": False})):
            with ledger() as book:
                learn(X, y, mu=0.5, n_draws=draws, **told, **options)
            assert book.delta(epsilon=1.0) == pytest.approx(together, rel=1e-3)
    with ledger() as book:
        boosted(X, y, epsilon=1.0, delta=1e-6, accounting="mixture", **options)
    with pytest.raises(LedgerError, match="must state its sensitivity"):
        book.epsilon(delta=1e-6)


def test_a_projection_states_the_mean_over_the_lengths_of_its_columns() -> None:
    """By another route: the exact Gaussian delta, averaged over lengths by quadrature."""
    X, y = _data(0.5)
    model = RandomProjectionRegressor(epsilon=0.02, n_components=5, **BOX)
    with ledger() as book:
        model.fit(X, y)

    def delta(length: float) -> float:
        size = 2.0 * length
        return float(
            gaussian_delta(epsilon=model.entry_epsilon_, sigma=model.sigma_, sensitivity=size)
        ) * stats.chi.pdf(length, 5)

    mean = integrate.quad(delta, 1e-3, 12.0, epsabs=1e-13, limit=200)[0]
    assert mean == pytest.approx(1e-5, rel=1e-3)
    assert book.epsilon(delta=1e-5) == model.entry_epsilon_


# --- the ledger itself --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_a_record_holds_no_private_value(name: str) -> None:
    """No array, not even in the closure of what an event states."""
    with ledger() as book:
        CLASSES[name](**SETTINGS[name][0]).fit(*_data(_labels(name)))
    assert len(book) > 0
    for draw in book:
        held = [getattr(draw, f.name) for f in fields(draw)]
        if draw.stated is not None:
            held += [cell.cell_contents for cell in draw.stated.__closure__ or ()]
        assert not any(isinstance(value, (np.ndarray, np.random.Generator)) for value in held)


def test_the_table_says_that_no_number_depends_on_a_record() -> None:
    X, y = _data(0.5)
    with ledger() as book:
        regressors.SufficientStatisticsRegressor(**_NORM, **BOX).fit(X, y)
    lines = book.table().splitlines()
    assert lines[0].split()[:3] == ["draw", "hides", "sensitivity"]
    assert lines[-1] == "No number here depends on a record."
    assert len(lines) == 4


def test_a_sum_of_features_whose_sensitivity_nobody_stated_has_no_bound() -> None:
    with ledger() as book:
        noisy_sum(np.ones((5, 3)), noise="laplace", scale=1.0, rng=stream(0, "ledger", "noise"))
    assert "not stated" in book.table()
    with pytest.raises(LedgerError, match=r"draw 1 \(a vector\) must state its sensitivity"):
        book.epsilon()


def test_steps_that_are_missing_are_refused() -> None:
    book = audit.Ledger()
    book.drawn(Draw("gaussian", "a sum", 1.0, sensitivity=1.0, steps=3), None)
    book.stepped(None, None)
    with pytest.raises(LedgerError, match="must have 3 steps, got 1"):
        book.delta(epsilon=1.0)
    other = audit.Ledger()
    other.stepped(None, None)
    with pytest.raises(LedgerError, match="a step of no draw"):
        other.epsilon()
    silent = audit.Ledger()
    silent.drawn(Draw("gaussian", "a sum", 0.0, sensitivity=1.0), None)
    with pytest.raises(LedgerError, match="positive scale"):
        silent.epsilon()


def test_joint_parallel_and_secret_draws() -> None:
    mark = object()
    book = audit.Ledger()
    for sensitivity in (0.1, 0.3, 0.2):
        book.drawn(Draw("laplace", "a part", 1.0, sensitivity, parallel=mark), None)
    assert book.epsilon() == pytest.approx(0.3)
    book.drawn(Draw("laplace", "a part", 1.0, 0.2, parallel=object()), None)
    book.drawn(Draw("secret", "an order", 1.0), None)
    assert book.epsilon() == pytest.approx(0.5)
    book.drawn(Draw("gaussian", "one", 1.0, 1.0), None)
    book.drawn(Draw("gaussian", "two", 1.0, 1.0, joint=1.0), None)
    assert book.epsilon() == math.inf
    alone = gaussian_delta(epsilon=0.5, sigma=1.0, sensitivity=1.0)
    assert book.delta(epsilon=1.0) == pytest.approx(alone, rel=1e-3)
    book.drawn(Draw("event", "else", 1.0, stated=lambda delta: -math.log10(delta)), None)
    with pytest.raises(LedgerError, match="events"):
        book.delta(epsilon=1.0)
    assert book.epsilon(delta=2e-3) > 3.5


def test_ledgers_open_inside_each_other_and_watch_private_values() -> None:
    seen: list[Any] = []
    given: dict[str, Any] = {"sensitivity": 0.5, "epsilon": 0.25}
    given["rng"] = stream(0, "ledger", "noise")
    with ledger() as outer, ledger(lambda draw, of, added: seen.append(of)) as inner:
        gamma.gamma_release([1.0, 2.0], **given)
    gamma.gamma_release([1.0, 2.0], **given)
    assert len(outer) == len(inner) == 1
    np.testing.assert_array_equal(seen[0], [1.0, 2.0])
    assert outer.epsilon() == inner.epsilon() == 0.25


# --- planted faults: each is reported -----------------------------------------------------------


def _told(name: str, settings: dict[str, Any] | None = None) -> list[str]:
    base = SETTINGS[name][0] | (settings or {})
    found = run(CLASSES[name](**base), _data(_labels(name)))
    return problems(found, *_promised(found.result))


def test_a_budget_that_is_not_divided_among_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = margin_plans.plan_learning

    def whole(shape: Any, balls: Any, **options: Any) -> Any:
        alone = [plain(shape, [ball], **options) for ball in balls]
        descents = tuple(each.descents[0] for each in alone)
        return replace(alone[0], balls=tuple(balls), descents=descents)

    monkeypatch.setattr(estimators, "plan_learning", whole)
    told = _told("PrivateMarginClassifier", {"margin": "private"})
    assert any(x.startswith("spends") for x in told)


def test_noise_that_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[np.ndarray] = []
    plain = values.independent

    def once(law: Any, count: int, scale: Any, draw: Any) -> Any:
        if not kept:
            kept.append(draw(20))
        return plain(law, count, scale, lambda n: np.resize(kept[0], n))

    monkeypatch.setattr(values, "independent", once)
    assert any(
        "numbers were told, 0 were drawn" in x for x in _told("SufficientStatisticsRegressor")
    )


@pytest.mark.parametrize("name", ["PrivateLloyd", "CompressiveKMeans"])
def test_a_scale_for_the_other_relation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records come from the fit's own relation, the noise from the other one."""
    where, function = {
        "PrivateLloyd": (lloyd, "lloyd_noise"),
        "CompressiveKMeans": (plans, "laplace_scale"),
    }[name]
    plain = getattr(where, function)

    def other(*args: Any, **options: Any) -> Any:
        if function == "lloyd_noise":
            return plain(*args, **options | {"neighboring": "add_remove"})
        return plain(**options) / 2.0

    monkeypatch.setattr(where, function, other)
    assert any(x.startswith("spends 2 of 1") for x in _told(name, _TWO[1]))


@pytest.mark.parametrize("name", ["SufficientStatisticsRegressor", "NoisyGradientRegressor"])
def test_a_variance_in_the_place_of_a_deviation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = values.independent

    def loud(law: Any, count: int, scale: Any, draw: Any) -> Any:
        return plain(law, count, scale * scale / 2**25, draw)

    monkeypatch.setattr(values, "independent", loud)
    assert any("the noise has not the scale" in x for x in _told(name))


def test_a_draw_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = values.independent
    same = np.full(100, 1 << 60, np.uint64)
    monkeypatch.setattr(
        values, "independent", lambda law, n, scale, _: plain(law, n, scale, lambda n: same[:n])
    )
    assert any("numbers were told, 0 were drawn" in x for x in _told("PrivateLloyd"))


def test_draws_whose_number_the_records_decide() -> None:
    def release(data: Any, rng: Any) -> Any:
        return noisy_sum(data[0][data[0] > 0.0][None], noise="laplace", scale=1.0, rng=rng)

    X = np.array([[0.5], [0.2], [-0.1]])
    other = np.array([[-0.5], [0.2], [-0.1]])
    told = told_of_data(run(release, (X,)), run(release, (other,)))
    assert told == ["the records differ between neighbours", "the draws differ between neighbours"]


def test_a_delta_that_is_spent_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two halves of epsilon, each at the whole delta."""
    plain = gaussian.gaussian_sigma

    def half(*, epsilon: float, delta: float, sensitivity: float) -> float:
        return float(plain(epsilon=epsilon / 2.0, delta=delta, sensitivity=sensitivity))

    def release(data: Any, rng: Any) -> Any:
        options: dict[str, Any] = {
            "epsilon": 1.0,
            "delta": 1e-5,
            "data_norm": 0.5,
            "label_bound": 0.5,
            "rng": rng,
        }
        with monkeypatch.context() as patch:
            patch.setattr(moments, "gaussian_sigma", half)
            return [moments.sufficient_statistics(*data, **options) for _ in range(5)]

    assert any(x.startswith("spends") for x in problems(run(release, _data(0.5)), 1.0, 1e-5))


def test_a_row_that_is_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        moments, "grid_rows", lambda rows, r: (np.rint(rows / r * 2.0**16), r / 2.0**16)
    )
    release = RELEASES["sufficient_statistics"].release
    X, y = _data(0.5)
    far = X.copy()
    far[0] = 3.0
    assert moved(run(release, (X, y)), run(release, (far, y))) > 2.0


def test_a_draw_that_the_ledger_did_not_hear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gibbs, "record_draw", lambda *args, **facts: None)
    told = problems(run(RELEASES["gaussian_prior_draw"].release, _data(_SIGNS, 7)), 1.0, 0.0)
    assert "standard_normal was drawn before the ledger heard of it" in told


def test_noise_from_the_public_stream() -> None:
    def release(data: Any, rng: Any) -> Any:
        public = rng.spawn(2)[0]
        return gamma.gamma_release([1.0], sensitivity=0.5, epsilon=0.5, rng=public)

    found = run(release, ())._replace(noise="root.1")
    assert "weights: the noise comes from another stream" in problems(found, 0.5, 0.0)


@pytest.mark.parametrize("solver", ["noisy_gradient", "accelerated"])
def test_planted_half_noise_of_a_margin_descent(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise that is added is not the one that was told."""
    plain = values.record_draw

    def boast(*args: Any, **facts: Any) -> Any:
        return plain(*args, **facts | {"scale": 2.0 * facts["scale"]})

    monkeypatch.setattr(values, "record_draw", boast)
    told = _told("PrivateMarginClassifier", {"solver": solver})
    assert any("the noise has not the scale" in x for x in told)


@pytest.mark.parametrize("solver", ["noisy_gradient", "phased", "accelerated"])
def test_a_plan_with_half_the_noise(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told is what is added, and too little: the plan is wrong, and followed."""

    def halved(plan: Any) -> Any:
        if hasattr(plan, "phases"):
            phases = replace(plan.phases, sigmas=tuple(s / 2 for s in plan.phases.sigmas))
            return replace(plan, phases=phases)
        return replace(plan, sigma=plan.sigma / 2.0)

    plain = margin_plans.plan_learning

    def quiet(*args: Any, **options: Any) -> Any:
        plan = plain(*args, **options)
        return replace(plan, descents=tuple(map(halved, plan.descents)))

    monkeypatch.setattr(estimators, "plan_learning", quiet)
    told = _told("PrivateMarginClassifier", {"solver": solver})
    assert any(x.startswith("spends") for x in told)
