r"""Polynomial kernels: the map to all monomials, its radius, and what the learner may do with it.

The kernel :math:`(\langle x,x'\rangle+c)^p` has finitely many features, the weighted monomials of
degree at most p, so the learner of Section 3.2 applies as it is, with the norm of these features in
place of r. A tensor sketch replaces them by k coordinates without forming any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_rng,
)

__all__ = [
    "monomial_count",
    "monomial_features",
    "polynomial_kernel",
    "polynomial_radius",
    "tensor_sketch",
]

Array = NDArray[np.float64]
#: Largest numbers of monomials and of entries of an explicit map.
MONOMIALS, ENTRIES = 100_000, 50_000_000


def polynomial_kernel(
    X: ArrayLike, Y: ArrayLike | None = None, *, degree: int, offset: float
) -> Array:
    r"""Kernel :math:`(\langle x,x'\rangle+c)^p` of all pairs.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    Y : array_like of shape (n_others, n_features), optional
        Other records; by default X itself.
    degree : int
        The paper's p, at least 1.
    offset : float
        The paper's c, in [0, inf).

    Returns
    -------
    ndarray of shape (n_samples, n_others)

    Examples
    --------
    >>> from dplit.margin.polynomial import polynomial_kernel
    >>> polynomial_kernel([[1.0, 2.0]], [[3.0, 0.0]], degree=2, offset=1.0)
    array([[16.]])
    """
    left = np.asarray(check_finite_array("X", X, ndim=2), float)
    right = left if Y is None else np.asarray(check_finite_array("Y", Y, ndim=2), float)
    p, c = check_integer("degree", degree), check_nonnegative("offset", offset)
    kernel: Array = (left @ right.T + c) ** p
    return kernel


def polynomial_radius(data_norm: float, *, degree: int, offset: float) -> float:
    r"""Norm of the features on a ball: :math:`(r^2+c)^{p/2}`.

    Parameters
    ----------
    data_norm : float
        Norm r of the records, positive.
    degree : int
        The paper's p, at least 1.
    offset : float
        The paper's c, in [0, inf).

    Returns
    -------
    float
        Attained by every record of norm r; equal to ``r^p`` for ``c = 0``.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Section 4, polynomial kernels, where the text has ``r^p``.

    Examples
    --------
    >>> from dplit.margin.polynomial import polynomial_radius
    >>> polynomial_radius(1.0, degree=4, offset=1.0)
    4.0
    """
    r, c = check_positive("data_norm", data_norm), check_nonnegative("offset", offset)
    return float((r * r + c) ** (check_integer("degree", degree) / 2))


def monomial_count(n_features: int, *, degree: int, offset: float) -> int:
    """Number of monomials: of degree p without offset, of degree at most p with one.

    Parameters
    ----------
    n_features : int
        Dimension d of the records.
    degree : int
        The paper's p.
    offset : float
        The paper's c.

    Returns
    -------
    int
        ``binomial(d + p - 1, p)`` for c = 0, ``binomial(d + p, p)`` for c > 0.

    Examples
    --------
    >>> from dplit.margin.polynomial import monomial_count
    >>> monomial_count(64, degree=3, offset=1.0)
    47905
    """
    d, p = check_integer("n_features", n_features), check_integer("degree", degree)
    variables = d + 1 if check_nonnegative("offset", offset) > 0 else d
    return math.comb(variables + p - 1, p)


def _exponents(variables: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Yield all exponent vectors of a degree, the first variable first."""
    if variables == 1:
        yield (degree,)
        return
    for first in range(degree, -1, -1):
        for rest in _exponents(variables - 1, degree - first):
            yield (first, *rest)


def monomial_features(X: ArrayLike, *, degree: int, offset: float) -> Array:
    r"""Explicit map whose inner products are the polynomial kernel.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    degree : int
        The paper's p, at least 1.
    offset : float
        The paper's c, in [0, inf).

    Returns
    -------
    ndarray of shape (n_samples, monomial_count(...))
        Row norms ``(||x||^2 + c)^(p/2)``.

    Raises
    ------
    ValueError
        If the map would have more than 100,000 columns or 50 million entries.

    Notes
    -----
    By the multinomial theorem with the extra variable :math:`\sqrt c`, the coordinate of
    :math:`\prod x_i^{e_i}` carries the weight :math:`\sqrt{p!/\prod e_i!}`.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Section 4.

    Examples
    --------
    >>> from dplit.margin.polynomial import monomial_features
    >>> monomial_features([[1.0, 2.0]], degree=2, offset=0.0).round(3)
    array([[1.   , 2.828, 4.   ]])
    """
    records = np.asarray(check_finite_array("X", X, ndim=2), float)
    count = monomial_count(records.shape[1], degree=degree, offset=offset)
    if count > MONOMIALS or count * len(records) > ENTRIES:
        raise ValueError(
            f"degree must leave at most {MONOMIALS} monomials and {ENTRIES} entries, "
            f"got {len(records)} x {count}: "
            "use tensor_sketch"
        )
    if offset > 0:
        column = np.full((len(records), 1), math.sqrt(offset))
        records = np.hstack([records, column])
    variables = records.shape[1]
    powers = records[None] ** np.arange(degree + 1)[:, None, None]  # (p + 1, n, variables)
    out = np.empty((len(records), count))
    for index, exponents in enumerate(_exponents(variables, degree)):
        weight = math.factorial(degree) / math.prod(math.factorial(e) for e in exponents)
        used = [i for i, e in enumerate(exponents) if e]
        product = np.prod([powers[exponents[i], :, i] for i in used], axis=0)
        out[:, index] = math.sqrt(weight) * product
    return out


def tensor_sketch(
    X: ArrayLike, n_components: int, *, degree: int, offset: float, rng: np.random.Generator
) -> Array:
    r"""Sketch of the monomials in k coordinates, without forming them.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records; compress training and test records in one call, or with equal generators.
    n_components : int
        Number k of coordinates. More than :func:`monomial_count` of them are allowed, and worse
        than the monomials.
    degree : int
        The paper's p, at least 1.
    offset : float
        The paper's c, in [0, inf).
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Inner products are unbiased for the kernel. Norms are random: clip them before learning.

    Notes
    -----
    p count sketches of :math:`(x,\sqrt c)` with independent hashes are convolved through the fast
    Fourier transform, in ``O(p (d + k log k))`` a record.

    References
    ----------
    N. Pham and R. Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013,
    239-247.

    Examples
    --------
    >>> from dplit.margin.polynomial import tensor_sketch
    >>> from dplit.streams import stream
    >>> tensor_sketch(np.eye(3), 16, degree=2, offset=1.0, rng=stream(0, "e", "public")).shape
    (3, 16)
    """
    records = np.asarray(check_finite_array("X", X, ndim=2), float)
    k, p = check_integer("n_components", n_components), check_integer("degree", degree)
    if check_nonnegative("offset", offset) > 0:
        records = np.hstack([records, np.full((len(records), 1), math.sqrt(offset))])
    check_rng(rng)
    product = np.ones((len(records), k // 2 + 1), complex)
    for _ in range(p):
        buckets = rng.integers(0, k, records.shape[1])
        signs = 2.0 * rng.integers(0, 2, records.shape[1]) - 1.0
        hashing = np.zeros((records.shape[1], k))
        hashing[np.arange(buckets.size), buckets] = signs
        product *= np.fft.rfft(records @ hashing, axis=1)
    sketch: Array = np.fft.irfft(product, n=k, axis=1)
    return sketch
