"""The stability bounds: by hand, never exceeded by a search, attained where sharp."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.audit import search_neighbours
from dplit.kernels.lipschitz import lipschitz_deletion, lipschitz_stability
from dplit.kernels.losses import LOSSES, lipschitz_constant, loss_values
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.minimisers import fit_kernel, fit_linear, rkhs_norm
from dplit.papers.erm.sharp_pairs import (
    _logistic_pair,
    _moved_pinball_pair,
    attained_bounds,
    pair_distance,
    saturated_hinge_pair,
)
from dplit.papers.erm.stability import bounded_stability, hamming_distance, loss_bound, sharper_from
from dplit.streams import stream

VERSIONS = ("printed", "sharp", "signed")


@pytest.mark.claim("erm-def-hamming")
def test_hamming_distance_counts_positions():
    sample = [((0.1, 0.2), 1.0), ((0.3, 0.4), -1.0), ((0.1, 0.2), 1.0)]
    flipped = [*sample[:2], ((0.1, 0.2), -1.0)]
    assert hamming_distance(sample, sample) == 0
    assert hamming_distance(sample, flipped) == 1
    assert hamming_distance(sample, sample[::-1]) == 0
    assert hamming_distance("abcd", "badc") == 4
    with pytest.raises(ValueError, match="same size, got 2 and 3 records"):
        hamming_distance(sample[:2], sample)


@pytest.mark.claim("erm-def-hamming")
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=8))
def test_hamming_distance_is_a_metric(rows):
    a, b, c = ([row[i] for row in rows] for i in range(3))
    assert hamming_distance(a, b) == hamming_distance(b, a)
    assert hamming_distance(a, c) <= hamming_distance(a, b) + hamming_distance(b, c)
    assert hamming_distance(a, b) == np.sum(np.array(a) != np.array(b))


@pytest.mark.claim("erm-thm1", "erm-thm2")
def test_bounds_by_hand():
    setting = {"regularization": 0.1, "n_records": 50, "strong_convexity": 1.0}
    assert bounded_stability(bound=5.0, **setting, version="printed") == pytest.approx(4.0)
    assert bounded_stability(bound=5.0, **setting) == pytest.approx(math.sqrt(2.0))
    assert bounded_stability(bound=5.0, **setting, version="signed") == pytest.approx(2.0)
    assert lipschitz_stability(lipschitz=3.0, kappa=0.5, **setting) == pytest.approx(0.6)
    assert lipschitz_deletion(lipschitz=3.0, kappa=0.5, **setting) == pytest.approx(0.3)


@pytest.mark.claim("erm-thm1")
@pytest.mark.parametrize("m", [1, 5, 11, 101])
def test_theorem_1_with_the_constant_2_is_attained(m):
    pair = saturated_hinge_pair(n_records=m)
    assert hamming_distance(pair.labels, pair.other_labels) == 1
    assert (pair.points == 1).all()
    found = pair_distance(pair)
    assert found.distance == pytest.approx(2.0, rel=1e-9)
    assert found.error < 1e-9
    setting = {"bound": 2.0, "regularization": pair.regularization, "n_records": m}
    assert bounded_stability(**setting) == pytest.approx(found.distance, rel=1e-9)
    printed = bounded_stability(**setting, version="printed")
    assert printed / found.distance == pytest.approx(math.sqrt(8.0), rel=1e-9)


@pytest.mark.claim("erm-thm1")
def test_the_hypothesis_of_theorem_1_holds_for_the_pair_that_attains_it():
    """On X = {1} every sample of every size has a fit in [-1, 1], so B = 2 bounds its losses."""
    for m in (1, 2, 5, 12):
        for positive in range(m + 1):
            y = np.where(np.arange(m) < positive, 1.0, -1.0)
            fit = fit_kernel(np.ones((m, m)), y, loss="hinge", regularization=0.1)
            w = fit.coefficients.sum()
            assert abs(w) <= 1 + 1e-9
            for label in (-1.0, 1.0):
                assert loss_values("hinge", [w], [label])[0] <= 2 + 1e-9
            assert 0.1 * w * w <= 2


@pytest.mark.claim("erm-thm2")
@pytest.mark.parametrize("tau", [0.1, 0.25, 0.4, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("kappa", [1.0, 0.3])
def test_theorem_2_is_attained_by_the_pinball_loss(tau, kappa):
    pair = _moved_pinball_pair(n_records=50, regularization=0.1, tau=tau, kappa=kappa)
    slope = lipschitz_constant("pinball", tau=tau)
    bound = lipschitz_stability(lipschitz=slope, kappa=kappa, regularization=0.1, n_records=50)
    assert pair_distance(pair).distance == pytest.approx(bound, rel=1e-9)


@pytest.mark.claim("erm-thm2")
def test_logistic_loss_approaches_theorem_2():
    """The ratio grows towards 1 with lambda m = 1 held fixed; the fits are mirror images."""
    ratios = []
    for m in (100, 1_000, 10_000, 100_000):
        pair = _logistic_pair(n_records=m, regularization=1 / m)
        found = pair_distance(pair)
        bound = lipschitz_stability(lipschitz=1.0, regularization=1 / m, n_records=m)
        ratios.append(found.distance / bound)
        assert found.error < 1e-8
    assert (np.diff(ratios) > 0).all()
    assert 0.99 < ratios[-1] < 1


@pytest.mark.claim("erm-thm2")
def test_the_table_of_pairs():
    rows = attained_bounds()
    assert len(rows) == 12
    for row in rows:
        assert row.bound == pytest.approx(row.by_hand, rel=1e-12)
        ratio = row.distance / row.bound
        assert (ratio == pytest.approx(1.0, rel=1e-9)) != row.name.startswith("logistic")
        assert ratio < 1 + 1e-9
    assert rows[3].name == "hinge, m = 100, kappa = 1"
    assert rows[3].distance == pytest.approx(0.1)


@pytest.mark.claim("erm-thm2")
def test_logistic_ratio_is_the_stated_slope():
    """Stationarity: distance / bound = sin(theta) sigma(-f(x_m))."""
    m, lam = 1000, 0.001
    pair = _logistic_pair(n_records=m, regularization=lam)
    fit = fit_linear(pair.points, pair.labels, loss="logistic", regularization=lam, tol=1e-26)
    slope = 1 / (1 + math.exp(fit.predictions[-1]))
    bound = lipschitz_stability(lipschitz=1.0, regularization=lam, n_records=m)
    expected = math.sqrt(1 - math.sqrt(lam)) * slope * bound
    assert pair_distance(pair).distance == pytest.approx(expected, rel=1e-8)


@pytest.mark.claim("erm-thm2")
@pytest.mark.parametrize("m", [1, 20])
def test_deletion_attains_half_of_the_bound(m):
    """One hinge record at kappa, all others at 0: its deletion moves w by kappa / (2 lambda m)."""
    lam, kappa = 0.8, 0.9
    x = np.zeros(m)
    x[-1] = kappa
    fit = fit_kernel(np.outer(x, x), np.ones(m), loss="hinge", regularization=lam)
    bound = lipschitz_deletion(lipschitz=1.0, kappa=kappa, regularization=lam, n_records=m)
    assert abs(x @ fit.coefficients) == pytest.approx(bound, rel=1e-12)


def _records_of(loss):
    """Draw and project records (x1, x2, y) in [-1, 1]^3, labels -1 or +1 for classification."""

    def project(data):
        data = np.clip(np.array(data), -1.0, 1.0)
        if loss in ("hinge", "logistic"):
            data[:, 2] = np.where(data[:, 2] >= 0, 1.0, -1.0)
        return data

    return project, lambda count, rng: project(rng.uniform(-1, 1, (count, 3)))


@pytest.mark.claim("erm-thm2", "erm-thm1")
@pytest.mark.parametrize("loss", ["hinge", "pinball", "logistic"])
@pytest.mark.parametrize(("m", "lam"), [(1, 0.4), (4, 0.05), (6, 0.3)])
def test_search_over_samples_never_exceeds_the_bounds(loss, m, lam):
    """Restarted ascent over whole samples in a Gaussian kernel on the square, tau = 0.8."""
    project, draw = _records_of(loss)
    claimed = lipschitz_stability(
        lipschitz=lipschitz_constant(loss, tau=0.8), regularization=lam, n_records=m
    )
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 7)] * 2), axis=-1).reshape(-1, 2)
    root = np.linalg.cholesky(gaussian_gram(grid, grid, width=1.0) + 1e-9 * np.eye(49))

    def query(data):
        """Coordinates in which Euclidean lengths are at most lengths in the space."""
        K = gaussian_gram(data[:, :2], data[:, :2], width=1.0)
        fit = fit_kernel(K, data[:, 2], loss=loss, regularization=lam, tau=0.8, tol=1e-14)
        values = gaussian_gram(grid, data[:, :2], width=1.0) @ fit.coefficients
        return np.linalg.solve(root, values)

    found = search_neighbours(
        query,
        draw,
        n_records=m,
        neighboring="replace_one",
        claimed=claimed,
        project=project,
        rng=stream(0, "stability-search", "data"),
        restarts=2,
        steps=40,
    )
    assert 0.25 < found.ratio <= 1 + 1e-5
    B = loss_bound(loss, regularization=lam, tau=0.8)
    assert found.distance <= bounded_stability(bound=B, regularization=lam, n_records=m)


@pytest.mark.claim("erm-thm1")
@settings(max_examples=60)
@given(
    loss=st.sampled_from(LOSSES),
    m=st.integers(1, 10),
    exponent=st.floats(-3, 1),
    seed=st.integers(0, 10**6),
)
def test_random_pairs_respect_theorem_1_with_the_constant_2(loss, m, exponent, seed):
    rng, lam = np.random.default_rng(seed), 10.0**exponent
    X, y = rng.uniform(-1, 1, (m + 1, 2)), rng.uniform(-1, 1, m + 1)
    if loss in ("hinge", "logistic"):
        y = np.where(y > 0, 1.0, -1.0)
    K = gaussian_gram(X, X, width=0.5)
    c, error = np.zeros((2, m + 1)), 0.0
    for row, index in enumerate(([*range(m)], [*range(m - 1), m])):
        fit = fit_kernel(
            K[np.ix_(index, index)], y[index], loss=loss, regularization=lam, tau=0.3, tol=1e-14
        )
        c[row, index], error = fit.coefficients, error + fit.distance
        B = loss_bound(loss, regularization=lam, tau=0.3)
        assert lam * rkhs_norm(c[row], K) ** 2 <= B + 1e-9
        values = loss_values(loss, K @ c[row], y, tau=0.3)
        assert values.max() <= B + 1e-6
    bound = bounded_stability(bound=B, regularization=lam, n_records=m)
    assert rkhs_norm(c[0] - c[1], K) <= bound + error + 1e-12


@pytest.mark.claim("erm-rem-sharper")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_two_bounds_cross_at_the_threshold(version, loss):
    lam, kappa = 0.003, 1.5
    B = loss_bound(loss, regularization=lam, kappa=kappa)
    slope = lipschitz_constant(loss, function_bound=kappa / math.sqrt(lam), label_bound=1.0)
    start = sharper_from(lipschitz=slope, bound=B, regularization=lam, kappa=kappa, version=version)
    for m, smaller in ((math.floor(start * 0.999), False), (math.ceil(start * 1.001) + 1, True)):
        if m < 1:
            continue
        two = lipschitz_stability(lipschitz=slope, kappa=kappa, regularization=lam, n_records=m)
        one = bounded_stability(bound=B, regularization=lam, n_records=m, version=version)
        assert (two < one) == smaller


@pytest.mark.claim("erm-thm1")
def test_loss_bounds_by_hand():
    assert loss_bound("hinge", regularization=4.0, kappa=2.0) == pytest.approx(1.5)
    assert loss_bound("hinge", regularization=0.01) == pytest.approx(11.0)
    assert loss_bound("squared", regularization=0.25, label_bound=3.0) == pytest.approx(36.0)
    assert loss_bound("pinball", regularization=1.0, tau=0.2, label_bound=2.0) == pytest.approx(
        0.8 * 2.4
    )
    short = loss_bound("pinball", regularization=0.1, label_bound=0.1)
    assert short == pytest.approx(0.5 * (0.1 + math.sqrt(0.05 / 0.1)))
    assert loss_bound("logistic", regularization=1.0) == pytest.approx(math.log1p(math.exp(0.5)))
