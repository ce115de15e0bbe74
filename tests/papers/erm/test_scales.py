"""Noise scales: printed formulas, what one answer needs, and where the printed ones fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dplit.kernels.lipschitz import least_squares_stability
from dplit.papers.erm.line_pairs import hinge_pair, ridge_pair
from dplit.papers.erm.scales import (
    hinge_scale,
    least_squares_scale,
    noise_scale,
    printed_least_squares_loss,
    safe_regularization,
    sup_sensitivity,
)


def _at(m, lam, kappa, **more):
    return {"n_records": m, "regularization": lam, "kappa": kappa, **more}


@pytest.mark.claim("erm-prop1", "erm-def2")
@pytest.mark.parametrize(
    ("C", "kappa", "lam", "m", "gamma"),
    [(1.0, 1.0, 0.1, 101, 2.0), (0.75, 0.3, 2.0, 7, 1.0), (3.0, 2.0, 0.01, 1000, 2.0)],
)
def test_scales_are_the_formulas(C, kappa, lam, m, gamma):
    setting = _at(m, lam, kappa, lipschitz=C, strong_convexity=gamma)
    width = 2 * kappa**2 * C / (lam * gamma * m)
    assert sup_sensitivity(**setting) == pytest.approx(width, rel=1e-14)
    assert noise_scale(epsilon=0.5, **setting) == pytest.approx(2 * width, rel=1e-14)
    alpha = 2 * kappa**2 * C / (lam * gamma * m * 0.5)  # the printed normaliser
    printed = noise_scale(epsilon=0.5, as_printed=True, **setting)
    assert printed == pytest.approx(alpha / 2, rel=1e-14)


@pytest.mark.claim("erm-svm-noise")
@pytest.mark.parametrize(("m", "lam", "kappa"), [(101, 0.1, 1.0), (9, 0.7, 0.2), (1, 2.0, 2.0)])
def test_hinge_needs_twice_the_printed_scale(m, lam, kappa):
    setting = _at(m, lam, kappa, epsilon=0.5)
    pair = hinge_pair(n_records=m, regularization=lam, kappa=kappa)
    gap = float(np.ptp([f[0] for f in pair.values([kappa])]))
    assert gap / hinge_scale(**setting) == pytest.approx(0.5, rel=1e-12)
    assert gap / hinge_scale(as_printed=True, **setting) == pytest.approx(1.0, rel=1e-12)
    assert hinge_scale(as_printed=True, **setting) == pytest.approx(
        kappa**2 / (2 * lam * m * 0.5), rel=1e-14
    )


@pytest.mark.claim("erm-ls-noise")
@pytest.mark.parametrize(("m", "lam", "kappa", "M"), [(50, 0.05, 1.0, 1.0), (9, 0.7, 0.2, 3.0)])
def test_least_squares_scales_are_the_formulas(m, lam, kappa, M):
    setting = _at(m, lam, kappa, epsilon=0.5, label_bound=M)
    alpha = 2 * M * kappa**2 * (kappa + 1) / (lam**1.5 * m * 0.5)
    printed = least_squares_scale(rule="printed", **setting)
    assert printed == pytest.approx(alpha / 2, rel=1e-13)
    assert least_squares_scale(rule="doubled", **setting) == pytest.approx(alpha, rel=1e-13)
    distance = least_squares_stability(regularization=lam, n_records=m, label_bound=M, kappa=kappa)
    assert least_squares_scale(**setting) == pytest.approx(kappa * distance / 0.5, rel=1e-13)


@pytest.mark.claim("erm-ls-noise")
@pytest.mark.parametrize(
    ("m", "lam", "kappa", "loss"),
    [(1000, 1.0, 0.3, 1.5383), (10, 10 ** (-1 / 3), 0.1, 1.2362), (10**6, 0.81, 0.5, 1.2)],
)
def test_printed_least_squares_noise_fails_for_these(m, lam, kappa, loss):
    """One record changes its label: the second case has the paper's own lambda = m^(-1/3)."""
    pair = ridge_pair(n_records=m, regularization=lam, kappa=kappa)
    setting = _at(m, lam, kappa, epsilon=1.0, label_bound=1.0)
    ratio = kappa * pair.distance / least_squares_scale(rule="printed", **setting)
    closed = 2 * math.sqrt(lam) / (kappa + 1) * lam * m / (lam * m + kappa**2)
    assert ratio == pytest.approx(closed, rel=1e-12)
    assert ratio == pytest.approx(loss, abs=2e-4)
    assert kappa * pair.distance / least_squares_scale(**setting) <= 1.0


@pytest.mark.claim("erm-ls-noise")
@pytest.mark.parametrize("kappa", [0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("lam", [0.05, 0.25, 1.0, 4.0])
def test_printed_loss_is_the_supremum(lam, kappa):
    """Never exceeded by the stability bound of any size, and approached by explicit records."""
    limit = printed_least_squares_loss(regularization=lam, kappa=kappa)
    for m in (1, 10, 1000, 10**7):
        setting = _at(m, lam, kappa, epsilon=1.0, label_bound=1.0)
        needed = least_squares_scale(**setting)
        printed = least_squares_scale(rule="printed", **setting)
        assert needed / printed <= limit * (1 + 1e-9)
    assert needed / printed == pytest.approx(limit, rel=1e-4)
    norm = 0.5 / math.sqrt(lam) if lam <= kappa**2 else kappa / (kappa**2 + lam)
    angle = minimize_scalar(
        lambda t: -2 * math.sin(t) * (1 + kappa * norm * math.cos(t)),
        bounds=(0, math.pi / 2),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert limit == pytest.approx(-angle.fun * math.sqrt(lam) / (kappa + 1), rel=1e-12)


@pytest.mark.claim("erm-ls-noise")
@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 10.0))
def test_the_safe_range_ends_between_the_two_closed_forms(kappa):
    limit = safe_regularization(kappa=kappa)
    assert 0.25 * (1 + kappa / 2) ** 2 < limit < 0.25 * (1 + kappa) ** 2
    assert printed_least_squares_loss(regularization=limit, kappa=kappa) == pytest.approx(1.0)
    assert printed_least_squares_loss(regularization=0.99 * limit, kappa=kappa) < 1.0
    assert printed_least_squares_loss(regularization=1.01 * limit, kappa=kappa) > 1.0


def test_numpy_numbers_are_numbers():
    """Polynomials times NumPy scalars are arrays: arguments must be turned into floats."""
    setting = {"epsilon": 0.5, "label_bound": 1.0, "n_records": 10}
    plain = least_squares_scale(kappa=0.5, regularization=0.1, **setting)
    scalars = least_squares_scale(kappa=np.float64(0.5), regularization=np.float64(0.1), **setting)
    assert plain == scalars
