"""Arguments that are none: one or two changes of a good call, and an error that names them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from dplit.advice import clusters
from dplit.papers.definition import finite_delta
from dplit.papers.sketching import (
    amplification,
    budget,
    enumeration,
    inverse_count,
    joint_release,
    knorm,
    masks,
    mixture_densities,
    noise_to_signal,
    nonresonance,
    nsr_regimes,
    privacy,
    quadratic,
    quadratic_spending,
    signal_constant,
    size_rule,
    subsampled_gaussian,
    subsampled_laplace,
    subsampled_quadratic,
    subsampled_sketch,
    without_replacement,
)
from dplit.sketching import additive_noise, plans, sensitivity
from dplit.sketching.decoders import _quantized, clompr, kmeans_cost, low_rank, mixtures
from dplit.sketching.sketches import SketchMap, sketch, sketch_persons
from dplit_studies.sketching import clompr_reference, gaussian_simulation, nsr_simulation, searches
from dplit_studies.sketching.mixture_laws import MixtureLaw
from tests.arguments import good_arguments, keeps_imaginary_part

NAN, INF = math.nan, math.inf
ONE = np.ones((1, 1))
REAL = {"sketch_map": SketchMap("quadratic", np.ones((3, 12))), "noise": "cube"}
WITHOUT = {"sampling": "without_replacement"}
FOURIER = SketchMap("fourier", np.ones((3, 12)))
QUANTIZED = SketchMap("quantized", np.ones((3, 12)), np.zeros(12))
DATA = masks.mask_law("data", 4, alpha=0.5)
BERNOULLI = masks.mask_law("bernoulli", 30, alpha=0.5)
MIXTURE = MixtureLaw(3, 5, separation=2.0, frequency_variance=0.3)
SPLIT = partial(plans.plan_release, split=0.5)
COST = joint_release.CountCost(10, 320, 5.0, 0.1, 1e-8)

#: One good value for each argument that has no default.
GOOD: dict[str, Any] = {
    **dict.fromkeys(("beta", "budget", "cluster_std", "count_scale", "epsilon", "floor"), 1.0),
    **dict.fromkeys(
        ("frequency_std", "frequency_variance", "kink", "noise_variance", "nsr", "nsr_max"), 1.0
    ),
    **dict.fromkeys(("radius", "scale", "sensitivity", "separation", "sigma", "signal"), 1.0),
    **dict.fromkeys(("alpha", "fraction", "sampling_rate"), 0.5),
    **dict.fromkeys(("n_features", "n_kept", "n_starts", "norm", "weight"), 1),
    **dict.fromkeys(("max_coefficient", "n", "n_draws", "n_records", "n_samples", "n_turns"), 9),
    **dict.fromkeys(("c0", "energy_ratio", "n_clusters", "n_min", "n_trials"), 2),
    **dict.fromkeys(("features", "frequencies", "masks"), np.ones((2, 4))),
    **dict.fromkeys(("first", "second"), (0.5, 0.5)),
    **dict.fromkeys(("mask_rng", "rng"), np.random.default_rng(0)),
    **dict.fromkeys(("noise_draws", "records", "differences"), ONE),
    **dict.fromkeys(("feature", "neighbour"), ONE[0]),
    **dict.fromkeys(("targets", "y"), np.zeros(2)),
    "X": np.ones((2, 3)),
    "bounds": (-1.0, 1.0),
    "centers": [[0.0], [1.0]],
    "centroids": [[0.0]],
    "delta": 1e-5,
    "domain": [0.0, 1.0],
    "estimator": np.asarray,
    "indices": [[0], [1]],
    "kind": "fourier",
    "law": masks.mask_law("uniform", 4, n_kept=2),
    "moments": inverse_count._InverseMoments(1.0, 0.0, 0.0),
    **dict.fromkeys(("n_components", "feature_energy", "signal_energy"), 8),
    "neighboring": "add_remove",
    "noise": "laplace",
    "points": np.ones((1, 4)),
    "population": np.ones((5, 4)),
    "query": np.sum,
    "setting": budget.Setting(1e4, 0.1, 320, 5.0),
    "sketch_map": FOURIER,
    "value": [0.0],
    "values": [1.0, 2.0],
    **dict.fromkeys(("taken", "x"), (1, 0)),
}
DECODED = {"frequencies": np.ones((3, 40)), "sketches": np.ones(40), "sketch": np.ones(40)}
FOR_ONE: dict[Any, dict[str, Any]] = {
    clusters.recommend: {"n": 100, "d": 2, "k": 3},
    inverse_count.floored_inverse: {"y": [1.0]},
    inverse_count.unbiased_inverse: {"y": [1.0]},
    clompr.decode_kmeans: DECODED,
    mixtures.decode_mixture: {"z": np.ones(10), "frequencies": np.ones((2, 10)), "n_clusters": 1},
    mixtures.gmm_risk: {"X": [[0.0]], "weights": [1.0], "means": ONE, "covariances": ONE},
    low_rank.compressive_pca: {
        "z": np.ones(10),
        "frequencies": np.ones((3, 10)),
        "n_components": 1,
    },
    clompr_reference.reference_decode: DECODED | {"n_clusters": 3},
    clompr_reference.refine_kmeans: DECODED | {"centroids": np.ones((1, 3)), "weights": [1.0]},
    subsampled_sketch.hybrid_sum: {"noise": np.zeros(4)},
    without_replacement.sample_log_density: {"points": [[0.0]], "features": [[1.0]]},
    gaussian_simulation.simulate_released_nsr: {"signal": [1.0]},
}

#: A function, what is changed in its good call, and what the error says.
BAD_VALUES: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (clusters.recommend, {"n": 0}, "n must be"),
    (clusters.recommend, {"d": 0}, "d must be"),
    (clusters.recommend, {"k": 1}, "k must be"),
    (clusters.recommend, {"separation": 0.0}, "separation must be positive"),
    (clusters.recommend, {"epsilon": -1.0}, "epsilon must be positive"),
    (clusters.recommend, {"delta": 0.5}, "delta must be 0 or in"),
    (clusters.recommend, {"delta": 1e-15}, "delta must be 0 or in"),
    (clusters.recommend, {"delta": 1.5}, "delta must be"),
    (inverse_count.unbiased_inverse, {"scale": 0.0}, "scale must be positive"),
    (inverse_count.unbiased_inverse, {"n_min": -1.0}, "n_min must be positive"),
    (inverse_count.floored_inverse, {"y": [NAN]}, "y must be finite"),
    (inverse_count.floored_inverse, {"floor": 0.0}, "floor must be positive"),
    (inverse_count.cramer_rao_bound, {"n": 0.0}, "n must be positive"),
    (inverse_count.chapman_robbins_bound, {"n": 4.0}, "scale must be below n / 4"),
    (inverse_count.inverse_moments, {"kink": 0.0}, "kink must be positive"),
    (inverse_count.released_nsr, {"nsr": -0.1}, "nsr must be nonnegative"),
    *(
        (function, {"setting": budget.Setting(*numbers)}, message)
        for function in (budget.best_fraction, budget.split_nsr)
        for numbers, message in (
            ((0.0, 1.0, 2, 1.0), "n must be positive"),
            ((1.0, -1.0, 2, 1.0), "epsilon must be positive"),
            ((1.0, 1.0, 0, 1.0), "n_components must be at least 1"),
            ((1.0, 1.0, 2, 0.5), "c0 must be at least 1"),
            ((1.0, 1.0, 2, 1.0, 0.0), r"alpha must be in \(0, 1\]"),
            ((1.0, 1.0, 2, 1.0, 1.0, 0.0), "count_factor must be positive"),
        )
    ),
    *((budget.split_nsr, {"fraction": g}, "fraction must be in") for g in (0.0, 1.0, -0.1)),
    (budget.printed_asymptote, {"n": 5.0, "epsilon": 0.1}, r"n \* epsilon must be above 1"),
    (budget.limit_fraction, {"c0": 0.9}, "c0 must be at least 1"),
    (joint_release.joint_deviations, {"weight": 0.0}, "weight must be"),
    (joint_release.joint_deviations, {"delta": 2.0}, "delta must be"),
    (joint_release.CountCost, {"n_samples": 0}, "n_samples must be"),
    (joint_release.CountCost, {"energy_ratio": 0.5}, "energy_ratio must be"),
    (joint_release.CountCost, {"delta": 0.0}, "delta must be"),
    (COST.laplace, {"share": 1.0}, "share must be"),
    (privacy.laplace_loss, {"scale": 0.0}, "scale must be"),
    (privacy.laplace_epsilon, {"sensitivity": -1.0}, "sensitivity must be"),
    (privacy.split_epsilon, {"count_scale": 0.0}, "count_scale"),
    (finite_delta, {"first": [0.5, 0.6]}, "first must be nonneg"),
    (finite_delta, {"second": [1.0]}, "equally many outcomes"),
    (privacy.noise_constant, {"epsilon": 0.0}, "epsilon must be"),
    (privacy.analytic_sigma, {"delta": 1.0}, "delta must be"),
    (privacy.sigma_limit, {"delta": 0.0}, "delta must be"),
    (privacy.split_delta, {"epsilon": 0.1}, "epsilon must be at least 1 / count_scale"),
    (nonresonance.relation_gap, {"max_coefficient": 0}, "max_coefficient"),
    (nonresonance.relation_gap, {"frequencies": np.ones(9)}, "at most 1e7"),
    (nonresonance.kronecker_gap, {"frequencies": [0.0, 1.0]}, "targets must"),
    (nonresonance.kronecker_gap, {"frequencies": [1.0]}, "targets must"),
    (nonresonance.fourier_l1_ratio, {"records": [1.0]}, "records must have 2 axes"),
    (nonresonance.fourier_distance_ratio, {"differences": [[INF]]}, "must be finite"),
    (searches.alignment_search, {"norm": 3}, "norm must be 1 or 2"),
    (searches.alignment_search, {"radius": 0.0}, "radius must be positive"),
    (searches.alignment_search, {"n_starts": 0}, "n_starts must be"),
    (plans.map_sensitivity, REAL, "noise must be one of"),
    *((SPLIT, {"epsilon": e}, f"^epsilon must.*={e}$") for e in (INF, NAN, -1.0)),
    (SPLIT, {"epsilon": 0.0}, "epsilon must be positive"),
    (plans.plan_release, {}, "split must be given for count='split'"),
    (SPLIT, {"split": 1.0}, r"split must be in \(0, 1\)"),
    (SPLIT, {"count": "withheld"}, "split must be None"),
    (plans.plan_release, {"count": "public"}, "must go with neighboring='replace_one'"),
    (SPLIT, {"neighboring": "replace_one"}, "must go with neighboring='add_remove'"),
    (SPLIT, {"delta": 1e-5}, "delta must be 0 for laplace"),
    (SPLIT, {"noise": "gaussian"}, r"delta must be in \(0, 1\)"),
    (SPLIT, {"noise": "uniform"}, "noise must be one of"),
    (SPLIT, {"sensitivity": -1.0}, "sensitivity must be positive"),
    (SPLIT, {"n_shares": 0}, "n_shares must be at least 1"),
    (SPLIT, {"noise": "cube", "n_shares": 2}, "n_shares must be 1 for cube"),
    (plans.plan_release, {**REAL, "count": "withheld", "sensitivity": 1}, "noise .* a real map"),
    (additive_noise.additive_mechanism, {"value": [NAN]}, "finite"),
    (additive_noise.additive_mechanism, {"scale": 0.0}, "scale must be"),
    (additive_noise.additive_mechanism, {"noise": "gaussian", "scale": -1.0}, "scale must"),
    (additive_noise.noisy_sum, {"noise": "cauchy"}, "noise must be one of"),
    (additive_noise.noisy_sum, {"features": [1.0]}, "features must have 2 axes"),
    (sensitivity.spectral_sensitivity, {"frequencies": np.ones(3)}, "frequencies must have 2 axes"),
    (sensitivity.s4_certificate, {"frequencies": np.full((2, 2), NAN)}, "must be finite"),
    (quadratic.replace_l1_exact, {"frequencies": np.ones((2, 21))}, "at most 20 columns"),
    (quadratic.s4_ascent, {"n_starts": 0}, "n_starts must be"),
    (searches.replace_search, {"norm": 3}, "norm must be one"),
    (enumeration.real_norm, {"norm": 3}, "norm must be 1 or 2"),
    (enumeration.real_norm, {"features": [NAN]}, "must be finite"),
    (enumeration.sum_sensitivity, {"features": [1.0, 2.0]}, "features must have 2 axes"),
    (sensitivity.sketch_sensitivity, {"kind": "cosine"}, "kind must be one of"),
    (sensitivity.sketch_sensitivity, {"neighboring": "swap"}, "neighboring must be one of"),
    (enumeration.enumerated_sensitivity, {"domain": np.arange(50.0)}, "n_records must leave"),
    (enumeration.enumerated_sensitivity, {"n_records": 1}, "n_records must be at least 2"),
    (knorm._body_norm, {"vectors": [1.0], "noise": "ball"}, "noise must be one of"),
    (knorm.noise_energy, {"n_components": 0}, "n_components must be"),
    (knorm.noise_energy, {"epsilon": 0.0}, "epsilon must be"),
    (knorm.knorm_loss, {"feature": [[1.0]]}, "feature must have 1 axes"),
    (knorm.pure_noise, {"epsilon": -1.0}, "epsilon must be"),
    (knorm.pure_noise, {"size": 0}, "size must be"),
    (sensitivity.noise_variance, {"noise": "cauchy"}, "noise must be one of"),
    (
        sensitivity.noise_variance,
        {"noise": "cube", "complex_valued": False},
        "complex_valued must be True",
    ),
    (sketch, {"X": np.ones((3, 2))}, r"chunk 0 of X must have shape \(n, 3\)"),
    (sketch, {"X": np.ones(3)}, "chunk 0 of X must have shape"),
    (sketch, {"X": [np.ones((2, 3)), np.ones((2, 4))]}, "chunk 1 of X must have shape"),
    (sketch, {"block_rows": 0}, "block_rows must be at least 1"),
    (sketch, {"n_jobs": 0}, "n_jobs"),
    (sketch_persons, {"persons": [1]}, r"persons must have shape \(2,\), got shape \(1,\)"),
    (SketchMap, {"kind": "cosine"}, "kind must be one of"),
    (SketchMap, {"kind": "quantized"}, "dither must be given for"),
    (SketchMap, {"dither": np.ones(1)}, "dither must be None for"),
    (
        SketchMap,
        {"kind": "quantized", "dither": np.ones(1)},
        "dither must have one entry per frequency",
    ),
    (SketchMap, {"frequencies": [[INF]]}, "frequencies must be finite"),
    *((SketchMap, {"bound": b}, "bound must be") for b in (0.0, -1.0, [1.0, 2.0, 3.0], INF, NAN)),
    (SketchMap, {"kind": "quadratic", "bound": 1.0}, "bound must be None for kind='quadratic'"),
    (
        SketchMap,
        {"frequencies": [[1e300]], "bound": 1e300},
        "bound times frequencies must be below 1e300",
    ),
    (FOURIER.column_slice, {"n_components": 13}, "n_components must be at most 12"),
    *(
        (chosen.transform, {"X": ONE}, "X must have 3 columns")
        for chosen in (FOURIER, QUANTIZED, REAL["sketch_map"])
    ),
    (size_rule.laplace_nsr, {"n_components": 0}, "n_components must be"),
    (size_rule.laplace_nsr, {"budget": 0.0}, "budget must be"),
    (size_rule.laplace_nsr, {"signal": -1.0}, "signal must be"),
    (size_rule.required_records, {"n_clusters": 0}, "n_clusters must be"),
    (size_rule.required_records, {"epsilon": 0.0}, "epsilon must be"),
    (size_rule.size_range, {"budget": -1.0}, "budget must be"),
    (size_rule.least_budget, {"factor": 0.0}, "factor must be"),
    (noise_to_signal.noise_to_signal, {"n_samples": 0}, "n_samples must be at least 1"),
    (noise_to_signal.noise_to_signal, {"n_samples": 1, **WITHOUT}, "n_samples must be at least 2"),
    (noise_to_signal.noise_to_signal, {"signal_energy": 0.0}, "signal_energy must be positive"),
    (
        noise_to_signal.noise_to_signal,
        {"noise_variance": -1.0},
        "noise_variance must be nonnegative",
    ),
    (noise_to_signal.noise_to_signal, {"alpha": 0.0}, r"alpha must be in \(0, 1\]"),
    (noise_to_signal.noise_to_signal, {"beta": 1.5}, r"beta must be in \(0, 1\]"),
    (noise_to_signal.noise_to_signal, {"reference": "z"}, "reference must be one of"),
    (noise_to_signal.noise_to_signal, {"sampling": "z"}, "sampling must be one of"),
    (noise_to_signal.without_replacement_variance, {"n_kept": 3}, "n_kept must be at most 2"),
    (noise_to_signal.without_replacement_variance, {"values": [1.0]}, "n at least 2"),
    (nsr_regimes.contributions, {"c0": 0.5}, "c0 must be at least 1"),
    (nsr_regimes.data_sampling_ratio, {"c0": 0.5}, "c0 must be at least 1"),
    (nsr_regimes.needed_samples, {"nsr_max": 0.0}, "nsr_max must be positive"),
    (signal_constant.mixture_constant, {"cluster_std": -1.0}, "cluster_std must be nonnegative"),
    (
        signal_constant.mixture_constant,
        {"weights": [0.5, 0.6]},
        "weights must be 2 positive numbers with sum 1",
    ),
    (
        nsr_simulation._taken,
        {"beta": 0.05, "count": 3, **WITHOUT},
        "beta . n_samples must be a positive integer",
    ),
    (kmeans_cost.sse, {"X": [[NAN]]}, "X must be finite"),
    (kmeans_cost.sse, {"X": [[1.0, 2.0]]}, "centroids must have shape"),
    (kmeans_cost.sse, {"X": ONE, "centroids": [0.0]}, "centroids must have shape"),
    (kmeans_cost.sse, {"X": np.empty((0, 2)), "centroids": [[0.0, 0.0]]}, "X must not be empty"),
    (clompr_reference.lloyd, {"n_starts": 0}, "n_starts must be at"),
    *(
        (
            _quantized.dequantized_sketch,
            {"sketch": [1.0, 1j], "dither": d},
            "dither must match sketch",
        )
        for d in ([0.0, 1.0, 2.0], 0.5, np.zeros((3, 2)))
    ),
    (clompr.decode_kmeans, {"sketches": np.full(40, NAN + 0j)}, "sketches must be finite"),
    (clompr.decode_kmeans, {"sketches": np.diag([1] * 39 + [INF])}, "sketches must be finite"),
    (clompr.decode_kmeans, {"sketches": np.ones((2, 39))}, r"sketches must have shape"),
    (clompr.decode_kmeans, {"sketches": np.zeros(40)}, "must not be zero"),
    (clompr.decode_kmeans, {"frequencies": np.ones((2, 3, 40))}, "sketches must have shape"),
    (clompr.decode_kmeans, {"frequencies": np.ones(40)}, "frequencies must be a real"),
    (clompr.decode_kmeans, {"frequencies": 1j * np.ones((3, 40))}, "frequencies must be a real"),
    (clompr.decode_kmeans, {"n_clusters": 21}, r"n_clusters \(d \+ 1\) <= 2 m.*84 unknowns and 80"),
    (clompr.decode_kmeans, {"n_clusters": 0}, "n_clusters must be at least 1"),
    (clompr.decode_kmeans, {"bounds": (1.0, 1.0)}, "bounds must be increasing"),
    (clompr.decode_kmeans, {"bounds": (0.0, np.ones(2))}, "bounds must be numbers or hold"),
    (clompr.decode_kmeans, {"bounds": 3.0}, "bounds must be a pair"),
    (clompr.decode_kmeans, {"n_restarts": 0}, "n_restarts must be at least 1"),
    (clompr.decode_kmeans, {"dtype": "float16"}, "dtype must be one of"),
    (clompr_reference.reference_decode, {"sketch": np.full(40, NAN)}, "sketch must be finite"),
    (clompr_reference.reference_decode, {"n_restarts": 0}, "n_restarts must be at least 1"),
    (
        clompr_reference.reference_decode,
        {"sketch": np.ones(4), "frequencies": np.ones((2, 4))},
        r"n_clusters must satisfy .* <= 2 m = 8, got n_clusters=3",
    ),
    (clompr_reference.reference_decode, {"sketch": np.ones(39)}, r"sketch must have \d+ entries"),
    (clompr_reference.refine_kmeans, {"frequencies": np.ones(40)}, "frequencies must have 2 axes"),
    (mixtures.decode_mixture, {"z": np.ones(9)}, "z must have 10 entries"),
    (
        mixtures.decode_mixture,
        {"n_clusters": 5},
        "at least 13 entries for 5 components in dimension 2",
    ),
    (mixtures.decode_mixture, {"z": np.full(10, NAN)}, "z must be finite"),
    (mixtures.decode_mixture, {"bounds": None}, "bounds must be given"),
    (mixtures.decode_mixture, {"min_variance": 0.0}, r"min_variance must be in \(0, 1\)"),
    (mixtures.decode_mixture, {"n_starts": 0}, "n_starts must be at least 1"),
    (mixtures.gmm_risk, {"weights": [0.5]}, "weights must be nonnegative with sum 1"),
    (mixtures.gmm_risk, {"means": np.ones((2, 1))}, r"means must have shape \(1, 1\)"),
    (mixtures.gmm_risk, {"covariances": np.ones((1, 2))}, "covariances must have shape"),
    (mixtures.gmm_risk, {"covariances": -ONE}, "covariances must be positive"),
    (mixtures.gmm_risk, {"covariances": -ONE[None]}, "covariances must be positive definite"),
    (low_rank.compressive_pca, {"z": np.ones(9)}, "z must have 10 entries"),
    (low_rank.compressive_pca, {"n_components": 4}, "n_components must be at most 3"),
    (
        low_rank.compressive_pca,
        {"z": np.ones(5), "frequencies": np.ones((3, 5)), "n_components": 3},
        "at least 6 entries for 3 components in dimension 3",
    ),
    (low_rank.compressive_pca, {"z": np.full(10, NAN)}, "z must be finite"),
    (low_rank.pca_risk, {"components": np.ones((2, 1))}, "components must have 3 rows"),
    (MixtureLaw, {"n_clusters": 0}, "n_clusters must be at least 1"),
    (MixtureLaw, {"separation": 0.0}, "separation must be"),
    (MixtureLaw, {"frequency_variance": -1.0}, "frequency_variance must be"),
    (MIXTURE.draw, {"n_samples": 0}, "n_samples must be at least 1"),
    (MIXTURE.draw, {"dtype": "int8"}, "dtype must be one of"),
    *(
        (masks.mask_law, arguments, message)
        for arguments, message in (
            ({"scheme": "uniform", "n_kept": 9}, "n_kept must be at most n_components=8"),
            ({"scheme": "uniform", "n_kept": 0}, "n_kept must be at least 1"),
            ({"scheme": "bernoulli", "alpha": 0.0}, r"alpha must be in \(0, 1\]"),
            ({"scheme": "data", "alpha": NAN}, "alpha must not be NaN"),
            ({"scheme": "data"}, "alpha must be given for"),
            ({"scheme": "uniform", "alpha": 0.5, "n_kept": 4}, "alpha must be given for"),
            ({"scheme": "uniform"}, "n_kept must be given for"),
            ({"scheme": "block", "n_kept": 4}, "block must be given for"),
            ({"scheme": "block", "n_kept": 4, "block": 3}, "block must divide"),
            ({"scheme": "block", "n_kept": 3, "block": 2}, "block must divide"),
            ({"scheme": "odd", "n_kept": 3}, "scheme must be one of"),
        )
    ),
    (masks.draw_indices, {"law": BERNOULLI}, "fixed number of ones"),
    (masks.mask_support, {"law": BERNOULLI}, "support must have at most"),
    (amplification.amplified_epsilon, {"epsilon": -1.0}, "epsilon must be nonneg"),
    (amplification.base_epsilon, {"sampling_rate": 0.0}, "sampling_rate must be in"),
    (amplification.fourier_scale, {"epsilon": 0.0}, "epsilon must be positive"),
    (subsampled_gaussian.fourier_delta, {}, "law must be 'bernoulli' or 'data'"),
    (subsampled_gaussian.fourier_delta, {"law": DATA, "sigma": -1.0}, "sigma must be positive"),
    (
        subsampled_gaussian.fourier_delta,
        {"law": DATA, "direction": "up"},
        "direction must be one of",
    ),
    (subsampled_gaussian.fourier_sigma, {"law": DATA, "epsilon": 0.0}, "epsilon must be positive"),
    (subsampled_gaussian.density_excess, {"sigma": 0.0}, "sigma must be positive"),
    (subsampled_gaussian.fourier_q2, {"law": DATA, "neighboring": "x"}, "neighboring must"),
    (gaussian_simulation.simulated_sigma, {"law": DATA}, "law must be of scheme 'uniform'"),
    (subsampled_laplace.record_epsilon, {"features": ONE}, "features must have 4 columns"),
    (subsampled_laplace.record_epsilon, {"scale": 0.0}, "scale must be positive"),
    (subsampled_laplace.record_epsilon, {"direction": "up"}, "direction must be one of"),
    (subsampled_laplace.masked_norms, {"masks": np.full((2, 4), 2)}, "masks must be binary"),
    (subsampled_laplace.masked_norms, {"alpha": 0.0}, r"alpha must be in \(0, 1\]"),
    (subsampled_laplace.masked_norms, {"other": np.ones((3, 4))}, "other must have"),
    (subsampled_laplace._magnitudes, {"features": [[NAN]]}, "features must be finite"),
    (subsampled_laplace._magnitudes, {"norm": 3}, "norm must be 1 or 2"),
    (
        mixture_densities.far_point,
        {"features": [1.0], "distance": 0.0},
        "distance must be positive",
    ),
    (mixture_densities.log_density, {"features": [[1.0, 2.0]]}, "features must have 4"),
    (mixture_densities.log_density, {"points": np.ones((1, 5))}, "points must have 4 columns"),
    (
        mixture_densities.log_density,
        {"features": np.ones((9, 4))},
        "masks of all records must have at most",
    ),
    (
        subsampled_quadratic.quadratic_q1,
        {"frequencies": np.eye(2)},
        "frequencies must have 4 columns",
    ),
    (
        subsampled_quadratic.masked_quartic,
        {"frequencies": np.eye(2)},
        "frequencies must have 4 columns",
    ),
    (subsampled_quadratic.quadratic_q1, {"neighboring": "x"}, "neighboring must be"),
    (
        quadratic_spending.lemma20_ratio,
        {"frequencies": np.zeros((2, 4))},
        "norm of frequencies must be positive",
    ),
    (searches.quadratic_epsilon, {"scale": 0.0}, "scale must be positive"),
    (
        subsampled_quadratic.replaced_loss,
        {"x": [2.0, 0.0]},
        "x must have 2 entries and norm at most 1",
    ),
    (subsampled_quadratic.replaced_loss, {"y": [0.0]}, "y must have 2 entries"),
    (subsampled_sketch.subsampled_sum, {"alpha": 0.0}, r"alpha must be in \(0, 1\]"),
    (subsampled_sketch.subsampled_sum, {"masks": np.full((2, 4), 2)}, "masks must be binary"),
    (subsampled_sketch.subsampled_sum, {"masks": np.ones((1, 4))}, "masks must be binary of shape"),
    (
        subsampled_sketch.subsampled_sum,
        {"features": np.full((2, 4), NAN)},
        "features must be finite",
    ),
    (subsampled_sketch.subsampled_sum, {"features": np.ones((0, 4))}, "features must not be empty"),
    (
        subsampled_sketch.hybrid_sum,
        {"taken": [1, 0, 1]},
        "taken and noise must have 2 and 4 entries",
    ),
    (subsampled_sketch.hybrid_sum, {"beta": 0.0}, r"beta must be in \(0, 1\]"),
    (subsampled_sketch.hybrid_sum, {"alpha": 0.0}, r"alpha must be in \(0, 1\]"),
    (
        subsampled_sketch.subsampled_map_sum,
        {"indices": [[0], [12]]},
        "indices must be integers from 0 to 11",
    ),
    (
        subsampled_sketch.subsampled_map_sum,
        {"indices": [[0, 1], [4, 4]]},
        "indices must be different in every row",
    ),
    (
        subsampled_sketch.subsampled_map_sum,
        {"X": np.ones((1, 3)), "indices": np.arange(13)[None] % 12},
        "at most 12, got 13 in a row",
    ),
    (subsampled_sketch.subsampled_map_sum, {"indices": [[0.5], [1.0]]}, "indices must be integers"),
    (subsampled_sketch.subsampled_map_sum, {"X": np.ones((2, 2))}, "X must have 3 columns"),
    (subsampled_sketch.noisy_subsampled_sum, {"scale": -1.0}, "scale must be positive"),
    (without_replacement.sample_scale, {"epsilon": 0.0}, "epsilon must"),
    (without_replacement.sample_scale, {"sampling_rate": 0.0}, "sampling_rate"),
    (without_replacement.sample_scale, {"sensitivity": 0.0}, "sensitivity must"),
    (without_replacement.sample_epsilon, {"scale": 0.0}, "scale must be"),
    (without_replacement.sample_log_density, {"n_kept": 2}, "n_kept must be at most 1"),
    (without_replacement.sample_log_density, {"points": [[0.0, 1.0]]}, "points must have 1"),
    (
        without_replacement.sample_log_density,
        {"features": np.ones((40, 1)), "n_kept": 20},
        "at most 65536",
    ),
]
BAD_TYPES: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (clusters.recommend, {"n": 10.0}, "n must be an integer"),
    (size_rule.least_budget, {"n_clusters": 1.5}, "n_clusters must be an integer"),
    (gaussian_simulation.simulate_released_nsr, {"rng": 0}, "rng must be"),
    (searches.alignment_search, {"rng": 1}, "rng must be"),
    (additive_noise.additive_mechanism, {"noise": "gaussian", "rng": 0}, "rng must be"),
    (sensitivity.replace_l1_bound, {"frequencies": np.ones((2, 2)) * 1j}, "must be real"),
    (searches.replace_search, {"rng": 0}, "rng must be"),
    (quadratic.s4_ascent, {"max_iter": 1.5}, "max_iter must be"),
    (sketch, {"X": np.ones((2, 3), complex)}, "must be real"),
    (sketch, {"X": np.array([["a", "b", "c"]])}, "chunk 0 of X must be numeric"),
    (sketch, {"X": 3.0}, "must be an array or an iterable"),
    (sketch, {"sketch_map": np.ones((3, 4))}, "sketch_map must be a SketchMap"),
    (sketch_persons, {"persons": [1.0, 2.0]}, "persons must hold integers up to int64, or text"),
    (sketch_persons, {"persons": ["a", None]}, "persons must hold integers up to int64, or text"),
    (kmeans_cost.sse, {"X": [[1j]]}, "X must be real"),
    (signal_constant.mixture_constant, {"weights": [0.5 + 1j, 0.5 - 1j]}, "weights must be real"),
    (nsr_regimes.subsampling_curve, {"rates": [1j], "sampled": "data"}, "rates must be real"),
    (clompr_reference.lloyd, {"rng": 0}, "rng must be"),
    (clompr.decode_kmeans, {"sketches": "z"}, "sketches must be numeric"),
    (clompr.decode_kmeans, {"n_clusters": 2.0}, "n_clusters must be an integer"),
    (clompr.decode_kmeans, {"rng": 0}, "rng must be a numpy.random.Generator"),
    (clompr_reference.reference_decode, {"rng": 1}, r"rng must be a numpy\.random\.Generator"),
    (mixtures.decode_mixture, {"rng": 0}, "rng must be"),
    (low_rank.compressive_pca, {"z": np.ones(10) * 1j}, "z must be real"),
    (low_rank.compressive_pca, {"rng": 0}, "rng must be"),
    (MixtureLaw, {"n_features": 2.5}, "n_features must be an integer"),
    (MIXTURE.frequencies, {"rng": 0}, "rng must be"),
    (masks._draw_masks, {"rng": 0}, "rng must be"),
]


@pytest.mark.parametrize(
    ("error", "function", "changes", "message"),
    [(ValueError, *case) for case in BAD_VALUES] + [(TypeError, *case) for case in BAD_TYPES],
)
def test_a_bad_argument_is_named(
    error: type[Exception], function: Callable[..., Any], changes: dict[str, Any], message: str
) -> None:
    """Kills a check that is left out, and an error that names another argument."""
    known = GOOD | FOR_ONE.get(function, {}) | changes
    needed = inspect.signature(function).parameters.items()
    names = {name for name, one in needed if one.default is one.empty} | changes.keys()
    with pytest.raises(error, match=message):
        function(**{name: known[name] for name in names})


#: What a call needs beside the tables above to run: they lack it, or hold a bad value on purpose.
NEEDED: dict[Any, dict[str, Any]] = {
    COST.laplace: {"share": 0.5},
    nsr_regimes.subsampling_curve: {"rates": [0.5], "sampled": "data"},
    plans.plan_release: {"split": 0.5, "delta": 0.0},
    SPLIT: {"delta": 0.0},
    nonresonance.kronecker_gap: {"frequencies": [1.0, 2.0]},
    kmeans_cost.sse: {"X": [[0.0]]},
    nonresonance.fourier_l1_ratio: {"frequencies": np.ones((1, 4))},
    clompr_reference.lloyd: {"X": np.eye(3)},
    nonresonance.fourier_distance_ratio: {"frequencies": np.ones((1, 4))},
    knorm._body_norm: {"vectors": [1.0, 2.0]},
    mixture_densities.far_point: {"features": [1.0]},
    sketch_persons: {"persons": [1, 2]},
    nsr_simulation._taken: {"count": 2, "sampling": "poisson"},
    _quantized.dequantized_sketch: {"sketch": [1.0], "dither": [0.0]},
    masks.mask_law: {"scheme": "data", "n_kept": None},
    low_rank.pca_risk: {"components": np.eye(3)},
    subsampled_gaussian.fourier_delta: {"law": DATA},
    subsampled_gaussian.fourier_sigma: {"law": DATA},
}


@pytest.mark.parametrize("function", {case[0]: None for case in [*BAD_VALUES, *BAD_TYPES]})
def test_no_imaginary_part_is_dropped(function: Callable[..., Any]) -> None:
    """Kills a cast to floats before anything asks for real numbers."""
    good = good_arguments(function, GOOD | FOR_ONE.get(function, {}) | NEEDED.get(function, {}))
    function(**good)
    for argument in good:
        keeps_imaginary_part(function, good, argument)
