"""Learning when only the labels are private: the exponential mechanism on a cover of the sample."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_integer, check_positive, check_probability, check_real_array
from dplit.margins._checks import check_signs


class _Splits(NamedTuple):
    """Thresholds, in increasing order, and the number of errors of each on the sample."""

    thresholds: Array
    errors: NDArray[np.intp]


def threshold_splits(x: ArrayLike, y: ArrayLike) -> _Splits:
    """Every split of a sample by a threshold t, 1 where ``x >= t``, with its errors.

    At the smallest input, at midpoints, and just above the largest: the inputs alone decide.

    >>> threshold_splits([0.0, 1.0, 2.0], [-1, 1, 1]).errors
    array([1, 0, 1, 2])
    """
    inputs, labels = check_real_array("x", x, 1), check_signs(y)
    if labels.shape != inputs.shape:
        raise ValueError(f"y must have {len(inputs)} entries, got y of shape {labels.shape}")
    values, group = np.unique(inputs, return_inverse=True)
    positive = np.bincount(group, labels > 0, len(values)).astype(np.intp)
    negative = np.bincount(group, labels < 0, len(values)).astype(np.intp)
    below = np.concatenate([[0], np.cumsum(positive)])
    above = np.concatenate([np.cumsum(negative[::-1])[::-1], [0]])
    middle = values[:-1] + np.diff(values) / 2
    thresholds = np.concatenate([values[:1], middle, [np.nextafter(values[-1], np.inf)]])
    return _Splits(thresholds, below + above)


def _threshold_errors(x: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> NDArray[np.intp]:
    """Errors on a sample of thresholds that are given, for example on a grid."""
    inputs, labels = check_real_array("x", x, 1), check_signs(y)
    order = np.argsort(inputs)
    positive = np.concatenate([[0], np.cumsum(labels[order] > 0)])
    negative = np.concatenate([[0], np.cumsum(labels[order] < 0)])
    below = np.searchsorted(inputs[order], np.asarray(thresholds, float), side="left")
    return np.asarray(positive[below] + negative[-1] - negative[below])


def separated_cover(values: ArrayLike, radius: float) -> NDArray[np.intp]:
    """Indices of a maximal subset of predictors (n, m) more than ``radius`` apart at some record.

    A cover inside the class, with at most as many members as any of radius ``radius / 2``.
    """
    scores = check_real_array("values", values, 2)
    limit = check_positive("radius", radius)
    left, chosen = np.ones(len(scores), bool), []
    for index in range(len(scores)):
        if left[index]:
            chosen.append(index)
            left &= np.abs(scores - scores[index]).max(axis=1) > limit
    return np.array(chosen, dtype=np.intp)


def selection_excess(n_predictors: int, n_samples: int, *, epsilon: float, beta: float) -> float:
    r"""What a private choice costs: :math:`2\log(n/\beta)/(\varepsilon m)`."""
    n, m = check_integer("n_predictors", n_predictors), check_integer("n_samples", n_samples)
    log = math.log(n / check_probability("beta", beta))
    return 2.0 * log / (check_positive("epsilon", epsilon) * m)


def relative_deviation_bound(
    empirical: float, growth: float, n_samples: int, *, beta: float
) -> float:
    r"""Relative deviation bound :math:`\hat R+2\sqrt{\hat RV}+4V` on the error of a class.

    :math:`V=\log(4\,\mathrm{growth}/\beta)/m`, ``growth`` the number of sign patterns on 2 m points
    (Anthony and Shawe-Taylor 1993; with margins Cortes, Mohri and Suresh 2021).
    """
    m = check_integer("n_samples", n_samples)
    loss = check_probability("empirical", empirical, zero=True, one=True)
    beta = check_probability("beta", beta)
    rate = math.log(4.0 * check_positive("growth", growth) / beta) / m
    return loss + 2.0 * math.sqrt(loss * rate) + 4.0 * rate
