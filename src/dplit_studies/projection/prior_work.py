r"""What earlier guarantees of Gaussian projections ask of a table, on one axis.

Blocki, Blum, Datta and Sheffet (2012) and Sheffet (2017) hide a whole record, response included, by
the table's own spread: if the least eigenvalue of :math:`M^\top M`, M = [X y], is large beside the
squared norm of a record, S M may go out without noise, and a smaller one is lifted by noise. Lev et
al. (2025) need less of it, by Rényi divergences. Whoever knows the rest of the table compares m
normal numbers of variance 1 and of variance 1 - h, h the leverage of the record, so that the least
floor that any proof could reach is known too. The axis: that eigenvalue over the squared norm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from dplit._checks import check_integer, check_positive, check_probability
from dplit.projection.regression import _check_pair


def table_floor(X: ArrayLike, y: ArrayLike) -> float:
    """Least eigenvalue of the Gram matrix of [X y], over the squared norm of its longest record.

    >>> table_floor([[1.0], [-1.0], [1.0], [-1.0]], [1.0, 1.0, -1.0, -1.0])
    2.0
    """
    rows, labels = _check_pair(X, y)
    M = np.column_stack([rows, labels])
    longest = float(np.max(np.sum(M**2, axis=1)))
    return float(np.linalg.svd(M, compute_uv=False)[-1]) ** 2 / longest


def sheffet_floor(*, epsilon: float, delta: float, n_components: int) -> float:
    r"""Floor of Sheffet (2017), as Lev et al. state it for a record that is left out:
    :math:`\frac4\epsilon\big(\sqrt{2m\ln(8/\delta)}+\ln(8/\delta)\big)`.

    >>> round(sheffet_floor(epsilon=1.0, delta=1e-5, n_components=60), 1)
    215.9
    """
    m, log = _checked(epsilon, delta, n_components), math.log(8.0 / delta)
    return 4.0 / epsilon * (math.sqrt(2.0 * m * log) + log)


def renyi_floor(*, epsilon: float, delta: float, n_components: int) -> float:
    r"""Floor by Rényi divergences, as in Lev et al. (2025), the floor itself being public.

    With leverage h and order :math:`\alpha<1/h` the divergence is
    :math:`\frac m{2(\alpha-1)}\big(\alpha\ln(1-h)-\ln(1-\alpha h)\big)`; it is turned into epsilon
    at the best order.

    >>> round(renyi_floor(epsilon=1.0, delta=1e-5, n_components=60), 1)
    28.8
    """
    m = _checked(epsilon, delta, n_components)

    def spent(log_floor: float) -> float:
        h = math.exp(-log_floor)

        def at(log_order: float) -> float:
            a = 1.0 + math.exp(log_order)
            loss = m / 2.0 * (a * math.log1p(-h) - math.log1p(-a * h))
            return (loss - math.log(delta * a)) / (a - 1.0) + math.log1p(-1.0 / a)

        high = math.log(1.0 / h - 1.0) - 1e-9
        found = minimize_scalar(at, bounds=(high - 20.0, high), method="bounded")
        return float(found.fun) - epsilon

    return math.exp(brentq(spent, 1e-3, 30.0, xtol=1e-10))


def exact_delta(*, epsilon: float, floor: float, n_components: int) -> float:
    """Exact delta of m mixtures, for a record of leverage 1 / floor that may be left out.

    The table with the record against the one without; the other order is never larger.
    """
    m, h = check_integer("n_components", n_components), 1.0 / check_positive("floor", floor)
    if h >= 1.0:
        return 1.0
    size = (2.0 * epsilon - m * math.log1p(-h)) * (1.0 - h) / h  # where the odds are e^epsilon
    return float(chi2.sf(size, m) - math.exp(epsilon) * chi2.sf(size / (1.0 - h), m))


def exact_floor(*, epsilon: float, delta: float, n_components: int) -> float:
    """Least floor that any proof by the least eigenvalue can reach.

    >>> round(exact_floor(epsilon=1.0, delta=1e-5, n_components=60), 1)
    25.7
    """
    m = _checked(epsilon, delta, n_components)

    def gap(log_floor: float) -> float:
        reached = exact_delta(epsilon=epsilon, floor=math.exp(log_floor), n_components=m)
        return reached - delta

    return math.exp(brentq(gap, 1e-6, 30.0, xtol=1e-10))


def _checked(epsilon: float, delta: float, n_components: int) -> int:
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    return check_integer("n_components", n_components)
