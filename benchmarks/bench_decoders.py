"""Decoding sketches for k-means: many at once, against the plain SciPy decoder one at a time.

First the time per sketch at two sizes, one BLAS thread, clean sketches of 10,000 records; both
decoders get the same sketches, in turn, and each row says which share failed (RSSE above 1.05) and
the median RSSE. Then a million records end to end: sketch and decode, against scikit-learn's
``KMeans`` with 5 starts on all records. Times are medians over repetitions, the spread is the range
of the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit_studies.sketching.clompr_reference import lloyd_reference, reference_decode
from dplit_studies.sketching.mixture_laws import MixtureLaw

#: Law, frequencies, sketches in the batch, of which the plain decoder does some, and the target.
CASES = (
    (MixtureLaw(4, 8, separation=1.5, frequency_variance=1 / 8), 320, 99, 33, 20.0),
    (MixtureLaw(10, 10, separation=4.0, frequency_variance=0.06), 1000, 48, 16, 10.0),
)
REPEATS = 3
N_SAMPLES = 10_000
MANY = 1_000_000


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _quality(risks: NDArray[np.float64]) -> str:
    return f"failed {np.mean(risks > 1.05):.3f}, median {np.median(risks):.4f}"


def _decoding(
    law: MixtureLaw, m: int, count: int, plain_count: int, target: float
) -> dict[str, Any]:
    rng = stream(0, f"bench decoders {m}", "data")
    omega = law.frequencies(m, rng=stream(0, f"bench decoders {m}", "public"))
    sketch_map = SketchMap("fourier", omega)
    sets = [law.draw(N_SAMPLES, rng=rng) for _ in range(count)]
    z = np.array([sketch(X, sketch_map).mean for X, _ in sets])
    best = [lloyd_reference(X, law.n_clusters, rng=rng, centers=c).many for X, c in sets]
    options: dict[str, Any] = {"bounds": law.bounds, "rng": rng}
    pairs: list[tuple[float, float]] = []
    mine: list[float] = []
    theirs: list[float] = []
    for repeat in range(REPEATS):
        fast, batch = _seconds(lambda: decode_kmeans(z, omega, law.n_clusters, **options))
        rows = [(repeat * plain_count + i) % count for i in range(plain_count)]
        slow, plain = _seconds(
            lambda rows=rows: [  # type: ignore[misc]
                reference_decode(z[i], omega, law.n_clusters, **options) for i in rows
            ]
        )
        pairs.append((fast / count, slow / plain_count))
        mine += [sse(X, c) / b for (X, _), c, b in zip(sets, batch.centroids, best, strict=True)]
        theirs += [sse(sets[i][0], p.centroids) / best[i] for i, p in zip(rows, plain, strict=True)]
    ours, peer = np.array(pairs).T
    return {
        "name": f"decode (k, d, m) = ({law.n_clusters}, {law.n_features}, {m})",
        "ours": f"batch of {count}: {_quality(np.array(mine))}",
        "peer": f"SciPy: {_quality(np.array(theirs))}",
        "ours_seconds": float(np.median(ours)),
        "peer_seconds": float(np.median(peer)),
        "ratio": float(np.median(peer / ours)),
        "ratio_min": float(np.min(peer / ours)),
        "ratio_max": float(np.max(peer / ours)),
        "target": target,
    }


def _end_to_end() -> dict[str, Any]:
    law, m = CASES[0][0], CASES[0][1]
    data, public = (stream(0, "bench end to end", role) for role in ("data", "public"))
    X, _ = law.draw(MANY, rng=data)
    omega = law.frequencies(m, rng=public)

    def compressed() -> NDArray[np.float64]:
        mean = sketch(X, SketchMap("fourier", omega)).mean
        found = decode_kmeans(mean, omega, law.n_clusters, bounds=law.bounds, rng=public)
        return np.asarray(found.centroids)

    def lloyd() -> NDArray[np.float64]:
        return np.asarray(KMeans(law.n_clusters, n_init=5, random_state=0).fit(X).cluster_centers_)

    pairs = []
    for _ in range(REPEATS):
        fast, ours = _seconds(compressed)
        slow, peer = _seconds(lloyd)
        pairs.append((fast, slow))
    mine, theirs = np.array(pairs).T
    return {
        "name": f"k-means of n = {MANY:.0e} records, sketch of m = {m}",
        "ours": f"sketch and decode: RSSE {sse(X, ours) / sse(X, peer):.4f}",
        "peer": "KMeans(n_init=5)",
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs / mine)),
        "ratio_min": float(np.min(theirs / mine)),
        "ratio_max": float(np.max(theirs / mine)),
        "target": None,
    }


def run() -> list[dict[str, Any]]:
    """Return the three comparisons."""
    with threadpool_limits(1):
        return [_decoding(*case) for case in CASES] + [_end_to_end()]
