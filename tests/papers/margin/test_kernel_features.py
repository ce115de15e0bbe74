"""Random features of a margin's kernel: norm, sup deviation, the failure that the proof gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dplit.features import feature_gram, gaussian_kernel, random_frequencies
from dplit.margins.feature_maps import margin_features
from dplit.papers.margin.kernel_features import (
    frequencies_of_algorithm3,
    kernel_gap_bound,
    sup_deviation_bound,
    union_failure,
)
from dplit.streams import stream
from dplit_studies.margin.feature_trials import _sup_deviation, sup_deviation_draws


def _records(m=40, d=3):
    return stream(0, "kernel-features-tests", "data").standard_normal((m, d))


@pytest.mark.claim("margin-eq2")
@pytest.mark.parametrize("r", [0.5, 1.0, 3.0])
def test_every_row_has_norm_r_and_the_pairs_are_cosines_and_sines(r):
    X = _records()
    frequencies = random_frequencies(3, 25, gamma=0.7, rng=stream(0, "kf", "public"))
    Z = margin_features(X, frequencies, data_norm=r)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), r, rtol=1e-13)
    angles = X @ frequencies
    naive = np.hstack([np.cos(angles), np.sin(angles)]) * r / np.sqrt(25)
    np.testing.assert_allclose(Z, naive, atol=1e-13)


@pytest.mark.claim("margin-eq2")
def test_single_precision_keeps_the_norm_and_the_dtype():
    frequencies = random_frequencies(3, 64, gamma=0.7, rng=stream(0, "kf", "public"))
    Z = margin_features(_records().astype(np.float32), frequencies, data_norm=2.0)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 2.0, rtol=1e-5)


@pytest.mark.claim("margin-eq2")
def test_inner_products_are_unbiased_for_the_kernel():
    """Mean Gram over 200,000 frequencies against the kernel: false alarm below 1e-4.

    Hoeffding: an entry errs by more than 0.011 with probability 2 exp(-12.1) = 1.1e-5, and there
    are 6 pairs. Kills a factor 2 in gamma and a wrong factor in front.
    """
    X = _records(4)
    frequencies = random_frequencies(3, 200_000, gamma=0.3, rng=stream(0, "kf-mean", "public"))
    Z = margin_features(X, frequencies)
    np.testing.assert_allclose(Z @ Z.T, gaussian_kernel(X, gamma=0.3), atol=0.011)


@pytest.mark.claim("margin-thm41")
@given(
    m=st.integers(2, 10_000),
    beta=st.floats(1e-6, 0.999),
    D=st.integers(1, 10**7),
    r=st.floats(0.1, 10),
)
def test_bound_and_failure_are_hoeffding_over_all_pairs(m, beta, D, r):
    t = sup_deviation_bound(m, D, beta=beta, data_norm=r)
    failure = m * (m - 1) / 2 * 2 * np.exp(-D * t**2 / (2 * r**4))
    assert union_failure(m, beta=beta) == pytest.approx(failure, rel=1e-8)
    assert union_failure(m, beta=beta) < beta**2 / 4
    tight = kernel_gap_bound(m, D, beta=beta, data_norm=r)
    spent = m * (m - 1) * np.exp(-D * tight**2 / (2 * r**4))
    assert spent == pytest.approx(beta, rel=1e-8)
    assert tight <= t * (1 + 1e-12)


@pytest.mark.claim("margin-thm41")
def test_the_bound_holds_over_a_thousand_draws_and_is_three_times_too_large():
    """At most 5 of 1000 draws exceed the bound: P(more) below 5e-5 at the proof's failure.

    The largest stays below 0.75 of the bound (none of 1000 draws of the true law comes near), and
    its median above 0.2 of it: kills a bound times 0.5 through the ratio window.
    """
    X = _records(100)
    sup = sup_deviation_draws(
        X, 50, gamma=0.5, draws=1000, rng=stream(0, "margin-thm41-test", "public")
    )
    bound = sup_deviation_bound(100, 50, beta=0.05)
    assert bound == pytest.approx(0.8146, abs=1e-4)
    assert binom.sf(5, 1000, union_failure(100, beta=0.05)) < 1e-4
    assert np.sum(sup > bound) <= 5
    assert 0.3 < np.median(sup) / bound < 0.55


def test_sup_deviation_looks_off_the_diagonal():
    X = _records(10)
    frequencies = random_frequencies(3, 5, gamma=1.0, rng=stream(0, "kf", "public"))
    kernel = gaussian_kernel(X, gamma=1.0)
    gram = feature_gram(X, frequencies)
    error = [abs(gram[i, j] - kernel[i, j]) for i in range(10) for j in range(10) if i != j]
    assert _sup_deviation(gram, kernel) == pytest.approx(max(error))
    assert _sup_deviation(kernel + 7 * np.eye(10), kernel) == 0.0


@pytest.mark.claim("margin-alg3")
@pytest.mark.parametrize(("m", "beta"), [(10, 0.1), (1000, 0.05)])
def test_frequencies_of_algorithm3_bring_the_bound_to_two_over_m(m, beta):
    D = frequencies_of_algorithm3(m, beta=beta)
    assert sup_deviation_bound(m, D, beta=beta, data_norm=3.0) <= 18.0 / m
    assert sup_deviation_bound(m, D - 1, beta=beta, data_norm=3.0) > 18.0 / m
