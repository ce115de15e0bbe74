"""Minimisers: by hand, against general optimisers, and the certificate against the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from dplit._solvers.kernel_machines import duality_gap
from dplit.kernels.losses import LOSSES, loss_values
from dplit.papers.erm.kernels import gaussian_gram, linear_kernel, trigonometric_features
from dplit.papers.erm.minimisers import fit_kernel, fit_linear, minimum_by_bfgs, rkhs_norm
from dplit.streams import stream


def _problem(m, loss, name="minimisers", width=0.5):
    rng = stream(0, name, "data", m)
    X = rng.uniform(-1, 1, (m, 2))
    y = np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=m)
    if loss in ("hinge", "logistic"):
        y = np.where(y > 0, 1.0, -1.0)
    return gaussian_gram(X, X, width=width), y


def _objective(K, y, c, loss, lam, tau=0.5):
    f = K @ c
    return loss_values(loss, f, y, tau=tau).mean() + lam * c @ f


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize(
    ("loss", "y", "coefficient"),
    [
        ("squared", 2.0, 1.0),
        ("hinge", -1.0, -0.5),
        ("pinball", 5.0, 0.375),
        ("pinball", -5.0, -0.125),
    ],
)
def test_one_record_by_hand(loss, y, coefficient):
    """One record with K = 1 and lambda = 1: every minimiser is a line of algebra."""
    fit = fit_kernel([[1.0]], [y], loss=loss, regularization=1.0, tau=0.75)
    assert fit.coefficients[0] == pytest.approx(coefficient, rel=1e-12)
    assert fit.distance <= 1e-12


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_no_general_optimiser_does_better(loss, lam):
    """BFGS from the fit and from 0 never gets below objective - gap; the norm is certified."""
    K, y = _problem(12, loss, width=0.4)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(12))
    fit = fit_kernel(K, y, loss=loss, regularization=lam, tau=0.3)
    assert fit.gap <= 1e-10
    assert fit.objective == pytest.approx(_objective(K, y, fit.coefficients, loss, lam, 0.3))
    assert fit.predictions == pytest.approx(K @ fit.coefficients)

    def value(w):
        return loss_values(loss, root @ w, y, tau=0.3).mean() + lam * w @ w

    near = minimize(value, root.T @ fit.coefficients, method="BFGS", tol=1e-9).fun
    best = min(near, minimum_by_bfgs(K, y, loss=loss, regularization=lam, tau=0.3))
    assert fit.objective - fit.gap <= best + 1e-9
    assert fit.objective <= best + 1e-9


@pytest.mark.claim("erm-eq1")
def test_least_squares_is_ridge_regression():
    K, y = _problem(30, "squared")
    fit = fit_kernel(K, y, loss="squared", regularization=0.05)
    expected = np.linalg.solve(K + 0.05 * 30 * np.eye(30), y)
    assert fit.coefficients == pytest.approx(expected, rel=1e-9)
    phi = stream(0, "ridge-peer", "data").normal(size=(40, 3))
    peer = Ridge(alpha=0.2 * 40, fit_intercept=False).fit(phi, phi[:, 0] ** 2)
    linear = fit_linear(phi, phi[:, 0] ** 2, loss="squared", regularization=0.2)
    assert linear.weights == pytest.approx(peer.coef_, rel=1e-9)
    assert linear.distance < 1e-12


@pytest.mark.claim("erm-eq1")
def test_hinge_fit_agrees_with_liblinear_on_the_cholesky_rows():
    K, y = _problem(60, "hinge")
    rows = np.linalg.cholesky(K + 1e-11 * np.eye(60))
    C = 1 / (2 * 0.02 * 60)
    peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6)
    f = rows @ peer.fit(rows, y).coef_[0]
    fit = fit_kernel(K, y, loss="hinge", regularization=0.02)
    assert fit.predictions == pytest.approx(f, abs=2e-4)


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam", [0.5, 0.003])
def test_kernel_and_linear_fits_are_the_same_function(loss, lam):
    x = stream(0, "same-function", "data").uniform(size=90)
    phi = trigonometric_features(x, n_frequencies=5)
    y = np.sin(2 * np.pi * x) + 0.2
    y = np.sign(y) if loss in ("hinge", "logistic") else y
    one = fit_kernel(phi @ phi.T, y, loss=loss, regularization=lam, tau=0.8, tol=1e-16)
    two = fit_linear(phi, y, loss=loss, regularization=lam, tau=0.8, tol=1e-16)
    difference = np.linalg.norm(phi.T @ one.coefficients - two.weights)
    assert difference <= one.distance + two.distance + 1e-12
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    assert max(one.distance, two.distance) < 2e-5


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_holds_for_any_coefficients(loss):
    """Perturbed coefficients: the true distance is at most sqrt(gap / lambda), at least a tenth."""
    K, y = _problem(25, loss)
    lam, rng = 0.05, stream(0, "certificate", "noise")
    best = fit_kernel(K, y, loss=loss, regularization=lam, tau=0.6, tol=1e-20)
    penalty = 2 * lam * 25
    for size in (1e-1, 1e-3):
        c = best.coefficients + size * rng.normal(size=25) / penalty
        if loss in ("hinge", "logistic"):
            c = y * np.clip(y * c, 0, 1 / penalty)
        elif loss == "pinball":
            c = np.clip(c, -0.4 / penalty, 0.6 / penalty)
        gap = duality_gap(loss, y, c, K @ c, penalty, 0.6)
        rise = _objective(K, y, c, loss, lam, 0.6) - best.objective
        true = rkhs_norm(c - best.coefficients, K)
        assert rise <= gap * (1 + 1e-6) + 1e-12
        assert true <= math.sqrt(gap / lam) * (1 + 1e-6)
        assert true >= 0.1 * size / penalty


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize("loss", LOSSES)
def test_an_intermediate_tolerance_is_reached(loss):
    x = stream(0, "tolerance", "data").uniform(size=500)
    phi = trigonometric_features(x)
    y = np.where(np.sin(2 * np.pi * x) > 0, 1.0, -1.0)
    for tol in (1e-4, 1e-8, 1e-12):
        fit = fit_linear(phi, y, loss=loss, regularization=0.02, tol=tol)
        assert fit.gap <= tol
        assert fit.distance == pytest.approx(math.sqrt(fit.gap / 0.02))


@settings(max_examples=40)
@given(
    m=st.integers(1, 12),
    exponent=st.floats(-4, 1),
    loss=st.sampled_from(["hinge", "pinball"]),
    copies=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_repeated_points_and_points_at_zero_are_welcome(m, exponent, loss, copies, seed):
    """Singular matrices: duplicates in a linear kernel on the line, one point at 0."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.append(rng.uniform(-1, 1, m), 0.0), copies)
    y = rng.choice([-1.0, 1.0], len(x))
    fit = fit_kernel(linear_kernel(x, x), y, loss=loss, regularization=10.0**exponent, tau=0.7)
    assert fit.gap <= 1e-10
    w = float(x @ fit.coefficients)
    grid = w + np.linspace(-1, 1, 2001)
    values = (
        loss_values(loss, np.outer(grid, x), y, tau=0.7).mean(axis=1) + 10.0**exponent * grid**2
    )
    assert fit.objective <= values.min() + fit.gap + 1e-12


