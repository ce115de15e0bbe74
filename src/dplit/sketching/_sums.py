r"""Sums of sketch features whose bits depend on nothing but the set of records.

A sketch is private because one record moves its sum by one feature. In floating point that holds
only if a feature depends on its record alone and sums do not round. Here neither order, position,
block, thread, chunk, merge nor BLAS changes a bit:

1. Entries are clamped to the public bound of the map and rounded to :math:`2^{32}` steps of it,
   in a high and a low half of 16 bits. Frequencies, in turns, are rounded to as many bits as let
   all products add below :math:`2^{53}` units: the matrix product is exact, whoever computes it.
2. The angle minus its nearest whole turn is exact. Whatever follows until the rounding of step 3
   is elementwise.
3. Features are rounded to multiples of :math:`2^{-22}` and added as integers; their total is exact
   in float64 up to :math:`2^{30}` records (and adds exactly in merges up to there).

**The sensitivity needs no further term.** For every real t the point
:math:`(2/(1+t^2)-1,\,2t/(1+t^2))` lies on the unit circle, however badly t approximates the
tangent of the half angle. Computed in float32, with a radius :math:`1-2^{-20}` in the place of 1,
the first coordinate has 3 roundings and the second 4, relative errors of at most
:math:`u=2^{-24}` each, and the grid adds 2u to each coordinate: the computed feature is within
:math:`\sqrt{8^2+6^2}\,u=10u` of the circle of radius :math:`1-16u`, and its modulus is at most 1,
as exact arithmetic promises. One-bit features take :math:`2^{-1/2}` rounded down to the grid.
Quadratic features are shrunk by the factor of :func:`quadratic_factor`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplit._aligned import aligned_empty
from dplit._exact import grid_rows
from dplit._trigonometry import HALF_TANGENT

if TYPE_CHECKING:
    from dplit.sketching.sketches import SketchMap

__all__ = [
    "FEATURE_BITS",
    "FEATURE_ERROR",
    "angle_error",
    "default_bound",
    "feature_adder",
    "quadratic_factor",
]

Array = NDArray[np.float64]

#: Features are multiples of ``2^-FEATURE_BITS`` (quadratic ones of a power of two times that).
FEATURE_BITS = 22
#: Distance of a Fourier feature from that of its rounded angle, above the sum of: the radius (16u),
#: the roundings of the module's docstring (10u), three of the half angle (3u of at most pi / 2, and
#: twice that of the angle: 10u), and a tangent of four units (8u).
FEATURE_ERROR = 2.0**-18
#: Turns that a coordinate at its default bound makes at its fastest frequency, times sqrt(d).
_TURNS = 1024.0
#: Bits of the low half of an entry, and of the high one.
_HALF = 16
#: Radius of the circle on which features lie before they are rounded.
_RADIUS = 1.0 - 2.0**-20
#: Bits of 1.0 in single precision: to a number in [0, 1], 1 is added, and what its bits exceed
#: these by is that number in units of ``2^-23``.
_ONE = 127 << 23
_UNITS = 1 << 23
#: Rows whose units add below ``2^32``.
_EXACT_ROWS = 256
#: One over the square root of 2 in features' units, rounded down.
_ONE_BIT = math.floor(math.sqrt(0.5) * 2**FEATURE_BITS)
#: Bits of a record of the unit ball.
_BALL_BITS = 26
#: Entries beyond are clamped before a record is brought into the unit ball.
_LARGEST = np.float64(1e150)


def default_bound(frequencies: Array) -> Array:
    """Return a power of two per coordinate: at least 256 / sqrt(d) turns of its fastest frequency.

    At most 1024 / sqrt(d) turns. No kernel looks at angles of that size.
    """
    room = math.frexp(_TURNS / math.sqrt(len(frequencies)))[1]
    fastest = np.frexp(np.abs(frequencies).max(axis=1) / (2.0 * np.pi))[1]
    return np.asarray(np.ldexp(1.0, np.clip(room - 1 - fastest, -900, 900)))


def _exponents(bound: Array) -> NDArray[np.intc]:
    """Return the exponent (d,) of the steps to which entries are rounded."""
    return np.asarray(np.frexp(bound)[1] - 2 * _HALF, np.intc)


def _halves(block: NDArray[Any], bound: Array, exponents: NDArray[np.intc]) -> Array:
    """Return entries clamped and in steps: high halves and low halves, (n, 2d), whole numbers."""
    entries = np.clip(block, -bound, bound).astype(np.float64, copy=False)
    steps = np.rint(np.ldexp(entries, -exponents))
    high = np.rint(steps * 2.0**-_HALF)
    return np.concatenate([high, steps - high * 2.0**_HALF], axis=1)


def _turns(frequencies: Array, exponents: NDArray[np.intc]) -> tuple[Array, NDArray[np.intc]]:
    """Return turns (2d, m) per unit of the two halves, and the bits (m,) behind their point.

    A column's products with any halves are whole numbers of ``2^-bits`` and add below ``2^53``.
    """
    low = np.ldexp(frequencies / (2.0 * np.pi), exponents[:, None])
    both = np.concatenate([np.ldexp(low, _HALF), low])
    largest = 2.0**_HALF * np.abs(both).sum(axis=0)
    bits = np.minimum(52 - np.frexp(largest)[1], 900)
    return np.asarray(np.ldexp(np.rint(np.ldexp(both, bits)), -bits)), bits


def angle_error(frequencies: Array, bound: Array) -> Array:
    """Return what rounding changes (m,) in the angles, radians, of records within the bound.

    Half a step of every entry, and half a unit of every frequency times the largest halves.
    """
    exponents = _exponents(bound)
    bits = _turns(frequencies, exponents)[1]
    records = np.ldexp(np.abs(frequencies), exponents[:, None] - 1).sum(axis=0)
    columns = np.ldexp(len(frequencies) * 1.5 * 2.0 ** (_HALF - 1), -bits)
    return np.asarray(records + 2.0 * np.pi * columns)


class Adder(Protocol):
    """Sums features over slabs of records, in scratch memory of its own; parts add as integers."""

    #: Shape of a part.
    shape: tuple[int, int]

    def part(self, slab: NDArray[Any]) -> NDArray[np.int64]:
        """Return what adds up over slabs (rows, d) of finite records."""

    def scattered(self, block: NDArray[Any], where: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the part to which row i contributes only its features ``where[i]``."""

    def total(self, parts: NDArray[np.int64], count: int | NDArray[np.int64]) -> NDArray[Any]:
        """Return the sum (m,) of the features of ``count`` records from the sum of the parts."""


