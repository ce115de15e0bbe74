"""Random words for noise: from the operating system, or replayed."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_rng

#: Gives so many independent words of 64 uniform bits, none of which it gave before.
Words = Callable[[int], NDArray[np.uint64]]


def system_words(count: int) -> NDArray[np.uint64]:
    """Return ``count`` words of 64 bits from the operating system's generator.

    One request for all of them, and nothing is kept: no state of this process, of its threads or
    of NumPy has a part in it, a fork has nothing to share, and no word is given twice.
    """
    return np.frombuffer(os.urandom(8 * count), np.uint64)


def check_source(rng: np.random.Generator | None) -> None:
    """Refuse what is no source of noise, before anything is done with it."""
    if rng is not None:
        check_rng(rng)


def words_of(rng: np.random.Generator | None) -> Words:
    """Return the source of words that ``rng`` stands for.

    Parameters
    ----------
    rng : numpy.random.Generator or None
        None is the operating system. A generator is a *replay*: equal states give equal noise, on
        every machine; whoever knows its seed knows the noise, so that **it voids the privacy
        guarantee**.

    Examples
    --------
    >>> words = words_of(np.random.default_rng(0))
    >>> words(2).dtype, words_of(None)(3).size
    (dtype('uint64'), 3)
    """
    if rng is None:
        return system_words
    generator = check_rng(rng)
    return lambda count: generator.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)
