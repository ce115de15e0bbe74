"""Variances of the noise in second moments of a table with additive noise."""

from __future__ import annotations

import math
from typing import NamedTuple

from dplit._checks import check_integer, check_positive
from dplit.entries.privacy import additive_sigma


class _MomentVariances(NamedTuple):
    """Variances of the noise on X'X, off its diagonal (twice that on it), and on X'y."""

    gram: float
    cross: float


def moment_variances(
    *, epsilon: float, n_features: int, response_bound: float, energy: float
) -> _MomentVariances:
    r"""Noise g on X'X and c on X'y that makes the moments MI-DP for entries in [-1, 1], y public.

    :math:`a/g+B^2/c=2^{2\epsilon}-1` with :math:`a=d-1+2^{2\epsilon}/8` and :math:`B=\max|y_i|`. Of
    all such pairs the one with the least error :math:`g\,t+c` of the normal equations at
    coefficients of energy t, ``energy``, a public guess.

    >>> g, c = moment_variances(epsilon=0.5, n_features=2, response_bound=1.0, energy=3.0)
    >>> round((2 - 1 + 2 / 8) / g + 1 / c, 12)  # 2^1 - 1 = 1
    1.0
    """
    d = check_integer("n_features", n_features)
    gain = 1.0 / additive_sigma(epsilon=epsilon) ** 2
    bound = check_positive("response_bound", response_bound)
    a, t = d - 1 + (1.0 + gain) / 8.0, check_positive("energy", energy)
    between = bound * math.sqrt(a)
    return _MomentVariances(
        (a + between / math.sqrt(t)) / gain, (bound**2 + between * math.sqrt(t)) / gain
    )
