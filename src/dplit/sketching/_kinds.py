"""What a sketch may be: its map, what counts once in it, and the law of its noise."""

from __future__ import annotations

from typing import Literal

Kind = Literal["fourier", "quantized", "quadratic"]

#: What counts once in a sketch, and is what its noise hides.
Unit = Literal["record", "person"]

NoiseKind = Literal["laplace", "gaussian", "polydisc", "cube"]
