r"""Experiment: the exponential mechanism with a Gaussian prior in growing dimension.

Records are :math:`x=(\gamma y,\sqrt{1-\gamma^2}\,u)` with y a fair sign and u uniform on the
sphere: unit vectors that the first axis separates with margin :math:`\gamma`, in any dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from dplit._checks import check_finite_array, check_integer, check_interval, check_rng
from dplit.margin.gibbs import gaussian_prior_bound, watched_prior_draw
from dplit.trials import Estimate, Trial, mean_and_se, run_trials

__all__ = ["DimensionCurve", "dimension_curve", "dimension_trial", "sphere_error", "sphere_sample"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DimensionCurve:
    """Results by dimension: arrays of (train error, test error, proposals), one row a draw."""

    margin: float
    n_samples: int
    bound: float
    dimensions: tuple[int, ...]
    draws: tuple[Array, ...]

    def mean(self, column: int) -> Estimate:
        """Means over the draws and their standard errors, by dimension."""
        each = [mean_and_se(values[:, column]) for values in self.draws]
        return Estimate(np.array([e.mean for e in each]), np.array([e.se for e in each]))

    @property
    def worst_train(self) -> float:
        """Largest training error of all draws."""
        return max(float(values[:, 0].max()) for values in self.draws)

    @property
    def n_draws(self) -> int:
        """Number of draws in all dimensions together."""
        return sum(len(values) for values in self.draws)


def sphere_sample(
    n_samples: int, n_features: int, *, margin: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Unit vectors that the first axis separates with a given margin.

    Parameters
    ----------
    n_samples, n_features : int
        m at least 1 and d at least 2.
    margin : float
        :math:`\gamma` in (0, 1).
    rng : numpy.random.Generator
        Source of the data.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows of length 1 with first entry :math:`\gamma y`.
    y : ndarray of shape (n_samples,)
        Fair signs.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = sphere_sample(4, 3, margin=0.6, rng=np.random.default_rng(0))
    >>> (y * X[:, 0]).round(12)
    array([0.6, 0.6, 0.6, 0.6])
    """
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=2)
    gamma, generator = check_interval("margin", margin, 0.0, 1.0), check_rng(rng)
    y = (2 * generator.integers(0, 2, m) - 1).astype(np.float64)
    X: Array = np.empty((m, d))
    rest = generator.standard_normal((m, d - 1))
    rest *= math.sqrt(1 - gamma**2) / np.linalg.norm(rest, axis=1, keepdims=True)
    X[:, 0], X[:, 1:] = gamma * y, rest
    return X, y


def sphere_error(w: ArrayLike, *, margin: float) -> float:
    r"""Exact population error of a linear classifier on :func:`sphere_sample`.

    Parameters
    ----------
    w : array_like of shape (d,)
        Weights, d at least 3.
    margin : float
        :math:`\gamma` in (0, 1).

    Returns
    -------
    float
        :math:`P(\gamma w_1+\sqrt{1-\gamma^2}\,|w_\perp|T\le0)` with T a coordinate of a uniform
        unit vector of d - 1 dimensions: a beta integral instead of test points.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> sphere_error([1.0, 0.0, 0.0], margin=0.5), sphere_error([0.0, 1.0, 0.0], margin=0.5)
    (0.0, 0.5)
    """
    weights = check_finite_array("w", w, ndim=1).astype(float)
    d = check_integer("the length of w", len(weights), minimum=3)
    gamma = check_interval("margin", margin, 0.0, 1.0)
    rest = math.sqrt(1 - gamma**2) * float(np.linalg.norm(weights[1:]))
    signal = gamma * float(weights[0])
    if abs(signal) >= rest:
        return 0.0 if signal > 0 else 1.0
    tail = float(betainc((d - 2) / 2, 0.5, 1 - (signal / rest) ** 2)) / 2
    return tail if signal >= 0 else 1 - tail


def dimension_trial(
    trial: Trial, *, n_features: int, n_samples: int, margin: float, epsilon: float
) -> Array:
    """Fresh data and one private draw: training error, exact test error, number of proposals.

    Parameters
    ----------
    trial : Trial
        Its stream "data" draws the sample, "noise" the weights.
    n_features, n_samples : int
        d at least 3 and m at least 1.
    margin : float
        Margin of the data, in (0, 1).
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    ndarray of shape (3,)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> options = dict(n_features=5, n_samples=40, margin=0.7, epsilon=1.0)
    >>> dimension_trial(Trial(0, seed=0, name="example"), **options).shape
    (3,)
    """
    X, y = sphere_sample(n_samples, n_features, margin=margin, rng=trial.stream("data"))
    draw = watched_prior_draw(X, y, epsilon=epsilon, rng=trial.stream("noise"))
    return np.array([draw.error, sphere_error(draw.coef, margin=margin), draw.proposals])


def dimension_curve(
    dimensions: Sequence[int],
    repeats: Sequence[int],
    *,
    n_samples: int,
    margin: float,
    epsilon: float,
    beta: float = 0.05,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> DimensionCurve:
    """Draws of :func:`dimension_trial` in several dimensions.

    Parameters
    ----------
    dimensions, repeats : sequence of int
        Dimensions d, and the number of draws in each.
    n_samples : int
        m, at least 1.
    margin, epsilon : float
        As in :func:`dplit.margin.em_dimension.dimension_trial`.
    beta : float, default=0.05
        Failure probability of the bound beside the draws.
    seed, name, n_jobs
        As in :func:`dplit.trials.run_trials`.

    Returns
    -------
    DimensionCurve

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> options = dict(n_samples=30, margin=0.7, epsilon=1.0, seed=0, name="example")
    >>> dimension_curve([5, 50], [2, 2], **options).mean(0).mean.shape
    (2,)
    """
    draws = []
    for d, count in zip(dimensions, repeats, strict=True):
        trial = partial(
            dimension_trial, n_features=d, n_samples=n_samples, margin=margin, epsilon=epsilon
        )
        label = f"{name}-{margin:g}-{d}"
        draws.append(np.array(run_trials(trial, count, seed=seed, name=label, n_jobs=n_jobs)))
    bound = gaussian_prior_bound(
        normalized_margin=margin, n_samples=n_samples, epsilon=epsilon, beta=beta
    )
    return DimensionCurve(margin, n_samples, bound, tuple(dimensions), tuple(draws))
