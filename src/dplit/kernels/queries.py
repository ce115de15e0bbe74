"""Oracles that a curator keeps: a private function, questions with fresh noise, and a refusal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_positive, check_real_array, check_rng, quiet
from dplit._numerics.clipping import clamp
from dplit._numerics.rounding import round_up
from dplit.mechanisms import laplace_noise, laplace_scale
from dplit.mechanisms._draws import record_draw

Kernel = Callable[[Array, Array], Array]

#: Smaller floats have fewer digits, and zero hides nothing.
_LEAST_NORMAL = sys.float_info.min


def _real_points(name: str, points: ArrayLike, columns: int | None = None) -> Array:
    """Return real points in rows, with minus zero turned into zero (equal points are equal)."""
    array = check_real_array(name, points, 2)
    if columns is not None and array.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, got {name} of shape {array.shape}")
    return np.asarray(array + 0.0)


class _CuratedFunction:
    """A function ``sum_i c_i K(x_i, .)`` in the curator's hands, with its own source of noise.

    Records are clamped to 1e150, so that no distance to one of them overflows.
    """

    def __init__(
        self,
        kernel: Kernel,
        records: ArrayLike,
        coefficients: ArrayLike,
        *,
        sensitivity: float,
        epsilon: float,
        rng: np.random.Generator,
    ) -> None:
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


class BudgetExhaustedError(RuntimeError):
    """More different points were asked than the budget pays for.

    >>> oracle = QueryOracle(lambda X, Z: X @ Z.T, [[1.0]], [0.5], sensitivity=0.1, epsilon=1.0,
    ...     n_queries=1, rng=np.random.default_rng(0))
    >>> try:
    ...     oracle.answer([[1.0], [2.0]])
    ... except BudgetExhaustedError:
    ...     print("two points, one answer: none is given")
    two points, one answer: none is given
    """


def query_scale(*, n_queries: int, sensitivity: float, epsilon: float, kappa: float = 1.0) -> float:
    r"""Laplace scale :math:`q\kappa\Delta/\epsilon` of each of q answers, epsilon-private together.

    q is fixed before the first answer; ``sensitivity`` bounds :math:`\|f-g\|_K` over all
    neighbours.

    >>> round(query_scale(n_queries=10, sensitivity=0.1, epsilon=2.0), 12)
    0.5
    """
    q = check_integer("n_queries", n_queries)
    point = Fraction(check_positive("kappa", kappa)) * Fraction(
        check_positive("sensitivity", sensitivity)
    )
    return laplace_scale(epsilon=epsilon, sensitivity=round_up(q * point))


class QueryOracle(_CuratedFunction):
    """Answers ``f(x)`` with fresh Laplace noise at no more than q different points.

    Parameters
    ----------
    kernel, records, coefficients, sensitivity, rng
        As for :class:`~dplit.kernels.gaussian_process.GaussianProcessOracle`.
    epsilon : float
        Budget of all answers together, positive; delta is 0.
    n_queries : int
        Number q of answers, at least 1; ``remaining`` tells what is left of it.

    Notes
    -----
    Noise at x has scale ``q sqrt(K(x, x)) sensitivity / epsilon``, which does not depend on the
    data, and what the kernel may round is added to it (see
    :class:`~dplit.kernels.gaussian_process.GaussianProcessOracle`). Points at which K(x, x) or this
    scale is no positive, normal and finite float are refused: no noise would be left. A point asked
    twice gets the same answer and costs nothing the second time. The object is the curator's: it
    refuses to be pickled.

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
                "laplace",
                "answers",
                of=lambda: self._exact(new) / widths,
                norm="max",
                sensitivity=self.sensitivity,
                scale=unit,
                shape=(len(new),),
                copies=len(new),
            )
            noise = widths * laplace_noise(len(new), scale=unit, rng=self._rng)
            self._answers.update(zip(fresh, (self._exact(new) + noise).tolist(), strict=True))
        return np.array([self._answers[key] for key in keys])
