"""Acceptable numbers of records, sizes and budgets.

(29) and the rule of Section 6.6, which wants ``m >= 2 k d`` and a ratio of at most ``m / (10^3 k
d)``; ``factor=1`` is the printed rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dplit._checks import check_integer, check_positive

#: Least number of frequencies per unknown coordinate.
_LEAST_RATIO = 2

#: Acceptable noise-to-signal ratio: ``m / (_NSR k d)``.
_NSR = 1e3


def laplace_nsr(n_components: int, *, budget: float, signal: float) -> float:
    r"""Noise-to-signal ratio :math:`8C_0m^2/(n\varepsilon)^2` of Laplace noise.

    ``budget`` is the product of n and epsilon, ``signal`` is :math:`C_0=m/\|z\|^2\ge1`. The scale
    of the sum is ``b = sqrt(2) m / epsilon``, a complex coordinate has second moment ``4 b^2``.
    """
    m = check_integer("n_components", n_components)
    ratio = m / check_positive("budget", budget)
    return 8.0 * check_positive("signal", signal) * ratio**2


def required_records(
    n_components: int, n_clusters: int, n_features: int, *, epsilon: float, factor: float = 1.0
) -> float:
    """Records that (29) asks for, ``max(10^3 k d, sqrt(factor 10^3 k d m) / epsilon)``.

    Drastic subsampling of the features is included. ``factor`` multiplies ``m^2 / (n epsilon)^2``:
    1 as printed, ``8 C_0`` exactly.
    """
    m = check_integer("n_components", n_components)
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    noise = np.sqrt(check_positive("factor", factor) * _NSR * size * m)
    return float(max(_NSR * size, noise / check_positive("epsilon", epsilon)))


class _SizeRange(NamedTuple):
    """Smallest and largest acceptable sketch size; empty if ``low > high``."""

    low: float
    high: float


def size_range(
    n_clusters: int, n_features: int, *, budget: float, factor: float = 1.0
) -> _SizeRange:
    """Sizes accepted by Section 6.6: ``2 k d`` to ``(n epsilon)^2 / (factor 10^3 k d)``.

    ``budget`` is the product of n and epsilon; ``factor`` is 1 as printed, ``8 C_0`` exactly.
    """
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    top = check_positive("budget", budget) ** 2 / (check_positive("factor", factor) * _NSR * size)
    return _SizeRange(float(_LEAST_RATIO * size), top)


def least_budget(n_clusters: int, n_features: int, *, factor: float = 1.0) -> float:
    """Least ``n epsilon`` at which Section 6.6 accepts any size: ``sqrt(2 * 10^3 factor) k d``.

    ``factor`` is 1 as printed, ``8 C_0`` exactly.

    >>> round(least_budget(4, 8)), round(least_budget(4, 8, factor=40.0))
    (1431, 9051)
    """
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    return float(np.sqrt(_LEAST_RATIO * _NSR * check_positive("factor", factor)) * size)
