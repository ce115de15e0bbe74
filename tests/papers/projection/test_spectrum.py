"""Least squares and ridge in the eigenbasis, against the matrices themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.projection.spectrum import (
    _spectra_from_moments,
    ridge_coefficients,
    ridge_error,
    ridge_objective,
    spectrum,
)
from dplit.streams import stream


def _problem(trial, n=30, d=5, signal=1.0):
    rng = stream(0, "test-spectrum", "data", trial)
    X = rng.uniform(-1, 1, (n, d))
    return X, signal * X @ rng.standard_normal(d) + rng.standard_normal(n)


def _ridge(X, y, lam):
    rows = np.vstack([X, math.sqrt(lam) * np.eye(X.shape[1])])
    return np.linalg.lstsq(rows, np.append(y, np.zeros(X.shape[1])), rcond=None)[0]


@pytest.mark.claim("proj-lemma4", "proj-cor3", "proj-eq39", "proj-beyond-exact-law")
@pytest.mark.parametrize("signal", [0.0, 1.0, 1e4])
def test_everything_agrees_with_dense_least_squares(signal):
    for trial in range(5):
        X, y = _problem(trial, signal=signal)
        problem = spectrum(X, y)
        best = np.linalg.lstsq(X, y, rcond=None)[0]
        rss = np.sum((X @ best - y) ** 2)
        assert problem.n_features == 5
        assert problem.residual == pytest.approx(rss, rel=1e-6)
        assert problem.snr == pytest.approx(np.sum((X @ best) ** 2) / rss, rel=1e-6)
        np.testing.assert_allclose(np.sqrt(problem.energies)[::-1], np.linalg.svd(X)[1], rtol=1e-9)
        for lam in (0.0, 0.3, 50.0):
            ridge = _ridge(X, y, lam)
            np.testing.assert_allclose(
                ridge_coefficients(problem, penalty=lam), ridge, rtol=1e-7, atol=1e-9
            )
            loss = np.sum((X @ ridge - y) ** 2)
            least = loss + lam * ridge @ ridge
            assert ridge_objective(problem, penalty=lam) == pytest.approx(least, rel=1e-6)
            assert ridge_error(problem, penalty=lam) == pytest.approx(loss / rss, rel=1e-6)


def test_errors_of_coefficients_are_ratios_of_objectives():
    X, y = _problem(9)
    problem = spectrum(X, y)
    thetas = stream(0, "test-spectrum-errors", "data").standard_normal((4, 5))
    rss = np.sum((X @ np.linalg.lstsq(X, y, rcond=None)[0] - y) ** 2)
    direct = np.sum((X @ thetas.T - y[:, None]) ** 2, axis=0) / rss
    np.testing.assert_allclose(problem.errors(problem.rotate(thetas)), direct, rtol=1e-10)


def test_moments_give_the_same_spectra_for_several_responses():
    X, y = _problem(3)
    other = X[:, 0] - 2.0
    Y = np.column_stack([y, other])
    found = _spectra_from_moments(X.T @ X, X.T @ Y, np.sum(Y**2, axis=0))
    for problem, response in zip(found, Y.T, strict=True):
        alone = spectrum(X, response)
        assert problem.residual == pytest.approx(alone.residual, rel=1e-9)
        np.testing.assert_allclose(np.abs(problem.scores), np.abs(alone.scores), rtol=1e-9)


def test_a_response_in_the_column_space_has_infinite_relative_errors():
    X, _ = _problem(0)
    y = X @ np.arange(1.0, 6.0)
    problem = spectrum(X, y)
    assert problem.residual == 0
    assert problem.snr == math.inf
    assert ridge_error(problem, penalty=1.0) == math.inf
    assert (problem.errors(np.zeros((2, 5))) == math.inf).all()
    moments = _spectra_from_moments(X.T @ X, (X.T @ y)[:, None], [y @ y])[0]
    assert moments.residual == 0


def test_one_constant_column_is_fine_and_two_are_not():
    X, y = _problem(1)
    X[:, 0] = 1.0
    assert spectrum(X, y).energies[0] > 0
    X[:, 1] = 0.5
    with pytest.raises(ValueError, match="X must have full column rank"):
        spectrum(X, y)
