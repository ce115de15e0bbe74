"""Exercises of the lesson on sketches: our functions, and the usual mistakes by name."""

from __future__ import annotations

import numpy as np

from dplit.notebook.exercises import Exercise


def _size(rng: np.random.Generator) -> tuple[int]:
    return (int(rng.integers(3, 400)),)


def _setting(rng: np.random.Generator) -> tuple[int, int, float, float]:
    m, n = int(rng.integers(3, 400)), int(rng.integers(1000, 100_000))
    return m, n, float(rng.uniform(0.05, 3)), float(rng.uniform(1.5, 10))


def _share(rng: np.random.Generator) -> tuple[float, float]:
    return float(rng.uniform(0.05, 0.9)), float(rng.uniform(0.1, 2))


def _wave(rng: np.random.Generator) -> tuple[complex, float]:
    omega = float(rng.uniform(0.5, 3))
    return complex(np.exp(1j * omega * rng.uniform(-1, 1))), omega


def _length(m: int) -> float:
    return float(2.0 * np.sqrt(m))


def _ratio(m: int, n: int, epsilon: float, C0: float) -> float:
    return C0 * (2 * m + 1) * (2 * m + 2) / (2.0 * (n * epsilon) ** 2)


def _base(alpha: float, epsilon: float) -> float:
    return float(np.log1p(np.expm1(epsilon) / alpha))


def _place(seen: complex, omega: float) -> float:
    return float(np.angle(seen)) / omega


EXERCISES = {
    "sketching-length": Exercise(
        asks="Write a function of m that returns the largest change of the length.",
        right=_length,
        arguments=_size,
        mistakes={
            "That is a record which is added. A replaced one takes its waves away, and others "
            "come.": lambda m: np.sqrt(m),
            "That adds up real and imaginary parts; a length adds up squares.": (
                lambda m: 2 * np.sqrt(2) * m
            ),
            "Opposite waves are 2 apart, not root 2.": lambda m: np.sqrt(2 * m),
            "Lengths of m waves add in squares: root m, not m.": lambda m: 2 * m,
        },
    ),
    "sketching-ratio": Exercise(
        asks="Write a function of m, n, epsilon and C0 that returns noise over signal.",
        right=_ratio,
        arguments=_setting,
        mistakes={
            "That is Laplace noise; of many waves the polydisc has nearly a quarter.": (
                lambda m, n, epsilon, C0: 8 * C0 * m**2 / (n * epsilon) ** 2
            ),
            "A wave has two real numbers, each with a quarter of the mean square of R.": (
                lambda m, n, epsilon, C0: _ratio(m, n, epsilon, C0) / 2
            ),
            "R has the shape 2m + 1, of which one is for the density's own fall: its mean square "
            "is (2m + 1)(2m + 2) over epsilon squared.": (
                lambda m, n, epsilon, C0: C0 * 2 * m * (2 * m + 1) / (2 * (n * epsilon) ** 2)
            ),
            "C0 says how much of the signal is lost, so it belongs above the line.": (
                lambda m, n, epsilon, C0: _ratio(m, n, epsilon, 1 / C0)
            ),
        },
    ),
    "sketching-asked": Exercise(
        asks="Write a function of alpha and epsilon: the budget for those who are asked.",
        right=_base,
        arguments=_share,
        mistakes={
            "That is what a release costs; here the cost is given. Solve for the other.": (
                lambda alpha, epsilon: np.log1p(alpha * np.expm1(epsilon))
            ),
            "To first order, yes, but odds are exact: log(1 + ...).": (
                lambda alpha, epsilon: epsilon / alpha
            ),
            "Close: it is e to the epsilon, minus 1, that is divided by alpha.": (
                lambda alpha, epsilon: np.log1p(np.exp(epsilon) / alpha)
            ),
            "Not asked is a story, too: 1 - alpha + alpha e^(budget), not alpha e^(budget).": (
                lambda alpha, epsilon: epsilon - np.log(alpha)
            ),
        },
    ),
    "sketching-attack": Exercise(
        asks="Write a function of seen and omega that returns the record.",
        right=_place,
        arguments=_wave,
        mistakes={
            "That is the angle; the record is the angle over the frequency.": (
                lambda seen, omega: np.angle(seen)
            ),
            "A cosine does not tell left from right; the sine does.": (
                lambda seen, omega: np.arccos(np.clip(seen.real, -1, 1)) / omega
            ),
            "A sine alone is ambiguous beyond a quarter turn; take both parts.": (
                lambda seen, omega: np.arcsin(np.clip(seen.imag, -1, 1)) / omega
            ),
            "No minus: the wave turns counterclockwise as the record grows.": (
                lambda seen, omega: -np.angle(seen) / omega
            ),
        },
    ),
}
