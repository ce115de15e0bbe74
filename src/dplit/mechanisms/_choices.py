"""The largest of scores with noise, decided exactly: what private choices are made of.

Scores are taken as the rational numbers that they are, and the noise is real: of the stated law to
the last bit. Sums are computed in float64 with bounds on their errors; the candidates that could be
the largest, nearly always one, are decided in whole numbers with more bits of the same noise.

Whether bits are asked for a second time depends on scores as well as on noise: it happens with a
probability of about 1e-15 times the number of candidates, whatever the scores, and takes some tens
of microseconds. Nothing else in the time of a choice depends on scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, quiet
from dplit._numerics.fixed_point import minus_log
from dplit.mechanisms._bits import Words, words_of
from dplit.mechanisms._draws import passed
from dplit.mechanisms._exact import exponential_floats
from dplit.mechanisms._quantiles import exponential_table
from dplit.mechanisms._variates import Uniform

NoiseOfScores = Literal["gumbel", "exponential"]

_U = 2.0**-53
_LARGE = 1e280  # noise beyond it could overflow beside a score
_TINY = 2.0**-1070  # products of small scales lose this much at most
_MORE = 64


class _Candidates(NamedTuple):
    """Sums of score and noise, ``total + rest`` right to ``error``, and what they are made of."""

    place: NDArray[np.int64]
    score: Array
    word: NDArray[np.uint64]
    total: Array
    rest: Array
    error: Array

    def possible(self) -> _Candidates:
        """Return those that could be the largest."""
        if not len(self.place):
            return self
        known = np.isfinite(self.error)
        total = np.where(known, self.total, -math.inf)
        ties = np.flatnonzero(total == total.max())
        top = int(ties[self.rest[ties].argmax()])
        ahead, further = self.total[top] - self.total, self.rest[top] - self.rest
        slack = self.error + self.error[top] + 2.0**-50 * (np.abs(ahead) + np.abs(further))
        keep = ~(ahead + further > slack * (1 + 2.0**-10))
        return _Candidates(*(part[keep] for part in self))

    def and_those(self, others: _Candidates) -> _Candidates:
        """Return both."""
        return _Candidates(
            *(np.concatenate([one, other]) for one, other in zip(self, others, strict=True))
        )


def _noise_floats(law: NoiseOfScores, words: NDArray[np.uint64]) -> tuple[Array, Array]:
    value, error = exponential_floats(words)
    if law == "exponential":
        return value, error
    relative = error / value
    relative[~(relative < 2.0**-12)] = math.inf
    table = exponential_table()
    noise, rest, row = table.evaluate(value)
    noise += rest
    return noise, table.own.take(row) + _U * np.abs(noise) + relative * (1 + 2.0**-10)


def _candidates(
    start: int,
    scores: Array,
    words: NDArray[np.uint64],
    sign: float,
    scale: float,
    law: NoiseOfScores,
) -> _Candidates:
    """Return one chunk; where the noise could overflow, all is scaled by a power of two."""
    unit = 2.0**-64 if scale > _LARGE else 1.0
    noise, error = _noise_floats(law, words)
    noise *= unit * scale
    error *= unit * scale
    score = sign * unit * scores
    total = score + noise
    back = total - score
    rest = (score - (total - back)) + (noise - back)  # Knuth: total + rest is the sum
    place = np.arange(start, start + len(scores))
    error += 3 * _U * np.abs(noise) + _TINY
    return _Candidates(place, sign * scores, words, total, rest, error)


class _Contender:
    """A candidate of whose noise more bits can be had."""

    def __init__(self, index: int, score: float, word: int, draw: Words) -> None:
        self.index, self._score = index, Fraction(score)
        self.uniform = Uniform(word >> 1, 63, draw)

    def interval(self, law: NoiseOfScores, scale: Fraction) -> tuple[Fraction | None, ...]:
        """Bounds of score + scale times noise; None is no bound."""
        known = self.uniform
        bits = known.bits + _MORE
        low: int | None = max(minus_log(known.value + 1, known.bits, bits)[0], 0)
        high = minus_log(known.value, known.bits, bits)[1] if known.value else None
        if law == "gumbel":
            low, high = (
                minus_log(high, bits, bits)[0] if high else None,
                minus_log(low, bits, bits)[1] if low else None,
            )
        return tuple(
            None if end is None else self._score + scale * Fraction(end, 1 << bits)
            for end in (low, high)
        )


def _decide(found: _Candidates, scale: Fraction, law: NoiseOfScores, draw: Words) -> int:
    contenders = [
        _Contender(int(index), float(score), int(word), draw)
        for index, score, word in zip(found.place, found.score, found.word, strict=True)
    ]
    while True:
        ends = [one.interval(law, scale) for one in contenders]
        lows = [low for low, _ in ends if low is not None]
        best = max(lows) if lows else None
        contenders = [
            one
            for one, (_, high) in zip(contenders, ends, strict=True)
            if best is None or high is None or high >= best
        ]
        if len(contenders) == 1:
            return contenders[0].index
        for one in contenders:
            one.uniform.lengthen()


@quiet
def largest(
    chunks: Iterable[Array],
    *,
    scale: float,
    law: NoiseOfScores,
    sign: float = 1.0,
    rng: np.random.Generator | None = None,
) -> int:
    r"""Return the index of the largest ``sign s_i + scale N_i`` for independent real noise N.

    Parameters
    ----------
    chunks : iterable of ndarray of float64
        Finite scores, in pieces; only candidates that could be chosen are kept.
    scale : float
        Positive, taken as the rational that it is.
    law : {"gumbel", "exponential"}
        Standard Gumbel noise makes an exponential mechanism, with probabilities proportional to
        :math:`e^{\pm s_i/\mathrm{scale}}`; standard exponential noise makes report noisy max.
    sign : {1.0, -1.0}, default=1.0
        Whether high or low scores are good.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    int

    Examples
    --------
    >>> largest([np.array([0.0, 1e6, 3.0])], scale=2.0, law="gumbel")
    1
    """
    draw = words_of(rng)
    return int(passed(_largest(chunks, scale=scale, law=law, sign=sign, draw=draw)))


def _largest(
    chunks: Iterable[Array],
    *,
    scale: float,
    law: NoiseOfScores,
    sign: float,
    draw: Words,
    check: bool = False,
) -> int:
    """As :func:`largest`; with ``check`` every candidate is decided in whole numbers."""
    found, start = None, 0
    for chunk in chunks:
        piece = _candidates(start, chunk, draw(len(chunk)), sign, scale, law)
        if found is not None:
            piece = found.and_those(piece)
        found = piece if check else piece.possible()
        start += len(chunk)
    if found is None or not start:
        raise ValueError("scores must not be empty")
    if len(found.place) == 1:
        return int(found.place[0])
    return _decide(found, Fraction(scale), law, draw)
