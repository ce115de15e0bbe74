"""The comparison: closed form against simulation, its rules, order of the methods, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.baselines import objective_noise, smallest_regularization
from dplit.datasets.classification import load_problem
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream
from dplit_studies.erm import comparison
from dplit_studies.erm.comparison import (
    METHODS,
    compare,
    compare_pure,
    descent_steps,
    gaussian_error,
    public_regularization,
)


@pytest.fixture(scope="module")
def waves():
    return compare("waves", settings=[(1000, 0.5), (1000, 4.0)], seed=0, n_repeats=12)


@pytest.mark.claim("erm-beyond-frontier")
def test_expected_error_of_a_noisy_sign():
    """Closed form against 2e5 draws: 5 standard errors, false alarm 6e-7."""
    rng = stream(0, "frontier-sign", "noise")
    scores, share = np.array([0.5, -1.0, 0.1]), np.array([0.9, 0.2, 0.5])
    noise = rng.normal(scale=0.7, size=(200_000, 3))
    positive = scores + noise > 0
    wrong = np.where(positive, 1 - share, share).mean(axis=1)
    expected = gaussian_error(scores, share, sigma=0.7)
    assert abs(wrong.mean() - expected) < 5 * wrong.std() / math.sqrt(2e5)
    assert gaussian_error(scores, share, sigma=1e-9) == pytest.approx((0.1 + 0.2 + 0.5) / 3)
    assert gaussian_error(scores, share, sigma=1e9) == pytest.approx(0.5)


@pytest.mark.claim("erm-beyond-frontier")
def test_simulated_process_scatters_around_its_expectation(waves):
    """Mean gap over 12 repetitions: Student's quantile for level 1e-4 with 11 degrees is 5.9."""
    gap = waves.values["Gaussian process"] - waves.expected
    assert (np.abs(gap.mean(axis=0)) < 5.9 * gap.std(axis=0, ddof=1) / math.sqrt(12)).all()


@pytest.mark.claim("erm-beyond-frontier")
def test_errors_are_between_bayes_and_chance(waves):
    assert set(waves.values) == set(METHODS)
    for method, values in waves.values.items():
        assert values.shape == (12, 2), method
        assert (values >= 0.1 - 1e-12).all()
        assert (values <= 0.9 + 1e-12).all()
    np.testing.assert_allclose(waves.values["constant"], 0.5, atol=1e-12)
    assert waves.mean("not private").max() < 0.115
    assert waves.mean("not private") == pytest.approx(
        waves.values["not private"].mean(axis=0), rel=1e-14
    )


@pytest.mark.claim("erm-beyond-frontier")
def test_order_of_the_methods(waves):
    """At epsilon = 1/2 the gaps are 0.05 or more, with standard errors below 0.02."""
    for better, worse in (
        ("Gaussian process", "gamma norm"),
        ("noisy gradient", "gamma norm"),
        ("objective, Gaussian", "gamma norm"),
        ("Gaussian process", "20 queries"),
        ("Gaussian process", "constant"),
    ):
        gain, se = waves.gap(worse, better)
        assert gain[0] > 2 * se[0], (better, worse)
    gain, se = waves.gap("Gaussian process", "gamma norm")
    direct = waves.values["Gaussian process"] - waves.values["gamma norm"]
    np.testing.assert_allclose(gain, direct.mean(axis=0))
    np.testing.assert_allclose(se, direct.std(axis=0, ddof=1) / math.sqrt(12))


@pytest.mark.claim("erm-beyond-frontier")
def test_expected_error_uses_the_noise_of_the_budget():
    """At a huge budget it is the error without noise; at a tiny one a coin."""
    free = compare("digits", settings=[(200, 1e5), (200, 1e-4)], seed=1, n_repeats=2)
    np.testing.assert_allclose(free.expected[:, 0], free.values["Gaussian process"][:, 0],
                               atol=1e-3)  # fmt: skip
    np.testing.assert_allclose(free.expected[:, 1], 0.5, atol=0.01)
    assert (free.values["Gaussian process"][:, 0] < 0.1).all()


@pytest.mark.claim("erm-beyond-frontier")
def test_expected_error_by_hand():
    """One setting recomputed from the public pieces."""
    from dplit.erm.minimisers import fit_linear
    from dplit_studies.erm.comparison import _bundled

    result = compare("cancer", settings=[(300, 2.0)], seed=3, n_repeats=2)
    task = _bundled("cancer", 300, 3, 0)
    penalty = public_regularization(300, 2.0)
    weights = fit_linear(task.F, task.y, loss="hinge", regularization=penalty, tol=1e-10).weights
    sigma = gaussian_sigma(epsilon=2.0, delta=1e-5, sensitivity=1.02 / (penalty * 300))
    expected = gaussian_error(task.test @ weights, task.share, sigma=sigma)
    assert result.expected[0, 0] == pytest.approx(expected, abs=2e-3)
    np.testing.assert_allclose(np.linalg.norm(task.F, axis=1), 1.0, rtol=1e-12)
    assert len(task.test) == 569 - 300


