r"""Release of a whole function: the minimiser plus a Gaussian process with its own kernel.

Two minimisers from neighbouring data sets differ by a function of the space that the kernel spans,
and that space is the Cameron--Martin space of the Gaussian process with the same kernel. So the
laws of ``f + sigma G`` and ``g + sigma G`` compare like two normal laws at the distance
``||f - g||_K / sigma``, however many points are asked, and in whatever order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.stats import norm

from dplit._checks import (
    check_finite_array,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.erm._oracle import CuratedFunction, Kernel
from dplit.mechanisms import gaussian_noise, gaussian_sigma

__all__ = ["GaussianProcessOracle", "distinguishing_power", "largest_power"]

_Array = NDArray[np.float64]


class GaussianProcessOracle(CuratedFunction):
    r"""Answers of ``f + sigma G`` at any points: adaptive, consistent, private as a whole.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` gives the matrix of ``K(x, z)``; the kernel of the space in which ``f`` was
        fitted, chosen without the data.
    records : array_like of shape (m, d)
        Points ``x_i`` of ``f = sum_i c_i K(x_i, .)``: private.
    coefficients : array_like of shape (m,)
        The ``c_i``: private.
    sensitivity : float
        Bound on ``||f - g||_K`` over all neighbouring data sets, positive. Theorem 2 gives it; the
        certified distance of an approximate solver is added for **both** neighbours.
    epsilon, delta : float
        Guarantee of all answers together.
    jitter : float, default=1e-10
        Variance, in units of the kernel, of independent noise that is **drawn** at every new point,
        so that factorisations never meet a singular matrix. More noise never hurts privacy.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Attributes
    ----------
    sigma : float
        Factor of the process: the noise at x has variance ``sigma^2 (K(x, x) + jitter)``.
    mu : float
        ``sensitivity / sigma``: every sequence of answers is mu-Gaussian-DP.
    epsilon, delta, sensitivity : float
        As given.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Notes
    -----
    One path of G serves all questions. New values are drawn from their law given the old ones,
    by new rows of the Cholesky factor, so nothing depends on how the questions are grouped; a
    point asked twice gets the same answer.

    The object is the **curator's**: it holds the records. Publish its answers, never the object;
    it refuses to be pickled. To publish a model that answers on its own, use random features for
    the fit *and* the noise: :class:`~dplit.erm.estimators.PrivateKernelMachine`.

    References
    ----------
    Hall, Rinaldo and Wasserman, Differential privacy for functions and functional data, JMLR 14
    (2013), 703-727; the constant is Theorem 2 of Nie and Wang (2017).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> oracle = GaussianProcessOracle(lambda X, Z: X @ Z.T, [[1.0]], [0.5], sensitivity=0.1,
    ...     epsilon=1.0, delta=1e-5, rng=stream(0, "example", "noise"))
    >>> first, again = oracle.answer([[0.3]]), oracle.answer([[-2.0], [0.3]])[1]
    >>> bool(first[0] == again), oracle.asked
    (True, 2)
    """

    def __init__(
        self,
        kernel: Kernel,
        records: ArrayLike,
        coefficients: ArrayLike,
        *,
        sensitivity: float,
        epsilon: float,
        delta: float,
        jitter: float = 1e-10,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(
            kernel, records, coefficients, sensitivity=sensitivity, epsilon=epsilon, rng=rng
        )
        self.delta = check_probability("delta", delta)
        self._jitter = check_positive("jitter", jitter)
        self.sigma = float(
            gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=self.sensitivity)
        )
        self.mu = self.sensitivity / self.sigma
        self._asked = np.empty((0, self._records.shape[1]))
        self._place: dict[bytes, int] = {}
        self._factor = np.empty((0, 0))
        self._normals = np.empty(0)
        self._answers = np.empty(0)

    @property
    def asked(self) -> int:
        """Number of different points answered so far."""
        return len(self._asked)

    def answer(self, points: ArrayLike) -> _Array:
        """Return the noisy values at ``points``.

        Parameters
        ----------
        points : array_like of shape (q, d)
            Any points; the choice may depend on all earlier answers.

        Returns
        -------
        ndarray of shape (q,)
            All answers ever given are (epsilon, delta)-private together.

        Raises
        ------
        TypeError, ValueError
            If ``points`` is not a finite real matrix with d columns.
        numpy.linalg.LinAlgError
            If the kernel matrix of the points is not positive semidefinite to within ``jitter``.
        """
        keys, rows = self._keyed(points)
        fresh = [key for key in rows if key not in self._place]
        if fresh:
            self._extend(np.array([rows[key] for key in fresh]))
            self._place.update({key: i for i, key in enumerate(fresh, start=len(self._place))})
        return np.array([self._answers[self._place[key]] for key in keys])

    def _extend(self, new: _Array) -> None:
        """Draw the process at new points given its values at the old ones."""
        old, n = self._factor, len(self._normals)
        q = len(new)
        inner = self._matrix(new, new) + self._jitter * np.eye(q)
        cross = solve_triangular(old, self._matrix(self._asked, new), lower=True) if n else None
        if cross is not None:
            inner = inner - cross.T @ cross
        factor = np.zeros((n + q, n + q))
        factor[:n, :n] = old
        try:
            factor[n:, n:] = cholesky((inner + inner.T) / 2, lower=True)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                "the kernel matrix of the points must be positive semidefinite to within "
                f"jitter={self._jitter:g}: {error}"
            ) from error
        if cross is not None:
            factor[n:, :n] = cross.T
        normals = np.append(self._normals, gaussian_noise(q, sigma=1.0, rng=self._rng))
        noise = self.sigma * (factor[n:] @ normals)
        self._answers = np.append(self._answers, self._exact(new) + noise)
        self._asked = np.vstack([self._asked, new])
        self._factor, self._normals = factor, normals


def distinguishing_power(
    difference: ArrayLike, gram: ArrayLike, *, sigma: float, floor: float = 0.0
) -> float:
    r"""How far apart finitely many answers are under two hypotheses, in standard deviations.

    Parameters
    ----------
    difference : array_like of shape (q,)
        Values ``f(t_i) - g(t_i)`` at the points asked.
    gram : array_like of shape (q, q)
        Covariance of the noise at these points for ``sigma = 1``: the kernel matrix for the
        release of the whole function, less where an implementation drops noise.
    sigma : float
        Factor of the noise, positive.
    floor : float, default=0.0
        Standard deviation of further independent noise on each answer: jitter, or rounding.

    Returns
    -------
    float
        :math:`\sqrt{d^\top(\sigma^2K+\text{floor}^2I)^{-1}d}`: the best test between the two laws
        is that between N(0, 1) and N(power, 1). It never exceeds
        :math:`\|f-g\|_K/\sigma`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.
    numpy.linalg.LinAlgError
        If the covariance is not positive definite in floating point; ask with a ``floor``.

    Notes
    -----
    The kernel norm of a function is at least that of its interpolant of least norm, whose square is
    :math:`d^\top K^{-1}d`.

    Examples
    --------
    >>> round(distinguishing_power([1.0, 1.0], np.eye(2), sigma=2.0), 6)
    0.707107
    """
    d = check_finite_array("difference", difference, ndim=1).astype(np.float64)
    K = check_finite_array("gram", gram, ndim=2).astype(np.float64)
    if K.shape != (len(d), len(d)):
        raise ValueError(f"gram must have shape {(len(d),) * 2}, got gram of shape {K.shape}")
    scale = check_positive("sigma", sigma)
    extra = check_nonnegative("floor", floor) / scale
    factor = cho_factor(K + extra**2 * np.eye(len(d)), lower=True)
    return math.sqrt(max(0.0, float(d @ cho_solve(factor, d)))) / scale


def largest_power(false_positive_rate: ArrayLike, *, mu: float) -> _Array:
    r"""Largest true-positive rate of any attack on a mu-Gaussian-DP release.

    Parameters
    ----------
    false_positive_rate : array_like
        Probabilities in [0, 1].
    mu : float
        Gaussian-DP parameter, nonnegative.

    Returns
    -------
    ndarray
        :math:`\Phi(\Phi^{-1}(\mathrm{FPR})+\mu)`, of the shape of ``false_positive_rate``.

    Raises
    ------
    TypeError, ValueError
        If a rate is no probability or ``mu`` is negative.

    References
    ----------
    Dong, Roth and Su, Gaussian differential privacy, J. R. Stat. Soc. B 84 (2022), Definition 2.6.

    Examples
    --------
    >>> largest_power([0.0, 0.05, 1.0], mu=1.0).round(4).tolist()
    [0.0, 0.2595, 1.0]
    """
    rates = check_finite_array("false_positive_rate", false_positive_rate)
    for rate in (rates.min(), rates.max()):
        check_probability("false_positive_rate", float(rate), zero=True, one=True)
    return np.asarray(norm.cdf(norm.ppf(rates) + check_nonnegative("mu", mu)))
