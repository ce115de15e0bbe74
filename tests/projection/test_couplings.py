"""The algebra of the fast samplers: identities up to rounding, from the same noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.projection.laws import coupled_additive, coupled_projection
from dplit.streams import stream


@pytest.mark.claim("proj-beyond-samplers")
@pytest.mark.parametrize(
    ("n", "d", "rows", "lam"), [(50, 6, 20, 3.0), (50, 6, 6, 0.0), (7, 6, 9, 1.0)]
)
def test_projection_coupling_is_an_identity(n, d, rows, lam):
    rng = stream(0, f"test-coupling-{n}-{rows}", "noise")
    X, y = rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)
    S, N = rng.standard_normal((rows, n)), rng.standard_normal((rows, d))
    naive, small = coupled_projection(X, y, S, N, penalty=lam)
    direct = np.linalg.lstsq(S @ X + math.sqrt(lam) * N, S @ y, rcond=None)[0]
    np.testing.assert_allclose(naive, direct, rtol=1e-12)
    scale = np.abs(direct).max() * np.linalg.cond(S @ X + math.sqrt(lam) * N)
    np.testing.assert_allclose(small, direct, atol=1e-13 * scale)


@pytest.mark.claim("proj-beyond-samplers")
@pytest.mark.parametrize(("n", "d"), [(50, 6), (9, 6), (7, 6)])
def test_additive_coupling_is_an_identity(n, d):
    rng = stream(0, f"test-coupling-{n}", "noise")
    X, y, N = rng.uniform(-1, 1, (n, d)), rng.standard_normal(n), rng.standard_normal((n, d))
    naive, small = coupled_additive(X, y, N, sigma=0.7)
    direct = np.linalg.lstsq(X + 0.7 * N, y, rcond=None)[0]
    np.testing.assert_allclose(naive, direct, rtol=1e-12)
    scale = np.abs(direct).max() * np.linalg.cond(X + 0.7 * N) ** 2
    np.testing.assert_allclose(small, direct, atol=1e-13 * scale)


@pytest.mark.claim("proj-beyond-samplers")
def test_well_conditioned_couplings_agree_to_1e_12():
    rng = stream(0, "test-coupling-sizes", "noise")
    X, y = rng.uniform(-1, 1, (400, 20)), rng.standard_normal(400)
    S, N = rng.standard_normal((90, 400)), rng.standard_normal((90, 20))
    for fits in (
        coupled_projection(X, y, S, N, penalty=5.0),
        coupled_additive(X, y, rng.standard_normal((400, 20)), sigma=1.0),
    ):
        assert np.abs(fits.naive - fits.small).max() < 1e-12 * np.abs(fits.naive).max()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="penalty must be nonnegative"):
        coupled_projection(
            np.ones((3, 1)), np.ones(3), np.ones((2, 3)), np.ones((2, 1)), penalty=-1
        )
    with pytest.raises(ValueError, match="sigma must be positive"):
        coupled_additive(np.ones((3, 1)), np.ones(3), np.ones((3, 1)), sigma=0)
