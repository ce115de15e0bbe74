"""Every argument of the chapter's functions against values that are none: an error, by name."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from dplit.kernels import _grams, gamma, gaussian_process, lipschitz, losses, queries
from dplit.papers.erm import kernels, least_squares, leave_one_out, release, sharp_pairs
from tests.arguments import keeps_imaginary_part, modules_of

MODULES = (*modules_of("dplit.papers.erm"), gamma, gaussian_process, lipschitz, losses, queries)
EYE, HALVES, SIGNS = np.eye(2), np.array([0.5, 0.5]), np.array([1.0, -1.0])
RNG = np.random.default_rng(0)
NEAR = leave_one_out.RidgeNeighbours(EYE, SIGNS, regularization=1.0)
ORACLE = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 0.1, "rng": RNG}
INNER = [
    _grams.check_gram,
    sharp_pairs._balanced_hinge_pair,
    sharp_pairs._logistic_pair,
    sharp_pairs._moved_pinball_pair,
    release._release_classifier,
    gaussian_process.GaussianProcessOracle,
    queries.QueryOracle,
    leave_one_out.RidgeNeighbours,
    least_squares._mirror_pair,
    NEAR.replacement_distances,
    NEAR.worst_replacement,
    gaussian_process.GaussianProcessOracle(kernels.linear_kernel, EYE, SIGNS, **ORACLE).answer,
]
FUNCTIONS = {function.__name__: function for function in INNER} | {
    f"{module.__name__.split('.')[-1]}.{name}": function
    for module in MODULES
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_"
}

NUMBER = [(math.nan, ValueError, "not be NaN"), ("1", TypeError, "be a real number")]
ZERO = [(x, ValueError, "be nonnegative and finite") for x in (-1.0, math.inf)] + NUMBER
ARRAY = [(math.nan, ValueError, "be finite"), ("a", TypeError, "be numeric")]
ROW = [*ARRAY, (1j, TypeError, "be real")]
WHOLE = [(0, ValueError, "be at least"), (1.5, TypeError, "be an integer")]
CHOICE = [("best", ValueError, "be one of")]
#: Arguments (of one function, where it is named), a good value, and bad ones, their error and rule.
KINDS = [
    (
        "bound c_beta deviation epsilon floor jitter kappa label_bound lipschitz loss_bound radius "
        "rate regularization scale sensitivity sigma source source_norm strong_convexity tol "
        "trivial_risk width",
        1.0,
        [(x, ValueError, "be positive and finite") for x in (0.0, math.inf)] + NUMBER,
    ),
    (
        "approximation baseline cut mean mu noise noise_error r target_risk printed_bound.c_beta "
        "source_exponent.source shift_ranges_meet.tol distinguishing_power.floor "
        "expected_loss_laplace.scale wrong_sign_probability.scale error_decomposition.scale "
        "coin_decomposition.scale function_bound mirror_distance.radius",
        1.0,
        ZERO,
    ),
    ("angle shift", 0.5, [(math.inf, ValueError, r"be in \(-inf, inf\)"), *NUMBER]),
    ("as_printed comparison_slack.root", False, [("no", TypeError, "be True or False")]),
    (
        "delta gap p probability tau",
        0.25,
        [(x, ValueError, r"be in \(0, 1\)") for x in (0.0, 1.0)] + NUMBER,
    ),
    ("beta", 0.5, [(0.0, ValueError, "be positive"), (1.1, ValueError, r"be in \(0, 1\]")]),
    (
        "dimension k m n_frequencies n_outputs n_queries n_records n_terms releases restarts runs",
        3,
        WHOLE,
    ),
    ("n_components audit_leak.side", 4, WHOLE),
    ("loss", "hinge", CHOICE),
    ("source_exponent.loss", "squared", CHOICE),
    ("rule version least_squares_noise.scale break_even.scale", "sharp", CHOICE),
    ("sample_error_bound.version", "variance", CHOICE),
    ("rate_exponent.rate", "stability", CHOICE),
    ("reading", "fresh", CHOICE),
    ("side", "over", CHOICE),
    ("implementation", "oracle", CHOICE),
    ("rng", RNG, [(0, TypeError, "be a numpy.random.Generator")]),
    (
        "GaussianProcessOracle.kernel QueryOracle.kernel",
        kernels.linear_kernel,
        [(None, TypeError, "be callable")],
    ),
    (
        "cross features gram known_points points records X Z best_direction.root exact_gap.values "
        "two_point_attack.answers",
        EYE,
        [*ARRAY, (1j, (TypeError, ValueError), "(be|hold) .*real")],
    ),
    (
        "coefficients eigenvalues empirical eta false_positive_rate fitted high law population "
        "prediction predictions target weights",
        HALVES,
        ROW,
    ),
    (
        "answers diagonal difference known_labels labels low neighbour pattern released root "
        "stepping values x y",
        SIGNS,
        ROW,
    ),
    ("power_exponent.x", SIGNS + 2.0, ROW),
    ("power_exponent.y", HALVES, ROW),
    ("two_point_attack.neighbour", -SIGNS, ROW),
    ("reconstruct_record.low", -HALVES, ROW),
    ("exact_gap.law", EYE / 2.0 + 0.25, ROW),
    ("_logistic_pair.regularization", 0.1, NUMBER),
    ("audit_leak.epsilon", 1.0, NUMBER),
    # of these nothing is checked, or only what stands in TOGETHER
    ("seed", 0, []),
    ("kernel", kernels.linear_kernel, []),
    ("penalties", (0.1, 0.1), []),
    ("break_even_queries.delta", 0.25, NUMBER),
]
KNOWN = {name: (good, bad) for names, good, bad in KINDS for name in names.split()}
UNCHECKED = {"sharp_pairs.attained_bounds", "stability.hamming_distance"}
UNCHECKED |= {"sharp_pairs.pair_distance", "least_squares.fits_distance"}


def arguments(name):
    """Return for each argument of a function a good value, and values that are none."""
    names = inspect.signature(FUNCTIONS[name]).parameters
    short = name.split(".")[-1]
    found = {x: KNOWN.get(f"{short}.{x}", KNOWN.get(x)) for x in names}
    return {x: pair for x, pair in found.items() if pair}


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - UNCHECKED))
def test_a_bad_argument_is_an_error_that_names_it(name):
    """Kills a check that is missing, one of another argument, and one that lets an end pass."""
    known = arguments(name)
    good = {argument: value for argument, (value, _) in known.items()}
    FUNCTIONS[name](**good)
    for argument, (value, bad) in known.items():
        keeps_imaginary_part(FUNCTIONS[name], good, argument)
        for none, error, rule in bad:
            array = isinstance(value, np.ndarray)
            wrong = np.full(value.shape, none) if array else none
            with pytest.raises(error, match=f"{argument} must {rule}"):
                FUNCTIONS[name](**{**good, argument: wrong})


#: Values that are bad beside others, or by a rule of one function; all else as above.
TOGETHER = [
    ("leaks.audit_leak", {"side": 1}, "side must be at least 2"),
    ("leaks.audit_leak", {"epsilon": 0.0}, "epsilon must be"),
    ("leaks.audit_leak", {"n_components": 1}, "n_components must be at least 2"),
    ("leaks.best_direction", {"root": np.eye(3)}, "root must have 2 rows"),
    ("leaks.feature_root", {"n_components": 3}, "n_components must be even"),
    ("leaks.kernel_hinge_pair", {"regularization": 0.4}, "regularization must be at least 0.5"),
    ("attacks.reconstruct_record", {"answers": [1.0]}, "answers must be two or more, one per"),
    ("attacks.reconstruct_record", {"points": [[0.0, 0.0]]}, "answers must be two or more, one"),
    ("attacks.reconstruct_record", {"known_labels": [1.0]}, "known records and box must fit to 2"),
    ("attacks.reconstruct_record", {"low": [0.0]}, "known records and box must fit"),
    ("attacks.reconstruct_record", {"low": [2.0, 2.0]}, "low must be below high"),
    ("attacks.sign_pattern_probability", {"pattern": [1]}, "pattern must hold 2 labels"),
    ("attacks.sign_pattern_probability", {"pattern": [1, 0]}, "pattern must hold 2 labels"),
    ("attacks.sign_pattern_probability", {"pattern": [2, -1]}, "pattern must hold 2 labels"),
    ("leaks.truncated_root", {"gram": [[1.0, 2.0]]}, "gram must be a square"),
    ("attacks.two_point_attack", {"answers": [[1.0]]}, "two columns"),
    ("attacks.two_point_attack", {"neighbour": SIGNS + 1.0}, "must differ in their difference"),
    ("kernels.gaussian_gram", {"X": np.zeros((1, 1, 1))}, "X must hold real points"),
    ("kernels.linear_kernel", {"X": [0.0]}, "same number of columns, got 1 and 2"),
    ("losses.loss_values", {"predictions": [0.0, 1.0, 2.0]}, "predictions must have 2 entries"),
    ("losses.loss_values", {"predictions": 0.0}, "predictions must have 2 entries"),
    ("losses.loss_values", {"y": [[0.0]]}, "y must have 1 axes"),
    ("kernels.trigonometric_features", {"x": [[0.0]]}, "x must have 1 axes"),
    ("minimisers.fit_kernel", {"y": [0.0, 1.0]}, "y must hold the two labels"),
    ("minimisers.fit_kernel", {"y": [1.0]}, "2 rows"),
    ("minimisers.fit_kernel", {"gram": 1.0 - EYE}, "gram must be positive semidefinite"),
    ("minimisers.fit_linear", {"y": [0.0, 1.0]}, "y must hold the two labels"),
    ("minimisers.fit_linear", {"y": [1.0]}, "features must be real with a row for each of 1"),
    ("intercept.fit_with_intercept", {"y": [1, 1]}, "y must hold both labels, got only 1"),
    ("intercept.fit_with_intercept", {"y": [0, 1]}, "y must hold the two labels"),
    ("minimisers.rkhs_norm", {"gram": np.eye(3)}, "gram must have shape"),
    ("intercept.majority_pair", {"n_records": 4}, "n_records must be odd"),
    ("intercept.majority_pair", {"n_records": 1}, "n_records must be at least 3"),
    ("sharp_pairs.saturated_hinge_pair", {"n_records": 4}, "n_records must be odd"),
    ("_balanced_hinge_pair", {"regularization": 0.16}, "regularization must be at least 0.1666"),
    ("_logistic_pair", {"regularization": 0.5}, "regularization must be at most"),
    ("line_pairs.hinge_pair", {"n_records": 4, "regularization": 0.1}, "must be at least 0.125"),
    ("least_squares_rates.break_even", {"trivial_risk": 1e-12, "scale": "doubled"}, "m <= 1e15"),
    ("approximation.comparison_slack", {"eta": 1.1}, r"eta must be in \[0, 1\]"),
    ("source.operator_spectrum", {"gram": 1.0 - EYE}, "gram must be positive semidefinite"),
    ("approximation.power_exponent", {"x": [1.0, 1.0]}, "x not constant"),
    ("approximation.power_exponent", {"y": [0.0, 2.0]}, "positive numbers"),
    ("approximation.regularized_target", {"target": [1.0, 2.0, 3.0]}, "2 entries"),
    (
        "approximation.regularized_target",
        {"weights": [2.0, -1.0]},
        "weights nonneg.*least weight -1",
    ),
    ("approximation.regularized_target", {"gram": -EYE}, "positive semidefinite"),
    ("source.source_norm", {"eigenvalues": [0.0, 1.0]}, "eigenvalues must be positive"),
    ("source.source_norm", {"eigenvalues": [1.0]}, "eigenvalues must be positive, one for each"),
    ("approximation.spectral_error", {"eigenvalues": [-1.0, 1.0]}, "nonnegative"),
    ("approximation.spectral_error", {"coefficients": [1.0]}, "one for each"),
    ("release.release_epsilon", {"neighbour": [1.0]}, "neighbour must have 2 entries"),
    ("release.release_random_function", {"values": []}, "values must not be empty"),
    ("release.release_random_function", {"values": [[1.0]]}, "values must have 1 axes"),
    ("release.release_scalar_shift", {"values": []}, "values must not be empty"),
    ("release.release_scalar_shift", {"values": [[1.0]]}, "values must have 1 axes"),
    ("_release_classifier", {"values": []}, "values must not be empty"),
    ("_release_classifier", {"values": [[1.0]]}, "values must have 1 axes"),
    ("gaussian_process.distinguishing_power", {"gram": np.eye(3)}, "gram must have shape"),
    ("gaussian_process.distinguishing_power", {"gram": -EYE}, "positive definite"),
    ("gamma_release.gamma_privacy_loss", {"neighbour": [1.0]}, "neighbour must have the shape"),
    ("gamma.gamma_release", {"weights": []}, "weights must not be empty"),
    (
        "gaussian_process.largest_power",
        {"false_positive_rate": [1.5]},
        "false_positive_rate must be in",
    ),
    ("costs.break_even_queries", {"delta": 0.0, "dimension": 0}, "dimension must be at least"),
    ("costs.release_costs", {"dimensions": (0,)}, "dimensions must be at least"),
    ("GaussianProcessOracle", {"coefficients": [1.0]}, "coefficients must have 2 entries"),
    ("QueryOracle", {"coefficients": [1.0]}, "coefficients must have 2 entries"),
    ("answer", {"points": [0.0, 1.0]}, "points must have 2 axes"),
    ("answer", {"points": [[0.0]]}, "points must have 2 columns"),
    ("answer", {"points": np.empty((0, 2))}, "points must not be empty"),
    ("RidgeNeighbours", {"gram": 1.0 - EYE}, "positive semidefinite"),
    ("RidgeNeighbours", {"y": [0.0]}, "gram and y must agree, got 2 rows and 1 targets"),
    ("replacement_distances", {"cross": np.eye(3)}, "cross must have 2 rows"),
    ("replacement_distances", {"labels": [0.0]}, "an entry for each column"),
    ("replacement_distances", {"cross": [0.0, 0.0]}, "cross must have 2 axes"),
    ("decomposition.error_decomposition", {"fitted": [0.5]}, "fitted must hold 2 predictions"),
    (
        "decomposition.error_decomposition",
        {"population": [0.5, 0.6]},
        "population must hold 2 nonneg",
    ),
    ("generalization.exact_gap", {"law": np.eye(3)[:2], "values": np.eye(3)}, r"k\*\*m rows"),
    ("generalization.exact_gap", {"law": EYE}, "positive probabilities"),
    ("generalization.exact_gap", {"weights": [1.0]}, "weights must have 2 entries"),
    ("generalization.exact_gap", {"weights": [0.5, 0.6]}, "weights must hold positive"),
    ("generalization.exact_gap", {"values": -EYE}, "values must be nonnegative"),
    ("noisy_loss.expected_loss_laplace", {"loss": "logistic"}, "loss must be one of"),
    ("noisy_loss.expected_loss_laplace", {"y": 0.5}, "labels -1 and"),
    ("noisy_loss.expected_loss_laplace", {"y": [1, 1, 1]}, "shapes that fit"),
    ("sharp_mechanisms.response_gap", {"k": 1}, "k must be at least 2"),
    ("sharp_mechanisms.subset_mechanism", {"k": 10, "m": 9}, "at most 1e7 entries"),
    ("noisy_loss.wrong_sign_probability", {"y": 2}, "labels -1 and"),
]


@pytest.mark.parametrize(("name", "changes", "message"), TOGETHER)
def test_a_value_that_does_not_fit_is_named(name, changes, message):
    good = {argument: value for argument, (value, _) in arguments(name).items()}
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](**{**good, **changes})
