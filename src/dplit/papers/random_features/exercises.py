"""Exercises of the lesson on random features: our functions, and the usual mistakes by name."""

from __future__ import annotations

import numpy as np

from dplit.notebook.exercises import Exercise


def _pair(rng: np.random.Generator) -> tuple[float, float, float]:
    k, first, second = rng.uniform(0.1, 0.95), rng.uniform(0.2, 1), rng.uniform(-1, -0.2)
    return float(k), float(first), float(second)


def _labels(rng: np.random.Generator) -> tuple[float, float, float]:
    low = float(rng.uniform(-3, 3))
    return low, low + float(rng.uniform(0.5, 5)), float(rng.uniform(0.05, 1.5))


def _ridge(rng: np.random.Generator) -> tuple[int, float, float]:
    return int(rng.integers(2, 500)), float(rng.uniform(1, 80)), float(rng.uniform(0.3, 3))


def _length(k: float, y1: float, y2: float) -> float:
    return float(np.sqrt((y1**2 - 2 * k * y1 * y2 + y2**2) / (1 - k**2)))


def _move(k: float, y1: float, y2: float) -> float:
    return float(abs(y2 - k * y1) / np.sqrt(1 - k**2))


def _floor(low: float, high: float, mu: float) -> float:
    return (high - low) / mu


def _bound(m: int, lam: float, b: float) -> float:
    return float(2 * b / (1 + lam) * (1 + np.sqrt(m - 1) / (2 * np.sqrt(lam))))


EXERCISES = {
    "random_features-length": Exercise(
        asks="Write a function of k, y1 and y2 that returns the length of the shortest fit.",
        right=_length,
        arguments=_pair,
        mistakes={
            "That is the squared length.": lambda k, y1, y2: _length(k, y1, y2) ** 2,
            "That is the length if the rows were orthogonal; k says that they are not.": (
                lambda k, y1, y2: np.hypot(y1, y2)
            ),
            "Labels of one sign are the easy case for close rows: the mixed term has a minus.": (
                lambda k, y1, y2: np.sqrt((y1**2 + 2 * k * y1 * y2 + y2**2) / (1 - k**2))
            ),
            "You took the length of alpha; the rows that it combines are not orthogonal.": (
                lambda k, y1, y2: np.hypot(y1 - k * y2, y2 - k * y1) / (1 - k**2)
            ),
        },
    ),
    "random_features-move": Exercise(
        asks="Write a function of k, y1 and y2 that returns the distance of the two fits.",
        right=_move,
        arguments=_pair,
        mistakes={
            "That is the difference of two lengths; take the length of the difference.": (
                lambda k, y1, y2: abs(_length(k, y1, y2) - abs(y1))
            ),
            "You removed the first one.": lambda k, y1, y2: _move(k, y2, y1),
            "What the first one already predicts for the second is k y1; only the rest moves.": (
                lambda k, y1, y2: abs(y2) / np.sqrt(1 - k**2)
            ),
            "The new direction is what is orthogonal to the first row; its length is the root of "
            "1 - k^2.": lambda k, y1, y2: abs(y2 - k * y1),
        },
    ),
    "random_features-floor": Exercise(
        asks="Write a function of low, high and mu that returns a standard deviation.",
        right=_floor,
        arguments=_labels,
        mistakes={
            "That is the variance.": lambda low, high, mu: ((high - low) / mu) ** 2,
            "A label moves from one end to the other: the whole range, not half of it.": (
                lambda low, high, mu: (high - low) / (2 * mu)
            ),
            "Farther apart is less private, so mu belongs below the line.": (
                lambda low, high, mu: (high - low) * mu
            ),
            "It is not the size of labels that counts, but how far one can move.": (
                lambda low, high, mu: 2 * max(abs(low), abs(high)) / mu
            ),
        },
    ),
    "random_features-ridge": Exercise(
        asks="Write a function of m, lam and b that returns the bound which line (d) gives.",
        right=_bound,
        arguments=_ridge,
        mistakes={
            "That is a record which is removed; a replaced one goes and another comes.": (
                lambda m, lam, b: _bound(m, lam, b) / 2
            ),
            "The fit without the record has m - 1 labels.": (
                lambda m, lam, b: 2 * b / (1 + lam) * (1 + np.sqrt(m) / (2 * np.sqrt(lam)))
            ),
            "s / (s^2 + lam) is largest at s = root lam, where it is one over twice the root.": (
                lambda m, lam, b: 2 * b / (1 + lam) * (1 + np.sqrt(m - 1) / np.sqrt(lam))
            ),
            "The record itself holds the fit as well: 1 + lam, not lam.": (
                lambda m, lam, b: 2 * b / lam * (1 + np.sqrt(m - 1) / (2 * np.sqrt(lam)))
            ),
        },
    ),
}
