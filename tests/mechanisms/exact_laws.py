"""What the tests of exact noise compare with: laws of rounded noise, and words that are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

Tail = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def normal_tail(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return special.ndtr(-x)


def laplace_tail(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 * np.exp(-x)


def three_dimensional_tail(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """A coordinate of density e^-|z| on R^3, and of e^-max(|x|, |y|) on R^2: (1 + |x|) e^-|x|/4."""
    return 0.25 * (2.0 + x) * np.exp(-x)


def two_dimensional_tail(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """A coordinate of density e^-|z| on R^2: |x| K_1(|x|) / pi."""
    part = [integrate.quad(lambda t: t * special.k1(t), a, math.inf)[0] for a in np.ravel(x)]
    return np.reshape(part, np.shape(x)) / math.pi


def ends_of_cells(tail: Tail, scale: float, draws: int, cells: int = 200) -> NDArray[np.int64]:
    """First whole numbers of cells: every number is one where it has 25 draws, else even shares."""
    if scale < 100:
        reach = np.arange(1, math.ceil(60 * scale) + 3)
        last = int(np.count_nonzero(draws * tail((reach - 0.5) / scale) > 25.0))
        return np.arange(1 - last, last + 1)
    grid = np.linspace(-12.0, 12.0, 48_001)
    cdf = np.where(grid < 0, tail(-grid * (grid < 0)), 1 - tail(grid * (grid >= 0)))
    return np.rint(scale * np.interp(np.arange(1, cells) / cells, cdf, grid)).astype(np.int64)


def cell_probabilities(tail: Tail, scale: float, ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities that round(scale Z) is below the first end, between two, from the last on."""
    x = (ends - 0.5) / scale
    far = tail(np.abs(x))
    cdf, survival = np.where(x < 0, far, 1 - far), np.where(x < 0, 1 - far, far)
    middle = np.where(x[1:] <= 0, np.diff(cdf), -np.diff(survival))
    return np.concatenate([cdf[:1], middle, survival[-1:]])


def law_pvalues(draws: NDArray[np.int64], tail: Tail, scale: float) -> tuple[float, float]:
    """p-values of chi-square over all cells, and of the cell that is furthest off (Bonferroni)."""
    ends = ends_of_cells(tail, scale, draws.size)
    expected = draws.size * cell_probabilities(tail, scale, ends)
    found = np.bincount(np.searchsorted(ends, draws, side="right"), minlength=len(ends) + 1)
    squares = (found - expected) ** 2 / expected
    worst = np.sqrt((squares / (1 - expected / draws.size)).max())
    return (
        float(stats.chi2.sf(squares.sum(), len(squares) - 1)),
        min(1.0, float(2 * len(squares) * special.ndtr(-worst))),
    )


class Script:
    """Words that are written down, and after them those of a generator, or the middle of all."""

    def __init__(self, words: Sequence[int], then: np.random.Generator | None = None) -> None:
        self._words, self._then = [int(word) for word in words], then

    def __call__(self, count: int) -> NDArray[np.uint64]:
        head, self._words = self._words[:count], self._words[count:]
        rest = count - len(head)
        more = np.full(rest, 1 << 63, np.uint64)
        if self._then is not None:
            more = self._then.integers(0, 2**64 - 1, rest, np.uint64, endpoint=True)
        return np.concatenate([np.array(head, np.uint64), more])


def mp_tail(law: str, x: mpmath.mpf) -> mpmath.mpf:
    """Tail probability in the scale of the words: of |Z| for the normal law."""
    if x < 0:
        return mpmath.mpf(1)
    return mpmath.erfc(x / mpmath.sqrt(2)) if law == "normal" else mpmath.exp(-x)
