"""A private ridge fit on waves against the matrix products that it cannot do without.

The products are records by frequencies, and features by themselves and by labels, in blocks of one
size. What a fit adds is the cosines and sines, angles that do not depend on a record's place, the
checks of the records and the noise. In seconds of the processor on one thread of BLAS, interleaved,
medians of five: at most five times the products. ``python -m benchmarks.bench_waves`` prints by how
much a fit raises the peak memory of its process too, for two numbers of records.
"""

from __future__ import annotations

import multiprocessing
import resource
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import row, table
from dplit import PrivateRandomFeatureRegressor
from dplit.features import random_frequencies
from dplit.streams import stream

N_SAMPLES, N_COLUMNS, N_COMPONENTS, BLOCK = 200_000, 20, 200, 2048
REPEATS = 5
MODEL = PrivateRandomFeatureRegressor(
    n_components=N_COMPONENTS, box=(-1.0, 1.0), bounds=(-1.0, 1.0)
)


def records(n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records in the box and labels."""
    X = stream(0, "bench-waves", "data").uniform(-1.0, 1.0, (n_samples, N_COLUMNS))
    return X, np.tanh(X.sum(axis=1))


def products(X: np.ndarray, y: np.ndarray, omega: np.ndarray, rows: np.ndarray) -> None:
    """Multiply as a fit does, with rows that cost nothing."""
    for start in range(0, len(X), BLOCK):
        piece = slice(start, min(start + BLOCK, len(X)))
        A = rows[: piece.stop - piece.start]
        X[piece] @ omega, A.T @ A, A.T @ y[piece]


def run() -> list[dict[str, object]]:
    """Return one row; the target is a fifth."""
    X, y = records(N_SAMPLES)
    public = stream(0, "bench-waves", "public")
    omega = random_frequencies(N_COLUMNS, N_COMPONENTS, gamma=0.2, rng=public)
    rows = public.standard_normal((BLOCK, 2 * N_COMPONENTS))
    times = []
    with threadpool_limits(1):
        MODEL.fit(X[:3000], y[:3000])
        for _ in range(REPEATS):
            start = time.process_time()
            MODEL.fit(X, y)
            middle = time.process_time()
            products(X, y, omega, rows)
            times.append((middle - start, time.process_time() - middle))
    ours, theirs = np.array(times).T
    return [
        {
            "name": f"ridge on waves (n={N_SAMPLES}, d={N_COLUMNS}, features={2 * N_COMPONENTS})",
            "ours": "PrivateRandomFeatureRegressor.fit",
            "peer": "its matrix products alone",
            "ours_seconds": float(np.median(ours)),
            "peer_seconds": float(np.median(theirs)),
            "ratio": float(np.median(theirs) / np.median(ours)),
            "ratio_min": float((theirs / ours).min()),
            "ratio_max": float((theirs / ours).max()),
            "target": 0.2,
        }
    ]


def raised(n_samples: int) -> float:
    """Megabytes by which a fit raises the peak memory of this process."""
    X, y = records(n_samples)
    MODEL.fit(X[:3000], y[:3000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    MODEL.fit(X, y)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024.0


if __name__ == "__main__":
    print(table([row(result) for result in run()]))
    for count in (N_SAMPLES, 5 * N_SAMPLES):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(f"{count} records: {pool.apply(raised, (count,)):.0f} MB above its data")
