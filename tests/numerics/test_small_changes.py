"""Small changes of exact arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import pytest

from dplit._numerics.exact import GRAM_BITS, gram_rounding


@pytest.mark.parametrize("entries", [1, 4, 9])
def test_rounding_of_a_gram_matrix_is_counted_in_squares_of_steps(entries: int) -> None:
    """Each entry of two matrices moves by 2**8 products of two steps. Kills 4.0 ** for 2.0 **."""
    step = 2.0 / 2**GRAM_BITS
    assert gram_rounding(entries) == 2 * 2**8 * step * step * entries**0.5