@pytest.mark.claim("erm-beyond-frontier")
@pytest.mark.parametrize(
    ("epsilon", "steps", "length"),
    [(0.1, 20, 0.5), (1.0, 20, 0.5), (2.0, 50, 0.5), (4.0, 50, 2.0), (8.0, 50, 2.0)],
)
def test_the_rivals_get_the_noise_and_the_steps_that_are_stated(
    epsilon, steps, length, monkeypatch
):
    """What each rival is asked for, and that its weights are what the method is credited with.

    Kills the Gaussian form drawn pure, a budget of another method, and shorter or fewer steps.
    """
    assert descent_steps(epsilon) == (steps, length)
    asked = []

    def watch(name):
        method = getattr(comparison, name)

        def called(X, y, **options):
            model = method(X, y, **options)
            asked.append((name, options, model))
            return model

        monkeypatch.setattr(comparison, name, called)

    for name in ("objective_perturbation", "noisy_gradient_descent"):
        watch(name)
    result = compare("digits", settings=[(100, epsilon)], seed=2, n_repeats=2, delta=1e-6)
    task = comparison._bundled("digits", 100, 2, 0)
    penalty = public_regularization(100, epsilon)
    (descent,) = [a for a in asked[:3] if a[0] == "noisy_gradient_descent"]
    objectives = [a for a in asked[:3] if a[0] == "objective_perturbation"]
    assert (descent[1]["steps"], descent[1]["learning_rate"]) == (steps, length)
    assert (descent[1]["epsilon"], descent[1]["delta"], descent[1]["clip"]) == (epsilon, 1e-6, 1.0)
    assert [o[2].delta for o in objectives] == [0.0, 1e-6]
    least = smallest_regularization(
        n_records=100, epsilon=epsilon, data_norm=1.0, loss="huberised_hinge"
    )
    for _, _, model in objectives:
        assert (model.epsilon, model.regularization) == (epsilon, max(penalty, least))
    noises = [
        objective_noise(
            epsilon=epsilon - min(epsilon, 1.0) / 1000, delta=delta, data_norm=1.0,
            jacobian=math.log1p(1.0 / (2 * 100 * max(penalty, least))),
        )
        for delta in (0.0, 1e-6)
    ]  # fmt: skip
    np.testing.assert_allclose([o[2].noise for o in objectives], noises, rtol=1e-4)
    named = dict(zip(("objective, gamma", "objective, Gaussian"), objectives, strict=True))
    named["noisy gradient"] = descent
    for method, (_, _, model) in named.items():
        assert result.of(method)[0, 0] == task.error(model.coef)


@pytest.mark.claim("erm-beyond-frontier")
@pytest.mark.parametrize("d", [2, 10])
def test_without_delta_the_perturbed_objective_errs_less(d):
    """24 repetitions: the gain is 8 standard errors on another seed and must be 1.5 here, so the
    false alarm is below 1e-6 (Student, 23 degrees). Kills the two methods exchanged.
    """
    settings = [(500, e) for e in (0.5, 1.0)] + [(2000, 0.5)]
    runs = compare_pure(d, settings=settings, seed=1, n_repeats=24)
    assert runs.of("gamma norm").shape == (24, 3)
    gain = (runs.of("gamma norm") - runs.of("objective, gamma")).mean(axis=1)
    assert gain.mean() > 1.5 * gain.std(ddof=1) / math.sqrt(24)
    again = compare_pure(d, settings=settings, seed=1, n_repeats=2)
    np.testing.assert_array_equal(again.of("gamma norm"), runs.of("gamma norm")[:2])
    with pytest.raises(ValueError, match="n_features must be even"):
        compare_pure(3, settings=settings, seed=0, n_repeats=2)


@pytest.mark.claim("erm-beyond-frontier")
def test_public_regularization():
    assert public_regularization(4096, 0.5) == pytest.approx(2048 ** (-2 / 3))
    assert public_regularization(64, math.inf) == pytest.approx(1 / 16)


def test_data_are_scaled_by_declared_constants():
    for name, shape in (("cancer", (569, 30)), ("digits", (361, 64))):
        X, y = load_problem(name)
        assert X.shape == shape
        assert X.min() >= 0
        assert X.max() <= 1
        assert set(y) == {-1.0, 1.0}
    X, _ = load_problem("cancer")
    assert (X == 1).mean() < 0.05  # the declared ranges are not too small


def test_repetitions_do_not_depend_on_how_many_there_are():
    settings = [(100, 1.0)]
    short = compare("digits", settings=settings, seed=0, n_repeats=2)
    longer = compare("digits", settings=settings, seed=0, n_repeats=3)
    for method in METHODS:
        np.testing.assert_array_equal(short.values[method], longer.values[method][:2])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"problem": "iris"}, ValueError, "problem must be one of"),
        ({"settings": []}, ValueError, "settings must not be empty"),
        ({"settings": [(0, 1.0)]}, ValueError, "n_records must be at least 1"),
        ({"settings": [(10, 0.0)]}, ValueError, "epsilon must be positive"),
        ({"delta": 0.0}, ValueError, r"delta must be in \(0, 1\)"),
        ({"n_repeats": 1}, ValueError, "n_repeats must be at least 2"),
        ({"settings": [(361, 1.0)]}, RuntimeError, "fewer than 361 records for digits"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    options = {"problem": "digits", "settings": [(50, 1.0)], "seed": 0, **change}
    with pytest.raises(error, match=message):
        compare(options.pop("problem"), **options)


def test_small_functions_name_bad_arguments():
    with pytest.raises(ValueError, match="sigma must be positive"):
        gaussian_error(np.ones(1), np.ones(1), sigma=0.0)
    with pytest.raises(ValueError, match="name must be one of"):
        load_problem("iris")
    with pytest.raises(ValueError, match="epsilon must be positive"):
        public_regularization(5, -1.0)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        descent_steps(0.0)
