"""Release of a whole function: the minimiser plus a Gaussian process with its own kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from dplit._checks import Array, check_positive, check_probability, quiet
from dplit.kernels.queries import Kernel, _CuratedFunction
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.mechanisms._draws import record_draw


class GaussianProcessOracle(_CuratedFunction):
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
    that answers on its own is :class:`~dplit.kernels.machines.PrivateKernelMachine`.

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
            "gaussian_process",
            "answers",
            sensitivity=self.sensitivity,
            scale=self.sigma,
            shape=(q,),
            parallel=self._place,
        )
        normals = np.append(self._normals, gaussian_noise(q, sigma=1.0, rng=self._rng))
        noise = self.sigma * sizes * (factor[n:] @ normals)
        self._answers = np.append(self._answers, self._exact(new) + noise)
        self._asked = np.vstack([self._asked, new])
        self._sizes = np.append(self._sizes, sizes)
        self._factor, self._normals = factor, normals
