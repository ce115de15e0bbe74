"""The error decomposition on finite populations: identities, bounds, and exact expectations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.erm.decomposition import (
    coin_decomposition,
    error_decomposition,
    privacy_generalization,
    stability_generalization,
)
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.minimisers import fit_kernel
from dplit.papers.erm.scales import noise_scale
from dplit.streams import stream


def _random_case(rng, loss, n=12, m=9):
    """A population of n records, a fit to m of them, and the predictions of three functions."""
    x, weights = rng.uniform(0, 1, n), rng.dirichlet(np.ones(n))
    y = np.sign(rng.standard_normal(n)) if loss == "hinge" else rng.uniform(-1, 1, n)
    picked = rng.choice(n, m, p=weights)
    K = gaussian_gram(x, x, width=0.3)
    gram = K[np.ix_(picked, picked)]
    fit = fit_kernel(gram, y[picked], loss=loss, regularization=0.1, tau=0.7, tol=1e-12)
    step = rng.standard_normal(n) * 0.3
    penalty = fit.coefficients @ gram @ fit.coefficients
    return {
        "y": y,
        "population": weights,
        "empirical": np.bincount(picked, minlength=n) / m,
        "fitted": K[:, picked] @ fit.coefficients,
        "stepping": K @ step,
        "target": np.sign(y) * np.minimum(np.abs(y), 1),
        "penalties": (0.1 * penalty, 0.1 * (step @ K @ step)),
        "tau": 0.7,
    }


@pytest.mark.claim("erm-eq3")
@pytest.mark.parametrize("loss", ["squared", "hinge", "pinball"])
def test_parts_exceed_the_excess_by_the_slack_on_every_draw(loss):
    """Deterministic identity and inequality (up to the certified gap 1e-12)."""
    rng = stream(0, "erm-eq3", "data")
    for _ in range(15):
        case = _random_case(rng, loss)
        for shift, scale in ((0.0, 0.0), (float(rng.laplace()), 0.0), (0.0, 0.4)):
            parts = error_decomposition(loss, **case, shift=shift, scale=scale)
            assert sum(parts[:4]) - parts.excess == pytest.approx(parts.slack, abs=1e-12)
            assert parts.slack >= case["penalties"][0] - 1e-11


@pytest.mark.claim("erm-eq3")
def test_parts_by_hand():
    """Losses at +1, -1: of f_z = .5 shifted to .8: .2, 1.8; of f_lambda = f_rho = 1: 0, 2."""
    parts = error_decomposition(
        "hinge",
        y=[1.0, -1.0],
        population=[0.9, 0.1],
        empirical=[1.0, 0.0],
        fitted=[0.5, 0.5],
        stepping=[1, 1],
        target=[1, 1],
        penalties=(0.125, 0.5),
        shift=0.3,
    )
    expected = [0.36 - 0.2, 0.2 - 0.5, 0 - 0.2, 0.5, 0.36 - 0.2, 0 + 0.5 - 0.5]
    assert list(parts) == pytest.approx(expected, abs=1e-12)


@pytest.mark.claim("erm-eq3")
def test_averaged_parts_agree_with_draws_of_the_noise():
    """5 standard errors on two means, false alarm 1.2e-6."""
    case = _random_case(stream(1, "erm-eq3", "data"), "hinge")
    exact = error_decomposition("hinge", **case, scale=0.4)
    noise = stream(1, "erm-eq3", "noise").laplace(scale=0.4, size=4000)
    drawn = np.array([error_decomposition("hinge", **case, shift=b)[:2] for b in noise])
    error = 5 * drawn.std(axis=0) / math.sqrt(len(noise))
    assert np.all(np.abs(drawn.mean(axis=0) - exact[:2]) < error)


def _coin_by_samples(m, regularization, eta, scale):
    """Expected gap between population and sample risk, one labelled sample after the other."""
    total = 0.0
    for code in range(2**m):
        y = np.array([1.0 if code >> i & 1 else -1.0 for i in range(m)])
        fit = fit_kernel(np.ones((m, m)), y, loss="hinge", regularization=regularization)
        w = float(fit.predictions[0])
        chance = np.prod(np.where(y > 0, eta, 1 - eta))
        price = [
            (1 - s * w) * (s * w < 1) + scale / 2 * math.exp(-abs(1 - s * w) / scale)
            for s in (1, -1)
        ]
        share = (y > 0).mean()
        total += chance * ((eta - share) * price[0] + (share - eta) * price[1])
    return total


@pytest.mark.claim("erm-prop2")
@pytest.mark.parametrize("m", [1, 2, 5])
def test_coin_expectation_agrees_with_the_solver_on_every_sample(m):
    exact = coin_decomposition(m, regularization=0.15, probability=0.7, scale=0.2)
    brute = _coin_by_samples(m, 0.15, 0.7, 0.2)
    assert exact.generalization == pytest.approx(brute, abs=1e-5)
    assert abs(exact.sample) < 1e-14
    assert sum(exact[:4]) - exact.excess == pytest.approx(exact.slack, abs=1e-13)


@pytest.mark.claim("erm-prop2", "erm-beyond-stability-rate")
@pytest.mark.parametrize("as_printed", [True, False])
def test_both_bounds_on_the_generalisation_error_hold_for_both_noises(as_printed):
    """Deterministic; the stability bound is within a factor 2 of the truth somewhere."""
    best = 0.0
    for m in (1, 2, 3, 5, 9, 15):
        for penalty in (0.02, 0.1, 0.3, 1.0, 3.0):
            for eta in (0.5, 0.7, 0.95):
                for epsilon in (0.1, 0.5, 1.0):
                    scale = noise_scale(
                        epsilon=epsilon,
                        lipschitz=1.0,
                        kappa=1.0,
                        regularization=penalty,
                        n_records=m,
                        as_printed=as_printed,
                    )
                    parts = coin_decomposition(
                        m, regularization=penalty, probability=eta, scale=scale
                    )
                    stable = stability_generalization(
                        lipschitz=1.0, regularization=penalty, n_records=m
                    )
                    best = max(best, parts.generalization / stable)
                    spent = 2 * epsilon if as_printed else epsilon
                    private = privacy_generalization(
                        epsilon=spent, baseline=1.0, noise_error=parts.noise
                    )
                    assert parts.generalization <= min(stable, private) + 1e-13
    assert 0.4 < best <= 0.51


@pytest.mark.claim("erm-prop2")
def test_versions_of_proposition_2():
    arguments = {"epsilon": 0.3, "baseline": 0.8, "noise_error": 0.25}
    printed = privacy_generalization(**arguments, version="printed")
    assert printed == pytest.approx(2 * 2 * 0.8 * 0.3 + 2 * 0.3 * 0.25)
    proof = privacy_generalization(**arguments, version="proof")
    assert proof == pytest.approx(0.6 * 1.05)
    assert privacy_generalization(**arguments) == pytest.approx((math.exp(0.3) - 1) * 1.05)


@pytest.mark.claim("erm-prop2", "erm-beyond-stability-rate")
def test_stability_bound_scales_as_the_formula():
    value = stability_generalization(
        lipschitz=2.0, regularization=0.5, n_records=10, kappa=3.0, strong_convexity=1.0
    )
    assert value == pytest.approx(2 * 9 * 4 / (0.5 * 1 * 10), rel=1e-14)
