r"""Networks of Section 5, Figure 2 and Theorem 5.1: projections at every layer, and a toy class.

:math:`h(x)=W_L^\top\psi(W_{L-1}^\top\cdots\psi(W_1^\top x))`, :math:`\psi` odd; ``weights`` are
matrices (d, N), (N, N), ... and a vector (N,); ``maps`` one :math:`\Phi_{j-1}` a layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_rng,
)
from dplit.features import sign_projection
from dplit.trials import Trial

_Form = Literal["tanh", "half", "quarter", "logistic"]

#: Readings of the sigmoid: its argument is slope * a times this factor inside the tanh.
_SIGMOIDS = {"tanh": 1.0, "half": 0.5, "quarter": 0.25, "logistic": 0.5}


def sigmoid(a: ArrayLike, *, slope: float = 1.0, form: _Form = "half") -> Array:
    r"""Sigmoid of a layer: :math:`\tanh(c\eta a)`, c = 1, 1/2, 1/4 by ``form``, or the logistic."""
    values = check_finite_array("a", a).astype(float)
    factor = _SIGMOIDS[check_choice("form", form, _SIGMOIDS)] * check_positive("slope", slope)
    out: Array = np.tanh(factor * values)
    return (1.0 + out) / 2 if form == "logistic" else out


def sigmoid_slope(*, slope: float = 1.0, form: _Form = "half") -> float:
    r"""Largest derivative of the sigmoid, at 0: at most :math:`\eta` in every reading."""
    factor = _SIGMOIDS[check_choice("form", form, _SIGMOIDS)] * check_positive("slope", slope)
    return factor / 2 if form == "logistic" else factor


def network_output(
    X: ArrayLike, weights: Sequence[ArrayLike], *, slope: float = 1.0, form: _Form = "half"
) -> Array:
    """Output (n,) of a network without activation in its last layer."""
    layers = _layers(weights)
    value = check_finite_array("X", X, ndim=2).astype(float)
    for matrix in layers[:-1]:
        value = sigmoid(_product(value, matrix), slope=slope, form=form)
    return _product(value, layers[-1])


def _layers(weights: Sequence[ArrayLike]) -> list[Array]:
    if len(weights) == 0:
        raise ValueError("weights must hold at least the output layer, got none")
    layers = [check_finite_array("weights", w).astype(float) for w in weights]
    if any(w.ndim != 2 for w in layers[:-1]) or layers[-1].ndim != 1:
        raise ValueError(f"weights must be matrices and a vector, got {[w.shape for w in layers]}")
    return layers


def _product(value: Array, matrix: Array) -> Array:
    if value.shape[1] != len(matrix):
        raise ValueError(f"weights must have {value.shape[1]} rows, got shape {matrix.shape}")
    return np.asarray(value @ matrix)


def compressed_output(
    X: ArrayLike, small: Sequence[ArrayLike], maps: Sequence[ArrayLike | None], *,
    slope: float = 1.0, form: _Form = "half",
) -> Array:  # fmt: skip
    r"""Output of a network that projects the input of each layer: the right side of Figure 2.

    ``small`` are :math:`\tilde W_j` of shapes (k, N), ..., (k,); a map None leaves its layer as it
    is. It is that of the weights :math:`\Phi_{j-1}^\top\tilde W_j`.
    """
    layers = _layers(small)
    if len(maps) != len(layers):
        raise ValueError(f"maps must hold one map per layer, got {len(maps)} for {len(layers)}")
    value = check_finite_array("X", X, ndim=2).astype(float)
    for j, (matrix, phi) in enumerate(zip(layers, maps, strict=True)):
        if phi is not None:
            value = _product(value, check_finite_array("maps", phi, ndim=2).astype(float).T)
        value = _product(value, matrix)
        if j < len(layers) - 1:
            value = sigmoid(value, slope=slope, form=form)
    return value


def random_network(
    *, n_features: int, width: int, depth: int, weight_norm: float, rng: np.random.Generator
) -> list[Array]:
    """Gaussian weights, each layer scaled to Frobenius norm ``weight_norm``."""
    d, n = check_integer("n_features", n_features), check_integer("width", width)
    size, generator = check_positive("weight_norm", weight_norm), check_rng(rng)
    rows = [d] + [n] * (check_integer("depth", depth) - 1)
    shapes = [(r, n) for r in rows[:-1]] + [(rows[-1],)]
    drawn = [generator.standard_normal(shape) for shape in shapes]
    return [w * (size / np.linalg.norm(w)) for w in drawn]


def _compression_errors(
    X: ArrayLike, weights: Sequence[ArrayLike], *, n_components: int, input_only: bool = False,
    slope: float = 1.0, form: _Form = "half", rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Change of a network's outputs when sign projections compress its layers, or its input."""
    layers = _layers(weights)
    first = sign_projection(len(layers[0]), n_components, rng=check_rng(rng))
    rest = [
        None if input_only else sign_projection(len(w), n_components, rng=rng) for w in layers[1:]
    ]
    maps: list[Array | None] = [first, *rest]
    small = [w if phi is None else phi @ w for w, phi in zip(layers, maps, strict=True)]
    before = network_output(X, layers, slope=slope, form=form)
    after = compressed_output(X, small, maps, slope=slope, form=form)
    return np.asarray(np.abs(after - before))


