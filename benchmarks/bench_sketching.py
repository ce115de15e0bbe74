"""Sketching a million records against the arithmetic floor and against plain numpy.

The floor is what cosines and sines cost: for every pair of record and frequency one float32
multiply-add per dimension (the matrix product), one float32 cosine and one sine, measured on a
block that stays in cache. Ours adds what exact sums ask for (a float64 product of twice the depth,
the reduction of angles, the rounding of features) and takes one tangent for both.

The second row is the limit of ours: every pass that an exact sum makes over a block, alone and in
cache, without the reading, checking and halving of records between them. Each pass is one call of
numpy, so that nothing can be fused, and blocks of 64 to 256 records take about the same time:
larger ones leave the second-level cache, smaller ones call more often. A sketch at 0.6 of the floor
would have to be faster than its own passes unless that row says otherwise; fewer passes would need
a compiled kernel.

Blocks are the same for every number of threads, and what two of them cannot do at once is the
interpreter's part: the calls themselves. The row "most of two threads" says how much that leaves,
by the time of the same calls on a single frequency, as if a thread never waited for anything else.
Larger blocks call less and leave the cache: 256 records a block cost a seventh more of the
processor than 128, 512 two fifths more.

The plain route, ``np.exp(1j * X @ W).mean(0)`` as it stands, runs on 50,000 records, for which it
needs a gigabyte; its time is scaled to a million. The first three rows are on one thread, in
processor time. In the others ours has two threads, in seconds of the clock: against the plain route
with two BLAS threads, which is what it gets on a machine of two cores, and against itself on one
thread by the same clock. (Processor seconds of one thread against the clock of two say nothing:
whatever else runs slows the second alone.) All are interleaved, medians of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dplit._numerics.blocks import aligned_empty
from dplit.sketching.sketches import _BLOCK_ROWS, SketchMap, sketch
from dplit.streams import stream

N_SAMPLES, N_PLAIN, N_FEATURES, N_COMPONENTS = 1_000_000, 50_000, 8, 640
THREADS, REPEATS = 2, 5
FLOOR_BLOCKS = 400
FLOOR_ROWS = FLOOR_BLOCKS * _BLOCK_ROWS


def _seconds(call: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds of the processor and of the clock."""
    cpu, clock = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - clock


def _plain(X: NDArray[Any], omega: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.exp(1j * X @ omega).mean(0))


def _floor(X: NDArray[Any], omega: NDArray[Any]) -> Callable[[], None]:
    """Return the product, cosines and sines of ``FLOOR_BLOCKS`` blocks in cache."""
    block, weights = X[:_BLOCK_ROWS], omega.astype(np.float32)
    angle = block @ weights
    out = np.empty_like(angle)

    def run() -> None:
        for _ in range(FLOOR_BLOCKS):
            np.matmul(block, weights, out=angle)
            np.cos(angle, out=out)
            np.sin(angle, out=out)

    return run


def _passes() -> Callable[[], None]:
    """Return the passes of exact sums over ``FLOOR_BLOCKS`` blocks, one call of numpy each."""
    rng = stream(0, "bench-sketching", "public", 1)
    halves = np.rint(rng.uniform(-1e4, 1e4, (_BLOCK_ROWS, 2 * N_FEATURES)))
    weights = np.ldexp(np.rint(rng.uniform(-1e9, 1e9, (2 * N_FEATURES, N_COMPONENTS))), -40)
    turns = aligned_empty((_BLOCK_ROWS, N_COMPONENTS), np.float64)
    units = aligned_empty((_BLOCK_ROWS, N_COMPONENTS), np.uint32)
    both = turns.reshape(-1).view(np.float32).reshape(2, *units.shape)
    cosine, angle = both

    def run() -> None:
        for _ in range(FLOOR_BLOCKS):
            for rows in (slice(0, _BLOCK_ROWS // 2), slice(_BLOCK_ROWS // 2, None)):
                np.matmul(halves[rows], weights, out=turns[rows])
            np.add(turns, 1.5 * 2.0**20, out=turns)
            np.copyto(units, turns.view(np.uint64), casting="unsafe")
            np.copyto(angle, units.view(np.int32), casting="same_kind")
            np.multiply(angle, np.float32(np.pi / 2**32), out=angle)
            np.tan(angle, out=angle)
            np.multiply(angle, angle, out=cosine)
            np.add(cosine, 1.0, out=cosine)
            np.divide(np.float32(1.0), cosine, out=cosine)
            np.multiply(angle, cosine, out=angle)
            np.add(cosine, 1.0, out=cosine)
            np.add(angle, 1.5, out=angle)
            np.add.reduce(both.view(np.uint32), axis=1, dtype=np.uint32)

    return run


def run() -> list[dict[str, Any]]:
    """Return six rows: ours and its passes against the floor, plain numpy, and two threads."""
    rng = stream(0, "bench-sketching", "data")
    X = rng.standard_normal((N_SAMPLES, N_FEATURES)).astype(np.float32)
    omega = stream(0, "bench-sketching", "public").standard_normal((N_FEATURES, N_COMPONENTS))
    sketch_map = SketchMap("fourier", omega)
    few = X[:N_PLAIN].astype(np.float64)
    gap = np.abs(sketch(few, sketch_map).mean - _plain(few, omega)).max()
    if gap > sketch_map.feature_error.max():
        raise RuntimeError(f"the two sketches must agree, got a gap of {gap:.1e}")
    floor, passes, single = _floor(X, omega), _passes(), sketch_map.column_slice(1)
    times = []
    for _ in range(REPEATS):
        with threadpool_limits(1, user_api="blas"):
            one, alone = _seconds(lambda: sketch(X, sketch_map))
            least, _ = _seconds(floor)
            own, _ = _seconds(passes)
            calls, _ = _seconds(lambda: sketch(X, single))
            slow, _ = _seconds(lambda: _plain(few, omega))
        with threadpool_limits(THREADS, user_api="blas"):
            _, two = _seconds(lambda: sketch(X, sketch_map, n_jobs=THREADS))
            _, plain = _seconds(lambda: _plain(few, omega))
        scale, blocks = N_SAMPLES / N_PLAIN, N_SAMPLES / FLOOR_ROWS
        scaled = least * blocks, own * blocks, slow * scale, plain * scale
        times.append((one, alone, calls, two, *scaled))
    one, alone, calls, two, least, own, slow, plain = np.array(times).T
    least_peer = "product, cosine and sine alone"
    shape, expression = "(n=1e6, d=8, m=640)", "np.exp(1j * X @ W).mean(0), 50000 scaled"
    ours = "sketch(X, map)"
    threaded = "sketch(X, map, n_jobs=2)"
    return [
        _row(f"sketch, against the floor {shape}", ours, least_peer, one, least, 0.3),
        _row(
            "sketch: the most of the floor that its passes allow", "passes", least_peer, own, least
        ),
        _row(f"sketch, one thread {shape}", ours, expression, one, slow, 80.0),
        _row(f"sketch, two threads {shape}", threaded, expression, two, plain, 50.0),
        _row(f"sketch, two threads against one {shape}", threaded, ours, two, alone, 1.6),
        _row("sketch: the most of two threads", "calls in turn", ours, (one + calls) / 2.0, one),
    ]


def _row(
    name: str,
    ours: str,
    peer: str,
    mine: NDArray[Any],
    theirs: NDArray[Any],
    target: float | None = None,
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
