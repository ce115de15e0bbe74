"""Exercises of the lesson on privacy: our functions, and the usual mistakes by name."""

from __future__ import annotations

import numpy as np

from dplit.notebook.exercises import Exercise


def _heads(rng: np.random.Generator) -> tuple[float]:
    return (float(rng.uniform(0.1, 0.9)),)


def _interval(rng: np.random.Generator) -> tuple[float, float, int]:
    low = float(rng.uniform(-5, 5))
    return low, low + float(rng.uniform(1.2, 10)), int(rng.integers(3, 100))


def _wanted(rng: np.random.Generator) -> tuple[float, float, float]:
    return float(rng.uniform(5, 50)), float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.01, 0.1))


def _family(rng: np.random.Generator) -> tuple[float, float, int]:
    return float(rng.uniform(0.1, 2)), float(10 ** rng.uniform(-9, -5)), int(rng.integers(3, 8))


def _coin(q: float) -> float:
    return float(np.log((1 + q) / (1 - q)))


def _variance(low: float, high: float, n: int) -> float:
    return (high - low) ** 2 * (n - 1) / n**2


def _households(clip: float, epsilon: float, error: float) -> float:
    return float(np.ceil(np.sqrt(2) * clip / (epsilon * error)))


def _delta(epsilon: float, delta: float, k: int) -> float:
    return float(delta / np.sum(np.exp(epsilon / k * np.arange(k))))


EXERCISES = {
    "basics-coin": Exercise(
        asks="Write a function of q that returns the budget of the coin.",
        right=_coin,
        arguments=_heads,
        mistakes={
            "This is the factor; the budget is its natural logarithm.": lambda q: (1 + q) / (1 - q),
            "The second coin helps, too: a cheater says yes with probability q + (1 - q) / 2.": (
                lambda q: np.log(q / (1 - q))
            ),
            "You compare a cheater's yes with a cheater's truth. Compare it with the yes of "
            "somebody innocent, whom only the second coin makes say it.": (
                lambda q: np.log((1 + q) / (2 * q))
            ),
            "Is that a binary logarithm? The budget is the natural one.": (
                lambda q: np.log2((1 + q) / (1 - q))
            ),
        },
    ),
    "basics-variance": Exercise(
        asks="Write a function of low, high and n that returns the sensitivity of the variance.",
        right=_variance,
        arguments=_interval,
        mistakes={
            "Nearly: a number has n - 1 distances to others, and the one to itself never moves. Or "
            "did you divide by n - 1? The mean of squared distances divides by n.": (
                lambda low, high, n: (high - low) ** 2 / n
            ),
            "This is the sensitivity of the mean; distances are squared here.": (
                lambda low, high, n: (high - low) / n
            ),
            "Twice too much: pairs count twice among the n^2, and the variance is half their "
            "mean.": lambda low, high, n: 2 * (high - low) ** 2 * (n - 1) / n**2,
            "Half too little: each of the n - 1 pairs with this number stands twice among the "
            "n^2.": lambda low, high, n: (high - low) ** 2 * (n - 1) / (2 * n**2),
            "That is the largest variance; the question is how far one number moves it.": (
                lambda low, high, n: (high - low) ** 2 / 4
            ),
        },
    ),
    "basics-households": Exercise(
        asks="Write a function of clip, epsilon and error that returns a whole number.",
        right=_households,
        arguments=_wanted,
        mistakes={
            "Nobody asks a fraction of a household: round up.": (
                lambda clip, epsilon, error: np.sqrt(2) * clip / (epsilon * error)
            ),
            "One too few, where it does not come out even: round up, or the error is above what "
            "was wanted.": lambda clip, epsilon, error: np.floor(
                np.sqrt(2) * clip / (epsilon * error)
            ),
            "You have set the scale to the error; the standard deviation is root two times as "
            "large.": lambda clip, epsilon, error: np.ceil(clip / (epsilon * error)),
            "Off by root two: the variance is twice the squared scale, so take a root.": (
                lambda clip, epsilon, error: np.ceil(2 * clip / (epsilon * error))
            ),
            "The noise of a mean falls like 1/n here, not like its root: one record moves it by "
            "clip / n.": lambda clip, epsilon, error: np.ceil(2 * (clip / (epsilon * error)) ** 2),
        },
    ),
    "basics-family": Exercise(
        asks="Write a function of epsilon, delta and k that returns the delta of one person.",
        right=_delta,
        arguments=_family,
        mistakes={
            "Deltas do not just add: that of a step is multiplied by e^(epsilon/k) in each step "
            "that follows.": lambda epsilon, delta, k: delta / k,
            "Only the last member pays that factor; sum e^(i epsilon / k), i from 0 to k - 1.": (
                lambda epsilon, delta, k: delta / (k * np.exp((k - 1) * epsilon / k))
            ),
            "A step costs epsilon / k here, since epsilon is for all k together.": (
                lambda epsilon, delta, k: delta / np.sum(np.exp(epsilon * np.arange(k)))
            ),
            "One term too many: the sum goes from i = 0 to k - 1.": (
                lambda epsilon, delta, k: delta / np.sum(np.exp(epsilon / k * np.arange(k + 1)))
            ),
            "The other way round: this is what k persons get if one has delta.": (
                lambda epsilon, delta, k: delta * np.sum(np.exp(epsilon / k * np.arange(k)))
            ),
        },
    ),
}
