r"""Algorithm 3 and its shorter relatives: private kernel classifiers on public random features.

Algorithm 3 draws ``m^2 log(2m/beta)`` frequencies, compresses the features to k coordinates and
learns a linear classifier there. The frequencies and the compression do not look at the data, so
the guarantee is the one of the linear learner. The same learner on fewer features, with no
compression at all, has the same guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.accounting import gdp_budget
from dplit.features import cos_sin_features, feature_gram, random_frequencies
from dplit.features._trigonometry import angle_factor, scaled_cosine_and_sine
from dplit.margin.compressed import Solver, learn_weights, printed_dimension

__all__ = [
    "DirectFeatures",
    "FeatureMap",
    "KernelPredictor",
    "StreamedProjection",
    "algorithm3",
    "direct_features",
    "fit_predictor",
    "frequencies_of_algorithm3",
    "gaussian_kernel",
    "gram_entry_variance",
    "hoeffding_bound",
    "limit_projection",
    "margin_features",
    "meets_hypotheses",
    "monomial_count",
    "monomial_features",
    "polynomial_kernel",
    "polynomial_radius",
    "privacy_level",
    "repaired_budget",
    "streamed_projection",
    "sup_deviation",
    "sup_deviation_bound",
    "sup_deviation_draws",
    "tensor_sketch",
    "union_failure",
]


# Random features of a shift-invariant kernel with ``K(x, x) = r^2``, and how far they can err.
#
# The map is the shared cosine-and-sine map of :mod:`dplit.features` times r: every record
# has norm exactly r, whatever the frequencies are, so that a private learner needs no clipping.


def gaussian_kernel(
    X: ArrayLike, Y: ArrayLike | None = None, *, gamma: float, data_norm: float = 1.0
) -> NDArray[np.float64]:
    r"""Gaussian kernel :math:`K(x,x')=r^2e^{-\gamma\|x-x'\|^2}` of all pairs.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    Y : array_like of shape (n_others, n_features), optional
        Other records; by default X itself.
    gamma : float
        Inverse squared width, positive, as in scikit-learn.
    data_norm : float, default=1.0
        The paper's r: the norm of every record in the space of the kernel.

    Returns
    -------
    ndarray of shape (n_samples, n_others)
        Entries in [0, r^2]; r^2 where the records agree.

    Raises
    ------
    ValueError
        If an array is not finite or ``gamma`` or ``data_norm`` is not positive.

    Examples
    --------
    >>> from dplit.margin.kernels import gaussian_kernel
    >>> gaussian_kernel([[0.0], [0.0]], gamma=1.0, data_norm=2.0)
    array([[4., 4.],
           [4., 4.]])
    """
    left = check_finite_array("X", X, ndim=2)
    right = left if Y is None else check_finite_array("Y", Y, ndim=2)
    gamma, r = check_positive("gamma", gamma), check_positive("data_norm", data_norm)
    squares = cdist(np.asarray(left, float), np.asarray(right, float), "sqeuclidean")
    kernel: NDArray[np.float64] = r * r * np.exp(-gamma * squares)
    return kernel


def margin_features(
    X: ArrayLike, frequencies: ArrayLike, *, data_norm: float = 1.0
) -> NDArray[np.floating[Any]]:
    r"""Random Fourier features of equation (2), of norm r.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records; float32 gives a float32 map, which is several times faster.
    frequencies : array_like of shape (n_features, D)
        One frequency per column, drawn from the Fourier transform of the kernel.
    data_norm : float, default=1.0
        The paper's r, positive.

    Returns
    -------
    ndarray of shape (n_samples, 2 D)
        All cosines, then all sines (the paper interleaves them, which changes no inner product).
        Every row has Euclidean norm r up to rounding.

    Raises
    ------
    TypeError, ValueError
        If an array is not numeric, not finite, empty or of the wrong shape, or ``data_norm`` is not
        positive.

    Notes
    -----
    ``psi(x) = r / sqrt(D) (cos <w_j, x>, sin <w_j, x>)``. The factor in front is lost in the
    printed equation; this is the one for which every row has norm r, as Theorem 4.1 asserts.

    References
    ----------
    Bassily, Mohri and Suresh (2022), arXiv:2204.10376, equation (2); Rahimi and Recht (2007).

    Examples
    --------
    >>> from dplit.margin.kernels import margin_features
    >>> margin_features([[0.0]], [[1.0, 2.0]], data_norm=2.0).round(3)
    array([[1.414, 1.414, 0.   , 0.   ]])
    """
    r = check_positive("data_norm", data_norm)
    rows = cos_sin_features(X, frequencies)
    rows *= rows.dtype.type(r)
    return rows


def frequencies_of_algorithm3(n_samples: int, *, beta: float) -> int:
    r"""Number of frequencies of Algorithm 3: :math:`D=\lceil m^2\log(2m/\beta)\rceil`.

    Parameters
    ----------
    n_samples : int
        Number m of records, at least 1.
    beta : float
        The paper's beta, in (0, 1).

    Returns
    -------
    int
        With so many the bound of Theorem 4.1 is ``2 r^2 / m``.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithm 3, line 2.

    Examples
    --------
    >>> from dplit.margin.kernels import frequencies_of_algorithm3
    >>> frequencies_of_algorithm3(1000, beta=0.05)
    10596635
    """
    m = check_integer("n_samples", n_samples)
    beta = check_probability("beta", beta)
    return math.ceil(m * m * math.log(2 * m / beta))


def sup_deviation_bound(
    n_samples: int, n_frequencies: int, *, beta: float, data_norm: float = 1.0
) -> float:
    r"""Bound of Theorem 4.1 on all Gram entries: :math:`2r^2\sqrt{\log(2m/\beta)/D}`.

    Parameters
    ----------
    n_samples : int
        Number m of records, at least 2.
    n_frequencies : int
        Number D of frequencies, at least 1.
    beta : float
        The paper's beta, in (0, 1).
    data_norm : float, default=1.0
        The paper's r, positive.

    Returns
    -------
    float
        Exceeded with probability at most :func:`union_failure`, which is below ``beta^2 / 4``.

    Notes
    -----
    The radical is lost in the printed statement; with this one ``D = m^2 log(2m/beta)`` gives
    ``2 r^2 / m``, as the text around Algorithm 3 needs.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Theorem 4.1.

    Examples
    --------
    >>> from dplit.margin.kernels import sup_deviation_bound
    >>> round(sup_deviation_bound(100, 50, beta=0.05), 4)
    0.8146
    """
    m, count = (
        check_integer("n_samples", n_samples, minimum=2),
        check_integer("n_frequencies", n_frequencies),
    )
    beta, r = check_probability("beta", beta), check_positive("data_norm", data_norm)
    return 2.0 * r * r * math.sqrt(math.log(2 * m / beta) / count)


def union_failure(n_samples: int, *, beta: float) -> float:
    r"""What the proof of Theorem 4.1 gives for its failure: :math:`\beta^2(m-1)/(4m)`.

    Parameters
    ----------
    n_samples : int
        Number m of records, at least 2.
    beta : float
        The paper's beta, in (0, 1).

    Returns
    -------
    float
        Probability that the bound of :func:`sup_deviation_bound` fails is at most this.

    Notes
    -----
    Hoeffding: one mean of D terms in [-r^2, r^2] errs by t with probability at most
    ``2 exp(-D t^2 / (2 r^4))``, which is ``2 (beta / 2m)^2`` at the t of the theorem; there are
    ``m (m - 1) / 2`` pairs.

    Examples
    --------
    >>> from dplit.margin.kernels import union_failure
    >>> round(union_failure(100, beta=0.05), 8)
    0.00061875
    """
    m = check_integer("n_samples", n_samples, minimum=2)
    beta = check_probability("beta", beta)
    return beta * beta * (m - 1) / (4.0 * m)


def hoeffding_bound(
    n_samples: int, n_frequencies: int, *, beta: float, data_norm: float = 1.0
) -> float:
    r"""Same union bound spent in full: :math:`r^2\sqrt{2\log(m(m-1)/\beta)/D}`.

    Parameters
    ----------
    n_samples, n_frequencies, beta, data_norm
        As for :func:`sup_deviation_bound`.

    Returns
    -------
    float
        Exceeded with probability at most ``beta``; smaller than the theorem's bound.

    Examples
    --------
    >>> from dplit.margin.kernels import hoeffding_bound
    >>> round(hoeffding_bound(200, 50, beta=0.05), 3)
    0.737
    """
    m, count = (
        check_integer("n_samples", n_samples, minimum=2),
        check_integer("n_frequencies", n_frequencies),
    )
    beta, r = check_probability("beta", beta), check_positive("data_norm", data_norm)
    return r * r * math.sqrt(2.0 * math.log(m * (m - 1) / beta) / count)


def sup_deviation(gram: ArrayLike, kernel: ArrayLike) -> float:
    """Largest error of a Gram matrix off the diagonal.

    Parameters
    ----------
    gram, kernel : array_like of shape (m, m)
        Inner products of the features, and the kernel.

    Returns
    -------
    float
        ``max |gram - kernel|`` over pairs ``i != j``, as in Theorem 4.1.

    Raises
    ------
    ValueError
        If the arrays are not finite square matrices of one shape with m >= 2.

    Examples
    --------
    >>> from dplit.margin.kernels import sup_deviation
    >>> sup_deviation([[9.0, 0.5], [0.5, 9.0]], [[1.0, 0.25], [0.25, 1.0]])
    0.25
    """
    left = check_finite_array("gram", gram, ndim=2)
    right = check_finite_array("kernel", kernel, ndim=2)
    if left.shape != right.shape or left.shape[0] != left.shape[1] or len(left) < 2:
        raise ValueError(
            f"gram and kernel must be square of one shape, got {left.shape} and {right.shape}"
        )
    error = np.abs(left - right)
    np.fill_diagonal(error, 0.0)
    return float(error.max())


def sup_deviation_draws(
    X: ArrayLike,
    n_frequencies: int,
    *,
    gamma: float,
    draws: int,
    rng: np.random.Generator,
    data_norm: float = 1.0,
) -> NDArray[np.float64]:
    """Suprema of the Gram error over independent draws of the frequencies.

    Parameters
    ----------
    X : array_like of shape (m, n_features)
        Records, at least two.
    n_frequencies : int
        Number D of frequencies of a draw.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    draws : int
        Number of draws, at least 1.
    rng : numpy.random.Generator
        Public randomness.
    data_norm : float, default=1.0
        The paper's r.

    Returns
    -------
    ndarray of shape (draws,)

    Examples
    --------
    >>> from dplit.margin.kernels import sup_deviation_draws
    >>> from dplit.streams import stream
    >>> rng = stream(0, "example", "public")
    >>> bool((sup_deviation_draws([[0.0], [1.0]], 50, gamma=1.0, draws=9, rng=rng) < 0.6).all())
    True
    """
    records = check_finite_array("X", X, ndim=2)
    kernel = gaussian_kernel(records, gamma=gamma, data_norm=data_norm)
    out = np.empty(check_integer("draws", draws))
    for k in range(len(out)):
        frequencies = random_frequencies(records.shape[1], n_frequencies, gamma=gamma, rng=rng)
        gram = data_norm**2 * feature_gram(records, frequencies)
        out[k] = sup_deviation(gram, kernel)
    return out


# Polynomial kernels: the map to all monomials, its radius, and what the learner may do with it.
#
# The kernel :math:`(\langle x,x'\rangle+c)^p` has finitely many features, the weighted monomials
# of
# degree at most p, so the learner of Section 3.2 applies as it is, with the norm of these
# features in
# place of r. A tensor sketch replaces them by k coordinates without forming any.


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
    >>> from dplit.margin.kernels import polynomial_kernel
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
    >>> from dplit.margin.kernels import polynomial_radius
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
    >>> from dplit.margin.kernels import monomial_count
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
    >>> from dplit.margin.kernels import monomial_features
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
    >>> from dplit.margin.kernels import tensor_sketch
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


# Random features followed by a Johnson-Lindenstrauss map, one block of frequencies at a time.
#
# Algorithm 3 compresses 2 D features to k coordinates with ``D = m^2 log(2m/beta)``: ten million
# frequencies for a thousand records. Neither the features nor the matrix of signs is ever held. A
# block of frequencies and its signs are drawn from a seed of their own, used, and forgotten; new
# records meet the same blocks again. As D grows the law of the result has a limit, which can be
# drawn
# without any feature: k independent paths of the Gaussian process with the kernel as covariance.


Single = NDArray[np.float32]

#: Rows that meet one block of frequencies at a time.
ROWS = 1024

#: Entries are clipped here, so that every angle is finite in single precision.
LARGEST = 1e15


@dataclass(frozen=True)
class StreamedProjection:
    r"""Public map :math:`x\mapsto\Phi\hat\psi(x)` from records to k coordinates.

    Parameters
    ----------
    n_features : int
        Columns d of the records.
    n_frequencies : int
        Number D of random frequencies, so 2 D features.
    n_components : int
        Number k of coordinates of the result.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    data_norm : float
        The paper's r.
    entropy : int
        Seed of all blocks; public.
    block : int
        Frequencies in a block.
    double : bool
        Whether to compute in float64: slower, and equal for one record or many to 1e-13.

    Notes
    -----
    :math:`\Phi` has independent entries :math:`\pm1/\sqrt k`, so inner products are unbiased for
    those of the features. Memory beside input and output: ``block * (d + 2 k)`` numbers for
    frequencies and signs and ``3 * 1024 * block`` for angles, cosines and sines, in float32.
    """

    n_features: int
    n_frequencies: int
    n_components: int
    gamma: float
    data_norm: float
    entropy: int
    block: int
    double: bool = False

    @property
    def block_bytes(self) -> int:
        """Bytes of one block: frequencies, signs, and the features of 1024 records."""
        return (
            (8 if self.double else 4)
            * self.block
            * (self.n_features + 2 * self.n_components + 3 * ROWS)
        )

    def blocks(self) -> Iterator[tuple[Single, Single]]:
        """Yield frequencies (d, b) and signs (2 b, k) of every block, drawn in float32."""
        for index, start in enumerate(range(0, self.n_frequencies, self.block)):
            count = min(self.block, self.n_frequencies - start)
            rng = np.random.default_rng(np.random.SeedSequence([self.entropy, index]))
            frequencies = rng.standard_normal((self.n_features, count), dtype=np.float32)
            frequencies *= np.float32(np.sqrt(2.0 * self.gamma))
            size = 2 * count * self.n_components
            bits = np.unpackbits(np.frombuffer(rng.bytes(-(-size // 8)), np.uint8), count=size)
            signs = bits.reshape(2 * count, self.n_components).astype(np.float32)
            signs *= 2.0
            signs -= 1.0
            yield frequencies, signs

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Compress records.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Rows of mean squared norm r^2; equal rows for equal records, in every call. Not clipped.

        Raises
        ------
        ValueError
            If ``X`` is not a finite matrix of ``n_features`` columns.
        """
        records = check_finite_array("X", X, ndim=2)
        dtype = np.dtype(np.float64 if self.double else np.float32)
        records = np.clip(records, -LARGEST, LARGEST).astype(dtype)
        if records.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got X of shape {np.shape(X)}")
        n, rows = len(records), min(ROWS, len(records))
        out = np.zeros((n, self.n_components))
        angle = np.empty(rows * self.block, dtype)
        features = np.empty(rows * 2 * self.block, dtype)
        for frequencies, signs in self.blocks():
            width = frequencies.shape[1]
            weights = frequencies.astype(dtype) * dtype.type(angle_factor(dtype))
            signs = signs.astype(dtype, copy=False)
            for start in range(0, n, rows):
                part = slice(start, min(start + rows, n))
                count = part.stop - start
                angles = angle[: count * width].reshape(count, width)
                pair = features[: count * 2 * width].reshape(count, 2 * width)
                np.matmul(records[part], weights, out=angles)
                scaled_cosine_and_sine(angles, pair[:, :width], pair[:, width:], 1.0)
                out[part] += pair @ signs
        out *= self.data_norm / np.sqrt(self.n_frequencies * self.n_components)
        return out


