"""Exercises of the lesson on privacy: our functions, and the usual mistakes by name."""

from __future__ import annotations

import numpy as np

from dplit.notebook.exercises import Exercise


def _budget(rng: np.random.Generator) -> tuple[float]:
    return (float(rng.uniform(0.1, 3.0)),)


def _interval(rng: np.random.Generator) -> tuple[float, float, int]:
    low = float(rng.uniform(-5, 5))
    return low, low + float(rng.uniform(1, 10)), int(rng.integers(3, 100))


def _noise(rng: np.random.Generator) -> tuple[float, float]:
    return float(rng.uniform(0.5, 5)), float(rng.uniform(0.1, 0.9))


def _family(rng: np.random.Generator) -> tuple[float, float, int]:
    return float(rng.uniform(0.1, 2)), float(10 ** rng.uniform(-9, -5)), int(rng.integers(3, 8))


def _truth(epsilon: float) -> float:
    return float(np.exp(epsilon) / (1 + np.exp(epsilon)))


def _sensitivity(low: float, high: float, n: int) -> float:
    return (high - low) / n


def _deviation(sensitivity: float, epsilon: float) -> float:
    return float(np.sqrt(2)) * sensitivity / epsilon


def _delta(epsilon: float, delta: float, k: int) -> float:
    return float(delta * np.sum(np.exp(epsilon * np.arange(k))))


EXERCISES = {
    "basics-truth": Exercise(
        asks="Write a function of epsilon that returns the probability of telling the truth.",
        right=_truth,
        arguments=_budget,
        mistakes={
            "These are the odds of the truth; a probability is odds / (1 + odds).": np.exp,
            "This is the probability of the lie: you have the two answers the wrong way round.": (
                lambda epsilon: 1 / (1 + np.exp(epsilon))
            ),
            "Is that a binary logarithm? The budget is the natural logarithm of the odds.": (
                lambda epsilon: 2**epsilon / (1 + 2**epsilon)
            ),
            "Nearly: right to first order in epsilon, but the odds are exactly e^epsilon.": (
                lambda epsilon: 0.5 + epsilon / 4
            ),
        },
    ),
    "basics-sensitivity": Exercise(
        asks="Write a function of low, high and n that returns the sensitivity of the mean.",
        right=_sensitivity,
        arguments=_interval,
        mistakes={
            "This is the sensitivity of the sum; a mean moves by an n-th of it.": (
                lambda low, high, n: high - low
            ),
            "Off by a factor 2: a record that is replaced moves from one end to the other once.": (
                lambda low, high, n: 2 * (high - low) / n
            ),
            "That is how far one record reaches from zero. Did you remove it? Here it is replaced, "
            "so it may go from low to high.": lambda low, high, n: max(abs(low), abs(high)) / n,
            "n - 1 belongs to variances, and to a record that is removed. The mean of n numbers is "
            "their sum over n, before and after.": lambda low, high, n: (high - low) / (n - 1),
        },
    ),
    "basics-noise": Exercise(
        asks="Write a function of sensitivity and epsilon that returns a standard deviation.",
        right=_deviation,
        arguments=_noise,
        mistakes={
            "This is the scale; the standard deviation is root two times as large.": (
                lambda sensitivity, epsilon: sensitivity / epsilon
            ),
            "This is the variance; take the root.": (
                lambda sensitivity, epsilon: 2 * (sensitivity / epsilon) ** 2
            ),
            "A larger budget means less noise: epsilon belongs below the line.": (
                lambda sensitivity, epsilon: np.sqrt(2) * sensitivity * epsilon
            ),
            "Off by root two: take the root of the variance, twice the squared scale.": (
                lambda sensitivity, epsilon: 2 * sensitivity / epsilon
            ),
        },
    ),
    "basics-family": Exercise(
        asks="Write a function of epsilon, delta and k that returns the delta of k persons.",
        right=_delta,
        arguments=_family,
        mistakes={
            "Deltas do not just add: that of a step is multiplied by e^epsilon in each step "
            "that follows.": lambda epsilon, delta, k: k * delta,
            "Only the last member pays that factor; sum e^(i epsilon) over i from 0 to k - 1.": (
                lambda epsilon, delta, k: k * delta * np.exp((k - 1) * epsilon)
            ),
            "One term too many: the sum goes from i = 0 to k - 1.": (
                lambda epsilon, delta, k: delta * np.sum(np.exp(epsilon * np.arange(k + 1)))
            ),
            "The first member is missing: the sum starts with e^0 = 1.": (
                lambda epsilon, delta, k: delta * np.sum(np.exp(epsilon * np.arange(1, k)))
            ),
        },
    ),
}
