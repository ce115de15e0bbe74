"""Scratch memory that starts at a cache line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["LINE", "aligned_empty"]

#: Bytes of a cache line, and of the widest vector register.
LINE = 64


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array whose first byte starts a cache line.

    The allocator promises 16 bytes only, and a vector of 64 bytes then straddles two lines at every
    step: three to five per cent of a feature map.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(kind).reshape(shape)
