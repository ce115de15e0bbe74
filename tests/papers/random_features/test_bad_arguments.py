"""Every argument of every public function of the room against values that are none: an error, by
its name and its rule."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from dplit.advice import kernels
from dplit.kernels import ridge_sensitivity
from dplit.papers.random_features import counterexamples
from dplit.streams import stream
from tests.arguments import each_is_named, good_arguments, modules_of

FUNCTIONS = {
    name: function
    for module in (*modules_of("dplit.papers.random_features"), ridge_sensitivity)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
} | {"recommend": kernels.recommend}

RNG = stream(0, "rf-bad", "data")
F, Y = RNG.standard_normal((3, 4)), RNG.standard_normal(3)

#: One good value for each argument, by function or for all of them.
GOOD: dict[str, Any] = {
    "released": np.ones(4) * 1j,
    "features": F,
    "gram": F @ F.T,
    "y": Y,
    "record": 1,
    "sigma": 1.0,
    "epsilon": 1.0,
    "delta": 1e-5,
    "n_runs": 2,
    "confidence": 0.9,
    "seed": 0,
    "name": "bad",
    "X": F,
    "centers": F,
    "weights": Y,
    "gamma": 0.5,
    "frequencies": F.T,
    "multiplier": Y,
    "threshold": 1.0,
    "n_components": 20,
    "n_samples": 10,
    "norm": 1.0,
    "failure": 0.05,
    "eta": 0.375,
    "moments": np.eye(4),
    "eigenvalues": ([1.0, 2.0], [1.0], [2.0]),
    "sizes": (2, 1, 1),
    "rng": RNG,
    "draws": 3,
    "residuals": Y,
    "groups": [0, 0, 1],
    "a": Y,
    "b": Y,
    "n1": 4,
    "n2": 5,
    "noise_sd": 1.0,
    "alpha": 1.0,
    "rows": [0, 2],
    "ratio": 0.5,
    "coef": Y,
    "label_bound": 1.0,
    "calibration": "analytic",
    "n_records": 3,
    "label_norm": 1.0,
    "neighboring": "add_remove",
    "label_change": 1.0,
    "row_norm": 1.0,
    "scaled_distance": 0.1,
    "target_delta": 0.5,
    "h": 0.1,
    "method": "pinv",
    "version": "printed",
    "components": "2m",
    "n": 100,
    "d": 2,
    "fill": 1.0,
    "shape": "smooth",
    "sensitivity": 4.0,
    "scale": 1.0,
    "as_printed": True,
}
FOR_ONE: dict[str, dict[str, Any]] = {
    "measure_pair": {
        "pair": counterexamples.near_duplicate_pair(0.1),
        "feature_map": lambda X: np.hstack([np.cos(X), X]),
    },
    "gram_spectrum": {"gram": None},
}

NUMBER = [(math.nan, "not be NaN"), ("1", "be a real number")]
POSITIVE = [(0.0, "be positive"), (-1.0, "be positive"), (math.inf, "be positive"), *NUMBER]
INSIDE = [(0.0, r"be in \(0, "), (1.0, r"be in \(0, "), *NUMBER]
NONNEGATIVE = [(-1.0, "be nonnegative"), *NUMBER]
COUNT = [(0, "be at least"), (2.5, "be an integer")]
ONE_OF = [("other", "be one of")]

#: What is refused, and the rule that is told, by argument.
BAD: dict[str, list[tuple[Any, str]]] = {
    **dict.fromkeys(
        ("epsilon", "gamma", "threshold", "alpha", "label_bound", "label_norm"), POSITIVE
    ),
    **dict.fromkeys(("label_change", "row_norm", "scaled_distance", "h", "scale"), POSITIVE),
    "sigma": NONNEGATIVE,
    "norm": NONNEGATIVE,
    **dict.fromkeys(("delta", "failure"), INSIDE),
    "eta": [(value, r"be in \(0, 0.5\)") for value in (0.0, 0.5)] + NUMBER,
    **dict.fromkeys(
        ("n_components", "n_samples", "n_runs", "n1", "n2", "n_records", "n", "d"), COUNT
    ),
    "record": [(-1, "be at least 0"), (3, "be below 3"), (0.5, "be an integer")],
    **dict.fromkeys(
        ("version", "calibration", "neighboring", "method", "components", "shape"), ONE_OF
    ),
    "rng": [(0, "be a numpy.random.Generator")],
    **{
        key: [([math.nan], "be finite"), (["a"], "be numeric"), ([], "not be empty")]
        for key in ("coef", "residuals", "a", "b", "multiplier", "released")
    },
    "features": [([[math.nan] * 4] * 3, "be finite"), (Y, "have 2 axes"), ([["a"]], "be numeric")],
    "y": [([math.nan] * 3, "be finite"), ([[1.0]], "have 1 axes")],
    "gram": [(np.ones((2, 3)), ""), ([[math.nan]], "be finite")],
    "frequencies": [([[math.nan]], "be finite")],
    "centers": [([[math.nan] * 4] * 3, "be finite")],
    "weights": [([math.nan] * 3, "be finite")],
    "draws": COUNT,
    "sensitivity": POSITIVE,
    "target_delta": INSIDE,
    "as_printed": [("no", "be True or False")],
}
BAD_FOR_ONE: dict[tuple[str, str], list[tuple[Any, str]]] = {
    ("membership_audit", "delta"): [(1.0, r"be in \[0, 1\)"), *NUMBER],
    ("near_duplicate_threshold", "epsilon"): NONNEGATIVE,
    ("near_duplicate_profile", "scaled_distance"): POSITIVE[:2],
    ("private_excess_bound", "sigma"): POSITIVE,
    ("truncation_threshold", "norm"): POSITIVE,
    ("gram_spectrum", "gram"): [],
    ("recommend", "fill"): [*POSITIVE, (1.5, "be in")],
}

#: What is refused beside other arguments, and what is told.
TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    ("theorem10_bound", {"n_components": 9}, "n_components must be at least n_samples"),
    *((f"theorem1{k}_bound", {"failure": 0.2}, "failure") for k in (0, 2)),
    ("private_excess_bound", {"moments": [[1.0, 2.0]]}, "square"),
    ("rkhs_function", {"weights": [1.0, 2.0]}, "weights must have 3 entries"),
    ("rkhs_function", {"X": [[0.0, 1.0]]}, "X must have 4 columns"),
    ("rkhs_multiplier", {"frequencies": [[0.0]]}, "frequencies must have 4 rows"),
    ("recover_labels", {"released": [1j, 0, 0]}, "features must have 3 columns"),
    ("recommend", {"delta": 0.5}, "delta must be in"),
    ("estimator_floor", {"sizes": (2, 0, 1)}, "sizes must be at least 1"),
    ("membership_audit", {"gram": F @ F.T + 0j}, "gram must be real"),
    ("membership_audit", {"y": Y + 0j}, "y must be real"),
    ("excess_risk_gap_exact", {"groups": [0, 1]}, "one entry per row"),
    ("error_gaps", {"groups": [0]}, "one entry per residual"),
    ("error_gaps", {"groups": [0, 0, 0]}, "contains two groups"),
    ("error_gaps", {"noise_sd": -1.0}, "noise_sd must be nonnegative"),
    ("published_gap_estimates", {"eigenvalues": ([1.0],), "sizes": (1,)}, "at least 2"),
    ("min_norm_fit", {"features": np.empty((0, 3)), "y": []}, "features must not be empty"),
    ("min_norm_fit", {"features": [[1.0, math.inf]]}, "features must be finite"),
    ("min_norm_fit", {"y": [1.0, 2.0]}, "one label per record"),
    ("min_norm_fit", {"features": [[1.0], [2.0]], "y": [1.0, 2.0]}, r"N >= m.*\(2, 1\)"),
    ("kaczmarz", {"rows": [0.5]}, "rows must be a vector of integers"),
    ("kaczmarz", {"rows": [3]}, r"rows must be in \[0, 3\)"),
    ("kaczmarz", {"gram": np.zeros((3, 3))}, "positive diagonal"),
    ("kaczmarz", {"gram": F}, "gram must be square"),
    ("gram_spectrum", {"features": None}, "exactly one"),
    ("gram_spectrum", {"gram": [[1.0]]}, "exactly one"),
    ("gram_spectrum", {"features": None, "gram": [[1.0, 2.0]]}, "square"),
    ("marchenko_pastur_edges", {"ratio": 1.5}, "ratio"),
    ("release_coefficients", {"coef": [[1.0]]}, "coef must have 1"),
    ("removal_sensitivities", {"gram": np.ones((2, 2)), "y": [1.0, 1.0]}, "invertible"),
    ("removal_sensitivities", {"y": [1.0]}, "one label per record"),
    ("label_sensitivities", {"gram": np.ones((2, 3))}, "square"),
    ("forced_label_pair", {"h": 0.6}, "h must be at most 0.5"),
    ("membership_audit", {"gram": np.eye(2)}, "gram must have shape"),
]


def right_call(name: str) -> dict[str, Any]:
    return good_arguments(FUNCTIONS[name], {**GOOD, **FOR_ONE.get(name, {})})


def bad_values(name: str, argument: str) -> list[tuple[Any, str]]:
    return BAD_FOR_ONE.get((name, argument), BAD.get(argument, []))


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, key) for name in FUNCTIONS for key in right_call(name) if bad_values(name, key)],
)
def test_a_bad_argument_is_an_error_that_names_it(name, argument):
    """Kills every check that is dropped, and a message without the argument or its rule."""
    each_is_named(FUNCTIONS[name], right_call(name), argument, bad_values(name, argument))


@pytest.mark.parametrize(("name", "changes", "message"), TOGETHER)
def test_what_does_not_go_together_is_named(name, changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        FUNCTIONS[name](**{**right_call(name), **changes})
