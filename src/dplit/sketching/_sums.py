"""Sums of sketch features over blocks of records, without forming the map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dplit._aligned import aligned_empty
from dplit._estimators import clip_rows
from dplit._trigonometry import HALF_TANGENT

if TYPE_CHECKING:
    from dplit.sketching.sketches import SketchMap

__all__ = ["LARGE_ANGLE", "Precision", "add_block"]

Precision = Literal["float32", "float64"]

#: Angles (radians) beyond which float32 products lose digits: the block is reduced in float64.
LARGE_ANGLE = 1e3
#: Angles beyond which float64 products may overflow.
LARGEST_ANGLE = 1e300
#: Entries are clipped here before angles of such records are formed, so that sums do not overflow.
_LARGEST_ENTRY = np.float64(1e280)


class Adder(Protocol):
    """Sums features over slabs of records, in scratch memory of its own."""

    #: Shape of a part.
    shape: tuple[int, int]

    def part(self, slab: NDArray[Any], length: float) -> NDArray[np.float64]:
        """Return what adds up over slabs (rows, d) of finite records no longer than ``length``."""

    def total(self, parts: NDArray[np.float64], count: int) -> NDArray[Any]:
        """Return the sum (m,) of the features of ``count`` records from the sum of the parts."""


def add_block(sketch_map: SketchMap, precision: Precision, rows: int) -> Adder:
    """Return an empty adder for blocks of at most ``rows`` records."""
    if sketch_map.kind == "quadratic":
        return QuadraticAdder(sketch_map)
    return PhaseAdder(sketch_map, np.dtype(precision), rows)


class QuadraticAdder:
    """Sum of ``(omega_j^T x)^2`` through the matrix of second moments, in float64."""

    def __init__(self, sketch_map: SketchMap) -> None:
        self.map = sketch_map
        self.shape = (sketch_map.n_features,) * 2

    def part(self, slab: NDArray[Any], length: float) -> NDArray[np.float64]:
        """Return the second moments of the records, each first brought into the unit ball."""
        records = clip_rows(slab.astype(np.float64), 1.0) if length > 1 else slab.astype(np.float64)
        return np.asarray(records.T @ records)

    def total(self, parts: NDArray[np.float64], count: int) -> NDArray[Any]:
        """Return ``omega_j^T (sum x x^T) omega_j``."""
        omega = self.map.frequencies
        return np.asarray(np.einsum("jm,jm->m", omega, parts @ omega))


class PhaseAdder:
    """Sums of cosines and sines, or of their signs, with scratch memory of one block.

    With ``t = tan(x / 2)`` and ``w = 1 / (1 + t^2)`` a sum of cosines is ``2 sum(w) - n`` and a sum
    of sines ``2 sum(t w)``: where tangents are vectorised, one of them and three passes of plain
    arithmetic are cheaper than a cosine and a sine. Signs need turns instead of radians.
    """

    def __init__(self, sketch_map: SketchMap, dtype: np.dtype[Any], rows: int) -> None:
        m = sketch_map.n_components
        self.map, self.dtype, self.rows = sketch_map, dtype, rows
        self.quantized = sketch_map.kind == "quantized"
        self.tangent = HALF_TANGENT and not self.quantized
        self.factor = 0.5 / np.pi if self.quantized else 0.5 if self.tangent else 1.0
        offset = np.zeros(m) if sketch_map.dither is None else sketch_map.dither
        self.offset = (offset * self.factor).astype(dtype)
        self.weights = (sketch_map.frequencies * self.factor).astype(dtype)
        self.longest = float(np.linalg.norm(sketch_map.frequencies, axis=0).max())
        self.scratch = aligned_empty((2, rows, m), dtype)
        self.ones = np.ones((1, rows), dtype)
        self.shape = (2, m)

    def part(self, slab: NDArray[Any], length: float) -> NDArray[np.float64]:
        """Return the sums (2, m) of cosines and sines, of what stands for them, or of ones."""
        sums = np.zeros(self.shape)
        largest = LARGE_ANGLE if self.dtype == np.float32 else LARGEST_ANGLE
        reduce = self.map.blocks is not None or not length * self.longest <= largest
        records = slab if reduce else slab.astype(self.dtype, copy=False)
        for start in range(0, len(slab), self.rows):
            block = records[start : start + self.rows]
            sums += self._block_sums(block, reduce)
        return sums

    def _block_sums(self, block: NDArray[Any], reduce: bool) -> NDArray[Any]:
        n = len(block)
        both = self.scratch[:, :n]
        cosine, angle = both
        if reduce:
            np.copyto(angle, self._reduced(block), casting="same_kind")
        else:
            np.matmul(block, self.weights, out=angle)
        if self.quantized:
            angle += self.offset
            np.floor(angle, out=cosine)
            angle -= cosine  # turns in [0, 1)
            np.copyto(cosine, np.abs(angle - self.dtype.type(0.5)) >= 0.25)
            np.copyto(angle, angle <= 0.5)  # the sine is not negative on the first half turn
        elif self.tangent:
            np.tan(angle, out=angle)
            np.multiply(angle, angle, out=cosine)
            np.add(cosine, 1.0, out=cosine)
            np.reciprocal(cosine, out=cosine)  # (1 + cos) / 2
            np.multiply(angle, cosine, out=angle)  # sin / 2
        else:
            np.cos(angle, out=cosine)
            np.sin(angle, out=angle)
        return np.asarray((self.ones[:, :n] @ both)[:, 0])

    def _reduced(self, block: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scaled angles (rows, m) in float64, reduced to one period.

        An angle of more turns than float64 can count, or that overflows, becomes 0: its features
        have modulus 1 like all others, on which the sensitivity rests.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            wide = self.map.angles(np.clip(block, -_LARGEST_ENTRY, _LARGEST_ENTRY))
            wide *= self.factor
            period = 1.0 if self.quantized else 2.0 * np.pi * self.factor
            wide -= period * np.rint(wide / period)
        lost = ~(np.abs(wide) <= period)
        if lost.any():
            wide[lost] = 0.0
        return wide

    def total(self, parts: NDArray[np.float64], count: int) -> NDArray[Any]:
        """Return the complex sum (m,)."""
        total = np.empty(parts.shape[1], np.complex128)
        total.real, total.imag = parts
        if self.quantized:  # from the number of ones to a sum of signs
            total = np.sqrt(2.0) * total - np.sqrt(0.5) * count * (1 + 1j)
        elif self.tangent:
            total = 2.0 * total - count
        return total
