"""Two leaking samplers are separated with certainty; the right one keeps its promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.audit import clopper_pearson
from dplit.papers.erm.gaussian_process import largest_power
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.leaks import (
    audit_leak,
    best_direction,
    feature_root,
    kernel_hinge_pair,
    truncated_root,
)
from dplit.papers.erm.minimisers import fit_kernel
from dplit.streams import stream


@pytest.mark.claim("erm-beyond-gp-leaks")
@pytest.mark.parametrize("regularization", [0.5, 2.0])
def test_the_pair_is_what_the_solver_finds(regularization):
    pair = kernel_hinge_pair(30, regularization=regularization, rng=stream(0, "leak-pair", "data"))
    gram = gaussian_gram(pair.records, pair.records, width=0.5)
    for labels, coefficients in ((pair.labels, pair.coefficients), (pair.flipped, pair.neighbour)):
        fit = fit_kernel(gram, labels, loss="hinge", regularization=regularization)
        change = fit.coefficients - coefficients
        assert math.sqrt(max(change @ gram @ change, 0)) <= fit.distance + 1e-9
    change = pair.coefficients - pair.neighbour
    assert math.sqrt(change @ gram @ change) == pytest.approx(pair.sensitivity, rel=1e-12)
    assert pair.sensitivity == pytest.approx(1 / (regularization * 30))
    np.testing.assert_array_equal(np.flatnonzero(pair.labels != pair.flipped), [29])
    points = pair.records[:4] + 0.1
    expected = pair.sensitivity * gaussian_gram(points, pair.records[-1:], width=0.5)[:, 0]
    np.testing.assert_allclose(pair.difference(points), expected, atol=1e-14)


@pytest.mark.claim("erm-beyond-gp-leaks")
@pytest.mark.parametrize(
    ("implementation", "options", "power"),
    [
        ("truncated", {"side": 9, "cut": 1e-6}, 1e6),
        ("truncated", {"side": 15, "cut": 1e-12}, 15.0),
        ("features", {"side": 17, "n_components": 20}, 1e9),
        ("features", {"side": 17, "n_components": 200}, 1e5),
    ],
)
def test_leaks_are_separated_with_certainty(implementation, options, power):
    """Every run decides right: with the promised mu = 0.14 that has probability below 1e-100."""
    audit = audit_leak(implementation, seed=0, runs=200, **options)
    assert audit.rates == (1.0, 0.0)
    assert audit.power > power
    assert audit.mu == pytest.approx(0.1422106, rel=1e-6)


@pytest.mark.claim("erm-beyond-gp-leaks")
@pytest.mark.parametrize("side", [9, 15])
def test_the_oracle_is_not_separated(side):
    """Rates of 300 runs a side are compatible with the curve: false alarm 1e-4.

    One-sided limits at 0.99995 each; kills an oracle whose jitter is added to the matrix but whose
    noise is cut.
    """
    audit = audit_leak("oracle", seed=0, side=side, runs=300)
    low, _ = clopper_pearson(audit.hits_in, audit.runs, confidence=0.99995)
    _, high = clopper_pearson(audit.hits_out, audit.runs, confidence=0.99995)
    assert low <= largest_power(high, mu=audit.mu)
    assert audit.power <= audit.mu * (1 + 1e-9)
    assert audit.power >= 0.99 * audit.mu  # the attack is as good as any


@pytest.mark.claim("erm-beyond-gp-leaks")
def test_truncation_drops_what_it_says():
    rng = stream(0, "leak-cut", "data")
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.array([1.0, 0.5, 1e-3, 1e-7, 1e-13])
    root = truncated_root(Q * values @ Q.T, cut=1e-6)
    assert root.shape == (5, 3)
    np.testing.assert_allclose(root @ root.T, Q[:, :3] * values[:3] @ Q[:, :3].T, atol=1e-12)
    full = truncated_root(Q * values @ Q.T, cut=1e-14)
    np.testing.assert_allclose(full @ full.T, Q * values @ Q.T, atol=1e-14)


@pytest.mark.claim("erm-beyond-gp-leaks")
def test_features_approximate_the_kernel_but_have_their_rank():
    """Monte Carlo over 20,000 frequencies: 5 standard errors of at most 1/sqrt(K): alarm 1e-5."""
    points = stream(0, "leak-features", "data").uniform(-1, 1, (6, 2))
    rng = stream(0, "leak-features", "public")
    wide = feature_root(points, n_components=40_000, width=0.7, rng=rng)
    gap = wide @ wide.T - gaussian_gram(points, points, width=0.7)
    assert np.abs(gap).max() < 5 / math.sqrt(20_000)
    assert np.linalg.matrix_rank(feature_root(points, n_components=4, width=0.7, rng=rng)) == 4


@pytest.mark.claim("erm-beyond-gp-leaks")
def test_best_direction_is_the_likelihood_ratio():
    rng = stream(0, "leak-direction", "data")
    root, d = rng.normal(size=(5, 3)), rng.normal(size=5)
    direction, power = best_direction(d, root, sigma=2.0, floor=0.3)
    covariance = 4 * root @ root.T + 0.09 * np.eye(5)
    np.testing.assert_allclose(direction, np.linalg.solve(covariance, d), rtol=1e-10)
    assert power == pytest.approx(math.sqrt(d @ np.linalg.solve(covariance, d)), rel=1e-10)
    _, exact = best_direction(d, np.eye(5), sigma=1.0, floor=1e-9)
    assert exact == pytest.approx(float(np.linalg.norm(d)))
