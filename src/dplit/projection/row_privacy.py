r"""What noise on a projection gives a whole row, in (epsilon, delta)-differential privacy.

Given S, changing row i of X by :math:`\Delta` moves the mean of the release by
:math:`s_i\Delta^\top`, of Frobenius norm :math:`\|s_i\|\|\Delta\|` with
:math:`\|s_i\|^2\sim\chi^2_{n'}`: a mixture of Gaussian mechanisms whose profile is one integral. It
is exact for the release together with S, and an upper bound for whatever is computed from it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi, chi2

from dplit._checks import check_integer, check_nonnegative, check_positive, check_probability
from dplit.mechanisms import gaussian_delta, gaussian_epsilon

__all__ = ["row_delta", "row_epsilon", "row_variance"]

_Array = NDArray[np.float64]
_TAIL = 1e-17


def _lengths(n_components: int) -> tuple[_Array, _Array]:
    """Nodes of ``|s_i|``, a chi variable, and their probabilities."""
    n = check_integer("n_components", n_components)
    low, high = float(chi.ppf(_TAIL, n)), float(chi.isf(_TAIL, n))
    nodes, weights = np.polynomial.legendre.leggauss(96)
    t = (low + high) / 2 + (high - low) / 2 * nodes
    return t, weights * (high - low) / 2 * chi.pdf(t, n)


def row_delta(
    *, epsilon: float, variance: float, n_components: int, row_change: float
) -> float:  # fmt: skip
    """Exact delta at ``epsilon`` of the projected release with public S, for one changed row.

    Parameters
    ----------
    epsilon : float
        Nonnegative privacy loss, in nats as usual.
    variance : float
        Noise variance, positive and chosen without the data.
    n_components : int
        Rows n' of the projection.
    row_change : float
        Largest Euclidean norm of the change of one row: ``2 sqrt(d)`` for d entries in [-1, 1], and
        2 for a single entry.

    Returns
    -------
    float
        In [0, 1]. Responses stay as they are: they are not protected.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(row_delta(epsilon=1.0, variance=100.0, n_components=100, row_change=2.0), 3)
    0.507
    """
    sigma = math.sqrt(check_positive("variance", variance))
    change = check_positive("row_change", row_change)
    level = check_nonnegative("epsilon", epsilon)
    lengths, mass = _lengths(n_components)
    profile = gaussian_delta(epsilon=level, sigma=sigma / change, sensitivity=lengths)
    return min(1.0, float(mass @ profile) + 2 * _TAIL)


def row_epsilon(
    *, delta: float, variance: float, n_components: int, row_change: float
) -> float:  # fmt: skip
    """Epsilon at ``delta`` of the projected release with public S, for one changed row.

    Parameters
    ----------
    delta : float
        In (0, 1), at least 1e-14.
    variance, n_components, row_change
        As in :func:`row_delta`.

    Returns
    -------
    float
        Smallest epsilon up to a relative error of 1e-9 on the safe side; 0 if delta is already
        reached there, and inf where the mean signal-to-noise ratio exceeds 1e15.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(row_epsilon(delta=1e-5, variance=100.0, n_components=100, row_change=2.0), 1)
    10.7
    """
    target = check_probability("delta", delta)
    if target < 1e-14:
        raise ValueError(f"delta must be at least 1e-14, got delta={delta!r}")
    return _row_epsilon(
        target,
        check_positive("variance", variance),
        check_integer("n_components", n_components),
        check_positive("row_change", row_change),
    )


@lru_cache(maxsize=256)
def _row_epsilon(target: float, variance: float, n: int, change: float) -> float:
    """Compute :func:`row_epsilon`; an estimator that is fitted again asks the same question."""
    if n * change**2 > 1e15 * variance:
        return math.inf

    def gap(epsilon: float) -> float:
        reached = row_delta(epsilon=epsilon, variance=variance, n_components=n, row_change=change)
        return math.log(reached / target)

    if gap(0.0) <= 0:
        return 0.0
    longest = change * math.sqrt(float(chi2.isf(target / 2, n)))
    high = gaussian_epsilon(delta=target / 2, sigma=math.sqrt(variance), sensitivity=longest)
    root = brentq(gap, 0.0, 1.0001 * high + 1e-9, xtol=1e-12, rtol=1e-12)
    return float(root) * (1 + 1e-9) + 1e-11


def row_variance(
    *, epsilon: float, delta: float, n_components: int, row_change: float
) -> float:  # fmt: skip
    """Noise variance that makes the projected release (epsilon, delta)-private for one row.

    Parameters
    ----------
    epsilon : float
        In (0, inf).
    delta : float
        In (0, 1), at least 1e-14.
    n_components, row_change
        As in :func:`row_delta`.

    Returns
    -------
    float
        Smallest variance up to a relative error of 1e-9 on the safe side. Even S may be published;
        responses are not protected.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> v = row_variance(epsilon=3.0, delta=1e-5, n_components=50, row_change=2.0)
    >>> round(row_epsilon(delta=1e-5, variance=v, n_components=50, row_change=2.0), 6)
    3.0
    """
    level = check_positive("epsilon", epsilon)
    target = check_probability("delta", delta)
    if target < 1e-14:
        raise ValueError(f"delta must be at least 1e-14, got delta={delta!r}")

    def gap(log_variance: float) -> float:
        return math.log(
            row_delta(epsilon=level, variance=math.exp(log_variance), n_components=n_components,
                      row_change=row_change) / target
        )  # fmt: skip

    size = check_integer("n_components", n_components)
    centre = math.log(check_positive("row_change", row_change) ** 2 * size)
    low, high = centre - 10.0, centre + 10.0
    while gap(low) < 0:
        low -= 5.0
    while gap(high) > 0:
        high += 5.0
    return math.exp(float(brentq(gap, low, high, xtol=1e-12))) * (1 + 1e-9)
