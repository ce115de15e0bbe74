r"""Additive noise as frozen values, which add themselves to sums on a grid, exactly.

A value says which law is added, in the units of the data: ``Gaussian(sigma=2.0)``. Its ``add``
takes whole numbers of grid steps, adds whole noise (:mod:`dplit.mechanisms.exact`), and tells the
ledger, with the sensitivity that *the caller* states. The result has exactly the law of
``round(value + noise)`` on the grid, with the real noise of the law that is named, so that its
guarantee is that of the real mechanism: to the last bit, and in every composition.

What must be true for it: the caller's sensitivity is that of the whole numbers, after all clipping
and rounding of records (as in ``grid_rows``). Rounding the *sum* of
records that are off the grid would add up to a step to it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_positive, quiet
from dplit._numerics.rounding import round_down
from dplit.mechanisms.bits import words_of
from dplit.mechanisms.draws import Mechanism, Norm, record_draw, record_step
from dplit.mechanisms.exact import (
    MOST_STEPS,
    Rational,
    as_rational,
    rounded_cube,
    rounded_gamma_norm,
    rounded_laplace,
    rounded_normal,
    rounded_polydisc,
)

_Integers = NDArray[np.int64]

#: Sums beyond it count as this much, results as at most twice as much: nothing is refused for what
#: a private sum is, and clamping moves two sums no further apart.
_LARGEST_SUM = (1 << 61) - 1  # with the largest noise, below 2^63

#: Between them, all whole numbers of steps are normal floats.
_STEPS = (2.0**-900, 2.0**900)


def _check_step(step: object) -> float:
    number = check_positive("step", step)
    if math.frexp(number)[0] != 0.5 or not _STEPS[0] <= number <= _STEPS[1]:
        raise ValueError(f"step must be a power of two in [2^-900, 2^900], got step={step!r}")
    return number


def _whole(value: ArrayLike) -> tuple[_Integers, bool]:
    """Return whole numbers as integers with a last axis for parts, and whether they are complex."""
    array = check_finite_array("value", value)
    is_complex = array.dtype.kind == "c"
    if array.dtype.kind in "fc":
        kind = np.complex128 if is_complex else np.float64
        array = np.array(array, kind, order="C")[..., None].view(np.float64)
        if (np.rint(array) != array).any():
            raise ValueError("value must have whole numbers of steps (divide by step first)")
        array = np.clip(array, -float(_LARGEST_SUM), float(_LARGEST_SUM))
    else:
        array = array[..., None]
        if array.dtype == np.uint64:
            array = np.minimum(array, np.uint64(_LARGEST_SUM))
    return np.clip(array.astype(np.int64), -_LARGEST_SUM, _LARGEST_SUM), is_complex


def _result(whole: _Integers, step: float, is_complex: bool) -> NDArray[Any]:
    """Whole numbers times the step; beyond 2^53 steps they are rounded, after the noise."""
    limit = 2 * _LARGEST_SUM
    parts = np.clip(whole, -limit, limit).astype(np.float64) * step
    return parts.view(np.complex128)[..., 0] if is_complex else np.asarray(parts[..., 0])


class _Noise(ABC):
    """What the laws have in common."""

    _mechanism: ClassVar[Mechanism]
    _norm: ClassVar[Norm]
    _needs_complex: ClassVar[bool] = False

    @abstractmethod
    def _scale(self) -> Fraction:
        """Scale in the units of the data."""

    @abstractmethod
    def _drawn(
        self, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator | None
    ) -> _Integers:
        """Noise of a scale in steps; the last axis of the shape has one or two parts."""

    def _spread(self, size: int) -> int:
        """Number of variates that add up in a coordinate of ``size``, which bounds the scale."""
        return 1

    @quiet
    def tell(
        self,
        shape: tuple[int, ...],
        *,
        hides: str,
        sensitivity: float,
        of: Any = None,
        **facts: Any,
    ) -> None:
        """Tell open ledgers of a draw to come: for adaptive repetitions, ``steps`` in ``facts``.

        ``of`` is what is hidden, or a function giving it, for those who watch a search of
        neighbours; ``facts`` are further fields of :class:`dplit.mechanisms.draws.Draw`.
        """
        record_draw(
            self._mechanism,
            hides,
            of=of,
            sensitivity=check_positive("sensitivity", sensitivity),
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
        step: float,
        hides: str,
        sensitivity: float,
        rng: np.random.Generator | None = None,
        **facts: Any,
    ) -> NDArray[Any]:
        """Return ``step (value + noise)``, where the noise is exactly rounded to whole numbers.

        Parameters
        ----------
        value : array_like of whole numbers
            Sums in grid steps, of any shape, as integers, floats or complex numbers with whole
            parts. Parts of 2^61 and more count as 2^61 - 1.
        step : float
            The grid's step in the units of the data: a power of two. The scale of the noise must be
            below 2^50 steps (divided by the number of coordinates where they share a radius).
        hides : str
            What is hidden, in words, for the ledger.
        sensitivity : float
            Largest change of ``step value`` between neighbours, in the norm of this law, from the
            caller's own reasoning and not from the calibration.
        rng : numpy.random.Generator or None, default=None
            None: bits of the operating system. A generator is a replay, which voids the guarantee.
        **facts
            Further fields of :class:`dplit.mechanisms.draws.Draw`: ``joint``, ``parallel``,
            ``copies``.

        Returns
        -------
        ndarray of float64 or complex128, of the shape of ``value``
            On the grid. Whole numbers beyond 2^53 steps are rounded to float64 after the noise was
            added in 64-bit integers.

        Raises
        ------
        ValueError
            If ``value`` is off the grid, ``step`` no power of two, or too small for the noise:
            before anything is drawn or told, and without a number of ``value``.
        """
        whole, step, is_complex = self._checked(value, step, rng)
        shape = whole.shape[:-1]
        self.tell(
            shape,
            hides=hides,
            sensitivity=sensitivity,
            of=lambda: _result(whole, step, is_complex),
            **facts,
        )
        noise = self._drawn(whole.shape, self._scale() / Fraction(step), rng)
        return _result(whole + noise, step, is_complex)

    @quiet
    def add_step(
        self, value: ArrayLike, *, step: float, rng: np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Return what ``add`` does, as one of the repetitions of which ``tell`` told."""
        whole, step, is_complex = self._checked(value, step, rng)
        noise = self._drawn(whole.shape, self._scale() / Fraction(step), rng)
        record_step(lambda: _result(whole, step, is_complex), _result(noise, step, is_complex))
        return _result(whole + noise, step, is_complex)

    def _checked(
        self, value: ArrayLike, step: float, rng: np.random.Generator | None
    ) -> tuple[_Integers, float, bool]:
        """Refuse what cannot be done before anything is told or drawn."""
        step = _check_step(step)
        words_of(rng)
        whole, is_complex = _whole(value)
        most = MOST_STEPS / self._spread(whole.size)
        as_rational("scale of the noise", self._scale() / Fraction(step), most=most)
        if self._needs_complex and not is_complex:
            raise TypeError(f"value must be complex for {type(self).__name__} noise")
        return whole, step, is_complex


