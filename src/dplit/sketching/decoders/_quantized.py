"""What one-bit features make of a sketch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array

#: First Fourier coefficient of one-bit features: ``E_u Phi(x) e^{-iu} = 0.9003 e^{i<w, x>}``.
QUANTIZED_FACTOR = float(2.0 * np.sqrt(2.0) / np.pi)


def dequantized_sketch(sketch: ArrayLike, dither: ArrayLike) -> NDArray[Any]:
    """Sketch ``z e^{-iu} pi / (2 sqrt 2)`` of plain features, from one of one-bit features.

    Section 2.1: an average over uniform phases u; harmonics 3, 5, ... remain as noise for one draw.
    """
    values, phases = check_finite_array("sketch", sketch), check_finite_array("dither", dither)
    if phases.ndim == 0 or phases.shape not in (values.shape, values.shape[-1:]):
        raise ValueError(
            f"dither must match sketch of shape {values.shape}, got shape {phases.shape}"
        )
    return np.asarray(values * np.exp(-1j * phases) / QUANTIZED_FACTOR)
