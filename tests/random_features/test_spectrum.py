"""Spectra against the Marchenko-Pastur law, and both sides of Theorem 8's hypotheses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.features import complex_features, random_frequencies
from dplit.random_features.spectrum import (
    concentration_conditions,
    gram_spectrum,
    marchenko_pastur_edges,
)
from dplit.streams import stream

FIGURE1 = {"n_samples": 1000, "n_components": 5000, "n_features": 5, "spread": 200.0}


def _features(m, n, d, gamma, trial=0):
    X = stream(0, "spectrum", "data", trial).standard_normal((m, d))
    frequencies = random_frequencies(d, n, gamma=gamma, rng=stream(0, "spectrum", "public", trial))
    return complex_features(X, frequencies, normalize=False)


@pytest.mark.claim("dprf-thm8")
def test_gram_spectrum_is_the_squared_singular_values():
    A = _features(40, 100, 3, 20.0)
    squares = np.sort(np.linalg.svd(A, compute_uv=False) ** 2)
    np.testing.assert_allclose(gram_spectrum(A, scale=0.01), squares / 100, atol=1e-12)
    np.testing.assert_allclose(gram_spectrum(gram=A @ A.conj().T), squares, atol=1e-10)


@pytest.mark.claim("dprf-thm8")
@pytest.mark.parametrize(("n", "lower", "upper"), [(1500, 0.0337, 3.300), (5000, 0.3056, 2.094)])
def test_marchenko_pastur_edges_solve_their_quadratic(n, lower, upper):
    """The edges are the roots of (x - 1 - r)^2 = 4 r."""
    r = 1000 / n
    edges = marchenko_pastur_edges(r)
    np.testing.assert_allclose(np.sort(np.roots([1, -2 * (1 + r), (1 - r) ** 2])), edges)
    np.testing.assert_allclose(edges, (lower, upper), atol=5e-4)


@pytest.mark.claim("dprf-thm8")
def test_spectrum_of_nearly_orthogonal_records_fills_the_edges():
    """m = 300, N = 1500 at the code's sigma_omega = 40: edges within 0.06.

    Fluctuations of extreme eigenvalues are of order m^{-2/3} = 0.022 times a constant below 1;
    0.06 is more than four of their standard deviations plus the bias.
    """
    values = gram_spectrum(_features(300, 1500, 5, 800.0), scale=1 / 1500)
    edges = marchenko_pastur_edges(300 / 1500)
    assert values[0] == pytest.approx(edges.lower, abs=0.06)
    assert values[-1] == pytest.approx(edges.upper, abs=0.06)


@pytest.mark.claim("dprf-thm8")
@pytest.mark.claim("dprf-ass1")
def test_deviation_in_a_setting_that_satisfies_the_hypotheses_up_to_constants():
    """m = 100, d = 50, N = 4000, sigma_omega^2 = 4: deviation within 0.05 of Marchenko-Pastur.

    The mean of 5 draws has sd .003 around .323; the window .291 to .391 is ten of them wide.
    """
    deviations = []
    for trial in range(5):
        values = gram_spectrum(_features(100, 4000, 50, 2.0, trial), scale=1 / 4000)
        deviations.append(np.abs(values - 1).max())
    reference = marchenko_pastur_edges(100 / 4000).upper - 1
    assert reference == pytest.approx(0.3412, abs=1e-4)
    assert np.mean(deviations) == pytest.approx(reference, abs=0.05)
    conditions = concentration_conditions(
        n_samples=100, n_components=4000, n_features=50, spread=200.0, eta=0.375, failure=0.05
    )
    assert conditions.bandwidth.holds
    assert conditions.dimension.holds
    assert max(deviations) <= conditions.deviation


@pytest.mark.claim("dprf-thm8")
@pytest.mark.claim("dprf-ass1")
def test_hypotheses_at_the_papers_settings():
    """Right sides recomputed term by term; C2 = 0.066 is what Figure 1 would need."""
    found = concentration_conditions(**FIGURE1, eta=0.375, failure=0.05, c1=0.5, c2=0.066)
    assert found.dimension.left == 5
    assert found.dimension.right == pytest.approx(0.5 * 9.9035, abs=1e-4)
    assert found.bandwidth.left == 200
    assert found.bandwidth.right == pytest.approx(4 * math.log(2000 / 0.375))
    assert found.components.left == 5000
    assert found.components.right == pytest.approx(0.066 * 75354, abs=0.1)
    assert found.deviation == 0.75
    assert found.probability == pytest.approx(0.85)
    assert found.holds
    unit = concentration_conditions(**FIGURE1, eta=0.375, failure=0.05)
    assert not unit.holds
    assert not unit.dimension.holds
    assert unit.bandwidth.holds
    assert not unit.components.holds


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gram_spectrum(), TypeError, "exactly one"),
        (lambda: gram_spectrum([[1.0]], gram=[[1.0]]), TypeError, "exactly one"),
        (lambda: gram_spectrum(gram=[[1.0, 2.0]]), ValueError, "square"),
        (lambda: gram_spectrum([[math.nan]]), ValueError, "finite"),
        (lambda: gram_spectrum([[1.0]], scale=0.0), ValueError, "scale"),
        (lambda: marchenko_pastur_edges(1.5), ValueError, "ratio"),
        (
            lambda: concentration_conditions(**FIGURE1, eta=0.6, failure=0.05),
            ValueError,
            "eta",
        ),
        (
            lambda: concentration_conditions(**FIGURE1, eta=0.3, failure=1.0),
            ValueError,
            "failure",
        ),
        (
            lambda: concentration_conditions(**FIGURE1, eta=0.3, failure=0.1, c1=-1.0),
            ValueError,
            "c1",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
