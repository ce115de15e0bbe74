r"""All networks of two layers on a grid of weights, and the exact law of the mechanism over them.
Of 405 units :math:`a\,\psi(c^\top x)` 161 functions are different, since the activation is odd;
a network is a multiset of them, counted as often as it occurs: 13,041 terms for N = 2 (instead
of 164,025), 708,561 for N = 3 (instead of 66,430,125).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_positive,
    check_real_array,
    check_rng,
)
from dplit.papers.margin.networks import network_output, sigmoid
from dplit_studies.trials import Trial

_Integers = NDArray[np.intp]

#: The teacher, in the grid: columns of the first layer and the output layer.
_TEACHER = (np.array([[0.0, 1.5], [0.5, 1.5]]), np.array([2.0, -1.0]))

#: eta of the sigmoid tanh(eta a / 2).
_SLOPE = 4.0

_AXIS = np.linspace(-2.0, 2.0, 9)

_OUTPUTS = np.linspace(-2.0, 2.0, 5)


@dataclass(frozen=True)
class _SelectionError:
    """Expected errors of the exponential mechanism over all networks, and the least one."""

    train: float
    test: float
    best_train: float


def spread_points(n_points: int) -> Array:
    r"""Points :math:`2(i+\frac12)(g^{-1},g^{-2})\bmod2-1`, :math:`g^3=g+1`: the toy population.

    A square grid would put points on boundaries of networks, where a zero output is an error.
    """
    g = 1.324717957244746
    steps = np.arange(check_integer("n_points", n_points)) + 0.5
    return np.asarray(np.mod(np.outer(steps, [2 / g, 2 / g**2]), 2.0) - 1.0)


def teacher_labels(X: ArrayLike) -> Array:
    """Labels of the teacher network."""
    return np.where(network_output(X, _TEACHER, slope=_SLOPE) > 0, 1.0, -1.0)


@dataclass(frozen=True)
class ToyNetworks:
    """Distinct networks of the grid with their multiplicities, of 1 to 3 hidden units."""

    width: int = 2

    def __post_init__(self) -> None:
        """Check the width."""
        check_integer("width", self.width, maximum=3)

    @cached_property
    def units(self) -> tuple[Array, Array, Array]:
        """Columns c (161, 2), outputs a (161,), and how many of the 405 units are each."""
        halves = [(x, y) for x, y in product(_AXIS, _AXIS) if x > 0 or (x == 0 and y > 0)]
        live = [(c, a) for c in halves for a in _OUTPUTS if a != 0]
        columns = np.array([(0.0, 0.0), *(c for c, _ in live)])
        outputs = np.array([0.0, *(a for _, a in live)])
        total = len(_AXIS) ** 2 * len(_OUTPUTS)
        copies = np.array([total - 2.0 * len(live), *(2.0 for _ in live)])
        return columns, outputs, copies

    @cached_property
    def multisets(self) -> tuple[_Integers, Array]:
        """Units of each distinct network, ascending (n, width), and its number of copies."""
        copies = self.units[2]
        members = np.array(
            list(combinations_with_replacement(range(len(copies)), self.width)), dtype=np.intp
        )
        repeats = np.ones(len(members))
        run = np.ones(len(members))
        for j in range(1, self.width):
            run = np.where(members[:, j] == members[:, j - 1], run + 1, 1.0)
            repeats *= run
        orders = math.factorial(self.width) / repeats
        return members, orders * np.prod(copies[members], axis=1)

    def error_counts(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Number of errors of every distinct network; a zero output counts as an error."""
        columns, outputs, _ = self.units
        labels = check_real_array("y", y, 1)
        hidden = sigmoid(check_finite_array("X", X, ndim=2) @ columns.T, slope=_SLOPE)
        signed = np.ascontiguousarray((outputs * hidden * labels[:, None]).T)
        members = self.multisets[0]
        prefixes, starts = np.unique(members[:, :-1], axis=0, return_index=True)
        counts = np.empty(len(members))
        ends = np.append(starts[1:], len(members))
        for prefix, start, end in zip(prefixes, starts, ends, strict=True):
            base = -signed[prefix].sum(axis=0)
            last = signed[members[start, -1] : members[start, -1] + end - start]
            counts[start:end] = np.count_nonzero(last <= base, axis=1)
        return counts

    def expected_errors(
        self, counts: ArrayLike, population: ArrayLike, *, n_samples: int, epsilon: float
    ) -> _SelectionError:
        """Exact expectations under the exponential mechanism with zero-one score."""
        errors = check_real_array("counts", counts, 1)
        m = check_integer("n_samples", n_samples)
        logits = np.log(self.multisets[1]) - 0.5 * check_positive("epsilon", epsilon) * errors
        law = softmax(logits)
        test = law @ check_finite_array("population", population, ndim=1)
        return _SelectionError(float(law @ errors) / m, float(test), float(errors.min()) / m)


def toy_trial(
    trial: Trial,
    *,
    networks: ToyNetworks,
    population: Array,
    n_samples: int,
    epsilons: tuple[float, ...],
) -> Array:
    """Exact expected training and test errors (budgets, 2) on one sample of the toy problem."""
    m = check_integer("n_samples", n_samples)
    X = check_rng(trial.stream("data")).uniform(-1, 1, (m, 2))
    counts = networks.error_counts(X, teacher_labels(X))
    results = [
        networks.expected_errors(counts, population, n_samples=m, epsilon=e) for e in epsilons
    ]
    return np.array([(r.train, r.test) for r in results])
