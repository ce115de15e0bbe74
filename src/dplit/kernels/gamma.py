"""Pure epsilon for a function of finitely many features: a gamma-distributed noise norm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_positive, check_real_array, quiet
from dplit._numerics.rounding import round_down
from dplit.mechanisms.values import GammaNorm


@quiet
def gamma_release(
    weights: ArrayLike,
    *,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator | None = None,
) -> Array:
    """Weights of a linear model plus noise with density proportional to ``exp(-rate ||b||_2)``.

    Parameters
    ----------
    weights : array_like of shape (d,)
        Exact weights of ``f(x) = <weights, phi(x)>`` on public features.
    sensitivity : float
        Bound on the Euclidean distance of the weights over all neighbouring data sets (plus the
        certified distance of an approximate solver for both), positive.
    epsilon : float
        Positive; the rate is ``epsilon / sensitivity``.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    ndarray of shape (d,)
        Epsilon-private weights; every evaluation of the function is post-processing. Algorithm 1 of
        Chaudhuri, Monteleoni and Sarwate, JMLR 12 (2011).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noisy = gamma_release([1.0, 0.0], sensitivity=1e-9, epsilon=1.0,
    ...     rng=stream(0, "example", "noise"))
    >>> np.abs(noisy).round(6).tolist()
    [1.0, 0.0]
    """
    exact = check_real_array("weights", weights, 1)
    budget = Fraction(check_positive("epsilon", epsilon))
    rate = round_down(budget / Fraction(check_positive("sensitivity", sensitivity)))
    return GammaNorm(rate).add(exact, hides="weights", sensitivity=sensitivity, rng=rng)
