r"""Penalties that a solve can honour, and the one that balances noise against bias.

The balance is between the noise of a prediction, :math:`\sigma(\alpha)^2`, and the squared bias of
ridge, which keeps a share :math:`\alpha/(s+\alpha)` of what lies along an eigenvector of
:math:`\Phi^\top\Phi` with eigenvalue s. No data are read: labels (in units of half the width of
their bounds) are given the variance 1/12, that of labels spread evenly over half of the bounds,
and their energy is spread evenly over the logarithm of s between n, the largest possible, and
n/100. The bias is then, with :math:`h(u)=\log\frac{u}{1+u}+\frac1{1+u}`,

.. math:: B(\alpha)=\frac{h(n/\alpha)-h(n/(100\,\alpha))}{12\log100}.

For many records B grows like :math:`(\alpha/n)^2` and :math:`\sigma^2\approx\tau^2n\,\alpha^{-3}`,
tau the noise for sensitivity 1: the penalty is in proportion to :math:`\tau^{2/5}n^{3/5}`.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

from dplit.random_features._certified_ridge import ridge_rounding
from dplit.random_features.ridge import crude_sensitivity, record_sensitivity

__all__ = ["LABEL_VARIANCE", "Bound", "balanced_penalty", "certified_sensitivity"]

Bound = Literal["record", "crude"]

#: Variance of labels spread evenly over half of their bounds, [-1/2, 1/2].
LABEL_VARIANCE = 1.0 / 12.0
#: Ratio of the eigenvalues between which their energy is spread.
_SPREAD = 100.0
#: Largest share of a sensitivity that may be due to rounding.
_ROUNDING_SHARE = 1e-3


def certified_sensitivity(alpha: float, n_records: int, n_coefficients: int, bound: Bound) -> float:
    """Return the bound for labels in [-1, 1] with the rounding of two solves; inf if too much.

    Too much is a thousandth of the bound, and where the factorisation is not sure to exist.
    """
    if bound == "crude":
        exact = crude_sensitivity(alpha=alpha, label_norm=math.sqrt(n_records))
    else:
        exact = record_sensitivity(alpha=alpha, label_bound=1.0, n_records=n_records)
    exact *= 1.0 + 1e-12  # its own rounding, and rows that rounding made longer than 1
    rounding = 2.0 * ridge_rounding(alpha, n_records, n_coefficients)
    return exact + rounding if rounding <= _ROUNDING_SHARE * exact else math.inf


def _bias(alpha: float, n_records: int) -> float:
    def h(u: float) -> float:
        return 1.0 / (1.0 + u) - math.log1p(1.0 / u)

    u = n_records / alpha
    return LABEL_VARIANCE * (h(u) - h(u / _SPREAD)) / math.log(_SPREAD)


@functools.lru_cache(maxsize=1024)
def balanced_penalty(n_records: int, n_coefficients: int, unit: float, bound: Bound) -> float:
    """Return the penalty with the least squared noise plus bias, to 9 percent.

    ``unit`` is the standard deviation of the noise for sensitivity 1.
    """

    def risk(alpha: float) -> float:
        noise = unit * certified_sensitivity(alpha, n_records, n_coefficients, bound)
        return noise * noise + _bias(alpha, n_records)

    best: float = min((n_records * 2.0**k for k in range(40, -61, -1)), key=risk)
    return float(min((best * 2.0 ** (k / 8.0) for k in range(-8, 9)), key=risk))
