"""The map behind :func:`dplit.advice.kernels.recommend`: who learns what, at one budget.

Columns are uniform on [-1, 1]. Labels are a target of deviation 0.4 and noise of 0.2, both times
``fill``, clipped to the bounds (-1, 1). Errors are of predictions against the target, over its
variance: a constant has 1. All learners meet the same records, and waves the same frequencies.
What adds Gaussian noise to a solution is exact over that noise; descents, statistics and additive
models are drawn.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dplit._checks import Array

#: Axes of the map.
NS, DS, EPSILONS, DELTA = (300, 3000, 30_000), (2, 5, 20), (0.1, 1.0, 10.0), 1e-5

SHAPES = ("smooth", "bends", "rough")

#: Pairs of a cosine and a sine, and the kernel's gamma times the number of columns.
WAVES = ((40, 1.0), (40, 4.0), (40, 16.0), (10, 4.0), (160, 4.0))

#: Learners on waves. "ridge" has its own penalty; those with a star the best one in hindsight:
#: ridge; ridge whose residuals are clipped to 1; that with a penalty shaped by the expected Gram
#: matrix; objective perturbation of such a loss. (The noise of ridge does not depend on the number
#: of waves: a Gaussian process with the kernel is its limit.)
ON_WAVES = ("ridge", "ridge*", "clipped*", "shaped*", "objective*", "statistics", "gradients")

ON_COLUMNS = ("line, gradients", "line, statistics", "additive")

METHODS = (*(f"{name} {count} {g:g}" for count, g in WAVES for name in ON_WAVES), *ON_COLUMNS)

#: Trials by number of records.
TRIALS = {300: 4, 3000: 2, 30_000: 2, 200_000: 1}


class Law(NamedTuple):
    """Where a trial is held: records, columns, target, and the part of the bounds labels fill."""

    n: int
    d: int
    shape: str
    fill: float = 1.0


#: Beside the grid: labels that fill a tenth of their bounds, many columns, many records.
CORNERS = (
    *(Law(n, d, s, 0.1) for n in (300, 3000) for d in (2, 20) for s in SHAPES),
    *(Law(3000, 80, s) for s in SHAPES),
    Law(200_000, 2, "rough"),
    Law(200_000, 20, "smooth"),
)


def target(shape: str, X: Array, rng: np.random.Generator) -> Array:
    """A target of deviation near 0.4: a sigmoid of one direction, a bend for each column, or waves
    that a pair of columns makes together, with periods of 1.6.
    """
    d = X.shape[1]
    if shape == "smooth":
        u = rng.standard_normal(d)
        t = X @ (u * math.sqrt(3.0) / np.linalg.norm(u))
        return np.asarray(0.4 * np.tanh(1.5 * t) / 0.73)
    if shape == "bends":
        signs = rng.choice([-1.0, 1.0], d) / math.sqrt(d)
        return np.asarray(0.4 * math.sqrt(2.0) * np.cos(math.pi * X) @ signs)
    return np.asarray(0.8 * np.sin(4.0 * X[:, 0]) * np.sin(4.0 * X[:, 1] + 1.0))


def draw(law: Law, rng: np.random.Generator, n_test: int = 2000) -> tuple[Array, ...]:
    """Records, labels, and records for tests with their target."""
    X = rng.uniform(-1.0, 1.0, (law.n + n_test, law.d))
    truth = law.fill * target(law.shape, X, rng)
    y = np.clip(truth[: law.n] + 0.2 * law.fill * rng.standard_normal(law.n), -1.0, 1.0)
    return X[: law.n], y, X[law.n :], truth[law.n :]
