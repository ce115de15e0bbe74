"""Least-squares stability: bounds against a search; the sharp one is attained, the printed not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dplit.audit import search_neighbours
from dplit.kernels.lipschitz import (
    fit_norm_factor,
    least_squares_lipschitz,
    least_squares_stability,
)
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.least_squares import _mirror_pair, far_pair, fits_distance, mirror_distance
from dplit.papers.erm.minimisers import fit_kernel
from dplit.streams import stream
from dplit_studies.erm.least_squares_table import bounds_beside_worst

OURS = ("argument", "lipschitz", "triangle", "sharp")


@pytest.mark.claim("erm-ls-CL", "erm-beyond-ls-sensitivity")
@pytest.mark.parametrize("lam", [1e-4, 0.3, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("kappa", [0.3, 1.0, 2.5])
def test_norm_factor_is_the_maximum_and_is_attained(lam, kappa):
    sigma = np.linspace(0, kappa, 200_001)
    nu = fit_norm_factor(regularization=lam, kappa=kappa)
    assert nu == pytest.approx((sigma / (sigma**2 + lam)).max(), rel=1e-8)
    size = min(math.sqrt(lam), kappa)
    K = np.full((7, 7), size**2)
    fit = fit_kernel(K, np.ones(7), loss="squared", regularization=lam)
    assert size * fit.coefficients.sum() == pytest.approx(nu, rel=1e-9)


@pytest.mark.claim("erm-ls-CL")
def test_lipschitz_constants_by_hand():
    setting = {"regularization": 0.25, "label_bound": 3.0, "kappa": 2.0}
    assert least_squares_lipschitz(**setting, version="printed") == pytest.approx(36.0)
    assert least_squares_lipschitz(**setting, version="argument") == pytest.approx(30.0)
    assert least_squares_lipschitz(**setting, version="sharp") == pytest.approx(18.0)


@pytest.mark.claim("erm-ls-CL")
def test_printed_constant_fails_above_one_and_is_safe_below():
    """Two fits predict at most kappa M nu in size; the slope that is needed is the sharp one."""
    for lam in (1e-3, 0.2, 1.0, 4.0, 9.0):
        for kappa in (0.3, 1.0, 2.0):
            setting = {"regularization": lam, "label_bound": 1.0, "kappa": kappa}
            printed = least_squares_lipschitz(**setting, version="printed")
            argument = least_squares_lipschitz(**setting, version="argument")
            sharp = least_squares_lipschitz(**setting, version="sharp")
            assert sharp < argument
            assert (argument <= printed * (1 + 1e-12)) == (lam <= 1)
    four = {"regularization": 4.0, "label_bound": 1.0}
    assert least_squares_lipschitz(**four) == pytest.approx(2.0)
    assert least_squares_lipschitz(**four, version="sharp") == pytest.approx(2.4)


@pytest.mark.claim("erm-ls-CL")
@pytest.mark.parametrize(("m", "distance", "printed"), [(1, 0.2, 4 / 27), (100, 2 / 901, 4 / 2700)])
def test_counterexample_for_large_lambda(m, distance, printed):
    pair = far_pair(n_records=m, label_bound=1.0)
    assert fits_distance(pair, regularization=9.0) == pytest.approx(distance, rel=1e-12)
    setting = {"regularization": 9.0, "n_records": m, "label_bound": 1.0}
    assert least_squares_stability(**setting, version="printed") == pytest.approx(printed)
    assert distance > 1.3 * printed
    for version in OURS:
        assert distance <= least_squares_stability(**setting, version=version)


@pytest.mark.claim("erm-ls-CL", "erm-beyond-ls-sensitivity")
@pytest.mark.parametrize(
    ("m", "lam", "worst", "printed", "triangle"),
    [
        (10, 0.1, 1.7038, 12.649, 3.581),
        (100, 0.1, 0.28773, 1.2649, 0.35811),
        (1000, 0.01, 0.59931, 4.0, 0.7),
        (10_000, 0.001, 1.6030, 12.649, 1.7811),
        (100_000, 0.0001, 4.7843, 40.0, 5.2),
    ],
)
def test_worst_mirror_pairs(m, lam, worst, printed, triangle):
    """The numbers of an independent search over plane configurations, to the digits it gave."""
    setting = {"regularization": lam, "n_records": m, "label_bound": 1.0}
    found = fits_distance(_mirror_pair(**setting), regularization=lam)
    assert found == pytest.approx(worst, rel=1e-4)
    bounds = {v: least_squares_stability(**setting, version=v) for v in ("printed", *OURS)}
    assert bounds["printed"] == pytest.approx(printed, rel=1e-4)
    assert bounds["triangle"] == pytest.approx(triangle, rel=1e-4)
    assert found <= bounds["sharp"] < bounds["triangle"] < bounds["lipschitz"]
    assert bounds["lipschitz"] < bounds["argument"] < bounds["printed"]
    assert found >= (0.84 if m == 10 else 0.97) * bounds["sharp"]


@pytest.mark.claim("erm-beyond-ls-sensitivity")
@pytest.mark.parametrize("lam", [0.01, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("kappa", [0.3, 1.0, 2.0])
def test_sharp_bound_is_attained_as_samples_grow(lam, kappa):
    """At every fixed lambda and kappa the ratio tends to 1; at lambda m = 1e5 it exceeds .999."""
    m = int(1e5 * max(1.0, kappa**2) / lam)
    setting = {"regularization": lam, "n_records": m, "label_bound": 1.5, "kappa": kappa}
    radius = min(math.sqrt(lam), kappa)
    angle = np.linspace(0.01, math.pi / 2, 4001)
    best = max(mirror_distance(radius, t, **setting) for t in angle)
    bound = least_squares_stability(**setting)
    assert 0.999 < best / bound <= 1


@pytest.mark.claim("erm-ls-CL", "erm-beyond-ls-sensitivity")
@pytest.mark.parametrize("kappa", [0.3, 1.0, 2.0])
def test_limit_of_the_printed_bound(kappa):
    """lambda = 1e-8, lambda m = 1e6: worst case over printed bound is kappa / (4 (kappa + 1))."""
    setting = {"regularization": 1e-8, "n_records": 10**14, "label_bound": 1.0, "kappa": kappa}
    worst = mirror_distance(1e-4, math.pi / 4, **setting)
    limit = kappa / (4 * (kappa + 1))
    for version in ("sharp", "triangle"):
        assert worst == pytest.approx(least_squares_stability(**setting, version=version), rel=2e-3)
    printed = least_squares_stability(**setting, version="printed")
    assert worst / printed == pytest.approx(limit, rel=2e-3)


@pytest.mark.claim("erm-beyond-ls-sensitivity")
@pytest.mark.parametrize("kappa", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 700.0])
@pytest.mark.parametrize("share", [2e-4, 0.1, 1.0])
def test_the_cubic_gives_the_maximum_over_k(kappa, penalty, share):
    lam = share * kappa**2
    m, nu = max(1, round(penalty / lam)), 1 / (2 * math.sqrt(lam))
    k = np.concatenate([np.linspace(0, 1, 200_001), np.logspace(-9, 0, 20_001)])
    values = 2 * kappa * np.sqrt(k) * (1 + kappa * nu * np.sqrt(1 - np.minimum(k, 1)))
    expected = min((values / (lam * m + kappa**2 * k)).max(), 2 * nu)
    found = least_squares_stability(
        regularization=lam, n_records=m, label_bound=3.0, kappa=kappa, version="sharp"
    )
    assert found == pytest.approx(3.0 * expected, rel=1e-7)


@pytest.mark.claim("erm-beyond-ls-sensitivity")
def test_table_of_bounds_beside_the_worst_pair():
    table = bounds_beside_worst([0.01, 9.0], n_records=1000, kappa=0.8)
    assert set(table) == {"worst", "printed", *OURS}
    for k, lam in enumerate((0.01, 9.0)):
        rule = {"regularization": lam, "n_records": 1000, "label_bound": 1.0, "kappa": 0.8}
        pair = _mirror_pair(**rule)
        assert table["worst"][k] == pytest.approx(fits_distance(pair, regularization=lam))
        for version in ("printed", *OURS):
            assert table[version][k] == least_squares_stability(**rule, version=version)
    assert (table["sharp"] / table["worst"]).max() < 1.03
    numpy_numbers = {name: np.float64(value) for name, value in rule.items() if name != "n_records"}
    assert least_squares_stability(**numpy_numbers, n_records=1000) == table["sharp"][1]


@pytest.mark.claim("erm-beyond-ls-sensitivity")
def test_mirror_distance_is_what_fits_of_the_pair_give():
    for m, lam, kappa, radius, angle in ((1, 0.4, 2.0, 0.0, 1.0), (6, 0.05, 0.7, 0.3, 0.9)):
        setting = {"regularization": lam, "n_records": m, "label_bound": 2.0, "kappa": kappa}
        closed = mirror_distance(radius, angle, **setting)
        p, q = kappa * math.sin(angle), kappa * math.cos(angle)
        shared = [[radius, 0.0]] * (m - 1)
        fits = []
        for last in ([-q, p], [-q, -p]):
            X = np.array([*shared, last])
            fits.append(np.linalg.solve(X.T @ X + lam * m * np.eye(2), X.T @ np.full(m, 2.0)))
        assert closed == pytest.approx(np.linalg.norm(fits[0] - fits[1]), rel=1e-12)


@pytest.mark.claim("erm-beyond-ls-sensitivity")
def test_no_plane_configuration_beats_the_mirror_pair():
    """Nelder-Mead over cluster, both swapped records and all labels, m = 200, lambda = .02."""
    m, lam = 200, 0.02
    setting = {"regularization": lam, "n_records": m, "label_bound": 1.0}
    known = fits_distance(_mirror_pair(**setting), regularization=lam)

    def distance(z):
        cluster = np.array([math.sin(z[0]), 0.0])
        fits = []
        for row in (z[1:4], z[4:7]):
            x = math.sin(row[0]) * np.array([math.cos(row[1]), math.sin(row[1])])
            H = (m - 1) * np.outer(cluster, cluster) + np.outer(x, x) + lam * m * np.eye(2)
            b = (m - 1) * cluster * math.sin(z[7]) + x * math.sin(row[2])
            fits.append(np.linalg.solve(H, b))
        return -float(np.linalg.norm(fits[0] - fits[1]))

    rng = stream(0, "plane-search", "data")
    options = {"maxiter": 3000, "maxfev": 3000, "xatol": 1e-8, "fatol": 1e-12}
    found = -min(
        minimize(distance, rng.uniform(-2, 2, 8), method="Nelder-Mead", options=options).fun
        for _ in range(3)
    )
    assert found <= known * (1 + 1e-6)
    assert found >= 0.97 * known


@pytest.mark.claim("erm-beyond-ls-sensitivity", "erm-ls-CL")
@pytest.mark.parametrize(("m", "lam", "kappa"), [(1, 0.3, 1.0), (3, 0.05, 1.0), (4, 0.5, 2.0)])
def test_search_over_samples_never_exceeds_the_bound(m, lam, kappa):
    """Restarted ascent over whole samples of three features and a label."""

    def project(data):
        data = np.array(data)
        norms = np.linalg.norm(data[:, :3], axis=1, keepdims=True)
        data[:, :3] *= kappa / np.maximum(norms, kappa)
        data[:, 3] = np.clip(data[:, 3], -1, 1)
        return data

    def query(data):
        X = data[:, :3]
        return np.linalg.solve(X.T @ X + lam * m * np.eye(3), X.T @ data[:, 3])

    found = search_neighbours(
        query,
        lambda n, rng: project(rng.normal(size=(n, 4))),
        n_records=m,
        neighboring="replace_one",
        project=project,
        rng=stream(0, "ls-search", "data"),
        claimed=least_squares_stability(
            regularization=lam, n_records=m, label_bound=1.0, kappa=kappa
        ),
        restarts=3,
        steps=250,
    )
    assert 0.5 < found.ratio <= 1 + 1e-9


@pytest.mark.claim("erm-beyond-ls-sensitivity")
@settings(max_examples=80)
@given(
    m=st.integers(1, 12),
    exponent=st.floats(-4, 1.5),
    width=st.floats(0.1, 3),
    scale=st.floats(0.1, 3),
    seed=st.integers(0, 10**6),
)
def test_no_random_pair_exceeds_any_bound(m, exponent, width, scale, seed):
    """Gaussian kernels of size kappa^2, labels in [-2, 2]; the printed bound for lambda <= 1."""
    rng, lam = np.random.default_rng(seed), 10.0**exponent
    X, y = rng.uniform(-1, 1, (m + 1, 2)), rng.choice([-2.0, 2.0, 0.3], m + 1)
    K = scale**2 * gaussian_gram(X, X, width=width)
    c = np.zeros((2, m + 1))
    for row, index in enumerate(([*range(m)], [*range(m - 1), m])):
        system = K[np.ix_(index, index)] + lam * m * np.eye(m)
        c[row, index] = np.linalg.solve(system, y[index])
    d = c[0] - c[1]
    distance = math.sqrt(max(d @ K @ d, 0.0))
    setting = {"regularization": lam, "n_records": m, "label_bound": 2.0, "kappa": scale}
    for version in OURS + (("printed",) if lam <= 1 else ()):
        assert distance <= least_squares_stability(**setting, version=version) * (1 + 1e-9)
