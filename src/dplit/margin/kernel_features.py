r"""Random features of a shift-invariant kernel with ``K(x, x) = r^2``, and how far they can err.

The map is the shared cosine-and-sine map of :mod:`dplit.features` times r: every record
has norm exactly r, whatever the frequencies are, so that a private learner needs no clipping.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from dplit._checks import check_finite_array, check_integer, check_positive, check_probability
from dplit.features import cos_sin_features, feature_gram, random_frequencies

__all__ = [
    "frequencies_of_algorithm3",
    "gaussian_kernel",
    "hoeffding_bound",
    "margin_features",
    "sup_deviation",
    "sup_deviation_bound",
    "sup_deviation_draws",
    "union_failure",
]


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
    >>> from dplit.margin.kernel_features import gaussian_kernel
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
    >>> from dplit.margin.kernel_features import margin_features
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
    >>> from dplit.margin.kernel_features import frequencies_of_algorithm3
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
    >>> from dplit.margin.kernel_features import sup_deviation_bound
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
    >>> from dplit.margin.kernel_features import union_failure
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
    >>> from dplit.margin.kernel_features import hoeffding_bound
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
    >>> from dplit.margin.kernel_features import sup_deviation
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
    >>> from dplit.margin.kernel_features import sup_deviation_draws
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
