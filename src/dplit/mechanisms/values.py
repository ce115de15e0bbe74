r"""Additive noise as frozen values, which add themselves to what they hide, exactly.

A value says which law is added: ``Gaussian(sigma=2.0)``. Its ``add`` tells the ledger, with the
sensitivity that *the caller* states, and returns a multiple of a public step, a power of two that
is some 2^-25 of the noise's scale: ``step round((value + Z) / step)`` for a real Z of the law that
is named, decided exactly (``_exact``). Rounding is post-processing of the
real-valued mechanism, so that its guarantee holds to the last bit, and in every composition.

What must be true for it: the caller's sensitivity is that of the numbers that are handed over,
after all clipping and rounding, as for whole sums of records on a grid
(:mod:`dplit._numerics.exact`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_finite_array, check_integer, check_positive, quiet
from dplit._numerics.rounding import round_down
from dplit.mechanisms._bits import Words, words_of
from dplit.mechanisms._draws import Mechanism, Norm, passed, record_draw, record_step
from dplit.mechanisms._exact import (
    Offset,
    Rational,
    Sizes,
    Variates,
    gamma_norm_vectors,
    independent,
    k_norm_vectors,
)
from dplit.mechanisms._variates import Law

#: Scales are between 2^(bits - 1) and 2^(bits + 1) steps, over the number of coordinates where
#: these share a radius: rounding is far below the noise, and few draws are decided slowly.
_SCALE_BITS = 25

#: Quotients of a value and a step that are larger count as this much.
_LARGEST = 2.0**1000

#: Variates of adaptive repetitions that are made at a time.
_AHEAD = 1 << 16


def _exponent(scale: Fraction, spread: int) -> int:
    """Return the exponent of the power of two that is the step; it depends on public numbers."""
    size = scale.numerator.bit_length() - scale.denominator.bit_length()
    return size - _SCALE_BITS + (spread - 1).bit_length()


class _Value:
    """Numbers in steps ``2^exponent``: the nearest whole ones, and what is left."""

    def __init__(self, parts: Array, exponent: int) -> None:
        self._parts, self._exponent = parts, exponent
        steps = np.ldexp(parts, -exponent)
        np.minimum(np.maximum(steps, -_LARGEST, out=steps), _LARGEST, out=steps)
        self.nearest = np.rint(steps)
        self.offset = Offset(steps - self.nearest, self._left)

    def _left(self, i: int) -> Fraction:
        if abs(self.nearest[i]) >= 2.0**53:
            return Fraction(0)
        steps = Fraction(float(self._parts[i])) / Fraction(2) ** self._exponent
        return steps - int(self.nearest[i])

    def plus(self, noise: Array) -> Array:
        """Return the sum with whole noise; beyond 2^53 steps it is rounded, once."""
        return np.asarray(np.ldexp(self.nearest + noise, self._exponent))


def _parts(value: ArrayLike) -> tuple[Array, tuple[int, ...], bool]:
    """Return finite numbers as a row of real ones, with their shape, and whether complex."""
    array = check_finite_array("value", value)
    is_complex = array.dtype.kind == "c"
    kind = np.complex128 if is_complex else np.float64
    row = np.ascontiguousarray(array, kind).reshape(-1).view(np.float64)
    return row, array.shape, is_complex


def _formed(row: Array, unit: float, shape: tuple[int, ...], is_complex: bool) -> NDArray[Any]:
    row = row * unit
    return (row.view(np.complex128) if is_complex else row).reshape(shape)


class _Noise(ABC):
    """What the laws have in common."""

    _mechanism: ClassVar[Mechanism]
    _norm: ClassVar[Norm]
    _needs_complex: ClassVar[bool] = False

    @abstractmethod
    def _scale(self) -> Fraction:
        """Scale in the units of the data."""

    @abstractmethod
    def _variates(self, size: int, scale: Fraction, draw: Words) -> Variates:
        """Variates for ``size`` real numbers, of a scale in steps."""

    def _spread(self, size: int) -> int:
        """Number of variates that add up in a coordinate of ``size``."""
        return 1

    def _tell(
        self,
        shape: tuple[int, ...],
        *,
        hides: str,
        sensitivity: float | Callable[[], float] | None,
        of: Any,
        **facts: Any,
    ) -> None:
        stated = sensitivity
        if not (stated is None or callable(stated)):
            stated = check_positive("sensitivity", stated)
        record_draw(
            self._mechanism,
            hides,
            of=of,
            sensitivity=stated,
            scale=round_down(self._scale()),
            norm=self._norm,
            shape=shape,
            **facts,
        )

    @quiet
    def add(
        self,
        value: ArrayLike,
        *,
        hides: str,
        sensitivity: float | Callable[[], float] | None,
        unit: Rational = 1.0,
        rng: np.random.Generator | None = None,
        **facts: Any,
    ) -> NDArray[Any]:
        """Return ``unit value`` with noise of this law, rounded to multiples of a public step.

        Parameters
        ----------
        value : array_like
            Finite real or complex numbers of any shape, each part of which is taken as the float64
            that it is.
        hides : str
            What is hidden, in words, for the ledger.
        sensitivity : float, callable or None
            Largest change of ``unit value`` between neighbours, in the norm of this law, from the
            caller's own reasoning and not from the calibration; a function without arguments is
            asked where a ledger listens. None: nobody states it, and what is composed of it has no
            bound.
        unit : float or Fraction, default=1.0
            What a 1 in ``value`` stands for, public and positive, taken as the rational that it is:
            for whole sums on a grid whose step has a meaning in the units of the noise.
        rng : numpy.random.Generator or None, default=None
            None: bits of the operating system. A generator is a replay, which voids the guarantee.
        **facts
            Further fields of :class:`dplit.mechanisms._draws.Draw`: ``joint``, ``parallel``,
            ``copies``; and ``of``, what stands for ``value`` before those who watch a search of
            neighbours (None: the sensitivity is not that of the value by itself).

        Returns
        -------
        ndarray of float64 or complex128, of the shape of ``value``
            ``unit step k`` with a whole number k: exactly that of the real-valued mechanism, in
            which more than 53 bits, and the product with a unit, are rounded afterwards.

        Raises
        ------
        ValueError, TypeError
            If an argument is refused: before anything is drawn or told, and without a number of
            ``value``.
        """
        row, shape, is_complex = _parts(value)
        worth = float(check_positive("unit", unit))
        draw, scale = words_of(rng), self._scale() / Fraction(unit)
        if self._needs_complex and not is_complex:
            raise TypeError(f"value must be complex for {type(self).__name__} noise")
        facts.setdefault("of", lambda: _formed(row, worth, shape, is_complex))
        self._tell(shape, hides=hides, sensitivity=sensitivity, **facts)
        exponent = _exponent(scale, self._spread(row.size))
        held = _Value(row, exponent)
        noise = self._variates(row.size, scale / Fraction(2) ** exponent, draw)
        released = held.plus(noise.all_rounded(held.offset))
        return np.asarray(passed(_formed(released, worth, shape, is_complex)))


class _Independent(_Noise):
    """Laws whose coordinates are independent."""

    _law: ClassVar[Law]

    def _variates(self, size: int, scale: Fraction, draw: Words) -> Variates:
        return independent(self._law, size, scale, draw)

    @quiet
    def repeatedly(
        self,
        shape: tuple[int, ...],
        *,
        steps: int,
        hides: str,
        sensitivity: float | Callable[[], float] | None,
        grid: float | None = None,
        rng: np.random.Generator | None = None,
        **facts: Any,
    ) -> Callable[[Array], Array]:
        """Return what adds noise to ``steps`` arrays in turn, each made after the last release.

        Parameters
        ----------
        shape : tuple of int
            Of each array.
        steps : int
            How often the result is called at most.
        hides, sensitivity, rng, **facts
            As for ``add``: the ledger hears of all steps now, and of each when it is made.
        grid : float or None, default=None
            A public power of two of which all entries of all arrays are whole multiples. Where it
            is no finer than the step of the release, all noise is rounded ahead: the same bits in
            less time.

        Returns
        -------
        callable
            ``add(value)`` returns what ``add`` does.

        Examples
        --------
        >>> noisy = Gaussian(sigma=1.0).repeatedly((2,), steps=3, hides="sums", sensitivity=1.0)
        >>> [noisy(np.zeros(2)).shape for _ in range(3)]
        [(2,), (2,), (2,)]
        """
        draw, size = words_of(rng), math.prod(shape)
        count = check_integer("steps", steps)
        self._tell(shape, hides=hides, sensitivity=sensitivity, of=None, steps=count, **facts)
        exponent = _exponent(self._scale(), 1)
        scale = self._scale() / Fraction(2) ** exponent
        some = max(_AHEAD // max(size, 1), 1)

        whole = grid is not None and math.frexp(grid)[1] > exponent  # sums are whole in steps

        def ahead() -> Iterator[tuple[Variates, int, Sizes, Array | None]]:
            for first in range(0, count, some):
                variates = self._variates(min(some, count - first) * size, scale, draw)
                sizes = variates.all_sizes()
                noise = variates.rounded(0, sizes) if whole else None
                for at in range(0, len(variates), size):
                    part = slice(at, at + size)
                    made = None if noise is None else np.ldexp(noise[part], exponent)
                    yield variates, at, Sizes(*(each[part] for each in sizes)), made

        left = ahead()

        @quiet
        def add(value: Array) -> Array:
            row = np.asarray(value, np.float64).reshape(-1)
            if value.shape != shape or not np.isfinite(row).all():
                raise ValueError(f"value must be finite and of shape {shape}, got {value.shape}")
            if (one := next(left, None)) is None:
                raise RuntimeError(f"noise was told of for {count} steps, and they are over")
            variates, at, sizes, noise = one
            if noise is None:
                held = _Value(row, exponent)
                result = held.plus(variates.rounded(at, sizes, held.offset)).reshape(shape)
            else:
                result = (row + noise).reshape(shape)
            record_step(value, lambda: result - value)
            return np.asarray(passed(result))

        return add


@dataclass(frozen=True)
class Gaussian(_Independent):
    """Normal noise of standard deviation ``sigma`` on every real coordinate.

    Parameters
    ----------
    sigma : float or Fraction
        Positive, taken as the rational that it is; see :func:`dplit.mechanisms.gaussian_sigma`.
        The sensitivity is in the L2 norm.

    Returns
    -------
    Gaussian
        A frozen value; what is released is what its methods return.

    Examples
    --------
    >>> noisy = Gaussian(sigma=2.0).add([3, -1], hides="two sums", sensitivity=1.0)
    >>> bool((noisy * 2**24 == np.rint(noisy * 2**24)).all())
    True
    """

    sigma: Rational
    _mechanism: ClassVar[Mechanism] = "gaussian"
    _norm: ClassVar[Norm] = "l2"
    _law: ClassVar[Law] = "normal"

    def __post_init__(self) -> None:
        """Refuse a bad parameter."""
        check_positive("sigma", self.sigma)

    def _scale(self) -> Fraction:
        return Fraction(self.sigma)

    @quiet
    def add_symmetric(
        self,
        value: ArrayLike,
        *,
        hides: str,
        sensitivity: float | Callable[[], float] | None,
        unit: Rational = 1.0,
        rng: np.random.Generator | None = None,
        **facts: Any,
    ) -> NDArray[np.float64]:
        """Return what ``add`` does of a symmetric matrix, with a symmetric one of noise.

        Of standard deviation ``sigma`` on the diagonal and ``sigma / sqrt(2)``, rounded up, off it:
        in the coordinates (diagonal, sqrt(2) times what is above it), whose Euclidean norm is the
        Frobenius norm, all have at least ``sigma``. ``sensitivity`` is in the Frobenius norm;
        further parameters as for ``add``. The part above the diagonal counts.

        Examples
        --------
        >>> noisy = Gaussian(sigma=1.0).add_symmetric(np.eye(3), hides="moments", sensitivity=1.0)
        >>> bool((noisy == noisy.T).all())
        True
        """
        row, shape, is_complex = _parts(value)
        if len(shape) != 2 or shape[0] != shape[1] or is_complex:
            raise ValueError(f"value must be a real square matrix, got shape {shape}")
        draw, worth, d = words_of(rng), float(check_positive("unit", unit)), shape[0]
        matrix = row.reshape(shape)
        self._tell(shape, hides=hides, sensitivity=sensitivity, of=lambda: matrix * worth, **facts)
        above = np.triu_indices(d, 1)
        scale = self._scale() / Fraction(unit)
        exponent = _exponent(scale, 1)
        noisy = np.zeros(shape)
        for place, deviation in ((np.diag_indices(d), scale), (above, _over_root_two(scale))):
            held = _Value(matrix[place], exponent)
            variates = self._variates(len(place[0]), deviation / Fraction(2) ** exponent, draw)
            noisy[place] = held.plus(variates.all_rounded(held.offset))
        return np.asarray(passed((noisy + np.triu(noisy, 1).T) * worth))


def _over_root_two(scale: Fraction) -> Fraction:
    """Return a number that is at least ``scale / sqrt(2)``, and at most 2^-49 of it more."""
    root = math.isqrt(2**101) + 1  # of sqrt(2) in units of 2^-50
    return scale * Fraction(root, 2**51)


@dataclass(frozen=True)
class Laplace(_Independent):
    """Laplace noise of density ``exp(-|z| / scale) / (2 scale)`` on every real coordinate.

    Parameters
    ----------
    scale : float or Fraction
        Positive, taken as the rational that it is; see :func:`dplit.mechanisms.laplace_scale`. The
        sensitivity is in the L1 norm, of real and imaginary parts.

    Returns
    -------
    Laplace
        A frozen value; what is released is what its methods return.

    Examples
    --------
    >>> count = Laplace(scale=2.0).add(100, hides="a count", sensitivity=1.0)
    >>> float(count * 2**24).is_integer()
    True
    """

    scale: Rational
    _mechanism: ClassVar[Mechanism] = "laplace"
    _norm: ClassVar[Norm] = "l1"
    _law: ClassVar[Law] = "exponential"

    def __post_init__(self) -> None:
        """Refuse a bad parameter."""
        check_positive("scale", self.scale)

    def _scale(self) -> Fraction:
        return Fraction(self.scale)


@dataclass(frozen=True)
class _RateNoise(_Noise):
    rate: Rational

    def __post_init__(self) -> None:
        """Refuse a bad parameter."""
        check_positive("rate", self.rate)

    def _scale(self) -> Fraction:
        return 1 / Fraction(self.rate)

    def _spread(self, size: int) -> int:
        return size + 2


@dataclass(frozen=True)
class GammaNorm(_RateNoise):
    """Noise on a whole vector, with density proportional to ``exp(-rate |z|_2)``.

    Parameters
    ----------
    rate : float or Fraction
        Positive, taken as the rational that it is: a vector that moves by at most D in the L2 norm
        is hidden with epsilon = rate D. All entries of an array are one vector.

    Returns
    -------
    GammaNorm
        A frozen value; what is released is what its ``add`` returns.

    Examples
    --------
    >>> GammaNorm(rate=0.5).add([1, 2, 3], hides="a sum", sensitivity=1.0).shape
    (3,)
    """

    _mechanism: ClassVar[Mechanism] = "gamma_norm"
    _norm: ClassVar[Norm] = "l2"

    def _variates(self, size: int, scale: Fraction, draw: Words) -> Variates:
        return gamma_norm_vectors(1, size, scale, draw)


@dataclass(frozen=True)
class Polydisc(_RateNoise):
    """Noise on a whole complex vector, with density proportional to ``exp(-rate max |z_j|)``.

    Parameters
    ----------
    rate : float or Fraction
        Positive, taken as the rational that it is: a vector whose coordinates move by at most D in
        modulus is hidden with epsilon = rate D.

    Returns
    -------
    Polydisc
        A frozen value; what is released is what its ``add`` returns.

    Examples
    --------
    >>> Polydisc(rate=0.5).add([1j, 2 + 1j], hides="a sum", sensitivity=1.0).dtype
    dtype('complex128')
    """

    _mechanism: ClassVar[Mechanism] = "k_norm"
    _norm: ClassVar[Norm] = "modulus"
    _needs_complex: ClassVar[bool] = True

    def _variates(self, size: int, scale: Fraction, draw: Words) -> Variates:
        return k_norm_vectors(1, size // 2, scale, draw, disc=True)


@dataclass(frozen=True)
class Cube(_RateNoise):
    """Noise on a whole complex vector, of density prop. to ``exp(-rate max(|Re z_j|, |Im z_j|))``.

    Parameters
    ----------
    rate : float or Fraction
        Positive, taken as the rational that it is: a vector whose real and imaginary parts move by
        at most D each is hidden with epsilon = rate D.

    Returns
    -------
    Cube
        A frozen value; what is released is what its ``add`` returns.

    Examples
    --------
    >>> Cube(rate=0.5).add([1j, 2 + 1j], hides="a sum", sensitivity=1.0).dtype
    dtype('complex128')
    """

    _mechanism: ClassVar[Mechanism] = "k_norm"
    _norm: ClassVar[Norm] = "max"
    _needs_complex: ClassVar[bool] = True

    def _variates(self, size: int, scale: Fraction, draw: Words) -> Variates:
        return k_norm_vectors(1, size // 2, scale, draw, disc=False)
