"""Parts, files, dask arrays, and a cluster of two processes one of whose workers dies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplit.sketching.additive_noise import sketch_parts
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap, merge_all, sketch
from dplit.streams import stream
from dplit_studies.sketching.gaussian_simulation import merged_noise_energy
from tests.dask_workers import two_workers

SIZES = (300, 0, 1, 699)


def _map(m: int = 16) -> SketchMap:
    return SketchMap("fourier", stream(0, "test-sources", "public").standard_normal((3, m)))


def _parts() -> list[np.ndarray]:
    rng = stream(0, "test-sources", "data")
    return [rng.standard_normal((n, 3)) for n in SIZES]


@pytest.mark.claim("sketch-distributed")
def test_parts_merge_to_the_whole() -> None:
    """Bit by bit; an empty part and a part of one record included."""
    parts = _parts()
    whole = sketch(np.concatenate(parts), _map())
    ours = sketch_parts(parts, _map())
    np.testing.assert_array_equal(ours.sum, whole.sum)
    brute = np.exp(1j * np.concatenate(parts) @ _map().frequencies).sum(axis=0)
    assert (np.abs(ours.sum - brute) <= 1000 * _map().feature_error).all()
    assert ours.count == 1000
    assert ours.noise is None


def test_holders_may_bring_streams_of_chunks() -> None:
    parts = _parts()
    ours = sketch_parts([iter(parts[:2]), iter(parts[2:])], _map())
    np.testing.assert_array_equal(ours.sum, sketch_parts(parts, _map()).sum)


def test_nothing_is_released_when_one_chunk_has_a_nan() -> None:
    parts = _parts()
    parts[3][123, 1] = np.nan
    plan = plan_release(_map(), epsilon=1.0, count="withheld", n_shares=4)
    for options in ({}, {"plan": plan, "rng": stream(0, "nan", "noise")}):
        with pytest.raises(ValueError, match=r"part 3: .*chunk 0, row 123; nothing is released"):
            sketch_parts(parts, _map(), **options)  # type: ignore[arg-type]


def test_shares_and_holders_must_agree() -> None:
    plan = plan_release(_map(), epsilon=1.0, count="withheld", n_shares=3)
    with pytest.raises(ValueError, match="n_shares must be 1 or the number of parts 4"):
        sketch_parts(_parts(), _map(), plan=plan, rng=stream(0, "agree", "noise"))
    with pytest.raises(ValueError, match="rng must be None without a plan"):
        sketch_parts(_parts(), _map(), rng=stream(0, "agree", "noise"))
    with pytest.raises(TypeError, match="rng must be"):
        sketch_parts(_parts()[:3], _map(), plan=plan)
    with pytest.raises(ValueError, match="parts must not be empty"):
        sketch_parts([], _map())


def test_missing_shares_are_noticed() -> None:
    record = NoiseRecord("gaussian", 1.0, n_shares=3)
    shares = [Sketch(np.full(16, 1.0 + k, complex), None, _map(), record) for k in range(3)]
    with pytest.raises(ValueError, match="all 3 noise shares must be merged, got 2"):
        merge_all(shares[:2])
    assert merge_all(shares).noise == NoiseRecord("gaussian", 1.0, None, 3, 3)


def test_noise_of_holders_is_independent_and_reproducible() -> None:
    plan = plan_release(_map(), epsilon=1.0, split=0.9, n_shares=1)
    empty = [np.empty((0, 3))] * 2
    one = sketch_parts(empty, _map(), plan=plan, rng=stream(0, "holders", "noise"))
    two = sketch_parts(empty, _map(), plan=plan, rng=stream(0, "holders", "noise"))
    assert np.array_equal(one.sum, two.sum)
    first = sketch_parts(empty[:1], _map(), plan=plan, rng=stream(0, "holders", "noise"))
    assert not np.allclose(one.sum, 2 * first.sum)


def test_dask_arrays_by_threads() -> None:
    array = pytest.importorskip("dask.array")
    X = np.concatenate(_parts())
    expected = sketch(X, _map())
    for chunks in ((300, 3), (1000, 1), ((1, 999), (2, 1))):
        ours = sketch(array.from_array(X, chunks=chunks), _map())
        np.testing.assert_array_equal(ours.sum, expected.sum)
        assert ours.count == 1000
    filtered = array.from_array(X, chunks=(100, 3))
    filtered = filtered[filtered[:, 0] > 0]  # chunks of unknown size
    kept = sketch(filtered, _map())
    np.testing.assert_array_equal(kept.sum, sketch(X[X[:, 0] > 0], _map()).sum)
    none = filtered[filtered[:, 0] > 4]  # every chunk is empty
    assert sketch(none, _map()).count == 0
    assert not sketch(none, _map()).sum.any()
    with pytest.raises(ValueError, match=r"X must have shape \(n, 3\), got 1 axes"):
        sketch(array.from_array(X[:, 0]), _map())
    with pytest.raises(ValueError, match=r"chunk 0 of X must have shape \(n, 3\)"):
        sketch(array.from_array(X[:, :2]), _map())
    X[555, 0] = np.inf
    with pytest.raises(ValueError, match=r"part 5: .*row 55; nothing is released"):
        sketch(array.from_array(X, chunks=(100, 3)), _map())


@pytest.mark.claim("sketch-distributed")
@pytest.mark.parametrize(("shares", "factor"), [(1, 8.0), (8, 1.0)])
def test_energy_of_merged_noises(shares: int, factor: float) -> None:
    """4.5 standard errors of 2e4 draws (3 to 7 %): kills a factor 0.5 and the missing root of L."""
    energy = merged_noise_energy(
        8, n_shares=shares, n_components=20_000, rng=stream(0, "merged", "noise", shares)
    )
    assert abs(energy.mean() - factor) < 4.5 * energy.std() / np.sqrt(20_000)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_workers(allowed_failures=1) as client:
        yield client


def _block(k: int, folder: str, deadly: str) -> np.ndarray:
    """Return records of chunk k; a deadly chunk ends its process, once or always."""
    marker = Path(folder) / "died"
    if k == 2 and (deadly == "always" or (deadly == "once" and not marker.exists())):
        marker.touch()
        os._exit(1)
    if k == 3:
        (Path(folder) / f"by-{os.getpid()}").touch()
    time.sleep(0.05)
    rows = stream(0, "cluster", "data", k).standard_normal((100, 3))
    if deadly == "nan" and k == 4:
        rows[7, 2] = np.nan
    return rows


def _array(folder: Path, deadly: str) -> Any:
    import dask
    import dask.array

    blocks = [
        dask.array.from_delayed(
            dask.delayed(_block, pure=False)(k, str(folder), deadly), (100, 3), dtype=float
        )
        for k in range(6)
    ]
    return dask.array.concatenate(blocks)


@pytest.mark.filterwarnings("default")
def test_two_processes_and_a_worker_that_dies(cluster: Any, tmp_path: Path) -> None:
    """The result is right after a death; a death for good is a clear error."""
    expected = sketch(
        np.concatenate([_block(k, str(tmp_path), "no") for k in range(6)]),
        _map(),
    )
    pids = set(cluster.run(os.getpid).values())
    assert len(pids) == 2
    assert os.getpid() not in pids
    calm = sketch(_array(tmp_path, "no"), _map())
    np.testing.assert_array_equal(calm.sum, expected.sum)
    assert any((tmp_path / f"by-{pid}").exists() for pid in pids)
    assert calm.count == 600

    with pytest.raises(ValueError, match=r"part 4: .*chunk 0, row 7; nothing is released"):
        sketch(_array(tmp_path, "nan"), _map())

    died = sketch(_array(tmp_path, "once"), _map())
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(died.sum, calm.sum)

    with pytest.raises(RuntimeError, match="workers died while sketching, nothing is released"):
        sketch(_array(tmp_path, "always"), _map())
