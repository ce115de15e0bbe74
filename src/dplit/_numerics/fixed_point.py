"""Logarithm, exponential and normal tail with as many bits as wanted, in whole numbers.

A real x is held as a whole number near ``x 2^bits``. Each function returns two whole numbers with
the true value between them. Inside, ``_GUARD`` more bits are used, and the error in their units:

- a series of N terms, each at most its predecessor, ends within 4 N units (both divisions of a term
  round down, and what a term inherits it makes smaller), and N stays below 2^12 to 2,000 bits;
- an exponent of two is multiplied by log 2 with 32 bits more, or is at most ``bits + 2``;
- in the normal tail, terms may be as large as ``exp(x^2/2)``, and as many bits are added, so that
  the density, at most ``exp(-x^2/2)``, makes the N^2 units of their sum small again.

That is below ``2^26 < 2^_GUARD`` units: one unit of the result on each side contains it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

_GUARD = 32

Interval = tuple[int, int]


def _outward(value: int, extra: int) -> Interval:
    """Drop ``extra`` guard bits from a value whose error is below ``2^extra`` units."""
    below = value >> extra
    return below - 1, below + 2


def _atanh_twice(numerator: int, denominator: int, bits: int) -> int:
    """``2 atanh(y)``, 0 <= y = numerator/denominator <= 1/3, with truncated terms y^k / k."""
    power = (numerator << (bits + 1)) // denominator
    square = (numerator * numerator << bits) // (denominator * denominator)
    total, k = 0, 1
    while power:
        total += power // k
        power = power * square >> bits
        k += 2
    return total


@lru_cache(maxsize=64)
def _log_two(bits: int) -> int:
    return _atanh_twice(1, 3, bits)


@lru_cache(maxsize=64)
def _root_two_pi(bits: int) -> int:
    """``sqrt(2 pi)`` by Machin's formula for pi."""
    more = 2 * bits + 16

    def arctan(inverse: int) -> int:
        power = (1 << more) // inverse
        total, k, sign = 0, 1, 1
        while power:
            total += sign * (power // k)
            power //= inverse * inverse
            k, sign = k + 2, -sign
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    return math.isqrt(2 * pi >> (more - 2 * bits))


def minus_log(numerator: int, denominator_bits: int, bits: int) -> Interval:
    """Bounds of ``-log(numerator / 2^denominator_bits)``, times ``2^bits``; numerator >= 1.

    Examples
    --------
    >>> low, high = minus_log(1, 1, 40)
    >>> low <= math.log(2) * 2**40 <= high, high - low
    (True, 3)
    """
    work = bits + _GUARD
    length = numerator.bit_length()  # numerator = m 2^(length - 1), 1 <= m < 2
    one = 1 << (length - 1)
    inside = _atanh_twice(numerator - one, numerator + one, work)
    halvings = denominator_bits - length + 1
    return _outward((halvings * _log_two(work + 32) >> 32) - inside, _GUARD)


def _exp_minus(value: int, bits: int) -> int:
    """``exp(-value / 2^bits)``, nearly, for value >= 0."""
    halvings = value // _log_two(bits)
    if halvings > bits + 2:
        return 0
    rest = value - halvings * _log_two(bits)
    term, total, k = 1 << bits, 1 << bits, 1
    while term:
        term = (term * rest >> bits) // k
        total += -term if k & 1 else term
        k += 1
    return total >> halvings


def exp_minus(value: int, bits: int) -> Interval:
    """Bounds of ``exp(-value / 2^bits)``, times ``2^bits``; value >= 0.

    Examples
    --------
    >>> low, high = exp_minus(1 << 40, 40)
    >>> low <= math.exp(-1) * 2**40 <= high, high - low
    (True, 3)
    """
    low, high = _outward(_exp_minus(value << _GUARD, bits + _GUARD), _GUARD)
    return max(low, 0), high


def normal_density(value: int, bits: int) -> Interval:
    """Bounds of the normal density at ``value / 2^bits``, times ``2^bits``."""
    work = bits + _GUARD
    x = value << _GUARD
    density = (_exp_minus(x * x >> (work + 1), work) << work) // _root_two_pi(work)
    low, high = _outward(density, _GUARD)
    return max(low, 0), high


def normal_tail(value: int, bits: int) -> Interval:
    r"""Bounds of the tail :math:`1-\Phi(x)` at ``x = value / 2^bits >= 0``, times ``2^bits``.

    Notes
    -----
    :math:`\Phi(x)-\frac12=\varphi(x)\,(x+x^3/3+x^5/15+\cdots)`, a series of positive terms. Its sum
    is as large as :math:`e^{x^2/2}`, by which roundings inside are enlarged before the density
    makes them small again.

    Examples
    --------
    >>> low, high = normal_tail(0, 60)
    >>> low <= 2**59 <= high
    True
    """
    square = Fraction(value * value, 1 << 2 * bits)
    if square > Fraction(7, 5) * bits:  # the tail is below exp(-x^2/2) / 2
        return 0, 1
    extra = _GUARD + math.ceil(square * Fraction(3, 4))  # 3/4 > log2(e) / 2
    work = bits + extra
    x = value << extra
    x_square = x * x >> work
    term, total, k = x, x, 3
    while term:
        term = (term * x_square >> work) // k
        total += term
        k += 2
    density = (_exp_minus(x_square >> 1, work) << work) // _root_two_pi(work)
    low, high = _outward((1 << (work - 1)) - (density * total >> work), extra)
    return max(low, 0), high


def normal_quantile(tail: int, bits: int, start: float) -> Interval | None:
    """Bounds of the x >= 0 at which the normal tail is ``tail / 2^bits``, times ``2^bits``.

    ``start`` is a guess of x, from which Newton's method starts; bounds are those at which the tail
    is seen to be on the other side. None where ``bits`` do not suffice.
    """
    x = int(Fraction(start) * (1 << bits))
    for _ in range(bits.bit_length()):
        middle = sum(normal_tail(x, bits)) // 2
        density = normal_density(x, bits)[0]
        if not density:
            return None
        move = ((middle - tail) << bits) // density
        x = max(x + move, 0)
        if abs(move) <= max(4, (8 << bits) // density):
            break
    width = 8 + (8 << bits) // max(density, 1)
    low, high = max(x - width, 0), x + width
    if (low and normal_tail(low, bits)[0] < tail) or normal_tail(high, bits)[1] > tail:
        return None
    return low, high
