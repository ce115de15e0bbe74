"""Private sums over a fixed number of records, chosen without replacement.

Adding a record to the data *replaces* one of the sample, so that the sensitivity is that of
"replace_one".
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import Array, check_integer, check_positive, check_real_array
from dplit.papers.sketching.amplification import amplified_epsilon, base_epsilon

#: Most samples that :func:`sample_log_density` lists.
_LARGEST_COUNT = 1 << 16


def sample_scale(*, epsilon: float, sampling_rate: float, sensitivity: float) -> float:
    r"""Laplace scale for the sum over a sample, by the budget that sampling leaves: (22).

    :math:`\Delta/\varepsilon'` with :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/\beta)`.
    ``sensitivity`` is that for "replace_one" where the sample has a fixed size (Appendix D): with
    the one for "add_remove" the guarantee fails.

    >>> round(sample_scale(epsilon=1.0, sampling_rate=0.5, sensitivity=1.0), 4)
    0.6712
    """
    budget = base_epsilon(epsilon=check_positive("epsilon", epsilon), sampling_rate=sampling_rate)
    return check_positive("sensitivity", sensitivity) / budget


def sample_epsilon(*, scale: float, sampling_rate: float, sensitivity: float) -> float:
    r"""Epsilon of a noisy sum over a sample of fixed size, under "add_remove" of a record.

    :math:`\log(1+\beta(e^{\Delta/b}-1))`, attained where all other records are equal; ``scale`` b
    is that of the unrescaled sum, :math:`\beta=n'/n` counts the larger data set and ``sensitivity``
    is for "replace_one": given that the new record is in the sample, the rest is the sample of the
    smaller data set with one member left out, so that the density is :math:`(1-\beta)p_Y+\beta p'`
    with :math:`p'\le e^{\Delta/b}p_Y`.

    >>> round(sample_epsilon(scale=0.6712, sampling_rate=0.5, sensitivity=2.0), 3)
    2.336
    """
    ratio = check_positive("sensitivity", sensitivity) / check_positive("scale", scale)
    return amplified_epsilon(epsilon=ratio, sampling_rate=sampling_rate)


def sample_log_density(
    points: ArrayLike, features: ArrayLike, n_kept: int, *, scale: float
) -> Array:
    """Exact log density of a noisy sum over a sample of fixed size, by listing the samples.

    ``points`` (n_points, m) are releases, ``features`` (n, m) real, ``scale`` that of the
    unrescaled sum; without the constant ``-m log(2 b)``, and for at most 65,536 samples.
    """
    where = check_real_array("points", points, 2)
    values = check_real_array("features", features, 2)
    n = len(values)
    kept = check_integer("n_kept", n_kept, maximum=n)
    if where.shape[1] != values.shape[1]:
        raise ValueError(f"points must have {values.shape[1]} columns, got {where.shape}")
    count = comb(n, kept)
    if count > _LARGEST_COUNT:
        raise ValueError(f"there must be at most {_LARGEST_COUNT} samples, got {count}")
    sums = np.array([values[list(chosen)].sum(axis=0) for chosen in combinations(range(n), kept)])
    distances = np.abs(where[:, None, :] - sums[None]).sum(axis=2)
    return np.asarray(
        logsumexp(-distances / check_positive("scale", scale), axis=1) - np.log(count)
    )
