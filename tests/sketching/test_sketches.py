"""Maps, sums over any source of records, and merging."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.sketching.release import map_sensitivity, plan_release
from dplit.sketching.sketches import (
    NoiseRecord,
    Sketch,
    SketchMap,
    merge_all,
    sketch,
    sketch_persons,
)
from dplit.streams import stream

KINDS = ("fourier", "quantized", "quadratic")


def _map(kind: str, d: int = 3, m: int = 12, seed: int = 0, scale: float = 1.0) -> SketchMap:
    rng = stream(seed, "test-sketches", "public")
    omega = scale * rng.standard_normal((d, m))
    dither = rng.uniform(0, 2 * np.pi, m) if kind == "quantized" else None
    return SketchMap(kind, omega, dither)  # type: ignore[arg-type]


def _data(n: int, d: int = 3, trial: int = 0) -> np.ndarray:
    return stream(0, "test-sketches", "data", trial).standard_normal((n, d))


def _brute(X: np.ndarray, sketch_map: SketchMap) -> np.ndarray:
    """Sum of the definition, entry by entry, in plain numpy."""
    omega = sketch_map.frequencies
    if sketch_map.kind == "quadratic":
        X = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
        return ((X @ omega) ** 2).sum(axis=0)
    if sketch_map.kind == "fourier":
        return np.exp(1j * X @ omega).sum(axis=0)
    t = X @ omega + sketch_map.dither
    one = np.where(np.cos(t) >= 0, 1, -1) + 1j * np.where(np.cos(t - np.pi / 2) >= 0, 1, -1)
    return one.sum(axis=0) / np.sqrt(2)


@pytest.mark.claim("sketch-def1")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 256, 1000])
def test_sum_is_the_definition(kind: str, n: int) -> None:
    """To the stated error of a feature; kills any factor of 1e-4, and a wrong count."""
    X, sketch_map = _data(n), _map(kind)
    ours = sketch(X, sketch_map)
    assert (np.abs(ours.sum - _brute(X, sketch_map)) <= n * sketch_map.feature_error).all()
    assert ours.count == n
    gap = np.abs(ours.mean - _brute(X, sketch_map) / n)
    assert (gap <= sketch_map.feature_error).all()
    scale = np.linalg.norm(sketch_map.frequencies, axis=0) ** 2 if kind == "quadratic" else 1.0
    assert (sketch_map.feature_error < 1e-5 * scale).all()


@pytest.mark.claim("sketch-def4")
@pytest.mark.claim("sketch-def6")
@pytest.mark.parametrize("kind", KINDS)
def test_transform_is_the_definition(kind: str) -> None:
    X, sketch_map = _data(20), _map(kind)
    total = sum(_brute(x[None], sketch_map) for x in X)
    np.testing.assert_allclose(sketch_map.transform(X).sum(axis=0), total, atol=1e-10)
    single = sketch_map.transform(X[:1])
    np.testing.assert_allclose(single[0], _brute(X[:1], sketch_map), atol=1e-11)


def test_the_mean_is_a_millionth_from_the_exact_one() -> None:
    """Below the bound of a single feature, since roundings average out; records in both types."""
    X, sketch_map = _data(5000), _map("fourier", m=40)
    exact = _brute(X, sketch_map) / 5000
    assert np.abs(sketch(X, sketch_map).mean - exact).max() < 1.2e-6
    single = X.astype(np.float32)
    exact = _brute(single.astype(float), sketch_map) / 5000
    assert np.abs(sketch(single, sketch_map).mean - exact).max() < 1.2e-6


def test_large_angles_are_known_to_a_fraction_of_the_bound() -> None:
    """Angles of 1e6 within a bound of six; kills a float32 product, off by 0.1 radian each.

    The errors of 2,000 records average: five standard errors of uniform roundings.
    """
    X, omega = _data(2000), _map("fourier", scale=1e6).frequencies
    sketch_map = SketchMap("fourier", omega, None, 6.0)  # type: ignore[arg-type]
    assert (sketch_map.angle_error < 0.01).all()
    gap = np.abs(sketch(X, sketch_map).mean - _brute(X, sketch_map) / 2000)
    assert (gap < 1.2e-6 + 5 * sketch_map.angle_error / np.sqrt(2000)).all()
    dither = _map("quantized").dither
    coarse = SketchMap("quantized", omega, dither, 6.0)  # type: ignore[arg-type]
    gap = np.abs(sketch(X, coarse).sum - _brute(X, coarse))
    assert gap.max() < 5.0  # a sign or two at the edge of a quadrant


@pytest.mark.claim("sketch-def1")
@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=5), rows=st.integers(1, 70))
def test_any_split_and_block_give_the_same_sum(cuts: list[int], rows: int) -> None:
    X, sketch_map = _data(200), _map("fourier")
    whole = sketch(X, sketch_map)
    parts = np.split(X, sorted(cuts))  # empty parts included
    chunks = sketch(iter(parts), sketch_map, block_rows=rows)
    np.testing.assert_array_equal(chunks.sum, whole.sum)
    merged = sketch(parts[0], sketch_map)
    for part in parts[1:]:
        merged = merged.merge(sketch(part, sketch_map))
    np.testing.assert_array_equal(merged.sum, whole.sum)
    assert merged.count == chunks.count == 200


def test_sources_of_every_kind(tmp_path: Path) -> None:
    X, sketch_map = _data(600), _map("fourier")
    expected = sketch(X, sketch_map).sum
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    generator = (X[i : i + 100] for i in range(0, 600, 100))
    for source in (X, X.tolist(), mapped, generator, [X[:1], X[1:]], np.asfortranarray(X)):
        ours = sketch(source, sketch_map)
        np.testing.assert_array_equal(ours.sum, expected)
        assert ours.count == 600


def test_integers_and_empty_data() -> None:
    sketch_map = _map("fourier")
    counts = np.arange(12).reshape(4, 3)
    gap = np.abs(sketch(counts, sketch_map).sum - _brute(counts, sketch_map))
    assert (gap <= 4 * sketch_map.feature_error).all()
    nothing = sketch(np.empty((0, 3)), sketch_map)
    assert nothing.count == 0
    assert not nothing.sum.any()
    assert sketch(iter([]), sketch_map).count == 0
    with pytest.raises(ValueError, match="count must be known and not zero"):
        _ = nothing.mean


def test_memory_is_that_of_a_block(tmp_path: Path) -> None:
    """10 MB of records and a map of 160 MB pass through less than 4 MB; kills forming the map."""
    n, m = 160_000, 128
    np.save(tmp_path / "big.npy", _data(n, 8).astype(np.float32))
    mapped = np.load(tmp_path / "big.npy", mmap_mode="r")
    sketch_map = _map("fourier", d=8, m=m)
    sketch(mapped[:1000], sketch_map)
    tracemalloc.start()
    sketch(mapped, sketch_map)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_nested(kind: str) -> None:
    X, sketch_map = _data(50), _map(kind)
    part = sketch(X, sketch_map.column_slice(5))
    np.testing.assert_array_equal(sketch(X, sketch_map).sum[:5], part.sum)


def test_fingerprints_tell_maps_apart() -> None:
    base = _map("quantized")
    omega, dither = base.frequencies, base.dither
    others = [
        SketchMap("fourier", omega),
        SketchMap("quadratic", omega),
        SketchMap("quantized", omega, dither + 1e-12),
        SketchMap("quantized", omega * (1 + 1e-15), dither),
        SketchMap("quantized", omega[:, ::-1], dither),
        base.column_slice(11),
    ]
    prints = {base.fingerprint, *(other.fingerprint for other in others)}
    assert len(prints) == 7
    assert SketchMap("quantized", omega.copy(), dither.copy()).fingerprint == base.fingerprint


def test_map_is_frozen_against_its_source() -> None:
    omega = np.ones((2, 3))
    sketch_map = SketchMap("fourier", omega)
    before = sketch_map.fingerprint
    omega[:] = 7.0
    assert sketch_map.frequencies.max() == 1.0
    assert SketchMap("fourier", sketch_map.frequencies).fingerprint == before
    with pytest.raises(ValueError, match="read-only"):
        sketch_map.frequencies[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        _map("quantized").dither[0] = 2.0  # type: ignore[index]


def test_quadratic_records_outside_the_ball_are_clipped() -> None:
    sketch_map = _map("quadratic")
    far = np.array([[30.0, 0.0, 40.0]])
    unit = np.array([[0.6, 0.0, 0.8]])
    np.testing.assert_allclose(sketch(far, sketch_map).sum, sketch(unit, sketch_map).sum)
    np.testing.assert_allclose(sketch_map.transform(far), sketch_map.transform(unit))
    inside = np.array([[0.3, 0.0, 0.4]])
    quarter = np.abs(sketch(inside, sketch_map).sum - sketch(unit, sketch_map).sum / 4)
    assert (quarter <= 1.25 * sketch_map.feature_error).all()


@pytest.mark.parametrize("kind", ["fourier", "quantized", "quadratic"])
@pytest.mark.parametrize("length", [1e20, 1e60, 1e200, 1.7e308])
def test_one_record_of_any_length_moves_the_sum_by_no_more_than_its_sensitivity(
    length: float, kind: str
) -> None:
    """Angles that float64 cannot count, or that overflow; kills a sum that becomes NaN."""
    X, sketch_map = _data(40), _map(kind)
    before = sketch(X, sketch_map).sum
    record = np.array([[length, -length, 0.3]])
    moved = np.abs(sketch(np.vstack([X, record]), sketch_map).sum - before)
    if kind == "quadratic":
        unit = np.array([[np.sqrt(0.5), -np.sqrt(0.5), 0.0]])
        assert (np.abs(moved - sketch_map.transform(unit)[0]) <= sketch_map.feature_error).all()
    else:
        assert moved.max() <= 1.0
        np.testing.assert_allclose(moved, 1.0, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind: str) -> None:
    """Forty-four slabs, a short one at the end; kills sums added as threads finish."""
    X, sketch_map = _data(700), _map(kind)
    one = sketch(X, sketch_map, block_rows=1)
    for n_jobs in (2, 3):
        found = sketch(iter([X[:99], X[99:]]), sketch_map, block_rows=1, n_jobs=n_jobs)
        again = sketch(iter([X[:99], X[99:]]), sketch_map, block_rows=1)
        assert (found.sum.tobytes(), found.count) == (again.sum.tobytes(), 700)
    np.testing.assert_array_equal(sketch(X, sketch_map, block_rows=1, n_jobs=2).sum, one.sum)


def test_threads_name_the_first_bad_record_and_read_few_chunks_ahead() -> None:
    read = []

    def chunks() -> Iterator[np.ndarray]:
        for k in range(50):
            read.append(k)
            yield np.full((4, 3), np.nan if k in (7, 8) else 0.1 * k)

    with pytest.raises(ValueError, match="chunk 7, row 0"):
        sketch(chunks(), _map("fourier"), n_jobs=2)
    assert len(read) <= 7 + 1 + 2 * 2
    with pytest.raises(ValueError, match="n_jobs"):
        sketch(_data(5), _map("fourier"), n_jobs=0)


def test_nan_is_named_by_chunk_and_row() -> None:
    chunks = [_data(300), _data(300, trial=1), _data(300, trial=2)]
    chunks[1][277, 2] = np.nan
    for kind in KINDS:
        with pytest.raises(ValueError, match="NaN or infinity in chunk 1, row 277"):
            sketch(iter(chunks), _map(kind))


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (np.ones((3, 2)), ValueError, r"chunk 0 of X must have shape \(n, 3\)"),
        (np.ones(3), ValueError, "chunk 0 of X must have shape"),
        (np.ones((2, 3), complex), TypeError, "must be real"),
        (np.array([["a", "b", "c"]]), TypeError, "chunk 0 of X must be numeric"),
        (3.0, TypeError, "must be an array or an iterable"),
        ([np.ones((2, 3)), np.ones((2, 4))], ValueError, "chunk 1 of X must have shape"),
    ],
)
def test_bad_records(source: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sketch(source, _map("fourier"))


def test_bad_arguments() -> None:
    sketch_map = _map("fourier")
    with pytest.raises(ValueError, match="block_rows must be at least 1"):
        sketch(_data(3), sketch_map, block_rows=0)
    with pytest.raises(TypeError, match="sketch_map must be a SketchMap"):
        sketch(_data(3), np.ones((3, 4)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kind must be one of"):
        SketchMap("cosine", np.ones((1, 1)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dither must be given for"):
        SketchMap("quantized", np.ones((1, 1)))
    with pytest.raises(ValueError, match="dither must be None for"):
        SketchMap("fourier", np.ones((1, 1)), np.ones(1))
    with pytest.raises(ValueError, match="dither must have one entry per frequency"):
        SketchMap("quantized", np.ones((1, 2)), np.ones(1))
    with pytest.raises(ValueError, match="frequencies must be finite"):
        SketchMap("fourier", np.array([[np.inf]]))
    with pytest.raises(ValueError, match="n_components must be at most 12"):
        sketch_map.column_slice(13)
    for kind in KINDS:
        with pytest.raises(ValueError, match="X must have 3 columns"):
            _map(kind).transform(np.ones((2, 2)))


def _noisy(record: NoiseRecord | None, count: float | None = 3, seed: int = 0) -> Sketch:
    sketch_map = _map("fourier", seed=seed)
    return Sketch(np.ones(12, complex), count, sketch_map, record)


def test_merging_refuses_what_does_not_fit() -> None:
    laplace, gauss = NoiseRecord("laplace", 2.0), NoiseRecord("gaussian", 2.0)
    with pytest.raises(ValueError, match="same map, got fingerprints"):
        _noisy(None).merge(_noisy(None, seed=1))
    with pytest.raises(ValueError, match="exact and a noisy"):
        _noisy(None).merge(_noisy(laplace))
    with pytest.raises(ValueError, match="must carry the same noise"):
        _noisy(laplace).merge(_noisy(gauss))
    with pytest.raises(ValueError, match="must carry the same noise"):
        _noisy(laplace).merge(_noisy(NoiseRecord("laplace", 2.1)))
    with pytest.raises(ValueError, match="both counts must be known or none"):
        _noisy(laplace).merge(_noisy(laplace, count=None))
    with pytest.raises(ValueError, match="must carry the same noise"):
        _noisy(NoiseRecord("laplace", 2.0, 4.0)).merge(_noisy(NoiseRecord("laplace", 2.0, 5.0)))
    with pytest.raises(TypeError, match="other must be a Sketch, got int"):
        _noisy(laplace).merge(3)  # type: ignore[arg-type]


def test_noise_records_count_copies_and_shares() -> None:
    whole = _noisy(NoiseRecord("laplace", 2.0)).merge(_noisy(NoiseRecord("laplace", 2.0)))
    assert whole.noise is not None
    assert whole.noise.variance_factor == 2.0
    assert whole.noise.complete
    share = _noisy(NoiseRecord("gaussian", 1.0, n_shares=2), count=None)
    assert share.noise is not None
    assert not share.noise.complete
    both = share.merge(share)
    assert both.noise is not None
    assert both.noise.complete
    assert both.noise.variance_factor == 1.0
    assert both.count is None
    with pytest.raises(ValueError, match="at most 2 noise shares"):
        both.merge(share)


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_counts_once(kind: str) -> None:
    """By the mean of own features, in every order; kills a sum, a first record, a lost person."""
    X, sketch_map = _data(60), _map(kind)
    whose = np.repeat([7, -2, 9, 4], [1, 30, 19, 10])
    ours = sketch_persons(X, whose, sketch_map)
    means = [sketch(X[whose == who], sketch_map).mean for who in (7, -2, 9, 4)]
    unit = 2.0**-18 * (np.linalg.norm(sketch_map.frequencies, axis=0) ** 2 + 1.0)
    assert ours.count == 4
    assert (np.abs(ours.sum - np.sum(means, axis=0)) <= 4 * 3 * unit).all()
    order = stream(0, "persons", "data").permutation(60)
    texts = np.array([f"{who}" for who in whose], dtype=object)
    again = sketch_persons(X[order], texts[order], sketch_map)
    np.testing.assert_array_equal(again.sum, ours.sum)
    halves = [sketch_persons(X[some], whose[some], sketch_map) for some in (whose < 5, whose > 5)]
    np.testing.assert_array_equal(halves[0].merge(halves[1]).sum, ours.sum)


def test_who_has_one_record_each_is_sketched_as_records() -> None:
    X = _data(50)
    for kind in ("fourier", "quantized"):
        ours = sketch_persons(X, np.arange(50), _map(kind))
        np.testing.assert_array_equal(ours.sum, sketch(X, _map(kind)).sum)


def _lengths(change: np.ndarray) -> dict[str, float]:
    parts = np.ascontiguousarray(change).view(float)
    return {
        "laplace": float(np.abs(parts).sum()), "gaussian": float(np.linalg.norm(parts)),
        "polydisc": float(np.abs(change).max()), "cube": float(np.abs(parts).max()),
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_with_any_records_moves_the_sum_as_a_record_may(kind: str) -> None:
    """Of 1 to 40 records, equal, near or far; kills a sum, and means that are rounded to nearest.

    Where a frequency is zero a person with equal records reaches the bound to 1 in 1,000.
    """
    sketch_map = SketchMap(kind, np.eye(2) * 1e-9, np.zeros(2) if kind == "quantized" else None)  # type: ignore[arg-type]
    noises = ("laplace", "gaussian") if kind == "quadratic" else ("laplace", "gaussian", "polydisc")
    noises = (*noises, "cube") if kind == "quantized" else noises
    rng = stream(0, "persons-move", "data")
    most = dict.fromkeys(noises, 0.0)
    for trial in range(200):
        used = sketch_map if trial % 2 else _map(kind, seed=trial)
        d = used.n_features
        few = [rng.choice([1e-3, 1.0, 1e3]) * rng.standard_normal((int(n), d)) for n in (3, 5)]
        size = int(rng.integers(1, 41))
        one = [np.repeat(rows[:1], size, axis=0) if trial % 4 < 2 else rows for rows in few]
        base, whose = rng.standard_normal((20, d)), np.arange(20) // 2
        sums = [
            sketch_persons(np.r_[base, rows], np.r_[whose, np.full(len(rows), 99)], used).sum
            for rows in (base[:0], *one)
        ]
        for relation, change in (("add_remove", sums[1] - sums[0]),
                                 ("replace_one", sums[2] - sums[1])):  # fmt: skip
            for noise in noises:
                bound = map_sensitivity(used, noise=noise, neighboring=relation)  # type: ignore[arg-type]
                share = _lengths(change)[noise] / bound
                assert share <= 1.0
                most[noise] = max(most[noise], share if relation == "add_remove" else 0.0)
    assert min(most.values()) > (0.999 if kind == "quantized" else 0.69)


@pytest.mark.parametrize(
    ("persons", "kind", "message"),
    [
        ([1, 2], ValueError, r"persons must have shape \(3,\), got shape \(2,\)"),
        ([1.0, 2.0, 3.0], TypeError, "column 'persons' must hold integers up to int64, or text"),
        (["a", None, "b"], TypeError, "column 'persons' must hold integers up to int64, or text"),
    ],
)
def test_wrong_persons_are_refused(persons: list[object], kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        sketch_persons(_data(3), persons, _map("fourier"))


def test_a_sketch_says_whether_it_counts_records_or_persons() -> None:
    """Through merges, releases and pickles; kills a unit that is dropped on one of these ways."""
    X, public = _data(40), _map("fourier")
    persons = sketch_persons(X, np.arange(40) // 4, public)
    plan = plan_release(public, epsilon=1.0, split=0.5)
    released = plan.apply(persons, rng=stream(0, "unit", "noise"))
    for made in (persons, persons.merge(persons), released, merge_all([released, released])):
        assert made.unit == "person"
        assert pickle.loads(pickle.dumps(made)).unit == "person"
    records = sketch(X, public)
    assert records.merge(records).unit == plan.apply(records, rng=stream(0, "u", "noise")).unit
    assert records.unit == "record"
    old = records.__reduce_ex__(2)[2] | {}
    old.pop("unit")
    kept = Sketch.__new__(Sketch)
    kept.__setstate__(old)  # of a version that knew no persons
    assert kept.unit == "record"


def test_persons_and_records_are_not_merged() -> None:
    """Exact or released, either way round."""
    X, public = _data(12), _map("quadratic")
    plan = plan_release(public, epsilon=1.0, count="withheld")
    records, persons = sketch(X, public), sketch_persons(X, np.arange(12), public)
    noisy = [plan.apply(part, rng=stream(0, "unlike", "noise")) for part in (records, persons)]
    for first, second in ((records, persons), noisy):
        with pytest.raises(ValueError, match="got one of records and one of persons"):
            first.merge(second)
        with pytest.raises(ValueError, match="got one of persons and one of records"):
            merge_all([second, first])
    with pytest.raises(ValueError, match="unit must be one of"):
        Sketch(np.ones(12), 1, public, unit="household")  # type: ignore[arg-type]
