"""A fixed budget of answers with fresh Laplace noise: what the scalar shift can be made into."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_integer, check_positive
from dplit.erm._oracle import CuratedFunction, Kernel
from dplit.mechanisms import laplace_noise, laplace_scale

__all__ = ["BudgetExhaustedError", "QueryOracle", "query_scale"]

_Array = NDArray[np.float64]


class BudgetExhaustedError(RuntimeError):
    """More different points were asked than the budget pays for."""


def query_scale(*, n_queries: int, sensitivity: float, epsilon: float, kappa: float = 1.0) -> float:
    r"""Laplace scale of each of q answers, epsilon-private together.

    Parameters
    ----------
    n_queries : int
        Number q of answers, at least 1, fixed before the first.
    sensitivity : float
        Bound on ``||f - g||_K`` over all neighbours, positive.
    epsilon : float
        Budget of all answers together, positive.
    kappa : float, default=1.0
        Bound on :math:`\sqrt{K(x,x)}` at the points asked, positive.

    Returns
    -------
    float
        ``q kappa sensitivity / epsilon``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`|f(x)-g(x)|\le\sqrt{K(x,x)}\,\|f-g\|_K`, and privacy losses of adaptive answers add up.

    Examples
    --------
    >>> query_scale(n_queries=1, sensitivity=0.01, epsilon=0.5)
    0.02
    """
    q = check_integer("n_queries", n_queries)
    point = check_positive("kappa", kappa) * check_positive("sensitivity", sensitivity)
    return laplace_scale(epsilon=epsilon, sensitivity=q * point)


class QueryOracle(CuratedFunction):
    """Answers ``f(x)`` with fresh Laplace noise at no more than q different points.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` gives the matrix of ``K(x, z)``.
    records : array_like of shape (m, d)
        Points of ``f = sum_i c_i K(x_i, .)``: private.
    coefficients : array_like of shape (m,)
        The ``c_i``: private.
    sensitivity : float
        Bound on ``||f - g||_K`` over all neighbouring data sets (plus the certified distance of an
        approximate solver for both), positive.
    epsilon : float
        Budget of all answers together, positive; delta is 0.
    n_queries : int
        Number q of answers, at least 1.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Attributes
    ----------
    epsilon, sensitivity : float
        As given.
    n_queries, remaining : int
        The budget, and what is left of it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Notes
    -----
    Noise at x has scale ``q sqrt(K(x, x)) sensitivity / epsilon``, which does not depend on the
    data. A point asked twice gets the same answer and costs nothing the second time. Like
    :class:`~dplit.erm.gaussian_process.GaussianProcessOracle` the object is the curator's.

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
        self,
        kernel: Kernel,
        records: ArrayLike,
        coefficients: ArrayLike,
        *,
        sensitivity: float,
        epsilon: float,
        n_queries: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(
            kernel, records, coefficients, sensitivity=sensitivity, epsilon=epsilon, rng=rng
        )
        self.n_queries = check_integer("n_queries", n_queries)
        self._answers: dict[bytes, float] = {}

    @property
    def remaining(self) -> int:
        """Number of new points that can still be asked."""
        return self.n_queries - len(self._answers)

    def answer(self, points: ArrayLike) -> _Array:
        """Return the noisy values at ``points``, or refuse all of them.

        Parameters
        ----------
        points : array_like of shape (p, d)
            Any points; the choice may depend on all earlier answers.

        Returns
        -------
        ndarray of shape (p,)
            All answers ever given are epsilon-private together.

        Raises
        ------
        TypeError, ValueError
            If ``points`` is not a finite real matrix with d columns.
        BudgetExhaustedError
            If more new points are asked than ``remaining``; none of them is answered then.
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
            widths = np.sqrt([float(self._matrix(row[None], row[None])[0, 0]) for row in new])
            noise = widths * laplace_noise(len(new), scale=unit, rng=self._rng)
            self._answers.update(zip(fresh, (self._exact(new) + noise).tolist(), strict=True))
        return np.array([self._answers[key] for key in keys])
