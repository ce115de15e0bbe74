r"""Private choice of the margin: Appendix F, with the generalised exponential mechanism.

The hinge loss of a small margin has a large sensitivity, that of a large margin a small one.  The
plain exponential mechanism pays the largest for all of them; the generalised one pays each its own.
The appendix was not available: that it uses this mechanism is inferred from the references.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.margin.compressed import Solver, learn_weights
from dplit.margin.losses import (
    bounded_hinge_mean,
    check_signs,
    clipped_records,
    hinge_sensitivity,
    zero_one_loss,
)
from dplit.mechanisms import (
    exponential_mechanism,
    generalized_exponential_mechanism,
    report_noisy_min,
)

__all__ = [
    "ChosenMargin",
    "Splits",
    "choice_bound",
    "choice_scores",
    "choice_sensitivities",
    "choose_by_errors",
    "choose_margin",
    "generalized_law",
    "label_private_choice",
    "label_private_threshold",
    "margin_grid",
    "plain_law",
    "relative_deviation_bound",
    "selection_excess",
    "separated_cover",
    "split_law",
    "threshold_errors",
    "threshold_splits",
]


# Learning when only the labels are private: the exponential mechanism on a cover of the sample.
#
# If the inputs are public, so is a cover of the hypotheses in the largest difference on the
# inputs,
# and the exponential mechanism needs no other. For thresholds on the line the cover is the list
# of
# the m + 1 splits, whose errors are cumulative sums: the mechanism costs one sort.


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
    >>> from dplit.margin.selection import threshold_splits
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
    >>> from dplit.margin.selection import threshold_errors
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
    >>> from dplit.margin.selection import split_law
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
    >>> from dplit.margin.selection import label_private_threshold
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
    >>> from dplit.margin.selection import separated_cover
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
    >>> from dplit.margin.selection import label_private_choice
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
    >>> from dplit.margin.selection import selection_excess
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
    >>> from dplit.margin.selection import relative_deviation_bound
    >>> round(relative_deviation_bound(0.0, 2001, 1000, beta=0.05), 4)
    0.0479
    """
    m = check_integer("n_samples", n_samples)
    loss = check_probability("empirical", empirical, zero=True, one=True)
    beta = check_probability("beta", beta)
    rate = math.log(4.0 * check_positive("growth", growth) / beta) / m
    return loss + 2.0 * math.sqrt(loss * rate) + 4.0 * rate


#: Share of epsilon that :func:`choose_by_errors` keeps for the choice.
_SHARE = 0.2


@dataclass(frozen=True)
class ChosenMargin:
    """A margin that was chosen privately, and the weights that were learnt at it.

    Attributes
    ----------
    weights : ndarray of shape (k,)
    margin : float
    index : int
        Place of the margin in the grid.
    margins : ndarray of shape (n,)
        The grid, public.
    candidates : ndarray of shape (n, k)
        Weights at every margin; private as well.
    """

    weights: Array
    margin: float
    index: int
    margins: Array
    candidates: Array


def margin_grid(*, radius: float, data_norm: float, size: int) -> Array:
    r"""Margins :math:`2^{-j}\Lambda r`, j = 0, ..., size - 1.

    Parameters
    ----------
    radius, data_norm : float
        Positive.
    size : int
        Number n of margins; :math:`\log_2\sqrt m` of them reach where the bound is vacuous.

    Returns
    -------
    ndarray of shape (size,)

    Examples
    --------
    >>> from dplit.margin.selection import margin_grid
    >>> margin_grid(radius=1.0, data_norm=2.0, size=3).tolist()
    [2.0, 1.0, 0.5]
    """
    top = check_positive("radius", radius) * check_positive("data_norm", data_norm)
    return np.asarray(top * 0.5 ** np.arange(check_integer("size", size)))


