"""Quotients, sums and roots rounded outward: the float is never on the unsafe side of the number.

Floats are rationals, so that a result is compared with the exact number and moved by one float at
most; exact results stay exact.  An upward result beyond the floats is inf.
"""

from __future__ import annotations

import math
from fractions import Fraction


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def round_up(value: Fraction) -> float:
    """Return the smallest float that is at least ``value`` >= 0."""
    number = _nearest(value)
    return number if math.isinf(number) or number >= value else math.nextafter(number, math.inf)


def round_down(value: Fraction) -> float:
    """Return the largest float that is at most ``value`` >= 0."""
    number = _nearest(value)
    return number if number <= value else math.nextafter(number, 0.0)


def _near_root(value: Fraction) -> float:
    """Return a float within a few ulps of the root, for any size of ``value``."""
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    scaled = math.sqrt(value / Fraction(4) ** shift)
    try:
        return math.ldexp(scaled, shift)
    except OverflowError:
        return math.inf


def root_up(value: Fraction) -> float:
    """Return the smallest float whose square is at least ``value`` >= 0."""
    number = _near_root(value)
    while 0 < number < math.inf and Fraction(math.nextafter(number, 0.0)) ** 2 >= value:
        number = math.nextafter(number, 0.0)
    while number < math.inf and Fraction(number) ** 2 < value:
        number = math.nextafter(number, math.inf)
    return number


def root_down(value: Fraction) -> float:
    """Return the largest float whose square is at most ``value`` >= 0."""
    number = root_up(value)
    exact = number < math.inf and Fraction(number) ** 2 == value
    return number if exact else math.nextafter(number, 0.0)
