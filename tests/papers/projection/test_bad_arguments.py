"""Every argument of every public function of the room against values that are none: an error, by
its name and its rule."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from dplit.advice import entries
from dplit.entries import privacy, projections, variances
from dplit.entries.projections import ProjectionRelease
from dplit.papers.projection import leakage, spectrum
from dplit.streams import stream
from tests.arguments import each_is_named, good_arguments, modules_of

MODULES = (*modules_of("dplit.papers.projection"), privacy, projections, variances)
FUNCTIONS = {
    name: function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
} | {"recommend": entries.recommend}

RNG = stream(0, "proj-bad", "data")
X, Y = RNG.uniform(-1, 1, (30, 4)), RNG.standard_normal(30)
CHANNEL = leakage.entry_channels(X, Y, variance=1.0)
COIN = np.ones((2, 2, 1))
TABLES = [np.c_[np.ones(30) / k, X[:, :3]] for k in (1.0, 2.0)]

#: One good value for each argument, by function or for all of them.
GOOD: dict[str, Any] = {
    "X": X,
    "y": Y,
    "E": X / 100,
    "epsilon": 0.5,
    "delta": 0.01,
    "failure": 0.1,
    "sigma": 1.0,
    "variance": 1.0,
    "penalty": 1.0,
    "n_components": 9,
    "n_samples": 30,
    "n_features": 4,
    "rng": RNG,
    "row": 0,
    "column": 0,
    "levels": [-1.0, 1.0],
    "truth": [1.0],
    "n_trials": 1,
    "size": 1,
    "problem": spectrum.spectrum(X, Y),
    "calibration": "paper",
    "clip": (-1.0, 1.0),
    "response_bound": 1.0,
    "energy": 1.0,
    "t": 1.0,
    "u": 0.5,
    "root_snr": 1.0,
    "tolerance": 1e-3,
    "inputs": 3,
    "outputs": 6,
    "noise": 1.0,
    "width": 2.0,
    "nodes": 9,
    "n_draws": 2,
    "row_change": 2.0,
    "share": 0.5,
    "snr": 1.0,
    "floor": 1.0,
    "correction": 0.0,
    "x": 0.5,
    "n_records": 3,
    "probabilities": [0.5],
    "sketching": 1.0,
    "theta": np.ones(4),
    "distance": 0.5,
    "flip": 0.1,
    "reveal": 0.1,
    "channel": np.eye(2),
    "prior": [0.5, 0.5],
    "max_steps": 10,
    "entry": 0,
    "mechanism": COIN,
    "joint": np.eye(2) / 2,
    "n": 100,
    "d": 2,
    "variances": [1.0, 2.0],
    "law": "gaussian",
    "panels": 8,
    "n_rows": 2,
    "n_columns": 2,
    "coefficients": np.ones(4),
    "probability": 0.5,
    "release": ProjectionRelease(X[:, :2], Y),
    "first": 1.0,
    "second": 2.0,
    "publish": "table",
    "weights": [0, 1, -1, 0],
    "tables": TABLES,
    "low": -1.0,
    "high": 1.0,
    "as_printed": False,
    "squared": False,
    "improved": False,
}
FOR_ONE: dict[str, dict[str, Any]] = {
    "binary_leakage": {"channel": CHANNEL},
    "binary_total_variation": {"channel": CHANNEL},
    "coherent_bound": {"channel": CHANNEL},
    "entry_distance": {"first": [[1.0]], "second": [[2.0]]},
    "explicit_failure": {"delta": 0.9, "n_components": 100},
    "likeliest_entry": {"release": ProjectionRelease(X, Y)},
    "bartlett_factor": {"size": ()},
}

NUMBER = [(math.nan, "not be NaN"), ("1", "be a real number")]
POSITIVE = [(0.0, "be positive"), (-1.0, "be positive"), (math.inf, "be positive"), *NUMBER]
NONNEGATIVE = [(-1.0, "be nonnegative"), (math.inf, "be nonnegative"), *NUMBER]
INSIDE = [(0.0, r"be in \(0, 1"), (1.0 + 1e-9, r"be in \(0, 1"), *NUMBER]
SHARE = [(-1e-9, r"be in \[0, 1\]"), (1.0 + 1e-9, r"be in \[0, 1\]"), *NUMBER]
COUNT = [(0, "be at least"), (2.5, "be an integer")]
INDEX = [(-1, "be at least 0"), (2.5, "be an integer")]
ONE_OF = [("other", "be one of")]
FINITE = [(math.inf, r"be in \(-inf, inf\)"), *NUMBER]
FLAG = [("no", "be True or False")]
REAL = [([math.nan], "be finite"), ([1j], "be real")]

#: What is refused, and the rule that is told, by argument.
BAD: dict[str, list[tuple[Any, str]]] = {
    **dict.fromkeys(("epsilon", "width", "tolerance", "noise", "row_change"), POSITIVE),
    **dict.fromkeys(("response_bound", "energy", "first", "second", "sigma"), POSITIVE),
    **dict.fromkeys(("variance", "penalty", "t", "root_snr", "snr"), NONNEGATIVE),
    **dict.fromkeys(("floor", "correction", "sketching"), NONNEGATIVE),
    **dict.fromkeys(("delta", "failure", "u", "share"), INSIDE),
    **dict.fromkeys(("distance", "flip", "reveal"), SHARE),
    **dict.fromkeys(("n_components", "n_features", "n_samples", "n_trials", "n_draws"), COUNT),
    **dict.fromkeys(("n", "d", "size", "inputs", "outputs", "max_steps", "nodes"), COUNT),
    **dict.fromkeys(("n_records", "panels"), COUNT),
    **dict.fromkeys(("n_rows", "row", "column", "entry"), INDEX),
    **dict.fromkeys(("calibration", "law", "publish"), ONE_OF),
    "rng": [(0, "be a numpy.random.Generator")],
    "X": [
        ([[math.nan]] * 30, "be finite"),
        (np.ones(30), "have 2 axes"),
        (np.empty((0, 4)), "not be empty"),
        ([["a"]] * 30, "be numeric"),
        (1j * X, "be real"),
    ],
    "y": [
        (np.ones(3), "have 30 entries"),
        ([math.nan] * 30, "be finite"),
        (["a"] * 30, "be numeric"),
        (1j * Y, "be real"),
    ],
    **dict.fromkeys(("low", "high"), FINITE),
    **dict.fromkeys(("as_printed", "squared", "improved"), FLAG),
    **dict.fromkeys(("levels", "truth", "probabilities"), REAL),
    "weights": [([0, 1j, 0, 0], "be real")],
    "clip": [((1, -1), "be"), ((0, 0), "be"), ((0, math.inf), "be")],
    "x": [(value, r"be in \[-1, 1\]") for value in (1.5, -2.0)] + NUMBER,
    "theta": [(np.full(4, math.nan), "be finite")],
    "channel": [([[1.2, -0.2]], "hold laws")],
    "prior": [([0.5, 0.6], "hold"), ([1.0], "")],
    "variances": [([1.0, 0.0], "be positive"), ([1.0, math.nan], "be finite")],
}
SIGMA_MAY_BE_ZERO = ("attenuation_limit", "augmented_problem")
EPSILON_MAY_BE_ZERO = ("dp_to_tv", "channel_delta", "row_delta")
BAD_FOR_ONE: dict[tuple[str, str], list[tuple[Any, str]]] = {
    **{(name, "channel"): [] for name, good in FOR_ONE.items() if "channel" in good},
    **dict.fromkeys([(name, "sigma") for name in SIGMA_MAY_BE_ZERO], NONNEGATIVE),
    **dict.fromkeys([(f"row_{name}", "variance") for name in ("delta", "epsilon")], POSITIVE),
    **dict.fromkeys([(name, "delta") for name in ("sketch_tail", "explicit_failure")], NONNEGATIVE),
    **dict.fromkeys([(name, "epsilon") for name in EPSILON_MAY_BE_ZERO], NONNEGATIVE),
    ("dp_to_tv", "delta"): SHARE,
    ("rms_attack_quantiles", "size"): NONNEGATIVE,
    ("public_sketch_leakage", "variance"): POSITIVE,
    ("tail_asymptote", "delta"): [(0.0, "be positive"), *NONNEGATIVE],
    ("sketch_quantile", "probability"): INSIDE[:2],
    ("recommend", "snr"): POSITIVE,
    ("entry_distance", "first"): [],
    ("entry_distance", "second"): [([[1.0, 2.0]], r"have shape \(1, 1\)")],
    ("bartlett_factor", "size"): [],
    ("coefficient_leakage", "levels"): [*REAL[:1], ([1j], "be real")],
    ("relative_error", "theta"): [(np.full(4, math.nan), "be finite"), (np.full(4, 1j), "be real")],
    ("projection_variance", "X"): [],  # which only the printed variance reads
}
WIDE, EQUAL = np.ones((30, 31)), np.ones((30, 2))
EMPTY = np.c_[X[:, 0], np.zeros(30)]
BITS = ("additive_sigma", "pinsker_delta", "sharp_delta")
LAWS = [f"projection_{part}" for part in ("draws", "errors", "moments")]
LAWS += ["projected_error", "error_sd"]
TALL = ["condition_number", "root_snr", "relative_error", "spectrum"]
TALL += ["noise_quotient", "smallest_epsilon"]

#: What is refused beside other arguments, and what is told.
TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    *((name, {"X": WIDE}, "more rows than columns") for name in TALL),
    *((name, {"X": WIDE[:, :30]}, "more rows than columns") for name in TALL),
    *((name, {"X": EQUAL}, "full column rank") for name in (*TALL, "least_squares")),
    *((name, {"X": EMPTY}, "full column rank") for name in TALL),
    *((name, {"n_components": 3}, "at least the 4 columns") for name in LAWS),
    ("condition_number", {"X": EQUAL}, "full column rank 2, got X of numerical rank 1"),
    ("least_squares", {"X": np.ones((1, 2)), "y": [1.0]}, "full column rank"),
    ("entry_channels", {"X": X[:2], "y": Y[:2], "variance": 0.0}, "full column rank"),
    ("entry_channels", {"X": EQUAL, "variance": 0.0}, "full column rank"),
    ("coefficient_leakage", {"X": EQUAL, "variance": 0.0}, "full column rank"),
    ("attenuation_limit", {"y": X @ np.ones(4)}, "column space"),
    ("coefficient_leakage", {"y": X @ np.ones(4), "variance": 0.0}, "column space"),
    ("error_factors", {"y": X @ np.ones(4)}, "y must not lie in the column space"),
    ("coefficient_leakage", {"n_components": 3}, "n_components must be at least 4"),
    ("root_snr", {"y": 0 * Y}, "y must not be zero"),
    ("relative_error", {"theta": np.ones(3)}, "theta must have 4 entries"),
    ("relative_error", {"theta": 1.0}, "theta must have 4 entries"),
    ("release_projection", {"y": np.ones((30, 1, 1))}, "y must have 1 or 2 axes"),
    ("projection_variance", {"as_printed": True, "epsilon": 0.0}, "epsilon must be positive"),
    ("perturbation_bound", {"E": X[:-1]}, "E must have shape"),
    ("noise_quotient", {"failure": 1.1}, r"failure must be in \(0, 1\]"),
    ("theorem1_bound", {"failure": 1.0}, r"failure must be in \(0, 1\)"),
    ("sharp_bound", {"failure": 1.0}, r"failure must be in \(0, 1\)"),
    ("worst_perturbation", {"u": 1.0}, "u must be"),
    ("necessary_epsilon", {"n_samples": 5, "n_features": 5}, "n_samples must exceed"),
    ("additive_draws", {"n_samples": 4}, "n_samples must exceed the 4 columns"),
    ("peak_capacity", {"sigma": 0.05}, "sigma must be at least 0.06"),
    ("exact_sigma", {"epsilon": 3.5}, "epsilon must be at most 3 bits"),
    ("recommend", {"epsilon": 101.0, "delta": None}, "epsilon must be at most 100 bits"),
    ("recommend", {"delta": 0.5}, "delta must be in"),
    ("recommend", {"delta": 1e-15}, "delta must be in"),
    *((name, {"epsilon": 1e4}, "epsilon") for name in BITS),
    *((name, {"delta": 1e-15}, "at least 1e-14") for name in ("row_epsilon", "row_variance")),
    ("scale_information", {"law": "cauchy", "n_samples": 2}, "n_samples must be 1"),
    ("quantised_channel", {"inputs": 1}, "inputs must be at least 2"),
    ("quantised_channel", {"outputs": 1}, "outputs must be at least 2"),
    ("paired_columns", {"n_records": 2}, "n_records must be at least 3"),
    ("coefficient_leakage", {"n_draws": 1}, "n_draws must be at least 2"),
    ("rms_attack_quantiles", {"probabilities": [0.5, 1.5]}, r"probabilities must be in \[0, 1\]"),
    ("likeliest_entry", {"release": ProjectionRelease(X[:, :2], Y)}, "release must have 5 columns"),
    *(
        (name, {"rows": rows}, "rows must be integers from 0 to 29")
        for rows in ([0.5], [-1], [30])
        for name in ("entry_channels", "coefficient_leakage")
    ),
    *((name, {"row": 30}, "must exist") for name in ("attack_entry", "likeliest_entry")),
    *((name, {"column": 4}, "must exist") for name in ("attack_entry", "likeliest_entry")),
    ("rms_attack", {"release": ProjectionRelease(X, Y)}, "2 columns"),
    ("scale_leakage", {"weights": [1, -1, 0, 0]}, "zero on column 1"),
    ("scale_leakage", {"weights": [[0, 1, 0, 0], [0, 0, 1, 0]]}, "independent combinations"),
    ("single_entry", {"row": 30}, "must exist"),
    ("single_entry", {"column": 4}, "must exist"),
    ("residual_energy", {"row": 30}, "must exist"),
    ("printed_sketch_bound", {"sketching": 0.5}, "sketching must be at least 1"),
    ("explicit_failure", {"delta": 1.01}, "delta must lie between"),
    ("explicit_failure", {"delta": 0.1, "n_features": 1}, "delta must lie between"),
    ("explicit_failure", {"n_features": 1, "n_components": 7}, "delta must lie between"),
    ("channel_information", {"channel": np.eye(3)}, "prior must have 3 entries"),
    ("channel_information", {"prior": [0.7, 0.7]}, "prior must hold laws"),
    ("conditional_information", {"joint": np.eye(2)}, "sum 1"),
    ("conditional_information", {"entry": 2}, "entry"),
    ("conditional_information", {"joint": np.ones((1, 2)) / 2}, "shape"),
    ("database_leakage", {"mechanism": [0.5, 0.5]}, "input axes"),
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
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](**{**right_call(name), **changes})
