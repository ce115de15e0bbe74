"""Neighbouring data sets that move a minimiser as far as the theorems allow.

All live in a linear kernel on one or two axes, so that they can be checked by hand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dplit._checks import Array, check_integer, check_positive, check_probability
from dplit.kernels.lipschitz import lipschitz_stability
from dplit.kernels.losses import lipschitz_constant
from dplit.papers.erm.kernels import linear_kernel
from dplit.papers.erm.minimisers import _solve_gram, fit_linear

#: Up to this many records the exact kernel solver is used, beyond it the one for features.
_KERNEL_LIMIT = 600


class _SharpPair(NamedTuple):
    """Two neighbouring samples for the linear kernel; they differ in the last record.

    ``kappa`` is the largest length of an admissible point, ``tau`` the level of the pinball loss.
    """

    points: Array
    labels: Array
    other_points: Array
    other_labels: Array
    loss: str
    regularization: float
    kappa: float
    tau: float = 0.5


class _PairDistance(NamedTuple):
    """Distance of two fits in the space, and how far that of the minimisers can be from it."""

    distance: float
    error: float


def _balanced_hinge_pair(
    *, n_records: int, regularization: float, kappa: float = 1.0
) -> _SharpPair:
    r"""All points at kappa, labels balanced up to one, and one label flips: Theorem 2 is attained.
    lambda is at least :math:`\kappa^2/(2m)` for odd m, where the minimisers are
    :math:`w=\pm\kappa/(2\lambda m)`, and :math:`\kappa^2/m` for even m (0 and
    :math:`-\kappa/(\lambda m)`).
    """
    m = check_integer("n_records", n_records)
    radius = check_positive("kappa", kappa)
    penalty = check_positive("regularization", regularization)
    least = radius**2 / (m if m % 2 == 0 else 2 * m)
    if penalty < least * (1.0 - 1e-12):
        raise ValueError(f"regularization must be at least {least:g}, got {penalty!r}")
    points = np.full((m, 1), radius)
    labels = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    if m % 2 == 0:
        labels[-2:] = -1.0, 1.0  # balanced; the flip makes the mean -2/m
    other = labels.copy()
    other[-1] = -other[-1]
    return _SharpPair(points, labels, points.copy(), other, "hinge", penalty, radius)


def saturated_hinge_pair(*, n_records: int) -> _SharpPair:
    r"""The pair that attains Theorem 1 with the constant 2: :math:`X=\{1\}`, B = 2.

    lambda = 1/(2m) with m odd: the minimisers are 1 and -1.
    """
    m = check_integer("n_records", n_records)
    if m % 2 == 0:
        raise ValueError(f"n_records must be odd, got n_records={n_records!r}")
    return _balanced_hinge_pair(n_records=m, regularization=1.0 / (2 * m))


def _moved_pinball_pair(
    *, n_records: int, regularization: float, tau: float, kappa: float = 1.0
) -> _SharpPair:
    r"""One record moves from kappa to -kappa, all others sit at 0: pinball loss attains Theorem 2.
    Its label :math:`\pm\kappa^2C_L/(2\lambda m)` has the sign of :math:`\tau-\frac12`; the
    minimisers are :math:`\pm\kappa C_L/(2\lambda m)` with :math:`C_L=\max(\tau,1-\tau)`.
    """
    m = check_integer("n_records", n_records)
    penalty = check_positive("regularization", regularization)
    radius = check_positive("kappa", kappa)
    level = check_probability("tau", tau)
    points = np.zeros((m, 1))
    points[-1] = radius
    labels = np.zeros(m)
    size = radius**2 * max(level, 1.0 - level) / (2.0 * penalty * m)
    labels[-1] = size if level >= 0.5 else -size
    return _SharpPair(points, labels, -points, labels.copy(), "pinball", penalty, radius, level)


def _logistic_pair(*, n_records: int, regularization: float, kappa: float = 1.0) -> _SharpPair:
    r"""Logistic loss comes as near to Theorem 2 as one likes while lambda tends to 0. m - 1 points
    sit at :math:`3\sqrt\lambda\,e_1`, of at most kappa; the last one is
    :math:`\kappa(-\cos\theta,\sin\theta)`, :math:`\cos\theta=\lambda^{1/4}`, or its mirror image.
    """
    m = check_integer("n_records", n_records)
    penalty = check_positive("regularization", regularization)
    radius = check_positive("kappa", kappa)
    if penalty > 1.0 or 3.0 * math.sqrt(penalty) > radius:
        raise ValueError(
            f"regularization must be at most min(1, (kappa/3)^2), got {regularization!r}"
        )
    cosine = penalty**0.25
    points = np.zeros((m, 2))
    points[:, 0] = 3.0 * math.sqrt(penalty)
    points[-1] = radius * -cosine, radius * math.sqrt(1.0 - cosine**2)
    labels = np.ones(m)
    return _SharpPair(
        points, labels, points * (1.0, -1.0), labels.copy(), "logistic", penalty, radius
    )


def pair_distance(pair: _SharpPair) -> _PairDistance:
    """Fit both samples of a pair and measure how far apart the minimisers are."""
    weights, errors = [], []
    for points, labels in ((pair.points, pair.labels), (pair.other_points, pair.other_labels)):
        if len(points) <= _KERNEL_LIMIT:
            fit = _solve_gram(
                linear_kernel(points, points),
                labels,
                loss=pair.loss,
                regularization=pair.regularization,
                tau=pair.tau,
                tol=1e-22,
            )
            weights.append(points.T @ fit.coefficients)
            errors.append(fit.distance)
        else:
            linear = fit_linear(
                points,
                labels,
                loss=pair.loss,
                regularization=pair.regularization,
                tau=pair.tau,
                tol=1e-26,
            )
            weights.append(linear.weights)
            errors.append(linear.distance)
    return _PairDistance(float(np.linalg.norm(weights[0] - weights[1])), sum(errors))


class _AttainedBound(NamedTuple):
    """A pair beside Theorem 2; ``by_hand`` is kappa C_L / (lambda m), the bound for gamma = 2."""

    name: str
    distance: float
    bound: float
    by_hand: float


def _beside_theorem_2(name: str, pair: _SharpPair) -> _AttainedBound:
    slope, m = lipschitz_constant(pair.loss, tau=pair.tau), len(pair.labels)
    bound = lipschitz_stability(
        lipschitz=slope, kappa=pair.kappa, regularization=pair.regularization, n_records=m
    )
    by_hand = pair.kappa * slope / (pair.regularization * m)
    return _AttainedBound(name, pair_distance(pair).distance, bound, by_hand)


def attained_bounds() -> list[_AttainedBound]:
    """Compare four hinge pairs, five pinball levels and three logistic pairs with Theorem 2.

    >>> [round(row.distance / row.bound, 4) for row in attained_bounds()][::11]
    [1.0, 0.9962]
    """
    rows = []
    for m, lam, kappa in ((1, 0.5, 1.0), (101, 0.05, 1.0), (101, 0.1, 2.0), (100, 0.1, 1.0)):
        pair = _balanced_hinge_pair(n_records=m, regularization=lam, kappa=kappa)
        rows.append(_beside_theorem_2(f"hinge, m = {m}, kappa = {kappa:g}", pair))
    for tau in (0.1, 0.25, 0.5, 0.75, 0.9):
        pair = _moved_pinball_pair(n_records=50, regularization=0.1, tau=tau)
        rows.append(_beside_theorem_2(f"pinball, level {tau}", pair))
    for m in (100, 10_000, 100_000):
        pair = _logistic_pair(n_records=m, regularization=1 / m)
        rows.append(_beside_theorem_2(f"logistic, m = {m:,}", pair))
    return rows
