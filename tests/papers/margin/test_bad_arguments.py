"""Bad arguments of functions, learners and estimators: an error that names the argument."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.advice.classifiers import recommend
from dplit.margins import duplicates, feature_maps, losses, plans, streamed
from dplit.margins.balls import Ball
from dplit.margins.compressed import draw_projection, printed_dimension
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.kernel_estimators import PrivateKernelMarginClassifier
from dplit.margins.plans import plan_learning
from dplit.margins.projected import ProjectedObjectiveClassifier
from dplit.papers.margin import (
    bounds_em,
    covers,
    dimensions,
    direct_cover,
    exponential,
    gibbs,
    kernel_features,
    label_privacy,
    networks,
    polynomial,
    selection,
    smoothed_hinge,
    transfer,
)
from dplit.papers.margin.exact_hinge import minimise_hinge
from dplit.papers.margin.separable import margin_data
from dplit.papers.margin.slack import margin_slack
from dplit.streams import stream
from dplit_studies.margin import (
    arcs,
    compressed_networks,
    coverage,
    feature_trials,
    kernel_experiment,
    reference,
    selection_privacy,
    toy_networks,
)
from tests.arguments import good_arguments, keeps_imaginary_part
from tests.margins.planned import (
    accelerated,
    boosted,
    full_batch,
    perturbed,
    phased,
    projected,
    third,
)

X, Y = margin_data(64, 4, margin=0.4, rng=stream(0, "bad", "data"))
RNG, BALL = stream(0, "bad", "noise"), Ball(1.0, 1.0, 1.0)

#: One good value for each argument, for all functions and for one.
GOOD = {
    "X": X,
    "y": Y,
    "x": [0.0, 1.0],
    "W": np.ones((1, 4)),
    "u": 0.0,
    "lengths": 1.0,
    "rng": RNG,
    "public_rng": stream(0, "bad", "public"),
    "margin": 0.3,
    "normalized_margin": 0.3,
    "radius": 1.0,
    "data_norm": 1.0,
    "weight_norm": 1.0,
    "epsilon": 1.0,
    "delta": 1e-6,
    "mu": 1.0,
    "beta": 0.1,
    "n_samples": 5,
    "n_features": 2,
    "n_components": 5,
    "n_frequencies": 5,
    "n_vectors": 1,
    "n_draws": 1,
    "n_points": 1,
    "n_predictors": 5,
    "n0": 5.0,
    "gamma": 1.0,
    "kernel": np.eye(2),
    "gram": np.eye(2),
    "regularization": 1.0,
    "norm": 1.0,
    "weight_sum": 1.0,
    "scores": [1.0],
    "sensitivities": [1.0],
    "size": 2,
    "z": 1.0,
    "degree": 2,
    "offset": 1.0,
    "weights": [[1.0]],
    "small": [[1.0]],
    "maps": [None],
    "a": 0.0,
    "width": 1,
    "depth": 1,
    "slope": 1.0,
    "distortion": 0.5,
    "covering_radius": 0.1,
    "counts": [0.0],
    "neighbour": [0.0],
    "order": 2.0,
    "wrong": [[1.0]],
    "others": [[1.0]],
    "cover": [[0.0]],
    "probes": [[0.0]],
    "values": [[1.0]],
    "growth": 5,
    "empirical": 0.5,
    "error": 0.1,
    "rate": 0.1,
    "value": 0.5,
    "margin_error": 0.5,
    "log_budget": 1.0,
    "mass": 0.5,
    "smoothness": 1.0,
    "penalty": 1.0,
    "method": "direct",
    "kind": "sign",
    "accounting": "mixture",
    "n": 100,
    "d": 2,
}
FOR_ONE = {
    reference.fit_kernel_hinge: {"y": [1, -1]},
    selection_privacy.rejection_draws: {"X": [[1.0]], "y": [1]},
    direct_cover.axis_error: {"n_features": 3, "n_samples": 9},
    duplicates._single_copy_mu: {"n_samples": 1000},
    minimise_hinge: {"penalty": None, "radius": None},
    full_batch: {"mu": 0.5, "n_steps": 20},
    accelerated: {"mu": 1.0, "n_steps": 2},
    plan_learning: {"shape": (30, 4)},
    phased: {"margin": 0.25, "radius": 1.0, "data_norm": 1.0, "mu": 1.0, "replacement": True},
    boosted: {"epsilon": 1.0, "delta": 1e-6},
    projected: {"n_components": 2, "epsilon": 4.0, "delta": 1e-6},
    third: {"epsilon": 2.0, "delta": 0.3},
}


def _streamed_features(X):
    return streamed.streamed_projection(2, 5, 5, gamma=1.0, rng=RNG).transform(X)


def _expected_errors(epsilon):
    return toy_networks.ToyNetworks(1).expected_errors([0.0], [0.0], n_samples=1, epsilon=epsilon)


VALUES = [
    (direct_cover.axis_error, {"n_samples": 10}, "multiple of n_features"),
    (direct_cover.axis_error, {"epsilon": 0.0}, "epsilon must be positive"),
    (covers.ball_cover, {"n_components": 0}, "n_components must be"),
    (covers.ball_cover, {"radius": 0.0}, "radius must be positive"),
    (covers.ball_cover, {"covering_radius": 0.0}, "covering_radius must be"),
    (direct_cover.cap_mass, {"margin": 1.0}, "margin must be in"),
    (dimensions.hadamard_dimension, {"n_features": 0}, "n_features must be at least 1"),
    (dimensions.hadamard_failure, {"n_vectors": 0}, "n_vectors must be at least 1"),
    (dimensions.jl_failure, {"n_components": 0}, "n_components must be"),
    (dimensions.jl_failure, {"n_events": 0}, "n_events must be"),
    (dimensions.margin_events, {"n_samples": 0}, "n_samples must be at least 1"),
    (direct_cover.score_failure, {"mass": 0.0}, "mass must be in"),
    (dimensions._jl_dimension, {"normalized_margin": 1.2}, "normalized_margin must be in"),
    (dimensions._jl_dimension, {"beta": 1.0}, "beta must be in"),
    (dimensions._jl_exponent, {"distortion": 1.0}, r"distortion must be in \(0, 1\)"),
    (covers._log_cover_bound, {"radius": -1.0}, "radius must be positive"),
    (margin_slack, {"normalized_margin": 0.0}, "normalized_margin must be in"),
    (margin_slack, {"normalized_margin": 1.2}, "normalized_margin must be in"),
    (margin_slack, {"mu": 0.0}, "mu must be positive"),
    (margin_slack, {"beta": 1.0}, "beta must be in"),
    (margin_slack, {"n_components": 0}, "n_components must be at least 1"),
    (margin_slack, {"n_samples": 0}, "n_samples must be at least 1"),
    (margin_slack, {"n_steps": 0}, "n_steps must be at least 1"),
    (draw_projection, {"kind": "none", "n_components": 1}, "kind must be one of"),
    (printed_dimension, {"delta": 0.0}, "delta must be in"),
    (bounds_em.chernoff_upper, {"error": -0.1}, "error must be nonnegative"),
    (exponential.cover_law, {"epsilon": 0.0}, "epsilon must be positive"),
    (exponential.cover_law, {"epsilon": -1.0}, "epsilon must be positive"),
    (bounds_em.cover_terms, {"epsilon": 0.0}, "epsilon must be positive"),
    (bounds_em.cover_terms, {"beta": 0.0}, "beta must be in"),
    (exponential.error_counts, {"W": [[1.0]]}, "W must have 4 columns"),
    (gibbs.gaussian_prior_bound, {"normalized_margin": 0.0}, "normalized_margin must be"),
    (gibbs.gaussian_prior_bound, {"beta": 2.0}, "beta must be"),
    (gibbs.gaussian_prior_draw, {"y": 0 * Y}, "y must hold the labels -1 and 1"),
    (gibbs.prior_mass, {"z": 0.0}, "z must be positive"),
    (bounds_em.relative_bound, {"margin_error": 1.5}, "margin_error must be in"),
    (arcs.constant_arcs, {}, "X must have 2 columns"),
    (coverage.cover_distance, {"probes": [[0.0, 1.0]]}, "probes must have 1 columns"),
    (coverage.cover_distance, {"cover": [0.0]}, "cover must have 2 axes"),
    (selection_privacy.log_ratio, {"neighbour": [0.0, 1.0]}, "one count per"),
    (selection_privacy.log_ratio, {"epsilon": 0.0}, "epsilon must be"),
    (selection_privacy.rejection_draws, {"n_draws": 0}, "n_draws must be at least 1"),
    (selection_privacy.renyi_divergence, {"order": 1.0}, "order must be above 1"),
    (selection_privacy._replacements, {"others": [[1.0], [0.0]]}, "others must have 1"),
    (duplicates._single_copy_mu, {"accounting": "none"}, "accounting must be one of"),
    (duplicates._single_copy_mu, {"delta": 0.0}, r"delta must be in \(0, 1\)"),
    (duplicates._single_copy_mu, {"epsilon": -1.0}, "epsilon must be"),
    (duplicates._single_copy_mu, {"n_samples": 1}, "n_samples must be at least 2|n_draws must be"),
    (duplicates._single_copy_mu, {"runs": 0}, "runs must be at least 1"),
    *(
        (duplicates._single_copy_mu, {"accounting": "log_cap", **change}, message)
        for change, message in (
            ({"delta": 0.001}, "delta < 1/m and epsilon <= log"),
            ({"epsilon": 14.0}, "delta < 1/m and epsilon <= log"),
            ({"n_samples": 4, "delta": 0.2}, "delta must"),
        )
    ),
    (transfer.balanced_size, {"beta": 0}, "beta must be in"),
    (kernel_features.frequencies_of_algorithm3, {"n_samples": 0}, "n_samples must be at least 1"),
    (kernel_features.gram_entry_variance, {"value": 1.5}, "at most 1"),
    (kernel_features.gram_entry_variance, {"method": "x"}, "method must be one of"),
    (
        feature_maps.margin_features,
        {"X": [[1.0]], "frequencies": [[1.0]], "data_norm": -1},
        "data_norm must be positive",
    ),
    (polynomial.monomial_features, {"X": np.ones((9, 99)), "degree": 5}, "choose a lower degree"),
    (polynomial.monomial_features, {"X": [[np.inf]]}, "X must be finite"),
    (transfer.pairwise_transfer_bound, {"margin": -1}, "margin must be positive"),
    (transfer.pointwise_deviation, {"beta": 2}, "beta must be in"),
    (polynomial.polynomial_kernel, {"degree": 0}, "degree must be at least 1"),
    (polynomial.polynomial_kernel, {"offset": -1.0}, "offset must be nonnegative"),
    (polynomial.polynomial_radius, {"data_norm": 0.0}, "radius must be pos|data_norm must"),
    (transfer.reference_regularization, {"n0": 0}, "n0 must be positive"),
    (streamed.streamed_projection, {"n_features": 0}, "n_features"),
    (streamed.streamed_projection, {"n_components": 0}, "n_components"),
    (streamed.streamed_projection, {"n_frequencies": 0}, "n_frequencies"),
    (streamed.streamed_projection, {"gamma": 0}, "gamma must be pos"),
    (streamed.streamed_projection, {"block": 0}, "block"),
    (_streamed_features, {"X": [[1.0]]}, "X must have 2 columns"),
    (_streamed_features, {"X": [[np.nan, 1.0]]}, "X must be finite"),
    (kernel_features.sup_deviation_bound, {"n_samples": 1}, "n_samples must be at least 2"),
    (kernel_features.sup_deviation_bound, {"n_frequencies": 0}, "n_frequencies must be at least 1"),
    (kernel_features.union_failure, {"beta": 1.0}, r"beta must be in \(0, 1\)"),
    (feature_trials._sup_deviation, {"gram": [[1.0]], "kernel": [[1.0]]}, "must be square"),
    (feature_trials._sup_deviation, {"gram": np.eye(3)}, "must be square"),
    (kernel_experiment.limit_projection, {"kernel": [[1.0, 2.0]]}, "symmetric"),
    (kernel_experiment.limit_projection, {"kernel": [[1, 2], [2, 1]]}, "nonnegative def"),
    (reference.fit_kernel_hinge, {"kernel": np.eye(3)}, "must fit"),
    (reference.fit_kernel_hinge, {"y": [1, 2]}, "labels -1 and 1"),
    (reference.fit_kernel_hinge, {"margin": 0}, "margin must be positive"),
    (losses.hinge_loss, {"u": []}, "u must not be empty"),
    (losses.hinge_loss, {"margin": 0.0}, "margin must be positive"),
    (losses.hinge_sensitivity, {"data_norm": -1.0}, "data_norm must be positive"),
    (losses.margin_loss, {"margin": -1.0}, "margin must be positive"),
    (losses.ramp_loss, {"margin": np.nan}, "margin must not be NaN"),
    (smoothed_hinge.smoothed_hinge, {"margin": 0}, "margin must be pos"),
    (smoothed_hinge.smoothed_hinge, {"smoothness": 0}, "smoothness must be"),
    (smoothed_hinge.smoothed_slope, {"u": math.nan}, "u must be fin"),
    (smoothed_hinge.smoothed_slope, {"lengths": -1}, "lengths must be non"),
    (losses.zero_one_loss, {"u": [np.nan]}, "u must be finite"),
    (networks.compressed_output, {"X": [[1.0]], "maps": []}, "one map per layer"),
    (networks.compression_bound, {"distortion": -0.1}, "distortion must be nonnegative"),
    (networks.layer_dimension_budget, {"margin": 0.0}, "margin must be positive"),
    (networks.network_output, {"weights": []}, "at least the output layer"),
    (networks.network_output, {"weights": [[[1.0]]]}, "matrices and a vector"),
    (networks.network_output, {"weights": [[1.0]]}, "weights must have 4 rows"),
    (networks.sigmoid, {"form": "relu"}, "form must be one of"),
    (networks.sigmoid, {"slope": -1.0}, "slope must be positive"),
    (toy_networks.ToyNetworks, {"width": 4}, "width must be at most 3"),
    (toy_networks.ToyNetworks, {"width": 0}, "width must be at least 1"),
    (compressed_networks.random_network, {"width": 0}, "width must be at least 1"),
    (toy_networks.spread_points, {"n_points": 0}, "n_points must be at least 1"),
    (_expected_errors, {"epsilon": 0.0}, "epsilon must be positive"),
    (selection.choice_bound, {"beta": 1.0}, "beta must be in"),
    (selection.generalized_law, {"sensitivities": [1.0, 2.0]}, "one length"),
    (selection.generalized_law, {"sensitivities": [0.0]}, "entry of sensitivities must be pos"),
    (selection.generalized_law, {"epsilon": 0}, "epsilon must be positive"),
    (plans.margin_grid, {"size": 0}, "size must be at least 1"),
    (plans.margin_grid, {"radius": 0}, "radius must be positive"),
    (label_privacy.relative_deviation_bound, {"empirical": 1.5}, "empirical must be in"),
    *(
        (label_privacy.relative_deviation_bound, {"beta": beta}, "beta must be")
        for beta in (0.0, 1.0, 5.0)
    ),
    (label_privacy.selection_excess, {"n_predictors": 0}, "n_predictors must be at least 1"),
    (label_privacy.separated_cover, {"radius": 0.0}, "radius must be positive"),
    (label_privacy.threshold_splits, {"y": [1]}, "y must have 2 entries"),
    (label_privacy.threshold_splits, {"x": [0.0, np.nan], "y": [1, 1]}, "x must be finite"),
    (label_privacy.threshold_splits, {"y": [0, 1]}, "labels -1 and 1"),
    (selection._plain_law, {"scores": [math.nan]}, "scores must be finite"),
    # learners: labels, margins out of reach and records that are not finite are in test_records
    (full_batch, {"y": Y[1:]}, "y must have 64 entries"),
    (full_batch, {"y": np.ones((2, 64))}, "n_draws = 1 rows"),
    (full_batch, {"y": np.ones((1, 1, 64))}, "one or two axes"),
    (full_batch, {"radius": -1.0}, "radius must be positive"),
    (full_batch, {"data_norm": math.inf}, "data_norm must be positive and finite"),
    (full_batch, {"mu": 0.0}, "mu must be positive"),
    (full_batch, {"n_steps": 0}, "n_steps must be at least 1"),
    (full_batch, {"step": 0.0}, "step must be positive"),
    (full_batch, {"X": np.ones(64)}, "X must have 2 axes"),
    (accelerated, {"y": np.ones((2, 64))}, "one axis"),
    (phased, {"mu": 0.0}, "mu must be positive"),
    (phased, {"y": np.ones((3, 64))}, "n_draws = 1 rows"),
    (phased, {"n_draws": 0}, "n_draws must be at least 1"),
    (boosted, {"accounting": "log_cap", "epsilon": 13.9}, r"at most log\(1/delta\)"),
    (boosted, {"accounting": "log_cap", "delta": 0.02}, "delta < 1/m and epsilon <= log"),
    (boosted, {"accounting": "other"}, "accounting must be one of"),
    (boosted, {"delta": 1.0}, r"delta must be in \(0, 1\)"),
    (boosted, {"beta": 0.0}, "beta must be in"),
    (boosted, {"epsilon": 0.0}, "epsilon must be positive"),
    (boosted, {"y": np.ones((2, 64))}, "y must have one axis"),
    (projected, {"n_components": 5}, "n_components must be at most 4"),
    (projected, {"n_components": 0}, "n_components must be at least 1"),
    (projected, {"solver": "exact"}, "solver must be one of"),
    (projected, {"inflation": 0.5}, "inflation must be at least 1"),
    (projected, {"data_norm": 0.0}, "data_norm must be positive"),
    (projected, {"delta": 1.0}, "delta must be"),
    (projected, {"epsilon": 0.0}, "epsilon must be"),
    (projected, {"public_rng": RNG}, "rng must not be public_rng"),
    (plan_learning, {"balls": [BALL._replace(margin=2.0), BALL]}, "margin must be at most"),
    (plan_learning, {"balls": [BALL, BALL._replace(margin=0.0)]}, "margin must be positive"),
    (third, {"margin": 3.1}, "margin must be at most"),
    (third, {"delta": 1.0}, "delta must be in"),
    (third, {"epsilon": 0.0}, "epsilon must be positive"),
    (third, {"weight_norm": -1.0}, "weight_norm must be positive"),
    (third, {"beta": 0.0}, "beta must be in"),
    (third, {"n_components": 0}, "n_components must be at least 1"),
    (third, {"gamma": 0.0}, "gamma must be positive"),
    (third, {"public_rng": RNG}, "must not be public_rng"),
    (third, {"y": Y + 1}, "labels -1 and 1"),
    (third, {"X": X * np.nan}, "X must be finite"),
    (minimise_hinge, {}, "exactly one of radius and penalty"),
    (minimise_hinge, {"radius": 1.0, "penalty": 1.0}, "exactly one of radius and penalty"),
    (minimise_hinge, {"radius": 0.0}, "radius must be positive"),
    (minimise_hinge, {"penalty": -1.0}, "penalty must be positive"),
    (minimise_hinge, {"radius": 1.0, "margin": 0.0}, "margin must be positive"),
    (minimise_hinge, {"radius": 1.0, "tolerance": 0.0}, "tolerance must be positive"),
    (minimise_hinge, {"radius": 1.0, "y": 0 * Y}, "labels -1 and 1 only"),
    (perturbed, {"mu": 0.0}, "mu must be positive"),
    (perturbed, {"data_norm": -1.0}, "data_norm must be positive"),
    (perturbed, {"n_draws": 0}, "n_draws must be at least 1"),
    (perturbed, {"tolerance": 0.0}, "tolerance must be positive"),
    (recommend, {"n": 0}, "n must be"),
    (recommend, {"d": 0}, "d must be"),
    (recommend, {"margin": 0.0}, "margin must be"),
    (recommend, {"margin": 1.1}, "margin must be"),
    (recommend, {"flips": 0.5}, "flips must be"),
    (recommend, {"flips": -0.1}, "flips must be"),
    (recommend, {"epsilon": 0.0}, "epsilon must be positive"),
    (recommend, {"delta": 0.5}, "delta must be below 1/2"),
    (recommend, {"delta": -1e-9}, "delta must be"),
]
TYPES = [
    (gibbs.gaussian_prior_draw, {"rng": 0}, "rng must be"),
    (streamed.streamed_projection, {"rng": 0}, "rng must be"),
    (losses.zero_one_loss, {"u": ["a"]}, "u must be numeric"),
    (losses.zero_one_loss, {"u": [1j]}, "u must be real"),
    (full_batch, {"margin": "wide"}, "margin must be a real number"),
    (full_batch, {"n_draws": 1.5}, "n_draws must be an integer"),
    (full_batch, {"rng": 0}, "rng must be a numpy"),
    (full_batch, {"X": X * 1j}, "X must be real"),
    (recommend, {"n": 10.0}, "n must be an integer"),
]
CASES = [(ValueError, *case) for case in VALUES] + [(TypeError, *case) for case in TYPES]


@pytest.mark.parametrize(("error", "call", "change", "message"), CASES)
def test_a_bad_argument_is_named(error, call, change, message):
    good = good_arguments(call, GOOD)
    with pytest.raises(error, match=message):
        call(**{**good, **FOR_ONE.get(call, {}), **change})


#: What a call needs beside the tables above to run: they lack it, or hold a bad value on purpose.
NEEDED = {
    draw_projection: {"n_components": 2},
    arcs.constant_arcs: {"X": X[:, :2]},
    feature_maps.margin_features: {"frequencies": np.eye(4)},
    _streamed_features: {"X": X[:, :2]},
    networks.compressed_output: {"small": [[1.0] * 4]},
    plan_learning: {"balls": [BALL] * 2},
    networks.network_output: {"weights": [[1.0] * 4]},
    minimise_hinge: {"radius": 1.0},
    label_privacy.threshold_splits: {"y": [1, -1]},
}


@pytest.mark.parametrize("call", {case[1]: None for case in CASES if case[1] != _expected_errors})
def test_no_imaginary_part_is_dropped(call):
    """Kills a cast to floats before anything asks for real numbers."""
    good = {**good_arguments(call, GOOD), **FOR_ONE.get(call, {}), **NEEDED.get(call, {})}
    call(**good)
    for argument in good:
        keeps_imaginary_part(call, good, argument)


ESTIMATORS = {
    PrivateMarginClassifier: {"data_norm": 1.0, "margin": 0.3},
    PrivateKernelMarginClassifier: {"n_components": 60},
    ProjectedObjectiveClassifier: {"data_norm": 1.0},
}
OF_ONE = {
    PrivateMarginClassifier: [
        ({"data_norm": None}, ValueError, "data_norm must be given"),
        ({"data_norm": 0.0}, ValueError, "data_norm must be positive"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a real number"),
        ({"delta": 1.0}, ValueError, r"delta must be in \(0, 1\)"),
        ({"margin": 1.01}, ValueError, r"margin must be at most radius \* data_norm = 1"),
        ({"margin": "best"}, ValueError, "margin must be one of"),
        ({"radius": 0.0}, ValueError, "radius must be positive"),
        ({"projection": "dense"}, ValueError, "projection must be one of"),
        ({"projection": "fast", "n_components": 5}, ValueError, "n_components must be at most"),
        ({"projection": "sign", "n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"solver": "newton"}, ValueError, "solver must be one of"),
        ({"n_steps": 0}, ValueError, "n_steps must be at least 1"),
        ({"n_margins": 0}, ValueError, "n_margins must be at least 1"),
        ({"beta": 0.0}, ValueError, "beta must be in"),
        ({"random_state": "seed"}, TypeError, "random_state"),
    ],
    PrivateKernelMarginClassifier: [
        ({"gamma": -1.0}, ValueError, "gamma must be positive"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"n_frequencies": 0}, ValueError, "n_frequencies must be at least 1"),
        ({"margin": 1.5}, ValueError, "margin must be at most radius = 1"),
        ({"margin": "best"}, ValueError, "margin must be a number or 'private'"),
        ({"margin": "private", "n_margins": 0}, ValueError, "n_margins must be at least 1"),
        ({"radius": math.inf}, ValueError, "radius must be positive and finite"),
        ({"n_steps": 0}, ValueError, "n_steps must be at least 1"),
        ({"delta": 1.0}, ValueError, "delta must be in"),
        ({"neighboring": "add_remove"}, ValueError, "neighboring must be 'replace_one'"),
        ({"inflation": 0.5}, ValueError, "inflation must be at least 1"),
    ],
    ProjectedObjectiveClassifier: [
        ({"data_norm": None}, ValueError, "data_norm must be given"),
        ({"data_norm": -1.0}, ValueError, "data_norm must be positive"),
        ({"margin": 1.5}, ValueError, "margin must be at most data_norm"),
        ({"delta": 0.5}, ValueError, "delta must be below 1/2"),
        ({"delta": -1e-6}, ValueError, "delta must be in"),
        ({"n_components": 0}, ValueError, "n_components must be"),
        ({"n_components": 5}, ValueError, "n_components must be"),
        ({"n_components": 2.0}, TypeError, "n_components must be an integer"),
        ({"regularization": 0.0}, ValueError, "regularization must be positive"),
        ({"fit_intercept": "no"}, TypeError, "fit_intercept must be True or False"),
    ],
}
OF_ALL = [
    ({"epsilon": 0.0}, ValueError, "epsilon must be positive"),
    ({"margin": 0.0}, ValueError, "margin must be positive"),
    ({"classes": ("a", "a")}, ValueError, "classes must be two labels"),
    ({"random_state": -1}, ValueError, "random_state must be nonnegative"),
]


@pytest.mark.parametrize(
    ("estimator", "change", "error", "message"),
    [(one, *case) for one, cases in OF_ONE.items() for case in [*cases, *OF_ALL]],
)
def test_a_bad_parameter_is_named(estimator, change, error, message):
    with pytest.raises(error, match=message):
        estimator(**{**ESTIMATORS[estimator], **change}).fit(X, Y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(64) % 3, "Only binary classification is supported"),
        (np.ones(64), "two classes unless classes is given, got one class"),
        (np.linspace(0, 1, 64), "Unknown label type"),
    ],
)
def test_labels_of_other_than_two_classes_are_refused(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        estimator(**ESTIMATORS[estimator]).fit(X, y)
