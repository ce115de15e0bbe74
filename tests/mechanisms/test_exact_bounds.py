"""Exact noise against mpmath: certified errors, tails, all scales, and the path that was not taken.

No test here has a probability of failing: for any words, what is drawn is determined.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dplit._numerics import fixed_point
from dplit.mechanisms import _exact as exact
from dplit.mechanisms import _quantiles as quantiles
from dplit.mechanisms import _variates as variates
from dplit.mechanisms._bits import words_of
from dplit.streams import stream
from tests.mechanisms.exact_laws import Script, mp_tail

LAWS = ("normal", "exponential")


def many_words(count: int, name: str) -> NDArray[np.uint64]:
    """Words at random, of which a third are in tails and a third near the ends of pieces."""
    rng = stream(0, name, "data")
    words = rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)
    third = count // 3
    words[:third] >>= rng.integers(0, 64, third).astype(np.uint64)
    piece = rng.integers(1, 2**11, third).astype(np.uint64) << np.uint64(53)
    words[third : 2 * third] = piece + rng.integers(-4, 4, third).astype(np.uint64)
    return words


def worst_ratio(law: Any, words: NDArray[np.uint64]) -> float:
    """Largest error in units of its bound, over all numbers that begin with the words."""
    value, error = exact._floats(law, words)
    worst = 0.0
    for word, x, e in zip(words.tolist(), value.tolist(), error.tolist(), strict=True):
        if not math.isfinite(e):
            continue
        for p in (word >> 1, (word >> 1) + 1):
            p = mpmath.ldexp(p, -63)
            if p == 0:
                continue
            missing = mp_tail(law, mpmath.mpf(x)) - p  # of q(p) - x, about, in units of the slope
            slope = mpmath.exp(-mpmath.mpf(x))
            if law == "normal":
                slope = mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-(mpmath.mpf(x) ** 2) / 2)
            worst = max(worst, abs(float(missing / slope)) / e)
    return worst


def check_certificates(law: Any, count: int) -> None:
    with mpmath.workdps(50):
        worst = worst_ratio(law, many_words(count, f"exact-{law}-{count}"))
    assert 0.4 < worst < 1.0


@pytest.mark.parametrize("law", LAWS)
def test_errors_are_below_their_bounds_at_ten_thousand_points(law: str) -> None:
    """Kills a bound that is 2.5 times as small: the largest error is above 0.4 of it."""
    check_certificates(law, 5000)


@pytest.mark.weekly
@pytest.mark.parametrize("law", LAWS)
def test_errors_are_below_their_bounds_at_a_hundred_thousand_points(law: str) -> None:
    check_certificates(law, 50_000)


@pytest.mark.parametrize("law", LAWS)
def test_polynomials_alone_are_within_their_own_bounds(law: str) -> None:
    """Kills a coefficient that is off by 100 u, a piece too wide, a derivative of the wrong piece.

    Of exact floats p, with the leading float unrounded: errors of some hundredths of an ulp.
    """
    table = quantiles.normal_table() if law == "normal" else quantiles.exponential_table()
    rng = stream(0, f"exact-polynomials-{law}", "data")
    exponents = rng.uniform(-17, -1, 2000) if law == "normal" else rng.uniform(-64, 6, 2000)
    p = np.minimum(np.exp2(exponents), np.nextafter(table.end, 0))
    leading, rest, row = table.evaluate(p)
    worst = 0.0
    with mpmath.workdps(60):
        for a, b, bound, q in zip(leading, rest, table.own[row], p, strict=True):
            x, q = mpmath.mpf(float(a)) + mpmath.mpf(float(b)), mpmath.mpf(float(q))
            if law == "normal":
                missing = (mpmath.erfc(x / mpmath.sqrt(2)) / 2 - q) / mpmath.npdf(x)
            else:
                missing = -mpmath.log(q) - x
            worst = max(worst, abs(float(missing)) / float(bound))
    assert 0.1 < worst < 1.0


@pytest.mark.parametrize("bits", [64, 128, 256, 700])
def test_whole_number_functions_enclose_mpmath(bits: int) -> None:
    """Kills a guard that is too short and a bound on the wrong side."""
    rng = stream(0, f"exact-fixed-{bits}", "data")
    with mpmath.workprec(4 * bits + 200):
        unit = mpmath.mpf(2) ** bits
        for _ in range(30 if bits < 256 else 8):
            value = int(rng.uniform(0, 12) ** 2 * 2**40) << (bits - 43)
            value |= int(rng.integers(2**31))
            x = mpmath.mpf(value) / unit
            for function, truth in (
                (fixed_point.exp_minus, mpmath.exp(-x)),
                (fixed_point.normal_density, mpmath.npdf(x)),
                (fixed_point.normal_tail, mpmath.erfc(x / mpmath.sqrt(2)) / 2),
            ):
                low, high = function(value, bits)
                assert low <= truth * unit <= high
                assert high - low <= 3
            low, high = fixed_point.minus_log(value + 1, bits, bits)
            assert low <= -mpmath.log((value + 1) / unit) * unit <= high
            tail = (value >> 9) + 1
            start = float(-mpmath.sqrt(2) * mpmath.erfinv(2 * tail / unit - 1))
            found = fixed_point.normal_quantile(tail, bits, start)
            assert found is not None
            low, high = found
            assert mp_tail("normal", low / unit) / 2 * unit >= tail
            assert mp_tail("normal", high / unit) / 2 * unit <= tail


def true_whole(law: str, p: mpmath.mpf, scale: Fraction, near: int) -> int:
    """round(scale q(p)), found by mpmath as the whole number whose boundaries enclose p."""
    factor = mpmath.mpf(scale.numerator) / scale.denominator
    k, step = near, 1
    while p > mp_tail(law, (k - mpmath.mpf(1) / 2) / factor):  # the variate is below k - 1/2
        k -= step
    while p < mp_tail(law, (k + mpmath.mpf(1) / 2) / factor):
        k += step
    return k


@pytest.mark.parametrize("law", LAWS)
def test_every_exponent_of_the_scale_gives_what_mpmath_gives(law: Any) -> None:
    """Scales from 2^-300 to 2^46, words as above, then the middle of what a word leaves open.

    Kills a scale that is rounded before its product and a prefix that is read as its lower end.
    """
    rng = stream(0, f"exact-scales-{law}", "data")
    exponents = [*range(-12, 46), *rng.integers(-300, -12, 18).tolist()]
    for exponent in exponents:
        scale = Fraction(math.ldexp(float(rng.uniform(0.5, 1.0)), exponent))
        scale += Fraction(1, 3 * 2**70) * scale  # no float
        words = many_words(42, f"exact-scales-{law}-{exponent}")
        drawn = exact._independent(law, len(words), scale, Script(words.tolist()))
        with mpmath.workprec(400):
            for word, k in zip(words.tolist(), drawn.tolist(), strict=True):
                p = mpmath.ldexp((word >> 1) + mpmath.mpf(1) / 2, -63)
                p += mpmath.ldexp(1, -128) / 1000  # within the middle, on no boundary
                assert abs(k) == true_whole(law, p, scale, abs(k))
                assert k <= 0 if word & 1 else k >= 0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [1e-3, 0.7, 1e6, 2.0**45])
def test_tails_to_two_to_the_minus_two_hundred(law: Any, scale: float) -> None:
    """Words of zeros lead there: the first 63 bits of the uniform number, and 64 from each more."""
    for zeros in range(1, 5):
        for last in (1, 2**63 + 12345, 2**64 - 1):
            script = Script([0, *[0] * (zeros - 1), last, 2**63])
            (k,) = exact._independent(law, 1, Fraction(scale), script).tolist()
            bits = 63 + 64 * (zeros - 1) + 64
            with mpmath.workprec(bits + 500):
                p = mpmath.ldexp(mpmath.mpf(last) + mpmath.mpf(1) / 2, -bits)
                assert k == true_whole(law, p, Fraction(scale), k)
        if zeros >= 3:
            assert p < mpmath.mpf(2) ** -180


FORCED = [0.3, 1.0, 1e6, 2.0**36, 2.0**43, 2.0**47]


@pytest.mark.parametrize("scale", FORCED)
def test_all_decided_in_whole_numbers_are_the_same_draws(scale: float) -> None:
    """The same numbers and the same words used. Kills bits of another variate, a fast path that is
    wrong by one in the last place, and words asked for where none are needed.
    """
    unit = Fraction(scale)

    def both(sampler: Any, *arguments: Any, **options: Any) -> None:
        drawn = []
        for check in (False, True):
            rng = stream(0, f"exact-forced-{scale:g}", "noise")
            numbers = sampler(*arguments, words_of(rng), **options, check=check)
            drawn.append((numbers.tolist(), rng.bit_generator.state))
        assert drawn[0] == drawn[1]

    for law in LAWS:
        both(exact._independent, law, 400, unit)
    for dimension in (1, 2, 3, 6):
        both(exact._gamma_norm, 120 // dimension, dimension, unit)
        both(exact._k_norm, 60 // dimension, dimension, unit, disc=True)
        both(exact._k_norm, 60 // dimension, dimension, unit, disc=False)


def test_a_fast_path_that_is_trusted_too_far_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of the test above: bounds of zero, at a scale of 2^45 steps."""
    unit, name = Fraction(2**45), "exact-planted"
    right = exact._independent("normal", 5000, unit, words_of(stream(0, name, "noise")))
    floats = exact._floats
    monkeypatch.setattr(
        exact, "_floats", lambda law, words: (floats(law, words)[0], np.zeros(len(words)))
    )
    monkeypatch.setattr(exact, "_U", 0.0)
    wrong = exact._independent("normal", 5000, unit, words_of(stream(0, name, "noise")))
    assert 0 < (right != wrong).mean() < 0.2


