"""Noisy gradient descent with momentum: as long a time in fewer steps, at the same budget."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, Neighboring
from dplit._estimators import clamp
from dplit._numerics.exact import gram_rounding
from dplit.baselines.linear import (
    PrivateCoefficients,
    _Derivative,
    _Records,
    squared_loss_derivative,
)
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms.draws import record_draw, record_step

#: Most steps of a default schedule.
MOST_STEPS = 300


def paced(time: float, *, rate: float) -> tuple[int, float, float]:
    """Return steps, their length and momentum that take as long a time (steps times length).

    A step with momentum b goes as far as ``1 / (1 - b)`` without. Of 300 steps of the largest
    length b is at most ``1 - 4/300``, so that it takes a quarter of them to settle.

    >>> paced(18.0, rate=1.8)
    (10, 1.8, 0.0)
    >>> steps, length, momentum = paced(5400.0, rate=1.8)
    >>> steps, length, round(momentum, 6)
    (300, 1.8, 0.9)
    """
    time = min(time, rate * (MOST_STEPS / 4) ** 2)
    steps = min(max(math.ceil(time / rate), 1), MOST_STEPS)
    length = min(time / steps, rate)
    return steps, length, max(1.0 - length * steps / time, 0.0)


def accelerated_descent(
    rows: Array, labels: NDArray[Any], *, epsilon: float, delta: float, clip: float, steps: int,
    learning_rate: float, momentum: float, neighboring: Neighboring, n_records: int,
    rng: np.random.Generator, derivative: _Derivative = squared_loss_derivative,
    n_scores: int | None = None,
) -> PrivateCoefficients:  # fmt: skip
    """:func:`~dplit.baselines.noisy_gradient_descent`, averaged, with Polyak's heavy ball.

    Momentum is made of released sums alone and costs nothing of the budget. Arguments are checked
    by the estimators; ``n_records`` is the public number.
    """
    shape = (rows.shape[1],) if n_scores is None else (rows.shape[1], n_scores)
    rounding = gram_rounding(math.prod(shape))
    moved = clip * ((1.0 if neighboring == "add_remove" else 2.0) + rounding)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved * math.sqrt(steps))
    records, known = _Records.of(rows), clamp(labels)
    w, speed, total = np.zeros((3, *shape))
    record_draw(
        "gaussian", "sums of clipped gradients", sensitivity=moved, scale=sigma, shape=shape,
        steps=steps,
    )  # fmt: skip
    for step in range(steps):
        with np.errstate(all="ignore"):  # a warning would tell of a record
            slopes = derivative(records.scores(w), known)
        gradient = records.gradient_sum(slopes, clip)
        record_step(gradient)
        noisy = gradient + sigma * rng.standard_normal(shape)
        speed = momentum * speed - learning_rate / n_records * noisy
        w = w + speed
        total = total + (w if step >= steps // 2 else 0.0)
    coef = total / (steps - steps // 2)
    return PrivateCoefficients(coef, epsilon, delta, neighboring, sigma)
