"""Attacks: labels read from imaginary parts, and a membership audit with its two controls."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.audit import delta_lower_bound
from dplit.features import complex_features, phased_cosine_features, random_frequencies
from dplit.papers.random_features.attacks import (
    _prediction_statistics,
    membership_audit,
    recover_labels,
)
from dplit.papers.random_features.interpolation import min_norm_fit
from dplit.streams import stream


def complex_problem(m: int = 5, n: int = 50, d: int = 2):
    rng = stream(0, "test-recover", "public")
    X = rng.standard_normal((m, d))
    A = complex_features(X, random_frequencies(d, n, gamma=0.5, rng=rng), normalize=False)
    return A, rng.uniform(-0.4, 0.4, m)


@pytest.mark.claim("dprf-alg1", "dprf-beyond-label-recovery")
def test_labels_come_back_from_a_release_with_real_noise():
    A, y = complex_problem()
    noise = stream(0, "test-recover", "noise").standard_normal(A.shape[1])
    released = min_norm_fit(A, y) + 100.0 * noise
    np.testing.assert_allclose(recover_labels(released, A), y, rtol=1e-9, atol=1e-11)


@pytest.mark.claim("dprf-beyond-label-recovery")
def test_noise_on_the_imaginary_part_defeats_the_attack():
    A, y = complex_problem()
    noise = stream(0, "test-recover", "noise").standard_normal(A.shape[1])
    # sd of each recovered label is far above 1, deterministic given the fixed stream
    assert np.abs(recover_labels(min_norm_fit(A, y) + 1j * noise, A) - y).max() > 1.0


def cosine_problem(m: int = 60, n: int = 300):
    rng = stream(0, "test-audit", "data")
    X, y = rng.random((m, 4)), rng.random(m)
    W = random_frequencies(4, n, gamma=8.0, rng=rng)
    return phased_cosine_features(X, W, rng.uniform(0, 2 * np.pi, n)), y


def naive_prediction(F, y, record, label, rows):
    c, labels = np.zeros(F.shape[1]), y.copy()
    labels[record] = label
    for j in rows:
        c += (labels[j] - F[j] @ c) / (F[j] @ F[j]) * F[j]
    return c @ F[record]


@pytest.mark.claim("dprf-beyond-audit")
@pytest.mark.parametrize("label", [0, 1])
def test_predictions_are_those_of_the_naive_iteration(label: int):
    F, y = cosine_problem()
    found = _prediction_statistics(F @ F.T, y, 7, sigma=0.0, n_runs=3, seed=1, name="t")
    for run in range(3):
        rows = stream(1, "t", "data", run).integers(0, 60, size=60)
        expected = naive_prediction(F, y, 7, float(label), rows)
        assert found[label, run] == pytest.approx(expected, abs=1e-10)


def test_the_noise_of_a_prediction_has_the_variance_of_the_release():
    F, y = cosine_problem(m=5)
    quiet = _prediction_statistics(F @ F.T, y, 2, sigma=0.0, n_runs=4000, seed=1, name="t")
    noisy = _prediction_statistics(F @ F.T, y, 2, sigma=0.3, n_runs=4000, seed=1, name="t")
    ratio = np.sum((noisy - quiet) ** 2) / (0.3**2 * (F[2] @ F[2]))
    # chi-square with 8000 degrees of freedom, sd 126: 4 sd is a false alarm of 6e-5; it kills a
    # noise that forgets the row norm or is 4 % too small
    assert abs(ratio - 8000) < 4 * np.sqrt(2 * 8000)


def test_the_labels_of_other_records_are_used_and_that_of_the_record_is_not():
    F, y = cosine_problem()
    changed = y.copy()
    changed[7] = 5.0
    same = [
        _prediction_statistics(F @ F.T, v, 7, sigma=0.0, n_runs=2, seed=1, name="t")
        for v in (y, changed)
    ]
    np.testing.assert_array_equal(*same)


AUDIT = {"epsilon": 0.5, "delta": 1e-5, "n_runs": 2000, "seed": 2, "name": "t"}


def exact_scale(F):
    """Noise for which one prediction at one record is exactly (0.5, 1e-5)-private."""
    from dplit.mechanisms import gaussian_sigma

    return gaussian_sigma(epsilon=0.5, delta=1e-5, sensitivity=1.0 / np.linalg.norm(F[7]))


def test_null_control_a_private_release_is_not_accused():
    F, y = cosine_problem()
    audit = membership_audit(F @ F.T, y, 7, sigma=exact_scale(F), **AUDIT)
    # each bound is above the truth with probability 1e-4
    assert audit.delta_bound <= 1e-5
    assert audit.epsilon_bound <= 0.5


@pytest.mark.claim("dprf-beyond-audit")
def test_planted_control_far_too_little_noise_is_caught():
    F, y = cosine_problem()
    audit = membership_audit(np.eye(60), y, 7, sigma=exact_scale(F) / 64, **AUDIT)
    # orthogonal rows: the prediction is the label plus noise of standard deviation 0.1 unless the
    # order of steps misses the record, in a share 1/e of the runs
    assert audit.delta_bound > 0.5
    assert audit.epsilon_bound > 0.8
    limits = {"epsilon": 0.5, "confidence": 0.9999}
    assert audit.delta_bound == delta_lower_bound(audit.hits_in, audit.hits_out, 2000, **limits)
    assert audit.runs == 2000