def gamma_radius(words: list[int], root: bool, normal: int | None) -> mpmath.mpf:
    """The radius of the middles of words, by mpmath."""
    half = mpmath.mpf(1) / 2
    total = -sum(mpmath.log(mpmath.ldexp((word >> 1) + half, -63)) for word in words)
    if normal is not None:
        p = mpmath.ldexp((normal >> 1) + half, -63)
        total += mpmath.erfinv(1 - p) ** 2
    return mpmath.sqrt(2 * total) if root else total


@pytest.mark.parametrize(("count", "odd", "root"), [(1, False, False), (1, True, True)])
def test_radii_in_floats_are_within_their_bounds(count: int, odd: bool, root: bool) -> None:
    """Kills a relative bound 7 times as small, at both ends of what the words leave open."""
    rows = 400
    words = many_words(rows * (count + odd), f"exact-radii-{count}-{odd}").tolist()
    radii = exact._Radii(
        Fraction(1), rows, exponentials=count, normal=odd, root=root, words=Script(words)
    )
    worst = 0.0
    with mpmath.workdps(40):
        for row, (value, relative) in enumerate(zip(radii.values, radii.relative, strict=True)):
            if not math.isfinite(relative):
                continue
            for end in (0, 1):
                total = -mpmath.log(mpmath.ldexp((words[row] >> 1) + end, -63))
                if odd:
                    p = mpmath.ldexp((words[rows + row] >> 1) + end, -63)
                    total += mpmath.erfinv(1 - p) ** 2
                true = mpmath.sqrt(2 * total) if root else total
                missing = abs(float(true - mpmath.mpf(float(value))))
                worst = max(worst, missing / float(relative * value))
    assert 0.15 < worst < 1.0


