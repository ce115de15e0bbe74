"""The two mechanisms against private sufficient statistics, at one budget per row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer, check_positive, check_probability
from dplit.baselines import sufficient_statistics
from dplit.mechanisms import gaussian_sigma
from dplit.projection.projection import (
    ProjectionRelease,
    fit_projection,
    release_projection,
    useful_correction,
)
from dplit.projection.row_privacy import row_variance
from dplit.projection.spectrum import spectrum
from dplit.trials import Trial, mean_and_se, run_trials

__all__ = ["METHODS", "RowBudget", "compare_per_row", "one_comparison"]

#: Name -> whether the responses are protected as well.
METHODS = {
    "no data: predict 0": True,
    "additive noise": False,
    "additive noise, corrected": False,
    "projection": False,
    "projection, corrected": False,
    "sufficient statistics": True,
}


@dataclass(frozen=True)
class RowBudget:
    """A comparison at (epsilon, delta) for replacing one row of d entries in [-1, 1].

    Attributes
    ----------
    epsilon, delta : float
    n_records, n_features, n_components : int
        Sizes n, d, n'.
    mean, se : dict of str to float
        Mean relative error of each method of :data:`METHODS` and its standard error.
    wins : float
        Share of the trials in which sufficient statistics had the smallest error.
    ahead : float
        Share of the trials in which the projection had a smaller error than additive noise.
    """

    epsilon: float
    delta: float
    n_records: int
    n_features: int
    n_components: int
    mean: dict[str, float]
    se: dict[str, float]
    wins: float
    ahead: float


def one_comparison(
    trial: Trial, n: int, d: int, n_components: int, epsilon: float, delta: float
) -> NDArray[np.float64]:
    """Relative errors of all methods on one data set.

    Parameters
    ----------
    trial : Trial
        Its streams "data" and "noise" are used.
    n, d, n_components : int
        Sizes.
    epsilon, delta : float
        Budget per row.

    Returns
    -------
    ndarray of shape (6,)
        In the order of :data:`METHODS`.

    Examples
    --------
    >>> one_comparison(Trial(0, 0, "doc"), 300, 2, 20, 3.0, 1e-5).shape
    (6,)
    """
    data, noise = trial.stream("data"), trial.stream("noise")
    X = data.uniform(-1.0, 1.0, (n, d))
    y = X @ data.standard_normal(d) + data.standard_normal(n)
    change, label_bound = 2.0 * math.sqrt(d), 3.0 * math.sqrt(d / 3.0 + 1.0)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=change)
    noisy = ProjectionRelease(X + sigma * noise.standard_normal((n, d)), y)
    variance = row_variance(
        epsilon=epsilon, delta=delta, n_components=n_components, row_change=change
    )
    release = release_projection(X, y, n_components=n_components, variance=variance, rng=noise)
    moments = sufficient_statistics(
        X, y, epsilon=epsilon, delta=delta, data_norm=math.sqrt(d), label_bound=label_bound,
        neighboring="replace_one", rng=noise,
    )  # fmt: skip
    fits = [
        np.zeros(d),
        fit_projection(noisy),
        fit_projection(noisy, correction=useful_correction(noisy, variance=sigma**2)),
        fit_projection(release),
        fit_projection(release, correction=useful_correction(release, variance=variance)),
        moments.coef,
    ]
    problem = spectrum(X, y)
    return problem.errors(problem.rotate(np.array(fits)))


def compare_per_row(
    n_records: int,
    *,
    n_features: int,
    n_components: int,
    epsilon: float,
    delta: float,
    n_trials: int,
    seed: int,
    n_jobs: int = 1,
) -> RowBudget:
    """Relative errors of every method at the same (epsilon, delta) for replacing one row.

    Parameters
    ----------
    n_records : int
        Rows n of X, uniform on [-1, 1]; y has standard normal coefficients and unit noise.
    n_features, n_components : int
        Sizes d and n'.
    epsilon, delta : float
        Budget per row.
    n_trials : int
        Data sets, at least 2.
    seed, n_jobs : int
        For :func:`dplit.trials.run_trials`.

    Returns
    -------
    RowBudget

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    The handicap is against sufficient statistics: it protects the responses too, which it clips at
    three standard deviations of their law, and its penalty is chosen from the noise alone.

    Examples
    --------
    >>> result = compare_per_row(2000, n_features=3, n_components=50, epsilon=3.0, delta=1e-5,
    ...                          n_trials=2, seed=0)
    >>> bool(result.mean["sufficient statistics"] < result.mean["additive noise"])
    True
    """
    n, d = check_integer("n_records", n_records), check_integer("n_features", n_features)
    m = check_integer("n_components", n_components, minimum=d)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    one = partial(one_comparison, n=n, d=d, n_components=m, epsilon=epsilon, delta=delta)
    name = "proj-beyond-statistics"
    errors = np.array(run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    mean, se = mean_and_se(errors)
    wins = float(np.mean(errors.argmin(axis=1) == len(METHODS) - 1))
    names = list(METHODS)
    plain, projected = (errors[:, names.index(m)] for m in ("additive noise", "projection"))
    return RowBudget(
        float(epsilon), float(delta), n, d, m,
        dict(zip(METHODS, map(float, mean), strict=True)),
        dict(zip(METHODS, map(float, se), strict=True)), wins,
        float(np.mean(projected < plain)),
    )  # fmt: skip
