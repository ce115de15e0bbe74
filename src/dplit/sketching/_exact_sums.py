"""Sums of sketch features whose bits depend on nothing but the set of records.

Neither order, position, block, thread, chunk, merge nor BLAS changes one (proof: the chapter).

1. Entries are clamped to the public bound of the map and rounded to :math:`2^{32}` steps of it,
   in halves of 16 bits; frequencies, in turns, to as many bits as let all products add below
   :math:`2^{53}` units: the matrix product is exact, whoever computes it.
2. Adding 1.5 times :math:`2^{20}` turns rounds the exact angle once, to :math:`2^{-32}` turns;
   the low word of the sum counts these modulo a whole turn. (Where a public number says that a
   column may add up to :math:`2^{19}` turns or more, both powers are as many times larger.)
3. Features, of a radius 16u below 1 and computed within 10u, :math:`u=2^{-24}`, are multiples of
   :math:`2^{-22}` and add as integers, exactly in float64 up to :math:`2^{30}` records.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array
from dplit._numerics.blocks import aligned_empty
from dplit._numerics.clipping import clamp
from dplit._numerics.exact import grid_rows
from dplit._numerics.trigonometry import HALF_TANGENT

if TYPE_CHECKING:
    from dplit.sketching.sketches import SketchMap


#: Features are multiples of ``2^-FEATURE_BITS`` (quadratic ones of a power of two times that).
FEATURE_BITS = 22

#: Distance of a Fourier feature from that of its rounded angle, above the sum of: the radius (16u),
#: the roundings of step 3 (10u), three of the half angle (3u of at most pi / 2, and
#: twice that of the angle: 10u), and a tangent of four units (8u).
FEATURE_ERROR = 2.0**-18

#: Turns that a coordinate at its default bound makes at its fastest frequency, times sqrt(d).
_TURNS = 1024.0

#: Bits of the low half of an entry, and of the high one.
_HALF = 16

#: Angles are reduced to whole numbers of ``2^-_TURN_BITS`` turns, modulo whole turns.
_TURN_BITS = 32

_QUARTER = 1 << (_TURN_BITS - 2)

#: Multiplications in a matrix product up to which BLAS has a kernel that packs nothing, and the
#: fewest rows for which that is worth several products.
_PRODUCTS, _FEWEST_ROWS = 655_360, 32

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
    steps = np.clip(block, -bound, bound).astype(np.float64, copy=False)
    np.ldexp(steps, -exponents, out=steps)
    np.rint(steps, out=steps)
    halves = np.empty((len(block), 2, len(bound)))
    high, low = halves[:, 0], halves[:, 1]
    np.rint(np.multiply(steps, 2.0**-_HALF, out=high), out=high)
    np.subtract(steps, np.multiply(high, 2.0**_HALF, out=low), out=low)
    return halves.reshape(len(block), -1)


def _turns(frequencies: Array, exponents: NDArray[np.intc]) -> tuple[Array, NDArray[np.intc], int]:
    """Return turns (2d, m) per unit of the halves, bits (m,) behind their point, and a shift.

    A column's products with any halves are whole numbers of ``2^-bits`` and add below ``2^53``.
    Whole turns per unit are left out, and all sums are below ``2^(19+shift)`` turns, so that an
    angle plus ``1.5 2^(20+shift)`` stays within a binade.
    """
    low = np.ldexp(frequencies / (2.0 * np.pi), exponents[:, None])
    both = np.concatenate([np.ldexp(low, _HALF), low])
    both -= np.rint(both)
    bits = np.minimum(52 - np.frexp(2.0**_HALF * np.abs(both).sum(axis=0))[1], 900)
    turns = np.asarray(np.ldexp(np.rint(np.ldexp(both, bits)), -bits))
    longest = 2.0**_HALF * np.abs(turns).sum(axis=0).max()
    return turns, bits, max(0, math.frexp(longest)[1] - (51 - _TURN_BITS))


def angle_error(frequencies: Array, bound: Array) -> Array:
    """Return what rounding changes (m,) in the angles, radians, of records within the bound.

    Half a step of every entry, half a unit of frequency times the largest halves, and half a unit
    of the angle and of the dither.
    """
    exponents = _exponents(bound)
    _, bits, shift = _turns(frequencies, exponents)
    records = np.ldexp(np.abs(frequencies), exponents[:, None] - 1).sum(axis=0)
    columns = np.ldexp(len(frequencies) * 1.5 * 2.0 ** (_HALF - 1), -bits)
    return np.asarray(records + 2.0 * np.pi * (columns + math.ldexp(1.0, shift - _TURN_BITS)))


def feature_adder(sketch_map: SketchMap, rows: int) -> PhaseAdder | QuadraticAdder:
    """Return an adder, with scratch memory of its own, for blocks of at most ``rows`` records.

    Parts of slabs of finite records add as integers, of the shape ``shape``, and ``total`` makes
    features' sums of them. In ``scattered`` row i adds its features ``where[i]`` only.
    """
    return (QuadraticAdder if sketch_map.kind == "quadratic" else PhaseAdder)(sketch_map, rows)


def _scatter(codes: NDArray[Any], where: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    """Add whole numbers (n, r) at their positions."""
    weights = codes.ravel().astype(np.float64)
    return np.bincount(where.ravel(), weights, size).astype(np.int64)


class PhaseAdder:
    """Sums of cosines and sines, or counts of negative ones, with scratch memory of one block.

    With ``t = tan(x / 2)`` and ``w = 1 / (1 + t^2)`` they are ``2 w - 1`` and ``2 t w``: cheaper
    where tangents are vectorised.
    """

    def __init__(self, sketch_map: SketchMap, rows: int) -> None:
        self.bound = np.asarray(sketch_map.bound)
        self.exponents = _exponents(self.bound)
        self.weights, _, self.shift = _turns(sketch_map.frequencies, self.exponents)
        self.rows, self.shape = rows, (2, sketch_map.frequencies.shape[1])
        fast = _PRODUCTS // self.weights.size
        self.product_rows = fast if fast >= _FEWEST_ROWS else rows
        self.offset: NDArray[np.uint32] | None = None
        if sketch_map.dither is not None:
            turns = sketch_map.dither / (2.0 * np.pi)
            units = np.rint(np.ldexp(turns - np.floor(turns), _TURN_BITS)).astype(np.uint64)
            self.offset = units.astype(np.uint32)  # a whole turn is none
        self.scratch = aligned_empty((rows * self.shape[1],), np.float64)
        self.units = aligned_empty((rows * self.shape[1],), np.uint32)

    def part(self, slab: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sums (2, m) of the features' codes."""
        sums = np.zeros(self.shape, np.int64)
        m, step = self.shape[1], self.product_rows
        entries = _halves(slab, self.bound, self.exponents)
        for start in range(0, len(slab), self.rows):
            block = entries[start : start + self.rows]
            turns = self.scratch[: len(block) * m].reshape(-1, m)
            units = self.units[: len(block) * m].reshape(-1, m)
            for first in range(0, len(block), step):
                rows = slice(first, first + step)
                np.matmul(block[rows], self.weights, out=turns[rows])
            codes = self._codes(turns, units, self.offset)
            for first in range(0, len(block), _EXACT_ROWS):
                some = codes[:, first : first + _EXACT_ROWS]
                zeros = some.shape[1] * self._zero & 0xFFFFFFFF
                sums += np.add.reduce(some, axis=1, dtype=np.uint32) - np.uint32(zeros)
        return sums

    def scattered(self, block: NDArray[Any], where: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the sums (2, m) of the codes of some features of each record."""
        entries = _halves(block, self.bound, self.exponents)
        turns = np.einsum("nd,nrd->nr", entries, self.weights.T[where])
        offset = None if self.offset is None else self.offset[where]
        units = np.empty(turns.shape, np.uint32)
        codes = self._codes(turns, units, offset) - np.uint32(self._zero)
        return np.stack([_scatter(part, where, self.shape[1]) for part in codes])

    @property
    def _zero(self) -> int:
        """Code of zero units."""
        return _ONE if self.offset is None else 0

    def _codes(
        self, turns: Array, units: NDArray[np.uint32], offset: NDArray[np.uint32] | None
    ) -> NDArray[np.uint32]:
        """Return the codes (2, n, m) of features from angles (n, m), in the place of the angles.

        ``units`` has the shape of ``turns``. In the binade of the anchor one unit of the last place
        is ``2^(shift-32)`` turns: the low word of the sum counts them modulo a power of two, and
        thus the angle modulo whole turns, with one rounding.
        """
        turns += math.ldexp(1.5, 52 - _TURN_BITS + self.shift)
        np.copyto(units, turns.view(np.uint64), casting="unsafe")
        if self.shift:
            np.left_shift(units, np.uint32(self.shift), out=units)
        both = turns.reshape(-1).view(np.float32).reshape(2, *turns.shape)
        codes = both.view(np.uint32)
        if offset is not None:
            units += offset
            np.right_shift(units, np.uint32(31), out=codes[1])  # the second half of the turn
            units += np.uint32(_QUARTER)
            np.right_shift(units, np.uint32(31), out=codes[0])
            return codes
        cosine, angle = both
        np.copyto(angle, units.view(np.int32), casting="same_kind")  # in [-1/2, 1/2] turns
        radians = math.ldexp(np.pi if HALF_TANGENT else 2.0 * np.pi, -_TURN_BITS)
        angle *= np.float32(radians)
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
        else:  # from the number of negative ones to a sum of signs
            total.real, total.imag = (count - 2 * parts) * (_ONE_BIT * 2.0**-FEATURE_BITS)
        return total


def quadratic_factor(n_features: int) -> float:
    r"""Return the factor :math:`1-d2^{-20}(1+\sqrt d/16)` of quadratic features.

    With it, rounded features exceed no bound of a sensitivity (the proof is in the chapter).
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
        self.scale = quadratic_factor(len(sketch_map.frequencies)) * 2.0**FEATURE_BITS
        self.rows, self.shape = rows, (1, sketch_map.frequencies.shape[1])
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


def exact_sum(rows: NDArray[Any]) -> NDArray[Any]:
    """Sum of finite rows (n, m), rounded once: the same bits for every order of the rows.

    A plain sum rounds at every step, so that one row more moves the rounding of all the others.
    Real and imaginary parts are clamped to +-1e150 first, and the sum overflows for no row.
    """
    kind = np.complex128 if rows.dtype.kind == "c" else np.float64
    parts = clamp(np.ascontiguousarray(rows, kind).view(np.float64))
    return np.array([math.fsum(column) for column in parts.T.tolist()]).view(kind)
