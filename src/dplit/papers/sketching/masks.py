r"""Laws of the binary masks that choose which features of a record enter a sketch.

Every entry is 1 with probability :math:`\alpha`: independent entries, all or nothing (sampling of
records), a fixed number of ones, and of whole blocks. Each can be drawn and listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer, check_probability, check_rng

_Scheme = Literal["bernoulli", "data", "uniform", "block"]

_Masks = NDArray[np.bool_]

#: Most masks that :func:`mask_support` lists.
_LARGEST_SUPPORT = 1 << 18


@dataclass(frozen=True)
class _MaskLaw:
    """Law of one binary mask; made by :func:`mask_law`.

    ``scheme``: "bernoulli" (independent entries), "data" (all or nothing), "uniform" (``n_kept``
    ones), "block" (``n_kept / block`` blocks of ones); ``n_components`` is the length m of the
    mask, ``alpha`` in (0, 1] the probability that an entry is 1, ``n_kept`` None where it is not
    fixed.
    """

    scheme: _Scheme
    n_components: int
    alpha: float
    n_kept: int | None = None
    block: int = 1

    @property
    def support_size(self) -> int:
        """Number of masks of positive probability."""
        if self.alpha == 1.0:
            return 1
        if self.scheme == "bernoulli":
            return int(2**self.n_components)
        if self.n_kept is None:
            return 2
        return comb(self.n_components // self.block, self.n_kept // self.block)


def mask_law(
    scheme: _Scheme,
    n_components: int,
    *,
    alpha: float | None = None,
    n_kept: int | None = None,
    block: int | None = None,
) -> _MaskLaw:
    """Law of the mask of one record: which of its features enter the sketch (Section 5).

    ``alpha`` is for "bernoulli" and "data" (all or nothing), ``n_kept`` for "uniform" and "block",
    whose masks are whole blocks of length ``block``.

    >>> mask_law("uniform", 8, n_kept=2).alpha
    0.25
    """
    check_choice("scheme", scheme, get_args(_Scheme))
    m = check_integer("n_components", n_components)
    fixed = scheme in ("uniform", "block")
    if (alpha is None) is not fixed:
        raise ValueError(f"alpha must be given for 'bernoulli' and 'data' only, got {alpha=!r}")
    if (n_kept is None) is fixed:
        raise ValueError(f"n_kept must be given for 'uniform' and 'block' only, got {n_kept=!r}")
    if (block is None) is (scheme == "block"):
        raise ValueError(f"block must be given for 'block' only, got {block=!r}")
    if alpha is not None:
        return _MaskLaw(scheme, m, check_probability("alpha", alpha, one=True))
    r = check_integer("n_kept", n_kept)
    if r > m:
        raise ValueError(f"n_kept must be at most n_components={m}, got n_kept={n_kept!r}")
    length = 1 if block is None else check_integer("block", block)
    if m % length or r % length:
        raise ValueError(f"block must divide n_components={m} and n_kept={r}, got block={block!r}")
    return _MaskLaw(scheme, m, r / m, r, length)


def draw_indices(law: _MaskLaw, n_samples: int, *, rng: np.random.Generator) -> NDArray[np.intp]:
    """Positions (n_samples, n_kept) of the ones in independent masks with a fixed number of them.

    They must be secret, as all masks: privacy is an average over them.
    """
    check_integer("n_samples", n_samples, minimum=0)
    check_rng(rng)
    if law.n_kept is None:
        raise ValueError(f"law must have a fixed number of ones, got scheme={law.scheme!r}")
    blocks, kept = law.n_components // law.block, law.n_kept // law.block
    if kept == 1:
        chosen = rng.integers(blocks, size=(n_samples, 1))
    else:
        keys = rng.random((n_samples, blocks))
        chosen = np.argpartition(keys, kept - 1, axis=1)[:, :kept]
    inside = np.arange(law.block)
    return (chosen[:, :, None] * law.block + inside).reshape(n_samples, law.n_kept)


def _draw_masks(law: _MaskLaw, n_samples: int, *, rng: np.random.Generator) -> _Masks:
    """Independent masks of several records."""
    check_integer("n_samples", n_samples, minimum=0)
    check_rng(rng)
    if law.n_kept is not None:
        masks = np.zeros((n_samples, law.n_components), dtype=bool)
        np.put_along_axis(masks, draw_indices(law, n_samples, rng=rng), True, axis=1)
        return masks
    columns = law.n_components if law.scheme == "bernoulli" else 1
    taken = rng.random((n_samples, columns)) < law.alpha
    return np.repeat(taken, law.n_components // columns, axis=1)


def mask_support(law: _MaskLaw) -> tuple[_Masks, NDArray[np.float64]]:
    """All masks (S, m) of positive probability and their probabilities; at most 262,144."""
    size, m = law.support_size, law.n_components
    if size > _LARGEST_SUPPORT:
        raise ValueError(f"support must have at most {_LARGEST_SUPPORT} masks, got {size}")
    if law.alpha == 1.0:
        return np.ones((1, m), dtype=bool), np.ones(1)
    if law.n_kept is not None:
        blocks = np.zeros((size, m // law.block), dtype=bool)
        chosen = list(combinations(range(m // law.block), law.n_kept // law.block))
        np.put_along_axis(blocks, np.array(chosen), True, axis=1)
        return np.repeat(blocks, law.block, axis=1), np.full(size, 1.0 / size)
    if law.scheme == "data":
        masks = np.array([[False], [True]]).repeat(m, axis=1)
        return masks, np.array([1.0 - law.alpha, law.alpha])
    masks = np.array(list(product((False, True), repeat=m)))
    ones = masks.sum(axis=1)
    return masks, law.alpha**ones * (1.0 - law.alpha) ** (m - ones)