def streamed_projection(
    n_features: int,
    n_frequencies: int,
    n_components: int,
    *,
    gamma: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    block: int = 1024,
    double: bool = False,
) -> StreamedProjection:
    """Draw a streamed map: nothing but one seed.

    Parameters
    ----------
    n_features, n_frequencies, n_components : int
        The sizes d, D and k, all at least 1. A k above 2 D is allowed and compresses nothing: the
        map stays unbiased, and a learner only draws more noise than on the features themselves.
    gamma : float
        Of the Gaussian kernel, positive.
    rng : numpy.random.Generator
        Public randomness, which gives the seed; not the stream of the privacy noise.
    data_norm : float, default=1.0
        The paper's r, positive.
    block : int, default=1024
        Frequencies in a block; part of the draw (another block size is another map).
    double : bool, default=False
        Whether to compute in float64; the drawn map is the same.

    Returns
    -------
    StreamedProjection

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer, a number is not positive or ``rng`` is a seed.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithm 3; the streaming is ours.

    Examples
    --------
    >>> from dplit.margin.kernels import streamed_projection
    >>> from dplit.streams import stream
    >>> rng = stream(0, "example", "public")
    >>> projection = streamed_projection(2, 5000, 400, gamma=0.5, rng=rng)
    >>> Z = projection.transform([[0.0, 0.0], [1.0, 1.0]])
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1.0)) < 0.25)
    True
    """
    check_integer("n_features", n_features)
    check_integer("n_frequencies", n_frequencies)
    check_integer("n_components", n_components)
    check_integer("block", block)
    gamma, data_norm = check_positive("gamma", gamma), check_positive("data_norm", data_norm)
    entropy = int(check_rng(rng).integers(2**63))
    width = min(block, n_frequencies)
    return StreamedProjection(
        n_features, n_frequencies, n_components, gamma, data_norm, entropy, width, double
    )


