"""Bad arguments of the studies: an error of the right type that names the argument."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dplit.datasets import load_medical, load_wine
from dplit.datasets.classification import load_problem, scaled_table
from dplit.datasets.digits import load_fours_and_nines
from dplit.margin.data import margin_data
from dplit.projection.attacks import paired_columns
from dplit.random_features.interpolation import duplicate_counts
from dplit.sketching.subsampling.masks import mask_law
from dplit.streams import stream
from dplit.trials import Trial
from dplit_studies.erm import attacks, audits, comparison, learning_curves, neighbours, tables
from dplit_studies.margin import audits as margin_audits
from dplit_studies.margin import bounds, dimension, learners
from dplit_studies.margin.choice import label_table
from dplit_studies.projection import additive, digits, entry_scan, naive
from dplit_studies.projection import curves as projection_curves
from dplit_studies.random_features import audits as noise_audits
from dplit_studies.random_features import curves, data, fairness, frontier
from dplit_studies.sketching import audits as sketch_audits
from dplit_studies.sketching import comparison as clusters
from dplit_studies.sketching import decoders, models, recovery, schematics
from dplit_studies.sketching import tables as sketch_tables
from dplit_studies.sketching.data import MixtureLaw

RNG = stream(0, "bad-studies", "noise")
TRIAL = Trial(0, seed=0, name="bad-studies")
POINTS, LABELS = neighbours.wave_sample(20, task="classification", rng=RNG)
MEDICAL = load_medical("bundled")
THREE = data._Prepared(np.ones((3, 1)), np.ones(3), ("a",))
SKETCHED = schematics.example_data(5, 4, data_rng=RNG, map_rng=RNG)

#: One good value for each argument without a default, for all functions and for one.
GOOD: dict[str, Any] = {
    "rng": RNG, "map_rng": RNG, "mask_rng": RNG, "noise_rng": RNG, "seed": 0,
    "name": "x", "epsilon": 1.0, "delta": 1e-5, "epsilons": [1.0], "deltas": [1e-6], "runs": 10,
    "n_trials": 2, "draws": 2, "n_draws": 2, "n_sets": 1, "n_replacements": 2, "splits": 2,
    "n_samples": 100, "n_records": 300, "n_features": 5, "n_components": 60, "sizes": [5],
    "settings": [(50, 1.0)], "problem": "digits", "points": POINTS, "y": np.ones(5),
    "X": np.eye(5, 2), "loss": "hinge", "u": [1.0], "v": [-1.0], "w": [1.0], "value": 1.0,
    "neighbour": 0.0, "scale": 1.0, "outputs": [0.0], "regularization": 1.0,
    "sigma": 1.0, "scores": [1.0], "share": [1.0], "values": [0.0, 1.0], "trial": TRIAL,
    "target": attacks._reconstruction_target(TRIAL, n_points=4), "release": "gamma",
    "beta": 0.5, "probability": 0.8, "normalized_margin": 0.5, "gamma": 0.1, "near_mass": 0.5,
    "margin": 0.5, "data_norm": 1.0, "mu": 1.0, "n_canaries": 16,
    "learner": "ball", "dimensions": (5,), "counts": [0, 1], "law": [1, 0], "cells": 2,
    "level": 0.1, "root_snr": 1.0, "size": 1, "penalty": 0.0, "variance": 0.0, "figure": "fig1",
    "digits": load_fours_and_nines("bundled"), "images": np.zeros((1, 28, 28)), "dimension": 2,
    "tables": [paired_columns(1.0)] * 2, "dataset": MEDICAL, "columns": [1.0, 2.0], "n": 5,
    "feature": "sex", "groups": [0, 0, 0], "noise_sds": (1.0,), "alpha": 1.0, "label_bound": 1.0,
    "components": (5,), "frequencies": np.eye(2), "noise": "laplace",
    "moments": np.eye(2), "sketch": np.ones(5), "direction": np.ones(5), "ratios": [0.1],
    "n_clusters": 1, "records": SKETCHED[0], "sketch_map": SKETCHED[1], "radii": [1.0],
}  # fmt: skip
SWAPS = neighbours.draw_replacements(POINTS, LABELS, 6, loss="hinge", rng=RNG)
FOR_ONE: dict[Any, dict[str, Any]] = {
    neighbours.replacement_distances: {"y": LABELS, "replacements": SWAPS},
    neighbours.climb: {"y": LABELS, "replacements": SWAPS},
    bounds.bound_value: {"name": "no privacy"},
    bounds.informative_from: {"name": "no privacy"},
    learners.kernel_accuracies: {"name": "moons"},
    curves.feature_curves: {"base": curves._setting("fig1")},
    curves.record_curves: {"base": curves._setting("fig1")},
    fairness.error_gap_curves: {"base": curves._setting("tab2-medical", "text")},
    naive.simulated_leakage: {"y": None},
    noise_audits._swap_sensitivities: {
        "gram": [[1.0]], "cross": [[1.0]], "norms2": [1.0], "y_new": [1.0],
    },
    decoders.search_gap: {"law": MixtureLaw(2, 2, separation=20.0, frequency_variance=0.2)},
}  # fmt: skip


CASES: dict[type[Exception], list[tuple[Callable[..., Any], dict[str, Any], str]]] = {
    ValueError: [
        # erm
        (attacks.reconstruction_runs, {"counts": ()}, "counts must not be empty"),
        (attacks.reconstruction_runs, {"counts": (1,)}, "counts must be at least 2"),
        (attacks.reconstruction_runs, {"restarts": 0}, "restarts must be at least 1"),
        (attacks._reconstruction_target, {"n_records": 1}, "n_records must be at least 2"),
        (attacks._reconstruction_target, {"epsilon": 0.0}, "epsilon must be positive"),
        (attacks._reconstruct_target, {"n_points": 5}, "n_points must be at most 4"),
        (attacks._pattern_hits, {"pattern": [1]}, "pattern must hold 2 labels"),
        (attacks.pattern_curve, {"epsilons": []}, "epsilons must not be empty"),
        (attacks.pattern_curve, {"runs": 0}, "runs must be at least 1"),
        (attacks.pattern_curve, {"n_records": 0}, "n_records must be at least 1"),
        (attacks.reconstruct_through, {"release": "noise"}, "release must be one of"),
        (attacks.reconstruct_through, {"n_records": 1}, "n_records must be at least 2"),
        (attacks.reconstruct_through, {"n_points": 4}, "n_points must be at least 5"),
        (attacks.reconstruct_through, {"epsilon": 0.0}, "epsilon must be positive"),
        (attacks.reconstruct_through, {"n_repeats": 0}, "n_repeats must be at least"),
        (attacks.audit_power_curve, {"through": "fit"}, "through must be one of"),
        (attacks.audit_power_curve, {"runs": 0}, "runs must be at least 1"),
        (comparison.compare, {"problem": "iris"}, "problem must be one of"),
        (comparison.compare, {"settings": []}, "settings must not be empty"),
        (comparison.compare, {"settings": [(0, 1.0)]}, "n_records must be at least 1"),
        (comparison.compare, {"settings": [(10, 0.0)]}, "epsilon must be positive"),
        (comparison.compare, {"delta": 0.0}, r"delta must be in \(0, 1\)"),
        (comparison.compare, {"n_repeats": 1}, "n_repeats must be at least 2"),
        (comparison.compare_pure, {"n_features": 3, "n_repeats": 2}, "n_features must be even"),
        (comparison.gaussian_error, {"sigma": 0.0}, "sigma must be positive"),
        (comparison.public_regularization, {"epsilon": -1.0}, "epsilon must be positive"),
        (comparison.descent_steps, {"epsilon": 0.0}, "epsilon must be positive"),
        (load_problem, {"name": "iris"}, "name must be one of"),
        (learning_curves.hinge_curves, {"sizes": [64, 64]}, "sizes must be increasing"),
        (learning_curves.hinge_curves, {"sizes": [0, 64]}, "sizes must be increasing"),
        (learning_curves.hinge_curves, {"sizes": [6.5]}, "sizes must be increasing"),
        (learning_curves.hinge_curves, {"tol": 0.0}, "tol must be positive"),
        (learning_curves.hinge_approximation, {"regularization": 0.0}, "regularization must be"),
        (learning_curves.log_slope, {"values": [[1.0, 2.0]], "sizes": [1, 2]}, "number of trials"),
        (learning_curves.log_slope, {"values": [[0.0]] * 2}, "values must be positive"),
        (learning_curves.log_slope, {"values": [[1.0, 2.0]] * 2}, "a column for each"),
        (learning_curves.least_squares_curves, {"sizes": [9, 8]}, "sizes must be increasing"),
        (learning_curves.least_squares_approximation, {"regularization": -1.0}, "regularization"),
        (neighbours.replacement_distances, {"regularization": 0.0}, "regularization must be pos"),
        (neighbours.wave_sample, {"task": "ranking"}, "task must be one of"),
        (neighbours.draw_replacements, {"count": 1}, "count must be at least 2"),
        (neighbours.stability_curve, {"sizes": [0]}, "sizes must be at least 1"),
        (neighbours.climb, {"steps": 0}, "steps must be at least 1"),
        (audits.audit_line, {"u": [1.0, 0.5], "v": [-1.0, 0.4]}, "v must differ from u in one"),
        (audits.audit_line, {"v": [1.0, 1.0]}, "v must differ from u in one entry"),
        (audits.audit_line, {"u": [math.nan]}, "u must be finite"),
        (audits.audit_line, {"epsilon": 0.0}, "epsilon must be positive"),
        (audits.random_line_pairs, {"count": 0}, "count must be at least 1"),
        (audits.audit_answer, {"value": 0.0}, "value must exceed neighbour"),
        (audits.audit_answer, {"value": math.nan}, "value and neighbour must be finite"),
        (audits.audit_answer, {"runs": 0}, "runs must be at least 1"),
        (audits.audit_answer, {"confidence": 1.0}, r"confidence must be in \(0, 1\)"),
        (audits.answer_delta, {"gap": -1.0}, "gap must be nonnegative"),
        (audits.privacy_loss, {"scale": -1.0}, "scale must be positive"),
        (audits.audit_power, {"loss": -1.0}, "loss must be nonnegative"),
        (audits.detectable_loss, {"epsilon": 0.0}, "epsilon must be positive"),
        (audits.audit_controls, {"epsilon": 0.0}, "epsilon must be positive"),
        (tables.coin_rows, {"epsilon": 0.0}, "epsilon must be positive"),
        (tables.subset_rows, {"epsilons": [-1.0]}, "epsilon must be positive"),
        # margin
        (margin_data, {"n_features": 1}, "n_features must be at least 2"),
        (margin_data, {"margin": 1.0}, "margin must be in"),
        (margin_data, {"flips": 1.0}, r"flips must be in \[0, 1\)"),
        (bounds.bound_value, {"name": "x"}, "name must be one of"),
        (bounds.bound_value, {"n_samples": 0}, "n_samples"),
        (bounds.informative_from, {"level": 0.0}, "level must be positive"),
        (bounds.measured_errors, {"learner": "x"}, "learner must be one of"),
        (bounds.LineDistribution, {"gamma": 1.0}, r"gamma must be in \(0, 1\)"),
        (bounds.LineDistribution, {"near_mass": 1.0}, "near_mass must be in"),
        (bounds.LineDistribution, {"flip": 0.5}, "flip must be in"),
        (bounds.LineDistribution, {"radius": 0.0}, "radius must be positive"),
        (bounds.LineDistribution(0.1, 0.5).expected_hinge, {"w": [math.nan]}, "w must be finite"),
        (bounds.comparator_slack, {"norm": 0.0}, "norm must be positive"),
        (bounds._sign_products, {"differing": 6}, "differing must be at most"),
        (bounds.product_errors, {"kind": "dense"}, "kind must be one of"),
        (bounds.fast_distortions, {"vectors": [[0.0]]}, "vectors must be nonzero"),
        (bounds.adjoint_growth, {"n_draws": 1}, "n_draws must be"),
        (dimension.sphere_error, {"w": [1.0, 2.0]}, "length of w must be at"),
        (dimension.dimension_curves, {"n_trials": 1}, "n_trials must be at least 2"),
        (dimension.dimension_curves, {"dimensions": (1,)}, "dimensions must be at least 2"),
        (learners.kernel_accuracies, {"name": "digits"}, "name must be one of"),
        (learners.kernel_accuracies, {"splits": 1}, "splits must be at least 2"),
        (learners.kernel_accuracies, {"methods": ("D = 7",)}, "method must be one of"),
        (learners.excess_table, {"runs": 1}, "runs must be at least 2"),
        (learners._linear_records, {"strength": 1.0}, "strength must be below 1"),
        (label_table, {"draws": 1}, "draws must be at least 2"),
        (label_table, {"epsilons": (0.0,)}, "epsilon must be positive"),
        (margin_audits._canary_scores, {"learner": "exact"}, "learner must be one of"),
        (margin_audits._canary_scores, {"n_canaries": 4}, "n_canaries must be at least 8"),
        (margin_audits.share_bound, {"shares": [0.1, 1.2], "confidence": 0.9}, "shares must lie"),
        (margin_audits.level_pvalue, {"drawn": [2.0]}, "error counts of candidates"),
        (margin_audits.detectable_budget, {"cells": 1}, "cells must be at least 2"),
        (margin_audits.detectable_budget, {"level": 1.0}, "level must be in"),
        # projection
        (additive.planted_problem, {"n_samples": 5}, "n_samples must be at least 6"),
        (additive.planted_problem, {"root_snr": -1.0}, "root_snr"),
        (additive.perturbation_ratios, {"instances": 0}, "instances"),
        (additive.correction_errors, {"epsilon": 0.0}, "epsilon"),
        (additive.compare_per_row, {"n_components": 4}, "n_components must be at least 5"),
        (additive.compare_per_row, {"epsilon": 0.0}, "epsilon must be positive"),
        (additive.compare_per_row, {"delta": 0.0}, "delta must be in"),
        (additive.compare_per_row, {"n_records": 0}, "n_records must be at least 1"),
        (projection_curves.row_curves, {"positions": (2, 2)}, "positions must increase"),
        (projection_curves.row_curves, {"positions": ()}, "positions must increase"),
        (projection_curves.row_curves, {"responses": ("none",)}, "responses must be one of"),
        (projection_curves.budget_curves, {"epsilons": (0.0,)}, "epsilons must be positive"),
        (projection_curves.design_problem, {"k": 0}, "k must be at least 1"),
        (projection_curves.setting, {"figure": "fig4"}, "figure must be one of"),
        (projection_curves.projection_sizes, {"k": 0}, "k must be at least 1"),
        (digits.pixel_table, {"n_features": 65}, "n_features must be at most 64"),
        (digits.digit_curves, {"n_draws": 0}, "n_draws must be at least 1"),
        (scaled_table, {"name": "iris"}, "name must be one of"),
        (entry_scan.uniform_scan, {"n_features": 300}, "must exceed n_features"),
        (naive.naive_projection_draws, {"n_components": 1}, "n_components must be at least 2"),
        (naive.naive_additive_draws, {"sigma": -1.0}, "sigma must be positive"),
        (naive.simulated_leakage, {"n_draws": 1}, "n_draws must be at least 2"),
        (naive.simulated_leakage, {"variance": -1.0}, "variance must be nonnegative"),
        # random_features
        (curves.feature_curves, {"figure": "fig9"}, "figure must be one of"),
        (curves.feature_curves, {"n_repeats": 1}, "n_repeats must be"),
        (curves.feature_curves, {"base": curves._setting("fig1", "text")}, "must state"),
        (curves.record_curves, {"figure": "fig1"}, "figure must be one of"),
        (data._draw_data, {"function": "f3"}, "function must be one of"),
        (data._f1, {"X": [[np.nan]]}, "must be finite"),
        (data._min_max, {"columns": [1.0, np.inf]}, "columns must be finite"),
        (data._min_max, {"groups": [0]}, "groups must have one entry per row"),
        (data._one_hot, {"omit": "colour"}, "omit must be one of"),
        (data.prepare, {"dataset": load_wine("bundled"), "colour": "rose"}, "colour must be one"),
        (data.prepare, {"bounds": {}}, "bounds must name age"),
        (data.sensitive_groups, {"feature": "age"}, "feature must be one of"),
        (data._fairness_data, {"labels": "z"}, "labels must be one"),
        (data._fairness_data, {"scaling": "z"}, "scaling must be"),
        (data._fairness_data, {"encoding": "z"}, "encoding must be"),
        (data._split, {"n_test": 3}, "below the group size"),
        (data._split, {"n_test": (1,), "groups": [0, 1]}, "one entry per group"),
        (duplicate_counts, {"y": [1.0, 2.0]}, "one entry per row"),
        (fairness.gap_curves, {"n_repeats": 1}, "n_repeats must be at least 2"),
        (fairness.error_gap_curves, {"noise_sds": (-1.0,)}, "noise_sds must be nonnegative"),
        (fairness.error_gap_curves, {"n_strata": 0}, "n_strata must be at least 1"),
        (frontier.frontier, {"n_components": 101}, "must be even"),
        (frontier.frontier, {"n_components": 40}, "at least 80"),
        (frontier.frontier, {"alphas": (0.0,)}, "alphas must be positive"),
        (frontier.frontier, {"settings": [(30, 0.0)]}, "epsilon must be positive"),
        (frontier.frontier, {"settings": [(0, 1.0)]}, "records must be"),
        (frontier.frontier, {"n_repeats": 1}, "n_repeats must be"),
        (frontier.frontier, {"gamma": -1.0}, "gamma must be"),
        (frontier.frontier, {"task": "cosine"}, "task must be one of"),
        (frontier.frontier, {"task": THREE}, "fewer than 3 records"),
        (frontier.noise_variance, {"bound": "z"}, "bound must be one of"),
        (noise_audits.interpolation_shortfall, {"n_components": 0}, "n_components must be"),
        (noise_audits._swap_sensitivities, {"y": [1.0]}, "in the span"),
        (noise_audits.nearest_distances, {"X": [[1.0], [1.0]]}, "two distinct rows"),
        (noise_audits.sensitivity_audit, {"n_records": 0}, "n_records must be"),
        (noise_audits.experiment_spectra, {"frequency_sd": 0.0}, "frequency_sd must be positive"),
        # sketching
        (models._factor_data, {"n_features": 3}, "n_features must be at least 4"),
        (models.pca_comparison, {"methods": ["oja"]}, "methods must be one of"),
        (models.moment_noise, {"frequencies": "hadamard"}, "frequencies must be one of"),
        (models.covariance_scale, {"delta": 0.1, "noise": "laplace"}, "delta must be 0 with Lapl"),
        (models.covariance_scale, {"delta": 0.0}, r"delta must be in \(0, 1\)"),
        (models.covariance_scale, {"noise": "cauchy"}, "noise must be one of"),
        (models._noisy_covariance, {"X": [[math.nan]]}, "X must be finite"),
        (models._leading_components, {"moments": np.ones((2, 3))}, "moments must be square"),
        (models._leading_components, {"n_components": 3}, "n_components must be at most 2"),
        (clusters.kmeans_comparison, {"n_samples": 0}, "n_samples must be at least 1"),
        (clusters._digits_problem, {"images": [[np.nan, 1.0]]}, "images must be finite"),
        (decoders.search_gap, {"n_trials": 0}, "n_trials must be at least 1"),
        (sketch_audits.audit_estimator, {"label": "gmm"}, "label must be one of"),
        (sketch_audits.audit_estimator, {"label": "pca-laplace", "runs": 0}, "runs must be at le"),
        (sketch_audits._quadratic_release, {"epsilon": 0.0}, "epsilon must be"),
        (sketch_audits._quadratic_release, {"delta": 1.0}, "delta must be"),
        (sketch_audits._quadratic_release, {"size": 0}, "size must be"),
        (sketch_audits._quadratic_release, {"noise_factor": 0.0}, "noise_factor must be"),
        (sketch_audits._quadratic_release, {"X": [[np.nan, 0.0]]}, "X must be finite"),
        (sketch_audits._quadratic_release, {"frequencies": np.ones((3, 2))}, "must have one row"),
        (sketch_audits.audit_replacement, {"frequencies": [[1.0]]}, "dimension of frequencies"),
        (recovery.noisy_sketches, {"direction": np.zeros(5)}, "direction must be a nonzero"),
        (recovery.noisy_sketches, {"direction": [1.0, 2.0]}, "direction must be a"),
        (recovery.noisy_sketches, {"ratios": [-0.1]}, "ratios must be nonnegative"),
        (recovery.noisy_sketches, {"sketch": np.full(5, np.nan)}, "sketch must be finite"),
        (recovery.acceptable_nsr, {"n_components": 0}, "n_components must be at least 1"),
        (recovery.expected_to_succeed, {"nsr": -1.0}, "nsr must be"),
        (recovery.noise_grid, {"n_trials": 0}, "n_trials"),
        (recovery.sum_noise_scale, {"n_components": 0}, "n_components must be"),
        (recovery.private_means, {"sizes": [6]}, "sizes must be at most 5"),
        (recovery.private_means, {"sketch": np.full(5, np.nan)}, "sketch must be finite"),
        (recovery.size_curves, {"n_samples": [0]}, "n_samples must be at least 1"),
        (schematics.mask_run, {"n_kept": 5}, "n_kept must be at most 4"),
        (schematics.stage_sizes, {"n_samples": 0}, "n_samples must be at least 1"),
        (sketch_tables.opposite_pair, {"frequencies": np.ones((2, 3))}, "full column rank"),
        (sketch_tables.sensitivity_table, {"n_features": 0}, "n_features must"),
        (sketch_tables.replacement_curves, {"design": "dct"}, "design must be one of"),
        (sketch_tables.alignment_curves, {"n_features": 0}, "n_features must be"),
        (sketch_tables.fourier_cells, {"law": mask_law("data", 3, alpha=0.5)}, "law must have a f"),
        (sketch_tables.quadratic_cells, {"law": mask_law("uniform", 4, n_kept=2)}, "4 columns"),
    ],
    TypeError: [
        (neighbours.wave_sample, {"rng": 0, "task": "regression"}, "rng must be"),
        (audits.audit_answer, {"rng": None}, "rng must be a numpy.random.Generator"),
        (additive.additive_errors, {"rng": 0}, "Generator"),
        (projection_curves.projection_sizes, {"k": 1.5}, "k must be an integer"),
        (digits.pixel_table, {"rng": 0}, "rng must be"),
        (digits._augment, {"rng": None}, "rng must be"),
        (naive.naive_additive_draws, {"rng": None}, "rng must be"),
        (naive.simulated_leakage, {"rng": 0}, "rng must be"),
        (data._split, {"n_test": 1, "rng": None}, "rng must be"),
        (models._noisy_covariance, {"X": [[1j]]}, "X must be real"),
        (models._noisy_covariance, {"delta": 0.1, "rng": 1}, "rng must be"),
        (sketch_audits._quadratic_release, {"rng": 3}, "rng must be"),
        (schematics.example_data, {"data_rng": 0}, "rng must be"),
    ],
    RuntimeError: [
        (comparison.compare, {"settings": [(361, 1.0)]}, "fewer than 361 records for digits"),
        (audits.detectable_loss, {"runs": 3}, "runs=3 are too few"),
    ],
    np.linalg.LinAlgError: [
        (naive.simulated_leakage, {"tables": [np.ones((4, 2))] * 2}, "positive definite"),
    ],
}


@pytest.mark.parametrize(
    ("error", "call", "change", "message"),
    [(error, *case) for error, cases in CASES.items() for case in cases],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_bad_input_is_named(
    error: type[Exception], call: Callable[..., Any], change: dict[str, Any], message: str
) -> None:
    required = {
        name: GOOD[name]
        for name, told in inspect.signature(call).parameters.items()
        if told.default is told.empty and name in GOOD
    }
    with pytest.raises(error, match=message):
        call(**{**required, **FOR_ONE.get(call, {}), **change})
