"""Random projections: the transform against SciPy's matrix, lengths against their exact laws.

Random tests use fixed seeds; a fresh seed would raise a false alarm with the probability stated.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import binom, norm

from dplit.features import hadamard_projection, hadamard_transform, sign_projection
from dplit.streams import stream


def matrix(projection) -> np.ndarray:
    """Return Phi (k, d) as its definition reads."""
    order, k = projection.order, projection.n_components
    H = hadamard(order) / np.sqrt(order)
    return np.sqrt(order / k) * H[projection.rows][:, : projection.n_features] * projection.signs


@pytest.mark.parametrize("order", [1, 2, 8, 64, 128, 512, 4096])
def test_the_transform_is_the_hadamard_matrix(order):
    X = stream(0, "hadamard", "data", order).standard_normal((5, order))
    expected = X @ (hadamard(order) / np.sqrt(order))
    np.testing.assert_allclose(hadamard_transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(hadamard_transform(hadamard_transform(X)), X, atol=1e-12)


def test_the_transform_works_in_blocks_of_rows_and_leaves_its_input_alone():
    """300 rows of 2048 columns are several blocks; the last one is short."""
    X = stream(0, "hadamard-blocks", "data").standard_normal((300, 2048))
    before = X.copy()
    whole = hadamard_transform(X)
    assert np.array_equal(X, before)
    np.testing.assert_allclose(
        whole[[0, 127, 128, 299]],
        X[[0, 127, 128, 299]] @ (hadamard(2048) / np.sqrt(2048)),
        atol=1e-12,
    )


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 3), (8, 8), (100, 40), (300, 512)])
def test_projection_and_adjoint_are_their_matrix(d, k):
    rng = stream(0, "srht", "public", d)
    projection = hadamard_projection(d, k, rng=rng)
    Phi, X, W = matrix(projection), rng.standard_normal((9, d)), rng.standard_normal((4, k))
    np.testing.assert_allclose(projection.transform(X), X @ Phi.T, atol=1e-12)
    np.testing.assert_allclose(projection.adjoint(W), W @ Phi, atol=1e-12)
    np.testing.assert_allclose(projection.adjoint(W[0]), W[0] @ Phi, atol=1e-12)
    assert len(set(projection.rows.tolist())) == k


@pytest.mark.parametrize("kind", ["signs", "hadamard"])
def test_squared_lengths_are_unbiased(kind):
    """4000 maps of one vector; false alarm 6e-5. Kills a missing sqrt(order / k) or 1/sqrt(k)."""
    rng, d, k, n = stream(0, "lengths", "public"), 24, 8, 4000
    x = rng.standard_normal((1, d))
    if kind == "signs":
        images = [x @ sign_projection(d, k, rng=rng).T for _ in range(n)]
    else:
        images = [hadamard_projection(d, k, rng=rng).transform(x) for _ in range(n)]
    ratios = np.array([(z**2).sum() for z in images]) / (x**2).sum()
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / np.sqrt(n)


def test_signs_are_fair_and_independent_of_their_neighbours():
    """Counts of +1 and of equal neighbours, 4 sd: false alarm 1.3e-4. Kills repeated rows."""
    Phi = sign_projection(500, 200, rng=stream(0, "signs", "public"))
    assert np.unique(np.abs(Phi)) == pytest.approx(1 / np.sqrt(200))
    for events in (Phi > 0, Phi[1:] == Phi[:-1]):
        low, high = binom.ppf(norm.cdf([-4, 4]), events.size, 0.5)
        assert low <= events.sum() <= high


def test_bad_input_is_named():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"power of two of columns, got X of shape \(2, 3\)"):
        hadamard_transform(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="X must be finite"):
        hadamard_transform([[np.nan, 0.0]])
    with pytest.raises(ValueError, match="n_components must be at most 8, got n_components=9"):
        hadamard_projection(5, 9, rng=rng)
    with pytest.raises(ValueError, match="n_components"):
        sign_projection(5, 0, rng=rng)
    projection = hadamard_projection(5, 4, rng=rng)
    with pytest.raises(ValueError, match=r"X must have 5 columns, got X of shape \(2, 4\)"):
        projection.transform(np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"W must have 4 columns, got W of shape \(5,\)"):
        projection.adjoint(np.zeros(5))
