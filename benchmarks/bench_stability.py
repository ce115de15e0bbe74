"""Neighbours of a kernel ridge fit against refitting them; the hinge fit against two other ways.

Refitting is the plain way: one positive definite solve for each neighbour. It is timed on a few
neighbours and scaled up. The hinge loss is fitted on 80 features by interior points; the peers are
the same fit through the Gram matrix and liblinear's dual coordinate descent, all without intercept.
Pairs are measured interleaved in one run; times are medians, the spread is the range of the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from sklearn.svm import LinearSVC

from dplit.papers.erm.kernels import gaussian_gram, trigonometric_features
from dplit.papers.erm.leave_one_out import RidgeNeighbours
from dplit.papers.erm.minimisers import fit_kernel, fit_linear
from dplit.streams import stream

N_RECORDS, N_CANDIDATES, REFITS = 2_000, 200, 3
REPEATS = 3
LAMBDA = 0.1

_Array = NDArray[np.float64]


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _row(
    name: str,
    ours: tuple[str, Callable[[], Any]],
    peer: tuple[str, Callable[[], Any]],
    *,
    scale: float = 1.0,
    target: float | None = None,
) -> dict[str, Any]:
    times = np.array([(_seconds(ours[1]), scale * _seconds(peer[1])) for _ in range(REPEATS)])
    ratios = times[:, 1] / times[:, 0]
    mine, theirs = np.median(times, axis=0)
    return {
        "name": name,
        "ours": ours[0],
        "peer": peer[0],
        "ours_seconds": float(mine),
        "peer_seconds": float(theirs),
        "ratio": float(theirs / mine),
        "ratio_min": float(ratios.min()),
        "ratio_max": float(ratios.max()),
        "target": target,
    }


def _neighbours() -> dict[str, Any]:
    rng = stream(0, "bench-stability", "data")
    points = rng.uniform(-1.0, 1.0, (N_RECORDS + N_CANDIDATES, 2))
    labels = rng.uniform(-1.0, 1.0, N_RECORDS + N_CANDIDATES)
    K = gaussian_gram(points, points, width=0.5)
    base, cross = K[:N_RECORDS, :N_RECORDS], K[:N_RECORDS, N_RECORDS:]
    y, new = labels[:N_RECORDS], labels[N_RECORDS:]

    def ours() -> _Array:
        near = RidgeNeighbours(base, y, regularization=LAMBDA)
        return near.replacement_distances(cross, np.ones(N_CANDIDATES), new)

    def refit() -> list[float]:
        shift = LAMBDA * N_RECORDS * np.eye(N_RECORDS)
        first = solve(base + shift, y, assume_a="pos")
        distances = []
        for j in range(REFITS):  # record j gives way to candidate j
            index = np.arange(N_RECORDS)
            index[j] = N_RECORDS + j
            c = solve(K[np.ix_(index, index)] + shift, labels[index], assume_a="pos")
            d = np.zeros(len(labels))
            d[:N_RECORDS] = -first
            d[index] += c
            distances.append(float(np.sqrt(d @ K @ d)))
        return distances

    return _row(
        f"{N_CANDIDATES} neighbours of a kernel ridge fit, m={N_RECORDS}",
        ("RidgeNeighbours, all pairs", ours),
        (f"refit each ({REFITS} timed)", refit),
        scale=N_CANDIDATES / REFITS,
        target=50.0,
    )


def _hinge(m: int, peer: str) -> dict[str, Any]:
    rng = stream(0, "bench-stability", "data", m)
    x = rng.uniform(size=m)
    phi = trigonometric_features(x)
    y = np.where(np.sin(2 * np.pi * x) > 0, 1.0, -1.0) * np.where(rng.uniform(size=m) < 0.9, 1, -1)
    lam = m**-0.5
    machine = LinearSVC(
        C=1 / (2 * lam * m), loss="hinge", fit_intercept=False, tol=1e-5, max_iter=10**6
    )
    peers: dict[str, Callable[[], Any]] = {
        "fit_kernel on the Gram matrix": lambda: fit_kernel(
            phi @ phi.T, y, loss="hinge", regularization=lam
        ),
        "LinearSVC, tol 1e-5": lambda: machine.fit(phi, y),
    }
    return _row(
        f"hinge fit on 80 features, m={m}",
        ("fit_linear", lambda: fit_linear(phi, y, loss="hinge", regularization=lam)),
        (peer, peers[peer]),
    )


def run() -> list[dict[str, Any]]:
    """Return one row per comparison: names, median seconds, ratio peer / ours with its spread."""
    return [
        _neighbours(),
        _hinge(2_048, "fit_kernel on the Gram matrix"),
        _hinge(16_384, "LinearSVC, tol 1e-5"),
    ]
