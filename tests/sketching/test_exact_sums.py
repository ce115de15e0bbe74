"""Sums that have the same bits on every way, and one record that moves them by its feature."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplit.features import orthonormal_blocks
from dplit.papers.sketching.subsampled_sketch import subsampled_map_sum
from dplit.sketching import _exact_sums as _sums
from dplit.sketching._kinds import Kind
from dplit.sketching.estimators import CompressiveKMeans
from dplit.sketching.plans import map_sensitivity
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit_studies.sketching.estimator_audit import _exact_sum, float_curve, largest_move
from tests.sketching.shared import KINDS, lengths


@pytest.fixture(params=[True, False], ids=["tangent", "cosine"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both routes of the trigonometry, whichever this machine takes."""
    monkeypatch.setattr(_sums, "HALF_TANGENT", request.param)


def _map(kind: Kind, d: int = 3, m: int = 24, bound: float | None = None) -> SketchMap:
    rng = stream(0, "test-exact", "public", d)
    omega = rng.standard_normal((d, m))
    dither = rng.uniform(0, 2 * np.pi, m) if kind == "quantized" else None
    return SketchMap(kind, omega, dither, bound)


def _data(n: int, d: int = 3) -> np.ndarray:
    return stream(0, "test-exact", "data").standard_normal((n, d))


def _dot(a: Iterable[float], b: Iterable[float]) -> Fraction:
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))


def _rest(turns: Fraction) -> float:
    """What is left of an angle without its nearest whole number of turns."""
    return float(turns - round(turns))


@pytest.mark.claim("sketch-beyond-float")
def test_removing_the_first_record_of_a_pattern_moves_an_entry_by_at_most_one() -> None:
    """Float32 block sums moved it by 2.22; kills every sum that rounds."""
    fourier = SketchMap("fourier", np.array([[1.0, 2.0]]))
    pattern = np.random.default_rng(221).uniform(-3, 3, (128, 1)) * 0.05
    X = np.tile(pattern, (10_000, 1))
    moved = np.abs(sketch(X, fourier).sum - sketch(X[1:], fourier).sum)
    assert moved.max() <= 1.0
    assert moved.min() >= 0.99


@pytest.mark.parametrize("kind", ["fourier", "quantized"])
def test_a_far_record_changes_no_other_feature(kind: Kind) -> None:
    """2,047 records and one of length 1000 in a slab; kills a route that follows the longest."""
    chosen = _map(kind, d=2, m=60, bound=1000.0)
    near = stream(0, "test-far", "data").uniform(-300, 300, (1, 2))
    far = np.array([[1000.0, -1000.0]])
    before = sketch(np.tile(near, (2047, 1)), chosen).sum
    after = sketch(np.vstack([np.tile(near, (2047, 1)), far]), chosen).sum
    np.testing.assert_array_equal(after - before, sketch(far, chosen).sum)
    assert np.abs(after - before).max() <= 1.0


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_gives_the_same_bits(kind: Kind, tmp_path: Path) -> None:
    """Order, blocks, threads, chunks, merges, files, single records, columns; kills any rounded
    sum, sums added as threads finish, and a wrong count.
    """
    X, chosen = _data(1301), _map(kind)
    np.save(tmp_path / "x.npy", X)
    whole = sketch(X, chosen).sum
    order = stream(0, "test-exact-order", "data").permutation(len(X))
    ways = {
        "order": sketch(X[order], chosen),
        "columns first": sketch(np.asfortranarray(X), chosen),
        "chunks": sketch(iter([X[:1], X[1:700], X[700:700], X[700:]]), chosen),
        "list of chunks": sketch([X[:1], X[1:]], chosen),
        "list": sketch(X.tolist(), chosen),
        "file": sketch(np.load(tmp_path / "x.npy", mmap_mode="r"), chosen),
        "merge": sketch(X[:333], chosen).merge(sketch(X[333:], chosen)),
    }
    ways |= {f"blocks of {k}": sketch(X, chosen, block_rows=k) for k in (1, 2, 7, 300, 5000)}
    ways |= {
        f"{k} threads": sketch(iter([X[:99], X[99:]]), chosen, n_jobs=k, block_rows=3)
        for k in (2, 3)
    }
    for way, found in ways.items():
        np.testing.assert_array_equal(found.sum, whole, err_msg=way)
        assert found.count == 1301
    one_by_one = np.sum([sketch(x[None], chosen).sum for x in X], axis=0)
    np.testing.assert_array_equal(one_by_one, whole)
    kept = subsampled_map_sum(X, chosen, np.tile(np.arange(24), (len(X), 1)))
    np.testing.assert_array_equal(kept, whole)
    for columns in (1, 5, 23):
        np.testing.assert_array_equal(
            sketch(X, chosen.column_slice(columns)).sum, whole[:columns], err_msg="sliced map"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_narrow_types_are_the_numbers_they_hold(kind: Kind) -> None:
    chosen = _map(kind)
    for dtype in (np.float32, np.float16, np.longdouble, np.int8, np.uint16, bool):
        X = (3 * _data(400)).astype(dtype) if dtype is not np.uint16 else np.abs(_data(400)) * 9
        X = X.astype(dtype)
        expected = sketch(X.astype(float), chosen).sum
        np.testing.assert_array_equal(sketch(X, chosen).sum, expected, err_msg=str(dtype))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 9, 65])
