r"""Simulated projections: failures of Lemma A, margins after rounding, compressed networks.

A sign matrix sees two vectors with entries of one size through two binomial sums a row: those over
the coordinates where they agree and where they differ. Drawing these sums is exact, and the
dimension d no longer costs anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_rng,
)
from dplit.features import hadamard_projection, sign_projection
from dplit.margin.bounds_em import rounded_margins
from dplit.margin.em_dimension import sphere_sample
from dplit.margin.networks import compression_errors, random_network
from dplit.trials import Estimate, mean_and_se

__all__ = [
    "CompressionCurve",
    "Failures",
    "adjoint_growth",
    "compression_curve",
    "fast_distortions",
    "least_margins",
    "product_errors",
    "sign_failures",
    "sign_products",
]

Array = NDArray[np.float64]


class Failures(NamedTuple):
    """Shares of draws in which an inner product or a squared length was off, and their number."""

    inner: float
    length: float
    n_draws: int

    def se(self, share: float) -> float:
        """Standard error of one of the shares, with one failure more than was seen."""
        p = share + 1 / self.n_draws
        return float(np.sqrt(p * (1 - p) / self.n_draws))


class CompressionCurve(NamedTuple):
    """Mean change of a network's output by dimension k, with standard errors and quantiles."""

    dimensions: Array
    mean: Array
    se: Array
    high: Array

    @property
    def slope(self) -> float:
        """Slope of log mean against log k by least squares."""
        return float(np.polyfit(np.log(self.dimensions), np.log(self.mean), 1)[0])


