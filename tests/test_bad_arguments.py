"""Every argument of the shared functions against values that are none: a clear error, by name."""

from __future__ import annotations

import inspect
import math
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dplit import accounting, audit, features, mechanisms
from dplit._predictors import nearest_center
from dplit.clusters import lloyd
from dplit.components import PrivatePCA
from dplit.linear import _descent as descent
from dplit.linear import _moments as moments
from dplit.linear import objective
from dplit.linear.objective_classifier import objective_penalty
from tests.arguments import good_arguments, keeps_imaginary_part

MODULES = (mechanisms, accounting, audit, features)
#: Functions of learners, beside all that the faces of the modules give.
LEARNERS = (
    descent.noisy_gradient_descent,
    descent.squared_loss_derivative,
    lloyd.lloyd_noise,
    lloyd.private_lloyd,
    lloyd.spread_centers,
    moments.moment_sensitivity,
    moments.sufficient_statistics,
    nearest_center,
    objective.loss_slopes,
    objective.objective_noise,
    objective.objective_perturbation,
    objective.smallest_regularization,
    objective_penalty,
)
RNG = np.random.default_rng(0)
X, Y = np.full((4, 2), 0.25), np.array([0.5, -0.5, 0.5, -0.5])
W = np.ones((2, 3))
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
HITS = {"hits_in": 5, "hits_out": 2, "runs": 10}
SAMPLED = {"sigma": 2.0, "sensitivity": 1.0, "sampling_rate": 0.5, "steps": 2}

#: One good value for each argument, by function or for all of them.
GOOD: dict[str, Any] = {
    **BUDGET,
    **SAMPLED,
    **HITS,
    "rng": RNG,
    "confidence": 0.9,
    "neighboring": "add_remove",
    "direction": "both",
    "scores": [1.0, 2.0],
    "sensitivities": [1.0, 2.0],
    "better": "higher",
    "beta": 0.1,
    "monotone": False,
    "complex": False,
    "normalize": True,
    "scale": 1.0,
    "rate": 1.0,
    "shape": 3,
    "dimension": 3,
    "size": 2,
    "mu": 1.0,
    "rho": 0.5,
    "mus": [1.0],
    "rhos": [1.0],
    "release": lambda data, rng: 0.0,
    "event": lambda value: False,
    "data": 0,
    "neighbour": 1,
    "residuals": [0.1, -0.2, 0.3],
    "successes": 2,
    "trials": 5,
    "correct": 2,
    "guesses": 2,
    "canaries": 4,
    "included": [True, False],
    "planted": 0.5,
    "audit": lambda factor: factor < 1,
    "X": X,
    "y": Y,
    "Y": X,
    "frequencies": W,
    "phases": np.zeros(3),
    "kind": "cos_sin",
    "n_jobs": 1,
    "array": X,
    "n_features": 2,
    "n_components": 4,
    "gamma": 1.0,
    "n_iter": 2,
    "noise": "laplace",
    "data_norm": 1.0,
    "label_bound": 1.0,
    "centers": X,
    "clip": 1.0,
    "learning_rate": 0.1,
    "jacobian": 1.0,
    "regularization": 1.0,
    "smoothing": 0.5,
    "radius": 1.0,
    "loss": "huber",
    "start": X[:2],
    "bounds": (-1.0, 1.0),
    "n_clusters": 2,
    "n_records": 20,
    "public_size": 4,
    "alpha": 1.0,
    "claimed": 1.0,
    "restarts": 1,
    "norm": 2,
    "query": lambda records: records.sum(axis=0),
    "draw": lambda n, rng: rng.uniform(size=(n, 1)),
}
PAIRS = [audit.NeighbourPair("two", "add_remove", (X[:2],), (X[:1],))]
FOR_ONE = {
    "float_sensitivity": {"total": lambda records: records.sum(axis=0), "pairs": PAIRS},
    "nasty_pairs": {"relation": "add_remove", "labels": 1.0, "norm": 1.0, "sizes": (9,)},
    "container_pairs": {"relation": "add_remove", "labels": 1.0, "norm": 1.0},
    "replay": {
        "estimator": PrivatePCA(1, data_norm=1.0, random_state=0),
        "data": (X,),
        "other": (X,),
    },
    "side_channels": {
        "release": lambda data, rng: 0.0,
        "pairs": PAIRS,
        "noised": (),
        "pilot": 2,
        "runs": 2,
        "bound": 1.0,
    },
    "gamma_noise_test": {"shape": 1.0},
    "lloyd_noise": {"delta": 0.0},
    "private_lloyd": {"delta": 0.0},
    "objective_perturbation": {"y": np.sign(Y), "loss": "logistic"},
    "smallest_regularization": {"loss": "logistic"},
    "objective_penalty": {"loss": "logistic"},
    "squared_loss_derivative": {"scores": Y},
    "feature_gram": {"phases": None},
    "loss_slopes": {"margins": Y, "loss": "logistic", "h": 0.5},
    "hadamard_projection": {"n_components": 2},
    "objective_noise": {"jacobian": 0.5},
}
BAD: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "minus": -1.0,
    "minus one": -1,
    "text": "no",
    "none": None,
    "bool": True,
    "huge": 10**400,
    "array of nan": np.array([1.0, math.nan]),
    "empty": [],
    "object": object(),
    "mapping": {"a": 1},
}


