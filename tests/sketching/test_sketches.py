"""Maps, sums over any source of records, and merging."""

from __future__ import annotations

import copy
import pickle
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dplit._numerics import blocks
from dplit.sketching.plans import map_sensitivity, plan_release
from dplit.sketching.sketches import (
    NoiseRecord,
    Sketch,
    SketchMap,
    merge_all,
    sketch,
    sketch_persons,
)
from dplit.streams import stream
from tests.sketching.shared import KINDS, drawn_map, lengths


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
    X, sketch_map = _data(n), drawn_map(kind)
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
    X, sketch_map = _data(20), drawn_map(kind)
    total = sum(_brute(x[None], sketch_map) for x in X)
    np.testing.assert_allclose(sketch_map.transform(X).sum(axis=0), total, atol=1e-10)
    single = sketch_map.transform(X[:1])
    np.testing.assert_allclose(single[0], _brute(X[:1], sketch_map), atol=1e-11)


def test_the_mean_is_a_millionth_from_the_exact_one() -> None:
    """Below the bound of a single feature, since roundings average out; records in both types."""
    X, sketch_map = _data(5000), drawn_map("fourier", m=40)
    exact = _brute(X, sketch_map) / 5000
    assert np.abs(sketch(X, sketch_map).mean - exact).max() < 1.2e-6
    single = X.astype(np.float32)
    exact = _brute(single.astype(float), sketch_map) / 5000
    assert np.abs(sketch(single, sketch_map).mean - exact).max() < 1.2e-6


def test_large_angles_are_known_to_a_fraction_of_the_bound() -> None:
    """Angles of 1e6 within a bound of six; kills a float32 product, off by 0.1 radian each.

    The errors of 2,000 records average: five standard errors of uniform roundings.
    """
    X, omega = _data(2000), drawn_map("fourier", scale=1e6).frequencies
    sketch_map = SketchMap("fourier", omega, None, 6.0)  # type: ignore[arg-type]
    assert (sketch_map.angle_error < 0.01).all()
    gap = np.abs(sketch(X, sketch_map).mean - _brute(X, sketch_map) / 2000)
    assert (gap < 1.2e-6 + 5 * sketch_map.angle_error / np.sqrt(2000)).all()
    dither = drawn_map("quantized").dither
    coarse = SketchMap("quantized", omega, dither, 6.0)  # type: ignore[arg-type]
    gap = np.abs(sketch(X, coarse).sum - _brute(X, coarse))
    assert gap.max() < 5.0  # a sign or two at the edge of a quadrant


def test_integers_and_empty_data() -> None:
    sketch_map = drawn_map("fourier")
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
    sketch_map = drawn_map("fourier", d=8, m=m)
    sketch(mapped[:1000], sketch_map)
    tracemalloc.start()
    sketch(mapped, sketch_map)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


def test_fingerprints_tell_maps_apart() -> None:
    base = drawn_map("quantized")
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
    assert {len(one) for one in prints} == {16}  # saved sketches are merged by it
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
        drawn_map("quantized").dither[0] = 2.0  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        sketch_map.bound[0] = 2.0  # type: ignore[index]


def test_threads_name_the_first_bad_record_and_read_few_chunks_ahead() -> None:
    read = []

    def chunks() -> Iterator[np.ndarray]:
        for k in range(50):
            read.append(k)
            yield np.full((4, 3), np.nan if k in (7, 8) else 0.1 * k)

    with pytest.raises(ValueError, match="chunk 7, row 0"):
        sketch(chunks(), drawn_map("fourier"), n_jobs=2)
    assert len(read) <= 7 + 1 + 2 * 2


def test_nan_is_named_by_chunk_and_row() -> None:
    """Kills a row that is counted from the slab in which it stands: one of 256 records here."""
    chunks = [_data(300), _data(300, trial=1), _data(300, trial=2)]
    chunks[1][277, 2] = np.nan
    for kind in KINDS:
        with pytest.raises(ValueError, match="NaN or infinity in chunk 1, row 277"):
            sketch(iter(chunks), drawn_map(kind), block_rows=16)