def test_vectors_are_what_mpmath_makes_of_their_words() -> None:
    """Radii of 1 to 101 variates, with and without a normal one, at 2^30 and 2^40 steps.

    Words of the radii come first, a row each, then the normal ones, then those of coordinates.
    """
    for scale in (2**30, 2**40):
        for d in (1, 2, 7, 20):
            count, odd = (d + 1) // 2, d % 2 == 0
            rng = stream(0, f"exact-words-{d}", "data")
            words = rng.integers(0, 2**64 - 1, count + odd + d, np.uint64, endpoint=True)
            row = exact._gamma_norm(1, d, Fraction(scale), Script(words.tolist()))[0]
            with mpmath.workdps(40):
                radius = gamma_radius(
                    words[:count].tolist(), True, int(words[count]) if odd else None
                )
                for word, k in zip(words[count + odd :].tolist(), row.tolist(), strict=True):
                    p = mpmath.ldexp((word >> 1) + mpmath.mpf(1) / 2, -63)
                    x = radius * scale * mpmath.sqrt(2) * mpmath.erfinv(1 - p)
                    assert abs(k) == int(mpmath.nint(x))
                    assert k <= 0 if word & 1 else k >= 0
        for m in (1, 50):
            count = 2 * m + 1
            rng = stream(0, f"exact-cube-{m}", "data")
            words = rng.integers(0, 2**64 - 1, count + 2 * m, np.uint64, endpoint=True)
            parts = exact._k_norm(1, m, Fraction(scale), Script(words.tolist()), disc=False)
            with mpmath.workdps(40):
                radius = gamma_radius(words[:count].tolist(), False, None)
                for word, k in zip(words[count:].tolist(), parts.ravel().tolist(), strict=True):
                    x = radius * scale * mpmath.ldexp((word >> 1) + mpmath.mpf(1) / 2, -63)
                    assert abs(k) == int(mpmath.nint(x))


