"""Exercises of the lesson on risk minimisation: our functions, and the usual mistakes by name."""

from __future__ import annotations

import numpy as np

from dplit._checks import Array
from dplit.notebook.exercises import Exercise


def _loss_and_price(rng: np.random.Generator) -> tuple[float, float, float, int]:
    slope, kappa, price = rng.uniform(1.1, 3), rng.uniform(1.2, 3), rng.uniform(0.05, 0.8)
    return float(slope), float(kappa), float(price), int(rng.integers(5, 500))


def _budget_and_price(rng: np.random.Generator) -> tuple[float, float, int, int]:
    epsilon, price = float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.05, 0.9))
    return epsilon, price, int(rng.integers(5, 500)), int(rng.integers(3, 50))


def _page(rng: np.random.Generator) -> tuple[Array]:
    heights = rng.uniform(0.1, 0.9, 9) * rng.choice([-1.0, 1.0], 9, p=[0.4, 0.6])
    return (np.append(heights, 0.0) + rng.laplace(scale=100.0),)


def _answers(rng: np.random.Generator) -> tuple[Array, Array, float]:
    points = np.cumsum(rng.uniform(0.2, 0.9, 4))
    gram = np.maximum(0.0, 1.0 - np.abs(points[:, None] - points))
    return rng.uniform(0.1, 0.5, 4), np.asarray(gram), float(rng.uniform(1.5, 4))


def _change(C: float, kappa: float, lam: float, m: int) -> float:
    return kappa**2 * C / (lam * m)


def _scale(epsilon: float, lam: float, m: int, q: int) -> float:
    return q / (lam * m * epsilon)


def _attack(shown: Array) -> int:
    return int(np.sum(shown[:-1] > shown[-1]))


def _squared(d: Array, K: Array) -> float:
    return float(d @ np.linalg.solve(K, d))


def _distance(d: Array, K: Array, sigma: float) -> float:
    return float(np.sqrt(_squared(d, K))) / sigma


EXERCISES = {
    "erm-sensitivity": Exercise(
        asks="Write a function of C, kappa, lam and m that returns the largest change of a value.",
        right=_change,
        arguments=_loss_and_price,
        mistakes={
            "This is how far the curve moves in size; a value is up to kappa times as large.": (
                lambda C, kappa, lam, m: kappa * C / (lam * m)
            ),
            "Off by a factor 2: did you delete a record, where one was to be replaced? The old "
            "and the new one both pull.": lambda C, kappa, lam, m: kappa**2 * C / (2 * lam * m),
            "Off by a factor 2: a price of lam times the squared size bends by 2 lam, and that "
            "takes the two records' 2 away.": lambda C, kappa, lam, m: 2 * kappa**2 * C / (lam * m),
            "The tents are larger here: kappa comes in twice, once in step (d) and once from size "
            "to value.": lambda C, kappa, lam, m: C / (lam * m),
            "Where has the slope of the loss gone? Step (c) has C in the place of 1.": (
                lambda C, kappa, lam, m: kappa**2 / (lam * m)
            ),
            "There is no root: divide both sides by the size of the change.": (
                lambda C, kappa, lam, m: np.sqrt(kappa**2 * C / (lam * m))
            ),
        },
    ),
    "erm-scale": Exercise(
        asks="Write a function of epsilon, lam, m and q that returns the scale of each answer.",
        right=_scale,
        arguments=_budget_and_price,
        mistakes={
            "That is enough for one answer. With q answers each has a q-th of the budget.": (
                lambda epsilon, lam, m, q: 1 / (lam * m * epsilon)
            ),
            "This is half of it, as in print: one value moves by 1 / (lam m).": (
                lambda epsilon, lam, m, q: q / (2 * lam * m * epsilon)
            ),
            "The root of q asks for a delta; budgets without one add up.": (
                lambda epsilon, lam, m, q: np.sqrt(q) / (lam * m * epsilon)
            ),
            "This is the standard deviation; the scale is smaller by root two.": (
                lambda epsilon, lam, m, q: np.sqrt(2) * q / (lam * m * epsilon)
            ),
            "A larger budget means less noise: epsilon belongs below the line.": (
                lambda epsilon, lam, m, q: q * epsilon / (lam * m)
            ),
        },
    ),
    "erm-attack": Exercise(
        asks="Write a function of shown, an array, that returns the number of the ill.",
        right=_attack,
        arguments=_page,
        mistakes={
            "You compare with zero, and everything was moved by the same number.": (
                lambda shown: np.sum(shown[:-1] > 0)
            ),
            "The mean of what is shown is not the number that was added, unless the heights "
            "cancel. The last place shows it.": (lambda shown: np.sum(shown[:-1] > np.mean(shown))),
            "These are the healthy: bumps of the ill point upwards.": (
                lambda shown: np.sum(shown[:-1] < shown[-1])
            ),
            "One too many: there is no patient at the last place.": (
                lambda shown: np.sum(shown >= shown[-1])
            ),
            "That is the sum of the heights; count them by their signs.": (
                lambda shown: np.sum(shown - shown[-1])
            ),
        },
    ),
    "erm-distance": Exercise(
        asks="Write a function of d, K and sigma that returns a number of standard deviations.",
        right=_distance,
        arguments=_answers,
        mistakes={
            "This is the square; take the root.": lambda d, K, sigma: _squared(d, K) / sigma**2,
            "You have divided by the variance of the noise: sigma is a standard deviation.": (
                lambda d, K, sigma: np.sqrt(_squared(d, K)) / sigma**2
            ),
            "This would do for independent noise. Near answers share theirs: divide by K before "
            "you add up.": lambda d, K, sigma: np.linalg.norm(d) / sigma,
            "You have multiplied by K where one divides: solve K c = d first.": (
                lambda d, K, sigma: np.sqrt(d @ K @ d) / sigma
            ),
            "The factor sigma is missing: twice the noise, half the distance.": (
                lambda d, K, sigma: np.sqrt(_squared(d, K))
            ),
        },
    ),
}
