"""Record-by-record sensitivities against refits; distances and spectra against direct routes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.random_features import records_audit
from dplit_studies.random_features.synthetic import _draw_data

ONE = np.ones((1, 1))


@pytest.mark.claim("dprf-fig1")
def test_audit_equals_refits_at_a_small_size() -> None:
    audit = records_audit.sensitivity_audit(
        seed=5, components=(40, 70), n_records=12, n_fresh=3, dimension=2
    )
    name = "dprf-noise-audit"
    X, y = _draw_data(15, 2, "f1", rng=stream(5, name, "data"))
    rng = stream(5, name, "public")
    omega, phases = [], []
    done = 0
    for k, n in enumerate((40, 70)):
        omega.append(40.0 * rng.standard_normal((2, n - done)))
        phases.append(rng.uniform(0, 2 * np.pi, n - done))
        done = n
        F = math.sqrt(2 / n) * np.cos(X @ np.hstack(omega) + np.concatenate(phases))
        train, c = F[:12], np.linalg.pinv(F[:12]) @ y[:12]
        removals, flips, swaps = [], [], []
        for j in range(12):
            keep = np.arange(12) != j
            removals.append(np.linalg.norm(c - np.linalg.pinv(train[keep]) @ y[:12][keep]))
            flipped = y[:12].copy()
            flipped[j] *= -1
            flips.append(np.linalg.norm(c - np.linalg.pinv(train) @ flipped))
            for i in range(3):
                G, z = train.copy(), y[:12].copy()
                G[j], z[j] = F[12 + i], y[12 + i]
                swaps.append(np.linalg.norm(c - np.linalg.pinv(G) @ z))
        measured = [
            getattr(audit, f)[k]
            for f in ("components", "code", "flip", "removal", "swap_mean", "swap_max")
        ]
        expected = [n, 4 / math.sqrt(n), max(flips), max(removals), np.mean(swaps), max(swaps)]
        np.testing.assert_allclose(measured, expected, rtol=1e-9)


@pytest.mark.claim("dprf-fig4", "dprf-fig5")
def test_shortfall_is_attained_by_an_interpolator() -> None:
    """One label moved by 1 moves an interpolator with unit rows by at least 1 = shortfall Delta."""
    rng = np.random.default_rng(1)
    F = rng.standard_normal((10, 400))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    moved = np.linalg.norm(np.linalg.pinv(F), axis=0)
    delta = 4 / math.sqrt(400)
    assert records_audit.interpolation_shortfall(400) * delta == pytest.approx(1.0)
    assert moved.min() >= records_audit.interpolation_shortfall(400) * delta
    assert records_audit.interpolation_shortfall(2000) == pytest.approx(11.18, abs=0.01)
    assert records_audit.interpolation_shortfall(20000, sensitivity=2.0) == pytest.approx(
        70.71, abs=0.01
    )


def test_nearest_distances_equal_brute_force() -> None:
    rng = np.random.default_rng(2)
    X = np.vstack([rng.standard_normal((20, 3))] * 2)
    gaps = np.linalg.norm(X[:20, None] - X[None, :20], axis=2) + 1e9 * np.eye(20)
    np.testing.assert_allclose(records_audit.nearest_distances(X), gaps.min(axis=1), rtol=1e-12)


@pytest.mark.claim("dprf-thm8")
def test_spectra_follow_marchenko_pastur() -> None:
    """Narrow kernel, m = 200: extreme eigenvalues within 6 % of the edges at N/m = 3 and 12 (the
    fluctuation of an edge is about m^(-2/3), 3 %; fixed seed); kills a missing factor 2/N."""
    X = np.random.default_rng(3).standard_normal((200, 5))
    for spectrum in records_audit.experiment_spectra(
        "test", X, (600, 2400), frequency_sd=40.0, seed=0
    ):
        ratio = math.sqrt(200 / spectrum.n_components)
        assert spectrum.largest == pytest.approx((1 + ratio) ** 2, rel=0.06)
        assert spectrum.smallest == pytest.approx((1 - ratio) ** 2, rel=0.12)
        assert spectrum.norm == pytest.approx(max(spectrum.largest - 1, 1 - spectrum.smallest))
        assert spectrum.needed == pytest.approx(4 * math.log(400 / 0.375))
        assert spectrum.product == pytest.approx(1600 * X.var(axis=0).sum())
        assert spectrum.conclusion_holds == (spectrum.n_components == 2400)
        assert (spectrum.smallest >= 0.25) == (spectrum.n_components == 2400)
        assert (spectrum.below_quarter > 0) == (spectrum.n_components == 600)


@pytest.mark.claim("dprf-thm8")
def test_duplicates_make_the_smallest_eigenvalue_zero() -> None:
    X = np.random.default_rng(4).standard_normal((30, 5))
    X[1] = X[0]
    spectrum = records_audit.experiment_spectra("twice", X, (300,), frequency_sd=40.0, seed=0)[0]
    assert abs(spectrum.smallest) < 1e-12
    assert spectrum.below_quarter == 1