def choice_scores(
    hinges: ArrayLike, margins: ArrayLike, *, radius: float, data_norm: float, n_samples: int,
    weight: float = 2.0,
) -> Array:  # fmt: skip
    r"""Objective of each margin: empirical hinge loss plus a complexity term.

    Parameters
    ----------
    hinges, margins : array_like of shape (n,)
        Mean hinge losses and their margins.
    radius, data_norm : float
        Of the bound :math:`\Lambda r`.
    n_samples : int
        Records m.
    weight : float, default=2.0
        Factor c of the second term; 2 is that of the Rademacher bound.

    Returns
    -------
    ndarray of shape (n,)
        :math:`\hat L^{\rho_j}+c\,\Lambda r/(\rho_j\sqrt m)`.

    Examples
    --------
    >>> from dplit.margin.selection import choice_scores
    >>> choice_scores([0.1], [0.5], radius=1.0, data_norm=1.0, n_samples=1600).round(6).tolist()
    [0.2]
    """
    losses, rhos = _pair(hinges, margins, ("hinges", "margins"))
    m, factor = check_integer("n_samples", n_samples), check_nonnegative("weight", weight)
    return np.asarray(losses + factor * radius * data_norm / (rhos * math.sqrt(m)))


def choice_sensitivities(
    margins: ArrayLike, *, radius: float, data_norm: float, n_samples: int, inflation: float = 2.0
) -> Array:
    r"""Sensitivity of each objective, one record replaced.

    Parameters
    ----------
    margins : array_like of shape (n,)
    radius, data_norm : float
        Norm of the comparator and of the records **before** projection.
    n_samples : int
        Records m.
    inflation : float, default=2.0
        Factor s on both lengths in the projected space.

    Returns
    -------
    ndarray of shape (n,)
        :math:`(1+s^2\Lambda r/\rho_j)/m`: with s = 2, :math:`(1+4\Lambda r/\rho_j)/m`. The loss of
        :math:`\Phi^\top\tilde w` on records as they are has no such bound.

    Examples
    --------
    >>> from dplit.margin.selection import choice_sensitivities
    >>> choice_sensitivities([1.0, 0.5], radius=1.0, data_norm=1.0, n_samples=100).tolist()
    [0.05, 0.09]
    """
    rhos = _pair(margins, margins, ("margins", "margins"))[1]
    size, norm = inflation * radius, inflation * data_norm
    return np.array([
        hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=n_samples)
        for rho in rhos
    ])  # fmt: skip


def generalized_law(
    scores: ArrayLike, sensitivities: ArrayLike, *, epsilon: float, beta: float
) -> Array:
    r"""Law of :func:`dplit.mechanisms.generalized_exponential_mechanism`.

    Parameters
    ----------
    scores, sensitivities : array_like of shape (n,)
        Low scores are good.
    epsilon, beta : float
        Privacy loss and failure probability.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities proportional to :math:`e^{-\epsilon s_i/2}` with
        :math:`s_i=\max_j\{(q_i+t\Delta_i)-(q_j+t\Delta_j)\}/(\Delta_i+\Delta_j)` and
        :math:`t=\frac2\epsilon\log\frac n\beta`.

    Notes
    -----
    Between neighbours :math:`q_i-q_j` moves by at most :math:`\Delta_i+\Delta_j`: every
    :math:`s_i` moves by at most 1.

    Examples
    --------
    >>> from dplit.margin.selection import generalized_law
    >>> generalized_law([0.0, 0.0], [1.0, 1.0], epsilon=1.0, beta=0.1).tolist()
    [0.5, 0.5]
    """
    q, widths = _pair(scores, sensitivities)
    level = check_positive("epsilon", epsilon)
    t = 2.0 / level * math.log(len(q) / check_probability("beta", beta))
    shifted = q + t * widths
    normalised = (shifted[:, None] - shifted) / (widths[:, None] + widths)
    return np.asarray(softmax(-0.5 * level * normalised.max(axis=1)))


def plain_law(scores: ArrayLike, sensitivities: ArrayLike, *, epsilon: float) -> Array:
    r"""Law of the exponential mechanism that pays the largest sensitivity for every score.

    Parameters
    ----------
    scores, sensitivities : array_like of shape (n,)
        Low scores are good.
    epsilon : float
        Privacy loss.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities proportional to :math:`e^{-\epsilon q_i/(2\max_j\Delta_j)}`.

    Examples
    --------
    >>> from dplit.margin.selection import plain_law
    >>> plain_law([0.0, 0.0], [1.0, 9.0], epsilon=1.0).tolist()
    [0.5, 0.5]
    """
    q, widths = _pair(scores, sensitivities)
    return np.asarray(softmax(-0.5 * check_positive("epsilon", epsilon) * q / widths.max()))


