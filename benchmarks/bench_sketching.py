"""Sketching a million records against the arithmetic floor and against plain numpy.

The floor is what cosines and sines cost: for every pair of record and frequency one float32
multiply-add per dimension (the matrix product), one float32 cosine and one sine, measured on a
block that stays in cache. Ours adds what exact sums ask for (a float64 product of twice the depth,
the reduction of angles, the rounding of features) and takes one tangent for both. The plain route,
``np.exp(1j * X @ W).mean(0)`` as it stands, runs on 50,000 records, for which it needs a gigabyte;
its time is scaled to a million.
Two rows are on one thread, in processor time. In the third the plain route has two BLAS threads,
which is what it gets on a machine of two cores, and ours two threads: seconds of the clock, as for
the feature map. All are interleaved, medians of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dplit.sketching.sketches import BLOCK_ROWS, SketchMap, sketch
from dplit.streams import stream

N_SAMPLES, N_PLAIN, N_FEATURES, N_COMPONENTS = 1_000_000, 50_000, 8, 640
THREADS, REPEATS = 2, 5
FLOOR_BLOCKS = 400
FLOOR_ROWS = FLOOR_BLOCKS * BLOCK_ROWS


def _seconds(call: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds of the processor and of the clock."""
    cpu, clock = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - clock


def _plain(X: NDArray[Any], omega: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.exp(1j * X @ omega).mean(0))


def _floor(X: NDArray[Any], omega: NDArray[Any]) -> Callable[[], None]:
    """Return the product, cosines and sines of ``FLOOR_BLOCKS`` blocks in cache."""
    block, weights = X[:BLOCK_ROWS], omega.astype(np.float32)
    angle = block @ weights
    out = np.empty_like(angle)

    def run() -> None:
        for _ in range(FLOOR_BLOCKS):
            np.matmul(block, weights, out=angle)
            np.cos(angle, out=out)
            np.sin(angle, out=out)

    return run


def run() -> list[dict[str, Any]]:
    """Return three rows: against the floor, and against plain numpy on one thread and on two."""
    rng = stream(0, "bench-sketching", "data")
    X = rng.standard_normal((N_SAMPLES, N_FEATURES)).astype(np.float32)
    omega = stream(0, "bench-sketching", "public").standard_normal((N_FEATURES, N_COMPONENTS))
    sketch_map = SketchMap("fourier", omega)
    few = X[:N_PLAIN].astype(np.float64)
    gap = np.abs(sketch(few, sketch_map).mean - _plain(few, omega)).max()
    if gap > sketch_map.feature_error.max():
        raise RuntimeError(f"the two sketches must agree, got a gap of {gap:.1e}")
    floor = _floor(X, omega)
    times = []
    for _ in range(REPEATS):
        with threadpool_limits(1, user_api="blas"):
            one, _ = _seconds(lambda: sketch(X, sketch_map))
            least, _ = _seconds(floor)
            slow, _ = _seconds(lambda: _plain(few, omega))
        with threadpool_limits(THREADS, user_api="blas"):
            _, two = _seconds(lambda: sketch(X, sketch_map, n_jobs=THREADS))
            _, plain = _seconds(lambda: _plain(few, omega))
        scale = N_SAMPLES / N_PLAIN
        times.append((one, least * N_SAMPLES / FLOOR_ROWS, slow * scale, two, plain * scale))
    one, least, slow, two, plain = np.array(times).T
    least_peer = "product, cosine and sine alone"
    shape, expression = "(n=1e6, d=8, m=640)", "np.exp(1j * X @ W).mean(0), 50000 scaled"
    ours = "sketch(X, map)"
    threaded = "sketch(X, map, n_jobs=2)"
    return [
        _row(f"sketch, against the floor {shape}", ours, least_peer, one, least, 0.3),
        _row(f"sketch, one thread {shape}", ours, expression, one, slow, 80.0),
        _row(f"sketch, two threads {shape}", threaded, expression, two, plain, 50.0),
    ]


def _row(
    name: str, ours: str, peer: str, mine: NDArray[Any], theirs: NDArray[Any], target: float | None
) -> dict[str, Any]:
    ratios = theirs / mine
    return {
        "name": name,
        "ours": ours,
        "peer": peer,
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float(ratios.min()),
        "ratio_max": float(ratios.max()),
        "target": target,
    }
