"""Noisy gradient descent with momentum: as long a time in fewer steps, at the same budget."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, Neighboring, quiet
from dplit._numerics.clipping import clamp
from dplit._numerics.exact import exact_gram, gram_rounding, grid_rows
from dplit.linear.descent import PrivateCoefficients, _Derivative, _Records, squared_loss_derivative
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


class Schedule(NamedTuple):
    """What a descent does, from public numbers alone; ``n_records`` is the public one."""

    clip: float
    steps: int
    learning_rate: float
    momentum: float
    n_records: int
    neighboring: Neighboring


def descent_schedule(
    *,
    length: float,
    n_records: int,
    noise: float,
    spread: NDArray[np.float64],
    clips: tuple[float, float],
    ample: float,
) -> tuple[float, float]:
    r"""Clipping norm C and time (steps times rate) of a noisy descent, from public numbers.

    Parameters
    ----------
    length : float
        Norm L of a model that is to be learnt.
    n_records : int
        Public number n.
    noise : float
        Standard deviation s that would hide one sum of gradients clipped to 1, in one step.
    spread : ndarray
        Curvature :math:`\lambda_j\ge0` that each coordinate of the model would have on
        public grounds, such as columns that are uniform in their box.
    clips : tuple of float
        Least and largest C; between them that one is taken whose time is ``ample``.
    ample : float

    Returns
    -------
    clip, time : float

    Notes
    -----
    In time t, whatever the number of steps, noise in coordinate j grows to the variance
    :math:`t(Cs/n)^2(1-e^{-2\lambda_jt})/(2\lambda_j)`, and all of it to a mean square of at most
    :math:`t(Cs/n)^2D(t)/2` in predictions, with :math:`D(t)=\sum_j\min(2\lambda_jt,1)`: what has
    not been reached costs nothing. What is left to learn has a mean square of at most
    :math:`L^2\max_\lambda\lambda e^{-2\lambda t}=L^2/(2et)`. They are equal where
    :math:`Ct\sqrt{eD(t)}=Ln/s`.

    >>> clip, time = descent_schedule(length=4.0, n_records=3500, noise=7.4, clips=(0.1, 0.5),
    ...     spread=np.full(11, 0.01), ample=800.0)
    >>> round(clip, 3), round(time)
    (0.432, 800)
    """

    def reached(time: float) -> float:
        return time * math.sqrt(math.e * float(np.minimum(2.0 * spread * time, 1.0).sum()))

    reach = length * n_records / noise  # clipping norm times time, over all reached coordinates
    clip = min(max(reach / reached(ample), clips[0]), clips[1])
    low, high = 0.0, 1.0
    while reached(high) < reach / clip and high < 1e15:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if reached(middle) < reach / clip else (low, middle)
    return clip, high


class _Scored(_Records):
    """Records with k scores each: the same bits in every order, as of those with one."""

    __slots__ = ()

    def scores(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (n, k) by coefficients (d, k)."""
        unit = math.ldexp(1.0, math.frexp(float(np.linalg.norm(w)))[1] - 36)
        exact = self.directions @ np.rint(w / unit)
        return np.asarray((exact.T * (unit * self.step / self.inner) * self.lengths).T)

    def gradient_sum(self, slopes: NDArray[Any], clip: float) -> NDArray[np.float64]:
        """Sum of ``x slope^T``, each of Frobenius norm at most ``clip``, the product of two."""
        longer = np.nan_to_num(clamp(slopes), nan=0.0) * self.lengths[:, None]
        whole, step = grid_rows(longer, clip)
        return exact_gram(self.directions, whole) * (step * self.step)


@quiet
def accelerated_descent(
    rows: Array,
    labels: NDArray[Any],
    schedule: Schedule,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    derivative: _Derivative = squared_loss_derivative,
    n_scores: int | None = None,
) -> PrivateCoefficients:
    """:func:`~dplit.linear.descent.noisy_gradient_descent`, averaged, with Polyak's heavy ball.

    Momentum is made of released sums alone and costs nothing of the budget. Arguments are checked
    by the estimators. With k ``n_scores`` the coefficients are (d, k), scores and derivatives (n,
    k), and gradients are clipped in the Frobenius norm.
    """
    clip, steps, learning_rate, momentum, n_records, neighboring = schedule
    shape = (rows.shape[1],) if n_scores is None else (rows.shape[1], n_scores)
    rounding = gram_rounding(math.prod(shape))
    moved = clip * ((1.0 if neighboring == "add_remove" else 2.0) + rounding)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved * math.sqrt(steps))
    records = (_Records if n_scores is None else _Scored).of(rows)
    known = clamp(labels)
    w, speed, total = np.zeros((3, *shape))
    record_draw(
        "gaussian",
        "sums of clipped gradients",
        sensitivity=moved,
        scale=sigma,
        shape=shape,
        steps=steps,
    )
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
