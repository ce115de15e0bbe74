"""Choices are decided exactly: for scores of any size, with the noise of the stated law.

Every p-value is asked to be above 1e-5; what has no p-value has no probability of failing.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from dplit.mechanisms import _choices as choices
from dplit.mechanisms._bits import words_of
from dplit.streams import stream
from tests.mechanisms.exact_laws import Script

LEVEL = 1e-5
LAWS: tuple[Any, ...] = ("gumbel", "exponential")


def rng(name: str) -> np.random.Generator:
    return stream(0, f"exact-choices-{name}", "noise")


def in_middle(law: str, word: int) -> mpmath.mpf:
    """The noise of the middle of what a word leaves open."""
    exponential = -mpmath.log(mpmath.ldexp((word >> 1) + mpmath.mpf(1) / 2, -63))
    return exponential if law == "exponential" else -mpmath.log(exponential)


def awkward_scores(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Scores close together, far apart, huge or equal."""
    kind = generator.integers(5)
    scores = generator.normal(size=n) * (1.0, 1e-12, 1e6, 1e300, 0.0)[kind]
    return scores + (0.0, 1e15, -3.0, 0.0, 1.7e308)[kind]


@pytest.mark.parametrize("law", LAWS)
def test_noise_in_floats_is_within_its_bound_of_mpmath(law: Any) -> None:
    """Kills a bound that is 4 times as small, and a relative error of E lost before the second log.

    Words at random, in the tail, and near 1, where -log(-log U) is large and most in doubt.
    """
    generator = stream(0, f"exact-choices-bounds-{law}", "data")
    words = generator.integers(0, 2**64 - 1, 1500, np.uint64, endpoint=True)
    words[:400] >>= generator.integers(0, 40, 400).astype(np.uint64)
    words[400:800] = ~(words[400:800] >> generator.integers(0, 40, 400).astype(np.uint64))
    value, error = choices._noise_floats(law, words)
    worst = 0.0
    with mpmath.workdps(50):
        for word, x, e in zip(words.tolist(), value.tolist(), error.tolist(), strict=True):
            if math.isfinite(e):
                for end in (0, 1):
                    noise = -mpmath.log(mpmath.ldexp((word >> 1) + end, -63))
                    noise = noise if law == "exponential" else -mpmath.log(noise)
                    worst = max(worst, abs(float(noise - mpmath.mpf(x))) / e)
    assert np.isfinite(error).mean() > 0.95
    assert 0.25 < worst < 1.0


def test_gumbel_noise_in_floats_has_its_law() -> None:
    """False alarm 2e-5.  Kills a sign, and a law of minima for one of maxima."""
    words = rng("law").integers(0, 2**64 - 1, 10**5, np.uint64, endpoint=True)
    assert stats.kstest(choices._noise_floats("gumbel", words)[0], "gumbel_r").pvalue > LEVEL
    assert stats.kstest(choices._noise_floats("exponential", words)[0], "expon").pvalue > LEVEL


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_choice_is_the_largest_sum_by_mpmath(law: Any, sign: float) -> None:
    """Kills scores that swallow noise, a rounded sum, and a sign that is lost."""
    generator = stream(0, f"exact-choices-largest-{law}-{sign}", "data")
    for case in range(150):
        n = int(generator.integers(1, 12))
        scores = awkward_scores(generator, n)
        scale = float(2.0 ** generator.integers(-20, 20) * (1, 1e285)[case % 7 == 0])
        words = generator.integers(0, 2**64 - 1, n, np.uint64, endpoint=True)
        chosen = choices._largest(
            [scores], scale=scale, law=law, sign=sign, draw=Script(words.tolist())
        )
        with mpmath.workprec(2400):
            sums = [
                sign * mpmath.mpf(s) + mpmath.mpf(scale) * in_middle(law, word)
                for s, word in zip(scores.tolist(), words.tolist(), strict=True)
            ]
        assert chosen == max(range(n), key=sums.__getitem__)


