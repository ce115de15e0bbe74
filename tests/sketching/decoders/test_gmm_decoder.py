"""Mixtures from sketches: likelihood, characteristic function, gradients, recovery, bad input."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from dplit.features import complex_features
from dplit.sketching.decoders import mixtures
from dplit.sketching.decoders.mixtures import (
    decode_mixture,
    gmm_risk,
    log_densities,
    mixture_cost,
    mixture_gradient,
    mixture_sketch,
)
from dplit.streams import stream


def _mixture(k=3, d=2):
    rng = stream(0, "gmm-decoder", "data")
    means = rng.uniform(-3, 3, (k, d))
    return np.arange(1.0, k + 1) / (k * (k + 1) / 2), means, rng.uniform(0.2, 0.6, (k, d))


@pytest.mark.claim("sketch-def3")
def test_risk_of_full_covariances_against_scipy():
    weights, means, variances = _mixture()
    rng = stream(0, "gmm-risk", "data")
    factors = rng.standard_normal((3, 2, 2))
    full = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(2)
    X = rng.standard_normal((50, 2))
    for covariances, matrices in ((full, full), (variances, [np.diag(v) for v in variances])):
        density = sum(
            w * multivariate_normal(mu, s).pdf(X)
            for w, mu, s in zip(weights, means, matrices, strict=True)
        )
        risk = gmm_risk(X, weights, means, covariances)
        assert risk == pytest.approx(-np.log(density).mean(), rel=1e-10)
        np.testing.assert_allclose(
            log_densities(X, weights, means, covariances), np.log(density), rtol=1e-9
        )


def test_density_far_away_does_not_underflow():
    value = log_densities([[1e4]], [0.5, 0.5], [[0.0], [1.0]], [[1.0], [1.0]])
    assert value[0] == pytest.approx(-0.5 * 9999.0**2 - 0.9189 - math.log(2), rel=1e-9)


@pytest.mark.claim("sketch-beyond-gmm")
def test_sketch_of_a_mixture_is_the_mean_feature():
    """40,000 draws: every entry within 5.5 standard errors, false alarm 1e-6 over 24 numbers."""
    weights, means, variances = _mixture()
    rng = stream(0, "gmm-sketch", "data")
    label = rng.choice(3, size=40_000, p=weights)
    X = means[label] + np.sqrt(variances[label]) * rng.standard_normal((40_000, 2))
    omega = rng.standard_normal((2, 12))
    gap = complex_features(X, omega, normalize=False).mean(axis=0) - mixture_sketch(
        omega, weights, means, variances
    )
    assert max(np.abs(gap.real).max(), np.abs(gap.imag).max()) < 5.5 / 200


@pytest.mark.claim("sketch-beyond-gmm")
def test_gradients_against_differences():
    weights, means, variances = _mixture()
    logs = np.log(variances)
    rng = stream(0, "gmm-gradient", "public")
    omega = rng.standard_normal((2, 30))
    z = rng.standard_normal(30) + 1j * rng.standard_normal(30)
    parts = mixture_gradient(z, omega, weights, means, logs)
    whole = np.concatenate([part.ravel() for part in parts])

    def cost(flat):
        return mixture_cost(z, omega, flat[:3], flat[3:9].reshape(3, 2), flat[9:].reshape(3, 2))

    point = np.concatenate([weights, means.ravel(), logs.ravel()])
    numeric = approx_fprime(point, cost, 1e-7)
    np.testing.assert_allclose(whole, numeric, atol=2e-5 * np.abs(whole).max())
    direct = np.abs(mixture_sketch(omega, weights, means, variances) - z) ** 2
    assert cost(point) == pytest.approx(direct.sum(), rel=1e-12)


@pytest.mark.claim("sketch-beyond-gmm")
@pytest.mark.parametrize("factor", [1.0, 250.0])
def test_exact_sketches_give_the_mixture_back(factor):
    """The factor stands for a sum in place of a mean: it ends in ``mass`` alone."""
    weights, means, variances = _mixture()
    rng = stream(0, "gmm-recovery", "public")
    omega = rng.standard_normal((2, 90))
    z = factor * mixture_sketch(omega, weights, means, variances)
    fit = decode_mixture(z, omega, 3, bounds=(-4, 4), rng=rng)
    order = [int(np.argmin(((means - mu) ** 2).sum(axis=1))) for mu in fit.means]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(fit.means, means[order], atol=1e-3)
    np.testing.assert_allclose(fit.variances, variances[order], rtol=2e-2)
    np.testing.assert_allclose(fit.weights, weights[order], rtol=1e-2)
    assert fit.mass == pytest.approx(factor, rel=1e-2)
    assert fit.cost == min(fit.start_costs) < 1e-5 * factor**2 * 90
    assert len(fit.start_costs) == 3


@pytest.mark.claim("sketch-beyond-gmm")
def test_likelihood_of_the_sketch_against_em():
    """10,000 records of a mixture in 3 dimensions: within 0.01 of EM per record."""
    rng = stream(0, "gmm-em-decoder", "data")
    means = np.array([[-2.0, 0, 0], [2.0, 1, 0], [0, -2.0, 2]])
    X = means[rng.integers(3, size=10_000)] + rng.standard_normal((10_000, 3)) * [0.5, 1.0, 0.8]
    omega = rng.standard_normal((3, 200)) * 0.8
    z = complex_features(X, omega, normalize=False).mean(axis=0)
    fit = decode_mixture(z, omega, 3, bounds=(-6, 6), rng=rng)
    em = GaussianMixture(3, covariance_type="diag", random_state=0).fit(X)
    assert -gmm_risk(X, fit.weights, fit.means, fit.variances) > em.score(X) - 0.01


def test_units_of_the_box_do_not_matter(monkeypatch):
    """From the true means: kills a descent that forgets to change back."""
    weights, means, variances = _mixture()
    shift, scale = np.array([5.0, -2.0]), np.array([10.0, 0.1])
    rng = stream(0, "gmm-units", "public")
    omega = rng.standard_normal((2, 60))

    def decoded(w, m, v, b):
        monkeypatch.setattr(
            mixtures, "decode_kmeans", lambda *_, **__: SimpleNamespace(centroids=[m])
        )
        z = mixture_sketch(w, weights, m, v)
        return decode_mixture(z, w, 3, bounds=b, rng=np.random.default_rng(0))

    one, two = (
        decoded(w, m, v, b)
        for w, m, v, b in (
            (omega, means, variances, (-4.0, 4.0)),
            (
                omega / scale[:, None],
                shift + scale * means,
                scale**2 * variances,
                (shift - 4 * scale, shift + 4 * scale),
            ),
        )
    )
    np.testing.assert_allclose(two.means, shift + scale * one.means, rtol=1e-3)
    np.testing.assert_allclose(two.variances, scale**2 * one.variances, rtol=2e-2)


def test_variances_and_means_stay_in_their_ranges():
    rng = stream(0, "gmm-floor", "public")
    omega = rng.standard_normal((1, 40))
    z = np.exp(1j * 9.0 * omega[0])  # a point outside the box
    fit = decode_mixture(z, omega, 1, bounds=(-2, 2), rng=rng, min_variance=0.01)
    assert np.abs(fit.means).max() <= 2.0
    assert fit.variances.min() >= 0.01 * 4 * (1 - 1e-9)
