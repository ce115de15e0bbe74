"""Private labels (Appendix E) and private choice of the margin (Appendix F), reconstructed.

The hinge loss of a small margin has a large sensitivity: the plain exponential mechanism pays the
largest for all margins, the generalised one pays each its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
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
from dplit._numerics.rounding import round_down
from dplit.margin.compressed import _learn_weights, _Solver
from dplit.margin.exponential import cover_law
from dplit.margin.losses import (
    _bounded_hinge_mean,
    _check_signs,
    _clipped_records,
    hinge_sensitivity,
    zero_one_loss,
)
from dplit.mechanisms import generalized_exponential_mechanism, report_noisy_min

# Learning when only the labels are private: the exponential mechanism on a cover of the sample.


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
    inputs, labels = check_finite_array("x", x, ndim=1), _check_signs(y)
    if labels.shape != inputs.shape:
        raise ValueError(f"y must have {len(inputs)} entries, got y of shape {labels.shape}")
    values, group = np.unique(np.asarray(inputs, float), return_inverse=True)
    positive = np.bincount(group, labels > 0, len(values)).astype(np.intp)
    negative = np.bincount(group, labels < 0, len(values)).astype(np.intp)
    below = np.concatenate([[0], np.cumsum(positive)])
    above = np.concatenate([np.cumsum(negative[::-1])[::-1], [0]])
    middle = values[:-1] + np.diff(values) / 2
    thresholds = np.concatenate([values[:1], middle, [np.nextafter(values[-1], np.inf)]])
    return _Splits(thresholds, below + above)


def _threshold_errors(x: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> NDArray[np.intp]:
    """Errors on a sample of thresholds that are given, for example on a grid."""
    inputs, labels = check_finite_array("x", x, ndim=1), _check_signs(y)
    order = np.argsort(inputs)
    positive = np.concatenate([[0], np.cumsum(labels[order] > 0)])
    negative = np.concatenate([[0], np.cumsum(labels[order] < 0)])
    below = np.searchsorted(inputs[order], np.asarray(thresholds, float), side="left")
    return np.asarray(positive[below] + negative[-1] - negative[below])


def split_law(errors: ArrayLike, *, epsilon: float) -> Array:
    """Law of the exponential mechanism over predictors with these numbers of errors."""
    return cover_law(errors, epsilon=epsilon)


def separated_cover(values: ArrayLike, radius: float) -> NDArray[np.intp]:
    """Indices of a maximal subset of predictors (n, m) more than ``radius`` apart at some record.

    A cover inside the class, with at most as many members as any of radius ``radius / 2``.
    """
    scores = check_finite_array("values", values, ndim=2)
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


#: Share of epsilon that ``_choose_by_errors`` keeps for the choice.
_SHARE = 0.2


@dataclass(frozen=True)
class _ChosenMargin:
    """A margin chosen privately with its weights (k,), and all, private, candidates (n, k)."""

    weights: Array
    margin: float
    index: int
    margins: Array
    candidates: Array


def margin_grid(*, radius: float, data_norm: float, size: int) -> Array:
    r"""Margins :math:`2^{-j}\Lambda r`, j < ``size``; half of :math:`\log_2m` are of use."""
    top = check_positive("radius", radius) * check_positive("data_norm", data_norm)
    return np.asarray(top * 0.5 ** np.arange(check_integer("size", size)))


def _choice_scores(
    hinges: ArrayLike, margins: ArrayLike, *, radius: float, data_norm: float, n_samples: int,
    weight: float = 2.0,
) -> Array:  # fmt: skip
    r"""Hinge loss plus :math:`c\Lambda r/(\rho_j\sqrt m)`; c = 2 in the Rademacher bound."""
    losses, rhos = _pair(hinges, margins, ("hinges", "margins"))
    m, factor = check_integer("n_samples", n_samples), check_nonnegative("weight", weight)
    return np.asarray(losses + factor * radius * data_norm / (rhos * math.sqrt(m)))


def choice_sensitivities(
    margins: ArrayLike, *, radius: float, data_norm: float, n_samples: int, inflation: float = 2.0
) -> Array:
    r"""Sensitivity of each objective on projected, clipped records, one record replaced.

    With ``inflation`` s at most :math:`(1+s^2\Lambda r/\rho_j)/m`; raw records have no such bound.
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
    r"""Law of :func:`dplit.mechanisms.generalized_exponential_mechanism`; low scores are good.

    Proportional to :math:`e^{-\epsilon s_i/2}`,
    :math:`s_i=\max_j\{(q_i+t\Delta_i)-(q_j+t\Delta_j)\}/(\Delta_i+\Delta_j)`,
    :math:`t=\frac2\epsilon\log\frac n\beta`.
    """
    return _generalized_laws(*_pair(scores, sensitivities), epsilon, beta)


def _generalized_laws(q: Array, widths: Array, epsilon: float, beta: float) -> Array:
    """Return the law of every row of scores (..., n) that share their sensitivities (n,)."""
    level = check_positive("epsilon", epsilon)
    t = 2.0 / level * math.log(len(widths) / check_probability("beta", beta))
    shifted = q + t * widths
    normalised = (shifted[..., :, None] - shifted[..., None, :]) / (widths[:, None] + widths)
    return np.asarray(softmax(-0.5 * level * normalised.max(axis=-1), axis=-1))


