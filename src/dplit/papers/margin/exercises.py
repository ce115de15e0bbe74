"""Exercises of the lesson on margins: our functions, and the usual mistakes by name."""

from __future__ import annotations

import numpy as np

from dplit._checks import Array
from dplit.notebook.exercises import Exercise


def _customer(rng: np.random.Generator) -> tuple[Array, Array, int, float]:
    w, x = rng.normal(size=(2, 3))
    return w, x, int(rng.choice([-1, 1])), float(rng.uniform(0.1, 0.6))


def _setting(rng: np.random.Generator) -> tuple[int, int, float]:
    n, d = int(rng.integers(50, 5000)), int(rng.integers(3, 3000))
    return n, d, float(rng.uniform(0.1, 3))


def _rules(rng: np.random.Generator) -> tuple[int, float, float, float]:
    count, epsilon = int(rng.integers(10, 10**6)), float(rng.uniform(0.1, 3))
    return count, float(rng.uniform(0.02, 0.3)), float(rng.uniform(0.001, 0.2)), epsilon


def _descent(rng: np.random.Generator) -> tuple[int, int, float, float]:
    T, n = int(rng.integers(2, 500)), int(rng.integers(50, 5000))
    return T, n, float(rng.uniform(0.1, 3)), float(rng.uniform(2, 10))


def _hinge(w: Array, x: Array, y: int, rho: float) -> float:
    return max(0.0, 1.0 - y * float(w @ x) / rho)


def _noise(n: int, d: int, epsilon: float) -> float:
    return float(2.0 * np.sqrt(d + 1.0) / (n * epsilon))


def _count(count: int, t: float, beta: float, epsilon: float) -> float:
    return float(2.0 * np.log(count / beta) / (epsilon * t))


def _steps(T: int, n: int, clip: float, s: float) -> float:
    return float(2.0 * clip / n * s * np.sqrt(T))


EXERCISES = {
    "margin-hinge": Exercise(
        asks="Write a function of w, x, y and rho that returns the hinge.",
        right=_hinge,
        arguments=_customer,
        mistakes={
            "The hinge never goes below zero.": lambda w, x, y, rho: 1 - y * (w @ x) / rho,
            "Where is the label? A bad customer should be on the other side.": (
                lambda w, x, y, rho: max(0, 1 - w @ x / rho)
            ),
            "It is 1 where u is zero: divide u by rho.": (
                lambda w, x, y, rho: max(0, rho - y * (w @ x))
            ),
            "That clips it at 1; the hinge itself grows with the distance.": (
                lambda w, x, y, rho: min(1, max(0, 1 - y * (w @ x) / rho))
            ),
        },
    ),
    "margin-noise": Exercise(
        asks="Write a function of n, d and epsilon that returns a deviation.",
        right=_noise,
        arguments=_setting,
        mistakes={
            "That is the typical length; one customer sees it along one direction of d.": (
                lambda n, d, epsilon: 2 * d / (n * epsilon)
            ),
            "The square of a gamma length has the mean s^2 d (d + 1), not s^2 d^2.": (
                lambda n, d, epsilon: 2 * np.sqrt(d) / (n * epsilon)
            ),
            "A replaced record goes from one side to the other: the mean moves by 2 / n.": (
                lambda n, d, epsilon: np.sqrt(d + 1) / (n * epsilon)
            ),
            "That would be a deviation of one Laplace number for each column.": (
                lambda n, d, epsilon: np.sqrt(2) * 2 * np.sqrt(d) / (n * epsilon)
            ),
        },
    ),
    "margin-lot": Exercise(
        asks="Write a function of count, t, beta and epsilon that returns a number of customers.",
        right=_count,
        arguments=_rules,
        mistakes={
            "The exponent of the lot has a half.": (
                lambda count, t, beta, epsilon: np.log(count / beta) / (epsilon * t)
            ),
            "That leaves the number of rules out; each of them may be drawn.": (
                lambda count, t, beta, epsilon: 2 * np.log(1 / beta) / (epsilon * t)
            ),
            "A smaller beta asks for more customers: divide by it.": (
                lambda count, t, beta, epsilon: 2 * np.log(count * beta) / (epsilon * t)
            ),
            "t is a share of errors, so it enters once, not squared.": (
                lambda count, t, beta, epsilon: 2 * np.log(count / beta) / (epsilon * t**2)
            ),
        },
    ),
    "margin-steps": Exercise(
        asks="Write a function of T, n, clip and s that returns the noise of each step.",
        right=_steps,
        arguments=_descent,
        mistakes={
            "Gaussian losses add up in squares: root T.": (
                lambda T, n, clip, s: 2 * clip / n * s * T
            ),
            "One vector goes and another comes: a mean moves by twice the clip over n.": (
                lambda T, n, clip, s: clip / n * s * np.sqrt(T)
            ),
            "That is for a sum; here the mean is published.": (
                lambda T, n, clip, s: 2 * clip * s * np.sqrt(T)
            ),
            "More steps need more noise each, not less.": (
                lambda T, n, clip, s: 2 * clip / n * s / np.sqrt(T)
            ),
        },
    ),
}
