"""What one prediction costs in noise (standard deviation) under each release, in closed form."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import partial
from typing import NamedTuple

from dplit._checks import check_integer, check_positive, check_probability
from dplit.kernels.lipschitz import lipschitz_stability
from dplit.kernels.queries import query_scale
from dplit.mechanisms import gaussian_sigma
from dplit.papers.erm.gamma_release import gamma_deviation

#: No number of answers or features is searched beyond this.
_LARGEST_COUNT = 2**62


class ReleaseCosts(NamedTuple):
    """Noise of the releases at one sample size.

    ``sensitivity`` is Theorem 2's; ``printed_scale`` the Laplace scale of the scalar shift, private
    for no epsilon; ``query_scale`` that of one answer; ``gaussian_process`` the standard deviation
    of any answer, ``textbook`` by Hall, Rinaldo and Wasserman's sufficient condition;
    ``gamma_lengths`` the mean length of gamma-norm noise by dimension.
    """

    n_records: int
    regularization: float
    sensitivity: float
    printed_scale: float
    query_scale: float
    gaussian_process: float
    textbook: float
    gamma_lengths: tuple[float, ...]


def release_costs(
    n_records: int,
    *,
    epsilon: float = 0.5,
    delta: float = 1e-5,
    regularization: float | None = None,
    dimensions: tuple[int, ...] = (2, 41),
) -> ReleaseCosts:
    r"""Noise of each release for a loss with slopes at most 1 and features of norm 1.

    With :math:`\Delta=1/(\lambda m)`, by default :math:`\lambda=m^{-1/3}`: printed scale
    :math:`\Delta/(2\epsilon)`, one answer :math:`\Delta/\epsilon`, textbook
    :math:`\sqrt{2\ln(2/\delta)}\,\Delta/\epsilon` (proved for epsilon < 1), gamma-norm
    :math:`d\Delta/\epsilon`.

    >>> costs = release_costs(1000)
    >>> round(costs.query_scale, 5), round(costs.gaussian_process, 5)
    (0.02, 0.07032)
    """
    m = check_integer("n_records", n_records)
    eps, level = check_positive("epsilon", epsilon), check_probability("delta", delta)
    penalty = m ** (-1.0 / 3.0) if regularization is None else regularization
    change = lipschitz_stability(lipschitz=1.0, regularization=penalty, n_records=m)
    answer = query_scale(n_queries=1, sensitivity=change, epsilon=eps)
    return ReleaseCosts(
        n_records=m,
        regularization=float(penalty),
        sensitivity=change,
        printed_scale=answer / 2.0,
        query_scale=answer,
        gaussian_process=float(gaussian_sigma(epsilon=eps, delta=level, sensitivity=change)),
        textbook=math.sqrt(2.0 * math.log(2.0 / level)) * change / eps,
        gamma_lengths=tuple(check_integer("dimensions", d) * change / eps for d in dimensions),
    )


def break_even_queries(*, epsilon: float, delta: float, dimension: int | None = None) -> int:
    r"""Largest number of answers for which Laplace noise has no more variance than its rival.

    For a positive delta the rival is the process: the last q with
    :math:`\sqrt2\,q/\epsilon\le\sigma`. For delta = 0 no process is private, and the rival is
    gamma-norm noise on ``dimension`` features, which must be given: :math:`\sqrt2\,q\le\sqrt{d+1}`,
    whatever epsilon is. 0 if there is none.

    >>> break_even_queries(epsilon=0.5, delta=1e-5)
    2
    >>> break_even_queries(epsilon=0.5, delta=0.0, dimension=80)
    6
    """
    budget = check_positive("epsilon", epsilon)
    d = 1 if dimension is None and delta != 0.0 else check_integer("dimension", dimension)
    if delta == 0.0:
        return math.isqrt((d + 1) // 2)
    sigma = float(gaussian_sigma(epsilon=budget, delta=delta))

    def deviation(q: int) -> float:
        return math.sqrt(2.0) * query_scale(n_queries=q, sensitivity=1.0, epsilon=budget)

    return bisect_right(range(1, _LARGEST_COUNT), sigma, key=deviation)


def break_even_dimension(*, epsilon: float, delta: float) -> int:
    r"""Largest number of features for which gamma-norm noise has less variance than the process.

    The last d with :math:`\sqrt{d+1}/\epsilon\le\sigma`; 0 if there is none. It compares a pure
    guarantee with one at this delta, so it is no advice to whom delta must be 0.

    >>> break_even_dimension(epsilon=0.5, delta=1e-5)
    11
    """
    sigma = float(gaussian_sigma(epsilon=check_positive("epsilon", epsilon), delta=delta))
    deviation = partial(gamma_deviation, sensitivity=1.0, epsilon=epsilon)
    return bisect_right(range(1, _LARGEST_COUNT), sigma, key=deviation)
