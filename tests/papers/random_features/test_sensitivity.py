"""Closed-form sensitivities against refits, Lemma 9 and the pairs that break it."""

from __future__ import annotations

import math
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

from dplit.features import complex_features, random_frequencies
from dplit.papers.random_features.counterexamples import (
    forced_label_pair,
    measure_pair,
    near_duplicate_pair,
)
from dplit.papers.random_features.interpolation import gram_matrix, min_norm_fit
from dplit.papers.random_features.sensitivity import (
    interpolator_lower_bound,
    label_sensitivities,
    lemma9_bound,
    near_duplicate_profile,
    near_duplicate_threshold,
    removal_sensitivities,
)
from dplit.streams import stream

PAPER = {"epsilon": 1.0, "delta": 1e-5, "eta": 0.375}
CLASSICAL = math.sqrt(2 * math.log(1.25e5))  # sigma / (Delta/epsilon) at delta = 1e-5


def _data(m=30, n=80, d=3, *, name="sensitivity"):
    rng = stream(0, name, "data")
    frequencies = random_frequencies(d, n, gamma=20.0, rng=stream(0, name, "public"))
    A = complex_features(rng.standard_normal((m, d)), frequencies, normalize=False)
    return A, rng.uniform(-1, 1, m) / math.sqrt(m)


@pytest.mark.claim("dprf-def2")
def test_removal_sensitivities_are_the_distances_of_all_refits():
    A, y = _data()
    c = min_norm_fit(A, y)
    refits = [
        np.linalg.norm(c - min_norm_fit(np.delete(A, j, 0), np.delete(y, j))) for j in range(30)
    ]
    np.testing.assert_allclose(removal_sensitivities(gram_matrix(A), y), refits, rtol=1e-10)


@pytest.mark.claim("dprf-def2", "dprf-lem9")
def test_label_sensitivities_are_refits_and_respect_the_lower_bound():
    A, y = _data()
    unit = label_sensitivities(gram_matrix(A))
    for j in range(0, 30, 7):
        changed = y.copy()
        changed[j] += 0.25
        refit = np.linalg.norm(min_norm_fit(A, y) - min_norm_fit(A, changed))
        assert 0.25 * unit[j] == pytest.approx(refit, rel=1e-10)
    floor = interpolator_lower_bound(1.0, math.sqrt(80))
    assert unit.min() >= floor * (1 - 1e-12)


@pytest.mark.claim("dprf-lem9")
def test_the_lower_bound_is_attained_by_orthogonal_rows():
    attained = label_sensitivities(np.diag([4.0, 9.0]))
    np.testing.assert_allclose(attained, [interpolator_lower_bound(1, r) for r in (2, 3)])


@pytest.mark.claim("dprf-lem9")
def test_lemma9_is_sharp_among_pairs_with_well_conditioned_gram_matrices():
    """Equicorrelated records attain 0.997 of the bound: one label goes from 1 to -1, others 0.

    With G = N ((1 - r) I + r 1 1*) the smallest eigenvalue is N (1 - r); r = 2 eta, m = 200.
    """
    eta, n, m = 0.375, 400, 200
    r = 2 * eta
    gram = n * ((1 - r) * np.eye(m) + r * np.ones((m, m)))
    assert np.linalg.eigvalsh(gram)[0] == pytest.approx(n * (1 - 2 * eta))
    distance = 2 * label_sensitivities(gram)[0]
    closed_form = 2 * math.sqrt((1 - r / (1 + (m - 1) * r)) / (n * (1 - r)))
    assert distance == pytest.approx(closed_form, rel=1e-10)
    bound = lemma9_bound(n_components=n, eta=eta)
    assert 0.99 * bound < distance <= bound
    assert lemma9_bound(n_components=1, eta=eta) == pytest.approx(4.0)


def _kernel_profile(s):
    """Return mu and delta(1) of the pair with 60 digits, straight from the kernel."""
    with mp.workdps(60):
        k = mp.exp(-(mp.mpf(s) ** 2) / 2)
        # labels +-1/sqrt 2: c = K^{-1} y; neighbour has a far point, and the cross kernel is known
        square = 1 / (1 - k) + 1 - 2 * mp.mpf(1) / 2 * (1 - k) / (1 - k)
        sigma = mp.sqrt(2 * mp.log(mp.mpf("1.25e5"))) * 4
        mu = mp.sqrt(square) / sigma
        delta = mp.ncdf(mu / 2 - 1 / mu) - mp.e * mp.ncdf(-mu / 2 - 1 / mu)
        return float(mu), float(delta)


