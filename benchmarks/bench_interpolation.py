"""The min-norm solve by Gram and Cholesky against ``pinv`` and ``lstsq``; times for Table 1.

Peers are called as their documentation does. Pairs are measured interleaved in one run; times are
medians of five, the spread is the range of the five ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from dplit.features import phased_cosine_features, random_frequencies
from dplit.papers.random_features.interpolation import gram_matrix, kaczmarz, min_norm_fit
from dplit.streams import stream

N_RECORDS, N_FEATURES, GAMMA = 1_000, 5, 800.0  # the published code's standard deviation 40
REPEATS = 5
TABLE1_SIZES = (2_000, 4_000, 6_000, 8_000, 10_000)

_Array = NDArray[np.float64]


def problem(n_records: int, n_components: int) -> tuple[_Array, _Array]:
    """Return the feature matrix and labels of Figure 1 at the given sizes."""
    X = stream(0, "bench-interpolation", "data").standard_normal((n_records, N_FEATURES))
    public = stream(0, "bench-interpolation", "public")
    frequencies = random_frequencies(N_FEATURES, n_components, gamma=GAMMA, rng=public)
    phases = public.uniform(0.0, 2.0 * np.pi, n_components)
    y = np.sqrt(1.0 + np.linalg.norm(X, axis=1))
    return phased_cosine_features(X, frequencies, phases), y / np.linalg.norm(y)


def naive_kaczmarz(A: _Array, y: _Array, rows: NDArray[np.intp]) -> _Array:
    """Return the Kaczmarz iterate, one N-vector update per step."""
    c = np.zeros(A.shape[1])
    for j in rows:
        row = A[j]
        c += ((y[j] - row @ c) / (row @ row)) * row
    return c


def _gram_kaczmarz(A: _Array, y: _Array, rows: NDArray[np.intp]) -> _Array:
    return kaczmarz(gram_matrix(A), y, rows) @ A


def _pinv(A: _Array, y: _Array) -> _Array:
    return np.linalg.pinv(A) @ y


def _lstsq(A: _Array, y: _Array) -> _Array:
    return np.asarray(lstsq(A, y, lapack_driver="gelsy")[0])


def _seconds(solve: Callable[[], Any]) -> float:
    start = time.perf_counter()
    solve()
    return time.perf_counter() - start


def _pair(
    name: str, peer: Callable[[_Array, _Array], _Array], target: float, sizes: tuple[int, int]
) -> dict[str, Any]:
    A, y = problem(*sizes)
    times = np.array(
        [
            (_seconds(lambda: min_norm_fit(A, y)), _seconds(lambda: peer(A, y)))
            for _ in range(REPEATS)
        ]
    )
    ratios = times[:, 1] / times[:, 0]
    ours, theirs = np.median(times, axis=0)
    return {
        "name": f"min-norm solve (m={sizes[0]}, N={sizes[1]}) against {name}",
        "ours": "min_norm_fit (Gram, Cholesky)",
        "peer": name,
        "ours_seconds": float(ours),
        "peer_seconds": float(theirs),
        "ratio": float(theirs / ours),
        "ratio_min": float(ratios.min()),
        "ratio_max": float(ratios.max()),
        "target": target,
    }


def run(n_records: int = N_RECORDS, n_components: int = 10_000) -> list[dict[str, Any]]:
    """Return one row per peer; targets are 8 against ``pinv`` and 3 against ``lstsq``."""
    sizes = (n_records, n_components)
    return [
        _pair("np.linalg.pinv(A) @ y", _pinv, 8.0, sizes),
        _pair('scipy.linalg.lstsq(A, y, lapack_driver="gelsy")', _lstsq, 3.0, sizes),
    ]


def table1_times(
    sizes: tuple[int, ...] = TABLE1_SIZES, n_records: int = N_RECORDS, repeats: int = 3
) -> list[dict[str, Any]]:
    """Return seconds and relative error to the min-norm solution of every method of Table 1.

    One dictionary per N and method: ``n_components``, ``method``, ``seconds`` (median), ``error``.
    Kaczmarz runs m steps (the published code) and 50 m steps (near convergence).
    """
    records = []
    for n_components in sizes:
        A, y = problem(n_records, n_components)
        rows = stream(0, "bench-interpolation-rows", "public").integers(
            n_records, size=50 * n_records
        )
        few = rows[:n_records]
        methods: dict[str, Callable[[], _Array]] = {
            "cholesky": lambda A=A, y=y: min_norm_fit(A, y),
            "pinv": lambda A=A, y=y: _pinv(A, y),
            "lstsq": lambda A=A, y=y: _lstsq(A, y),
            "kaczmarz m": lambda A=A, y=y, few=few: naive_kaczmarz(A, y, few),
            "kaczmarz 50m": lambda A=A, y=y, rows=rows: naive_kaczmarz(A, y, rows),
            "gram kaczmarz m": lambda A=A, y=y, few=few: _gram_kaczmarz(A, y, few),
        }
        exact = min_norm_fit(A, y)
        scale = np.linalg.norm(exact)
        times: dict[str, list[float]] = {method: [] for method in methods}
        for _ in range(repeats):
            for method, solve in methods.items():
                times[method].append(_seconds(solve))
        records += [
            {
                "n_components": n_components,
                "method": method,
                "seconds": float(np.median(times[method])),
                "error": float(np.linalg.norm(solve() - exact) / scale),
            }
            for method, solve in methods.items()
        ]
    return records