@dataclass(frozen=True)
class Gaussian(_Noise):
    """Normal noise of standard deviation ``sigma`` on every real coordinate.

    Parameters
    ----------
    sigma : float or Fraction
        Positive, taken as the rational that it is; see :func:`dplit.mechanisms.gaussian_sigma`.
        The sensitivity is in the L2 norm.

    Examples
    --------
    >>> noisy = Gaussian(sigma=2.0).add([3, -1], step=2.0**-10, hides="two sums", sensitivity=1.0)
    >>> bool((noisy * 2**10 == np.rint(noisy * 2**10)).all())
    True
    """

    sigma: Rational
    _mechanism: ClassVar[Mechanism] = "gaussian"
    _norm: ClassVar[Norm] = "l2"

    def __post_init__(self) -> None:
        """Refuse a bad parameter."""
        check_positive("sigma", self.sigma)

    def _scale(self) -> Fraction:
        return Fraction(self.sigma)

    def _drawn(
        self, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator | None
    ) -> _Integers:
        return rounded_normal(shape, sigma=scale, rng=rng)

    @quiet
    def add_symmetric(
        self,
        value: ArrayLike,
        *,
        step: float,
        hides: str,
        sensitivity: float,
        rng: np.random.Generator | None = None,
        **facts: Any,
    ) -> NDArray[np.float64]:
        """Return ``step (value + noise)`` for a symmetric matrix, with a symmetric one of noise.

        Of standard deviation ``sigma`` on the diagonal and ``sigma / sqrt(2)``, rounded up, off it:
        in the coordinates (diagonal, sqrt(2) times what is above it), whose Euclidean norm is the
        Frobenius norm, all have at least ``sigma``. ``sensitivity`` is in the Frobenius norm;
        further parameters as for :meth:`add`. The part above the diagonal counts.

        Examples
        --------
        >>> noisy = Gaussian(sigma=1.0).add_symmetric(np.eye(3), step=0.25, hides="moments",
        ...                                           sensitivity=1.0)
        >>> bool((noisy == noisy.T).all())
        True
        """
        whole, step, is_complex = self._checked(value, step, rng)
        if whole.ndim != 3 or whole.shape[0] != whole.shape[1] or is_complex:
            raise ValueError(f"value must be a real square matrix, got shape {whole.shape[:-1]}")
        matrix = whole[..., 0]
        self.tell(
            matrix.shape,
            hides=hides,
            sensitivity=sensitivity,
            of=lambda: _result(whole, step, False),
            **facts,
        )
        d = len(matrix)
        off = math.sqrt(0.5) * float(self.sigma)
        while 2 * Fraction(off) ** 2 < self._scale() ** 2:
            off = math.nextafter(off, math.inf)
        noise = np.zeros((d, d), np.int64)
        above = np.triu_indices(d, 1)
        noise[np.diag_indices(d)] = self._drawn((d,), self._scale() / Fraction(step), rng)
        noise[above] = self._drawn((len(above[0]),), Fraction(off) / Fraction(step), rng)
        noisy = np.triu(matrix) + noise
        return _result((noisy + np.triu(noisy, 1).T)[..., None], step, False)


