r"""What earlier guarantees of Gaussian projections ask of a table, on one axis.

Blocki, Blum, Datta and Sheffet (2012) and Sheffet (2017) hide a whole record, response included, by
the table's own spread: if the least eigenvalue of :math:`M^\top M`, M = [X y], is large beside the
squared norm of a record, S M may go out without noise, and a smaller one is lifted by noise. Lev et
al. (2025) need less of it, by Rényi divergences. Whoever knows the rest of the table compares m
normal numbers of variance 1 and of variance 1 - h, h the leverage of the record, so that the least
floor that any proof could reach is known too. The axis: that eigenvalue over the squared norm.

What these guarantees are worth to a regression, beside noisy moments (Analyze Gauss, Dwork et al.
2014), AdaSSP and noisy gradients at the same budget of a record:
:func:`~dplit_studies.projection.per_record.compare_per_record`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from dplit._checks import check_integer, check_positive, check_probability
from dplit.entries._checks import check_pair
from dplit.mechanisms import gaussian_epsilon


def table_floor(X: ArrayLike, y: ArrayLike) -> float:
    """Least eigenvalue of the Gram matrix of [X y], over the squared norm of its longest record.

    >>> table_floor([[1.0], [-1.0], [1.0], [-1.0]], [1.0, 1.0, -1.0, -1.0])
    2.0
    """
    rows, labels = check_pair(X, y)
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
    return _least_floor(lambda floor: _renyi_epsilon(floor, delta, m) - epsilon)


def _least_floor(over: Callable[[float], float]) -> float:
    """Floor, at least 1, at which a decreasing function is zero."""
    return math.exp(brentq(lambda log: over(math.exp(log)), 1e-3, 30.0, xtol=1e-10))


def _renyi_epsilon(floor: float, delta: float, m: int) -> float:
    """Epsilon at ``delta`` of m mixtures over a public floor, by the best Rényi divergence."""
    h = 1.0 / floor

    def at(log_order: float) -> float:
        a = 1.0 + math.exp(log_order)
        loss = m / 2.0 * (a * math.log1p(-h) - math.log1p(-a * h))
        return (loss - math.log(delta * a)) / (a - 1.0) + math.log1p(-1.0 / a)

    high = math.log(floor - 1.0) - 1e-9
    return float(minimize_scalar(at, bounds=(high - 20.0, high), method="bounded").fun)


@lru_cache(maxsize=256)  # every trial asks the same question
def mixing_floor(*, epsilon: float, delta: float, n_components: int) -> float:
    r"""Floor :math:`\gamma` that Lev et al.'s LinearMixing lifts a table to, told with noise.

    The table's own least eigenvalue goes out with noise of deviation :math:`\gamma/\sqrt m` times
    the squared norm. It, the mixtures and an eigenvalue that is told too large get a third of delta
    each; epsilons add up. The noise is accounted for exactly, where they have the classical rule.

    >>> round(mixing_floor(epsilon=1.0, delta=1e-5, n_components=60), 1)
    58.0
    """
    m = _checked(epsilon, delta, n_components)

    def over(floor: float) -> float:
        told = gaussian_epsilon(delta=delta / 3.0, sigma=floor / math.sqrt(m))
        return float(told) + _renyi_epsilon(floor, delta / 3.0, m) - epsilon

    return _least_floor(over)


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

    return _least_floor(
        lambda floor: exact_delta(epsilon=epsilon, floor=floor, n_components=m) - delta
    )


def _checked(epsilon: float, delta: float, n_components: int) -> int:
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    return check_integer("n_components", n_components)