def _plain_law(scores: ArrayLike, sensitivities: ArrayLike, *, epsilon: float) -> Array:
    """Law of the exponential mechanism that pays the largest sensitivity for every score."""
    q, widths = _pair(scores, sensitivities)
    return np.asarray(softmax(-0.5 * check_positive("epsilon", epsilon) * q / widths.max()))


def choice_bound(
    scores: ArrayLike, sensitivities: ArrayLike, *, epsilon: float, beta: float
) -> float:
    r"""Score :math:`\min_j\{q_j+\frac4\epsilon\log(\frac n\beta)\Delta_j\}` that the choice keeps.

    With probability :math:`1-\beta`, by :func:`generalized_law`.
    """
    q, widths = _pair(scores, sensitivities)
    price = 4.0 / check_positive("epsilon", epsilon)
    return float((q + price * math.log(len(q) / check_probability("beta", beta)) * widths).min())


def _learn_at(
    Z: ArrayLike, y: ArrayLike, margins: ArrayLike, *, data_norm: float, inflation: float,
    **learner: Any,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return the grid (n,), weights (n, k) learnt at every margin, and signed scores (n, m)."""
    rhos = _pair(margins, margins, ("margins", "margins"))[1]
    rows, labels = _clipped_records(Z, y, inflation * check_positive("data_norm", data_norm))
    options = {"data_norm": data_norm, "inflation": inflation, "runs": len(rhos), **learner}
    learnt = np.concatenate([_learn_weights(rows, labels, margin=rho, **options) for rho in rhos])
    return rhos, learnt, labels * (learnt @ rows.T)


def _choose_margin(
    Z: ArrayLike, y: ArrayLike, *, margins: ArrayLike, radius: float, data_norm: float,
    epsilon: float, delta: float, rng: np.random.Generator, inflation: float = 2.0,
    solver: _Solver = "noisy_gradient", n_steps: int | None = 100, beta: float = 0.05,
    weight: float = 2.0,
) -> _ChosenMargin:  # fmt: skip
    r"""Learn at every margin of a public grid and choose one privately by its hinge loss.
    (epsilon/2, delta) for the n learners together and epsilon/2 for the choice, under replacement
    of one record. No margin below :math:`c\Lambda r/(c+\sqrt m)` can win: a classifier that is
    judged by its errors wants ``_choose_by_errors``.
    """
    half = check_positive("epsilon", epsilon) / 2.0
    rhos, learnt, signed = _learn_at(
        Z, y, margins, radius=radius, data_norm=data_norm, epsilon=half, delta=delta, rng=rng,
        solver=solver, inflation=inflation, n_steps=n_steps, beta=beta,
    )  # fmt: skip
    m, length = signed.shape[1], inflation**2 * radius * data_norm
    losses = [
        _bounded_hinge_mean(u, margin=rho, largest=length)
        for u, rho in zip(signed, rhos, strict=True)
    ]
    scores = _choice_scores(
        losses, rhos, radius=radius, data_norm=data_norm, n_samples=m, weight=weight
    )
    widths = choice_sensitivities(
        rhos, radius=radius, data_norm=data_norm, n_samples=m, inflation=inflation
    )
    index = generalized_exponential_mechanism(scores, widths, epsilon=half, beta=beta, rng=rng)
    return _ChosenMargin(learnt[index], float(rhos[index]), index, rhos, learnt)


def _choose_by_errors(
    Z: ArrayLike, y: ArrayLike, *, margins: ArrayLike, data_norm: float, epsilon: float,
    delta: float, rng: np.random.Generator, inflation: float = 1.0, **learner: Any,
) -> _ChosenMargin:  # fmt: skip
    r"""Learn at every margin of a grid and choose the weights with the fewest errors, privately.
    (0.8 epsilon, delta) for the n learners together, 0.2 epsilon for the choice: one record changes
    a number of errors by at most 1, the noise has mean :math:`10/\epsilon`. The candidates are
    private, so that counting on their own records needs no penalty for the size of the class.
    """
    kept = _SHARE * check_positive("epsilon", epsilon)
    rest = round_down(Fraction(epsilon) - Fraction(kept))
    rhos, learnt, signed = _learn_at(
        Z, y, margins, data_norm=data_norm, epsilon=rest, delta=delta, rng=rng,
        inflation=inflation, **learner,
    )  # fmt: skip
    errors = zero_one_loss(signed).sum(axis=1)
    index = report_noisy_min(errors, epsilon=kept, sensitivity=1.0, rng=rng)
    return _ChosenMargin(learnt[index], float(rhos[index]), index, rhos, learnt)


def _pair(
    first: ArrayLike, second: ArrayLike, names: tuple[str, str] = ("scores", "sensitivities")
) -> tuple[Array, Array]:
    left = check_finite_array(names[0], first, ndim=1).astype(np.float64)
    right = check_finite_array(names[1], second, ndim=1).astype(np.float64)
    if left.shape != right.shape:
        raise ValueError(f"two vectors of one length are needed, got {len(left)} and {len(right)}")
    check_positive(f"smallest entry of {names[1]}", right.min())
    return left, right