def limit_projection(
    kernel: ArrayLike, n_components: int, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Draw the compressed features of finitely many records in the limit of all frequencies.

    Parameters
    ----------
    kernel : array_like of shape (n, n)
        Kernel matrix of all records that will ever be compressed, symmetric and nonnegative
        definite.
    n_components : int
        Number k of coordinates.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    ndarray of shape (n, n_components)
        Columns are independent draws of :math:`N(0,K/k)`.

    Raises
    ------
    ValueError
        If the kernel is not a finite symmetric matrix or has a clearly negative eigenvalue.

    Notes
    -----
    A coordinate of the streamed map is a sum of 2 D independent centred terms given the records; by
    the central limit theorem its joint law over the records tends to :math:`N(0,K/k)`. With normal
    instead of sign entries in the projection it is :math:`N(0,\hat K/k)` for every D, with
    :math:`\hat K` the Gram matrix of the features, which tends to K.

    Examples
    --------
    >>> from dplit.margin.kernels import limit_projection
    >>> from dplit.streams import stream
    >>> limit_projection([[1.0, 1.0], [1.0, 1.0]], 3, rng=stream(0, "example", "public")).shape
    (2, 3)
    """
    matrix = check_finite_array("kernel", kernel, ndim=2)
    scale = float(np.abs(matrix).max())
    if matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T, atol=1e-12 * scale):
        raise ValueError(f"kernel must be symmetric, got kernel of shape {matrix.shape}")
    k = check_integer("n_components", n_components)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-8 * len(matrix) * scale:
        raise ValueError(f"kernel must be nonnegative definite, got eigenvalue {values[0]:.3g}")
    normal = check_rng(rng).standard_normal((len(matrix), k))
    root = vectors * np.sqrt(np.maximum(values, 0.0) / k)
    paths: NDArray[np.float64] = root @ normal
    return paths


def gram_entry_variance(value: float, n_components: int, *, method: str) -> float:
    r"""Variance of one inner product of compressed records, for a Gaussian kernel with r = 1.

    Parameters
    ----------
    value : float
        The kernel :math:`\kappa=K(x,x')` in (0, 1] of the two records.
    n_components : int
        Number k of coordinates; for direct features ``k = 2 D``.
    method : {"direct", "projected"}
        Features as they are, or the limit of projected features.

    Returns
    -------
    float
        :math:`(1-\kappa^2)^2/k` for direct features, :math:`(1+\kappa^2)/k` for projected ones.

    Notes
    -----
    Direct: the mean of D cosines, with :math:`E\cos^2=(1+\kappa^4)/2`. Projected: the product of
    two Gaussian vectors with covariance :math:`\kappa`. Direct features are exact at
    :math:`\kappa=1`.

    Examples
    --------
    >>> from dplit.margin.kernels import gram_entry_variance
    >>> round(100 * gram_entry_variance(0.88, 100, method="projected"), 3)
    1.774
    """
    kappa = check_positive("value", value)
    if kappa > 1:
        raise ValueError(f"value must be at most 1, got value={value!r}")
    k = check_integer("n_components", n_components)
    if check_choice("method", method, ("direct", "projected")) == "direct":
        return (1.0 - kappa**2) ** 2 / k
    return (1.0 + kappa**2) / k


class FeatureMap(Protocol):
    """What a learner needs to know of a public map."""

    def transform(self, X: ArrayLike) -> Array:
        """Map records to coordinates."""
        ...


@dataclass(frozen=True)
class DirectFeatures:
    """Random features as they are, without compression.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, D)
        Public.
    data_norm : float
        The paper's r: the norm of every mapped record.
    double : bool
        Whether to compute in float64.
    """

    frequencies: Array
    data_norm: float
    double: bool = False

    def transform(self, X: ArrayLike) -> Array:
        """Map records to 2 D coordinates.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples, 2 D)
            Rows of norm r within 1e-5 (1e-14 in float64).
        """
        rows = np.clip(check_finite_array("X", X, ndim=2), -LARGEST, LARGEST)
        rows = rows.astype(np.float64 if self.double else np.float32)
        mapped: Array = margin_features(rows, self.frequencies, data_norm=self.data_norm).astype(
            np.float64
        )
        return mapped


def direct_features(
    n_features: int,
    n_frequencies: int,
    *,
    gamma: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    double: bool = False,
) -> DirectFeatures:
    """Draw the map of equation (2) with D frequencies.

    Parameters
    ----------
    n_features, n_frequencies : int
        Columns d of the records and number D of frequencies.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    rng : numpy.random.Generator
        Public randomness.
    data_norm : float, default=1.0
        The paper's r.
    double : bool, default=False
        Whether to compute in float64 instead of float32.

    Returns
    -------
    DirectFeatures

    Examples
    --------
    >>> from dplit.margin.kernels import direct_features
    >>> from dplit.streams import stream
    >>> features = direct_features(2, 10, gamma=1.0, rng=stream(0, "example", "public"))
    >>> features.transform([[0.0, 1.0]]).shape
    (1, 20)
    """
    frequencies = random_frequencies(n_features, n_frequencies, gamma=gamma, rng=rng)
    return DirectFeatures(frequencies, check_positive("data_norm", data_norm), double)


@dataclass(frozen=True)
class KernelPredictor:
    """Released weights and the public map that they belong to.

    Attributes
    ----------
    weights : ndarray of shape (p,)
        Private.
    features : FeatureMap
        Public.
    epsilon, delta : float
        Guarantee of the learner, under replacement of one record.
    """

    weights: Array
    features: FeatureMap
    epsilon: float
    delta: float

    def scores(self, X: ArrayLike) -> Array:
        """Evaluate the predictor.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            The sign is the class. Not clipped: clipping a record to a ball changes no sign.
        """
        scores: Array = self.features.transform(X) @ self.weights
        return scores


def meets_hypotheses(*, epsilon: float, delta: float, n_samples: int) -> bool:
    r"""Whether Theorem 3.2 speaks: :math:`\delta<1/m` and :math:`\varepsilon\le\log(1/\delta)`.

    Parameters
    ----------
    epsilon, delta : float
        Budget; delta in (0, 1).
    n_samples : int
        Number m of records.

    Returns
    -------
    bool

    Examples
    --------
    >>> from dplit.margin.kernels import meets_hypotheses
    >>> meets_hypotheses(epsilon=1.0, delta=0.01, n_samples=1000)
    False
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    return delta < 1.0 / check_integer("n_samples", n_samples) and epsilon <= math.log(1.0 / delta)