def test_matrix_products_are_exact(kind: Kind, d: int) -> None:
    """Another order of the coordinates gives BLAS other partial sums; kills one bit too many."""
    chosen, X = _map(kind, d=d), _data(300, d)
    order = stream(0, "test-exact-columns", "data").permutation(d)
    bound = None if chosen.bound is None else chosen.bound[order]
    other = SketchMap(kind, chosen.frequencies[order], chosen.dither, bound)
    if kind != "quadratic":  # lengths of records, which clip them to the ball, are added in order
        X *= np.asarray(chosen.bound)
    else:
        X /= 2.0 * np.abs(X).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(sketch(X[:, order], other).sum, sketch(X, chosen).sum)


@pytest.mark.parametrize("d", [1, 3, 40])
def test_angles_are_those_of_the_rounded_record(d: int) -> None:
    """Rational arithmetic of the definition, at the bound; kills a lost half or a wrong step."""
    chosen = _map("fourier", d=d, m=5)
    bound = np.asarray(chosen.bound)
    exponents = _sums._exponents(bound)
    weights, bits, _ = _sums._turns(chosen.frequencies, exponents)
    for scale in (1e-9, 1e-3, 1.0):
        x = scale * bound * stream(0, "test-angles", "data", d).uniform(-1, 1, d)
        x[0] = scale * bound[0]
        halves = _sums._halves(x[None], bound, exponents)
        exact = [_dot(halves[0], column) for column in weights.T]
        assert (halves @ weights)[0].tolist() == [float(turn) for turn in exact]
        assert all(Fraction(float(turn)) == turn for turn in exact)
        assert all(
            abs(turn) <= Fraction(2) ** (53 - int(b)) for turn, b in zip(exact, bits, strict=True)
        )
        true = [_dot(x, column) for column in chosen.frequencies.T]
        turn = Fraction(2 * math.pi)
        gap = np.array([_rest(a - t / turn) for a, t in zip(exact, true, strict=True)]) * 2 * np.pi
        assert (np.abs(gap) <= 1.001 * chosen.angle_error).all()


@pytest.mark.parametrize(("d", "bound"), [(1, None), (8, None), (9, 1e4), (40, 1e9), (300, 1e12)])
def test_angles_are_reduced_to_whole_units_with_one_rounding(d: int, bound: float | None) -> None:
    """Rational arithmetic, up to 2^45 turns; kills a small anchor, a lost shift, a second rounding.

    Whole turns per step are left out, so that any bound leaves sums of at most 2^15 d turns; the
    first record has the longest sum of its column.
    """
    chosen = _map("fourier", d=d, m=7, bound=bound)
    adder = _sums.PhaseAdder(chosen, 4)
    assert (adder.shift > 0) == (d >= 40)
    X = np.asarray(chosen.bound) * stream(0, "test-units", "data").uniform(-1, 1, (4, d))
    X[0] = np.asarray(chosen.bound) * np.sign(adder.weights[:d, 0])  # the longest of all
    halves = _sums._halves(X, adder.bound, adder.exponents)
    units = np.empty((4, 7), np.uint32)
    adder._codes(halves @ adder.weights, units, None)
    unit = Fraction(2) ** (32 - adder.shift)
    for row, found in zip(halves, units, strict=True):
        for column, value in zip(adder.weights.T, found, strict=True):
            exact = _dot(row, column)
            assert abs(exact) < 2 ** (19 + adder.shift)
            assert int(value) == (round(exact * unit) << adder.shift) % 2**32


