r"""Learning when only the labels are private: the exponential mechanism on a cover of the sample.

If the inputs are public, so is a cover of the hypotheses in the largest difference on the inputs,
and the exponential mechanism needs no other. For thresholds on the line the cover is the list of
the m + 1 splits, whose errors are cumulative sums: the mechanism costs one sort.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import check_finite_array, check_integer, check_positive, check_probability
from dplit.margin._records import check_signs
from dplit.mechanisms import exponential_mechanism

__all__ = [
    "Splits",
    "label_private_choice",
    "label_private_threshold",
    "relative_deviation_bound",
    "selection_excess",
    "separated_cover",
    "split_law",
    "threshold_errors",
    "threshold_splits",
]

Array = NDArray[np.float64]


class Splits(NamedTuple):
    """Thresholds, in increasing order, and the number of errors of each on the sample."""

    thresholds: Array
    errors: NDArray[np.intp]


def threshold_splits(x: ArrayLike, y: ArrayLike) -> Splits:
    r"""Every split of a sample by a threshold t, with the errors of :math:`x\mapsto\pm1` at t.

    Parameters
    ----------
    x : array_like of shape (m,)
        Public inputs.
    y : array_like of shape (m,)
        Private labels -1 and 1.

    Returns
    -------
    Splits
        The predictor is 1 where ``x >= t``. There are m + 1 splits if the inputs differ, at the
        smallest input, at midpoints, and just above the largest input. Thresholds depend on the
        inputs alone.

    Raises
    ------
    ValueError
        If an array is not finite, the lengths differ or a label is neither -1 nor 1.

    Notes
    -----
    The errors below a threshold are positive labels, those above negative ones: two cumulative
    sums after one sort.

    Examples
    --------
    >>> from dplit.margin.label_privacy import threshold_splits
    >>> threshold_splits([0.0, 1.0, 2.0], [-1, 1, 1]).errors
    array([1, 0, 1, 2])
    """
    inputs, labels = check_finite_array("x", x, ndim=1), check_signs(y)
    if labels.shape != inputs.shape:
        raise ValueError(f"y must have {len(inputs)} entries, got y of shape {labels.shape}")
    values, group = np.unique(np.asarray(inputs, float), return_inverse=True)
    positive = np.bincount(group, labels > 0, len(values)).astype(np.intp)
    negative = np.bincount(group, labels < 0, len(values)).astype(np.intp)
    below = np.concatenate([[0], np.cumsum(positive)])
    above = np.concatenate([np.cumsum(negative[::-1])[::-1], [0]])
    middle = values[:-1] + np.diff(values) / 2
    thresholds = np.concatenate([values[:1], middle, [np.nextafter(values[-1], np.inf)]])
    return Splits(thresholds, below + above)


def threshold_errors(x: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> NDArray[np.intp]:
    """Errors on a sample of thresholds that are given, for example on a grid.

    Parameters
    ----------
    x, y : array_like of shape (m,)
        Inputs and labels -1 and 1.
    thresholds : array_like of shape (n,)
        The predictor is 1 where ``x >= t``.

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> from dplit.margin.label_privacy import threshold_errors
    >>> threshold_errors([0.0, 1.0, 2.0], [-1, 1, 1], [0.0, 0.5, 9.0])
    array([1, 0, 2])
    """
    inputs, labels = check_finite_array("x", x, ndim=1), check_signs(y)
    order = np.argsort(inputs)
    positive = np.concatenate([[0], np.cumsum(labels[order] > 0)])
    negative = np.concatenate([[0], np.cumsum(labels[order] < 0)])
    below = np.searchsorted(inputs[order], np.asarray(thresholds, float), side="left")
    errors: NDArray[np.intp] = positive[below] + negative[-1] - negative[below]
    return errors


def split_law(errors: ArrayLike, *, epsilon: float) -> Array:
    r"""Law of the exponential mechanism over finitely many predictors with these numbers of errors.

    Parameters
    ----------
    errors : array_like of shape (n,)
        Errors on the sample: counts, of which one label changes each by at most one.
    epsilon : float
        Positive.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities proportional to :math:`e^{-\varepsilon\,\mathrm{errors}/2}`.

    Examples
    --------
    >>> from dplit.margin.label_privacy import split_law
    >>> split_law([0, 2], epsilon=np.log(3.0))
    array([0.75, 0.25])
    """
    counts = check_finite_array("errors", errors, ndim=1)
    law: Array = softmax(-0.5 * check_positive("epsilon", epsilon) * counts)
    return law


def label_private_threshold(
    x: ArrayLike, y: ArrayLike, *, epsilon: float, rng: np.random.Generator
) -> float:
    r"""Learn a threshold with pure label privacy.

    Parameters
    ----------
    x : array_like of shape (m,)
        Public inputs.
    y : array_like of shape (m,)
        Private labels -1 and 1.
    epsilon : float
        Positive privacy loss.
    rng : numpy.random.Generator
        Source of the noise: research noise, not a release.

    Returns
    -------
    float
        Predict 1 where ``x >= t``. Epsilon-private for a change of one label; **not** private for
        the inputs, between two of which the threshold lies.

    Examples
    --------
    >>> from dplit.margin.label_privacy import label_private_threshold
    >>> from dplit.streams import stream
    >>> x = np.arange(2000.0)
    >>> t = label_private_threshold(x, np.where(x < 700, -1, 1), epsilon=1.0,
    ...     rng=stream(0, "example", "noise"))
    >>> bool(abs(t - 700) < 50)
    True
    """
    splits = threshold_splits(x, y)
    chosen = exponential_mechanism(
        splits.errors, epsilon=epsilon, sensitivity=1.0, rng=rng, better="lower"
    )
    return float(splits.thresholds[chosen])


def separated_cover(values: ArrayLike, radius: float) -> NDArray[np.intp]:
    r"""Choose predictors such that every other one is near one of them at all records.

    Parameters
    ----------
    values : array_like of shape (n_predictors, m)
        Scores of every predictor at every public input.
    radius : float
        Positive.

    Returns
    -------
    ndarray of int
        Indices of a maximal subset whose members differ by more than ``radius`` at some record. It
        is a cover **inside** the class, in the maximum norm over the records, and has at most as
        many members as any cover of radius ``radius / 2``, from inside or outside.

    Raises
    ------
    ValueError
        If ``values`` is not a finite matrix or ``radius`` is not positive.

    Notes
    -----
    Two members that share a ball of radius ``radius / 2`` would be within ``radius``: a cover of
    that radius has a centre of its own for each member.

    Examples
    --------
    >>> from dplit.margin.label_privacy import separated_cover
    >>> separated_cover([[0.0], [0.4], [1.0], [1.5]], 0.5)
    array([0, 2])
    """
    scores = check_finite_array("values", values, ndim=2)
    limit = check_positive("radius", radius)
    left, chosen = np.ones(len(scores), bool), []
    for index in range(len(scores)):
        if left[index]:
            chosen.append(index)
            left &= np.abs(scores - scores[index]).max(axis=1) > limit
    return np.array(chosen, dtype=np.intp)


def label_private_choice(
    values: ArrayLike, y: ArrayLike, *, margin: float, epsilon: float, rng: np.random.Generator
) -> int:
    r"""Choose a predictor of any finite class with pure label privacy and a margin guarantee.

    Parameters
    ----------
    values : array_like of shape (n_predictors, m)
        Scores of every predictor at every public input.
    y : array_like of shape (m,)
        Private labels -1 and 1.
    margin : float
        The paper's rho, positive.
    epsilon : float
        Positive privacy loss.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    int
        Index of the chosen predictor.  With probability at least ``1 - beta`` its loss at margin
        rho/2 is at most the best loss at margin rho plus :func:`selection_excess`.

    Notes
    -----
    A cover of radius rho/2 inside the class, scored by the share of records with
    ``y h(x) <= rho/2``; one label changes a score by 1/m. Near the best predictor h there is a
    member c with ``y c(x) > rho/2`` wherever ``y h(x) > rho``.

    Examples
    --------
    >>> from dplit.margin.label_privacy import label_private_choice
    >>> from dplit.streams import stream
    >>> values = np.outer([-1.0, 1.0], np.ones(200))
    >>> label_private_choice(values, np.ones(200), margin=1.0, epsilon=1.0,
    ...     rng=stream(0, "example", "noise"))
    1
    """
    scores = check_finite_array("values", values, ndim=2)
    labels, half = check_signs(y), check_positive("margin", margin) / 2
    if labels.shape != scores.shape[1:]:
        raise ValueError(f"y must have {scores.shape[1]} entries, got y of shape {labels.shape}")
    cover = separated_cover(scores, half)
    losses = np.sum(labels * scores[cover] <= half, axis=1)
    return int(
        cover[
            exponential_mechanism(losses, epsilon=epsilon, sensitivity=1.0, rng=rng, better="lower")
        ]
    )


def selection_excess(n_predictors: int, n_samples: int, *, epsilon: float, beta: float) -> float:
    r"""What a private choice costs: :math:`2\log(n/\beta)/(\varepsilon m)`.

    Parameters
    ----------
    n_predictors, n_samples : int
        Members n of the cover and records m.
    epsilon : float
        Positive privacy loss.
    beta : float
        Probability in (0, 1) of a worse choice.

    Returns
    -------
    float

    Notes
    -----
    Predictors with more than ``k + 2 log(n/beta)/epsilon`` errors, where k is the least number,
    have mass at most ``n (beta / n)`` times the one of the best.

    Examples
    --------
    >>> from dplit.margin.label_privacy import selection_excess
    >>> round(selection_excess(1001, 1000, epsilon=1.0, beta=0.05), 4)
    0.0198
    """
    n, m = check_integer("n_predictors", n_predictors), check_integer("n_samples", n_samples)
    log = math.log(n / check_probability("beta", beta))
    return 2.0 * log / (check_positive("epsilon", epsilon) * m)


def relative_deviation_bound(
    empirical: float, growth: float, n_samples: int, *, beta: float
) -> float:
    r"""Relative deviation bound :math:`R\le\hat R+2\sqrt{\hat RV}+4V` on the error of a class.

    Parameters
    ----------
    empirical : float
        Error on the sample, in [0, 1].
    growth : float
        Number of different sign patterns of the class on ``2 m`` points, or a bound on it.
    n_samples : int
        Records m.
    beta : float
        Probability in (0, 1).

    Returns
    -------
    float
        With :math:`V=\log(4\,\mathrm{growth}/\beta)/m`, for all members at once.

    References
    ----------
    M. Anthony and J. Shawe-Taylor, Discrete Applied Mathematics 47 (1993) 207-217; the margin form
    is Cortes, Mohri and Suresh, Relative deviation margin bounds, ICML 2021.

    Examples
    --------
    >>> from dplit.margin.label_privacy import relative_deviation_bound
    >>> round(relative_deviation_bound(0.0, 2001, 1000, beta=0.05), 4)
    0.0479
    """
    m = check_integer("n_samples", n_samples)
    loss = check_probability("empirical", empirical, zero=True, one=True)
    beta = check_probability("beta", beta)
    rate = math.log(4.0 * check_positive("growth", growth) / beta) / m
    return loss + 2.0 * math.sqrt(loss * rate) + 4.0 * rate
