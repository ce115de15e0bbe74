"""Release of a whole function: the minimiser plus a Gaussian process with its own kernel.

The laws of ``f + sigma G`` and ``g + sigma G`` compare like two normal laws at the distance
``||f - g||_K / sigma``, however many points are asked, and in whatever order.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.stats import norm

from dplit._checks import (
    Array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
    quiet,
)
from dplit._estimators import clamp
from dplit._numerics.rounding import round_down, round_up
from dplit.erm.stability import lipschitz_stability
from dplit.mechanisms import (
    gamma_norm_noise,
    gaussian_noise,
    gaussian_sigma,
    laplace_noise,
    laplace_scale,
)
from dplit.mechanisms.draws import record_draw

# Pure epsilon for a function of finitely many features: a gamma-distributed noise norm.


@quiet
def gamma_release(
    weights: ArrayLike, *, sensitivity: float, epsilon: float, rng: np.random.Generator
) -> Array:
    """Weights of a linear model plus noise with density proportional to ``exp(-rate ||b||_2)``.

    Parameters
    ----------
    weights : array_like of shape (d,)
        Exact weights of ``f(x) = <weights, phi(x)>`` on public features.
    sensitivity : float
        Bound on the Euclidean distance of the weights over all neighbouring data sets (plus the
        certified distance of an approximate solver for both), positive.
    epsilon : float
        Positive; the rate is ``epsilon / sensitivity``.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    ndarray of shape (d,)
        Epsilon-private weights; every evaluation of the function is post-processing. Algorithm 1 of
        Chaudhuri, Monteleoni and Sarwate, JMLR 12 (2011).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noisy = gamma_release([1.0, 0.0], sensitivity=1e-9, epsilon=1.0,
    ...     rng=stream(0, "example", "noise"))
    >>> np.abs(noisy).round(6).tolist()
    [1.0, 0.0]
    """
    exact = check_real_array("weights", weights, 1)
    budget = Fraction(check_positive("epsilon", epsilon))
    rate = round_down(budget / Fraction(check_positive("sensitivity", sensitivity)))
    record_draw(
        "gamma_norm", "weights", of=exact, sensitivity=sensitivity,
        scale=round_up(1 / Fraction(rate)), shape=exact.shape,
    )  # fmt: skip
    return np.asarray(exact + gamma_norm_noise(len(exact), rate=rate, rng=rng))


def gamma_deviation(
    dimension: int, *, sensitivity: float, epsilon: float, kappa: float = 1.0
) -> float:
    r"""Standard deviation of the noise of one prediction on features of norm ``kappa``.

    :math:`\kappa\sqrt{d+1}\,\Delta/\epsilon` for the ``dimension`` d.
    """
    d = check_integer("dimension", dimension)
    scale = check_positive("sensitivity", sensitivity) / check_positive("epsilon", epsilon)
    return check_positive("kappa", kappa) * math.sqrt(d + 1) * scale


def gamma_privacy_loss(
    released: ArrayLike, weights: ArrayLike, neighbour: ArrayLike, *, rate: float
) -> Array:
    """Logarithm of the ratio of the densities of a release under two sets of exact weights.

    ``rate (||released - neighbour|| - ||released - weights||)`` with ``rate = epsilon /
    sensitivity``; ``released`` may have any shape (..., d).
    """
    points = check_real_array("released", released)
    here = check_real_array("weights", weights, 1)
    there = check_real_array("neighbour", neighbour, 1)
    if not points.shape[-1:] == here.shape == there.shape:
        raise ValueError(
            f"neighbour must have the shape of weights, got {there.shape} and {here.shape} "
            f"for released of shape {points.shape}"
        )
    distances = [np.linalg.norm(points - centre, axis=-1) for centre in (there, here)]
    return np.asarray(check_positive("rate", rate) * (distances[0] - distances[1]))


# What the curator's oracles share: a private function, its exact values, and a refusal.


Kernel = Callable[[Array, Array], Array]

#: Smaller floats have fewer digits, and zero hides nothing.
_LEAST_NORMAL = sys.float_info.min


def _real_points(name: str, points: ArrayLike, columns: int | None = None) -> Array:
    """Return real points in rows, with minus zero turned into zero (equal points are equal)."""
    array = check_real_array(name, points, 2)
    if columns is not None and array.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, got {name} of shape {array.shape}")
    return np.asarray(array + 0.0)


class CuratedFunction:
    """A function ``sum_i c_i K(x_i, .)`` in the curator's hands, with its own source of noise.

    Records are clamped to 1e150, so that no distance to one of them overflows.
    """

    def __init__(
        self, kernel: Kernel, records: ArrayLike, coefficients: ArrayLike, *, sensitivity: float,
        epsilon: float, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        if not callable(kernel):
            raise TypeError(f"kernel must be callable, got kernel={kernel!r}")
        self._kernel = kernel
        self._records = clamp(_real_points("records", records))
        weights = check_real_array("coefficients", coefficients, 1)
        if weights.shape != (len(self._records),):
            raise ValueError(
                f"coefficients must have {len(self._records)} entries, got shape {weights.shape}"
            )
        self._coefficients = weights
        self.sensitivity = check_positive("sensitivity", sensitivity)
        self.epsilon = check_positive("epsilon", epsilon)
        self._rng = check_rng(rng)

    def _matrix(self, X: Array, Z: Array) -> Array:
        return np.asarray(self._kernel(X, Z), dtype=np.float64)

    def _exact(self, points: Array) -> Array:
        return np.asarray(self._matrix(points, self._records) @ self._coefficients)

    @property
    def _roundings(self) -> int:
        """What one entry of a kernel matrix may be off, in units of ``2**-53`` of the lengths."""
        return 4 * (int(self._records.shape[1]) + 4)

    def _lengths(self, points: Array, noise: float) -> Array:
        """Return ``sqrt(K(x, x))`` of public points, or refuse those at which nothing is hidden.

        There K(x, x) or the noise, ``noise`` times the length, is zero, subnormal or no number.
        """
        squares = np.array([float(self._matrix(row[None], row[None])[0, 0]) for row in points])
        lengths = np.sqrt(squares)
        for numbers, what in ((squares, "K(x, x)"), (lengths * noise, "noise")):
            bad = ~((numbers >= _LEAST_NORMAL) & (numbers < math.inf))
            if bad.any():
                raise ValueError(
                    f"points must have a positive, normal and finite {what}, "
                    f"got {float(numbers[bad][0])!r}"
                )
        return np.asarray(lengths)

    def _keyed(self, points: ArrayLike) -> tuple[list[bytes], dict[bytes, Array]]:
        """Return one key per point, and the different points by key in order."""
        rows = _real_points("points", points, self._records.shape[1])
        keys = [row.tobytes() for row in rows]
        return keys, dict(zip(keys, rows, strict=True))

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: the object holds private records."""
        name = type(self).__name__
        raise TypeError(f"{name} holds the records: publish its answers, not the object")


