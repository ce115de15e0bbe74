"""Private labels (Appendix E) and private choice of the margin (Appendix F), reconstructed.

The hinge loss of a small margin has a large sensitivity: the plain exponential mechanism pays the
largest for all margins, the generalised one pays each its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import (
    Array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.margin.losses import _check_signs, hinge_sensitivity

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
    inputs, labels = check_real_array("x", x, 1), _check_signs(y)
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
    inputs, labels = check_real_array("x", x, 1), _check_signs(y)
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


def _pair(
    first: ArrayLike, second: ArrayLike, names: tuple[str, str] = ("scores", "sensitivities")
) -> tuple[Array, Array]:
    left = check_real_array(names[0], first, 1)
    right = check_real_array(names[1], second, 1)
    if left.shape != right.shape:
        raise ValueError(f"two vectors of one length are needed, got {len(left)} and {len(right)}")
    check_positive(f"smallest entry of {names[1]}", right.min())
    return left, right