def projection_distortion(
    X: ArrayLike, weights: Sequence[ArrayLike], maps: Sequence[ArrayLike], *, slope: float = 1.0,
    form: _Form = "half",
) -> float:  # fmt: skip
    r"""Largest relative change of the inner products that a compressed network computes.

    Of :math:`\langle w,v\rangle` over :math:`|w||v|`, for columns w and the inputs v that the layer
    gets.
    """
    value, largest = check_finite_array("X", X, ndim=2).astype(float), 0.0
    for matrix, phi in zip(_layers(weights), maps, strict=True):
        columns = matrix.reshape(len(matrix), -1)
        small = check_finite_array("maps", phi, ndim=2).astype(float)
        kept = _product(value, small.T) @ (small @ columns)
        sizes = np.outer(np.linalg.norm(value, axis=1), np.linalg.norm(columns, axis=0))
        gaps = np.abs(kept - value @ columns) / np.maximum(sizes, np.finfo(float).tiny)
        largest = max(largest, float(gaps.max()))
        value = sigmoid(kept, slope=slope, form=form)
    return largest


def compression_bound(
    *, distortion: float, depth: int, weight_norm: float, data_norm: float, slope: float,
    rounding: float = 0.0,
) -> float:  # fmt: skip
    r"""Largest change of an output on the event that projections keep inner products.

    :math:`\Lambda(s\Lambda)^{L-1}r((1+\kappa)^L-1)` with
    :math:`\kappa=\eta_J+\gamma\sqrt{1+\eta_J}/\Lambda` and ``slope`` s; ``rounding`` is the
    Frobenius distance :math:`\gamma` to which small matrices are rounded.
    """
    layers, size = check_integer("depth", depth), check_positive("weight_norm", weight_norm)
    eta, gamma = (
        check_nonnegative("distortion", distortion),
        check_nonnegative("rounding", rounding),
    )
    growth = (check_positive("slope", slope) * size) ** (layers - 1)
    reach = size * growth * check_positive("data_norm", data_norm)
    return reach * math.expm1(layers * math.log1p(eta + gamma * math.sqrt(1 + eta) / size))


def layer_dimension_budget(
    *, margin: float, depth: int, weight_norm: float, data_norm: float, slope: float
) -> float:
    r"""Largest :math:`\kappa` at which no output moves by more than the margin.

    :math:`(1+\rho/(\Lambda(s\Lambda)^{L-1}r))^{1/L}-1`, the inverse of :func:`compression_bound`.
    """
    layers, size = check_integer("depth", depth), check_positive("weight_norm", weight_norm)
    growth = (check_positive("slope", slope) * size) ** (layers - 1)
    reach = size * growth * check_positive("data_norm", data_norm)
    return math.expm1(math.log1p(check_positive("margin", margin) / reach) / layers)


# All networks of two layers on a grid of weights, and the exact law of the mechanism over them. Of
# 405 units :math:`a\,\psi(c^\top x)` 161 functions are different, since the activation is odd; a
# network is a multiset of them, counted as often as it occurs: 13,041 terms for N = 2 (instead of
# 164,025), 708,561 for N = 3 (instead of 66,430,125).


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
        labels = check_finite_array("y", y, ndim=1).astype(float)
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
        errors = check_finite_array("counts", counts, ndim=1).astype(float)
        m = check_integer("n_samples", n_samples)
        logits = np.log(self.multisets[1]) - 0.5 * check_positive("epsilon", epsilon) * errors
        law = softmax(logits)
        test = law @ check_finite_array("population", population, ndim=1)
        return _SelectionError(float(law @ errors) / m, float(test), float(errors.min()) / m)


def toy_trial(
    trial: Trial, *, networks: ToyNetworks, population: Array, n_samples: int,
    epsilons: tuple[float, ...],
) -> Array:  # fmt: skip
    """Exact expected training and test errors (budgets, 2) on one sample of the toy problem."""
    m = check_integer("n_samples", n_samples)
    X = check_rng(trial.stream("data")).uniform(-1, 1, (m, 2))
    counts = networks.error_counts(X, teacher_labels(X))
    results = [
        networks.expected_errors(counts, population, n_samples=m, epsilon=e) for e in epsilons
    ]
    return np.array([(r.train, r.test) for r in results])