def test_a_radius_without_a_bound_learns_more_bits() -> None:
    """Kills a radius that is never lengthened: its word is 0, so that it is above 9 and open."""
    own, scale = 0x5555555555555554, 2.0**30
    for more in (1, 12345, 2**63):
        script = Script([0, own, 7, more])  # the radius, the coordinate, and more of the two
        (k,) = exact._gamma_norm(1, 1, Fraction(scale), script).ravel().tolist()
        with mpmath.workdps(60):
            radius = mpmath.sqrt(-2 * mpmath.log(mpmath.ldexp(more + mpmath.mpf(1) / 2, -127)))
            p = mpmath.ldexp((own >> 1) * mpmath.mpf(2) ** 64 + 7.5, -127)
            assert k == int(mpmath.nint(scale * radius * mpmath.sqrt(2) * mpmath.erfinv(1 - p)))


def test_a_point_on_the_circle_is_decided_by_its_further_bits() -> None:
    """(3/5, 4/5) is no binary number: two words leave it open on which side of the circle it is."""
    x, y = (3 << 63) // 5, (4 << 63) // 5
    for more, inside in ((0, True), (2**64 - 1, False)):
        script = Script([2 * x, 2 * y, more, more, *[1 << 62] * 8])
        words, known = exact._in_discs(2, script)
        assert (words.tolist() == [2 * x, 2 * y]) == inside
        assert ({i: uniform.bits for i, uniform in known.items()} == {0: 127, 1: 127}) == inside


def test_a_boundary_inside_a_prefix_asks_for_more_bits() -> None:
    """Half a step of a Laplace variate at scale 1 is where p = exp(-1/2): floor and next word."""
    with mpmath.workdps(60):
        floor = int(mpmath.floor(mpmath.exp(-mpmath.mpf(1) / 2) * 2**63))
        next_bits = mpmath.frac(mpmath.exp(-mpmath.mpf(1) / 2) * 2**63) * 2**64
    for more, answer in ((int(next_bits) - 1, 1), (int(next_bits) + 1, 0)):
        script = Script([2 * floor, more])
        assert exact._independent("exponential", 1, Fraction(1), script).tolist() == [answer]
        assert script(1)[0] == 1 << 63  # the word was used
        shared = variates.Uniform(floor, 63, Script([more]))
        assert (
            variates.whole_number("exponential", shared, variates.Constant(Fraction(1))) == answer
        )