def repaired_budget(*, epsilon: float, delta: float, n_samples: int) -> tuple[float, float]:
    r"""Budget with which Theorem 4.2 may call Algorithm 2, for every epsilon and delta.

    Parameters
    ----------
    epsilon : float
        Wanted privacy loss, positive.
    delta : float
        Wanted delta, in (0, 1).
    n_samples : int
        Number m of records.

    Returns
    -------
    tuple of two float
        :math:`\varepsilon'=\min(\varepsilon,\log(1/\delta'))` and
        :math:`\delta'=\min(\delta,1/(2m))`: they meet the hypotheses of Theorem 3.2 and imply the
        wanted guarantee, being smaller.

    Examples
    --------
    >>> from dplit.margin.kernels import repaired_budget
    >>> epsilon, delta = repaired_budget(epsilon=20.0, delta=0.3, n_samples=1000)
    >>> round(epsilon, 3), delta
    (7.601, 0.0005)
    """
    wanted, m = check_probability("delta", delta), check_integer("n_samples", n_samples)
    smaller = min(wanted, 1.0 / (2.0 * m))
    return min(check_positive("epsilon", epsilon), math.log(1.0 / smaller)), smaller


def privacy_level(*, epsilon: float, delta: float) -> float:
    """Gaussian-DP level of a budget; infinite for an infinite budget.

    Parameters
    ----------
    epsilon : float
        Positive; infinity for no privacy.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        :func:`dplit.accounting.gdp_budget`, which is exact and needs no further hypothesis.

    Examples
    --------
    >>> from dplit.margin.kernels import privacy_level
    >>> round(privacy_level(epsilon=1.0, delta=1e-6), 4)
    0.2367
    """
    if check_positive("epsilon", epsilon, infinite=True) == math.inf:
        return math.inf
    return gdp_budget(epsilon=epsilon, delta=check_probability("delta", delta))