def feature_adder(sketch_map: SketchMap, rows: int) -> Adder:
    """Return an empty adder for blocks of at most ``rows`` records."""
    return (QuadraticAdder if sketch_map.kind == "quadratic" else PhaseAdder)(sketch_map, rows)


def _scatter(codes: NDArray[Any], where: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    """Add whole numbers (n, r) at their positions."""
    weights = codes.ravel().astype(np.float64)
    return np.bincount(where.ravel(), weights, size).astype(np.int64)


class PhaseAdder:
    """Sums of cosines and sines, or counts of their signs, with scratch memory of one block.

    With ``t = tan(x / 2)`` and ``w = 1 / (1 + t^2)`` the cosine is ``2 w - 1`` and the sine
    ``2 t w``: where tangents are vectorised, one of them and plain arithmetic are cheaper than a
    cosine and a sine.
    """

    def __init__(self, sketch_map: SketchMap, rows: int) -> None:
        self.bound = np.asarray(sketch_map.bound)
        self.exponents = _exponents(self.bound)
        self.weights = _turns(sketch_map.frequencies, self.exponents)[0]
        self.rows, self.shape = rows, (2, sketch_map.n_components)
        self.offset: Array | None = None
        if sketch_map.dither is not None:
            turns = sketch_map.dither / (2.0 * np.pi)
            self.offset = turns - np.floor(turns)
        self.scratch = aligned_empty((2, rows * self.shape[1]), np.float64)

    def part(self, slab: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sums (2, m) of the features' codes."""
        sums = np.zeros(self.shape, np.int64)
        m = self.shape[1]
        for start in range(0, len(slab), self.rows):
            block = slab[start : start + self.rows]
            turns, spare = self.scratch[:, : len(block) * m].reshape(2, len(block), m)
            np.matmul(_halves(block, self.bound, self.exponents), self.weights, out=turns)
            codes = self._codes(turns, spare, self.offset)
            for first in range(0, len(block), _EXACT_ROWS):
                sums += self._folded(codes[:, first : first + _EXACT_ROWS])
        return sums

    def _folded(self, codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the sums (2, m) of codes (2, n, m), which are destroyed; n at most 256.

        Half of the rows is added to the other half, in long vectors; codes of zero are taken off
        modulo ``2^32``.
        """
        zero, n = np.uint32(codes.shape[1] * self._zero & 0xFFFFFFFF), codes.shape[1]
        while n > 1:
            half = n // 2
            np.add(codes[:, :half], codes[:, n - half : n], out=codes[:, :half])
            n -= half
        return np.asarray(codes[:, 0] - zero)

    def scattered(self, block: NDArray[Any], where: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the sums (2, m) of the codes of some features of each record."""
        entries = _halves(block, self.bound, self.exponents)
        turns = np.einsum("nd,nrd->nr", entries, self.weights.T[where])
        offset = None if self.offset is None else self.offset[where]
        codes = self._codes(turns, np.empty_like(turns), offset) - np.uint32(self._zero)
        return np.stack([_scatter(part, where, self.shape[1]) for part in codes])

    @property
    def _zero(self) -> int:
        """Code of zero units."""
        return _ONE if self.offset is None else 0

    @staticmethod
    def _codes(turns: Array, spare: Array, offset: Array | None) -> NDArray[np.uint32]:
        """Return the codes (2, n, m) of features from angles (n, m), which are destroyed.

        ``spare`` has the shape of ``turns`` and holds the codes.
        """
        both = spare.reshape(-1).view(np.float32).reshape(2, *turns.shape)
        codes = both.view(np.uint32)
        if offset is not None:
            turns += offset
            np.floor(turns, out=spare)
            turns -= spare  # in [0, 1]
            np.copyto(codes[0], np.abs(turns - 0.5) >= 0.25)
            np.copyto(codes[1], turns <= 0.5)  # the sine is not negative on the first half turn
            return codes
        np.rint(turns, out=spare)
        turns -= spare  # in [-1/2, 1/2], exactly
        cosine, angle = both
        np.copyto(angle, turns, casting="same_kind")
        angle *= np.float32(np.pi if HALF_TANGENT else 2.0 * np.pi)
        if HALF_TANGENT:
            np.tan(angle, out=angle)
            np.multiply(angle, angle, out=cosine)
            np.add(cosine, 1.0, out=cosine)
            np.divide(np.float32(_RADIUS), cosine, out=cosine)  # radius (1 + cos) / 2
            np.multiply(angle, cosine, out=angle)  # radius sin / 2
            np.add(cosine, 1.0, out=cosine)
        else:
            np.cos(angle, out=cosine)
            np.sin(angle, out=angle)
            both *= np.float32(0.5 * _RADIUS)
            np.add(cosine, np.float32(1.0 + 0.5 * _RADIUS), out=cosine)
        np.add(angle, 1.5, out=angle)
        return codes

    def total(self, parts: NDArray[np.int64], count: int | NDArray[np.int64]) -> NDArray[Any]:
        """Return the complex sum (m,)."""
        total = np.empty(parts.shape[1], np.complex128)
        if self.offset is None:
            radius = _UNITS - (_UNITS >> 20)
            total.real, total.imag = (2 * parts - np.array([[radius], [_UNITS]]) * count) / _UNITS
        else:  # from the number of ones to a sum of signs
            total.real, total.imag = (2 * parts - count) * (_ONE_BIT * 2.0**-FEATURE_BITS)
        return total


def quadratic_factor(n_features: int) -> float:
    r"""Return the factor :math:`1-d\epsilon` of quadratic features, by which no bound is exceeded.

    Notes
    -----
    Let :math:`f_j` be what is added for a record x of the unit ball, on its grid. With the grid
    step :math:`2^{-22}g`, :math:`\|\omega_j\|^2<g\le4\|\omega_j\|^2`, and frequencies rounded to
    within :math:`2^{-27}\sqrt d\|\omega_j\|`,
    :math:`|f_j-(1-d\epsilon)(\omega_j^\top x)^2|\le\epsilon\|\omega_j\|^2` for
    :math:`\epsilon=2^{-20}(1+\sqrt d/16)`. Since :math:`\sum_j\|\omega_j\|^2\le d\lambda_1` (and
    :math:`\le d(\lambda_1+\lambda_2)/2` for two records and d > 1), and the average over the sphere
    gives :math:`3\sum_j\|\omega_j\|^4\le d(d+2)S_4^2`, the errors' norms are at most
    :math:`d\epsilon` times the sensitivities :math:`\lambda_1,\lambda_1+\lambda_2,S_4`; under
    replacement the others follow from :math:`f\ge0`.
    """
    return 1.0 - n_features * 2.0**-20 * (1.0 + math.sqrt(n_features) / 16.0)


class QuadraticAdder:
    """Sum of ``(omega_j^T x)^2``, records first brought into the unit ball."""

    def __init__(self, sketch_map: SketchMap, rows: int) -> None:
        omega = sketch_map.frequencies
        self.exponents = np.frexp(np.linalg.norm(omega, axis=0))[1]
        unit = np.ldexp(omega, -self.exponents)  # columns shorter than 1
        bits = 53 - _BALL_BITS
        self.weights = np.ldexp(np.rint(np.ldexp(unit, bits)), 1 - _BALL_BITS - bits)
        self.scale = quadratic_factor(sketch_map.n_features) * 2.0**FEATURE_BITS
        self.rows, self.shape = rows, (1, sketch_map.n_components)
        self.scratch = aligned_empty((rows, self.shape[1]), np.float64)

    def part(self, slab: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sums (1, m) of features in units of their grids."""
        sums = np.zeros(self.shape, np.int64)
        for start in range(0, len(slab), self.rows):
            block = slab[start : start + self.rows]
            angles = np.matmul(self._records(block), self.weights, out=self.scratch[: len(block)])
            sums += np.add.reduce(self._codes(angles), axis=0).astype(np.int64)
        return sums

    def scattered(self, block: NDArray[Any], where: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the sums (1, m) of some features of each record."""
        angles = np.einsum("nd,nrd->nr", self._records(block), self.weights.T[where])
        return _scatter(self._codes(angles), where, self.shape[1])[None]

    def _records(self, block: NDArray[Any]) -> Array:
        inside = np.clip(block, -_LARGEST, _LARGEST).astype(np.float64, copy=False)
        return grid_rows(inside, 1.0, bits=_BALL_BITS)[0]

    def _codes(self, angles: Array) -> Array:
        """Return features in units of their grids, whole numbers, in the place of the angles."""
        np.multiply(angles, angles, out=angles)
        np.multiply(angles, self.scale, out=angles)
        return np.asarray(np.rint(angles, out=angles))

    def total(self, parts: NDArray[np.int64], count: int | NDArray[np.int64]) -> NDArray[Any]:
        """Return the real sum (m,)."""
        return np.asarray(np.ldexp(parts[0].astype(float), 2 * self.exponents - FEATURE_BITS))
