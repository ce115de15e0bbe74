"""Algorithm 2: project, clip, learn privately in the small space, and bring the weights back.

The map does not see the data, records are clipped one by one, and bringing weights back is
post-processing: the learner is as private as the solver in the middle.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_epsilon,
    check_integer,
    check_interval,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.features import HadamardProjection, hadamard_projection, sign_projection
from dplit.margins._kinds import LinearMap

_Projection = Literal["fast", "sign"]


def printed_dimension(*, n_samples: int, epsilon: float, delta: float, beta: float) -> int:
    r"""Dimension of Algorithm 2, step 1, with constant 1, rounded.

    :math:`\epsilon m\log(m/\beta)/(\log^{3/2}(1/\delta)\log(1/\beta))`; a radical on
    :math:`\log(m/\beta)` may be lost in the text at hand.

    >>> printed_dimension(n_samples=10_000, epsilon=1.0, delta=1e-6, beta=0.05)
    793
    """
    m = check_integer("n_samples", n_samples)
    delta, beta = check_probability("delta", delta), check_interval("beta", beta, 1e-100, 1.0)
    size = check_epsilon(epsilon) * m * math.log(m / beta)
    return max(1, round(size / (math.pow(math.log(1 / delta), 1.5) * math.log(1 / beta))))


def draw_projection(
    n_features: int, n_components: int, *, kind: _Projection, rng: np.random.Generator
) -> LinearMap:
    """Draw the public map from d to k <= d dimensions: ``fast`` (Hadamard) or ``sign`` (dense).

    >>> signs = draw_projection(8, 4, kind="sign", rng=np.random.default_rng(0))
    >>> signs.shape, np.unique(signs).tolist()  # one over the root of 4
    ((4, 8), [-0.5, 0.5])
    """
    d = check_integer("n_features", n_features)
    k = check_integer("n_components", n_components, maximum=d)
    check_choice("kind", kind, get_args(_Projection))
    check_rng(rng)
    return hadamard_projection(d, k, rng=rng) if kind == "fast" else sign_projection(d, k, rng=rng)


def compress(X: ArrayLike, projection: LinearMap) -> Array:
    """Projected records (n, k), not clipped.

    >>> compress(np.eye(2), np.array([[1.0, 0.5]]))
    array([[1. ],
           [0.5]])
    """
    if isinstance(projection, HadamardProjection):
        return projection.transform(X)
    return np.asarray(check_real_array("X", X, 2, copy=False) @ projection.T)


def expand(weights: ArrayLike, projection: LinearMap) -> Array:
    r"""Weights :math:`\Phi^\top\tilde w`, of shape (d,) or (n, d), for records as they are.

    >>> expand(np.array([2.0]), np.array([[1.0, 0.5]]))  # <w, Phi x> = <Phi^T w, x>
    array([2., 1.])
    """
    if isinstance(projection, HadamardProjection):
        return projection.adjoint(weights)
    return np.asarray(np.asarray(weights) @ projection)
