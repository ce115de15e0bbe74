"""Private choice of the margin (Appendix F), reconstructed: scores, sensitivities, laws, bound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dplit._checks import (
    Array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.margins.losses import hinge_sensitivity


def _choice_scores(
    hinges: ArrayLike,
    margins: ArrayLike,
    *,
    radius: float,
    data_norm: float,
    n_samples: int,
    weight: float = 2.0,
) -> Array:
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
    return np.array(
        [
            hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=n_samples)
            for rho in rhos
        ]
    )


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
