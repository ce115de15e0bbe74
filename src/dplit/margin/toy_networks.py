r"""All networks of two layers on a grid of weights, and the exact law of the mechanism over them.

A network with N hidden units is a sum of N units :math:`a\,\psi(c^\top x)` with c on a grid of the
square and a on a grid of the interval: 405 units, 164,025 networks for N = 2 and 66,430,125 for
N = 3. The activation is odd, so units come in pairs of equal functions and many vanish: 161
functions remain, and a network depends on their multiset only. Counting each multiset as often as
it occurs gives the same law with 13,041 or 708,561 terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import check_finite_array, check_integer, check_positive, check_rng
from dplit.margin.networks import network_output, sigmoid
from dplit.trials import Trial

__all__ = [
    "SelectionError",
    "ToyNetworks",
    "all_networks",
    "spread_points",
    "teacher_labels",
    "toy_trial",
]

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

#: The teacher, in the grid: columns of the first layer and the output layer.
TEACHER = (np.array([[0.0, 1.5], [0.5, 1.5]]), np.array([2.0, -1.0]))
#: eta of the sigmoid tanh(eta a / 2).
SLOPE = 4.0
_AXIS = np.linspace(-2.0, 2.0, 9)
_OUTPUTS = np.linspace(-2.0, 2.0, 5)


@dataclass(frozen=True)
class SelectionError:
    """Expected errors of the exponential mechanism over all networks, and the least ones."""

    train: float
    test: float
    best_train: float


def spread_points(n_points: int) -> Array:
    r"""Points spread evenly over [-1, 1]^2: the population of the toy problem.

    Parameters
    ----------
    n_points : int
        Number of points, at least 1.

    Returns
    -------
    ndarray of shape (n_points, 2)
        :math:`2(i+\frac12)(g^{-1},g^{-2})\bmod2-1` with :math:`g^3=g+1`. A square grid would put
        points on the boundaries of many networks, where a zero output counts as an error.

    Raises
    ------
    TypeError, ValueError
        If ``n_points`` is no positive integer.

    Examples
    --------
    >>> spread_points(2).round(3).tolist()
    [[-0.245, -0.43], [-0.735, 0.71]]
    """
    g = 1.324717957244746
    steps = np.arange(check_integer("n_points", n_points)) + 0.5
    points: Array = np.mod(np.outer(steps, [2 / g, 2 / g**2]), 2.0) - 1.0
    return points


def teacher_labels(X: ArrayLike) -> Array:
    """Labels of the teacher network.

    Parameters
    ----------
    X : array_like of shape (n, 2)
        Inputs.

    Returns
    -------
    ndarray of shape (n,)
        -1 and 1.

    Raises
    ------
    TypeError, ValueError
        If ``X`` is not a finite matrix of two columns.

    Examples
    --------
    >>> teacher_labels([[0.0, 0.5], [0.9, -0.1]])
    array([ 1., -1.])
    """
    return np.where(network_output(X, TEACHER, slope=SLOPE) > 0, 1.0, -1.0)


def all_networks(width: int = 2) -> int:
    """Number of networks of the grid.

    Parameters
    ----------
    width : int, default=2
        Hidden units N, 1 to 100.

    Returns
    -------
    int
        ``405 ** width``.

    Raises
    ------
    TypeError, ValueError
        If the width is no integer from 1 to 100.

    Examples
    --------
    >>> all_networks(2), all_networks(3)
    (164025, 66430125)
    """
    units = check_integer("width", width)
    if units > 100:
        raise ValueError("width must be at most 100")
    return int((len(_AXIS) ** 2 * len(_OUTPUTS)) ** units)


@dataclass(frozen=True)
class ToyNetworks:
    """Distinct networks of the grid with their multiplicities.

    Parameters
    ----------
    width : int, default=2
        Hidden units N, 1 to 3.
    """

    width: int = 2

    def __post_init__(self) -> None:
        """Check the width."""
        if check_integer("width", self.width) > 3:
            raise ValueError(f"width must be at most 3, got width={self.width!r}")

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
    def multisets(self) -> tuple[Integers, Array]:
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
        """Number of errors of every distinct network; a zero output counts as an error.

        Parameters
        ----------
        X : array_like of shape (m, 2)
            Inputs.
        y : array_like of shape (m,)
            Labels -1 and 1.

        Returns
        -------
        ndarray of shape (n,)
        """
        columns, outputs, _ = self.units
        labels = check_finite_array("y", y, ndim=1).astype(float)
        hidden = sigmoid(check_finite_array("X", X, ndim=2) @ columns.T, slope=SLOPE)
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
    ) -> SelectionError:
        """Exact expectations under the exponential mechanism with zero-one score.

        Parameters
        ----------
        counts : array_like of shape (n,)
            Training errors of every distinct network.
        population : array_like of shape (n,)
            Population error of every distinct network.
        n_samples : int
            Number m of training records.
        epsilon : float
            Privacy loss, positive.

        Returns
        -------
        SelectionError
        """
        errors = check_finite_array("counts", counts, ndim=1).astype(float)
        m = check_integer("n_samples", n_samples)
        logits = np.log(self.multisets[1]) - 0.5 * check_positive("epsilon", epsilon) * errors
        law = softmax(logits)
        test = law @ check_finite_array("population", population, ndim=1)
        return SelectionError(float(law @ errors) / m, float(test), float(errors.min()) / m)


def toy_trial(
    trial: Trial,
    *,
    networks: ToyNetworks,
    population: Array,
    n_samples: int,
    epsilons: tuple[float, ...],
) -> Array:
    """One sample of the toy problem and the exact expected errors for several budgets.

    Parameters
    ----------
    trial : Trial
        Its stream "data" draws the inputs.
    networks : ToyNetworks
        The class.
    population : ndarray
        Population error of every distinct network.
    n_samples : int
        Number m of records, at least 1.
    epsilons : tuple of float
        Budgets.

    Returns
    -------
    ndarray of shape (len(epsilons), 2)
        Expected training and test error.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> networks = ToyNetworks(width=1)
    >>> X = spread_points(25)
    >>> population = networks.error_counts(X, teacher_labels(X)) / len(X)
    >>> options = dict(networks=networks, population=population, n_samples=50, epsilons=(1.0,))
    >>> toy_trial(Trial(0, seed=0, name="example"), **options).shape
    (1, 2)
    """
    m = check_integer("n_samples", n_samples)
    X = check_rng(trial.stream("data")).uniform(-1, 1, (m, 2))
    counts = networks.error_counts(X, teacher_labels(X))
    results = [
        networks.expected_errors(counts, population, n_samples=m, epsilon=e) for e in epsilons
    ]
    return np.array([(r.train, r.test) for r in results])
