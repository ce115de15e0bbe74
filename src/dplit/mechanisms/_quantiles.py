r"""Quantiles in float64 with a proved bound on their error: piecewise polynomials of a table.

A probability ``p`` of the upper tail is ``m 2^e`` with 1 <= m < 2. A *row* of the table belongs to
one exponent e and one of 64 pieces of [1, 2), and holds the Taylor polynomial of degree 7 of the
quantile at the middle of the piece. Only the index of a row, seven products, eight sums and gathers
are computed for a draw, all of which IEEE 754 prescribes to the last bit; no library function is
called, so that all machines agree.

Proved, with u = 2^-53 and for the piece of half-width h (in units of m, 2^-7):

- *Truncation.* Both quantiles are completely monotone in p (:math:`-\log p` visibly; for the normal
  one the n-th derivative is :math:`(-1)^nP_n(q)/\varphi(q)^n` with polynomials
  :math:`P_1=1,\ P_{n+1}=P_n'+nqP_n` of nonnegative coefficients, and q >= 0). So Lagrange's
  remainder is largest at the lower end of the piece: there it is computed.
- *Coefficients.* The value in the middle is the unevaluated sum of two floats, right to
  2^-80 (:mod:`dplit._numerics.fixed_point`); coefficient n >= 1 is right to 6 n u.
- *Horner.* The term of degree n passes through at most 2 n + 1 roundings. With the coefficients:
  at most (8 n + 1) u of its size, taken as 10 n u; what is added to the leading float is rounded
  once more on the way in.
- *Argument.* p is known up to a relative 2^-53 (the word to float64) and the next bits of the same
  uniform: the bound has this times the largest slope of the piece.

The last sum, rounded by u of itself, is left to the caller, as is the product with a scale. All
bounds are enlarged by 1 + 2^-10, which covers that they are computed in floats.

Measured, against mpmath: a polynomial's own error is at most 0.10 u, and 0.1 to 0.6 of its bound;
the whole error, at both ends of what a word leaves open, comes to 0.98 of its bound in the tails,
where the bits of the word are few, and never above.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dplit._checks import Array
from dplit._numerics.fixed_point import minus_log, normal_density, normal_tail

_DEGREE = 7
_PIECE_BITS = 6
_PIECES = 1 << _PIECE_BITS
_SHIFT = 52 - _PIECE_BITS
_LOW = np.int64((1 << _SHIFT) - 1)
_HALF = np.int64(1 << (_SHIFT - 1))
_BITS = 96  # of the values in the middle
_U = 2.0**-53

#: Exponents of the tail probabilities that the normal table holds: beyond, once in 2^16 draws, the
#: exact computation is asked.
NORMAL_OCTAVES = 16


class Table:
    """Taylor polynomials of a quantile at tail probabilities in [2^first, 2^end).

    Row 0 stands for smaller ones; its bound is infinite.
    """

    def __init__(self, values: list[Fraction], slopes: Array, first: int, end: int) -> None:
        """``values`` at the middles of the pieces, and derivatives 1 to 8 (pieces, 2, 8) in m
        divided by n!, in the middles and at the lower ends.
        """
        self._first = np.int64(((1023 + first) << _PIECE_BITS) - 1)
        self.end = math.ldexp(1.0, end)
        leading = np.array([float(value) for value in values])
        rest = [float(v - Fraction(f)) for v, f in zip(values, leading.tolist(), strict=True)]
        columns = [np.zeros(1 + len(values)) for _ in range(2 + _DEGREE)]
        columns[0][1:], columns[1][1:] = leading, rest
        half = 2.0 ** -(_PIECE_BITS + 1)
        sizes = np.abs(slopes[:, 0, :_DEGREE]) * half ** np.arange(1, _DEGREE + 1)
        for n in range(1, _DEGREE + 1):  # in units of 2^-52, those of the offset
            columns[n + 1][1:] = slopes[:, 0, n - 1] * 2.0 ** (-52 * n)
        self.columns = columns
        own = 10 * _U * (sizes @ np.arange(1, _DEGREE + 1)) + 2 * _U * np.abs(rest)
        own += np.abs(slopes[:, 1, _DEGREE]) * half ** (_DEGREE + 1)
        #: Largest error of ``leading + rest`` for a float p that is exact.
        self.own = np.concatenate([[math.inf], own * (1 + 2.0**-10)])
        octave, piece = np.divmod(np.arange(len(values)), _PIECES)
        self.octaves = first + octave
        #: Largest ``-p dq/dp`` of a row.
        slope = np.abs(slopes[:, 1, 0]) * (1 + (piece + 1) / _PIECES) * (1 + 2.0**-10)
        self.slope = np.concatenate([[math.inf], slope])

    def with_prefix(self, exponent: int) -> Array:
        """Bounds of all rows where p is ``m 2^exponent`` for a 63-bit whole number m, or up to one
        unit more, and the float is m rounded to nearest (and below its end).
        """
        known = np.ldexp(1.0, exponent - self.octaves)
        shift = np.concatenate([[math.inf], _U + np.where(known <= 0.25, known, math.inf)])
        return np.asarray(self.own + self.slope * shift * (1 + 2.0 * shift))

    def evaluate(self, p: Array) -> tuple[Array, Array, NDArray[np.int64]]:
        """Leading values, what is to be added to them, and rows, for floats 0 <= p < end."""
        bits = p.view(np.int64)
        row = np.maximum((bits >> _SHIFT) - self._first, 0)
        offset = ((bits & _LOW) - _HALF).astype(np.float64)
        columns = self.columns
        rest = columns[-1].take(row, mode="clip")
        part = np.empty_like(rest)
        for column in columns[-2:0:-1]:
            rest *= offset
            rest += column.take(row, out=part, mode="clip")
        return columns[0].take(row, out=part, mode="clip"), rest, row

    @cached_property
    def exponential_bounds(self) -> Array:
        """Bounds where p is ``(m + [0, 1]) 2^-63``."""
        return self.with_prefix(-63)

    @cached_property
    def normal_bounds(self) -> Array:
        """Bounds where p is ``(m + [0, 1]) 2^-64``."""
        return self.with_prefix(-64)


@lru_cache(maxsize=1)
def normal_table() -> Table:
    """Quantile of the normal law: x such that a standard normal exceeds it with probability p."""
    first, end = -1 - NORMAL_OCTAVES, -1
    middles, slopes = [], np.empty((NORMAL_OCTAVES * _PIECES, 2, _DEGREE + 1))
    for k in range(len(slopes)):
        octave, piece = divmod(k, _PIECES)
        unit = 2.0 ** (first + octave)
        p = (1 + (2 * piece + 1) / (2 * _PIECES)) * unit
        guess = -float(ndtri(p))
        tail = Fraction(sum(normal_tail(int(Fraction(guess) * (1 << _BITS)), _BITS)), 2 << _BITS)
        middle = Fraction(guess) + (tail - Fraction(p)) / Fraction(_near_density(guess))
        density = Fraction(normal_density(int(middle * (1 << _BITS)), _BITS)[0], 1 << _BITS)
        lower = -float(ndtri((1 + piece / _PIECES) * unit))
        slopes[k, 0] = _normal_slopes(float(middle), float(Fraction(unit) / density))
        slopes[k, 1] = _normal_slopes(lower, unit / _near_density(lower))
        middles.append(middle)
    return Table(middles, slopes, first, end)


def _near_density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _normal_slopes(x: float, step: float) -> list[float]:
    """n-th derivatives in m of the quantile divided by n!, where it is x and ``-dx/dm`` is step."""
    polynomial, slopes, power = [1.0], [], 1.0
    for n in range(1, _DEGREE + 2):
        power *= -step / n
        value = 0.0
        for coefficient in reversed(polynomial):
            value = value * x + coefficient
        slopes.append(power * value)
        raised = [0.0, *(n * c for c in polynomial)]
        for k, c in enumerate(polynomial[1:]):
            raised[k] += (k + 1) * c
        polynomial = raised
    return slopes


@lru_cache(maxsize=1)
def exponential_table() -> Table:
    """Quantile of the exponential law, ``-log p``, for p in [2^-64, 64)."""
    first, end = -64, 6
    log_two = Fraction(sum(minus_log(1, 1, _BITS)), 2 << _BITS)
    inside = [
        Fraction(sum(minus_log(2 * _PIECES + 2 * j + 1, 1 + _PIECE_BITS, _BITS)), 2 << _BITS)
        for j in range(_PIECES)
    ]
    values = [value - e * log_two for e in range(first, end) for value in inside]
    n = np.arange(1, _DEGREE + 2)
    ends = 1 + np.stack([np.arange(_PIECES) + 0.5, np.arange(_PIECES)], axis=1) / _PIECES
    slopes = (-1.0) ** n / n / ends[..., None] ** n
    return Table(values, np.tile(slopes, (end - first, 1, 1)), first, end)
