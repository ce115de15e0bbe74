"""Exercises of the lesson on mechanisms for tables: our functions, and the usual mistakes."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from dplit._checks import Array
from dplit.notebook.exercises import Exercise


def _place(rng: np.random.Generator) -> tuple[float, float, float, int, int]:
    low = float(rng.uniform(-5, 5))
    high, k = low + float(rng.uniform(1, 10)), int(rng.integers(3, 6))
    return float(rng.uniform(low, high)), low, high, k, int(rng.integers(k))


def _columns(rng: np.random.Generator) -> tuple[int, float]:
    return int(rng.integers(2, 40)), float(rng.uniform(1.1, 3.0))


def _points(rng: np.random.Generator) -> tuple[Array, float]:
    return rng.uniform(0, 6, int(rng.integers(2, 6))), float(rng.uniform(0.3, 2.0))


def _table(rng: np.random.Generator) -> tuple[float, int, float]:
    return float(rng.uniform(5, 30)), int(rng.integers(200, 3000)), float(rng.uniform(4, 10))


def _hat(x: float, low: float, high: float, k: int, j: int) -> float:
    return max(0.0, 1.0 - abs((k - 1) * (x - low) / (high - low) - j))


def _most(d: int, clip: float) -> float:
    return float(2.0 * clip * np.sqrt(d))


def _lot(q: Array, epsilon: float) -> float:
    return float(softmax(epsilon * q / 2.0)[0])


def _least(error: Array) -> int:
    return int(2 + np.argmin(error))


_HATS = np.arange(2.0, 41.0)


def _best(M: float, n: int, s: float) -> int:
    return _least(M / 8.0 / (_HATS - 1.0) ** 2 + s * _HATS / n)


EXERCISES = {
    "face_off-hats": Exercise(
        asks="Write a function of x, low, high, k and j that returns the height of hat j at x.",
        right=_hat,
        arguments=_place,
        mistakes={
            "From low to high there are k knots, but k - 1 steps between them.": (
                lambda x, low, high, k, j: max(0.0, 1.0 - abs(k * (x - low) / (high - low) - j))
            ),
            "Between two knots a number has a part of two hats; you gave it to the nearest one.": (
                lambda x, low, high, k, j: float(round((k - 1) * (x - low) / (high - low)) == j)
            ),
            "A hat is 0 beyond the next knots, not negative.": (
                lambda x, low, high, k, j: 1.0 - abs((k - 1) * (x - low) / (high - low) - j)
            ),
            "Where is low? The first knot stands there, not at zero.": (
                lambda x, low, high, k, j: max(0.0, 1.0 - abs((k - 1) * x / (high - low) - j))
            ),
        },
    ),
    "face_off-sensitivity": Exercise(
        asks="Write a function of d and clip that returns the largest change of the sum.",
        right=_most,
        arguments=_columns,
        mistakes={
            "That is how long one contribution can be. The old one goes and a new one comes.": (
                lambda d, clip: clip * np.sqrt(d)
            ),
            "Lengths are roots of sums of squares: d columns make it sqrt(d) times as long.": (
                lambda d, clip: 2 * clip * d
            ),
            "That is for rows that were divided by the root of d; these were not.": (
                lambda d, clip: 2 * clip
            ),
            "Slacks reach from -clip to clip, so clip enters, too.": lambda d, clip: 2 * np.sqrt(d),
        },
    ),
    "face_off-lot": Exercise(
        asks="Write a function of q and epsilon that returns the probability of the first name.",
        right=_lot,
        arguments=_points,
        mistakes={
            "One record may raise a name's points and lower all others', so that its odds move "
            "twice: halve epsilon.": lambda q, epsilon: softmax(epsilon * q)[0],
            "This is a weight; a probability is a weight over the sum of all.": (
                lambda q, epsilon: np.exp(epsilon * q[0] / 2)
            ),
            "More points are better, so that the exponent has a plus.": (
                lambda q, epsilon: softmax(-epsilon * q / 2)[0]
            ),
            "Is that a power of two? The lot has powers of e.": (
                lambda q, epsilon: softmax(epsilon * q * np.log(2) / 2)[0]
            ),
        },
    ),
    "face_off-knots": Exercise(
        asks="Write a function of M, n and s that returns the number of hats.",
        right=_best,
        arguments=_table,
        mistakes={
            "K hats have K - 1 gaps between them, and the gap is what enters the bound.": (
                lambda M, n, s: _least(M / 8 / _HATS**2 + s * _HATS / n)
            ),
            "A gap enters squared: twice as many leave a quarter.": (
                lambda M, n, s: _least(M / 8 / (_HATS - 1) + s * _HATS / n)
            ),
            "That many hats leave the least of the first term alone; noise has a price.": (
                lambda M, n, s: 40
            ),
            "That is least for the root of the sum of squares; here the two are added.": (
                lambda M, n, s: _least(np.hypot(M / 8 / (_HATS - 1) ** 2, s * _HATS / n))
            ),
        },
    ),
}