def fit_predictor(
    X: ArrayLike,
    y: ArrayLike,
    features: FeatureMap,
    *,
    margin: float,
    radius: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    inflation: float = 1.0,
    solver: Solver = "noisy_gradient",
    n_steps: int = 100,
    beta: float = 0.05,
) -> KernelPredictor:
    r"""Learn a linear classifier on a public map of the records.

    Parameters
    ----------
    X : array_like of shape (m, n_features)
        Finite records.
    y : array_like of shape (m,)
        Labels -1 and 1.
    features : FeatureMap
        Drawn without looking at the data.
    margin : float
        The paper's rho, in (0, radius * data_norm].
    radius : float
        Norm of the comparator among the mapped records' weights.
    epsilon, delta : float
        Budget under replacement of one record.
    rng : numpy.random.Generator
        Privacy noise: floating-point research noise, not a release.
    data_norm : float, default=1.0
        The paper's r.
    inflation : float, default=1.0
        Factor on both lengths: 1 for direct features, whose norm is r; 2 in Algorithm 2.
    solver, n_steps, beta
        As for :func:`dplit.margin.compressed.learn_weights`.

    Returns
    -------
    KernelPredictor
        (epsilon, delta)-private.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dplit.margin.kernels import direct_features, fit_predictor
    >>> from dplit.streams import stream
    >>> X = np.linspace(-2.0, 2.0, 2000)[:, None]
    >>> features = direct_features(1, 20, gamma=0.5, rng=stream(0, "example", "public"))
    >>> predictor = fit_predictor(X, np.where(abs(X[:, 0]) < 1, 1, -1), features, margin=0.3,
    ...     radius=1.0, epsilon=1.0, delta=1e-6, rng=stream(0, "example", "noise"))
    >>> np.sign(predictor.scores([[0.0], [2.0]]))
    array([ 1., -1.])
    """
    weights = learn_weights(
        features.transform(X), y, margin=margin, radius=radius, data_norm=data_norm,
        epsilon=epsilon, delta=delta, rng=rng, solver=solver, inflation=inflation,
        n_steps=n_steps, beta=beta,
    )[0]  # fmt: skip
    return KernelPredictor(weights, features, float(epsilon), float(delta))


