r"""Algorithm 3 and its shorter relatives: private kernel classifiers on public random features.

Algorithm 3 draws ``m^2 log(2m/beta)`` frequencies, compresses the features to k coordinates and
learns a linear classifier there. The frequencies and the compression do not look at the data, so
the guarantee is the one of the linear learner. The same learner on fewer features, with no
compression at all, has the same guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.conversions import gdp_budget
from dplit.features import random_frequencies
from dplit.margin.compressed_learner import Solver, learn_weights, printed_dimension
from dplit.margin.kernel_features import frequencies_of_algorithm3, margin_features
from dplit.margin.streamed import LARGEST, streamed_projection

__all__ = [
    "DirectFeatures",
    "FeatureMap",
    "KernelPredictor",
    "algorithm3",
    "direct_features",
    "fit_predictor",
    "meets_hypotheses",
    "privacy_level",
    "repaired_budget",
]

Array = NDArray[np.float64]


class FeatureMap(Protocol):
    """What a learner needs to know of a public map."""

    def transform(self, X: ArrayLike) -> Array:
        """Map records to coordinates."""
        ...


@dataclass(frozen=True)
class DirectFeatures:
    """Random features as they are, without compression.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, D)
        Public.
    data_norm : float
        The paper's r: the norm of every mapped record.
    double : bool
        Whether to compute in float64.
    """

    frequencies: Array
    data_norm: float
    double: bool = False

    def transform(self, X: ArrayLike) -> Array:
        """Map records to 2 D coordinates.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples, 2 D)
            Rows of norm r within 1e-5 (1e-14 in float64).
        """
        rows = np.clip(check_finite_array("X", X, ndim=2), -LARGEST, LARGEST)
        rows = rows.astype(np.float64 if self.double else np.float32)
        mapped: Array = margin_features(rows, self.frequencies, data_norm=self.data_norm).astype(
            np.float64
        )
        return mapped


def direct_features(
    n_features: int,
    n_frequencies: int,
    *,
    gamma: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    double: bool = False,
) -> DirectFeatures:
    """Draw the map of equation (2) with D frequencies.

    Parameters
    ----------
    n_features, n_frequencies : int
        Columns d of the records and number D of frequencies.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    rng : numpy.random.Generator
        Public randomness.
    data_norm : float, default=1.0
        The paper's r.
    double : bool, default=False
        Whether to compute in float64 instead of float32.

    Returns
    -------
    DirectFeatures

    Examples
    --------
    >>> from dplit.margin.kernel_learner import direct_features
    >>> from dplit.streams import stream
    >>> features = direct_features(2, 10, gamma=1.0, rng=stream(0, "example", "public"))
    >>> features.transform([[0.0, 1.0]]).shape
    (1, 20)
    """
    frequencies = random_frequencies(n_features, n_frequencies, gamma=gamma, rng=rng)
    return DirectFeatures(frequencies, check_positive("data_norm", data_norm), double)


@dataclass(frozen=True)
class KernelPredictor:
    """Released weights and the public map that they belong to.

    Attributes
    ----------
    weights : ndarray of shape (p,)
        Private.
    features : FeatureMap
        Public.
    epsilon, delta : float
        Guarantee of the learner, under replacement of one record.
    """

    weights: Array
    features: FeatureMap
    epsilon: float
    delta: float

    def scores(self, X: ArrayLike) -> Array:
        """Evaluate the predictor.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            The sign is the class. Not clipped: clipping a record to a ball changes no sign.
        """
        scores: Array = self.features.transform(X) @ self.weights
        return scores


def meets_hypotheses(*, epsilon: float, delta: float, n_samples: int) -> bool:
    r"""Whether Theorem 3.2 speaks: :math:`\delta<1/m` and :math:`\varepsilon\le\log(1/\delta)`.

    Parameters
    ----------
    epsilon, delta : float
        Budget; delta in (0, 1).
    n_samples : int
        Number m of records.

    Returns
    -------
    bool

    Examples
    --------
    >>> from dplit.margin.kernel_learner import meets_hypotheses
    >>> meets_hypotheses(epsilon=1.0, delta=0.01, n_samples=1000)
    False
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    return delta < 1.0 / check_integer("n_samples", n_samples) and epsilon <= math.log(1.0 / delta)