def choice_bound(
    scores: ArrayLike, sensitivities: ArrayLike, *, epsilon: float, beta: float
) -> float:
    r"""Score that the chosen index exceeds with probability at most beta.

    Parameters
    ----------
    scores, sensitivities, epsilon, beta
        As in :func:`generalized_law`.

    Returns
    -------
    float
        :math:`\min_j\{q_j+\frac4\epsilon\log(\frac n\beta)\Delta_j\}`.

    Notes
    -----
    The minimiser of :math:`q+t\Delta` has score 0, so that :math:`s_{\hat\imath}\le t` with
    probability :math:`1-\beta`; then :math:`q_{\hat\imath}+t\Delta_{\hat\imath}\le q_j+t\Delta_j+
    t(\Delta_{\hat\imath}+\Delta_j)` for every j.

    Examples
    --------
    >>> from dplit.margin.selection import choice_bound
    >>> round(choice_bound([0.0, 1.0], [1.0, 1.0], epsilon=4.0, beta=0.5), 6)
    1.386294
    """
    q, widths = _pair(scores, sensitivities)
    price = 4.0 / check_positive("epsilon", epsilon)
    return float((q + price * math.log(len(q) / check_probability("beta", beta)) * widths).min())


def choose_margin(
    Z: ArrayLike,
    y: ArrayLike,
    *,
    margins: ArrayLike,
    radius: float,
    data_norm: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    inflation: float = 2.0,
    solver: Solver = "noisy_gradient",
    n_steps: int | None = 100,
    beta: float = 0.05,
    weight: float = 2.0,
) -> ChosenMargin:
    r"""Learn at every margin of a grid and choose one privately.

    Parameters
    ----------
    Z : array_like of shape (m, k)
        Projected records or features; rows longer than ``inflation * data_norm`` are clipped.
    y : array_like of shape (m,)
        Labels -1 and 1.
    margins : array_like of shape (n,)
        The grid, in (0, radius * data_norm], public.
    radius, data_norm : float
        Norm of the comparator and of the records before projection.
    epsilon, delta : float
        Budget: (epsilon/2, delta) for the n learners together, epsilon/2 for the choice.
    rng : numpy.random.Generator
        Source of all noise: floating-point research noise, not a release.
    inflation, solver, n_steps, beta
        As in :func:`dplit.margin.compressed.learn_weights`.
    weight : float, default=2.0
        As in :func:`choice_scores`.

    Returns
    -------
    ChosenMargin
        (epsilon, delta)-private under replacement of one record, candidates included.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    The losses are those of the learnt weights on the *projected, clipped* records, for which
    :func:`choice_sensitivities` hold given the weights.  Choosing among exact minimisers would
    publish a private index of non-private weights.

    Weights zero have hinge loss 1, so that the largest margin, :math:`\Lambda r`, has an objective
    of at most :math:`1+c/\sqrt m`, and none below :math:`c\Lambda r/(c+\sqrt m)` can be better,
    whatever the data and the budget: with c = 2 and 400 records that is an eleventh of the largest.
    At the largest the hinge is linear on the ball, and its minimiser the direction of the mean of
    :math:`y_ix_i`, which may predict one class for all. A classifier that is judged by its errors
    wants :func:`choose_by_errors`.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Appendix F (reconstruction); S. Raskhodnikova and A. Smith,
    FOCS 2016 (the mechanism).

    Examples
    --------
    >>> from dplit.margin.selection import choose_margin
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 2000)
    >>> choice = choose_margin(y[:, None] * [0.6, 0.8], y, margins=[1.0, 0.5, 0.25], radius=1.0,
    ...     data_norm=1.0, epsilon=4.0, delta=1e-6, rng=stream(0, "example", "noise"))
    >>> choice.margin in (1.0, 0.5, 0.25), choice.candidates.shape
    (True, (3, 2))
    """
    rhos = _pair(margins, margins, ("margins", "margins"))[1]
    rows, labels = clipped_records(Z, y, inflation * check_positive("data_norm", data_norm))
    half = check_positive("epsilon", epsilon) / 2.0
    learnt = np.concatenate([
        learn_weights(
            rows, labels, margin=rho, radius=radius, data_norm=data_norm, epsilon=half,
            delta=delta, rng=rng, solver=solver, inflation=inflation, n_steps=n_steps, beta=beta,
            runs=len(rhos),
        )
        for rho in rhos
    ])  # fmt: skip
    signed, m, length = labels * (learnt @ rows.T), len(rows), inflation**2 * radius * data_norm
    losses = [
        bounded_hinge_mean(u, margin=rho, largest=length)
        for u, rho in zip(signed, rhos, strict=True)
    ]
    scores = choice_scores(
        losses, rhos, radius=radius, data_norm=data_norm, n_samples=m, weight=weight
    )
    widths = choice_sensitivities(
        rhos, radius=radius, data_norm=data_norm, n_samples=m, inflation=inflation
    )
    index = generalized_exponential_mechanism(scores, widths, epsilon=half, beta=beta, rng=rng)
    return ChosenMargin(learnt[index], float(rhos[index]), index, rhos, learnt)


