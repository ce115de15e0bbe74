"""Variates that are known to so many bits, and more when asked: the exact half of a sampler.

A uniform number is an endless row of bits of which a prefix is known, so that it lies in an
interval. All that is made of uniform numbers lies in intervals too, computed in whole numbers
(:mod:`dplit._numerics.fixed_point`). Whether such a variate is above a boundary is answered as soon
as its interval is on one side; until then the prefixes are lengthened. Bits are never replaced: a
variate that decided one coordinate decides the next with the same bits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, Protocol

from scipy.special import ndtri

from dplit._numerics.fixed_point import (
    Interval,
    exp_minus,
    minus_log,
    normal_quantile,
    normal_tail,
)
from dplit.mechanisms._bits import Words

#: Of the size of a standard normal variate, of a standard exponential one, and on (0, 1).
Law = Literal["normal", "exponential", "uniform"]

_WORD = 64
_NONE = Fraction(0)
_MORE = 64  # bits of work beyond those of a prefix


class Uniform:
    """A uniform number in ``[value, value + 1) 2^-bits``, of which more bits can be had."""

    __slots__ = ("bits", "value", "words")

    def __init__(self, value: int, bits: int, words: Words) -> None:
        self.value, self.bits, self.words = value, bits, words

    def lengthen(self) -> None:
        """Learn one word more."""
        self.value = self.value << _WORD | int(self.words(1)[0])
        self.bits += _WORD


class Factor(Protocol):
    """What multiplies a variate: a public constant, or a radius that coordinates share."""

    def quotient(self, numerator: Fraction, bits: int) -> Interval:
        """Bounds of ``numerator`` divided by the factor, times ``2^bits``."""

    def lengthen(self) -> None:
        """Learn more bits of what the factor is made of."""

    def near(self) -> float:
        """A float that is near the factor."""


class Constant:
    """A public rational number."""

    def __init__(self, value: Fraction) -> None:
        self._value = value

    def quotient(self, numerator: Fraction, bits: int) -> Interval:
        """As the protocol says."""
        ratio = numerator / self._value
        below = (ratio.numerator << bits) // ratio.denominator
        return below, below + (ratio.denominator != 1)

    def lengthen(self) -> None:
        """Nothing is unknown."""

    def near(self) -> float:
        """As the protocol says."""
        return float(self._value)


class Radius:
    """``scale W`` or ``scale sqrt(2 W)``, where W is a sum of exponential variates, and of half the
    square of a standard normal one if ``normal`` is given.

    The exponential variates are minus the logarithms of ``uniforms``: one logarithm of a product.
    """

    def __init__(
        self, scale: Fraction, uniforms: list[Uniform], normal: Uniform | None, root: bool
    ) -> None:
        self._scale, self._uniforms, self._normal, self._root = scale, uniforms, normal, root
        self._known: dict[int, tuple[int, int | None]] = {}

    def _log_product(self, bits: int, above: int) -> int | None:
        """Bound of minus the log of the product, of which each factor is 0 or 1 units larger."""
        mantissa, exponent = 1, 0
        for uniform in self._uniforms:
            mantissa *= uniform.value + above
            exponent -= uniform.bits
            surplus = mantissa.bit_length() - bits - 2 * _MORE
            if surplus > 0:
                mantissa, exponent = (mantissa >> surplus) + above, exponent + surplus
        return minus_log(mantissa, -exponent, bits)[1 - above] if mantissa else None

    def _half_square(self, bits: int, above: int) -> int | None:
        uniform = self._normal
        if uniform is None:
            return 0
        tail = (uniform.value + above) << (bits - uniform.bits - 1)
        found = normal_quantile(tail, bits, _near_normal(uniform)) if tail else None
        if found is None:
            return 0 if above else None
        return (found[1 - above] ** 2 >> (bits + 1)) + (1 - above)

    def _interval(self, bits: int) -> tuple[int, int | None]:
        """Bounds of the radius in units of ``scale 2^-bits``; None above is no bound."""
        if bits not in self._known:
            work = max(bits, self._uniforms[0].bits + _MORE)
            low, high = (
                None if part is None or other is None else part + other
                for part, other in (
                    (self._log_product(work, above), self._half_square(work, above))
                    for above in (1, 0)
                )
            )
            low = max(low or 0, 0)
            if self._root:
                low = math.isqrt(low << (work + 1))
                high = None if high is None else math.isqrt(high << (work + 1)) + 1
            drop = work - bits
            self._known[bits] = low >> drop, None if high is None else (high >> drop) + 1
        return self._known[bits]

    def quotient(self, numerator: Fraction, bits: int) -> Interval:
        """As the protocol says."""
        low, high = self._interval(bits)
        ratio = numerator / self._scale
        top = ratio.numerator << 2 * bits
        least = 0 if high is None else top // (ratio.denominator * high)
        if low == 0:
            return least, 1 << 64 * bits  # no bound, so that nothing is decided
        return least, top // (ratio.denominator * low) + 1

    def lengthen(self) -> None:
        """Learn one word more of every variate."""
        self._known.clear()
        for uniform in self._uniforms:
            uniform.lengthen()
        if self._normal is not None:
            self._normal.lengthen()

    def near(self) -> float:
        """As the protocol says."""
        low, high = self._interval(2 * _MORE)
        return float(self._scale) * math.ldexp(
            low if high is None else (low + high) // 2, -2 * _MORE
        )


def _near_normal(uniform: Uniform) -> float:
    return -float(ndtri((uniform.value + 0.5) / (1 << (uniform.bits + 1))))


def _near(law: Law, uniform: Uniform) -> float:
    """A float near the variate; nothing rests on it."""
    p = (uniform.value + 0.5) / (1 << uniform.bits)
    if law == "uniform":
        return p
    return _near_normal(uniform) if law == "normal" else -math.log(p)


def is_above(law: Law, uniform: Uniform, boundary: Interval, bits: int) -> bool | None:
    """Whether the variate is above a number within ``boundary 2^-bits``; None: not known yet.

    The normal variate is the one whose tail probability is half the uniform number, and that of the
    exponential variate is the uniform number, so that small numbers make large variates.
    """
    low, high = boundary
    if law == "uniform":
        first = uniform.value << (bits - uniform.bits)
        last = (uniform.value + 1) << (bits - uniform.bits)
        return True if first >= high else False if last <= low else None
    shift = bits - uniform.bits - (law == "normal")
    least, most = (normal_tail if law == "normal" else exp_minus)(low, bits)
    least -= high - low  # slopes are at most 1
    if (uniform.value + 1) << shift <= least:
        return True
    return False if uniform.value << shift >= most else None


def whole_number(
    law: Law,
    uniform: Uniform,
    factor: Factor,
    low: int = -1,
    high: int | None = None,
    *,
    shift: Fraction = _NONE,
) -> int:
    """Return ``round(factor times variate + shift)``, a tie (of probability 0) up; never negative.

    Parameters
    ----------
    law : {"normal", "exponential", "uniform"}
    uniform, factor : Uniform, Factor
        Lengthened where needed.
    low, high : int
        The answer is known to be above ``low`` and at most ``high``; None: nothing is known.
    shift : Fraction, default=0
        In [-1/2, 1/2].
    """

    def above(k: int) -> bool:
        boundary = Fraction(2 * k + 1, 2) - shift
        while True:
            bits = uniform.bits + _MORE
            answer = is_above(law, uniform, factor.quotient(boundary, bits), bits)
            if answer is not None:
                return answer
            uniform.lengthen()
            factor.lengthen()

    if high is None:
        guess, step = round(min(factor.near() * _near(law, uniform), 2.0**500)), 1
        if above(guess):
            low = guess
            while above(low + step):
                low, step = low + step, 2 * step
            high = low + step
        else:
            high = guess
            while (low := max(high - step, -1)) >= 0 and not above(low):
                high, step = low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return high
