"""Samplers of additive noise: Laplace, Gaussian, and the three norm-exponential laws.

All of them are public through :mod:`dplit.mechanisms`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, check_flag, check_integer, check_positive, check_rng
from dplit._numerics.rounding import round_up

_ComplexArray = NDArray[np.complex128]

_Shape = int | tuple[int, ...]


def _shape(name: str, shape: _Shape) -> tuple[int, ...]:
    entries = shape if isinstance(shape, tuple) else (shape,)
    return tuple(check_integer(name, entry, minimum=0) for entry in entries)


@overload
def laplace_noise(
    shape: _Shape, *, scale: float, rng: np.random.Generator, complex: Literal[False] = ...
) -> Array: ...


@overload
def laplace_noise(
    shape: _Shape, *, scale: float, rng: np.random.Generator, complex: Literal[True]
) -> _ComplexArray: ...


@overload
def laplace_noise(
    shape: _Shape, *, scale: float, rng: np.random.Generator, complex: bool
) -> Array | _ComplexArray: ...


def laplace_noise(
    shape: _Shape, *, scale: float, rng: np.random.Generator, complex: bool = False
) -> Array | _ComplexArray:
    r"""Return independent Laplace noise with density :math:`e^{-|z|/b}/(2b)` per real coordinate.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the result.
    scale : float
        Scale :math:`b` > 0; the standard deviation of a real coordinate is :math:`\sqrt2\,b`.
    rng : numpy.random.Generator
        Source of randomness.
    complex : bool, default=False
        If True, real and imaginary part are independent, so that :math:`E|z|^2=4b^2` and the
        density is proportional to :math:`e^{-(|\Re z|+|\Im z|)/b}`. It gives
        :math:`\Delta/b`-privacy where the sum of the absolute real and imaginary parts moves by at
        most :math:`\Delta`; a complex vector must be hidden by complex noise.

    Returns
    -------
    ndarray of float64 or complex128
        Noise of the given shape.  Floating-point noise is for research: its lowest bits can reveal
        what it hides, so a release uses :class:`dplit.mechanisms.Laplace`.

    References
    ----------
    I. Mironov, On significance of the least significant bits for differential privacy, CCS 2012.

    Examples
    --------
    >>> laplace_noise((2, 3), scale=1.0, rng=np.random.default_rng(0)).shape
    (2, 3)
    >>> laplace_noise(3, scale=1.0, rng=np.random.default_rng(0), complex=True).dtype
    dtype('complex128')
    """
    dimensions = _shape("shape", shape)
    scale = check_positive("scale", scale)
    rng = check_rng(rng)
    if not check_flag("complex", complex):
        return rng.laplace(scale=scale, size=dimensions)
    pairs = rng.laplace(scale=scale, size=(*dimensions, 2))
    return pairs.view(np.complex128)[..., 0]


@overload
def gaussian_noise(
    shape: _Shape, *, sigma: float, rng: np.random.Generator, complex: Literal[False] = ...
) -> Array: ...


@overload
def gaussian_noise(
    shape: _Shape, *, sigma: float, rng: np.random.Generator, complex: Literal[True]
) -> _ComplexArray: ...


@overload
def gaussian_noise(
    shape: _Shape, *, sigma: float, rng: np.random.Generator, complex: bool
) -> Array | _ComplexArray: ...


def gaussian_noise(
    shape: _Shape, *, sigma: float, rng: np.random.Generator, complex: bool = False
) -> Array | _ComplexArray:
    r"""Return independent Gaussian noise with standard deviation ``sigma`` per real coordinate.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the result.
    sigma : float
        Standard deviation per real coordinate, positive.
    rng : numpy.random.Generator
        Source of randomness.
    complex : bool, default=False
        If True, real and imaginary part are independent and both have standard deviation ``sigma``,
        so that :math:`E|z|^2=2\sigma^2`.  A complex vector must be hidden by complex noise: real
        noise leaves its imaginary part in the clear.

    Returns
    -------
    ndarray of float64 or complex128
        Noise of the given shape.  Floating-point noise is for research: its lowest bits can reveal
        what it hides, so a release uses :class:`dplit.mechanisms.Gaussian`.

    Examples
    --------
    >>> gaussian_noise(3, sigma=2.0, rng=np.random.default_rng(0), complex=True).dtype
    dtype('complex128')
    """
    dimensions = _shape("shape", shape)
    sigma = check_positive("sigma", sigma)
    rng = check_rng(rng)
    if not check_flag("complex", complex):
        return rng.normal(scale=sigma, size=dimensions)
    pairs = rng.normal(scale=sigma, size=(*dimensions, 2))
    return pairs.view(np.complex128)[..., 0]


def gamma_norm_noise(
    dimension: int, *, rate: float, rng: np.random.Generator, size: _Shape | None = None
) -> Array:
    r"""Return noise with density proportional to :math:`e^{-\xi\|z\|_2}` on :math:`R^d`.

    Parameters
    ----------
    dimension : int
        Dimension :math:`d` >= 1.
    rate : float
        Rate :math:`\xi` > 0.  Added to a vector of :math:`\ell_2` sensitivity :math:`\Delta`, the
        noise gives :math:`\xi\Delta`-privacy, because :math:`\|z\|_2` is 1-Lipschitz.
    rng : numpy.random.Generator
        Source of randomness.
    size : int or tuple of int, optional
        Shape of independent repetitions; None is a single vector.

    Returns
    -------
    ndarray of float64, of shape ``size + (dimension,)``
        The norm follows Gamma(:math:`d`) with rate :math:`\xi`, so that its mean is :math:`d/\xi`;
        the direction is uniform and independent of it.  Research noise, not a release.

    References
    ----------
    K. Chaudhuri, C. Monteleoni, A. Sarwate, Differentially private empirical risk minimization,
    JMLR 12, 2011, Algorithm 1.

    Examples
    --------
    >>> gamma_norm_noise(5, rate=0.1, rng=np.random.default_rng(0), size=2).shape
    (2, 5)
    """
    dimension = check_integer("dimension", dimension)
    rate = check_positive("rate", rate)
    rng = check_rng(rng)
    repetitions = () if size is None else _shape("size", size)
    direction = rng.standard_normal((*repetitions, dimension))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    norm = rng.gamma(dimension, round_up(1 / Fraction(rate)), size=(*repetitions, 1))
    noise: Array = norm * direction
    return noise


def _ball_radius(
    dimension: int, *, rate: float, rng: np.random.Generator, size: _Shape | None
) -> NDArray[np.float64]:
    """Radii R of the K-norm mechanism in 2 ``dimension`` real dimensions, of shape (*size, 1).

    A point uniform in the unit ball of the norm, times R, has density prop. to exp(-rate * norm).
    """
    dimension = check_integer("dimension", dimension)
    rate = check_positive("rate", rate)
    rng = check_rng(rng)
    repetitions = () if size is None else _shape("size", size)
    return rng.gamma(2 * dimension + 1, round_up(1 / Fraction(rate)), size=(*repetitions, 1))


def polydisc_noise(
    dimension: int, *, rate: float, rng: np.random.Generator, size: _Shape | None = None
) -> _ComplexArray:
    r"""Return noise on :math:`C^m` with density proportional to :math:`e^{-\xi\max_j|z_j|}`.

    Parameters
    ----------
    dimension : int
        Number :math:`m` >= 1 of complex coordinates.
    rate : float
        Rate :math:`\xi` > 0.  Added to a vector whose coordinates move by at most :math:`\Delta` in
        modulus, the noise gives :math:`\xi\Delta`-privacy.
    rng : numpy.random.Generator
        Source of randomness.
    size : int or tuple of int, optional
        Shape of independent repetitions; None is a single vector.

    Returns
    -------
    ndarray of complex128, of shape ``size + (dimension,)``
        :math:`\max_j|z_j|` follows Gamma(:math:`2m`) with rate :math:`\xi`.  Research noise, not a
        release.

    Notes
    -----
    A point uniform in the polydisc of radius :math:`R\sim\Gamma(2m+1)` has the density
    :math:`\int_{\max|z_j|}^\infty R^{2m}e^{-\xi R}(\pi R^2)^{-m}\,dR\propto e^{-\xi\max|z_j|}`.
    In a disc of radius :math:`R` the modulus is :math:`R\sqrt U` with :math:`U` uniform.

    References
    ----------
    M. Hardt and K. Talwar, On the geometry of differential privacy, STOC 2010, arXiv:0907.3754v3
    (the K-norm mechanism, here for the polydisc).

    Examples
    --------
    >>> polydisc_noise(4, rate=1.0, rng=np.random.default_rng(0), size=(2, 3)).shape
    (2, 3, 4)
    """
    radius = _ball_radius(dimension, rate=rate, rng=rng, size=size)
    modulus = radius * np.sqrt(rng.random((*radius.shape[:-1], dimension)))
    angle = rng.uniform(0.0, 2 * math.pi, size=modulus.shape)
    noise: _ComplexArray = modulus * np.exp(1j * angle)
    return noise


def cube_noise(
    dimension: int, *, rate: float, rng: np.random.Generator, size: _Shape | None = None
) -> _ComplexArray:
    r"""Return noise on :math:`C^m` with density prop. to :math:`e^{-\xi\max(|\Re z_j|,|\Im z_j|)}`.

    Parameters
    ----------
    dimension : int
        Number :math:`m` >= 1 of complex coordinates.
    rate : float
        Rate :math:`\xi` > 0.  Added to a vector whose real and imaginary parts move by at most
        :math:`\Delta` each, the noise gives :math:`\xi\Delta`-privacy.  One-bit features have parts
        :math:`\pm2^{-1/2}`: for them :math:`\xi=\sqrt2\,\epsilon` where a record is added.
    rng : numpy.random.Generator
        Source of randomness.
    size : int or tuple of int, optional
        Shape of independent repetitions; None is a single vector.

    Returns
    -------
    ndarray of complex128, of shape ``size + (dimension,)``
        The largest absolute part follows Gamma(:math:`2m`) with rate :math:`\xi`, and
        :math:`E|z_j|^2=\frac23(2m+1)(2m+2)/\xi^2`.  Research noise, not a release.

    Notes
    -----
    A radius :math:`R\sim\Gamma(2m+1)` times a point that is uniform in the cube
    :math:`[-1,1]^{2m}`, as for :func:`polydisc_noise`.

    References
    ----------
    M. Hardt and K. Talwar, On the geometry of differential privacy, STOC 2010, arXiv:0907.3754v3
    (the K-norm mechanism, here for the cube).

    Examples
    --------
    >>> cube_noise(4, rate=1.0, rng=np.random.default_rng(0), size=(2, 3)).shape
    (2, 3, 4)
    """
    radius = _ball_radius(dimension, rate=rate, rng=rng, size=size)
    parts = rng.uniform(-1.0, 1.0, size=(*radius.shape[:-1], 2 * dimension))
    parts *= radius
    noise: _ComplexArray = parts.view(np.complex128)
    return noise
