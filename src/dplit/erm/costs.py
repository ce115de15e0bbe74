r"""What one answer costs in noise under each release, in closed form.

A release is judged by the standard deviation of the noise on one prediction, with kappa = 1 and the
sensitivity of Theorem 2. No data, no simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dplit._checks import check_integer, check_positive, check_probability
from dplit.erm.gamma_release import gamma_deviation
from dplit.erm.queries import query_scale
from dplit.erm.stability import lipschitz_stability
from dplit.mechanisms import gaussian_sigma

__all__ = ["ReleaseCosts", "break_even_dimension", "break_even_queries", "release_costs"]


class ReleaseCosts(NamedTuple):
    """Noise of the releases at one sample size.

    ``sensitivity`` is Theorem 2's; ``printed_scale`` the Laplace scale printed for the scalar
    shift, which is private for no epsilon; ``query_scale`` the Laplace scale of one answer;
    ``gaussian_process`` the standard deviation of any answer of the whole function;
    ``textbook`` the same with the sufficient condition of Hall, Rinaldo and Wasserman;
    ``gamma_lengths`` the mean length of the gamma-norm noise for each dimension asked.
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

    Parameters
    ----------
    n_records : int
        Number m of records, at least 1.
    epsilon : float, default=0.5
        Positive.
    delta : float, default=1e-5
        In (0, 1).
    regularization : float or None, default=None
        The paper's lambda, positive; None is Theorem 4's choice for beta = 1, ``m ** (-1/3)``.
    dimensions : tuple of int, default=(2, 41)
        Numbers of features for the gamma-norm noise.

    Returns
    -------
    ReleaseCosts

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With :math:`\Delta=1/(\lambda m)`: printed scale :math:`\Delta/(2\epsilon)`, one answer
    :math:`\Delta/\epsilon`, textbook :math:`\sqrt{2\ln(2/\delta)}\,\Delta/\epsilon` (proved for
    epsilon < 1), gamma-norm :math:`d\Delta/\epsilon`.

    Examples
    --------
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


def _last(holds: Callable[[int], bool]) -> int:
    """Return the largest nonnegative integer up to which a monotone condition holds."""
    top = 1
    while holds(top):
        top *= 2
    low = top // 2
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (middle, top) if holds(middle) else (low, middle)
    return low


def break_even_queries(*, epsilon: float, delta: float) -> int:
    r"""Largest number of answers for which Laplace noise has less variance than the process.

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        Of the Gaussian process, in (0, 1); the answers have delta 0.

    Returns
    -------
    int
        Largest q with :math:`\sqrt2\,q/\epsilon\le\sigma`; 0 if there is none. From q + 1 answers
        on the whole function costs less.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> break_even_queries(epsilon=0.5, delta=1e-5)
    2
    """
    sigma = float(gaussian_sigma(epsilon=check_positive("epsilon", epsilon), delta=delta))
    return _last(
        lambda q: (
            math.sqrt(2.0) * query_scale(n_queries=q, sensitivity=1.0, epsilon=epsilon) <= sigma
        )
    )


def break_even_dimension(*, epsilon: float, delta: float) -> int:
    r"""Largest number of features for which gamma-norm noise has less variance than the process.

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        Of the Gaussian process, in (0, 1); the gamma-norm noise has delta 0.

    Returns
    -------
    int
        Largest d with :math:`\sqrt{d+1}/\epsilon\le\sigma`, at any point; 0 if there is none.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> break_even_dimension(epsilon=0.5, delta=1e-5)
    11
    """
    sigma = float(gaussian_sigma(epsilon=check_positive("epsilon", epsilon), delta=delta))
    return _last(lambda d: gamma_deviation(d, sensitivity=1.0, epsilon=epsilon) <= sigma)
