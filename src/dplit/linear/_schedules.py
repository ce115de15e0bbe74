"""How long a noisy descent takes, in how many steps and with what momentum, by public numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

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
    time = min(time, longest_time(rate))
    steps = min(max(math.ceil(time / rate), 1), MOST_STEPS)
    length = min(time / steps, rate)
    return steps, length, max(1.0 - length * steps / time, 0.0)


def longest_time(rate: float) -> float:
    """Return the longest time that `paced` gives to a descent with steps of length ``rate``."""
    return rate * (MOST_STEPS / 4) ** 2


def descent_schedule(
    *,
    length: float,
    n_records: int,
    noise: float,
    spread: NDArray[np.float64],
    clips: tuple[float, float],
    ample: float,
    longest: float = math.inf,
    most: float = 0.0,
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
    longest, most : float, default=inf and 0.0
        Longest time that is worth its steps. What a budget has left beyond it goes into a C up to
        ``most``: clipped slacks pull predictions of a skewed label towards its median.

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
    clip = max(clip, min(reach / reached(longest), most) if most else 0.0)
    low, high = 0.0, 1.0
    while reached(high) < reach / clip and high < 1e15:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if reached(middle) < reach / clip else (low, middle)
    return clip, high
