r"""The release :math:`f_z+b` with one scalar b, as printed, and what it could have meant."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_rng,
)
from dplit.mechanisms import laplace_noise

__all__ = [
    "Reading",
    "release_classifier",
    "release_epsilon",
    "release_random_function",
    "release_scalar_shift",
]

_Array = NDArray[np.float64]
Reading = Literal["shift", "fresh", "random_function"]


def _values(values: ArrayLike) -> _Array:
    array = check_finite_array("values", values, ndim=1)
    if array.dtype.kind == "c":
        raise TypeError(f"values must be real, got values of dtype {array.dtype}")
    return array.astype(np.float64)


def release_scalar_shift(
    values: ArrayLike,
    *,
    scale: float,
    rng: np.random.Generator,
    releases: int | None = None,
    as_printed: bool = True,
) -> _Array:
    r"""Values of :math:`f_z+b` with one scalar b for all points (as printed), or one b per point.

    Parameters
    ----------
    values : array_like of shape (n,)
        Exact values of the function at n points chosen without looking at the data.
    scale : float
        Laplace scale of the noise, positive.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point.
    releases : int, optional
        Number of independent releases of the same values; None is a single one.
    as_printed : bool, default=True
        True: equation (2), one number for the whole function; kept because the chapter breaks it.
        False: fresh noise for every value.

    Returns
    -------
    ndarray of shape (n,) or (releases, n)
        As printed: private for n = 1 only; two values give their difference away, and no epsilon is
        enough (see :func:`release_epsilon`). With fresh noise: private, the losses of the n answers
        add up.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, equation (2).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noisy = release_scalar_shift([0.5, -0.25], scale=10.0, rng=stream(0, "example", "noise"))
    >>> round(float(noisy[0] - noisy[1]), 12)
    0.75
    """
    exact = _values(values)
    count = 1 if releases is None else check_integer("releases", releases)
    columns = 1 if as_printed else len(exact)
    noisy = exact + laplace_noise((count, columns), scale=scale, rng=check_rng(rng))
    return noisy[0] if releases is None else noisy


def release_random_function(
    values: ArrayLike, *, scale: float, rng: np.random.Generator, releases: int | None = None
) -> _Array:
    r"""Values of :math:`f_z+b` on d points with a random *function* b: the K-norm mechanism.

    Parameters
    ----------
    values : array_like of shape (d,)
        The function on all d points of a finite X, when :math:`\mathcal H_K` holds every function
        on X.
    scale : float
        Number s of the density proportional to :math:`e^{-\|b\|_\infty/s}`, positive.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point.
    releases : int, optional
        Number of independent releases; None is a single one.

    Returns
    -------
    ndarray of shape (d,) or (releases, d)
        With s = sensitivity/epsilon in the sup norm the *whole* function is epsilon-private.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The reading of Lemma 1 under which its proof is right. A point uniform in the cube of half-side
    :math:`R\sim\Gamma(d+1)s` has that density. The norm is :math:`\Gamma(d)s`, of mean d s; the
    paper's later sections use :math:`E|b|=s`, and no such density exists in infinite dimension.

    References
    ----------
    M. Hardt and K. Talwar, On the geometry of differential privacy, STOC 2010, arXiv:0907.3754v3.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> release_random_function([0.5, -0.25], scale=1.0, rng=stream(0, "example", "noise")).shape
    (2,)
    """
    exact, d = _values(values), np.size(values)
    s, generator = check_positive("scale", scale), check_rng(rng)
    count = 1 if releases is None else check_integer("releases", releases)
    radius = generator.gamma(d + 1, s, size=(count, 1))
    noisy = np.asarray(exact + radius * generator.uniform(-1.0, 1.0, size=(count, d)))
    return noisy[0] if releases is None else noisy


def release_classifier(
    values: ArrayLike, *, scale: float, rng: np.random.Generator, releases: int | None = None
) -> NDArray[np.int8]:
    r"""The classifier :math:`\mathrm{sgn}(f_z+b)` of Section 5.2 on n points, one b for all.

    Parameters
    ----------
    values, scale, rng, releases
        As in :func:`release_scalar_shift`.

    Returns
    -------
    ndarray of int8, of shape (n,) or (releases, n)
        Labels -1 and 1 (1 at zero). The label of a single point is private; the pattern of two
        points is not, at any epsilon.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, Section 5.2.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> release_classifier([9.0, -9.0], scale=0.1, rng=stream(0, "example", "noise")).tolist()
    [1, -1]
    """
    noisy = release_scalar_shift(values, scale=scale, rng=rng, releases=releases)
    return np.where(noisy >= 0.0, 1, -1).astype(np.int8)


def release_epsilon(
    values: ArrayLike, neighbour: ArrayLike, *, scale: float, reading: Reading = "shift"
) -> float:
    r"""Exact privacy loss of releasing n values, for one pair of functions and one reading.

    Parameters
    ----------
    values, neighbour : array_like of shape (n,)
        :math:`f_z` and :math:`f_{\bar z}` at the released points.
    scale : float
        Laplace scale s, or the s of the K-norm density; positive.
    reading : {"shift", "fresh", "random_function"}, default="shift"
        One b for all points as printed, one b per point, or a random function.

    Returns
    -------
    float
        Smallest epsilon for which the pair is indistinguishable. With the differences
        :math:`d_j=f_z(x_j)-f_{\bar z}(x_j)`: :math:`|d|/s` for a shift if all :math:`d_j` are equal
        to d and inf otherwise (the two laws then live on disjoint lines); :math:`\sum_j|d_j|/s` for
        fresh noise; :math:`\max_j|d_j|/s` for a random function.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    All three are attained: the log ratio of the densities at t is the difference of two norms of
    :math:`t-f_{\bar z}` and :math:`t-f_z`, over s, and reaches the norm of the difference at
    :math:`t=f_z`. Differences count as equal if they vary by at most 1e-12 of the largest.

    Examples
    --------
    >>> pair = [0.1, -0.1], [0.0, 0.0]
    >>> [round(release_epsilon(*pair, scale=0.2, reading=r), 6)
    ...     for r in ("shift", "fresh", "random_function")]
    [inf, 1.0, 0.5]
    """
    f, g = _values(values), _values(neighbour)
    s = check_positive("scale", scale)
    check_choice("reading", reading, ("shift", "fresh", "random_function"))
    if f.shape != g.shape:
        raise ValueError(f"neighbour must have {len(f)} entries, got shape {g.shape}")
    gaps = np.abs(f - g)
    largest = float(gaps.max())
    if reading == "fresh":
        return math.fsum(gaps) / s
    if reading == "shift" and float(np.ptp(f - g)) > 1e-12 * largest:
        return math.inf
    return largest / s
