r"""Noise in whole grid steps, exact: what is drawn is round(Z) for a real Z of the stated law.

Let s be a whole number, that of a sum on a grid, and Z the real noise of a mechanism whose
guarantee is proved. Then s + round(Z) = round(s + Z): adding s shifts real numbers and the
boundaries between whole numbers alike. The release is a function of the real-valued mechanism's
output, and inherits its guarantee, exactly and in every composition, adaptive or not. For any other
rational s, ``round(s + Z)`` itself is drawn: of what is left of s beside its nearest whole number
an :class:`Offset` is made.

Ziv's test: a draw is computed in float64 with a proved bound on its error
(``_quantiles``). Where that leaves two whole numbers, it is decided in whole
numbers with more bits *of the same* variates (``_variates``). What is drawn is a
function of the random words alone: no library, machine or choice of path has a part in it.

Every variate is symmetric: a random sign times a quantile of a uniform number, or that number.
Vectors share a radius:

- density :math:`e^{-\|z\|_2}` on :math:`R^d`: :math:`z=\sqrt{2W}\,g` with independent standard
  normal coordinates g and :math:`2W` chi-square with d + 1 degrees of freedom, since both have the
  characteristic function :math:`(1+\|t\|^2)^{-(d+1)/2}`;
- density :math:`e^{-\max}`: :math:`z=Wv`, where v is uniform in the unit ball of the norm in n real
  dimensions and W follows Gamma(n + 1). In a disc, v is a point of the square that lies in it.

W is a sum of exponential variates (and half a squared normal one where d is even).

A tie has probability 0 and is rounded away from zero. The time of a draw depends on the noise and
on public numbers; with an offset also on it, in the few draws that are decided slowly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, check_integer, check_positive, quiet
from dplit.mechanisms._bits import Words, words_of
from dplit.mechanisms._quantiles import exponential_table, normal_table
from dplit.mechanisms._variates import Constant, Factor, Law, Radius, Uniform, whole_number

#: A number that is taken as the rational that it is.
Rational = float | Fraction

_Integers = NDArray[np.int64]

_Shape = int | tuple[int, ...]

#: Scale of the noise in steps, times the number of variates in its radius, from which on steps are
#: too small: nearly every draw would take the slow path.
MOST_STEPS = 2.0**46

#: Noise beyond it, which has no probability to speak of, counts as this much.
_LARGEST = 1 << 53

_BLOCK = 8192
_U = 2.0**-53
_BELOW_ONE = 1.0 - _U
_NEAR_CIRCLE = 2.0**-48


def as_rational(name: str, value: object, *, most: float = MOST_STEPS) -> Fraction:
    """Return a positive scale in steps as the rational that it is; ``most`` bounds it."""
    number = check_positive(name, value)
    if number >= most:
        raise ValueError(
            f"{name} must be below {most:.4g} grid steps (take a coarser step), got {number!r}"
        )
    return value if isinstance(value, Fraction) else Fraction(number)


def _floats(law: Law, words: NDArray[np.uint64]) -> tuple[Array, Array]:
    """Return variates of one block in float64, and bounds on their errors."""
    p = (words >> np.uint64(1)).astype(np.float64)
    p *= 2.0**-63
    if law == "uniform":
        return p, _U * p + 2.0**-63
    np.minimum(p, _BELOW_ONE, out=p)
    if law == "normal":
        table, p = normal_table(), 0.5 * p
        bounds = table.normal_bounds
    else:
        table = exponential_table()
        bounds = table.exponential_bounds
    value, rest, row = table.evaluate(p)
    value += rest
    error = bounds.take(row, mode="clip")
    np.multiply(value, _U, out=rest)
    error += np.abs(rest, out=rest)
    return value, error


def exponential_floats(words: NDArray[np.uint64]) -> tuple[Array, Array]:
    """Return standard exponential variates of words in float64, and bounds on their errors."""
    value, error = np.empty(words.size), np.empty(words.size)
    for start in range(0, words.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        value[block], error[block] = _floats("exponential", words[block])
    return value, error


class _Radii:
    """Radii of several vectors in float64 with relative errors, and exactly where asked."""

    def __init__(
        self,
        scale: Fraction,
        rows: int,
        *,
        exponentials: int,
        normal: bool,
        root: bool,
        words: Words,
    ) -> None:
        self._scale, self._root, self._draw = scale, root, words
        self._uniforms = words(rows * exponentials).reshape(rows, exponentials)
        self._normals = words(rows) if normal else None
        self._exact: dict[int, Radius] = {}
        self.values, self.relative = self._approximately()

    def _approximately(self) -> tuple[Array, Array]:
        total, error = _sums(self._uniforms)
        if self._normals is not None:
            value, own = _floats("normal", self._normals)
            half = 0.5 * value * value
            total += half
            error += value * own + 0.5 * own * own + 3 * _U * half
        relative = error / total + 2 * _U
        if self._root:
            total = np.sqrt(2.0 * total)  # the error of a root is half as large, or nearly
        relative = relative * (1 + 2.0**-10) + 3 * _U
        relative[~(relative < 2.0**-12)] = math.inf
        return total * float(self._scale), relative

    def exact(self, row: int) -> Radius:
        """Return one of the radii with all that is known of it."""
        if row not in self._exact:
            variates = [Uniform(int(w) >> 1, 63, self._draw) for w in self._uniforms[row]]
            normal = None
            if self._normals is not None:
                normal = Uniform(int(self._normals[row]) >> 1, 63, self._draw)
            self._exact[row] = Radius(self._scale, variates, normal, self._root)
        return self._exact[row]


def _sums(words: NDArray[np.uint64]) -> tuple[Array, Array]:
    """Row sums of exponential variates and bounds on their errors, those of the sum included.

    Parts of 2^-30 add exactly; what is below adds with errors below n^2 u 2^-30.
    """
    value, error = exponential_floats(words.ravel())
    value, error = value.reshape(words.shape), error.reshape(words.shape)
    coarse = np.floor(value * 2.0**30) * 2.0**-30
    n = words.shape[1]
    total = coarse.sum(axis=1) + (value - coarse).sum(axis=1)
    return total, error.sum(axis=1) * (1 + 2 * n * _U) + _U * (2 * total + n * n * 2.0**-30)


class Offset(NamedTuple):
    """What is added to noise before it is rounded: rational numbers in [-1/2, 1/2].

    ``near`` (n,) is right to ``2^-53``, and ``exact(i)`` is the number itself.
    """

    near: Array
    exact: Callable[[int], Fraction]

    def part(self, block: slice) -> Offset:
        """Return those of a block."""
        first = block.start
        return Offset(self.near[block], lambda i: self.exact(first + i))


class Sizes(NamedTuple):
    """Signs (1.0 or -1.0) of variates, their sizes in float64, and bounds on their errors."""

    sign: Array
    size: Array
    error: Array


class Variates:
    """Variates of words, times factors, in float64; each is rounded exactly when it is asked for.

    ``values`` are the factors in float64, right to ``relative`` of themselves, one for each word or
    of shape (1,); ``factor(i)`` is the exact one, and ``known`` has uniform numbers of which more
    than their word is known. The last bit of a word is the sign.
    """

    def __init__(
        self,
        law: Law,
        words: NDArray[np.uint64],
        values: Array,
        relative: Array | float,
        factor: Callable[[int], Factor],
        draw: Words,
        known: dict[int, Uniform] | None = None,
    ) -> None:
        self._law, self._words, self._draw = law, words, draw
        self._values, self._relative, self._factor = values, relative, factor
        self._known = known or {}

    def __len__(self) -> int:
        return self._words.size

    def sizes(self, part: slice) -> Sizes:
        """Return what the words of a part say in float64."""
        words = self._words[part]
        x, error = _floats(self._law, words)
        shared = self._values.size == 1
        scale = self._values if shared else self._values[part]
        x *= scale
        error *= scale
        slack = self._relative if isinstance(self._relative, float) else self._relative[part]
        error += np.abs(x) * (slack + 4 * _U) + 2 * _U
        error *= 1 + 2.0**-10
        return Sizes(1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64), x, error)

    def all_sizes(self) -> Sizes:
        """Return those of all variates, computed block by block."""
        parts = [self.sizes(block) for block in self._blocks()]
        return Sizes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def rounded(
        self, start: int, sizes: Sizes, offset: Offset | None = None, *, check: bool = False
    ) -> Array:
        """Return ``round(noise + offset)`` for the variates from ``start`` on, given their sizes.

        With ``check`` all are decided in whole numbers.
        """
        sign, x, error = sizes
        if offset is not None:  # sign round(x + sign offset)
            x = x + sign * offset.near
        k = np.rint(x)
        sure = 0.5 - np.abs(x - k) > error  # both differences are exact where it matters
        if check or not sure.all():
            for i in range(x.size) if check else np.flatnonzero(~sure).tolist():
                k[i] = self._decided(start + i, sizes, i, x[i], offset, check)
        return np.asarray(sign * k)

    def _decided(
        self, at: int, sizes: Sizes, i: int, x: float, offset: Offset | None, check: bool
    ) -> int:
        """Return the size of one number, decided in whole numbers."""
        shift = Fraction(0) if offset is None else int(sizes.sign[i]) * offset.exact(i)
        low, high = -1, None
        if not check and math.isfinite(sizes.error[i]):
            middle, half = Fraction(x) - Fraction(1, 2), Fraction(sizes.error[i])
            low, high = max(math.ceil(middle - half) - 1, -1), max(math.ceil(middle + half), 0)
        uniform = self._known.get(at) or Uniform(int(self._words[at]) >> 1, 63, self._draw)
        found = whole_number(self._law, uniform, self._factor(at), low, high, shift=shift)
        return min(found, _LARGEST)

    def _blocks(self) -> list[slice]:
        return [slice(at, min(at + _BLOCK, len(self))) for at in range(0, len(self), _BLOCK)]

    def all_rounded(self, offset: Offset | None = None, *, check: bool = False) -> Array:
        """Return all of them, whole numbers, block by block."""
        result = np.empty(len(self))
        for block in self._blocks():
            part = None if offset is None else offset.part(block)
            result[block] = self.rounded(block.start, self.sizes(block), part, check=check)
        return result


def _shape(size: _Shape) -> tuple[int, ...]:
    entries = size if isinstance(size, tuple) else (size,)
    return tuple(check_integer("size", entry, minimum=0) for entry in entries)


def independent(law: Law, count: int, scale: Fraction, draw: Words) -> Variates:
    """Return ``count`` independent variates of a scale in steps."""
    constant = Constant(scale)
    return Variates(law, draw(count), np.array([float(scale)]), _U, lambda _: constant, draw)


@quiet
def _independent(
    law: Law, size: _Shape, scale: Fraction, draw: Words, *, check: bool = False
) -> _Integers:
    shape = _shape(size)
    variates = independent(law, math.prod(shape), scale, draw)
    return variates.all_rounded(check=check).astype(np.int64).reshape(shape)


def rounded_normal(
    size: _Shape, *, sigma: Rational, rng: np.random.Generator | None = None
) -> _Integers:
    """Return ``round(sigma Z)`` for independent standard normal Z, exactly.

    Parameters
    ----------
    size : int or tuple of int
        Shape of the result.
    sigma : float or Fraction
        Standard deviation in grid steps, in (0, 2^46), taken as the rational that it is.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> rounded_normal(4, sigma=1000.0, rng=np.random.default_rng(0)).dtype
    dtype('int64')
    """
    return _independent("normal", size, as_rational("sigma", sigma), words_of(rng))


def rounded_laplace(
    size: _Shape, *, scale: Rational, rng: np.random.Generator | None = None
) -> _Integers:
    """Return ``round(Z)`` for independent Z of density ``exp(-|z| / scale) / (2 scale)``, exactly.

    Parameters
    ----------
    size : int or tuple of int
        Shape of the result.
    scale : float or Fraction
        In grid steps, in (0, 2^46), taken as the rational that it is.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> rounded_laplace((2, 3), scale=0.5, rng=np.random.default_rng(0)).shape
    (2, 3)
    """
    return _independent("exponential", size, as_rational("scale", scale), words_of(rng))


def _vectors(
    law: Law,
    rows: int,
    width: int,
    scale: Fraction,
    draw: Words,
    *,
    exponentials: int,
    normal: bool = False,
    root: bool = False,
    disc: bool = False,
) -> Variates:
    """Return the coordinates of ``rows`` vectors of ``width``, which share a radius each."""
    radii = _Radii(scale, rows, exponentials=exponentials, normal=normal, root=root, words=draw)
    words, known = _in_discs(rows * width, draw) if disc else (draw(rows * width), {})
    return Variates(
        law,
        words,
        np.repeat(radii.values, width),
        np.repeat(radii.relative, width),
        lambda at: radii.exact(at // width),
        draw,
        known,
    )


def _in_discs(count: int, draw: Words) -> tuple[NDArray[np.uint64], dict[int, Uniform]]:
    """Words of points that are uniform in unit discs, two for each, and the longer prefixes of
    those that are so near the circle that more bits had to say on which side.
    """
    words = np.empty((count // 2, 2), np.uint64)
    known: dict[int, Uniform] = {}
    missing = np.arange(count // 2)
    while missing.size:
        words[missing] = draw(2 * missing.size).reshape(-1, 2)
        parts = (words[missing] >> np.uint64(1)).astype(np.float64) * 2.0**-63
        square = parts[:, 0] ** 2 + parts[:, 1] ** 2
        inside = square < 1.0
        for i in np.flatnonzero(np.abs(square - 1.0) < _NEAR_CIRCLE).tolist():
            at = int(missing[i])
            x, y = (Uniform(int(word) >> 1, 63, draw) for word in words[at])
            while (side := _is_inside(x, y)) is None:
                x.lengthen()
                y.lengthen()
            inside[i] = side
            if side and x.bits > 63:
                known[2 * at], known[2 * at + 1] = x, y
        missing = missing[~inside]
    return words.ravel(), known


def _is_inside(x: Uniform, y: Uniform) -> bool | None:
    one = 1 << 2 * x.bits
    if (x.value + 1) ** 2 + (y.value + 1) ** 2 <= one:
        return True
    return False if x.value**2 + y.value**2 >= one else None


def rounded_gamma_norm(
    dimension: int, *, scale: Rational, rng: np.random.Generator | None = None, size: int = 1
) -> _Integers:
    r"""Return ``round(z)`` for vectors z of density like ``exp(-|z|_2 / scale)``, exactly.

    Parameters
    ----------
    dimension : int
        Number d of coordinates.
    scale : float or Fraction
        In grid steps, positive, such that ``scale (d + 2)`` is below 2^46.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.
    size : int, default=1
        Number of independent vectors.

    Returns
    -------
    ndarray of int64, of shape (size, dimension)

    Examples
    --------
    >>> rounded_gamma_norm(5, scale=100.0, rng=np.random.default_rng(0)).shape
    (1, 5)
    """
    d = check_integer("dimension", dimension)
    unit = as_rational("scale", scale, most=MOST_STEPS / (d + 2))
    return _gamma_norm(check_integer("size", size), d, unit, words_of(rng))


def gamma_norm_vectors(rows: int, d: int, scale: Fraction, draw: Words) -> Variates:
    """Return the coordinates of vectors of density like ``exp(-|z|_2 / scale)``, row by row."""
    return _vectors(
        "normal",
        rows,
        d,
        scale,
        draw,
        exponentials=(d + 1) // 2,
        normal=d % 2 == 0,
        root=True,
    )


def k_norm_vectors(rows: int, m: int, scale: Fraction, draw: Words, *, disc: bool) -> Variates:
    """Return real and imaginary parts of vectors in C^m of density like ``exp(-max / scale)``."""
    return _vectors("uniform", rows, 2 * m, scale, draw, exponentials=2 * m + 1, disc=disc)


@quiet
def _gamma_norm(
    rows: int, d: int, unit: Fraction, draw: Words, *, check: bool = False
) -> _Integers:
    variates = gamma_norm_vectors(rows, d, unit, draw)
    return variates.all_rounded(check=check).astype(np.int64).reshape(rows, d)


@quiet
def _k_norm(
    rows: int, m: int, unit: Fraction, draw: Words, *, disc: bool, check: bool = False
) -> _Integers:
    variates = k_norm_vectors(rows, m, unit, draw, disc=disc)
    return variates.all_rounded(check=check).astype(np.int64).reshape(rows, m, 2)