@pytest.mark.claim("dprf-lem9")
@pytest.mark.parametrize("s", [0.002, 0.0106, 0.037, 0.0793, 0.2748, 2.0])
def test_near_duplicate_profile_is_the_kernel_computation(s):
    mu, delta = near_duplicate_profile(s, **PAPER)
    expected = _kernel_profile(s)
    assert mu == pytest.approx(expected[0], rel=1e-11)
    assert delta == pytest.approx(expected[1], rel=1e-9, abs=1e-300)


@pytest.mark.claim("dprf-lem9")
def test_thresholds_of_the_violation():
    """delta(1) passes 1e-5, .1, .5, .9, .999 at these distances (recomputed by bisection)."""
    targets = [1e-5, 0.1, 0.5, 0.9, 0.999]
    found = [near_duplicate_threshold(t, **PAPER) for t in targets]
    np.testing.assert_allclose(found, [0.2748, 0.0793, 0.0370, 0.0196, 0.0106], atol=6e-5)
    np.testing.assert_allclose(near_duplicate_profile(found, **PAPER).delta, targets, rtol=1e-9)
    # a budget that is far too large for the classical calibration fails at every distance
    assert near_duplicate_threshold(1e-300, epsilon=1.0, delta=0.9, eta=0.01) == math.inf


@pytest.mark.claim("dprf-lem9")
def test_measured_near_duplicates_follow_the_profile():
    """Random features at N = 4000 have the kernel's distance to a few percent.

    1 - k is a mean of N bounded terms with relative standard deviation sqrt(2/N) = 2.2 %, so the
    distance is within 7 % unless a 6-sigma event happens (probability below 1e-8).
    """
    frequencies = random_frequencies(1, 4000, gamma=20.0, rng=stream(0, "pair", "public"))
    features = partial(complex_features, frequencies=frequencies, normalize=False)
    for h in (0.03, 0.01, 0.001):
        found = measure_pair(near_duplicate_pair(h), features, **PAPER)
        mu, _ = near_duplicate_profile(math.sqrt(40.0) * h, **PAPER)
        assert found.mu == pytest.approx(mu, rel=0.07)
        exact = norm.cdf(found.mu / 2 - 1 / found.mu) - math.e * norm.cdf(
            -found.mu / 2 - 1 / found.mu
        )
        assert found.delta == pytest.approx(exact, rel=1e-6)
        sigma = CLASSICAL * found.bound
        assert found.distance == pytest.approx(found.mu * sigma, rel=1e-12)
        assert found.bound == pytest.approx(lemma9_bound(n_components=4000, eta=0.375))
    assert found.delta > 1 - 1e-6
    assert found.epsilon > 100


@pytest.mark.claim("dprf-lem9")
def test_labels_forced_by_f1_break_the_bound():
    """With labels f1/2 the distance grows like 1/(2 sqrt(2) sigma_omega^2 h), by the kernel."""
    frequencies = random_frequencies(5, 2000, gamma=20.0, rng=stream(0, "forced", "public"))
    features = partial(complex_features, frequencies=frequencies, normalize=False)
    for h in (1e-3, 1e-4):
        found = measure_pair(forced_label_pair(h), features, **PAPER)
        # 1 - k and its square are means of N terms: 15 % is more than six standard deviations
        assert found.distance * math.sqrt(2000) == pytest.approx(
            1 / (2 * math.sqrt(2) * 40 * h), rel=0.15
        )
        assert found.distance > found.bound
    assert found.delta > 0.9


def test_pairs_are_neighbours_with_labels_of_norm_at_most_one():
    swap, removal = near_duplicate_pair(0.1), forced_label_pair(0.1)
    assert np.count_nonzero((swap.X_other != swap.X).any(axis=1)) == 1
    np.testing.assert_array_equal(swap.y, swap.y_other)
    np.testing.assert_array_equal(removal.X[:2], removal.X_other)
    for labels in (swap.y, removal.y, removal.y_other):
        assert np.linalg.norm(labels) <= 1 + 1e-15
