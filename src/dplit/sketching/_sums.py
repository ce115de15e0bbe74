"""Sums of sketch features over blocks of records, without forming the map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dplit._estimators import clip_rows
from dplit._trigonometry import angle_factor, scaled_cosine_and_sine

if TYPE_CHECKING:
    from dplit.sketching.sketches import SketchMap

__all__ = ["LARGE_ANGLE", "Precision", "add_block"]

Precision = Literal["float32", "float64"]

#: Angles (radians) beyond which float32 products lose digits: the block is reduced in float64.
LARGE_ANGLE = 1e3


class Adder(Protocol):
    """Takes blocks of records and keeps the sum of their features."""

    def add(self, block: NDArray[Any]) -> None:
        """Add the features of the records in ``block`` (rows, d), finite."""

    def total(self) -> NDArray[Any]:
        """Return the sum (m,)."""


def add_block(sketch_map: SketchMap, precision: Precision, rows: int) -> Adder:
    """Return an empty adder for blocks of at most ``rows`` records."""
    if sketch_map.kind == "quadratic":
        return QuadraticAdder(sketch_map)
    return PhaseAdder(sketch_map, np.dtype(precision), rows)


class QuadraticAdder:
    """Sum of ``(omega_j^T x)^2`` through the matrix of second moments, in float64."""

    def __init__(self, sketch_map: SketchMap) -> None:
        self.map = sketch_map
        self.moments = np.zeros((sketch_map.n_features,) * 2)

    def add(self, block: NDArray[Any]) -> None:
        """Add the second moments of the records, each first brought into the unit ball."""
        records = clip_rows(block.astype(np.float64), 1.0)
        self.moments += records.T @ records

    def total(self) -> NDArray[Any]:
        """Return ``omega_j^T (sum x x^T) omega_j``."""
        omega = self.map.frequencies
        return np.asarray(np.einsum("jm,jm->m", omega, self.moments @ omega))


class PhaseAdder:
    """Sums of cosines and sines, or of their signs, with scratch memory of one block.

    The frequencies of quantized maps are divided by ``2 pi``: signs need turns, not radians.
    """

    def __init__(self, sketch_map: SketchMap, dtype: np.dtype[Any], rows: int) -> None:
        m = sketch_map.n_components
        self.map, self.dtype = sketch_map, dtype
        self.quantized = sketch_map.kind == "quantized"
        self.factor = 0.5 / np.pi if self.quantized else angle_factor(dtype)
        offset = np.zeros(m) if sketch_map.dither is None else sketch_map.dither
        self.offset = offset * self.factor
        self.weights = (sketch_map.frequencies * self.factor).astype(dtype)
        self.lengths = float(np.linalg.norm(sketch_map.frequencies, axis=0).max())
        self.angle, self.cosine = np.empty((2, rows, m), dtype)
        exact = dtype == np.float64 and not self.quantized
        self.sine = np.empty((rows, m), dtype) if exact else self.angle
        self.ones = np.ones((1, rows), dtype)
        self.real, self.imag = np.zeros((2, m))
        self.count = 0

    def _angles(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return the scaled angles (rows, m), in a way that keeps their digits."""
        n = len(block)
        angle: NDArray[Any] = self.angle[:n]
        longest = float(np.sqrt(np.square(block, dtype=np.float64).sum(axis=1).max()))
        large = self.dtype == np.float32 and longest * self.lengths > LARGE_ANGLE
        if self.map.blocks is not None or large:
            wide = self.map.angles(block)
            wide *= self.factor
            period = 1.0 if self.quantized else 2.0 * np.pi * self.factor
            wide -= period * np.rint(wide / period)
            np.copyto(angle, wide, casting="same_kind")
        else:
            np.matmul(block.astype(self.dtype, copy=False), self.weights, out=angle)
        if self.quantized:
            angle += self.offset.astype(self.dtype)
        return angle

    def add(self, block: NDArray[Any]) -> None:
        """Add cosines and sines (or their signs) of the records' angles."""
        n = len(block)
        if n == 0:
            return
        angle, cosine, sine = self._angles(block), self.cosine[:n], self.sine[:n]
        if self.quantized:
            np.floor(angle, out=cosine)
            angle -= cosine  # turns in [0, 1)
            np.copyto(cosine, np.abs(angle - self.dtype.type(0.5)) >= 0.25)
            np.copyto(sine, angle <= 0.5)  # the sine is not negative on the first half turn
        elif self.dtype == np.float32:
            np.cos(angle, out=cosine)
            np.sin(angle, out=sine)
        else:
            scaled_cosine_and_sine(angle, cosine, sine, 1.0)
        self.real += (self.ones[:, :n] @ cosine)[0]
        self.imag += (self.ones[:, :n] @ sine)[0]
        self.count += n

    def total(self) -> NDArray[Any]:
        """Return the complex sum (m,)."""
        total = np.empty(len(self.real), np.complex128)
        total.real, total.imag = self.real, self.imag
        if self.quantized:  # from the number of ones to a sum of signs
            total.real = np.sqrt(0.5) * (2.0 * self.real - self.count)
            total.imag = np.sqrt(0.5) * (2.0 * self.imag - self.count)
        return total
