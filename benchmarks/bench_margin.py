"""Noisy gradient descent on a hinge loss, and the running times of Theorem 3.2 and Lemma 3.1.

A step of descent has to form all scores and one weighted sum of records, for every draw of the
noise. Its peer does these two products and nothing else; a ratio of 0.5 means that descent takes
twice as long. Algorithm 2 projects and then learns by Lemma 3.1, in time O(md log d) and that of
few dimensions; its peer learns by Lemma 3.1 in all d. The lemma's time, near linear in m, is told
by twice the time for m records over the time for 2m. The kernel classifier at its defaults descends
in several hundred accelerated steps; its peer makes the same map and a tenth of the 2000 plain
steps that were its default. Pairs are measured in turn in one run, with one BLAS thread; times are
medians of seven, the spread is the range of the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dplit.accounting import gdp_budget
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.boosting import boosted_descent
from dplit.margins.compressed import printed_dimension
from dplit.margins.feature_maps import _direct_features
from dplit.margins.kernel_estimators import PrivateKernelMarginClassifier
from dplit.margins.plans import plan_boosted, plan_descent, plan_learning
from dplit.papers.margin.compressed_learner import compressed_learner
from dplit.streams import stream

#: Records, dimension, draws.
SIZES = ((4_000, 50, 8), (4_000, 500, 8), (1_000, 5_000, 4))
STEPS = 50
REPEATS = 7
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SIZES_OF = {"margin": 0.3, "radius": 1.0, "data_norm": 1.0}


def _products(X: np.ndarray, draws: int) -> None:
    scores, sums = np.zeros((draws, len(X))), np.zeros((draws, X.shape[1]))
    for _ in range(STEPS):
        np.matmul(sums, X.T, out=scores)
        np.matmul(scores, X, out=sums)


def _records(m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    X = stream(0, "bench-margin", "data", d).standard_normal((m, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X[:, 0] > 0, 1.0, -1.0)


def _pair(
    ours: Callable[[], object], peer: Callable[[], object], told: dict[str, Any], scale: float = 1.0
) -> dict[str, Any]:
    """Measure two calls in turn; the ratio is ``scale`` times the peer's time over ours."""
    ours(), peer()  # warm both
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        peer()
        times.append((middle - start, scale * (time.perf_counter() - middle)))
    mine, theirs = np.array(times).T
    return {
        **told,
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float((theirs / mine).min()),
        "ratio_max": float((theirs / mine).max()),
    }


def _descent(m: int, d: int, draws: int) -> dict[str, Any]:
    X, y = _records(m, d)
    noise = stream(0, "bench-margin", "noise", d)

    def descent() -> None:
        plan = plan_descent(X.shape, Ball(0.3, 1.0, 1.0), mu=0.25, n_steps=STEPS)
        noisy_hinge_descent(X, y, plan, rng=noise, n_draws=draws)

    told = {
        "name": f"noisy descent (m={m}, d={d}, {draws} draws, {STEPS} steps)",
        "ours": "noisy_hinge_descent",
        "peer": "its matrix products alone",
        "target": 0.5,
    }
    return _pair(descent, lambda: _products(X, draws), told)


def _theorem32(m: int, d: int) -> dict[str, Any]:
    X, y = _records(m, d)
    public, noise = (stream(0, "bench-margin", purpose, d) for purpose in ("public", "noise"))
    k = printed_dimension(n_samples=m, **BUDGET, beta=0.05)
    ball = Ball(**SIZES_OF)
    told = {
        "name": f"Theorem 3.2, Algorithm 2 (m={m}, d={d}, k={k})",
        "ours": "compressed_learner",
        "peer": "Lemma 3.1 in d dimensions",
        "target": 1.0,
    }
    return _pair(
        lambda: compressed_learner(
            X,
            y,
            plan_learning((m, k), [ball.inflated(2.0)], **BUDGET, solver="phased"),
            data_norm=1.0,
            public_rng=public,
            rng=noise,
        ),
        lambda: boosted_descent(
            X, y, plan_boosted(X.shape, ball, **BUDGET, accounting="permutation"), rng=noise
        ),
        told,
    )


def _lemma31(m: int, k: int) -> dict[str, Any]:
    X, y = _records(2 * m, k)
    noise = stream(0, "bench-margin", "noise", k)
    told = {
        "name": f"Lemma 3.1, {2 * m} records (k={k})",
        "ours": "boosted_descent",
        "peer": f"twice its time for {m} records",
        "target": 0.8,
    }

    def learn(n: int) -> None:
        plan = plan_boosted((n, k), Ball(**SIZES_OF), **BUDGET)
        boosted_descent(X[:n], y[:n], plan, rng=noise)

    return _pair(lambda: learn(2 * m), lambda: learn(m), told, scale=2.0)


def _kernel(m: int, d: int) -> dict[str, Any]:
    X, y = _records(m, d)
    model = PrivateKernelMarginClassifier(classes=(-1, 1), random_state=0)
    mu = gdp_budget(epsilon=1.0, delta=1e-5)

    def plain() -> None:
        features = _direct_features(
            d, 100, gamma=2.0 / d, rng=stream(0, "bench-margin", "public", d), double=True
        )
        Z = features.transform(X)
        plan = plan_descent(Z.shape, Ball(1 / 32, 1.0, 1.0), mu=mu, n_steps=200)
        noisy_hinge_descent(Z, y, plan, rng=stream(0, "bench-margin", "noise", d))

    told = {
        "name": f"kernel classifier, default fit (m={m}, d={d})",
        "ours": "PrivateKernelMarginClassifier",
        "peer": "its map, and a tenth of the 2000 steps of plain descent",
        "target": 0.8,
    }
    return _pair(lambda: model.fit(X, y), plain, told)


def run() -> list[dict[str, Any]]:
    """Return one row per comparison; a target of 0.5 is twice the products' time."""
    with threadpool_limits(1):
        rows = [_descent(*size) for size in SIZES]
        return [*rows, _theorem32(1_000, 16_384), _lemma31(4_000, 50), _kernel(40_000, 26)]
