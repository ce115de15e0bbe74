"""Networks that are projected at every layer: errors of compression by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_positive, check_real_array, check_rng
from dplit.features import sign_projection
from dplit.papers.margin.networks import (
    _layers,
    _product,
    compressed_output,
    network_output,
    sigmoid,
)
from dplit_studies.trials import mean_and_se

#: Inputs at which outputs are compared.
_INPUTS = 50


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
    X: ArrayLike,
    weights: Sequence[ArrayLike],
    *,
    n_components: int,
    input_only: bool,
    rng: np.random.Generator,
) -> Array:
    """Change of a network's outputs when sign projections compress its layers, or its input."""
    layers = _layers(weights)
    first = sign_projection(len(layers[0]), n_components, rng=check_rng(rng))
    rest = [
        None if input_only else sign_projection(len(w), n_components, rng=rng) for w in layers[1:]
    ]
    maps: list[Array | None] = [first, *rest]
    small = [w if phi is None else phi @ w for w, phi in zip(layers, maps, strict=True)]
    before, after = network_output(X, layers), compressed_output(X, small, maps)
    return np.asarray(np.abs(after - before))


def projection_distortion(
    X: ArrayLike, weights: Sequence[ArrayLike], maps: Sequence[ArrayLike]
) -> float:
    r"""Largest relative change of the inner products that a compressed network computes.

    Of :math:`\langle w,v\rangle` over :math:`|w||v|`, for columns w and the inputs v that the layer
    gets.
    """
    value, largest = check_real_array("X", X, 2), 0.0
    for matrix, phi in zip(_layers(weights), maps, strict=True):
        columns = matrix.reshape(len(matrix), -1)
        small = check_real_array("maps", phi, 2)
        kept = _product(value, small.T) @ (small @ columns)
        sizes = np.outer(np.linalg.norm(value, axis=1), np.linalg.norm(columns, axis=0))
        gaps = np.abs(kept - value @ columns) / np.maximum(sizes, np.finfo(float).tiny)
        largest = max(largest, float(gaps.max()))
        value = sigmoid(kept)
    return largest


class _CompressionCurve(NamedTuple):
    """Mean change of a network's output by dimension k, with standard errors and quantiles."""

    dimensions: Array
    mean: Array
    se: Array
    high: Array

    @property
    def slope(self) -> float:
        """Slope of log mean against log k by least squares."""
        return float(np.polyfit(np.log(self.dimensions), np.log(self.mean), 1)[0])


def compression_curve(
    dimensions: Sequence[int],
    *,
    n_features: int,
    width: int,
    depth: int,
    weight_norm: float,
    input_only: bool,
    n_draws: int,
    rng: np.random.Generator,
) -> _CompressionCurve:
    """Change of a network's output by the dimension of its projections, over ``n_draws`` networks.

    At ``_INPUTS`` unit vectors in the span of the first layer: inputs that the network sees.
    """
    count, results = check_integer("n_draws", n_draws, minimum=2), []
    for k in dimensions:
        gaps = np.empty((count, _INPUTS))
        for t in range(count):
            weights = random_network(
                n_features=n_features, width=width, depth=depth, weight_norm=weight_norm, rng=rng
            )
            first = weights[0].reshape(n_features, -1)
            X = rng.standard_normal((_INPUTS, first.shape[1])) @ first.T
            X /= np.linalg.norm(X, axis=1, keepdims=True)
            gaps[t] = _compression_errors(
                X, weights, n_components=k, input_only=input_only, rng=rng
            )
        mean, se = mean_and_se(gaps.mean(axis=1))
        results.append((float(k), mean, se, np.quantile(gaps, 0.95)))
    return _CompressionCurve(*np.array(results).T)