@pytest.mark.parametrize("d", [1, 3, 40])
def test_quadratic_angles_are_exact(d: int) -> None:
    """Rational arithmetic, on records of the ball's surface; kills one bit of frequencies more."""
    adder = _sums.QuadraticAdder(_map("quadratic", d=d, m=5), 4)
    records = adder._records(9.0 * _data(4, d))
    for x, found in zip(records, records @ adder.weights, strict=True):
        assert np.linalg.norm(x) <= 2.0**25
        for column, value in zip(adder.weights.T, found, strict=True):
            assert _dot(x, column) == Fraction(float(value))
            assert _dot(np.abs(x), np.abs(column)) < 2  # in units of 2^-52: below 2^53


def test_defaults_know_angles_to_a_ten_thousandth() -> None:
    for d in (1, 8, 60):
        chosen = _map("fourier", d=d)
        assert chosen.angle_error.max() < 1e-4
        turns = np.asarray(chosen.bound) * np.abs(chosen.frequencies).max(axis=1)
        assert (turns >= 2 * np.pi * 256 / math.sqrt(d)).all()
        assert (turns <= 2 * np.pi * 1024 / math.sqrt(d)).all()


@pytest.mark.usefixtures("route")
def test_no_modulus_exceeds_one() -> None:
    """Half a million angles, quadrants' edges among them; kills a radius of 1 and lost reductions.

    Features are multiples of 2^-22, so that their squared moduli are compared as integers.
    """
    turns = [np.linspace(-1.0, 1.0, 500_001), np.linspace(-99.7, 100.3, 50_001)]
    turns = np.concatenate([*turns, np.arange(-8, 9) / 8.0])
    turns = np.concatenate([turns, np.nextafter(turns[-17:], 9), np.nextafter(turns[-17:], -9)])
    values = np.concatenate(
        [
            sketch([[1.0]], SketchMap("fourier", 2 * np.pi * part[None], None, 2.0)).sum
            for part in np.array_split(turns, 8)
        ]
    )
    parts = np.stack([values.real, values.imag]) * 2.0**22
    whole = parts.astype(np.int64)
    assert (whole == parts).all()
    squares = (whole**2).sum(axis=0)
    assert squares.max() <= 2**44
    assert squares.max() > 2**44 * (1 - 2.0**-18)
    assert np.abs(values - np.exp(2j * np.pi * turns)).max() < _sums.FEATURE_ERROR


def test_one_bit_features_are_below_the_root_of_a_half() -> None:
    value = sketch([[0.3]], SketchMap("quantized", [[1.0]], np.zeros(1))).sum[0]
    assert value.real == value.imag
    assert value.real * 2**22 == int(value.real * 2**22)
    assert Fraction(value.real) ** 2 <= Fraction(1, 2) < (Fraction(value.real) + 2**-22) ** 2


def test_functions_of_angles_do_not_depend_on_the_place() -> None:
    """Numpy's bodies and tails of vectors, all offsets up to 70; kills another tail's rounding."""
    rng = stream(0, "test-place", "data")
    base = rng.uniform(-np.pi / 2, np.pi / 2, 200).astype(np.float32)
    for function in (np.tan, np.cos, np.sin):
        alone = np.array([function(base[k : k + 1])[0] for k in range(200)])
        for first in range(70):
            for last in (first + 1, first + 17, 160 - first, 200):
                np.testing.assert_array_equal(function(base[first:last]), alone[first:last])


