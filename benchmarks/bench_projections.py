"""The fast Johnson-Lindenstrauss map against the dense matrix of signs.

Both project the same records to the same dimension, the dense map by one matrix product, which BLAS
shares among as many threads as the environment allows. Each pair is measured interleaved in one
run; times are medians of five, the spread is the range of the five ratios.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dplit.features import hadamard_projection, sign_projection
from dplit.streams import stream

N_SAMPLES, N_FEATURES, N_COMPONENTS = 10_000, 4096, 2048
REPEATS = 5


def run() -> list[dict[str, Any]]:
    """Return one row; the target is 5."""
    rng = stream(0, "bench-projections", "public")
    X = stream(0, "bench-projections", "data").standard_normal((N_SAMPLES, N_FEATURES))
    fast = hadamard_projection(N_FEATURES, N_COMPONENTS, rng=rng)
    dense = sign_projection(N_FEATURES, N_COMPONENTS, rng=rng)
    fast.transform(X[:1000]), X[:1000] @ dense.T  # warm both
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        fast.transform(X)
        middle = time.perf_counter()
        X @ dense.T
        times.append((middle - start, time.perf_counter() - middle))
    mine, theirs = np.array(times).T
    return [
        {
            "name": f"random projection (n={N_SAMPLES}, d={N_FEATURES}, k={N_COMPONENTS})",
            "ours": "hadamard_projection",
            "peer": "sign_projection, one matrix product",
            "ours_seconds": float(np.median(mine)),
            "peer_seconds": float(np.median(theirs)),
            "ratio": float(np.median(theirs) / np.median(mine)),
            "ratio_min": float((theirs / mine).min()),
            "ratio_max": float((theirs / mine).max()),
            "target": 5.0,
        }
    ]