@dataclass(frozen=True)
class Laplace(_Noise):
    """Laplace noise of density ``exp(-|z| / scale) / (2 scale)`` on every real coordinate.

    Parameters
    ----------
    scale : float or Fraction
        Positive, taken as the rational that it is; see :func:`dplit.mechanisms.laplace_scale`. The
        sensitivity is in the L1 norm, of real and imaginary parts.

    Examples
    --------
    >>> count = Laplace(scale=2.0).add(100, step=1.0, hides="a count", sensitivity=1.0)
    >>> float(count).is_integer()
    True
    """

    scale: Rational
    _mechanism: ClassVar[Mechanism] = "laplace"
    _norm: ClassVar[Norm] = "l1"

    def __post_init__(self) -> None:
        """Refuse a bad parameter."""
        check_positive("scale", self.scale)

    def _scale(self) -> Fraction:
        return Fraction(self.scale)

    def _drawn(
        self, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator | None
    ) -> _Integers:
        return rounded_laplace(shape, scale=scale, rng=rng)


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

    Examples
    --------
    >>> GammaNorm(rate=0.5).add([1, 2, 3], step=0.125, hides="a sum", sensitivity=1.0).shape
    (3,)
    """

    _mechanism: ClassVar[Mechanism] = "gamma_norm"
    _norm: ClassVar[Norm] = "l2"

    def _drawn(
        self, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator | None
    ) -> _Integers:
        return rounded_gamma_norm(math.prod(shape), scale=scale, rng=rng).reshape(shape)


@dataclass(frozen=True)
class Polydisc(_RateNoise):
    """Noise on a whole complex vector, with density proportional to ``exp(-rate max |z_j|)``.

    Parameters
    ----------
    rate : float or Fraction
        Positive, taken as the rational that it is: a vector whose coordinates move by at most D in
        modulus is hidden with epsilon = rate D.

    Examples
    --------
    >>> Polydisc(rate=0.5).add([1j, 2 + 1j], step=0.125, hides="a sum", sensitivity=1.0).dtype
    dtype('complex128')
    """

    _mechanism: ClassVar[Mechanism] = "k_norm"
    _norm: ClassVar[Norm] = "modulus"
    _needs_complex: ClassVar[bool] = True

    def _drawn(
        self, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator | None
    ) -> _Integers:
        return rounded_polydisc(math.prod(shape[:-1]), scale=scale, rng=rng).reshape(shape)


@dataclass(frozen=True)
class Cube(_RateNoise):
    """Noise on a whole complex vector, of density prop. to ``exp(-rate max(|Re z_j|, |Im z_j|))``.

    Parameters
    ----------
    rate : float or Fraction
        Positive, taken as the rational that it is: a vector whose real and imaginary parts move by
        at most D each is hidden with epsilon = rate D.

    Examples
    --------
    >>> Cube(rate=0.5).add([1j, 2 + 1j], step=0.125, hides="a sum", sensitivity=1.0).dtype
    dtype('complex128')
    """

    _mechanism: ClassVar[Mechanism] = "k_norm"
    _norm: ClassVar[Norm] = "max"
    _needs_complex: ClassVar[bool] = True

    def _drawn(
        self, shape: tuple[int, ...], scale: Fraction, rng: np.random.Generator | None
    ) -> _Integers:
        return rounded_cube(math.prod(shape[:-1]), scale=scale, rng=rng).reshape(shape)