# A fixed budget of answers with fresh Laplace noise: what the scalar shift can be made into.


class BudgetExhaustedError(RuntimeError):
    """More different points were asked than the budget pays for."""


def query_scale(*, n_queries: int, sensitivity: float, epsilon: float, kappa: float = 1.0) -> float:
    r"""Laplace scale :math:`q\kappa\Delta/\epsilon` of each of q answers, epsilon-private together.

    q is fixed before the first answer; ``sensitivity`` bounds :math:`\|f-g\|_K` over all
    neighbours.
    """
    q = check_integer("n_queries", n_queries)
    point = Fraction(check_positive("kappa", kappa)) * Fraction(
        check_positive("sensitivity", sensitivity)
    )
    return laplace_scale(epsilon=epsilon, sensitivity=round_up(q * point))


class QueryOracle(CuratedFunction):
    """Answers ``f(x)`` with fresh Laplace noise at no more than q different points.

    Parameters
    ----------
    kernel, records, coefficients, sensitivity, rng
        As for :class:`GaussianProcessOracle`.
    epsilon : float
        Budget of all answers together, positive; delta is 0.
    n_queries : int
        Number q of answers, at least 1; ``remaining`` tells what is left of it.

    Notes
    -----
    Noise at x has scale ``q sqrt(K(x, x)) sensitivity / epsilon``, which does not depend on the
    data, and what the kernel may round is added to it (see :class:`GaussianProcessOracle`). Points
    at which K(x, x) or this scale is no positive, normal and finite float are refused: no noise
    would be left. A point asked twice gets the same answer and costs nothing the second time. The
    object is the curator's: it refuses to be pickled.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> oracle = QueryOracle(lambda X, Z: X @ Z.T, [[1.0]], [0.5], sensitivity=0.1, epsilon=1.0,
    ...     n_queries=2, rng=stream(0, "example", "noise"))
    >>> answers = oracle.answer([[1.0], [1.0]])
    >>> bool(answers[0] == answers[1]), oracle.remaining
    (True, 1)
    """

    def __init__(
        self, kernel: Kernel, records: ArrayLike, coefficients: ArrayLike, *, sensitivity: float,
        epsilon: float, n_queries: int, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel, records, coefficients, sensitivity=sensitivity, epsilon=epsilon, rng=rng
        )
        self.n_queries = check_integer("n_queries", n_queries)
        self._answers: dict[bytes, float] = {}

    @property
    def remaining(self) -> int:
        """Number of new points that can still be asked."""
        return self.n_queries - len(self._answers)

    @quiet
    def answer(self, points: ArrayLike) -> Array:
        """Return the noisy values at ``points`` (p, d), or refuse all of them.

        The choice may depend on earlier answers: all ever given are epsilon-private together.
        """
        keys, rows = self._keyed(points)
        fresh = [key for key in rows if key not in self._answers]
        if len(fresh) > self.remaining:
            raise BudgetExhaustedError(
                f"{len(fresh)} new points were asked, and {self.remaining} of "
                f"n_queries={self.n_queries} remain"
            )
        if fresh:
            new = np.array([rows[key] for key in fresh])
            unit = query_scale(
                n_queries=self.n_queries, sensitivity=self.sensitivity, epsilon=self.epsilon
            )
            widths = self._lengths(new, unit) * (1.0 + self._roundings * 2.0**-53)
            record_draw(
                "laplace", "answers", of=lambda: self._exact(new) / widths, norm="max",
                sensitivity=self.sensitivity, scale=unit, shape=(len(new),), copies=len(new),
            )  # fmt: skip
            noise = widths * laplace_noise(len(new), scale=unit, rng=self._rng)
            self._answers.update(zip(fresh, (self._exact(new) + noise).tolist(), strict=True))
        return np.array([self._answers[key] for key in keys])


