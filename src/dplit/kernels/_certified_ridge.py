"""Ridge coefficients on cos/sin features whose distance from the exact ones is known beforehand.

And the penalty that balances noise against bias, from sizes and budget alone: labels have variance
1/12, spread evenly over the logarithm of the eigenvalues of Phi^T Phi from n/100 to n. And how many
waves are drawn, how wide, from the same.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dplit._bounds import LARGEST_INPUT
from dplit._checks import Array, quiet
from dplit._numerics.clipping import silenced
from dplit._numerics.trigonometry import angle_factor, scaled_cosine_and_sine
from dplit.kernels.ridge_sensitivity import crude_sensitivity, record_sensitivity
from dplit.mechanisms.values import Gaussian

#: Records whose products are added in one matrix product.
_ROWS = 2048

#: Angles of a block, which stay in the second-level cache.
_ANGLES = 1 << 15

#: Largest angle of a record and a frequency, before any cosine: nothing overflows.
_LARGEST_ANGLE = 1e300


def feature_rows(X: Array, frequencies: Array) -> Array:
    """Return rows ``[cos<w_k, x>, sin<w_k, x>] / sqrt(K)`` (n, 2K) of any finite records.

    Angles are added column by column: no matrix product lets a row's bits depend on its place.
    Records are clamped where angles would overflow.
    """
    weights = frequencies * angle_factor(np.dtype(np.float64))
    count = weights.shape[1]
    longest = max(float(np.abs(frequencies).sum(axis=0).max()), 1e-300)
    limit = min(LARGEST_INPUT, _LARGEST_ANGLE / longest)
    rows = np.empty((len(X), 2 * count))
    step = max(1, _ANGLES // count)
    for start in range(0, len(X), step):
        piece = slice(start, min(start + step, len(X)))
        records = np.clip(X[piece], -limit, limit)
        angle, term = np.zeros((2, len(records), count))
        for column, weight in zip(records.T, weights, strict=True):
            angle += np.multiply(column[:, None], weight, out=term)
        scaled_cosine_and_sine(angle, rows[piece, :count], rows[piece, count:], count**-0.5)
    return rows


def feature_ridge(
    X: Array,
    y: Array,
    frequencies: Array,
    alpha: float,
    known: NDArray[np.bool_] | None = None,
) -> Array:
    """Return the minimiser of ``||Phi c - y||^2 + alpha ||c||^2`` for labels in [-1, 1].

    Rows of records whose label is not ``known`` are zeros; None: all are known. The smaller system
    is solved; no more than a block of the features is ever in memory.
    """
    n, p = len(X), 2 * frequencies.shape[1]
    known = np.ones(n, bool) if known is None else known
    if n < p:
        rows = silenced(feature_rows(X, frequencies), known)
        return np.asarray(_solve(rows @ rows.T, y, alpha) @ rows)
    gram, moment = np.zeros((p, p)), np.zeros(p)
    for start in range(0, n, _ROWS):
        part = slice(start, start + _ROWS)
        rows = silenced(feature_rows(X[part], frequencies), known[part])
        gram += rows.T @ rows
        moment += rows.T @ y[part]
    return _solve(gram, moment, alpha)


def _solve(gram: Array, right: Array, alpha: float) -> Array:
    gram[np.diag_indices_from(gram)] += alpha
    factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right, check_finite=False))


def ridge_rounding(alpha: float, n_records: int, n_coefficients: int) -> float:
    """Bound on ``||computed - exact||_2`` of :func:`feature_ridge`; inf where none holds.

    For all data sets of these sizes with rows of norm 1 and labels in [-1, 1].
    """
    n, p = n_records, n_coefficients
    q = min(n, p)
    length = p if n < p else min(n, _ROWS) + -(-n // _ROWS)
    eps = float(np.finfo(float).eps)
    sums = eps * length * n
    eta = sums + eps * 4 * (q + 1) * (math.sqrt(n) + math.sqrt(alpha)) ** 2
    if q * eta > alpha / 2:
        return math.inf
    size = min(math.sqrt(n / alpha) / 2, n / alpha)
    return (size * eta + sums) / (alpha - eta)


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


#: Strengths below which 10 frequencies do, and from which 160 do better than 40.
_WEAK, _STRONG = 200.0, 3000.0

#: Columns up to which so few do, and in which narrow waves do not get lost.
_FEW, _REACHED = 5, 4


def public_waves(strength: float, n_features: int, shape: str | None = None) -> tuple[int, float]:
    """Return number of frequencies and gamma for columns in [-1, 1]: the rule of
    :func:`dplit.advice.kernels.waves`. ``strength`` is the number of records over the
    deviation of the noise that hides one of sensitivity 1.
    """
    if shape == "rough" and n_features < _REACHED:
        return 40, 16.0 / n_features
    if strength < _WEAK and n_features <= _FEW:
        return 10, 4.0 / n_features
    if strength >= _STRONG:
        return 160, 4.0 / n_features
    return 40, (1.0 if shape == "smooth" else 4.0) / n_features


#: Ends of the share of the budget that a mean gets, and its strength from which a share gives it a
#: deviation of a tenth of half the bounds.
_LEAST, _MOST, _HEARD = 0.05, 0.4, 20.0


def mean_share(strength: float) -> float:
    """Return the share of the squared Gaussian budget for the mean; ``strength`` as above."""
    return min(_MOST, max(_LEAST, (_HEARD / strength) ** 2))


@quiet
def noisy_mean(units: Array, unit: float, rng: np.random.Generator | None) -> float:
    """Return the private mean of labels in [-1, 1], drawn to 0 where it is hardly seen.

    ``unit`` is the deviation of the noise for sensitivity 1. A sum that is rounded once is wrong by
    2^-53 n at most, and its quotient by 2^-53 more: twice that is added to 2 / n.
    """
    exact, moved = math.fsum(units.data) / len(units), 2.0 / len(units) * (1 + 1e-12) + 2**-50
    sigma = moved * unit
    noisy = Gaussian(sigma).add([exact], hides="mean of the labels", sensitivity=moved, rng=rng)
    found = float(noisy[0])
    seen = 2.0 * sigma  # two deviations: a mean of 0 then costs little
    return min(1.0, max(-1.0, found - seen * (seen / found))) if abs(found) > seen else 0.0