def sign_products(
    *, n_features: int, n_components: int, differing: int, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Inner products and squared lengths after independent sign projections.

    Parameters
    ----------
    n_features : int
        Dimension d of unit vectors u, v with entries of size :math:`1/\sqrt d`.
    n_components : int
        Dimension k after the projection.
    differing : int
        Coordinates, at most d, in which v has the other sign: the correlation is 1 - 2 differing/d.
    n_draws : int
        Number of projections.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    products, lengths : ndarray of shape (n_draws,)
        :math:`\langle\Phi u,\Phi v\rangle` and :math:`\|\Phi u\|^2`, exactly in law.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> options = dict(n_features=1, n_components=5, differing=0, n_draws=2)
    >>> sign_products(rng=np.random.default_rng(0), **options)[0].round(9)
    array([1., 1.])
    """
    d, k = check_integer("n_features", n_features), check_integer("n_components", n_components)
    other, count = (
        check_integer("differing", differing, minimum=0),
        check_integer("n_draws", n_draws),
    )
    if other > d:
        raise ValueError(f"differing must be at most n_features={d}, got differing={differing!r}")
    generator, size = check_rng(rng), (count, k)
    same = 2.0 * generator.binomial(d - other, 0.5, size) - (d - other)
    apart = 2.0 * generator.binomial(other, 0.5, size) - other
    products: Array = np.sum(same**2 - apart**2, axis=1) / (d * k)
    lengths: Array = np.sum((same + apart) ** 2, axis=1) / (d * k)
    return products, lengths


def sign_failures(
    *,
    n_features: int,
    n_components: int,
    differing: int,
    distortion: float,
    n_draws: int,
    rng: np.random.Generator,
) -> Failures:
    """How often a sign projection moves an inner product, or a squared length, too far.

    Parameters
    ----------
    n_features, n_components, differing, n_draws, rng
        As in :func:`dplit.margin.projection_trials.sign_products`.
    distortion : float
        Allowed change, in (0, 1).

    Returns
    -------
    Failures

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> options = dict(n_features=256, n_components=50, differing=64, distortion=0.4)
    >>> seen = sign_failures(n_draws=2000, rng=np.random.default_rng(0), **options)
    >>> bool(seen.inner < 0.03 and seen.length < 0.07)
    True
    """
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    products, lengths = sign_products(
        n_features=n_features,
        n_components=n_components,
        differing=differing,
        n_draws=n_draws,
        rng=rng,
    )
    correlation = 1 - 2 * differing / n_features
    inner = float(np.mean(np.abs(products - correlation) > eta))
    return Failures(inner, float(np.mean(np.abs(lengths - 1) > eta)), n_draws)


def product_errors(
    u: ArrayLike,
    v: ArrayLike,
    *,
    n_components: int,
    kind: str,
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
    """Errors of one inner product under independent projections of one kind.

    Parameters
    ----------
    u, v : array_like of shape (d,)
        Vectors.
    n_components : int
        Dimension k after the projection.
    kind : {"sign", "hadamard"}
        Dense signs, or the fast projection.
    n_draws : int
        Number of projections, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws,)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> options = dict(n_components=3, kind="sign", n_draws=2, rng=np.random.default_rng(0))
    >>> product_errors([1.0, 0.0], [1.0, 0.0], **options).round(9)
    array([0., 0.])
    """
    pair = np.stack([check_finite_array("u", u, ndim=1), check_finite_array("v", v, ndim=1)])
    check_choice("kind", kind, ("sign", "hadamard"))
    d, errors = pair.shape[1], np.empty(check_integer("n_draws", n_draws))
    for t in range(n_draws):
        if kind == "sign":
            small = pair @ sign_projection(d, n_components, rng=rng).T
        else:
            small = hadamard_projection(d, n_components, rng=rng).transform(pair)
        errors[t] = small[0] @ small[1]
    gaps: Array = errors - pair[0] @ pair[1]
    return gaps


def fast_distortions(
    vectors: ArrayLike, *, n_components: int, n_draws: int, rng: np.random.Generator
) -> Array:
    """Largest relative change of a squared length under each of several fast projections.

    Parameters
    ----------
    vectors : array_like of shape (n, d)
        Nonzero vectors.
    n_components : int
        Coordinates kept.
    n_draws : int
        Number of projections, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws,)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fast_distortions(np.eye(4), n_components=4, n_draws=2, rng=rng).round(9)
    array([0., 0.])
    """
    rows = check_finite_array("vectors", vectors, ndim=2).astype(float)
    squares = np.einsum("ij,ij->i", rows, rows)
    if not np.all(squares > 0):
        raise ValueError("vectors must be nonzero, got a row of zeros")
    worst = np.empty(check_integer("n_draws", n_draws))
    for t in range(n_draws):
        small = hadamard_projection(rows.shape[1], n_components, rng=rng).transform(rows)
        worst[t] = np.max(np.abs(np.einsum("ij,ij->i", small, small) / squares - 1))
    return worst


def adjoint_growth(
    w: ArrayLike, n_features: int, *, n_draws: int, rng: np.random.Generator
) -> Estimate:
    r"""Mean of :math:`\|\Phi^\top w\|^2/\|w\|^2` over sign projections, with its standard error.

    Parameters
    ----------
    w : array_like of shape (k,)
        Weights in the small space, not zero.
    n_features : int
        Dimension d of the large space.
    n_draws : int
        Number of projections, at least 2.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Estimate
        Expected value d / k.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> mean, _ = adjoint_growth([3.0], 7, n_draws=2, rng=np.random.default_rng(0))
    >>> round(float(mean), 9)
    7.0
    """
    weights = check_finite_array("w", w, ndim=1).astype(float)
    k, count = len(weights), check_integer("n_draws", n_draws, minimum=2)
    lengths = np.empty(count)
    for t in range(count):
        lengths[t] = np.sum((weights @ sign_projection(n_features, k, rng=rng)) ** 2)
    return mean_and_se(lengths / np.sum(weights**2))


def least_margins(
    *,
    n_features: int,
    n_samples: int,
    margin: float,
    n_components: int,
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
    r"""Least margin, in units of :math:`\rho`, after projection and the worst rounding.

    Parameters
    ----------
    n_features, n_samples : int
        d and m of :func:`dplit.margin.em_dimension.sphere_sample`.
    margin : float
        Margin of the sample, in (0, 1).
    n_components : int
        Dimension k after the projection.
    n_draws : int
        Number of samples with a projection each, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws,)
        Positive where every point of the cover near the projected comparator is right everywhere.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> options = dict(n_features=9, n_samples=5, margin=0.8, n_components=400, n_draws=1)
    >>> bool(least_margins(rng=np.random.default_rng(0), **options)[0] > 0.5)
    True
    """
    axis = np.eye(1, check_integer("n_features", n_features))[0]
    least = np.empty(check_integer("n_draws", n_draws))
    for t in range(n_draws):
        X, y = sphere_sample(n_samples, n_features, margin=margin, rng=rng)
        left = rounded_margins(X, y, axis, margin=margin, n_components=n_components, rng=rng)
        least[t] = left.min()
    return least


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
    n_inputs: int = 50,
) -> CompressionCurve:
    r"""Change of a network's output by the dimension of its projections.

    Parameters
    ----------
    dimensions : sequence of int
        Dimensions k.
    n_features, width, depth, weight_norm
        As in :func:`dplit.margin.networks.random_network`.
    input_only : bool
        Whether only the input layer is projected.
    n_draws : int
        Networks with their projections for each k, at least 2.
    rng : numpy.random.Generator
        Source of randomness.
    n_inputs : int, default=50
        Unit vectors in the span of the first layer for each draw: inputs that the network sees.

    Returns
    -------
    CompressionCurve
        Means of the absolute change, their standard errors over draws, and 95 % quantiles.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> options = dict(n_features=20, width=2, depth=2, weight_norm=2.0, input_only=False)
    >>> rng = np.random.default_rng(0)
    >>> compression_curve([4, 64], n_draws=9, rng=rng, **options).mean.shape
    (2,)
    """
    count, results = check_integer("n_draws", n_draws, minimum=2), []
    for k in dimensions:
        gaps = np.empty((count, n_inputs))
        for t in range(count):
            weights = random_network(
                n_features=n_features, width=width, depth=depth, weight_norm=weight_norm, rng=rng
            )
            first = weights[0].reshape(n_features, -1)
            X = rng.standard_normal((n_inputs, first.shape[1])) @ first.T
            X /= np.linalg.norm(X, axis=1, keepdims=True)
            gaps[t] = compression_errors(X, weights, n_components=k, input_only=input_only, rng=rng)
        mean, se = mean_and_se(gaps.mean(axis=1))
        results.append((float(k), mean, se, np.quantile(gaps, 0.95)))
    return CompressionCurve(*np.array(results).T)
