"""Exact noise on a grid against float noise of NumPy, and against the exact noise of OpenDP.

Draws at a standard deviation of a million grid steps (and of 2^40, where one draw in a thousand is
decided in whole numbers), all with the operating system's bits where the library can: NumPy draws
with its own generator. Each pair is measured interleaved in one run; OpenDP, which is slower, makes
fewer draws, and its time is scaled to ours. Times are medians of five, the spread is the range of
the five ratios. A ratio of 0.1 against NumPy says that ours takes ten times as long.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dplit.mechanisms._choices import largest
from dplit.mechanisms._exact import rounded_gamma_norm, rounded_laplace, rounded_normal
from dplit.mechanisms.noise import gamma_norm_noise
from dplit.mechanisms.selection import exponential_mechanism
from dplit.streams import stream

DRAWS, FEW = 500_000, 2_000
SIGMA = 1e6
DIMENSION = 5_000
SCORES = 100_000
REPEATS = 5


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _row(
    name: str,
    ours: tuple[str, Callable[[], Any]],
    peer: tuple[str, Callable[[], Any]],
    *,
    times: float = 1.0,
    target: float,
) -> dict[str, Any]:
    """Compare two calls, of which the peer's does a part of the work, one of ``times``."""
    ours[1](), peer[1]()  # tables, caches and libraries
    pairs = [(_seconds(ours[1]), times * _seconds(peer[1])) for _ in range(REPEATS)]
    mine, theirs = np.array(pairs).T
    return {
        "name": name,
        "ours": ours[0],
        "peer": peer[0],
        "ours_seconds": float(np.median(mine)),
        "peer_seconds": float(np.median(theirs)),
        "ratio": float(np.median(theirs) / np.median(mine)),
        "ratio_min": float((theirs / mine).min()),
        "ratio_max": float((theirs / mine).max()),
        "target": target,
    }


def _opendp(make: str, metric: str, scale: float) -> Callable[[], Any]:
    library = importlib.import_module("opendp.prelude")
    library.enable_features("contrib")
    domain = library.vector_domain(library.atom_domain(T=int), size=FEW)
    mechanism = getattr(library.m, make)(domain, getattr(library, metric)(T=float), scale=scale)
    zeros = [0] * FEW
    return lambda: mechanism(zeros)


def run() -> list[dict[str, Any]]:
    """Return the rows."""
    rng = stream(0, "bench-exact-noise", "noise")
    scores = stream(0, "bench-exact-noise", "data").normal(size=SCORES)
    normal = ("rounded_normal", lambda: rounded_normal(DRAWS, sigma=SIGMA))
    large = ("rounded_normal", lambda: rounded_normal(DRAWS, sigma=2.0**40))
    laplace = ("rounded_laplace", lambda: rounded_laplace(DRAWS, scale=SIGMA))
    vector = ("rounded_gamma_norm", lambda: rounded_gamma_norm(DIMENSION, scale=SIGMA))
    floats = ("NumPy, float noise", lambda: rng.normal(scale=SIGMA, size=DRAWS))
    name = f"{DRAWS} normal draws, sigma"
    return [
        _row(f"{name} 10^6 steps", normal, floats, target=0.05),
        _row(f"{name} 2^40 steps", large, floats, target=0.02),
        _row(
            f"{name} 10^6 steps",
            normal,
            ("OpenDP, make_gaussian", _opendp("make_gaussian", "l2_distance", SIGMA)),
            times=DRAWS / FEW,
            target=50.0,
        ),
        _row(
            f"{DRAWS} Laplace draws, scale 10^6 steps",
            laplace,
            ("NumPy, float noise", lambda: rng.laplace(scale=SIGMA, size=DRAWS)),
            target=0.05,
        ),
        _row(
            f"{DRAWS} Laplace draws, scale 10^6 steps",
            laplace,
            ("OpenDP, make_laplace", _opendp("make_laplace", "l1_distance", SIGMA)),
            times=DRAWS / FEW,
            target=20.0,
        ),
        _row(
            f"vector of density exp(-|z|), d={DIMENSION}",
            vector,
            ("gamma_norm_noise, floats", lambda: gamma_norm_noise(DIMENSION, rate=1.0, rng=rng)),
            target=0.02,
        ),
        _row(
            f"exponential mechanism, {SCORES} scores",
            ("choices.largest", lambda: largest([scores], scale=1.0, law="gumbel")),
            (
                "exponential_mechanism, floats",
                lambda: exponential_mechanism(scores, epsilon=2.0, sensitivity=1.0, rng=rng),
            ),
            target=0.05,
        ),
    ]