def repaired_budget(*, epsilon: float, delta: float, n_samples: int) -> tuple[float, float]:
    r"""Budget with which Theorem 4.2 may call Algorithm 2, for every epsilon and delta.

    Parameters
    ----------
    epsilon : float
        Wanted privacy loss, positive.
    delta : float
        Wanted delta, in (0, 1).
    n_samples : int
        Number m of records.

    Returns
    -------
    tuple of two float
        :math:`\varepsilon'=\min(\varepsilon,\log(1/\delta'))` and
        :math:`\delta'=\min(\delta,1/(2m))`: they meet the hypotheses of Theorem 3.2 and imply the
        wanted guarantee, being smaller.

    Examples
    --------
    >>> from dplit.margin.kernel_learner import repaired_budget
    >>> epsilon, delta = repaired_budget(epsilon=20.0, delta=0.3, n_samples=1000)
    >>> round(epsilon, 3), delta
    (7.601, 0.0005)
    """
    wanted, m = check_probability("delta", delta), check_integer("n_samples", n_samples)
    smaller = min(wanted, 1.0 / (2.0 * m))
    return min(check_positive("epsilon", epsilon), math.log(1.0 / smaller)), smaller


def privacy_level(*, epsilon: float, delta: float) -> float:
    """Gaussian-DP level of a budget; infinite for an infinite budget.

    Parameters
    ----------
    epsilon : float
        Positive; infinity for no privacy.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        :func:`dplit.conversions.gdp_budget`, which is exact and needs no further hypothesis.

    Examples
    --------
    >>> from dplit.margin.kernel_learner import privacy_level
    >>> round(privacy_level(epsilon=1.0, delta=1e-6), 4)
    0.2367
    """
    if check_positive("epsilon", epsilon, infinite=True) == math.inf:
        return math.inf
    return gdp_budget(epsilon=epsilon, delta=check_probability("delta", delta))


def fit_predictor(
    X: ArrayLike,
    y: ArrayLike,
    features: FeatureMap,
    *,
    margin: float,
    radius: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    inflation: float = 1.0,
    solver: Solver = "noisy_gradient",
    n_steps: int = 100,
    beta: float = 0.05,
) -> KernelPredictor:
    r"""Learn a linear classifier on a public map of the records.

    Parameters
    ----------
    X : array_like of shape (m, n_features)
        Finite records.
    y : array_like of shape (m,)
        Labels -1 and 1.
    features : FeatureMap
        Drawn without looking at the data.
    margin : float
        The paper's rho, in (0, radius * data_norm].
    radius : float
        Norm of the comparator among the mapped records' weights.
    epsilon, delta : float
        Budget under replacement of one record.
    rng : numpy.random.Generator
        Privacy noise: floating-point research noise, not a release.
    data_norm : float, default=1.0
        The paper's r.
    inflation : float, default=1.0
        Factor on both lengths: 1 for direct features, whose norm is r; 2 in Algorithm 2.
    solver, n_steps, beta
        As for :func:`dplit.margin.compressed_learner.learn_weights`.

    Returns
    -------
    KernelPredictor
        (epsilon, delta)-private.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dplit.margin.kernel_learner import direct_features, fit_predictor
    >>> from dplit.streams import stream
    >>> X = np.linspace(-2.0, 2.0, 2000)[:, None]
    >>> features = direct_features(1, 20, gamma=0.5, rng=stream(0, "example", "public"))
    >>> predictor = fit_predictor(X, np.where(abs(X[:, 0]) < 1, 1, -1), features, margin=0.3,
    ...     radius=1.0, epsilon=1.0, delta=1e-6, rng=stream(0, "example", "noise"))
    >>> np.sign(predictor.scores([[0.0], [2.0]]))
    array([ 1., -1.])
    """
    weights = learn_weights(
        features.transform(X), y, margin=margin, radius=radius, data_norm=data_norm,
        epsilon=epsilon, delta=delta, rng=rng, solver=solver, inflation=inflation,
        n_steps=n_steps, beta=beta,
    )[0]  # fmt: skip
    return KernelPredictor(weights, features, float(epsilon), float(delta))


