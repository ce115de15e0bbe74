"""Scratch memory starts at a cache line, whatever its shape and dtype."""

from __future__ import annotations

import numpy as np
import pytest

from dplit._numerics.blocks import LINE, aligned_empty


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 128, 640), (0, 4)])
def test_first_byte_starts_a_line(shape: tuple[int, ...], dtype: str) -> None:
    """Eight arrays at once, at different addresses; kills an offset that is always zero."""
    kept = [aligned_empty(shape, dtype) for _ in range(8)]
    for array in kept:
        assert array.ctypes.data % LINE == 0 or array.size == 0
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
        assert array.flags.c_contiguous
        array[...] = 1.0
        assert (array == 1.0).all()
