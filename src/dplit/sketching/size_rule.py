r"""Acceptable numbers of records, sizes and budgets: (29) and the rule of Section 6.6.

The rule wants ``m >= 2 k d`` for the search to succeed and a noise-to-signal ratio of at most
``m / (10^3 k d)``. For Laplace noise on Fourier features the ratio is exactly
``8 C_0 m^2 / (n epsilon)^2`` with ``C_0 = m / |z|^2``; the paper keeps orders of magnitude and
writes ``m^2 / (n epsilon)^2``. Both are here: ``factor=1`` is the printed rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dplit._checks import check_integer, check_positive

__all__ = ["SizeRange", "laplace_nsr", "least_budget", "required_records", "size_range"]

#: Least number of frequencies per unknown coordinate.
_LEAST_RATIO = 2
#: Acceptable noise-to-signal ratio: ``m / (_NSR k d)``.
_NSR = 1e3


def laplace_nsr(n_components: int, *, budget: float, signal: float) -> float:
    r"""Noise-to-signal ratio of a mean of Fourier features under Laplace noise.

    Parameters
    ----------
    n_components : int
        Number m of frequencies.
    budget : float
        The product ``n epsilon`` > 0.
    signal : float
        ``C_0 = m / |z|^2`` >= 1.

    Returns
    -------
    float
        ``8 C_0 m^2 / (n epsilon)^2``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The scale of the sum is ``b = sqrt(2) m / epsilon``; a complex coordinate has second moment
    ``4 b^2``; there are m of them, and the mean divides by n.

    Examples
    --------
    >>> from dplit.sketching.size_rule import laplace_nsr
    >>> round(laplace_nsr(100, budget=1000.0, signal=5.0), 12)
    0.4
    """
    m = check_integer("n_components", n_components)
    ratio = m / check_positive("budget", budget)
    return 8.0 * check_positive("signal", signal) * ratio**2


def required_records(
    n_components: int, n_clusters: int, n_features: int, *, epsilon: float, factor: float = 1.0
) -> float:
    r"""Records that (29) asks for, drastic subsampling of the features included.

    Parameters
    ----------
    n_components, n_clusters, n_features : int
        Size m, clusters k, dimension d.
    epsilon : float
        Budget > 0.
    factor : float, default=1.0
        Constant in front of ``m^2 / (n epsilon)^2``: 1 as printed, ``8 C_0`` exactly.

    Returns
    -------
    float
        ``max(10^3 k d, sqrt(factor 10^3 k d m) / epsilon)``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees (2022), equation (29).

    Examples
    --------
    >>> from dplit.sketching.size_rule import required_records
    >>> required_records(1000, 10, 10, epsilon=0.1)
    100000.0
    """
    m = check_integer("n_components", n_components)
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    noise = np.sqrt(check_positive("factor", factor) * _NSR * size * m)
    return float(max(_NSR * size, noise / check_positive("epsilon", epsilon)))


class SizeRange(NamedTuple):
    """Smallest and largest acceptable sketch size; empty if ``low > high``."""

    low: float
    high: float


def size_range(
    n_clusters: int, n_features: int, *, budget: float, factor: float = 1.0
) -> SizeRange:
    r"""Sketch sizes that the rule of Section 6.6 accepts, without subsampling.

    Parameters
    ----------
    n_clusters, n_features : int
        Clusters k, dimension d.
    budget : float
        The product ``n epsilon`` > 0.
    factor : float, default=1.0
        1 as printed, ``8 C_0`` exactly.

    Returns
    -------
    SizeRange
        ``2 k d`` and ``(n epsilon)^2 / (factor 10^3 k d)``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Chatalic et al. (2022), Section 6.6.

    Examples
    --------
    >>> from dplit.sketching.size_rule import size_range
    >>> size_range(4, 8, budget=4000.0)
    SizeRange(low=64.0, high=500.0)
    """
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    top = check_positive("budget", budget) ** 2 / (check_positive("factor", factor) * _NSR * size)
    return SizeRange(float(_LEAST_RATIO * size), top)


def least_budget(n_clusters: int, n_features: int, *, factor: float = 1.0) -> float:
    r"""Least ``n epsilon`` at which the rule of Section 6.6 accepts any size.

    Parameters
    ----------
    n_clusters, n_features : int
        Clusters k, dimension d.
    factor : float, default=1.0
        1 as printed, ``8 C_0`` exactly.

    Returns
    -------
    float
        ``sqrt(2 * 10^3 factor) k d``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Chatalic et al. (2022), Section 6.6: 0.14, 0.014 and 0.0014 for n = 1e4, 1e5, 1e6.

    Examples
    --------
    >>> from dplit.sketching.size_rule import least_budget
    >>> round(least_budget(4, 8)), round(least_budget(4, 8, factor=40.0))
    (1431, 9051)
    """
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    return float(np.sqrt(_LEAST_RATIO * _NSR * check_positive("factor", factor)) * size)
