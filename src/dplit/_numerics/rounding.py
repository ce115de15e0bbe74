"""Quotients and sums rounded outward: the float is never on the unsafe side of the number.

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
