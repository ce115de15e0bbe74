"""Noisy gradient descent on a hinge loss against its own matrix products.

A step has to form all scores and one weighted sum of records, for every draw of the noise. The peer
does these two products and nothing else. Pairs are measured in turn in one run, with one BLAS
thread; times are medians of seven, the spread is the range of the ratios. A ratio of 0.5 means that
descent takes twice as long as its products.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dplit.margin.descent import noisy_hinge_descent
from dplit.streams import stream

#: Records, dimension, draws.
SIZES = ((4_000, 50, 8), (4_000, 500, 8), (1_000, 5_000, 4))
STEPS = 50
REPEATS = 7


def _products(X: np.ndarray, draws: int) -> None:
    scores, sums = np.zeros((draws, len(X))), np.zeros((draws, X.shape[1]))
    for _ in range(STEPS):
        np.matmul(sums, X.T, out=scores)
        np.matmul(scores, X, out=sums)


def _row(m: int, d: int, draws: int) -> dict[str, Any]:
    rng = stream(0, "bench-margin", "data", d)
    X = rng.standard_normal((m, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    noise = stream(0, "bench-margin", "noise", d)

    def descent() -> None:
        noisy_hinge_descent(
            X, y, margin=0.3, radius=1.0, data_norm=1.0, mu=0.25, n_steps=STEPS, rng=noise,
            n_draws=draws,
        )  # fmt: skip

    descent(), _products(X, draws)  # warm both
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        descent()
        middle = time.perf_counter()
        _products(X, draws)
        times.append((middle - start, time.perf_counter() - middle))
    mine, theirs = np.array(times).T
    return {
        "name": f"noisy descent (m={m}, d={d}, {draws} draws, {STEPS} steps)",
        "ours": "noisy_hinge_descent",
        "peer": "its matrix products alone",
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float((theirs / mine).min()),
        "ratio_max": float((theirs / mine).max()),
        "target": 0.5,
    }


def run() -> list[dict[str, Any]]:
    """Return one row per size; the target is 0.5: at most twice the products."""
    with threadpool_limits(1):
        return [_row(*size) for size in SIZES]
