r"""Private choice of the margin: Appendix F, with the generalised exponential mechanism.

The hinge loss of a small margin has a large sensitivity, that of a large margin a small one.  The
plain exponential mechanism pays the largest for all of them; the generalised one pays each its own.
The appendix was not available: that it uses this mechanism is inferred from the references.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.margin._records import Array, clipped_records
from dplit.margin.compressed_learner import Solver, learn_weights
from dplit.margin.losses import bounded_hinge_mean, hinge_sensitivity, zero_one_loss
from dplit.mechanisms import generalized_exponential_mechanism, report_noisy_min

__all__ = [
    "ChosenMargin",
    "choice_bound",
    "choice_scores",
    "choice_sensitivities",
    "choose_by_errors",
    "choose_margin",
    "generalized_law",
    "margin_grid",
    "plain_law",
]


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
    >>> from dplit.margin.margin_choice import margin_grid
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
    >>> from dplit.margin.margin_choice import choice_scores
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
    >>> from dplit.margin.margin_choice import choice_sensitivities
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
    >>> from dplit.margin.margin_choice import generalized_law
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
    >>> from dplit.margin.margin_choice import plain_law
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
    >>> from dplit.margin.margin_choice import choice_bound
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
        As in :func:`dplit.margin.compressed_learner.learn_weights`.
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
    >>> from dplit.margin.margin_choice import choose_margin
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
        :func:`dplit.margin.compressed_learner.learn_weights`.

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
    >>> from dplit.margin.margin_choice import choose_by_errors
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