#: What is good for an argument although it is bad for most others.
ALSO_GOOD: dict[str, set[str]] = {
    **{name: {"none"} for name in ("size", "Y", "phases", "gamma", "radius", "alpha")},
    **{name: {"bool"} for name in ("complex", "monotone", "normalize")},
    "mus": {"empty"},
    "rhos": {"empty"},
    "data": set(BAD),
    "neighbour": set(BAD),
    "residuals": {"minus", "minus one", "bool", "huge"},
    "array": set(BAD),
    "public_size": {"none"},
    "rng": {
        "none"
    },  # the operating system, where there is exact noise; else refused by its own test
    "n_jobs": {"none", "minus one"},
    "bound": {"inf"},
}
#: Errors of NumPy or of joblib, which do not name the argument, or no error: inner functions that
#: check nothing, and flags that take whatever counts as true.
UNCHECKED = {
    *(
        (name, argument)
        for name in ("nearest_center", "squared_loss_derivative")
        for argument in ("X", "centers", "scores", "y")
    ),
    *((name, "normalize") for name in features.__all__),
    *((n, "n_jobs") for n in features.__all__),
    *(("loss_slopes", argument) for argument in ("margins", "loss", "h")),
    ("nasty_pairs", "labels"),
    ("nasty_pairs", "sizes"),
    ("container_pairs", "labels"),
    ("side_channels", "noised"),
    ("objective_noise", "epsilon"),
    ("objective_noise", "jacobian"),
    *((name, "delta") for name in ("lloyd_noise", "private_lloyd")),
    *(
        (name, "delta")
        for name in ("objective_perturbation", "objective_noise", "objective_penalty")
    ),
}


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in MODULES:
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield name, getattr(module, name)


FUNCTIONS = dict(functions()) | {function.__name__: function for function in LEARNERS}


def hang(*_: Any) -> None:
    raise RuntimeError("the call hangs")


@pytest.fixture
def half_a_minute() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("half_a_minute")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_bad_argument_is_an_error_that_names_it(name: str) -> None:
    """Every argument takes every bad value: 3,300 calls.

    Kills OverflowError of 10**400, AttributeError of a wrong object, a text that counts as True,
    an integer that never ends, and messages without the argument.
    """
    if name.startswith("composed") or name == "gaussian_event":
        pytest.importorskip("dp_accounting")
    good = good_arguments(FUNCTIONS[name], {**GOOD, **FOR_ONE.get(name, {})})
    FUNCTIONS[name](**good)
    for argument in good:
        keeps_imaginary_part(FUNCTIONS[name], good, argument)
        for kind, value in BAD.items():
            if (name, argument, kind) == ("float_sensitivity", "norm", "inf"):
                continue
            if kind in ALSO_GOOD.get(argument, ()) or (name, argument) in UNCHECKED:
                continue
            with pytest.raises((TypeError, ValueError)) as caught:
                FUNCTIONS[name](**{**good, argument: value})
            assert argument in str(caught.value), (argument, kind)


def test_bad_values_in_the_budget_never_pass_as_numbers_of_another_type() -> None:
    """Integers beyond 4,300 digits, whose text Python refuses to form; complex numbers; bytes."""
    for value in (10**5000, -(10**5000), complex(1, 1), np.complex128(1), b"1"):
        with pytest.raises((TypeError, ValueError), match="epsilon must"):
            mechanisms.laplace_scale(epsilon=value)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dimension must be"):
        mechanisms.cube_noise(10**5000, rate=1.0, rng=RNG)
    with pytest.raises(ValueError, match="dimension must be"):
        mechanisms.cube_noise(-(10**5000), rate=1.0, rng=RNG)
