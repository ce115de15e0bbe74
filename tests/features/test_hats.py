"""Hats on public knots: their span, their norm in rational arithmetic, categories, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dplit import HatFeatures
from dplit.features import hats
from dplit.features.hats import _PAIR_KNOTS, _hat_basis, _hat_spread, _pair_basis
from dplit.streams import stream


def _squares(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(x)) ** 2 for x in row), Fraction(0))


@given(
    hnp.arrays(float, (3, 5), elements=st.floats(-1.7e308, 1.7e308)),
    st.integers(2, 40),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_no_part_of_a_row_exceeds_norm_1_in_rational_arithmetic(
    X: np.ndarray, n_hats: int, low: float, width: float
) -> None:
    """Kills a bound that is met up to rounding, and indicators that are trusted to be 0 or 1."""
    X[0, :3] = low, low + width, low + width / 3.0  # ends and a middle of the box
    model = HatFeatures(n_hats, box=(low, low + width), indicators=((3, 4),)).fit(X)
    size = 1 if n_hats == 2 else n_hats
    for row in model.transform(X):
        parts = [row[k * size : (k + 1) * size] for k in range(3)] + [row[3 * size :]]
        assert all(_squares(part) <= 1 for part in parts)


#: Numeric with numeric, with a category of three, and with an indicator alone; two categories.
_PAIRS = ((0, 1), (1, 2), (0, 5), (4, 5))


def _paired(n_hats: int = 8, **changes: Any) -> HatFeatures:
    """Two numeric columns, a category of three, and an indicator alone, in pairs."""
    given: dict[str, Any] = {"box": (-1.0, 1.0), "indicators": ((2, 3, 4), (5,))}
    return HatFeatures(n_hats, **given | {"interactions": _PAIRS} | changes).fit(np.zeros((1, 6)))


@given(
    hnp.arrays(float, (3, 6), elements=st.floats(-1.7e308, 1.7e308)),
    hnp.arrays(float, (20, 2), elements=st.floats(-1.0, 1.0)),
    st.integers(2, 12),
)
def test_no_pair_exceeds_norm_1_in_rational_arithmetic(
    far: np.ndarray, near: np.ndarray, n_hats: int
) -> None:
    """At corners of the box, on knots, between and far away. Kills products of rows that are of
    norm 1 up to rounding, and indicators that are trusted to be 0 or 1.
    """
    knots = np.linspace(-1.0, 1.0, min(n_hats, _PAIR_KNOTS))
    corners = np.stack(np.meshgrid(knots, knots), axis=-1).reshape(-1, 2)
    columns = np.vstack([corners, near])
    whole = np.eye(3)[np.arange(len(columns)) % 3]
    X = np.vstack([far, np.column_stack([columns, whole, np.ones(len(columns))])])
    model = _paired(n_hats)
    rows, parts = model.transform(X), model._map.slices()
    assert parts[-1].stop == rows.shape[1]
    assert len(parts) == model._map.parts == 8
    for row in rows:
        assert all(_squares(row[part]) <= 1 for part in parts)
    longest = np.linalg.norm(rows[:, parts[4]], axis=1).max()
    assert longest == pytest.approx(1.0, abs=1e-12)  # and it is as long as it may be


@pytest.mark.parametrize("n_hats", [2, 3, 8])
def test_a_pair_is_the_product_of_two_maps_of_a_column(n_hats: int) -> None:
    """Against Kronecker products of rows of single columns. Kills a pair of another column."""
    X = stream(0, "hats", "data", 2).uniform(-1.3, 1.3, (40, 6))
    model = _paired(n_hats)
    rows, parts, table = model.transform(X), model._map.slices(), model._map.paired
    knots = np.linspace(-1.0, 1.0, len(table))
    lines = [
        np.column_stack([np.interp(X[:, k], knots, wave) for wave in table.T]) for k in range(2)
    ]
    single = HatFeatures(box=(-1.0, 1.0), indicators=((0, 1, 2), (3,))).fit_transform(X[:, 2:])
    one = {0: lines[0], 1: lines[1], 2: single[:, :3], 4: single[:, :3], 5: single[:, 3:]}
    for (a, b), part in zip(_PAIRS, parts[4:], strict=True):
        both = np.vstack([np.kron(x, y) for x, y in zip(one[a], one[b], strict=True)])
        np.testing.assert_allclose(rows[:, part], both, atol=1e-12)


def test_knots_of_a_pair_are_as_far_apart_as_values_of_a_category() -> None:
    """Kills waves of decreasing weight, which learn less, and a level beside the constant."""
    for size in range(3, 9):
        products = _pair_basis(size) @ _pair_basis(size).T
        np.testing.assert_allclose(products, (np.eye(size) - 1 / size) * size / (size - 1))
    assert _pair_basis(2).tolist() == [[-1.0], [1.0]]


@pytest.mark.parametrize("n_hats", [2, 8])
def test_second_moments_of_a_pair_are_those_of_independent_columns(n_hats: int) -> None:
    """Against a grid of 240 x 240 midpoints, error below 1e-4, and all values of a category."""
    at = (np.arange(240) + 0.5) / 120.0 - 1.0
    x, y = (axis.ravel() for axis in np.meshgrid(at, at))
    size = len(x)
    turns = np.arange(size) // 240 + np.arange(size)  # each value beside each place
    X = np.column_stack([x, y, np.eye(3)[turns % 3], turns % 2])
    model = _paired(n_hats)
    rows, values = model.transform(X), model._map.spread()
    for part, told in list(zip(model._map.slices(), values, strict=True))[4:]:
        own = rows[:, part]
        found = np.linalg.eigvalsh(own.T @ own / size)
        np.testing.assert_allclose(found, np.sort(told), atol=1e-4)


def test_a_pair_that_is_too_long_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: products of norm 2. Kills a test of norms that looks at no pair."""
    X = np.column_stack([np.ones((1, 3)), np.zeros((1, 2)), np.ones((1, 1))])
    row = _paired().transform(X)[0]
    assert _squares(row) <= _paired()._map.parts
    monkeypatch.setattr(hats, "_pair_basis", lambda size: math.sqrt(2.0) * _pair_basis(size))
    planted = _paired()
    row = planted.transform(X)[0]
    assert _squares(row[planted._map.slices()[4]]) > 3
    assert _squares(row) > planted._map.parts


