r"""Private sums over a fixed number of records, chosen without replacement.

Adding a record to the data *replaces* one record of the sample. The mechanism that sees the sample
therefore needs a guarantee for replaced records, and its sensitivity is that of "replace_one".
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit.sketching.amplification import amplified_epsilon, base_epsilon

__all__ = ["sample_epsilon", "sample_log_density", "sample_scale"]

Array = NDArray[np.float64]

#: Most samples that :func:`sample_log_density` lists.
_LARGEST_COUNT = 1 << 16


def sample_scale(*, epsilon: float, sampling_rate: float, sensitivity: float) -> float:
    r"""Laplace scale for the sum over a sample, by the budget that sampling leaves.

    Parameters
    ----------
    epsilon : float
        Budget, positive.
    sampling_rate : float
        Share of the records in the sample, in (0, 1].
    sensitivity : float
        l1 sensitivity of the sum over the sample, positive: for "replace_one" where the sample
        has a fixed size. With the one for "add_remove" the guarantee fails.

    Returns
    -------
    float
        :math:`\Delta/\varepsilon'`, :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/\beta)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), (22) and Appendix D.

    Examples
    --------
    >>> from dplit.sketching.without_replacement import sample_scale
    >>> round(sample_scale(epsilon=1.0, sampling_rate=0.5, sensitivity=1.0), 4)
    0.6712
    """
    budget = base_epsilon(epsilon=check_positive("epsilon", epsilon), sampling_rate=sampling_rate)
    return check_positive("sensitivity", sensitivity) / budget


def sample_epsilon(*, scale: float, sampling_rate: float, sensitivity: float) -> float:
    r"""Epsilon of a noisy sum over a sample of fixed size, under "add_remove" of a record.

    Parameters
    ----------
    scale : float
        Laplace scale of the unrescaled sum, positive.
    sampling_rate : float
        Share :math:`\beta=n'/n` of the larger data set in the sample, in (0, 1].
    sensitivity : float
        l1 sensitivity of the sum for "replace_one", positive.

    Returns
    -------
    float
        :math:`\log(1+\beta(e^{\Delta/b}-1))`; attained where all other records are equal.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Given that the new record is in the sample, the rest of the sample is that of the smaller data
    set with one member left out. So the density is :math:`(1-\beta)p_Y+\beta p'`, and
    :math:`p'\le e^{\Delta/b}p_Y` because p' replaces one record.

    Examples
    --------
    >>> from dplit.sketching.without_replacement import sample_epsilon
    >>> round(sample_epsilon(scale=0.6712, sampling_rate=0.5, sensitivity=2.0), 3)
    2.336
    """
    ratio = check_positive("sensitivity", sensitivity) / check_positive("scale", scale)
    return amplified_epsilon(epsilon=ratio, sampling_rate=sampling_rate)


def sample_log_density(
    points: ArrayLike, features: ArrayLike, n_kept: int, *, scale: float
) -> Array:
    """Exact log density of a noisy sum over a sample of fixed size, by listing the samples.

    Parameters
    ----------
    points : array_like of shape (n_points, m)
        Releases.
    features : array_like of shape (n, m)
        Real features of all records.
    n_kept : int
        Size of the sample, 1 to n.
    scale : float
        Laplace scale of the unrescaled sum, positive.

    Returns
    -------
    ndarray of shape (n_points,)
        Log density without the constant ``-m log(2 b)``.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit, ``n_kept`` is out of range or there are more than 65,536 samples.

    Examples
    --------
    >>> from dplit.sketching.without_replacement import sample_log_density
    >>> sample_log_density([[3.0]], [[1.0], [1.0]], 1, scale=2.0).tolist()
    [-1.0]
    """
    where = check_finite_array("points", points, ndim=2).astype(float)
    values = check_finite_array("features", features, ndim=2).astype(float)
    kept, n = check_integer("n_kept", n_kept), len(values)
    if kept > n:
        raise ValueError(f"n_kept must be at most {n}, got n_kept={n_kept!r}")
    if where.shape[1] != values.shape[1]:
        raise ValueError(f"points must have {values.shape[1]} columns, got {where.shape}")
    count = comb(n, kept)
    if count > _LARGEST_COUNT:
        raise ValueError(f"there must be at most {_LARGEST_COUNT} samples, got {count}")
    sums = np.array([values[list(chosen)].sum(axis=0) for chosen in combinations(range(n), kept)])
    distances = np.abs(where[:, None, :] - sums[None]).sum(axis=2)
    total: Array = logsumexp(-distances / check_positive("scale", scale), axis=1) - np.log(count)
    return total
