"""Algorithm 3: the same numbers as its definition, its budget, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.margins.compressed import printed_dimension
from dplit.margins.feature_maps import _direct_features, margin_features
from dplit.papers.margin.kernel_features import frequencies_of_algorithm3
from dplit.papers.margin.kernel_learner import meets_hypotheses, repaired_budget
from dplit.streams import stream
from tests.margins.planned import third, weights


def _rings(m=40):
    rng = stream(0, "kernel-learner-tests", "data")
    X = rng.standard_normal((m, 2))
    return X, np.where(np.linalg.norm(X, axis=1) < 1.1, 1.0, -1.0)


def _streams():
    return {
        "public_rng": stream(0, "kernel-learner-tests", "public"),
        "rng": stream(0, "kernel-learner-tests", "noise"),
    }


SETTINGS = {"gamma": 0.5, "margin": 0.4, "weight_norm": 1.5, "epsilon": 2.0, "delta": 0.3}


@pytest.mark.claim("margin-alg3")
@pytest.mark.parametrize("solver", ["noisy_gradient", "phased"])
def test_algorithm3_is_its_six_lines(solver):
    """Materialised features, materialised signs, Algorithm 2's steps 3 and 4 with 2 Lambda."""
    X, y = _rings()
    ours = third(X, y, beta=0.1, solver=solver, n_steps=20, **SETTINGS, **_streams())
    D = frequencies_of_algorithm3(40, beta=0.1)
    assert ours.features.n_frequencies == D == math.ceil(1600 * math.log(800))
    epsilon, delta = repaired_budget(epsilon=2.0, delta=0.3, n_samples=40)
    k = printed_dimension(n_samples=40, epsilon=epsilon, delta=delta, beta=0.05)
    assert ours.weights.shape == (k,)
    assert not ours.features.double  # millions of cosines: single precision unless asked
    blocks = list(ours.features.blocks())
    frequencies = np.hstack([w for w, _ in blocks]).astype(float)
    cosines, sines = (
        np.vstack([np.split(s, 2)[part] for _, s in blocks]).astype(float) for part in (0, 1)
    )
    Z = margin_features(X, frequencies) @ np.vstack([cosines, sines]) / math.sqrt(k)
    expected = weights(
        Z,
        y,
        margin=0.4,
        radius=3.0,
        data_norm=1.0,
        epsilon=epsilon,
        delta=delta,
        rng=_streams()["rng"],
        solver=solver,
        n_steps=20,
        beta=0.05,
    )
    np.testing.assert_allclose(ours.weights, expected, atol=2e-3 * np.linalg.norm(expected))
    np.testing.assert_allclose(ours.scores(X), Z @ ours.weights, atol=2e-3)
    assert np.linalg.norm(ours.weights) <= 6.0 * (1 + 1e-9)


@pytest.mark.claim("margin-alg3")
def test_the_map_does_not_look_at_the_data():
    """Replacing one record moves one row of the compressed features and no other."""
    X, y = _rings()
    other = X.copy()
    other[3] = 100.0
    first = third(X, y, beta=0.1, n_components=30, **SETTINGS, **_streams())
    second = third(other, y, beta=0.1, n_components=30, **SETTINGS, **_streams())
    assert first.features == second.features
    changed = np.any(first.features.transform(X) != second.features.transform(other), axis=1)
    assert changed.sum() == 1


@pytest.mark.claim("margin-thm42")
@given(epsilon=st.floats(1e-3, 1e3), delta=st.floats(1e-12, 0.999), m=st.integers(1, 10**6))
def test_the_repaired_budget_is_smaller_and_meets_the_hypotheses(epsilon, delta, m):
    small, smaller = repaired_budget(epsilon=epsilon, delta=delta, n_samples=m)
    assert small <= epsilon
    assert smaller <= delta
    assert meets_hypotheses(epsilon=small, delta=smaller, n_samples=m)
    if delta <= 1 / (2 * m) and epsilon <= math.log(1 / delta):
        assert (small, smaller) == (epsilon, delta)


@pytest.mark.claim("margin-thm42")
def test_the_repaired_budget_takes_no_more_than_it_must():
    assert repaired_budget(epsilon=1.0, delta=0.5, n_samples=100) == (1.0, 0.005)
    epsilon, delta = repaired_budget(epsilon=50.0, delta=1e-6, n_samples=100)
    assert delta == 1e-6
    assert epsilon == pytest.approx(math.log(1e6), rel=1e-15)


@pytest.mark.claim("margin-thm42")
def test_hypotheses_are_strict_in_delta_and_weak_in_epsilon():
    assert not meets_hypotheses(epsilon=1.0, delta=0.01, n_samples=100)
    assert meets_hypotheses(epsilon=1.0, delta=0.0099, n_samples=100)
    assert meets_hypotheses(epsilon=math.log(1000.0), delta=1 / 1000.0, n_samples=100)
    assert not meets_hypotheses(epsilon=7.0, delta=1 / 1000.0, n_samples=100)


def test_direct_features_are_the_map_in_single_precision():
    X, _ = _rings()
    features = _direct_features(2, 30, gamma=0.5, rng=stream(0, "d", "public"))
    expected = margin_features(X, features.frequencies)
    np.testing.assert_allclose(features.transform(X), expected, atol=1e-5)
    assert np.isfinite(features.transform([[1e300, -1e300]])).all()


def test_a_direct_predictor_learns_rings():
    """1500 records at epsilon 4: accuracy above 0.85 (0.94 seen; false alarm far below 1e-4)."""
    X, y = _rings(3000)
    features = _direct_features(2, 60, gamma=1.0, rng=stream(0, "rings", "public"))
    Z = features.transform(X)
    w = weights(
        Z[:1500],
        y[:1500],
        margin=0.3,
        radius=2.0,
        data_norm=1.0,
        epsilon=4.0,
        delta=1e-5,
        inflation=1.0,
        rng=stream(0, "rings", "noise"),
    )
    assert np.mean(Z[1500:] @ w * y[1500:] > 0) > 0.85