def test_pairs_are_named_and_stand_behind_the_columns() -> None:
    """In the order in which they are stated; a category by any of its indicators."""
    model = _paired(3, interactions=((4, 1), (5, 0)))
    names = model.get_feature_names_out().tolist()
    assert names[:10] == _paired(3, interactions=()).get_feature_names_out().tolist()
    assert names[10:] == [f"x2_by_x1_{j}" for j in range(1, 7)] + ["x5_by_x0_1", "x5_by_x0_2"]
    X = stream(0, "hats", "data", 3).uniform(-1.0, 1.0, (9, 6))
    np.testing.assert_array_equal(
        model.transform(X), _paired(3, interactions=((2, 1), (5, 0))).transform(X)
    )


@pytest.mark.parametrize("n_hats", [2, 3, 8, 33])
def test_ends_are_nearly_of_norm_1_and_between_knots_rows_are_means(n_hats: int) -> None:
    """Kills a map that is far shorter than it may be, and knots that are somewhere else."""
    model = HatFeatures(n_hats, box=(2.0, 6.0)).fit([[0.0]])
    knots = model.transform(np.linspace(2.0, 6.0, n_hats)[:, None])
    np.testing.assert_allclose(knots, _hat_basis(n_hats), atol=1e-13)
    assert np.linalg.norm(knots[[0, -1]], axis=1) == pytest.approx(1.0, abs=1e-13)
    step = 4.0 / (n_hats - 1)
    quarter = model.transform(2.0 + step * (np.arange(n_hats - 1)[:, None] + 0.25))
    np.testing.assert_allclose(quarter, 0.75 * knots[:-1] + 0.25 * knots[1:], atol=1e-13)
    np.testing.assert_array_equal(model.transform([[-9e9], [7.0]]), knots[[0, -1]])


@pytest.mark.parametrize("n_hats", [3, 8])
def test_with_a_constant_they_span_all_hats(n_hats: int) -> None:
    """Kills a basis that misses a corner."""
    full = np.column_stack([_hat_basis(n_hats), np.ones(n_hats)])
    assert np.linalg.matrix_rank(full, tol=1e-6) == n_hats


@pytest.mark.parametrize("n_hats", [2, 3, 8])
def test_second_moments_are_those_of_a_uniform_column(n_hats: int) -> None:
    """Against the midpoint rule on 1e5 points, error below 1e-9."""
    model = HatFeatures(n_hats, box=(0.0, 1.0)).fit([[0.0]])
    n = 84_000  # whole numbers of points between knots
    rows = model.transform((np.arange(n)[:, None] + 0.5) / n)
    values, vectors = _hat_spread(_hat_basis(n_hats))
    np.testing.assert_allclose(vectors * values @ vectors.T, rows.T @ rows / n, atol=1e-8)


def test_a_row_depends_on_nothing_but_itself() -> None:
    X = stream(0, "hats", "data").uniform(-2.0, 2.0, (1001, 4))
    model = HatFeatures(box=(-1.0, 1.0), indicators=((1, 3),)).fit(X[:1])
    rows = model.transform(X)
    order = stream(0, "hats", "public").permutation(len(X))
    np.testing.assert_array_equal(model.transform(X[order]), rows[order])
    np.testing.assert_array_equal(model.transform(np.asfortranarray(X)), rows)
    np.testing.assert_array_equal(
        np.vstack([model.transform(row[None]) for row in X[:50]]), rows[:50]
    )