# What one prediction costs in noise (standard deviation) under each release, in closed form.


#: No number of answers or features is searched beyond this.
_LARGEST_COUNT = 2**62


class ReleaseCosts(NamedTuple):
    """Noise of the releases at one sample size.

    ``sensitivity`` is Theorem 2's; ``printed_scale`` the Laplace scale of the scalar shift, private
    for no epsilon; ``query_scale`` that of one answer; ``gaussian_process`` the standard deviation
    of any answer, ``textbook`` by Hall, Rinaldo and Wasserman's sufficient condition;
    ``gamma_lengths`` the mean length of gamma-norm noise by dimension.
    """

    n_records: int
    regularization: float
    sensitivity: float
    printed_scale: float
    query_scale: float
    gaussian_process: float
    textbook: float
    gamma_lengths: tuple[float, ...]


def release_costs(
    n_records: int, *, epsilon: float = 0.5, delta: float = 1e-5,
    regularization: float | None = None, dimensions: tuple[int, ...] = (2, 41),
) -> ReleaseCosts:  # fmt: skip
    r"""Noise of each release for a loss with slopes at most 1 and features of norm 1.

    With :math:`\Delta=1/(\lambda m)`, by default :math:`\lambda=m^{-1/3}`: printed scale
    :math:`\Delta/(2\epsilon)`, one answer :math:`\Delta/\epsilon`, textbook
    :math:`\sqrt{2\ln(2/\delta)}\,\Delta/\epsilon` (proved for epsilon < 1), gamma-norm
    :math:`d\Delta/\epsilon`.

    >>> costs = release_costs(1000)
    >>> round(costs.query_scale, 5), round(costs.gaussian_process, 5)
    (0.02, 0.07032)
    """
    m = check_integer("n_records", n_records)
    eps, level = check_positive("epsilon", epsilon), check_probability("delta", delta)
    penalty = m ** (-1.0 / 3.0) if regularization is None else regularization
    change = lipschitz_stability(lipschitz=1.0, regularization=penalty, n_records=m)
    answer = query_scale(n_queries=1, sensitivity=change, epsilon=eps)
    return ReleaseCosts(
        n_records=m, regularization=float(penalty), sensitivity=change, printed_scale=answer / 2.0,
        query_scale=answer,
        gaussian_process=float(gaussian_sigma(epsilon=eps, delta=level, sensitivity=change)),
        textbook=math.sqrt(2.0 * math.log(2.0 / level)) * change / eps,
        gamma_lengths=tuple(check_integer("dimensions", d) * change / eps for d in dimensions),
    )  # fmt: skip


