"""The release :math:`f_z+b` with one scalar b, as printed, and what it could have meant."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_choice,
    check_flag,
    check_integer,
    check_nonnegative,
    check_positive,
    check_real_array,
    check_rng,
    quiet,
)
from dplit.mechanisms import laplace_noise
from dplit.mechanisms._draws import record_draw


def shift_ranges_meet(values: ArrayLike, neighbour: ArrayLike, *, tol: float = 1e-12) -> bool:
    r"""Whether two functions released with a scalar shift can ever give the same output.

    The range of :math:`f_z+b` is the line :math:`\{f_z+c:c\in R\}`. Two such lines are equal if
    :math:`f_z-f_{\bar z}` is constant on the grid, up to ``tol``, and disjoint otherwise: False is
    a proof, True says so for this grid alone.
    """
    f, g = check_real_array("values", values, 1), check_real_array("neighbour", neighbour, 1)
    if f.shape != g.shape:
        raise ValueError(f"values and neighbour must be equally long, got {f.shape}, {g.shape}")
    return bool(np.ptp(f - g) <= check_nonnegative("tol", tol))


Reading = Literal["shift", "fresh", "random_function"]


@quiet
def release_scalar_shift(
    values: ArrayLike,
    *,
    scale: float,
    rng: np.random.Generator,
    releases: int | None = None,
    as_printed: bool = True,
) -> Array:
    """Values of :math:`f_z+b` with one scalar b for all points (as printed), or one b per point.

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

    Notes
    -----
    Nie and Wang (2017), equation (2).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noisy = release_scalar_shift([0.5, -0.25], scale=10.0, rng=stream(0, "example", "noise"))
    >>> round(float(noisy[0] - noisy[1]), 12)
    0.75
    """
    exact = check_real_array("values", values, 1)
    count = 1 if releases is None else check_integer("releases", releases)
    columns = 1 if check_flag("as_printed", as_printed) else len(exact)
    record_draw(
        "laplace",
        "a function, shifted by one number",
        of=exact,
        scale=scale,
        norm="max",
        shape=(count, columns),
        copies=count,
    )
    noisy = exact + laplace_noise((count, columns), scale=scale, rng=check_rng(rng))
    return noisy[0] if releases is None else noisy


@quiet
def release_random_function(
    values: ArrayLike, *, scale: float, rng: np.random.Generator, releases: int | None = None
) -> Array:
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

    Notes
    -----
    The reading of Lemma 1 under which its proof is right (Hardt and Talwar, STOC 2010). A point
    uniform in the cube of half-side :math:`R\sim\Gamma(d+1)s` has that density. The norm is
    :math:`\Gamma(d)s`, of mean d s; no such density exists in infinite dimension.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> release_random_function([0.5, -0.25], scale=1.0, rng=stream(0, "example", "noise")).shape
    (2,)
    """
    exact, d = check_real_array("values", values, 1), np.size(values)
    s, generator = check_positive("scale", scale), check_rng(rng)
    count = 1 if releases is None else check_integer("releases", releases)
    record_draw("k_norm", "a function", of=exact, scale=s, norm="max", shape=(d,), copies=count)
    radius = generator.gamma(d + 1, s, size=(count, 1))
    noisy = np.asarray(exact + radius * generator.uniform(-1.0, 1.0, size=(count, d)))
    return noisy[0] if releases is None else noisy


def _release_classifier(
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

    Examples
    --------
    >>> from dplit.streams import stream
    >>> _release_classifier([9.0, -9.0], scale=0.1, rng=stream(0, "example", "noise")).tolist()
    [1, -1]
    """
    noisy = release_scalar_shift(values, scale=scale, rng=rng, releases=releases)
    return np.where(noisy >= 0.0, 1, -1).astype(np.int8)


def release_epsilon(
    values: ArrayLike, neighbour: ArrayLike, *, scale: float, reading: Reading = "shift"
) -> float:
    r"""Exact privacy loss of releasing n values, for one pair of functions and one reading.

    With :math:`d=f_z-f_{\bar z}` at the released points and the ``scale`` s: for one ``"shift"`` as
    printed :math:`|d|/s` if d is constant, up to 1e-12 of its size, else inf, since the two laws
    live on disjoint lines; for ``"fresh"`` noise :math:`\sum_j|d_j|/s`; for a ``"random_function"``
    :math:`\max_j|d_j|/s`. All three are attained.

    >>> [round(release_epsilon([0.1, -0.1], [0.0, 0.0], scale=0.2, reading=r), 6)
    ...     for r in ("shift", "fresh", "random_function")]
    [inf, 1.0, 0.5]
    """
    f, g = check_real_array("values", values, 1), check_real_array("neighbour", neighbour, 1)
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