def test_functions_of_angles_are_within_four_units() -> None:
    """What the proof of the modulus asks of cosines and sines, and accuracy of tangents."""
    angles = np.linspace(-np.pi, np.pi, 400_001).astype(np.float32)
    wide = angles.astype(np.float64)
    for function in (np.cos, np.sin):
        assert np.abs(function(angles) - function(wide)).max() <= 4 * 2.0**-24
    half, wide = angles / np.float32(2), wide / 2
    assert np.abs(np.tan(half[1:-1]) / np.tan(wide[1:-1]) - 1)[half[1:-1] != 0].max() < 8 * 2.0**-24


@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_exact_up_to_the_largest_number_of_records(kind: Kind) -> None:
    """Sums of 2^30 equal features split at an odd place; kills a grid that is too fine."""
    chosen = _map(kind)
    adder = _sums.feature_adder(chosen, 8)
    part = adder.part(np.array([[1.7, 0.0, -0.2]]))
    n, cut = 1 << 30, 123_456_789
    whole = adder.total(n * part, n)
    split = adder.total(cut * part, cut) + adder.total((n - cut) * part, n - cut)
    np.testing.assert_array_equal(whole, split)
    np.testing.assert_array_equal(whole - adder.total((n - 1) * part, n - 1), adder.total(part, 1))


@pytest.mark.parametrize("d", [1, 2, 7, 30])
@pytest.mark.parametrize("tight", [True, False])
def test_quadratic_features_stay_below_their_sensitivities(d: int, tight: bool) -> None:
    """Worst records of every norm; kills a missing shrink of the features, and too large a one."""
    rng = stream(0, "test-quadratic", "public", d)
    omega = orthonormal_blocks(d, 3 * d, rng=rng) if tight else rng.standard_normal((d, 4 * d + 1))
    chosen = SketchMap("quadratic", omega)
    vectors = np.linalg.eigh(omega @ omega.T)[1]
    top = 1.5 * vectors[:, ::-1].T  # the longest axes first, outside of the ball
    columns = omega.T / np.linalg.norm(omega, axis=0)[:, None]
    features = np.array([sketch(x[None], chosen).sum for x in np.vstack([top, columns, -top])])
    one = map_sensitivity(chosen, noise="laplace")
    assert features.sum(axis=1).max() <= one
    assert features.sum(axis=1).max() >= one * (1 - 1e-3)
    two = map_sensitivity(chosen, noise="laplace", neighboring="replace_one")
    four = map_sensitivity(chosen, noise="gaussian")
    both = map_sensitivity(chosen, noise="gaussian", neighboring="replace_one")
    differences = features[:, None] - features[None]
    assert np.abs(differences).sum(axis=2).max() <= two
    assert np.linalg.norm(features, axis=1).max() <= four
    assert np.linalg.norm(differences, axis=2).max() <= both


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "polydisc", "cube"])
@pytest.mark.parametrize("kind", ["fourier", "quantized"])
def test_features_stay_below_their_sensitivities(kind: Kind, noise: str) -> None:
    """Every norm, over records up to the bound, to the last bit; kills a radius of 1."""
    chosen = _map(kind, m=9)
    X = _data(2000) * np.asarray(chosen.bound) / 3.0
    features = np.array([sketch(x[None], chosen).sum for x in X])
    added = map_sensitivity(chosen, noise=noise)  # type: ignore[arg-type]
    replaced = map_sensitivity(chosen, noise=noise, neighboring="replace_one")  # type: ignore[arg-type]
    largest = lengths(features)[noise].max()
    assert 0.7 * added < largest <= added
    if kind == "quantized" or noise in ("gaussian", "polydisc"):
        assert largest == pytest.approx(added, rel=1e-5)
    assert replaced == 2 * added
    assert lengths(features[:700, None] - features[None, -700:])[noise].max() <= replaced


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [1e20, 1e60, 1e160, 1e200, 1.7e308, 5e-324])
def test_finite_records_of_any_size_neither_raise_nor_warn(kind: Kind, value: float) -> None:
    """They count as the nearest record within the bound; kills a sum that becomes NaN."""
    chosen = _map(kind)
    far = np.array([[value, -value, 0.3], [value, value, value], [0.0, -value, 5e-324]])
    found, kept = sketch(far, chosen).sum, [[0, 1], [2, 3], [4, 23]]
    assert np.isfinite(found).all()
    some = subsampled_map_sum(far, chosen, kept)
    assert np.isfinite(some).all()
    if chosen.bound is not None:
        inside = np.clip(far, -chosen.bound, chosen.bound)
        np.testing.assert_array_equal(found, sketch(inside, chosen).sum)
        np.testing.assert_array_equal(some, subsampled_map_sum(inside, chosen, kept))
        single = np.clip(far, -3e38, 3e38).astype(np.float32)
        assert np.isfinite(sketch(single, chosen).sum).all()
    elif value > 1.0:  # on the ball's surface
        unit = np.array([[1, -1, 0], [1, 1, 1], [0, -1, 0]]) / np.sqrt([[2.0], [3.0], [1.0]])
        gap = np.abs(found - chosen.transform(unit).sum(axis=0))
        assert (gap <= 3 * chosen.feature_error).all()