@pytest.mark.parametrize("law", LAWS)
def test_all_candidates_decided_in_whole_numbers_choose_the_same(law: Any) -> None:
    """The same choice and the same words used, in one chunk and in many."""
    generator = stream(0, f"exact-choices-forced-{law}", "data")
    for case in range(40):
        scores = awkward_scores(generator, 60)
        found = []
        for check, pieces in ((False, 1), (True, 1), (False, 7)):
            noise = rng(f"forced-{law}-{case}")
            index = choices._largest(
                np.array_split(scores, pieces),
                scale=1.0,
                law=law,
                sign=1.0,
                draw=words_of(noise),
                check=check,
            )
            found.append((index, noise.bit_generator.state))
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("law", LAWS)
def test_equal_words_are_decided_by_their_further_bits(law: Any) -> None:
    """Kills a tie that goes to the first: the same scores, the same 63 bits, different next words.

    Small uniform numbers make large exponential and small Gumbel noise.
    """
    word = 0x123456789ABCDEF0
    for more, first_wins in (((5, 2**63), True), ((2**63, 5), False)):
        expected = 0 if first_wins == (law == "exponential") else 1
        script = Script([word, word, *more])
        assert (
            choices._largest([np.zeros(2)], scale=1.0, law=law, sign=1.0, draw=script) == expected
        )


@pytest.mark.parametrize("law", LAWS)
def test_words_of_zeros_and_ones_ask_for_more(law: Any) -> None:
    """A uniform number of 63 zeros so far has no bound above, one of 63 ones none below.

    Small uniform numbers make large exponential and small Gumbel noise.
    """
    ones = 2**64 - 1
    high, low = (0, ones) if law == "exponential" else (ones, 0)
    more, less = (9, 2**63) if law == "exponential" else (2**63, 9)
    for words, chosen in (
        ([low, high, low], 1),
        ([high, low, high, more, less], 0),  # the two that have no bound are asked, in order
        ([high, low, high, less, more], 2),
    ):
        script = Script(words)
        index = choices._largest([np.zeros(3)], scale=1.0, law=law, sign=1.0, draw=script)
        assert index == chosen


def permute_and_flip(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of report noisy max with standard exponential noise, by quadrature.

    Candidate i is chosen where its sum is t and the others are below: a product of 1 - e^-(t - s).
    """
    top = scores.max()
    t = top + np.linspace(0.0, 60.0, 600_001)
    below = -np.expm1(-(t - scores[:, None]))
    density = np.exp(-(t - scores[:, None]))
    others = [np.prod(np.delete(below, i, axis=0), axis=0) for i in range(len(scores))]
    chances = np.trapezoid(density * np.array(others), t, axis=1)
    return np.asarray(chances / chances.sum())


@pytest.mark.parametrize("law", LAWS)
def test_choices_have_the_law_of_their_mechanism(law: Any) -> None:
    """False alarm 1e-5, of 8,000 choices; the law of the other mechanism is refused."""
    scores, n = np.array([0.0, 1.0, 1.5, 3.0]), 8_000
    noise = rng(f"choices-{law}")
    found = np.bincount(
        [choices.largest([scores], scale=1.0, law=law, rng=noise) for _ in range(n)], minlength=4
    )
    laws = {"gumbel": special.softmax(scores), "exponential": permute_and_flip(scores)}
    for name, chances in laws.items():
        assert (stats.chisquare(found, n * chances).pvalue > LEVEL) == (name == law)


def test_the_system_chooses_without_a_generator() -> None:
    """False alarm 2^-99: a hundred choices of two equal scores are not all the same."""
    assert len({choices.largest([np.zeros(2)], scale=1.0, law="gumbel") for _ in range(100)}) == 2


def test_no_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="scores must not be empty"):
        choices.largest([], scale=1.0, law="gumbel")
