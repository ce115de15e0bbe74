"""Exercises of the lesson on random projections: our functions, and the usual mistakes by name."""

from __future__ import annotations

import math

import numpy as np

from dplit._checks import Array
from dplit.notebook.exercises import Exercise


def _budget_and_ends(rng: np.random.Generator) -> tuple[float, float, float]:
    low = float(rng.uniform(-3, 3))
    return float(rng.uniform(0.1, 1.4)), low, low + float(rng.uniform(0.5, 3.0))


def _budget_and_rows(rng: np.random.Generator) -> tuple[float, int]:
    return float(rng.uniform(0.1, 1.4)), int(rng.integers(3, 200))


def _budget_and_copies(rng: np.random.Generator) -> tuple[float, int]:
    return float(rng.uniform(0.1, 1.4)), int(rng.integers(2, 9))


def _three_columns(rng: np.random.Generator) -> tuple[Array]:
    X = rng.uniform(-1, 1, (30, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    X[4] = *rng.uniform(0.3, 0.9, 2), 0.0
    return (rng.standard_normal((int(rng.integers(5, 40)), 30)) @ X,)


def _left(Z: Array) -> Array:
    return Z[:, 0] + Z[:, 1] - Z[:, 2]


def _related_columns(rng: np.random.Generator) -> tuple[Array]:
    """A sum of three others, pairs that look alike, one of them small, and columns of their own."""
    X = rng.uniform(-1, 1, (60, 8))
    total = X[:, :3].sum(axis=1) + 0.1 * rng.uniform(-1, 1, 60)
    like, small = X[:, 3] + 0.6 * X[:, 4], 0.02 * (X[:, 3] + 0.2 * X[:, 5])
    M = np.column_stack([X[:, :4], like, total, small, 0.01 * X[:, 6], X[:, 7]])
    return (M[:, rng.permutation(M.shape[1])],)


def _residuals(M: Array) -> Array:
    """Squares of each column that regression on all others leaves."""
    return np.asarray(1.0 / np.diag(np.linalg.inv(M.T @ M)))


def _noise(epsilon: float, low: float, high: float) -> float:
    return (high - low) / 2 / math.sqrt(4**epsilon - 1)


def _mixed_noise(epsilon: float, rows: int) -> float:
    return math.sqrt(rows / (4**epsilon - 1))


def _together(epsilon: float, k: int) -> float:
    return 0.5 * math.log2(1 + k * (4**epsilon - 1))


EXERCISES = {
    "projection-noise": Exercise(
        asks="Write a function of epsilon, low and high that returns the standard deviation.",
        right=_noise,
        arguments=_budget_and_ends,
        mistakes={
            "That is the noise of entries in [-1, 1]. Noise does not care where the middle is, "
            "but it has to grow with the width.": (
                lambda epsilon, low, high: 1 / math.sqrt(4**epsilon - 1)
            ),
            "Off by a factor 2: an entry is at most half the width away from the middle.": (
                lambda epsilon, low, high: (high - low) / math.sqrt(4**epsilon - 1)
            ),
            "This is the variance; take the root.": (
                lambda epsilon, low, high: ((high - low) / 2) ** 2 / (4**epsilon - 1)
            ),
            "You have natural logarithms in mind: a bit is a logarithm to the base 2, and "
            "2 ** (2 epsilon) = 4 ** epsilon.": (
                lambda epsilon, low, high: (high - low) / 2 / math.sqrt(math.exp(2 * epsilon) - 1)
            ),
            "The half in front of the logarithm is lost: 2 ** (2 epsilon), not 2 ** epsilon.": (
                lambda epsilon, low, high: (high - low) / 2 / math.sqrt(2**epsilon - 1)
            ),
        },
    ),
    "projection-rows": Exercise(
        asks="Write a function of epsilon and rows that returns the standard deviation.",
        right=_mixed_noise,
        arguments=_budget_and_rows,
        mistakes={
            "That is enough for one row. Alice stands in every row, with a fresh factor: by the "
            "proof n' rows take n' times the variance.": lambda epsilon, rows: (
                1 / math.sqrt(4**epsilon - 1)
            ),
            "This is the variance; take the root.": lambda epsilon, rows: rows / (4**epsilon - 1),
            "Each row needs the root of n' times the deviation, not n' times.": (
                lambda epsilon, rows: rows / math.sqrt(4**epsilon - 1)
            ),
            "You have shared the budget among the rows, which costs more than is needed: one "
            "Gaussian channel of n' rows has the power n' / sigma^2.": (
                lambda epsilon, rows: 1 / math.sqrt(4 ** (epsilon / rows) - 1)
            ),
            "You have natural logarithms in mind: a bit is a logarithm to the base 2.": (
                lambda epsilon, rows: math.sqrt(rows / (math.exp(2 * epsilon) - 1))
            ),
        },
    ),
    "projection-attack": Exercise(
        asks="Write a function of Z, an array (rows, 3), that returns the size of the sum.",
        right=lambda Z: np.sqrt(np.mean(_left(Z) ** 2)),
        arguments=_three_columns,
        mistakes={
            "Her factors have a mean of 0. Square first.": lambda Z: np.mean(_left(Z)),
            "This is the square of the sum; take the root.": (lambda Z: np.mean(_left(Z) ** 2)),
            "You have subtracted the mean, which is known to be 0: no need to estimate it.": (
                lambda Z: np.std(_left(Z))
            ),
            "You have subtracted the mean, which is known to be 0, and divided by one row less.": (
                lambda Z: np.std(_left(Z), ddof=1)
            ),
            "The mean size of a normal variable is not its deviation, but 0.8 of it.": (
                lambda Z: np.mean(np.abs(_left(Z)))
            ),
            "The more rows, the larger your answer: divide by their number.": (
                lambda Z: np.sqrt(np.sum(_left(Z) ** 2))
            ),
        },
    ),
    "projection-second": Exercise(
        asks="Write a function of epsilon and k that returns the bits of k releases together.",
        right=_together,
        arguments=_budget_and_copies,
        mistakes={
            "True, and more than is needed. All rows of all releases are one channel: add their "
            "powers, not their bits.": lambda epsilon, k: k * epsilon,
            "The first is not forgotten when the second comes: the powers add.": (
                lambda epsilon, k: epsilon
            ),
            "You have k in front of the logarithm's argument, with the 1: only the power "
            "4 ** epsilon - 1 is repeated.": lambda epsilon, k: 0.5 * math.log2(k * 4**epsilon),
            "Powers add, and a power is a square already: k, not its root.": (
                lambda epsilon, k: 0.5 * math.log2(1 + math.sqrt(k) * (4**epsilon - 1))
            ),
            "These are nats; divide by log(2).": (
                lambda epsilon, k: 0.5 * math.log(1 + k * (4**epsilon - 1))
            ),
        },
    ),
    "projection-predictable": Exercise(
        asks="Write a function of M, an array (people, columns), that returns a column's place.",
        right=lambda M: int(np.argmin(_residuals(M) / np.sum(M**2, axis=0))),
        arguments=_related_columns,
        mistakes={
            "That is the column with the least residual; a small column has one without being "
            "predicted. Divide by its own squares.": lambda M: int(np.argmin(_residuals(M))),
            "That is the column which the others predict worst.": (
                lambda M: int(np.argmax(_residuals(M) / np.sum(M**2, axis=0)))
            ),
            "That is the smallest column; nobody asked the others.": (
                lambda M: int(np.argmin(np.sum(M**2, axis=0)))
            ),
            "A pair of columns that look alike is not enough: let all others predict together.": (
                lambda M: int(np.argmax(np.max(np.abs(np.corrcoef(M.T) - np.eye(M.shape[1])), 0)))
            ),
            "Places are counted from 0.": (
                lambda M: int(np.argmin(_residuals(M) / np.sum(M**2, axis=0))) + 1
            ),
        },
    ),
}
