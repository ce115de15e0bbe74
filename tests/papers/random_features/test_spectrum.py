"""Spectra of random features against the law of Marchenko and Pastur."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.features import complex_features, random_frequencies
from dplit.papers.random_features.spectrum import gram_spectrum, marchenko_pastur_edges
from dplit.streams import stream


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


@pytest.mark.claim("dprf-thm8", "dprf-ass1")
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
    assert max(deviations) <= 0.75
