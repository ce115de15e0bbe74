r"""Simulations behind the statements on additive noise: what happens, beside what was bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svdvals

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.baselines import sufficient_statistics
from dplit.mechanisms import gaussian_sigma
from dplit.projection.additive import (
    fit_additive,
    fit_corrected,
    perturbation_bound,
    release_additive,
)
from dplit.projection.information import additive_sigma
from dplit.projection.leakage import row_variance
from dplit.projection.projection import (
    ProjectionRelease,
    fit_projection,
    release_projection,
    useful_correction,
)
from dplit.projection.regression import least_squares, relative_error, spectrum
from dplit.trials import Trial, mean_and_se, run_trials

__all__ = [
    "METHODS",
    "CorrectionErrors",
    "PerturbationRatios",
    "RowBudget",
    "additive_errors",
    "compare_per_row",
    "correction_errors",
    "largest_singular_values",
    "one_comparison",
    "perturbation_ratios",
    "planted_problem",
]


def planted_problem(
    n_samples: int, n_features: int, *, root_snr: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Draw a uniform design in [-1, 1] and a response with a chosen r(y), exactly.

    Parameters
    ----------
    n_samples, n_features : int
        Rows and columns, n > d.
    root_snr : float
        The paper's r(y), nonnegative.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of ndarray
        X of shape (n, d) and y of shape (n,): a normal vector whose part in the column space of X
        is scaled to ``root_snr`` times its residual, which has norm :math:`\sqrt{n-d}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.experiments.additive import planted_problem
    >>> from dplit.projection.regression import root_snr
    >>> X, y = planted_problem(50, 3, root_snr=2.5, rng=np.random.default_rng(0))
    >>> round(root_snr(X, y), 12)
    2.5
    """
    d = check_integer("n_features", n_features)
    n = check_integer("n_samples", n_samples, minimum=d + 1)
    ratio = check_nonnegative("root_snr", root_snr)
    X = check_rng(rng).uniform(-1.0, 1.0, (n, d))
    signal, noise = X @ rng.standard_normal(d), rng.standard_normal(n)
    residual = noise - X @ least_squares(X, noise)
    scale = math.sqrt(n - d)
    y = residual * (scale / np.linalg.norm(residual))
    return X, y + signal * (ratio * scale / np.linalg.norm(signal))


def largest_singular_values(
    n_samples: int, n_features: int, *, size: int, rng: np.random.Generator
) -> Array:
    r"""Draw the largest singular values of Gaussian matrices.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of each matrix of independent standard normal entries.
    size : int
        Number of matrices.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (size,)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.experiments.additive import largest_singular_values
    >>> largest_singular_values(4, 2, size=3, rng=np.random.default_rng(0)).shape
    (3,)
    """
    shape = (check_integer("n_samples", n_samples), check_integer("n_features", n_features))
    generator = check_rng(rng)
    count = check_integer("size", size)
    return np.array([svdvals(generator.standard_normal(shape))[0] for _ in range(count)])


class PerturbationRatios(NamedTuple):
    """Largest ratios of the excess of the relative error to the excess that a bound allows."""

    printed: float
    improved: float


def perturbation_ratios(*, instances: int, rng: np.random.Generator) -> PerturbationRatios:
    r"""Search random small problems for perturbations that come near Lemma 3, or break it.

    Parameters
    ----------
    instances : int
        Number of problems: 3 to 11 rows, 1 to 4 columns; perturbations that are Gaussian or of rank
        one, of relative size u in [0.01, 0.95]; r(y) between 0.05 and 20.
    rng : numpy.random.Generator

    Returns
    -------
    PerturbationRatios
        For the printed lemma (norms, not squared) and for the improved bound (squares). At most 1
        if the bounds hold.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.experiments.additive import perturbation_ratios
    >>> max(perturbation_ratios(instances=20, rng=np.random.default_rng(0))) <= 1
    True
    """
    generator, worst = check_rng(rng), [0.0, 0.0]
    for k in range(check_integer("instances", instances)):
        d = int(generator.integers(1, 5))
        X = generator.uniform(-1, 1, (d + int(generator.integers(2, 8)), d))
        E = generator.standard_normal(X.shape)
        if k % 2:
            E = np.outer(generator.standard_normal(len(X)), generator.standard_normal(d))
        E *= generator.uniform(0.01, 0.95) * svdvals(X)[-1] / svdvals(E)[0]
        noise = generator.standard_normal(len(X))
        residual = noise - X @ least_squares(X, noise)
        signal = X @ generator.standard_normal(d)
        ratio = np.linalg.norm(residual) / np.linalg.norm(signal)
        y = residual + signal * ratio * np.exp(generator.uniform(np.log(0.05), np.log(20)))
        eta = relative_error(least_squares(X + E, y), X, y)
        printed = math.sqrt(perturbation_bound(X, y, E)) - 1
        improved = perturbation_bound(X, y, E, improved=True) - 1
        worst = [max(worst[0], (math.sqrt(eta) - 1) / printed), max(worst[1], (eta - 1) / improved)]
    return PerturbationRatios(*worst)