def algorithm3(
    X: ArrayLike,
    y: ArrayLike,
    *,
    gamma: float,
    margin: float,
    weight_norm: float,
    epsilon: float,
    delta: float,
    beta: float,
    public_rng: np.random.Generator,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    n_components: int | None = None,
    solver: Solver = "noisy_gradient",
    n_steps: int = 100,
) -> KernelPredictor:
    r"""Algorithm 3 with all its frequencies, streamed, and the repaired budget.

    Parameters
    ----------
    X : array_like of shape (m, n_features)
        Finite records.
    y : array_like of shape (m,)
        Labels -1 and 1.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    margin : float
        The paper's rho, in (0, 2 Lambda r].
    weight_norm : float
        The paper's Lambda.
    epsilon, delta, beta : float
        Budget and failure probability.
    public_rng, rng : numpy.random.Generator
        For the map, which is public, and for the noise, which is not. Two streams.
    data_norm : float, default=1.0
        The paper's r.
    n_components : int or None, default=None
        Coordinates k of the compression; None takes the printed number of Algorithm 2.
    solver, n_steps
        As for :func:`dplit.margin.compressed.learn_weights`.

    Returns
    -------
    KernelPredictor
        (epsilon, delta)-private for every epsilon > 0 and delta in (0, 1).

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Algorithm 2 is called with norm bound 2 Lambda and doubles it once more: records are clipped to
    2 r and the ball has radius 4 Lambda, eight times the noise of a direct learner against the
    signal. Algorithm 2's own projection is the compression of the streamed map, with independent
    signs in place of the fast transform.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithms 2 and 3, Theorem 4.2.

    Examples
    --------
    >>> from dplit.margin.kernels import algorithm3
    >>> from dplit.streams import stream
    >>> X = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> predictor = algorithm3(X, np.sign(X[:, 0]), gamma=0.5, margin=0.5, weight_norm=1.0,
    ...     epsilon=1.0, delta=1e-6, beta=0.1, n_components=50,
    ...     public_rng=stream(0, "example", "public"), rng=stream(0, "example", "noise"))
    >>> predictor.features.n_frequencies
    5758
    """
    rows = check_finite_array("X", X, ndim=2)
    size, r = check_positive("weight_norm", weight_norm), check_positive("data_norm", data_norm)
    if check_rng(public_rng) is check_rng(rng):
        raise ValueError("rng must not be public_rng: the map is public, the noise is not")
    m, d = rows.shape
    budget = repaired_budget(epsilon=epsilon, delta=delta, n_samples=m)
    k = n_components
    if k is None:
        k = printed_dimension(n_samples=m, epsilon=budget[0], delta=budget[1], beta=beta / 2)
    count = frequencies_of_algorithm3(m, beta=beta)
    features = streamed_projection(d, count, k, gamma=gamma, rng=public_rng, data_norm=r)
    return fit_predictor(
        rows, y, features, margin=margin, radius=2.0 * size, epsilon=budget[0], delta=budget[1],
        rng=rng, data_norm=r, inflation=2.0, solver=solver, n_steps=n_steps, beta=beta / 2,
    )  # fmt: skip
