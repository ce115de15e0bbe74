"""The feature map against ``RBFSampler``: same kernel, same output size, two threads each.

Each pair is measured interleaved in one run; times are medians of five, the spread is the range of
the five ratios. Ours runs two Python threads with one BLAS thread each, the peer one Python thread
with two BLAS threads, which is what it gets on a machine of two cores.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from threadpoolctl import threadpool_limits

from dplit._trigonometry import HALF_TANGENT
from dplit.features import RandomFourierFeatures
from dplit.streams import stream

N_SAMPLES, N_FEATURES, N_COMPONENTS = 50_000, 50, 2_000
GAMMA = 0.01
THREADS = 2
REPEATS = 5


def _seconds(transform: Any, X: NDArray[Any]) -> float:
    start = time.perf_counter()
    transform(X)
    return time.perf_counter() - start


def _pair(dtype: str, target: float) -> dict[str, Any]:
    X = stream(0, "bench-features", "data").standard_normal((N_SAMPLES, N_FEATURES)).astype(dtype)
    ours = RandomFourierFeatures(
        N_COMPONENTS, gamma=GAMMA, dtype=dtype, random_state=0, n_jobs=THREADS
    ).fit(X)
    peer = RBFSampler(gamma=GAMMA, n_components=N_COMPONENTS, random_state=0).fit(X)
    times = []
    with threadpool_limits(THREADS, user_api="blas"):
        for transform in (ours.transform, peer.transform):  # warm both, and the memory of 800 MB
            transform(X)
        for _ in range(REPEATS):
            times.append((_seconds(ours.transform, X), _seconds(peer.transform, X)))
    mine, theirs = np.array(times).T
    ratios = theirs / mine
    return {
        "name": f"feature map, {dtype} (n=50000, d=50, N=2000)",
        "ours": "RandomFourierFeatures(n_jobs=2)",
        "peer": "sklearn RBFSampler",
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float(ratios.min()),
        "ratio_max": float(ratios.max()),
        "target": target if HALF_TANGENT else 1.0,
    }


def run() -> list[dict[str, Any]]:
    """Return one row per precision; targets are 7 and 2.5 with AVX-512 and 1 without."""
    return [_pair("float64", 7.0), _pair("float32", 2.5)]