def _noisy(
    record: NoiseRecord | None, count: float | None = 3, seed: int = 0, at: float = 0.0
) -> Sketch:
    sketch_map = drawn_map("fourier", seed=seed)
    return Sketch(np.full(12, at + 1j), count, sketch_map, record)


def test_merging_refuses_what_does_not_fit() -> None:
    exact, laplace = _noisy(None), _noisy(NoiseRecord("laplace", 2.0))
    counted = [_noisy(NoiseRecord("laplace", 2.0, scale)) for scale in (4.0, 5.0)]
    for first, second, message in (
        (exact, _noisy(None, seed=1), "same map, got fingerprints"),
        (exact, laplace, "exact and a noisy"),
        (laplace, _noisy(NoiseRecord("gaussian", 2.0)), "must carry the same noise"),
        (laplace, _noisy(NoiseRecord("laplace", 2.1)), "must carry the same noise"),
        (*counted, "must carry the same noise"),
        (laplace, replace(laplace, count=None), "both counts must be known or none"),
    ):
        with pytest.raises(ValueError, match=message):
            first.merge(second)
    with pytest.raises(TypeError, match="other must be a Sketch, got int"):
        laplace.merge(3)  # type: ignore[arg-type]


def test_noise_records_count_copies_and_shares() -> None:
    whole = _noisy(NoiseRecord("laplace", 2.0)).merge(_noisy(NoiseRecord("laplace", 2.0), at=1.0))
    assert whole.noise is not None
    assert whole.noise.variance_factor == 2.0
    assert whole.noise.complete
    share = _noisy(NoiseRecord("gaussian", 1.0, n_shares=2), count=None)
    assert share.noise is not None
    assert not share.noise.complete
    other = _noisy(share.noise, count=None, at=1.0)
    both = share.merge(other)
    assert both.noise is not None
    assert both.noise.complete
    assert both.noise.variance_factor == 1.0
    assert both.count is None
    with pytest.raises(ValueError, match="at most 2 noise shares"):
        both.merge(_noisy(share.noise, count=None, at=2.0))


def test_nothing_counts_twice_in_a_merge() -> None:
    """By identity, through copies, pickles and other merges; equal records of two calls merge.

    Kills names that are lost in a merge, a copy or a pickle, and names that follow from records: an
    exact sketch that two parties made of equal records is two. Of shares the second would pass for
    the one that is missing, at half the noise.
    """
    X, public = _data(12), drawn_map("fourier")
    one, twin, other = (sketch(X, public) for _ in range(3))
    assert one.merge(twin).merge(other).count == 36
    copies = [one, copy.deepcopy(one), pickle.loads(pickle.dumps(one)), replace(one, count=None)]
    for same in copies[:3]:
        with pytest.raises(ValueError, match="must be of different records, and one sketch is in"):
            one.merge(same)
    with pytest.raises(ValueError, match="must be of different records"):
        one.merge(twin).merge(other.merge(copies[2]))
    with pytest.raises(ValueError, match="must be of different records"):
        copies[3].merge(replace(one, count=None))
    plan = plan_release(public, epsilon=1.0, count="withheld", n_shares=2, noise="laplace")
    rng = stream(0, "twice", "noise")
    share, missing = (plan.apply(part, rng=rng) for part in (one, twin))
    for same in (share, pickle.loads(pickle.dumps(share))):
        with pytest.raises(ValueError, match="must be of different records"):
            merge_all([share, same])
    assert merge_all([share, missing]).noise.complete


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_counts_once(kind: str) -> None:
    """By the mean of own features, in every order; kills a sum, a first record, a lost person."""
    X, sketch_map = _data(60), drawn_map(kind)
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
        ours = sketch_persons(X, np.arange(50), drawn_map(kind))
        np.testing.assert_array_equal(ours.sum, sketch(X, drawn_map(kind)).sum)


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
        used = sketch_map if trial % 2 else drawn_map(kind, seed=trial)
        d = used.n_features
        few = [rng.choice([1e-3, 1.0, 1e3]) * rng.standard_normal((int(n), d)) for n in (3, 5)]
        size = int(rng.integers(1, 41))
        one = [np.repeat(rows[:1], size, axis=0) if trial % 4 < 2 else rows for rows in few]
        base, whose = rng.standard_normal((20, d)), np.arange(20) // 2
        sums = [
            sketch_persons(np.r_[base, rows], np.r_[whose, np.full(len(rows), 99)], used).sum
            for rows in (base[:0], *one)
        ]
        for relation, change in (
            ("add_remove", sums[1] - sums[0]),
            ("replace_one", sums[2] - sums[1]),
        ):
            for noise in noises:
                bound = map_sensitivity(used, noise=noise, neighboring=relation)  # type: ignore[arg-type]
                share = lengths(change)[noise] / bound
                assert share <= 1.0
                most[noise] = max(most[noise], share if relation == "add_remove" else 0.0)
    assert min(most.values()) > (0.999 if kind == "quantized" else 0.69)


