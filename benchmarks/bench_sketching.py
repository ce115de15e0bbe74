"""Sketching a million records against the arithmetic floor and against plain numpy.

The floor is what cosines and sines cost: for every pair of record and frequency one float32
multiply-add per dimension (the matrix product), one float32 cosine and one sine, measured on a
block that stays in cache. Ours can go below it, since it takes one tangent for both. The plain
route, ``np.exp(1j * X @ W).mean(0)`` as it stands, runs on 50,000 records, for which it needs a
gigabyte; its time is scaled to a million.
One BLAS thread; all three interleaved; processor times (each is one thread), medians of five.
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
REPEATS = 5
FLOOR_BLOCKS = 400


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


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
    """Return two rows: against the floor (target 0.625) and against plain numpy (target 40)."""
    rng = stream(0, "bench-sketching", "data")
    X = rng.standard_normal((N_SAMPLES, N_FEATURES)).astype(np.float32)
    omega = stream(0, "bench-sketching", "public").standard_normal((N_FEATURES, N_COMPONENTS))
    sketch_map = SketchMap("fourier", omega)
    few = X[:N_PLAIN].astype(np.float64)
    gap = np.abs(sketch(few, sketch_map).mean - _plain(few, omega)).max()
    if gap > 1e-6:
        raise RuntimeError(f"the two sketches must agree, got a gap of {gap:.1e}")
    floor = _floor(X, omega)
    times = []
    with threadpool_limits(1, user_api="blas"):
        floor()
        sketch(X[:10_000], sketch_map)
        for _ in range(REPEATS):
            ours = _seconds(lambda: sketch(X, sketch_map))
            least = _seconds(floor) * N_SAMPLES / (FLOOR_BLOCKS * BLOCK_ROWS)
            plain = _seconds(lambda: _plain(few, omega)) * N_SAMPLES / N_PLAIN
            times.append((ours, least, plain))
    mine, least_times, plain_times = np.array(times).T
    shared = {"ours": "sketch(X, map), float32", "ours_seconds": float(np.median(mine))}
    rows = []
    for name, peer, peer_times, target in (
        ("sketch, against the floor", "product, cosine and sine alone", least_times, 1 / 1.6),
        (
            "sketch, against plain numpy",
            "np.exp(1j * X @ W).mean(0), 50000 scaled",
            plain_times,
            40.0,
        ),
    ):
        ratios = peer_times / mine
        rows.append(
            {
                "name": f"{name} (n=1e6, d=8, m=640)",
                **shared,
                "peer": peer,
                "peer_seconds": float(np.median(peer_times)),
                "ratio": float(np.median(peer_times) / np.median(mine)),
                "ratio_min": float(ratios.min()),
                "ratio_max": float(ratios.max()),
                "target": target,
            }
        )
    return rows
