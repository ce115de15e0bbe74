r"""Hoeffding's inequality and the sample error, beside exact laws of fair coins.

The sample error :math:`S=\mathcal E_z(f_\lambda)-\mathcal E(f_\lambda)` is a centred mean, since
:math:`f_\lambda` is fixed before the sample.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.stats import binom

from dplit._checks import check_choice, check_integer, check_positive

__all__ = ["coin_tail", "hoeffding_bound", "mean_coin_error", "sample_error_bound"]


def hoeffding_bound(deviation: float, *, n_records: int, radius: float) -> float:
    r"""Lemma 2: tail of the mean of independent variables near their expectation.

    Parameters
    ----------
    deviation : float
        t, positive.
    n_records : int
        m, at least 1.
    radius : float
        :math:`\Xi` with :math:`|\xi-\mathbb E\xi|\le\Xi`; positive.

    Returns
    -------
    float
        :math:`2e^{-mt^2/(2\Xi^2)}`, a bound on the probability of a deviation of at least t to
        either side.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Lemma 2.

    Examples
    --------
    >>> round(hoeffding_bound(0.3, n_records=50, radius=1.0), 4)
    0.2108
    """
    t, r = check_positive("deviation", deviation), check_positive("radius", radius)
    return 2.0 * math.exp(-check_integer("n_records", n_records) * t * t / (2.0 * r * r))


def coin_tail(deviation: float, *, n_records: int) -> float:
    r"""Exact probability that the mean of m fair signs is at least t away from 0.

    Parameters
    ----------
    deviation : float
        t, positive.
    n_records : int
        m, at least 1.

    Returns
    -------
    float
        Both tails of the binomial law; radius 1 in :func:`hoeffding_bound`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> coin_tail(1.0, n_records=3)
    0.25
    """
    t, m = check_positive("deviation", deviation), check_integer("n_records", n_records)
    least = math.ceil(m * (1.0 + t) / 2.0 - 1e-9)  # positive signs in the upper tail
    return 2.0 * float(binom.sf(least - 1, m, 0.5))


def sample_error_bound(
    *, n_records: int, loss_bound: float, version: Literal["printed", "variance"] = "variance"
) -> float:
    r"""Bound on :math:`\mathbb E|S|` for losses in :math:`[0,B_\rho]` (Proposition 4).

    Parameters
    ----------
    n_records : int
        m, at least 1.
    loss_bound : float
        :math:`B_\rho`, positive.
    version : {"variance", "printed"}
        "printed": :math:`2\sqrt{2\pi}B_\rho/\sqrt m`, stated for :math:`\mathbb ES`. "variance":
        :math:`B_\rho/(2\sqrt m)`, a standard deviation.

    Returns
    -------
    float
        The mean :math:`\mathbb ES` itself is 0, since :math:`f_\lambda` is fixed before the
        sample.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Proposition 4.

    Examples
    --------
    >>> sample_error_bound(n_records=400, loss_bound=1.0)
    0.025
    """
    root = math.sqrt(check_integer("n_records", n_records))
    check_choice("version", version, ("printed", "variance"))
    factor = 2.0 * math.sqrt(2.0 * math.pi) if version == "printed" else 0.5
    return factor * check_positive("loss_bound", loss_bound) / root


def mean_coin_error(n_records: int) -> tuple[float, float]:
    r"""Exact means of the sample error S and of its modulus for losses 0 or 1 with equal chance.

    Parameters
    ----------
    n_records : int
        m, at least 1.

    Returns
    -------
    mean, modulus : float
        :math:`\mathbb ES` and :math:`\mathbb E|S|`.

    Raises
    ------
    TypeError, ValueError
        If ``n_records`` is not a positive integer.

    Examples
    --------
    >>> mean, modulus = mean_coin_error(400)
    >>> abs(mean) < 1e-12, round(modulus, 5)
    (True, 0.01993)
    """
    m = check_integer("n_records", n_records)
    counts = np.arange(m + 1)
    chance, error = binom.pmf(counts, m, 0.5), counts / m - 0.5
    return float(chance @ error), float(chance @ np.abs(error))