def test_categories_stand_where_their_first_column_does() -> None:
    X = np.array([[0.0, 1.0, 0.5, 0.0], [3.0, 0.0, 0.5, 4.0]])
    model = HatFeatures(3, box=(0.0, 1.0), indicators=((3, 0),)).fit(X)
    assert model.get_feature_names_out().tolist() == [
        "x1_line",
        "x1_wave1",
        "x1_wave2",
        "x2_line",
        "x2_wave1",
        "x2_wave2",
        "x3",
        "x0",
    ]
    rows = model.transform(X)
    half = math.sqrt(0.5)  # the second record's indicators are clipped to (.8, .6)
    expected = [[0.0, 0.0], [0.1 / half, -0.1 / half]]
    np.testing.assert_allclose(rows[:, 6:], expected, atol=1e-14)
    assert model.n_features_out_ == 8
    named = model.get_feature_names_out(["a", "b", "c", "d"])
    assert named[[0, -1]].tolist() == ["b_line", "a"]


def test_each_column_has_bounds_of_its_own() -> None:
    model = HatFeatures(2, box=([0.0, -10.0], [1.0, 10.0])).fit([[0.0, 0.0]])
    np.testing.assert_allclose(model.transform([[0.75, 5.0]]), [[0.5, 0.5]])


def test_fit_learns_nothing() -> None:
    """Kills knots at quantiles, and a map that depends on the records it was fitted to."""
    rng = stream(0, "hats", "data", 1)
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(7, 2)) * 100.0
    one, other = (HatFeatures(5, box=(-1.0, 1.0)).fit(part) for part in (X, Z))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"box": None}, ValueError, "box must be given"),
        ({"box": (1.0, 1.0)}, ValueError, "box must be increasing"),
        ({"box": (0.0, [1.0, 2.0, 3.0])}, ValueError, "box must be numbers or hold one number"),
        ({"n_hats": 1}, ValueError, "n_hats must be at least 2"),
        ({"n_hats": 2.5}, TypeError, "n_hats must be an integer"),
        ({"indicators": 3}, ValueError, "indicators must be a tuple of nonempty tuples"),
        ({"indicators": ((),)}, ValueError, "indicators must be a tuple of nonempty tuples"),
        ({"indicators": ((0, 2),)}, ValueError, "indicators must be at most 1"),
        ({"indicators": ((-1,),)}, ValueError, "indicators must be at least 0"),
        ({"indicators": ((0,), (0, 1))}, ValueError, "indicators must name a column once"),
        ({"indicators": (("a",),)}, TypeError, "indicators must be an integer"),
        ({"interactions": 3}, ValueError, "interactions must be a tuple of pairs"),
        ({"interactions": (0, 1)}, ValueError, "interactions must be a tuple of pairs"),
        ({"interactions": ("ab",)}, ValueError, "interactions must be a tuple of pairs"),
        ({"interactions": ((0,),)}, ValueError, "interactions must be a tuple of pairs"),
        ({"interactions": ((0, 2),)}, ValueError, "interactions must be at most 1"),
        ({"interactions": ((-1, 0),)}, ValueError, "interactions must be at least 0"),
        ({"interactions": (("a", 0),)}, TypeError, "interactions must be an integer"),
        ({"interactions": ((1, 1),)}, ValueError, "interactions must be pairs of different"),
        (
            {"indicators": ((0, 1),), "interactions": ((0, 1),)},
            ValueError,
            "interactions must be pairs of different columns or categories",
        ),
        ({"interactions": ((0, 1), (1, 0))}, ValueError, "interactions must name a pair once"),
    ],
)
def test_bad_parameters_are_named(changes: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        HatFeatures(**{"box": (-1.0, 1.0), **changes}).fit([[0.0, 1.0]])


def test_a_gradient_of_length_one_is_a_shape_of_a_known_size() -> None:
    """The weights of the waves fall like one over their number, and all add to 1."""
    basis = _hat_basis(8)
    tops = np.abs(basis[-1])
    np.testing.assert_allclose(tops[1] / tops[1:], np.arange(1, 8), rtol=1e-9)
    assert tops[0] == pytest.approx(math.sqrt(0.3))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_category_is_centred_and_one_that_nobody_stated_adds_nothing(size: int) -> None:
    """Norm 1 for every value, distance the same for every two. Kills a level beside the constant,
    which a descent would fill with noise.
    """
    model = HatFeatures(box=(0.0, 1.0), indicators=(tuple(range(size)),)).fit(np.eye(size))
    rows = model.transform(np.vstack([np.eye(size), np.zeros((1, size))]))
    np.testing.assert_allclose(np.linalg.norm(rows[:-1], axis=1), 1.0, atol=1e-13)
    assert (rows[-1] == 0.0).all()
    if size > 1:
        np.testing.assert_allclose(rows.sum(axis=1), 0.0, atol=1e-13)
        np.testing.assert_allclose(rows[0] @ rows[1], -1.0 / (size - 1), atol=1e-13)
        moments = np.linalg.eigvalsh(rows[:-1].T @ rows[:-1] / size)
        np.testing.assert_allclose(moments, model._map.spread()[0], atol=1e-12)
