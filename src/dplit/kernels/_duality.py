"""The gap of Fenchel and Young, by which a dual certifies a minimiser."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, rel_entr

from dplit._checks import (
    Array,
)


def fenchel_young(
    loss: str,
    predictions: Array,
    y: Array,
    slopes: Array,
    tau: float,
) -> Array:
    """Terms :math:`L(t,y)+L^*(u,y)-ut` of a duality gap, in forms that do not cancel. ``slopes`` u
    lie in the domain of the conjugate: [-1, 0] times y for hinge and logistic loss, [-tau, 1 - tau]
    for the pinball loss. Small logistic terms become the chi-square distance, which is never
    smaller and at most about twice as large.
    """
    if loss == "squared":
        return np.asarray((predictions - y - 0.5 * slopes) ** 2)
    if loss == "pinball":
        error = y - predictions
        return np.where(error > 0, (tau + slopes) * error, (slopes - (1.0 - tau)) * error)
    share, margin = -y * slopes, y * predictions
    if loss == "hinge":
        return np.where(margin < 1.0, (1.0 - share) * (1.0 - margin), share * (margin - 1.0))
    q, rest = expit(-margin), expit(margin)
    chi_square = (share - q) ** 2 / (q * rest)
    divergence = rel_entr(share, q) + rel_entr(1.0 - share, rest)
    return np.where(chi_square < 1e-6, chi_square, divergence)
