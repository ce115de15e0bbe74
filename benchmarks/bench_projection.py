"""One draw of a private fit: by the exact law, and by forming the projection or the noise.

n = 10,000 rows, d = 800 columns, n' = 5,000 projected rows, one BLAS thread. Ours starts from the
eigendecomposition of the Gram matrix, made once per data set (its time is the third row, without a
target). The peers multiply, and solve their normal equations by Cholesky. Pairs are measured in
turn; times are medians, the spread is the range of the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from dplit.entries.privacy import additive_sigma, fixed_variance
from dplit.papers.projection.samplers import additive_draws, projection_draws
from dplit.papers.projection.spectrum import Spectrum, spectrum
from dplit.streams import stream

N_SAMPLES, N_FEATURES, N_COMPONENTS = 10_000, 800, 5_000
EPSILON = 0.5
REPEATS = 3
DRAWS = 50  # draws per timing of ours, which is too fast for one

_Array = NDArray[np.float64]


def _fit(released: _Array, response: _Array) -> _Array:
    factor = cho_factor(released.T @ released, check_finite=False)
    return np.asarray(cho_solve(factor, released.T @ response, check_finite=False))


def _naive_projection(X: _Array, y: _Array, rng: np.random.Generator) -> _Array:
    S = rng.standard_normal((N_COMPONENTS, len(X)))
    root = np.sqrt(fixed_variance(epsilon=EPSILON, n_components=N_COMPONENTS))
    return _fit(S @ X + root * rng.standard_normal((N_COMPONENTS, X.shape[1])), S @ y)


def _naive_additive(X: _Array, y: _Array, rng: np.random.Generator) -> _Array:
    return _fit(X + additive_sigma(epsilon=EPSILON) * rng.standard_normal(X.shape), y)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _row(
    name: str,
    ours: str,
    fast: Callable[[], object],
    slow: Callable[[], object],
    count: int,
    target: float | None,
) -> dict[str, Any]:
    fast(), slow()  # warm both
    pairs = [(_seconds(fast) / count, _seconds(slow)) for _ in range(REPEATS)]
    mine, theirs = np.array(pairs).T
    row = {
        "name": f"{name} (n=10000, d=800)",
        "ours": ours,
        "peer": "the mechanism, Cholesky",
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float((theirs / mine).min()),
        "ratio_max": float((theirs / mine).max()),
    }
    return row if target is None else {**row, "target": target}


def run() -> list[dict[str, Any]]:
    """Return one row per mechanism after set-up, and the set-up beside one naive projection."""
    data, rng = stream(0, "bench-projection", "data"), stream(0, "bench-projection", "noise")
    X = data.uniform(-1.0, 1.0, (N_SAMPLES, N_FEATURES))
    y = X @ data.standard_normal(N_FEATURES) + data.standard_normal(N_SAMPLES)
    lam = fixed_variance(epsilon=EPSILON, n_components=N_COMPONENTS)
    sigma = additive_sigma(epsilon=EPSILON)
    with threadpool_limits(1, user_api="blas"):
        problem: Spectrum = spectrum(X, y)

        def project() -> object:
            return projection_draws(
                problem, penalty=lam, n_components=N_COMPONENTS, size=DRAWS, rng=rng
            )

        def perturb() -> object:
            return additive_draws(problem, sigma=sigma, n_samples=N_SAMPLES, size=1, rng=rng)

        long_way = (lambda: _naive_projection(X, y, rng)), (lambda: _naive_additive(X, y, rng))
        return [
            _row("projection draw", "projection_draws", project, long_way[0], DRAWS, 1000.0),
            _row("additive-noise draw", "additive_draws", perturb, long_way[1], 1, 4.0),
            _row("projection set-up", "spectrum", lambda: spectrum(X, y), long_way[0], 1, None),
        ]