def test_large_linear_problem_is_certified():
    """m = 20,000: fast, and the certificate is small."""
    x = stream(0, "large", "data").uniform(size=20_000)
    y = np.where(np.sin(2 * np.pi * x) > 0, 1.0, -1.0)
    fit = fit_linear(trigonometric_features(x), y, loss="hinge", regularization=20_000**-0.5)
    assert fit.gap <= 1e-10
    assert (np.sign(fit.predictions) == y).mean() > 0.98


@pytest.mark.claim("erm-eq1")
@pytest.mark.parametrize("loss", ["hinge", "pinball"])
def test_large_gram_matrices_of_low_rank_are_certified(loss):
    """m = 520: interior points on the factor, then coordinates; the certificate is the Gram's."""
    K, y = _problem(520, loss)
    fit = fit_kernel(K, y, loss=loss, regularization=1e-4, tau=0.7)
    assert fit.gap <= 1e-10
    assert fit.objective == pytest.approx(_objective(K, y, fit.coefficients, loss, 1e-4, 0.7))


def test_norm_in_the_space():
    K, y = _problem(9, "squared")
    root = np.linalg.cholesky(K)
    assert rkhs_norm(y, K) == pytest.approx(np.linalg.norm(root.T @ y), rel=1e-12)
    assert rkhs_norm([1.0, -1.0], np.ones((2, 2))) == 0.0
