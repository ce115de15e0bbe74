"""What the machine computes: rounding below its bound, no exception or bit that depends on data."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dplit._numerics import trigonometry
from dplit.features import cos_sin_features
from dplit.kernels import _certified_ridge
from dplit.kernels._certified_ridge import (
    balanced_penalty,
    certified_sensitivity,
    feature_ridge,
    feature_rows,
    ridge_rounding,
)
from dplit.kernels.ridge_sensitivity import record_sensitivity
from dplit.streams import stream

PATTERNS = ("drawn", "equal", "pairs", "close", "huge")


def _data(pattern, n):
    """Records (n, 2) and labels that a solve may dislike."""
    rng = stream(n, f"certified-{pattern}", "data")
    drawn, signs = rng.standard_normal((n, 2)), np.sign(rng.standard_normal(n))
    return {
        "drawn": (drawn, rng.uniform(-1, 1, n)),
        "equal": (np.ones((n, 2)), np.ones(n)),
        "pairs": (np.repeat(drawn, 2, axis=0)[:n], (-1.0) ** np.arange(n)),
        "close": (1e-9 * drawn, signs),
        "huge": (10.0 ** rng.uniform(-320, 308, (n, 2)), signs),
    }[pattern]


def _frequencies(k):
    return stream(k, "certified-ridge", "public").standard_normal((2, k))


def _smallest(n, p):
    """Smallest power of two that is accepted as penalty for n records and p coefficients."""
    exponent = next(
        k for k in range(-80, 60) if certified_sensitivity(2.0**k, n, p, "record") < math.inf
    )
    return 2.0**exponent


def _exact_ridge(rows, y, alpha):
    """Ridge coefficients of the very same floats, with 60 digits."""
    A = mp.matrix(rows.tolist())
    n, p = rows.shape
    labels = mp.matrix(y.tolist())
    if n < p:
        solved = mp.lu_solve(A * A.T + mp.mpf(alpha) * mp.eye(n), labels)
        return A.T * solved
    return mp.lu_solve(A.T * A + mp.mpf(alpha) * mp.eye(p), A.T * labels)


@pytest.mark.claim("dprf-beyond-ridge")
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 6), (12, 2), (9, 5), (40, 3)])
def test_rounding_stays_below_its_bound(pattern, n, k):
    """Against 60 digits, from the smallest accepted penalty on. Kills a bound without alpha."""
    X, y = _data(pattern, n)
    W = _frequencies(k)
    rows = feature_rows(X, W)
    with mp.workdps(60):
        for alpha in (_smallest(n, 2 * k), 1e-3, 10.0):
            exact = _exact_ridge(rows, y, alpha)
            found = feature_ridge(X, y, W, alpha)
            error = mp.norm(mp.matrix(found.tolist()) - exact)
            assert error <= ridge_rounding(alpha, n, 2 * k)


@pytest.mark.claim("dprf-beyond-ridge")
def test_long_rows_round_more():
    """Of 12 records products of 4,000 terms are added, not of 12: kills the other length."""
    eps, n, alpha = np.finfo(float).eps, 12, 10.0
    for p in (24, 4000):
        assert ridge_rounding(alpha, n, p) >= eps * n * p / alpha


@pytest.mark.claim("dprf-beyond-ridge")
def test_bound_on_rounding_would_catch_single_precision():
    """Planted control: the same solve from a Gram matrix rounded to single precision."""
    X, y = _data("drawn", 40)
    rows = feature_rows(X, _frequencies(3))
    gram = (rows.T @ rows).astype(np.float32).astype(float)
    rounded = np.linalg.solve(gram + 10.0 * np.eye(6), rows.T @ y)
    with mp.workdps(60):
        error = mp.norm(mp.matrix(rounded.tolist()) - _exact_ridge(rows, y, 10.0))
    assert error > 1000 * ridge_rounding(10.0, 40, 6)


@pytest.mark.parametrize("vectorised", [True, False])
def test_no_bit_of_a_row_depends_on_its_place(vectorised, monkeypatch):
    """Order, blocks of any size and one record alone, on both roads to a cosine.

    Kills angles from a matrix product, which rounds differently at the edges of its blocks.
    """
    monkeypatch.setattr(trigonometry, "HALF_TANGENT", vectorised)
    W = stream(1, "certified-rows", "public").standard_normal((7, 33))
    X = stream(1, "certified-rows", "data").standard_normal((300, 7))
    X[::3] *= 10.0 ** np.linspace(-300, 300, 100)[:, None]
    rows = feature_rows(X, W)
    assert abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-14
    np.testing.assert_allclose(rows[1::3], cos_sin_features(X[1::3], W), rtol=0, atol=1e-14)
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(feature_rows(X[order], W), rows[order])
    for start, stop in ((0, 1), (17, 18), (5, 299)):
        np.testing.assert_array_equal(feature_rows(X[start:stop], W), rows[start:stop])
    monkeypatch.setattr(_certified_ridge, "_ANGLES", 13 * 33)
    np.testing.assert_array_equal(feature_rows(X, W), rows)


@pytest.mark.parametrize("gamma", [1e-300, 1.0, 1e300])
def test_no_finite_record_overflows(gamma):
    W = math.sqrt(2 * gamma) * _frequencies(5)
    largest = np.finfo(float).max
    X = np.array([[largest, largest], [largest, -largest], [5e-324, 0.0], [-largest, 1.0]])
    rows = feature_rows(X, W)
    assert abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-14


@pytest.mark.parametrize(("n", "k"), [(30, 100), (60, 3), (200, 100), (300, 20)])
def test_an_accepted_penalty_is_solved_for_every_data_set(n, k):
    """At the smallest one, where a factorisation is nearest to failing: no LinAlgError, no NaN."""
    alpha = _smallest(n, 2 * k)
    for pattern in PATTERNS:
        assert np.isfinite(feature_ridge(*_data(pattern, n), _frequencies(k), alpha)).all()


def test_smaller_penalties_than_accepted_do_fail_for_some_data():
    """Why they are refused: at 1e-16 equal records have no factorisation, and drawn ones have.

    With every kernel of the BLAS: 1 + 1e-16 is 1.
    """
    W = _frequencies(100)
    with pytest.raises(np.linalg.LinAlgError):
        feature_ridge(np.ones((60, 2)), np.ones(60), W, 1e-16)
    X = 100 * stream(2, "certified-ridge", "data").standard_normal((60, 2))
    assert np.isfinite(feature_ridge(X, np.ones(60), W, 1e-16)).all()
    assert certified_sensitivity(1e-16, 60, 200, "record") == math.inf


def _worst_pairs(n, rng):
    """Neighbours (in their last record) on unit rows of one frequency: pairs about an axis."""
    for angle in (0.0, *rng.uniform(0, math.pi / 2, 4)):
        common = np.where(np.arange(n - 1) % 2, angle, -angle)
        for turn in 10.0 ** np.linspace(-4, 0.4, 12):
            yield np.append(common, turn), np.append(common, rng.choice([-1, 1]) * turn)


@pytest.mark.claim("dprf-beyond-ridge")
@pytest.mark.parametrize(("n", "alpha"), [(1, 0.3), (2, 1e-6), (9, 1e-5), (41, 2.0), (301, 30.0)])
def test_computed_coefficients_of_neighbours_stay_within_the_sensitivity(n, alpha):
    """Search on what is computed, over order and labels too; a quarter of the sensitivity is found.

    Kills a sensitivity that is a quarter of what it should be. A neighbour has another record in
    its last row, and all its records in another order.
    """
    rng = stream(n, "certified-search", "data")
    W, claimed = np.ones((1, 1)), certified_sensitivity(alpha, n, 2, "record")
    found = 0.0
    for one, other in _worst_pairs(n, rng):
        for sign in (-1.0, 1.0):
            y = np.ones(n)
            z = np.append(y[:-1], sign)
            order = rng.permutation(n)
            moved = feature_ridge(one[:, None], y, W, alpha)
            moved -= feature_ridge(other[order, None], z[order], W, alpha)
            found = max(found, float(np.linalg.norm(moved)))
    assert claimed / 4 < found <= claimed


@pytest.mark.claim("dprf-beyond-ridge")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_order_moves_many_records_by_no_more_than_the_bound(pattern):
    """A hundred thousand records: shifted by one, reversed and sorted; block edges fall anew."""
    n, W = 100_000, _frequencies(3)
    X, y = _data(pattern, n)
    alpha = 0.05
    base = feature_ridge(X, y, W, alpha)
    allowed = 2 * ridge_rounding(alpha, n, 6)
    assert allowed < 1e-3 * record_sensitivity(alpha=alpha, label_bound=1.0, n_records=n)
    for order in (np.roll(np.arange(n), 1), np.arange(n)[::-1], np.argsort(X[:, 0])):
        moved = feature_ridge(X[order], y[order], W, alpha) - base
        assert np.linalg.norm(moved) <= allowed


def test_what_is_accepted_and_chosen_depends_on_public_sizes_as_it_should():
    """More records need and get more penalty; a larger budget gets less; none is refused."""
    for n, p in ((1, 2), (60, 200), (1000, 200), (10**6, 200), (10**7, 2000)):
        chosen = [balanced_penalty(n, p, unit, "record") for unit in (1e-9, 0.1, 3.7, 50.0)]
        assert (np.diff(chosen) > 0).all()
        for alpha in chosen:
            exact = record_sensitivity(alpha=alpha, label_bound=1.0, n_records=n)
            assert exact < certified_sensitivity(alpha, n, p, "record") < 1.002 * exact
    assert _smallest(60, 200) < _smallest(1000, 200) < _smallest(10**6, 200)


@pytest.mark.parametrize("unit", [0.5, 3.73])
def test_default_penalty_has_the_order_of_its_derivation(unit):
    """For many records tau^(2/5) n^(3/5), to the 9 percent of the search on either side."""
    few, many = (balanced_penalty(n, 200, unit, "record") for n in (2 * 10**6, 2 * 10**7))
    assert many / few == pytest.approx(10**0.6, rel=0.2)
    other = balanced_penalty(2 * 10**7, 200, 4 * unit, "record")
    assert other / many == pytest.approx(4**0.4, rel=0.2)


def test_crude_bound_is_certified_too():
    exact = math.sqrt(60 / 10.0)
    assert exact < certified_sensitivity(10.0, 60, 200, "crude") < exact * (1 + 1e-8)