def choose_by_errors(
    Z: ArrayLike,
    y: ArrayLike,
    *,
    margins: ArrayLike,
    data_norm: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    inflation: float = 1.0,
    **learner: Any,
) -> ChosenMargin:
    r"""Learn at every margin of a grid and choose the weights with the fewest errors, privately.

    Parameters
    ----------
    Z, y, margins, data_norm, rng, inflation
        As in :func:`choose_margin`.
    epsilon, delta : float
        Budget: (0.8 epsilon, delta) for the n learners together, 0.2 epsilon for the choice.
    **learner
        ``radius``, ``solver``, ``n_steps``, ``beta`` of
        :func:`dplit.margin.compressed.learn_weights`.

    Returns
    -------
    ChosenMargin
        (epsilon, delta)-private under replacement of one record, candidates included.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    One record changes every number of errors by at most 1, whatever the margin: the noise of the
    choice has mean :math:`10/\epsilon` errors. The candidates are private, so that counting on the
    records they were learnt from needs no penalty for the size of the class.

    Examples
    --------
    >>> from dplit.margin.selection import choose_by_errors
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 2000)
    >>> choice = choose_by_errors(y[:, None] * [0.6, 0.8], y, margins=[0.5, 0.25], radius=1.0,
    ...     data_norm=1.0, epsilon=4.0, delta=1e-6, rng=stream(0, "example", "noise"))
    >>> choice.margin in (0.5, 0.25), choice.candidates.shape
    (True, (2, 2))
    """
    rhos = _pair(margins, margins, ("margins", "margins"))[1]
    rows, labels = clipped_records(Z, y, inflation * check_positive("data_norm", data_norm))
    kept = _SHARE * check_positive("epsilon", epsilon)
    learnt = np.concatenate([
        learn_weights(
            rows, labels, margin=rho, data_norm=data_norm, epsilon=epsilon - kept, delta=delta,
            rng=rng, inflation=inflation, runs=len(rhos), **learner,
        )
        for rho in rhos
    ])  # fmt: skip
    errors = zero_one_loss(labels * (learnt @ rows.T)).sum(axis=1)
    index = report_noisy_min(errors, epsilon=kept, sensitivity=1.0, rng=rng)
    return ChosenMargin(learnt[index], float(rhos[index]), index, rhos, learnt)


def _pair(
    first: ArrayLike,
    second: ArrayLike,
    names: tuple[str, str] = ("scores", "sensitivities"),
) -> tuple[Array, Array]:
    left = check_finite_array(names[0], first, ndim=1).astype(np.float64)
    right = check_finite_array(names[1], second, ndim=1).astype(np.float64)
    if left.shape != right.shape:
        raise ValueError(f"two vectors of one length are needed, got {len(left)} and {len(right)}")
    check_positive(f"smallest entry of {names[1]}", right.min())
    return left, right
