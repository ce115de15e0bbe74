"""Networks: evaluation by loops, compression against its bound, readings of the sigmoid."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.features import sign_projection
from dplit.papers.margin import networks
from dplit.streams import stream
from dplit_studies.margin import compressed_networks


def _network(depth=3, d=6, width=4, norm=2.0, name="network"):
    rng = stream(0, name, "data")
    weights = compressed_networks.random_network(
        n_features=d, width=width, depth=depth, weight_norm=norm, rng=rng
    )
    X = rng.standard_normal((30, d))
    return weights, X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.claim("margin-nn-def")
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_output_by_loops(depth):
    """Kills an activation in the last layer, or one too few."""
    weights, X = _network(depth)
    expected = []
    for x in X:
        v = x
        for W in weights[:-1]:
            z = W.T @ v
            v = (1 - np.exp(-1.5 * z)) / (1 + np.exp(-1.5 * z))
        expected.append(float(weights[-1] @ v))
    np.testing.assert_allclose(networks.network_output(X, weights, slope=1.5), expected, rtol=1e-12)


@pytest.mark.claim("margin-nn-def")
@pytest.mark.parametrize("form", ["tanh", "half", "quarter", "logistic"])
def test_slope_is_the_largest_difference_quotient(form):
    grid = np.linspace(-3, 3, 60_001)
    steps = np.diff(networks.sigmoid(grid, slope=2.0, form=form)) / np.diff(grid)
    slope = networks.sigmoid_slope(slope=2.0, form=form)
    assert steps.max() == pytest.approx(slope, rel=1e-6)
    assert slope <= 2.0
    at_zero = networks.sigmoid(0.0, form=form)
    assert at_zero == (0.5 if form == "logistic" else 0.0)


@pytest.mark.claim("margin-nn-def")
def test_random_network_has_its_norms():
    weights, _ = _network(depth=4, norm=1.7)
    norms = [np.linalg.norm(w) for w in weights]
    np.testing.assert_allclose(norms, [1.7] * 4, rtol=1e-12)


@pytest.mark.claim("margin-fig2")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_both_sides_of_the_schematic_are_one_function(depth):
    """Projecting inputs, and multiplying weights by Phi^T, give one output."""
    weights, X = _network(depth)
    rng = stream(0, "fig2", "public")
    maps = [sign_projection(len(W), 5, rng=rng) for W in weights]
    small = [p @ W for p, W in zip(maps, weights, strict=True)]
    large = [p.T @ S for p, S in zip(maps, small, strict=True)]
    np.testing.assert_allclose(
        networks.compressed_output(X, small, maps), networks.network_output(X, large), atol=1e-12
    )


@pytest.mark.claim("margin-thm51")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_error_recursion_bounds_measured_errors(depth):
    """The measured distortion goes into the bound: deterministic, over 20 draws of the maps.

    Kills a bound of half the size: at depth 1 the worst case is attained.
    """
    weights, X = _network(depth, width=3)
    rng = stream(0, "recursion", "public")
    ratios = []
    for _ in range(20):
        maps = [sign_projection(len(W), 40, rng=rng) for W in weights]
        eta = compressed_networks.projection_distortion(X, weights, maps)
        small = [p @ W for p, W in zip(maps, weights, strict=True)]
        after = networks.compressed_output(X, small, maps)
        gap = np.abs(after - networks.network_output(X, weights)).max()
        options = {"weight_norm": 2.0, "data_norm": 1.0, "slope": 0.5}
        bound = networks.compression_bound(distortion=eta, depth=depth, **options)
        ratios.append(gap / bound)
    assert max(ratios) <= 1 + 1e-9
    if depth == 1:
        assert max(ratios) > 0.999


@pytest.mark.claim("margin-thm51")
def test_distortion_by_loops():
    weights, X = _network(2, d=5, width=3)
    rng = stream(0, "distortion", "public")
    maps = [sign_projection(len(W), 4, rng=rng) for W in weights]
    worst, (first, last) = 0.0, maps
    for x in X:
        hidden = []
        for w in weights[0].T:
            kept = (first @ w) @ (first @ x)
            hidden.append(np.tanh(kept / 2))
            worst = max(worst, abs(kept - w @ x) / np.linalg.norm(w))
        v, w = np.array(hidden), weights[1]
        gap = abs((last @ w) @ (last @ v) - w @ v)
        worst = max(worst, gap / np.linalg.norm(w) / np.linalg.norm(v))
    value = compressed_networks.projection_distortion(X, weights, maps)
    assert value == pytest.approx(worst, rel=1e-12)


@pytest.mark.claim("margin-thm51")
def test_bound_by_hand_and_its_inverse():
    options = {"depth": 3, "weight_norm": 2.0, "data_norm": 1.5, "slope": 0.75}
    expected = 2.0 * 1.5**2 * 1.5 * (1.1**3 - 1)
    bound = networks.compression_bound(distortion=0.1, **options)
    assert bound == pytest.approx(expected, rel=1e-12)
    budget = networks.layer_dimension_budget(margin=bound, **options)
    assert budget == pytest.approx(0.1, rel=1e-12)


@pytest.mark.claim("margin-thm51")
@pytest.mark.parametrize("input_only", [False, True])
def test_compression_errors_by_the_lifted_network(input_only):
    """The same maps, drawn by the same generator, multiplied into the weights."""
    weights, X = _network(3)
    gap = compressed_networks._compression_errors(
        X, weights, n_components=9, input_only=input_only, rng=stream(0, "lifted", "public")
    )
    rng, lifted = stream(0, "lifted", "public"), []
    for j, W in enumerate(weights):
        if j and input_only:
            lifted.append(W)
        else:
            phi = sign_projection(len(W), 9, rng=rng)
            lifted.append(phi.T @ (phi @ W))
    change = networks.network_output(X, lifted) - networks.network_output(X, weights)
    np.testing.assert_allclose(gap, np.abs(change), atol=1e-12)