def additive_errors(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, size: int, rng: np.random.Generator
) -> Array:
    r"""Draw relative errors of additive noise, each from a fresh release of the same data.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Clean design with entries in [-1, 1], n > d, rank d.
    y : array_like of shape (n,)
        Responses.
    epsilon : float
        MI-DP budget of one entry in bits.
    size : int
        Number of releases.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (size,)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.experiments.additive import additive_errors
    >>> X, y, rng = [[1.0], [1.0], [0.0]], [1.0, 3.0, 1.0], np.random.default_rng(0)
    >>> (additive_errors(X, y, epsilon=0.5, size=4, rng=rng) >= 1).all()
    np.True_
    """
    table, generator = check_finite_array("X", X, ndim=2), check_rng(rng)
    fits = [
        fit_additive(release_additive(table, epsilon=epsilon, rng=generator), y)
        for _ in range(check_integer("size", size))
    ]
    return np.asarray(relative_error(np.array(fits), table, y))


class CorrectionErrors(NamedTuple):
    """Relative errors per trial of three estimators on the same releases."""

    raw: Array
    capped: Array
    full: Array


def _correction_trial(
    trial: Trial, n_samples: int, n_features: int, epsilon: float, root_snr: float
) -> list[float]:
    X, y = planted_problem(n_samples, n_features, root_snr=root_snr, rng=trial.stream("data"))
    sigma = additive_sigma(epsilon=epsilon)
    noisy = release_additive(X, epsilon=epsilon, rng=trial.stream("noise"))
    gram = noisy.T @ noisy - n_samples * sigma**2 * np.eye(n_features)
    fits = [
        fit_additive(noisy, y),
        fit_corrected(noisy, y, sigma=sigma),
        np.linalg.solve(gram, noisy.T @ y),  # the whole noise subtracted, whatever comes out
    ]
    return [float(value) for value in relative_error(np.array(fits), X, y)]


def correction_errors(
    n_samples: int,
    n_features: int,
    *,
    epsilon: float,
    root_snr: float,
    n_trials: int,
    seed: int,
    n_jobs: int = 1,
) -> CorrectionErrors:
    r"""Compare least squares on a noisy table with its two attenuation corrections.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the uniform designs, n > d.
    epsilon : float
        MI-DP budget of one entry in bits.
    root_snr : float
        The paper's r(y) of every problem.
    n_trials : int
        Data sets, each with one release.
    seed : int
        Seed of the run.
    n_jobs : int, default=1
        Processes.

    Returns
    -------
    CorrectionErrors
        Arrays of shape (n_trials,): no correction, the capped one of
        :func:`dplit.projection.additive.fit_corrected`, and the uncapped one.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.experiments.additive import correction_errors
    >>> errors = correction_errors(60, 2, epsilon=1.0, root_snr=3.0, n_trials=2, seed=0)
    >>> errors.raw.shape
    (2,)
    """
    bits, ratio = check_positive("epsilon", epsilon), check_nonnegative("root_snr", root_snr)

    def one(trial: Trial) -> list[float]:
        return _correction_trial(trial, n_samples, n_features, bits, ratio)

    name = f"proj-beyond-attenuation-{n_samples}-{n_features}-{bits:g}"
    rows = run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    return CorrectionErrors(*np.array(rows).T)


# The two mechanisms against private sufficient statistics, at one budget per row.


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