def test_a_sketch_says_whether_it_counts_records_or_persons() -> None:
    """Through merges, releases and pickles; kills a unit that is dropped on one of these ways."""
    X, public = _data(40), drawn_map("fourier")
    persons = sketch_persons(X, np.arange(40) // 4, public)
    plan = plan_release(public, epsilon=1.0, split=0.5)
    released = plan.apply(persons, rng=stream(0, "unit", "noise"))
    more = sketch_persons(X, np.arange(40) // 4, public)
    again = plan.apply(persons, rng=stream(1, "unit", "noise"))
    for made in (persons, persons.merge(more), released, merge_all([released, again])):
        assert made.unit == "person"
        assert pickle.loads(pickle.dumps(made)).unit == "person"
    records = sketch(X, public)
    assert (
        records.merge(sketch(X, public)).unit
        == plan.apply(records, rng=stream(0, "u", "noise")).unit
    )
    assert records.unit == "record"
    old = records.__reduce_ex__(2)[2] | {}
    old.pop("unit")
    kept = Sketch.__new__(Sketch)
    kept.__setstate__(old)  # of a version that knew no persons
    assert kept.unit == "record"


def test_persons_and_records_are_not_merged() -> None:
    """Exact or released, either way round."""
    X, public = _data(12), drawn_map("quadratic")
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


class _Blas:
    """What threadpoolctl does: a limit sets one number for all threads, and restores what it found.

    (Some builds of OpenBLAS ignore calls from other threads than the first, so that the real one
    would not fail everywhere.)
    """

    def __init__(self) -> None:
        self.threads = 8

    @contextmanager
    def limit(self, *, limits: int, user_api: str) -> Iterator[None]:
        before, self.threads = self.threads, limits
        yield
        self.threads = before


def test_overlapping_sketches_leave_blas_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three at once, and the first that began is the first to end.

    Kills a limit of its own for each call, which left BLAS at one thread for good.
    """
    blas = _Blas()
    monkeypatch.setattr(blocks, "_blas", lambda: blas)
    began, go_on = [threading.Event() for _ in range(3)], [threading.Event() for _ in range(3)]

    def chunks(k: int) -> Iterator[np.ndarray]:
        for _ in range(5):
            yield np.zeros((4, 1))
        began[k].set()
        assert go_on[k].wait(60.0)

    with ThreadPoolExecutor(3) as pool:
        sums = []
        for k in range(3):
            sums.append(pool.submit(sketch, chunks(k), SketchMap("fourier", [[1.0]]), n_jobs=2))
            assert began[k].wait(60.0)
        for event, total in zip(go_on, sums, strict=True):
            assert blas.threads == 1
            event.set()
            assert total.result().count == 20
    assert blas.threads == 8
    with pytest.raises(ValueError, match="X must be finite"):
        sketch(np.full((4, 1), np.nan), SketchMap("fourier", [[1.0]]), n_jobs=2)
    assert blas.threads == 8
