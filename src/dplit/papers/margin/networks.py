r"""Networks of Section 5, Figure 2 and Theorem 5.1: projections at every layer.

:math:`h(x)=W_L^\top\psi(W_{L-1}^\top\cdots\psi(W_1^\top x))`, :math:`\psi` odd; ``weights`` are
matrices (d, N), (N, N), ... and a vector (N,); ``maps`` one :math:`\Phi_{j-1}` a layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    check_real_array,
)

_Form = Literal["tanh", "half", "quarter", "logistic"]

#: Readings of the sigmoid: its argument is slope * a times this factor inside the tanh.
_SIGMOIDS = {"tanh": 1.0, "half": 0.5, "quarter": 0.25, "logistic": 0.5}


def sigmoid(a: ArrayLike, *, slope: float = 1.0, form: _Form = "half") -> Array:
    r"""Sigmoid of a layer: :math:`\tanh(c\eta a)`, c = 1, 1/2, 1/4 by ``form``, or the logistic."""
    values = check_real_array("a", a)
    factor = _SIGMOIDS[check_choice("form", form, _SIGMOIDS)] * check_positive("slope", slope)
    out: Array = np.tanh(factor * values)
    return (1.0 + out) / 2 if form == "logistic" else out


def sigmoid_slope(*, slope: float = 1.0, form: _Form = "half") -> float:
    r"""Largest derivative of the sigmoid, at 0: at most :math:`\eta` in every reading."""
    factor = _SIGMOIDS[check_choice("form", form, _SIGMOIDS)] * check_positive("slope", slope)
    return factor / 2 if form == "logistic" else factor


def network_output(X: ArrayLike, weights: Sequence[ArrayLike], *, slope: float = 1.0) -> Array:
    """Output (n,) of a network without activation in its last layer."""
    layers = _layers(weights)
    value = check_real_array("X", X, 2)
    for matrix in layers[:-1]:
        value = sigmoid(_product(value, matrix), slope=slope)
    return _product(value, layers[-1])


def _layers(weights: Sequence[ArrayLike]) -> list[Array]:
    if len(weights) == 0:
        raise ValueError("weights must hold at least the output layer, got none")
    layers = [check_real_array("weights", w) for w in weights]
    if any(w.ndim != 2 for w in layers[:-1]) or layers[-1].ndim != 1:
        raise ValueError(f"weights must be matrices and a vector, got {[w.shape for w in layers]}")
    return layers


def _product(value: Array, matrix: Array) -> Array:
    if value.shape[1] != len(matrix):
        raise ValueError(f"weights must have {value.shape[1]} rows, got shape {matrix.shape}")
    return np.asarray(value @ matrix)


def compressed_output(
    X: ArrayLike, small: Sequence[ArrayLike], maps: Sequence[ArrayLike | None]
) -> Array:
    r"""Output of a network that projects the input of each layer: the right side of Figure 2.

    ``small`` are :math:`\tilde W_j` of shapes (k, N), ..., (k,); a map None leaves its layer as it
    is. It is that of the weights :math:`\Phi_{j-1}^\top\tilde W_j`.
    """
    layers = _layers(small)
    if len(maps) != len(layers):
        raise ValueError(f"maps must hold one map per layer, got {len(maps)} for {len(layers)}")
    value = check_real_array("X", X, 2)
    for j, (matrix, phi) in enumerate(zip(layers, maps, strict=True)):
        if phi is not None:
            value = _product(value, check_real_array("maps", phi, 2).T)
        value = _product(value, matrix)
        if j < len(layers) - 1:
            value = sigmoid(value)
    return value


def compression_bound(
    *, distortion: float, depth: int, weight_norm: float, data_norm: float, slope: float
) -> float:
    r"""Largest change of an output on the event that projections keep inner products.

    :math:`\Lambda(s\Lambda)^{L-1}r((1+\eta_J)^L-1)` with ``slope`` s.
    """
    layers, size = check_integer("depth", depth), check_positive("weight_norm", weight_norm)
    eta = check_nonnegative("distortion", distortion)
    growth = (check_positive("slope", slope) * size) ** (layers - 1)
    reach = size * growth * check_positive("data_norm", data_norm)
    return reach * math.expm1(layers * math.log1p(eta))


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