def break_even_queries(*, epsilon: float, delta: float, dimension: int | None = None) -> int:
    r"""Largest number of answers for which Laplace noise has no more variance than its rival.

    For a positive delta the rival is the process: the last q with
    :math:`\sqrt2\,q/\epsilon\le\sigma`. For delta = 0 no process is private, and the rival is
    gamma-norm noise on ``dimension`` features, which must be given: :math:`\sqrt2\,q\le\sqrt{d+1}`,
    whatever epsilon is. 0 if there is none.

    >>> break_even_queries(epsilon=0.5, delta=1e-5)
    2
    >>> break_even_queries(epsilon=0.5, delta=0.0, dimension=80)
    6
    """
    budget = check_positive("epsilon", epsilon)
    d = 1 if dimension is None and delta != 0.0 else check_integer("dimension", dimension)
    if delta == 0.0:
        return math.isqrt((d + 1) // 2)
    sigma = float(gaussian_sigma(epsilon=budget, delta=delta))

    def deviation(q: int) -> float:
        return math.sqrt(2.0) * query_scale(n_queries=q, sensitivity=1.0, epsilon=budget)

    return bisect_right(range(1, _LARGEST_COUNT), sigma, key=deviation)


def break_even_dimension(*, epsilon: float, delta: float) -> int:
    r"""Largest number of features for which gamma-norm noise has less variance than the process.

    The last d with :math:`\sqrt{d+1}/\epsilon\le\sigma`; 0 if there is none. It compares a pure
    guarantee with one at this delta, so it is no advice to whom delta must be 0.

    >>> break_even_dimension(epsilon=0.5, delta=1e-5)
    11
    """
    sigma = float(gaussian_sigma(epsilon=check_positive("epsilon", epsilon), delta=delta))
    deviation = partial(gamma_deviation, sensitivity=1.0, epsilon=epsilon)
    return bisect_right(range(1, _LARGEST_COUNT), sigma, key=deviation)


class GaussianProcessOracle(CuratedFunction):
    """Answers of ``f + sigma G`` at any points: adaptive, consistent, private as a whole.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` gives the matrix of ``K(x, z)``; the kernel of the space in which ``f`` was
        fitted, chosen without the data.
    records, coefficients : array_like of shape (m, d) and (m,)
        Of ``f = sum_i c_i K(x_i, .)``: private.
    sensitivity : float
        Bound on ``||f - g||_K`` over all neighbouring data sets, positive. Theorem 2 gives it; the
        certified distance of an approximate solver is added for **both** neighbours.
    epsilon, delta : float
        Guarantee of all answers together.
    jitter : float, default=1e-10
        Variance, in units of K(x, x), of independent noise that is **drawn** at every new point:
        it pays for what rounding takes from the process. More noise never hurts privacy; less than
        the Notes ask for at a point is raised to it.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Attributes
    ----------
    sigma : float
        Factor of the process: the noise at x has variance ``sigma^2 K(x, x) (1 + jitter)``.
    mu : float
        ``sensitivity / sigma``: every sequence of answers is mu-Gaussian-DP (Hall, Rinaldo and
        Wasserman, JMLR 14, 2013).

    Notes
    -----
    One path of G serves all questions: new values are drawn from their law given the old ones, so
    nothing depends on how the questions are grouped, and a point asked twice gets the same answer.
    The object is the **curator's**, who publishes its answers; it refuses to be pickled. A model
    that answers on its own is :class:`~dplit.erm.estimators.PrivateKernelMachine`.

    **The jitter that rounding needs.** Privacy holds if the covariance that is drawn, sigma^2 L L',
    dominates sigma^2 K in exact arithmetic. In units of ``sqrt(K(x, x) K(z, z))`` the computed
    factor L belongs to K + J + E, where J holds the jitters and the entry (i, j) of E is at most
    ``(min(i, j) + 4 d + 16) 2^-53``: the backward error of Cholesky's method in any order of sums
    (Higham, Accuracy and Stability of Numerical Algorithms, 2002, Theorem 10.3), eight roundings
    around it, and ``4 d + 8`` granted to the kernel itself, which inner products, polynomials of
    them up to the fourth degree, and functions of distances summed over coordinates keep. By
    Copson's inequality (Hardy, Littlewood, Polya, Inequalities, Theorem 331) the matrix
    ``min(I, J)`` is dominated by the diagonal ``4 I^2``. So the jitter at the i-th different
    point is at least ``2^-50 (i + 4 d + 16)^2``, twice that bound, however many points follow; in
    two dimensions the default is larger up to 311 points. A kernel that is less accurate, such as
    one that expands squared distances of far points, needs a larger jitter. The rounding of f and
    of the sum with the noise is not covered, as everywhere where noise is floating point.

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
        self, kernel: Kernel, records: ArrayLike, coefficients: ArrayLike, *, sensitivity: float,
        epsilon: float, delta: float, jitter: float = 1e-10, rng: np.random.Generator,
    ) -> None:  # fmt: skip
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
        self._sizes = np.empty(0)
        self._place: dict[bytes, int] = {}
        self._factor = np.empty((0, 0))
        self._normals = np.empty(0)
        self._answers = np.empty(0)

    @property
    def asked(self) -> int:
        """Number of different points answered so far."""
        return len(self._asked)

    @quiet
    def answer(self, points: ArrayLike) -> Array:
        """Return the noisy values at ``points`` (q, d).

        The choice may depend on earlier answers: all ever given are (epsilon, delta)-private
        together.
        """
        keys, rows = self._keyed(points)
        fresh = [key for key in rows if key not in self._place]
        if fresh:
            self._extend(np.array([rows[key] for key in fresh]))
            self._place.update({key: i for i, key in enumerate(fresh, start=len(self._place))})
        return np.array([self._answers[self._place[key]] for key in keys])

    def _extend(self, new: Array) -> None:
        """Draw the process at new points given its values at the old ones."""
        old, n = self._factor, len(self._normals)
        q = len(new)
        sizes = self._lengths(new, self.sigma)
        needed = 2.0**-50 * (np.arange(n + 1, n + q + 1) + self._roundings) ** 2
        inner = self._matrix(new, new) / sizes[:, None] / sizes
        inner += np.diag(np.maximum(self._jitter, needed))
        cross = None
        if n:
            known = self._matrix(self._asked, new) / self._sizes[:, None] / sizes
            cross = solve_triangular(old, known, lower=True)
            inner = inner - cross.T @ cross
        factor = np.zeros((n + q, n + q))
        factor[:n, :n] = old
        try:
            factor[n:, n:] = cholesky((inner + inner.T) / 2, lower=True)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                "the kernel matrix of the points must be positive semidefinite to within its "
                f"rounding and jitter={self._jitter:g}: {error}"
            ) from error
        if cross is not None:
            factor[n:, :n] = cross.T
        record_draw(
            "gaussian_process", "answers", sensitivity=self.sensitivity, scale=self.sigma,
            shape=(q,), parallel=self._place,
        )  # fmt: skip
        normals = np.append(self._normals, gaussian_noise(q, sigma=1.0, rng=self._rng))
        noise = self.sigma * sizes * (factor[n:] @ normals)
        self._answers = np.append(self._answers, self._exact(new) + noise)
        self._asked = np.vstack([self._asked, new])
        self._sizes = np.append(self._sizes, sizes)
        self._factor, self._normals = factor, normals


def distinguishing_power(
    difference: ArrayLike, gram: ArrayLike, *, sigma: float, floor: float = 0.0
) -> float:
    r"""How far apart finitely many answers are under two hypotheses, in standard deviations.

    :math:`\sqrt{d^\top(\sigma^2K+\text{floor}^2I)^{-1}d}` with the ``difference`` d of the values
    and the covariance K of the noise for ``sigma`` 1; ``floor`` is the deviation of further
    independent noise.
    """
    d = check_real_array("difference", difference, 1)
    K = check_real_array("gram", gram, 2)
    if K.shape != (len(d), len(d)):
        raise ValueError(f"gram must have shape {(len(d),) * 2}, got gram of shape {K.shape}")
    scale = check_positive("sigma", sigma)
    extra = check_nonnegative("floor", floor) / scale
    factor = cho_factor(K + extra**2 * np.eye(len(d)), lower=True)
    return math.sqrt(max(0.0, float(d @ cho_solve(factor, d)))) / scale


def largest_power(false_positive_rate: ArrayLike, *, mu: float) -> Array:
    r"""Largest true-positive rate of any attack on a mu-Gaussian-DP release.

    :math:`\Phi(\Phi^{-1}(\mathrm{FPR})+\mu)` (Dong, Roth and Su 2022, Definition 2.6).
    """
    rates = check_real_array("false_positive_rate", false_positive_rate)
    for rate in (rates.min(), rates.max()):
        check_probability("false_positive_rate", float(rate), zero=True, one=True)
    return np.asarray(norm.cdf(norm.ppf(rates) + check_nonnegative("mu", mu)))
