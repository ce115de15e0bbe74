"""The long way, against least squares on the very matrices it draws."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.projection import simulation
from dplit_studies.projection.simulation import naive_additive_draws, naive_projection_draws

RNG = stream(0, "test-naive", "data")
X, Y = RNG.uniform(-1, 1, (12, 3)), RNG.standard_normal(12)


@pytest.mark.parametrize("lam", [0.0, 2.0])
def test_projection_is_the_mechanism_as_written(lam):
    found = naive_projection_draws(
        X, Y, penalty=lam, n_components=7, size=2, rng=stream(1, "test-naive", "noise")
    )
    rng = stream(1, "test-naive", "noise")
    S, N = rng.standard_normal((2, 7, 12)), rng.standard_normal((2, 7, 3))
    for k in range(2):
        fit = np.linalg.lstsq(S[k] @ X + np.sqrt(lam) * N[k], S[k] @ Y, rcond=None)[0]
        np.testing.assert_allclose(found[k], fit, rtol=1e-9)


def test_additive_noise_is_the_mechanism_as_written():
    rng = stream(1, "test-naive", "noise")
    found = naive_additive_draws(X, Y, sigma=0.5, size=2, rng=rng)
    N = stream(1, "test-naive", "noise").standard_normal((2, 12, 3))
    for k in range(2):
        fit = np.linalg.lstsq(X + 0.5 * N[k], Y, rcond=None)[0]
        np.testing.assert_allclose(found[k], fit, rtol=1e-9)


def test_batches_do_not_change_the_number_of_draws(monkeypatch):
    monkeypatch.setattr(simulation, "_ENTRIES", 100)
    rng = stream(2, "test-naive", "noise")
    assert naive_additive_draws(X, Y, sigma=0.5, size=8, rng=rng).shape == (8, 3)
    fits = naive_projection_draws(X, Y, penalty=0.0, n_components=7, size=5, rng=rng)
    assert fits.shape == (5, 3)
    assert len(np.unique(fits[:, 0])) == 5