def algorithm3(
    X: ArrayLike,
    y: ArrayLike,
    *,
    gamma: float,
    margin: float,
    weight_norm: float,
    epsilon: float,
    delta: float,
    beta: float,
    public_rng: np.random.Generator,
    rng: np.random.Generator,
    data_norm: float = 1.0,
    n_components: int | None = None,
    solver: Solver = "noisy_gradient",
    n_steps: int = 100,
) -> KernelPredictor:
    r"""Algorithm 3 with all its frequencies, streamed, and the repaired budget.

    Parameters
    ----------
    X : array_like of shape (m, n_features)
        Finite records.
    y : array_like of shape (m,)
        Labels -1 and 1.
    gamma : float
        Of the Gaussian kernel ``r^2 exp(-gamma ||x - x'||^2)``.
    margin : float
        The paper's rho, in (0, 2 Lambda r].
    weight_norm : float
        The paper's Lambda.
    epsilon, delta, beta : float
        Budget and failure probability.
    public_rng, rng : numpy.random.Generator
        For the map, which is public, and for the noise, which is not. Two streams.
    data_norm : float, default=1.0
        The paper's r.
    n_components : int or None, default=None
        Coordinates k of the compression; None takes the printed number of Algorithm 2.
    solver, n_steps
        As for :func:`dplit.margin.compressed_learner.learn_weights`.

    Returns
    -------
    KernelPredictor
        (epsilon, delta)-private for every epsilon > 0 and delta in (0, 1).

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Algorithm 2 is called with norm bound 2 Lambda and doubles it once more: records are clipped to
    2 r and the ball has radius 4 Lambda, eight times the noise of a direct learner against the
    signal. Algorithm 2's own projection is the compression of the streamed map, with independent
    signs in place of the fast transform.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithms 2 and 3, Theorem 4.2.

    Examples
    --------
    >>> from dplit.margin.kernel_learner import algorithm3
    >>> from dplit.streams import stream
    >>> X = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> predictor = algorithm3(X, np.sign(X[:, 0]), gamma=0.5, margin=0.5, weight_norm=1.0,
    ...     epsilon=1.0, delta=1e-6, beta=0.1, n_components=50,
    ...     public_rng=stream(0, "example", "public"), rng=stream(0, "example", "noise"))
    >>> predictor.features.n_frequencies
    5758
    """
    rows = check_finite_array("X", X, ndim=2)
    size, r = check_positive("weight_norm", weight_norm), check_positive("data_norm", data_norm)
    if check_rng(public_rng) is check_rng(rng):
        raise ValueError("rng must not be public_rng: the map is public, the noise is not")
    m, d = rows.shape
    budget = repaired_budget(epsilon=epsilon, delta=delta, n_samples=m)
    k = n_components
    if k is None:
        k = printed_dimension(n_samples=m, epsilon=budget[0], delta=budget[1], beta=beta / 2)
    count = frequencies_of_algorithm3(m, beta=beta)
    features = streamed_projection(d, count, k, gamma=gamma, rng=public_rng, data_norm=r)
    return fit_predictor(
        rows, y, features, margin=margin, radius=2.0 * size, epsilon=budget[0], delta=budget[1],
        rng=rng, data_norm=r, inflation=2.0, solver=solver, n_steps=n_steps, beta=beta / 2,
    )  # fmt: skip
