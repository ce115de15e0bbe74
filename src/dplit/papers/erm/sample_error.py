r"""Hoeffding's inequality, exact laws of fair coins, and the sample error, a centred mean since
:math:`f_\lambda` is fixed before the sample.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.stats import binom

from dplit._checks import check_choice, check_integer, check_positive


def hoeffding_bound(deviation: float, *, n_records: int, radius: float) -> float:
    r"""Lemma 2: bound on the probability of a deviation of at least t to either side.

    :math:`2e^{-mt^2/(2\Xi^2)}` with the ``radius`` :math:`\Xi\ge|\xi-\mathbb E\xi|`.
    """
    t, r = check_positive("deviation", deviation), check_positive("radius", radius)
    return 2.0 * math.exp(-check_integer("n_records", n_records) * t * t / (2.0 * r * r))


def coin_tail(deviation: float, *, n_records: int) -> float:
    """Exact probability that the mean of m fair signs (radius 1) is at least t away from 0."""
    t, m = check_positive("deviation", deviation), check_integer("n_records", n_records)
    least = math.ceil(m * (1.0 + t) / 2.0 - 1e-9)  # positive signs in the upper tail
    return 2.0 * float(binom.sf(least - 1, m, 0.5))


def sample_error_bound(
    *, n_records: int, loss_bound: float, version: Literal["printed", "variance"] = "variance"
) -> float:
    r"""Bound on :math:`\mathbb E|S|` for losses in :math:`[0,B_\rho]` (Proposition 4).

    ``"printed"`` :math:`2\sqrt{2\pi}B_\rho/\sqrt m`, stated for :math:`\mathbb ES`, which is 0;
    ``"variance"`` :math:`B_\rho/(2\sqrt m)`, a standard deviation.
    """
    root = math.sqrt(check_integer("n_records", n_records))
    check_choice("version", version, ("printed", "variance"))
    factor = 2.0 * math.sqrt(2.0 * math.pi) if version == "printed" else 0.5
    return factor * check_positive("loss_bound", loss_bound) / root


def mean_coin_error(n_records: int) -> tuple[float, float]:
    r"""Exact means of the sample error S and of its modulus for losses 0 or 1 with equal chance.

    >>> mean, modulus = mean_coin_error(400)
    >>> abs(mean) < 1e-12, round(modulus, 5)
    (True, 0.01993)
    """
    m = check_integer("n_records", n_records)
    counts = np.arange(m + 1)
    chance, error = binom.pmf(counts, m, 0.5), counts / m - 0.5
    return float(chance @ error), float(chance @ np.abs(error))
