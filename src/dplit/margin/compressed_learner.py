r"""Algorithm 2: project, clip, learn privately in the small space, and bring the weights back.

The map does not see the data, records are clipped one by one, and bringing weights back is
post-processing: the learner is as private as the solver in the middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.conversions import gdp_budget
from dplit.features import HadamardProjection, hadamard_projection, sign_projection
from dplit.margin._records import Array, check_geometry, clipped_records
from dplit.margin.boosting import boosted_descent
from dplit.margin.full_batch import balanced_steps, noisy_hinge_descent

__all__ = [
    "CompressedLearner",
    "Projection",
    "Solver",
    "compress",
    "compressed_learner",
    "draw_projection",
    "expand",
    "learn_weights",
    "printed_dimension",
]

Solver = Literal["noisy_gradient", "phased"]
Projection = Literal["fast", "sign"]
Map = HadamardProjection | NDArray[np.float64]


@dataclass(frozen=True)
class CompressedLearner:
    """Weights in both spaces and the public map between them.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Weights for records as they are: the release.
    compressed_coef : ndarray of shape (k,)
        Weights for projected records.
    projection : HadamardProjection or ndarray of shape (k, d)
        The map, public.
    epsilon, delta : float
        Guarantee under replacement of one record.
    """

    coef: Array
    compressed_coef: Array
    projection: Map
    epsilon: float
    delta: float


def printed_dimension(*, n_samples: int, epsilon: float, delta: float, beta: float) -> int:
    r"""Projected dimension of Algorithm 2, step 1, with constant 1.

    Parameters
    ----------
    n_samples : int
        Records m.
    epsilon, delta, beta : float
        Budget and failure probability.

    Returns
    -------
    int
        :math:`\epsilon m\log(m/\beta)/(\log^{3/2}(1/\delta)\log(1/\beta))`, rounded, at least 1.

    Notes
    -----
    A radical on :math:`\log(m/\beta)` may have been lost in the text at hand.  The bound of
    Theorem 3.2 is flat in k around its best value, see :mod:`dplit.margin.slack`.

    Examples
    --------
    >>> from dplit.margin.compressed_learner import printed_dimension
    >>> printed_dimension(n_samples=10_000, epsilon=1.0, delta=1e-6, beta=0.05)
    793
    """
    m = check_integer("n_samples", n_samples)
    delta, beta = check_probability("delta", delta), check_probability("beta", beta)
    size = check_positive("epsilon", epsilon) * m * math.log(m / beta)
    return max(1, round(size / (math.pow(math.log(1 / delta), 1.5) * math.log(1 / beta))))


def draw_projection(
    n_features: int, n_components: int, *, kind: Projection, rng: np.random.Generator
) -> Map:
    """Draw the public map from d to k dimensions.

    Parameters
    ----------
    n_features, n_components : int
        Dimensions d and k, with k at most d.
    kind : {"fast", "sign"}
        Hadamard transform with random signs, or a dense matrix of signs.
    rng : numpy.random.Generator
        Source of public randomness; not the one of privacy noise.

    Returns
    -------
    HadamardProjection or ndarray of shape (k, d)

    Raises
    ------
    ValueError
        If k exceeds d: a projection to more dimensions than there are only adds noise.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.margin.compressed_learner import draw_projection
    >>> draw_projection(6, 4, kind="sign", rng=np.random.default_rng(0)).shape
    (4, 6)
    """
    d, k = check_integer("n_features", n_features), check_integer("n_components", n_components)
    if k > d:
        raise ValueError(
            f"n_components must be at most the number of features, {d}, got n_components={k}"
        )
    check_choice("kind", kind, get_args(Projection))
    check_rng(rng)
    return hadamard_projection(d, k, rng=rng) if kind == "fast" else sign_projection(d, k, rng=rng)


def compress(X: ArrayLike, projection: Map) -> Array:
    """Projected records.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Finite.
    projection : HadamardProjection or ndarray of shape (k, d)

    Returns
    -------
    ndarray of shape (n, k)
        Not clipped: :func:`learn_weights` does that, and predictions do not need it.

    Examples
    --------
    >>> from dplit.margin.compressed_learner import compress
    >>> compress([[1.0, 2.0]], np.array([[0.5, 0.5]])).tolist()
    [[1.5]]
    """
    if isinstance(projection, HadamardProjection):
        return projection.transform(X)
    return np.asarray(check_finite_array("X", X, ndim=2) @ projection.T)


def expand(weights: ArrayLike, projection: Map) -> Array:
    r"""Weights :math:`\Phi^\top\tilde w` for records as they are.

    Parameters
    ----------
    weights : array_like of shape (k,) or (n, k)
    projection : HadamardProjection or ndarray of shape (k, d)

    Returns
    -------
    ndarray of shape (d,) or (n, d)
        With :math:`\langle\Phi^\top\tilde w,x\rangle=\langle\tilde w,\Phi x\rangle`.

    Examples
    --------
    >>> from dplit.margin.compressed_learner import expand
    >>> expand([2.0], np.array([[0.5, 0.5]])).tolist()
    [1.0, 1.0]
    """
    if isinstance(projection, HadamardProjection):
        return projection.adjoint(weights)
    return np.asarray(np.asarray(weights) @ projection)


def learn_weights(
    Z: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    radius: float,
    data_norm: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    solver: Solver = "noisy_gradient",
    inflation: float = 2.0,
    n_steps: int | None = 100,
    beta: float = 0.05,
    n_draws: int = 1,
    runs: int = 1,
) -> Array:
    r"""Steps 3 and 4 of Algorithm 2 on projected records: clip, and learn in the larger ball.

    Parameters
    ----------
    Z : array_like of shape (m, k)
        Projected records, or random features; rows longer than ``inflation * data_norm`` are
        scaled back to it.
    y : array_like of shape (m,)
        Labels -1 and 1.
    margin, radius, data_norm : float
        Margin, norm of the comparator and norm of the records **before** projection.
    epsilon, delta : float
        Budget of each draw.
    rng : numpy.random.Generator
        Source of the noise: floating-point research noise, not a release.
    solver : {"noisy_gradient", "phased"}, default="noisy_gradient"
        Projected noisy gradient descent, or Algorithm 4 with a permutation.
    inflation : float, default=2.0
        Factor s >= 1 on both lengths. The paper takes 2; the square root of 1 + distortion is
        enough with the same probability, and 1 for features that keep lengths.
    n_steps : int or None, default=100
        Steps of the noisy gradient descent; None:
        :func:`dplit.margin.full_batch.balanced_steps`.
    beta : float, default=0.05
        Failure probability of the phased solver.
    n_draws : int, default=1
        Independent draws of the noise; more than one only for ``noisy_gradient``.
    runs : int, default=1
        Number of calls on the same records that share the budget.

    Returns
    -------
    ndarray of shape (n_draws, k)
        Weights in the ball of radius ``inflation * radius``; each draw is (epsilon, delta)-private
        under replacement of one record.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    The gradients are bounded by :math:`s r/\rho` *surely*, so that a failure of the projection
    costs accuracy and no privacy.  Both lengths double at s = 2: noise against signal is 4 times
    that of a direct learner.  At s = 1 longer records and comparators are scaled back: if the map
    distorts squared lengths and products by at most :math:`\xi` (of :math:`\Lambda r`), a margin
    :math:`\rho` is left with :math:`(\rho-\xi\Lambda r)/(1+\xi)`, without a price in noise.

    Examples
    --------
    >>> from dplit.margin.compressed_learner import learn_weights
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 1000)
    >>> weights = learn_weights(y[:, None] * [0.6, 0.8], y, margin=0.5, radius=1.0, data_norm=1.0,
    ...     epsilon=4.0, delta=1e-6, rng=stream(0, "example", "noise"))
    >>> weights.shape
    (1, 2)
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    check_choice("solver", solver, get_args(Solver))
    factor = check_positive("inflation", inflation)
    if factor < 1.0:
        raise ValueError(f"inflation must be at least 1, got {inflation=!r}")
    size, norm = factor * size, factor * norm
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_integer("runs", runs)
    if solver == "noisy_gradient":  # Gaussian mechanisms compose as such, the others add up
        mu = gdp_budget(epsilon=epsilon, delta=delta) / math.sqrt(runs)
        if n_steps is None:
            m, k = np.shape(Z)
            n_steps = balanced_steps(n_samples=m, noise_dimension=k, mu=mu)
        run = noisy_hinge_descent(
            Z,
            y,
            margin=rho,
            radius=size,
            data_norm=norm,
            mu=mu,
            n_steps=n_steps,
            rng=rng,
            n_draws=n_draws,
        )
        return run.weights
    if n_draws != 1:
        raise ValueError(f"n_draws must be 1 for solver='phased', got {n_draws=!r}")
    result = boosted_descent(
        Z, y, margin=rho, radius=size, data_norm=norm, epsilon=epsilon / runs, delta=delta / runs,
        rng=rng, beta=beta, accounting="permutation",
    )  # fmt: skip
    return result.weights[None]


