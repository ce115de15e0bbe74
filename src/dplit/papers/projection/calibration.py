"""The variance (13) of the projection mechanism as printed, and the least that protects."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from dplit._checks import check_flag, check_integer, check_nonnegative
from dplit.entries.privacy import fixed_variance
from dplit.papers.projection.regression import column_energy_floor


def printed_variance(X: ArrayLike, *, epsilon: float, n_components: int) -> float:
    r"""Noise variance (13), which depends on the private data:
    :math:`\left(\frac{n'}{2^{2\epsilon}-1}-f^2(X)\right)_+`.

    **It does not deliver the claimed budget**, for two reasons that the chapter demonstrates; use
    :func:`dplit.entries.privacy.fixed_variance`.
    """
    floor = column_energy_floor(X) ** 2
    return max(fixed_variance(epsilon=epsilon, n_components=n_components) - floor, 0.0)


def noise_free_epsilon(*, floor: float, n_components: int) -> float:
    r"""Smallest budget in bits for which (13) adds no noise: :math:`\frac12\log_2(1+n'/f^2)`.

    Corollary 2, and the corners of Figure 2; ``floor`` is f^2.
    """
    n, least = check_integer("n_components", n_components), check_nonnegative("floor", floor)
    return math.inf if least == 0 else 0.5 * math.log2(1.0 + n / least)


def projection_variance(
    X: ArrayLike, *, epsilon: float, n_components: int, as_printed: bool = False
) -> float:
    """Noise variance: ``fixed_variance``, or (13) ``as_printed``, for study only."""
    if check_flag("as_printed", as_printed):
        return printed_variance(X, epsilon=epsilon, n_components=n_components)
    return fixed_variance(epsilon=epsilon, n_components=n_components)
