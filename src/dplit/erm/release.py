r"""The release :math:`f_z+b` with one scalar b, as printed, and what it could have meant."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

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
from dplit.erm.stability import fit_norm_factor, least_squares_stability, lipschitz_stability
from dplit.mechanisms import laplace_noise, laplace_scale
from dplit.mechanisms.draws import record_draw


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
    values: ArrayLike, *, scale: float, rng: np.random.Generator, releases: int | None = None,
    as_printed: bool = True,
) -> Array:  # fmt: skip
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
        "laplace", "a function, shifted by one number", of=exact, scale=scale, norm="max",
        shape=(count, columns), copies=count,
    )  # fmt: skip
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


# Laplace scales s for one value, density :math:`\frac1{2s}e^{-|b|/s}`: as printed, and as one
# answer needs. The paper's :math:`\alpha` is 2s.


def sup_sensitivity(
    *, lipschitz: float, kappa: float, regularization: float, n_records: int,
    strong_convexity: float = 2.0,
) -> float:  # fmt: skip
    r"""Bound :math:`\frac{2\kappa^2C_L}{\lambda\gamma m}` on :math:`\sup\|f_z-f_{\bar z}\|_\infty`.

    Definition 2 with Theorem 2, as :func:`~dplit.erm.stability.lipschitz_stability`.
    """
    distance = lipschitz_stability(
        lipschitz=lipschitz, regularization=regularization, n_records=n_records, kappa=kappa,
        strong_convexity=strong_convexity,
    )  # fmt: skip
    return distance * check_positive("kappa", kappa)


def noise_scale(
    *, epsilon: float, lipschitz: float, kappa: float, regularization: float, n_records: int,
    strong_convexity: float = 2.0, as_printed: bool = False,
) -> float:  # fmt: skip
    r"""Laplace scale of Proposition 1: what Lemma 1 asks for, or the half of it that is printed.

    :math:`\frac{2\kappa^2C_L}{\lambda\gamma m\epsilon}`, with which one answer is epsilon-private.
    ``as_printed``, by the density :math:`\frac1\alpha\exp(-\frac{\lambda\gamma
    m\epsilon|b|}{\kappa^2C_L})`, half of it, with which one answer is 2 epsilon-private, and for
    the hinge loss no better.

    >>> round(noise_scale(epsilon=0.5, lipschitz=1, kappa=1, regularization=0.1, n_records=101), 5)
    0.19802
    """
    width = sup_sensitivity(
        lipschitz=lipschitz, kappa=kappa, regularization=regularization, n_records=n_records,
        strong_convexity=strong_convexity,
    )  # fmt: skip
    needed = laplace_scale(epsilon=epsilon, sensitivity=width)
    return 0.5 * needed if check_flag("as_printed", as_printed) else needed


def hinge_scale(
    *, epsilon: float, kappa: float, regularization: float, n_records: int, as_printed: bool = False
) -> float:
    r"""Laplace scale :math:`\frac{\kappa^2}{\lambda m\epsilon}` of the machine of Section 5.2.

    ``as_printed``, by the density of :math:`b_h`, half of it.
    """
    return noise_scale(
        epsilon=epsilon, lipschitz=1.0, kappa=kappa, regularization=regularization,
        n_records=n_records, as_printed=as_printed,
    )  # fmt: skip


def least_squares_scale(
    *, epsilon: float, kappa: float, label_bound: float, regularization: float, n_records: int,
    rule: Literal["printed", "doubled", "sharp"] = "sharp",
) -> float:  # fmt: skip
    r"""Laplace scale for one answer of regularised least squares (Section 5.1).

    Labels are clipped to ``[-label_bound, label_bound]``. ``"sharp"``: kappa times the best
    stability bound, divided by epsilon; epsilon-private for every lambda. ``"doubled"``: what Lemma
    1 asks for with the printed :math:`C_L=2M(\kappa+1)/\sqrt\lambda`; the same, proved for
    :math:`\lambda\le1`. ``"printed"``: half of that, :math:`\alpha/2` of the density of
    :math:`b_{ls}`; enough or not as :func:`printed_least_squares_loss` says.
    """
    check_choice("rule", rule, ("printed", "doubled", "sharp"))
    k = check_positive("kappa", kappa)
    distance = least_squares_stability(
        regularization=check_positive("regularization", regularization), n_records=n_records,
        label_bound=label_bound, kappa=k, version="sharp" if rule == "sharp" else "printed",
    )  # fmt: skip
    needed = laplace_scale(epsilon=epsilon, sensitivity=k * distance)
    return 0.5 * needed if rule == "printed" else needed


def printed_least_squares_loss(*, regularization: float, kappa: float = 1.0) -> float:
    r"""Privacy loss of one answer with the printed noise of least squares, in units of epsilon.

    :math:`\frac{\sqrt\lambda}{\kappa+1}\max_\theta2\sin\theta\,(1+\kappa\nu\cos\theta)`, the
    supremum over all sample sizes, samples, neighbours and points, approached as m grows; it
    increases with lambda. Up to 1 the printed scale is enough for one answer.
    """
    penalty, k = check_positive("regularization", regularization), check_positive("kappa", kappa)
    A = k * fit_norm_factor(regularization=penalty, kappa=k)
    cosine = 2.0 * A / (1.0 + math.sqrt(1.0 + 8.0 * A * A))
    turn = 2.0 * math.sqrt(1.0 - cosine**2) * (1.0 + A * cosine)
    return math.sqrt(penalty) * turn / (k + 1.0)


def safe_regularization(*, kappa: float = 1.0) -> float:
    r"""Largest lambda at which the printed noise of least squares is enough for one answer.

    There :func:`printed_least_squares_loss` is 1; it lies between :math:`\frac14(1+\frac\kappa2)^2`
    and :math:`\frac14(1+\kappa)^2`, and above it the printed noise fails for large samples.
    """
    k = check_positive("kappa", kappa)

    def surplus(penalty: float) -> float:
        return printed_least_squares_loss(regularization=penalty, kappa=k) - 1.0

    return float(brentq(surplus, 0.25 * (1.0 + 0.5 * k) ** 2, 0.25 * (1.0 + k) ** 2, xtol=1e-15))