def compressed_learner(
    X: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    radius: float,
    data_norm: float,
    n_components: int,
    epsilon: float,
    delta: float,
    public_rng: np.random.Generator,
    rng: np.random.Generator,
    projection: Projection = "fast",
    solver: Solver = "noisy_gradient",
    inflation: float = 2.0,
    n_steps: int = 100,
    beta: float = 0.05,
) -> CompressedLearner:
    r"""Algorithm 2: a private linear classifier through a random projection.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Finite records; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (m,)
        Labels -1 and 1.
    margin, radius, data_norm : float
        Margin, norm of the comparator, public bound on the norm of a record.
    n_components : int
        Projected dimension k, at most d.
    epsilon, delta : float
        Budget.
    public_rng, rng : numpy.random.Generator
        Source of the map, which is public, and of the noise, which is not. Two streams.
    projection : {"fast", "sign"}, default="fast"
        See :func:`draw_projection`.
    solver, inflation, n_steps, beta
        See :func:`learn_weights`.

    Returns
    -------
    CompressedLearner
        (epsilon, delta)-private under replacement of one record, the map being public.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range; in particular if k > d.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithm 2 and Theorem 3.2.

    Examples
    --------
    >>> from dplit.margin.compressed_learner import compressed_learner
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 2000)
    >>> X = y[:, None] * np.full(64, 0.125)
    >>> model = compressed_learner(X, y, margin=0.5, radius=1.0, data_norm=1.0, n_components=16,
    ...     epsilon=1.0, delta=1e-6, public_rng=stream(0, "example", "public"),
    ...     rng=stream(0, "example", "noise"))
    >>> bool(np.all(np.sign(X @ model.coef) == y))
    True
    """
    rows, labels = clipped_records(X, y, data_norm)
    if public_rng is rng:
        raise ValueError("rng must not be public_rng: the map is public, the noise is not")
    phi = draw_projection(rows.shape[1], n_components, kind=projection, rng=public_rng)
    weights = learn_weights(
        compress(rows, phi), labels, margin=margin, radius=radius, data_norm=data_norm,
        epsilon=epsilon, delta=delta, rng=rng, solver=solver, inflation=inflation,
        n_steps=n_steps, beta=beta,
    )[0]  # fmt: skip
    return CompressedLearner(expand(weights, phi), weights, phi, float(epsilon), float(delta))