def test_a_quadratic_record_is_clamped_before_it_is_scaled() -> None:
    """Entries beyond 1e150 count as 1e150, whatever they are; kills the clip left out."""
    adder = _sums.QuadraticAdder(_map("quadratic"), 2)
    far = adder._records(np.array([[1e308, -1e200, 1e150], [1e160, 0.0, -1e150]]))
    np.testing.assert_array_equal(far, adder._records(np.array([[1.0, -1, 1], [1, 0, -1]]) * 1e150))


@pytest.mark.parametrize("frequency", [0.0, 1e-320, 1e-150, 1e150, 1e300])
def test_frequencies_of_any_size_give_features_of_modulus_one(frequency: float) -> None:
    """Default bounds from the smallest to the largest power of two; kills their overflow."""
    chosen = SketchMap("fourier", np.array([[frequency, frequency / 2], [1.0, 0.0]]))
    bound = np.asarray(chosen.bound)
    assert (bound > 0).all()
    assert np.isfinite(bound).all()
    found = np.abs(sketch([bound, -0.3 * bound, [0.0, 0.1]], chosen.column_slice(2)).sum)
    assert (found <= 3).all()
    np.testing.assert_allclose(np.abs(sketch([bound], chosen).sum), 1.0, atol=2e-6)


def test_bounds_are_public_parts_of_the_map() -> None:
    omega = np.ones((2, 3))
    wide, narrow = SketchMap("fourier", omega, None, 50.0), SketchMap("fourier", omega, None, 2.0)
    assert wide.fingerprint != narrow.fingerprint
    assert wide.fingerprint == SketchMap("fourier", omega, None, [50.0, 50.0]).fingerprint
    far, edge = [[3.0, -70.0]], [[2.0, -2.0]]
    np.testing.assert_array_equal(sketch(far, narrow).sum, sketch(edge, narrow).sum)
    np.testing.assert_array_equal(sketch(far, wide).sum, sketch([[3.0, -50.0]], wide).sum)
    assert (narrow.angle_error < wide.angle_error).all()


@pytest.mark.claim("sketch-beyond-float")
@pytest.mark.parametrize("n", [1, 127, 129, 5000])
def test_no_search_finds_more_than_one(n: int) -> None:
    """400 patterns up to the bound, at and beside block edges; kills a search that misses old sums.

    The search is deterministic here, and in single precision it succeeds at 100,000 records.
    """
    fourier = SketchMap("fourier", stream(0, "test-search", "public").standard_normal((2, 8)))
    found = largest_move(
        _exact_sum, fourier, n, n_patterns=400, rng=stream(0, "test-search", "data")
    )
    assert 0.999 < found <= 1.0
    curve = float_curve([1000, 100_000], n_patterns=100, seed=0, name="test-search")
    assert max(curve.exact) <= 1.0 < curve.single[0] < curve.single[1]
    assert curve.single[1] > 1.01


def test_a_box_far_from_zero_keeps_its_records_apart() -> None:
    """Frequencies follow the box's width, the grid its place; kills the default bound there."""
    X = 1e6 + np.repeat([[-0.5, 0.5], [0.5, -0.5]], 200, axis=0)
    fitted = CompressiveKMeans(2, bounds=(1e6 - 1, 1e6 + 1), epsilon=None, random_state=0).fit(X)
    found = fitted.cluster_centers_[np.argsort(fitted.cluster_centers_[:, 0])]
    np.testing.assert_allclose(found, X[[0, 200]], atol=0.05)
