r"""Bounds and truth: what the explicit margin bounds promise, and what the learners do.

The distribution is the simplest one with a margin: a first coordinate of size a with the sign of
the label, and a uniform direction in the other coordinates. A comparator of norm one has margin
loss and hinge loss zero, so that a bound is its slack alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer, check_positive, check_probability, check_rng
from dplit.conversions import gdp_budget
from dplit.margin.bounds_em import cover_terms, relative_bound
from dplit.margin.compressed_learner import compressed_learner, printed_dimension
from dplit.margin.gibbs import gaussian_prior_bound, gaussian_prior_draw
from dplit.margin.slack import best_slack, plain_slack
from dplit.trials import Trial, mean_and_se, run_trials

__all__ = [
    "BOUNDS",
    "MeasuredErrors",
    "bound_value",
    "informative_from",
    "margin_sample",
    "measured_errors",
]

Array = NDArray[np.float64]
#: Bounds that are compared; the last is not private.
BOUNDS = ("Theorem 3.1", "Gaussian prior", "Theorem 3.2", "no privacy")
#: Coordinates of the records, by learner, and test records of the measurements.
DIMENSIONS, TEST = {"prior": 100, "compressed": 1000}, 20_000


def margin_sample(
    n_samples: int, n_features: int, *, normalized_margin: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Draw unit records with margin a: :math:`x=(ay,\sqrt{1-a^2}\,u)`, u uniform on a sphere.

    Parameters
    ----------
    n_samples, n_features : int
        Records m and coordinates d, the latter at least 2.
    normalized_margin : float
        a in (0, 1); the direction of the first coordinate has it at every record.
    rng : numpy.random.Generator
        Source of the data.

    Returns
    -------
    tuple of ndarray
        Records (m, d) and fair labels -1 and 1.

    Examples
    --------
    >>> from dplit.margin.bound_gap import margin_sample
    >>> X, y = margin_sample(3, 5, normalized_margin=0.3, rng=np.random.default_rng(0))
    >>> (y * X[:, 0]).round(3), (X**2).sum(axis=1).round(9)
    (array([0.3, 0.3, 0.3]), array([1., 1., 1.]))
    """
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=2)
    a = check_probability("normalized_margin", normalized_margin)
    y = np.where(check_rng(rng).integers(0, 2, m) == 1, 1.0, -1.0)
    X: Array = rng.standard_normal((m, d))
    X[:, 0] = 0.0
    X *= math.sqrt(1.0 - a * a) / np.linalg.norm(X, axis=1, keepdims=True)
    X[:, 0] = a * y
    return X, y


def bound_value(
    name: str,
    n_samples: int,
    *,
    normalized_margin: float,
    epsilon: float,
    delta: float = 1e-6,
    beta: float = 0.05,
) -> float:
    r"""Value of one bound where the comparator makes no error and no hinge loss.

    Parameters
    ----------
    name : {"Theorem 3.1", "Gaussian prior", "Theorem 3.2", "no privacy"}
        The first two bound the error of pure mechanisms (the second on the training sample), the
        third is that of noisy gradient descent at its best dimension.
    n_samples : int
        Records m.
    normalized_margin : float
        a in (0, 1].
    epsilon, delta, beta : float
        Budget and failure probability; ``delta`` for Theorem 3.2 only.

    Returns
    -------
    float
        Vacuous from 1 on; a fair coin does as well from 1/2 on.

    Raises
    ------
    TypeError, ValueError
        If the name is unknown or an argument out of range.

    Examples
    --------
    >>> from dplit.margin.bound_gap import bound_value
    >>> round(bound_value("Theorem 3.2", 10_000, normalized_margin=0.3, epsilon=1.0), 3)
    0.655
    """
    check_choice("name", name, BOUNDS)
    m, a = check_integer("n_samples", n_samples), normalized_margin
    if name == "Theorem 3.1":
        terms = cover_terms(normalized_margin=a, n_samples=m, epsilon=epsilon, beta=beta)
        return relative_bound(0.0, log_budget=terms.log_budget, n_samples=m, epsilon=epsilon)
    if name == "Gaussian prior":
        return gaussian_prior_bound(normalized_margin=a, n_samples=m, epsilon=epsilon, beta=beta)
    if name == "Theorem 3.2":
        mu = gdp_budget(epsilon=epsilon, delta=delta)
        return best_slack(normalized_margin=a, n_samples=m, mu=mu, beta=beta).total
    return plain_slack(normalized_margin=a, n_samples=m, beta=beta)


def informative_from(
    name: str,
    *,
    normalized_margin: float,
    epsilon: float,
    delta: float = 1e-6,
    beta: float = 0.05,
    level: float = 0.5,
) -> int:
    """Smallest number of records from which a bound is below a level.

    Parameters
    ----------
    name, normalized_margin, epsilon, delta, beta
        As for :func:`bound_value`.
    level : float, default=0.5
        Positive: a coin's error.

    Returns
    -------
    int
        Found by bisection.

    Examples
    --------
    >>> from dplit.margin.bound_gap import informative_from
    >>> informative_from("no privacy", normalized_margin=0.5, epsilon=1.0)
    110
    """
    limit = check_positive("level", level)

    def below(m: int) -> bool:
        value = bound_value(
            name, m, normalized_margin=normalized_margin, epsilon=epsilon, delta=delta, beta=beta
        )
        return value < limit

    high = 16
    while not below(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class MeasuredErrors:
    """Test errors of a learner, with their standard errors.

    Attributes
    ----------
    learner : {"prior", "compressed"}
    sizes : tuple of int
        Numbers m of training records.
    mean, se : ndarray
        Of the population error, by size.
    """

    learner: str
    sizes: tuple[int, ...]
    mean: Array
    se: Array


def _prior(trial: Trial, m: int, a: float, epsilon: float, delta: float) -> float:
    X, y = margin_sample(m, DIMENSIONS["prior"], normalized_margin=a, rng=trial.stream("data"))
    coef = gaussian_prior_draw(X, y, epsilon=epsilon, rng=trial.stream("noise"))
    return _error(coef, a, trial)


def _compressed(trial: Trial, m: int, a: float, epsilon: float, delta: float) -> float:
    d = DIMENSIONS["compressed"]
    X, y = margin_sample(m, d, normalized_margin=a, rng=trial.stream("data"))
    k = printed_dimension(n_samples=m, epsilon=epsilon, delta=delta, beta=0.05)
    model = compressed_learner(
        X, y, margin=a, radius=1.0, data_norm=1.0, n_components=min(k, d), epsilon=epsilon,
        delta=delta, public_rng=trial.stream("public"), rng=trial.stream("noise"), n_steps=50,
    )  # fmt: skip
    return _error(model.coef, a, trial)


def _error(coef: Array, a: float, trial: Trial) -> float:
    """Error on fresh records, for which only one random coordinate has to be drawn."""
    rng = trial.stream("public").spawn(1)[0]
    rest = float(np.linalg.norm(coef[1:]))
    # a coordinate of a uniform direction on the sphere of R^(d-1): normal over the norm
    normal, others = rng.standard_normal(TEST), rng.chisquare(len(coef) - 2, TEST)
    along = normal / np.sqrt(normal**2 + others)
    return float(np.mean(a * coef[0] + np.sqrt(1 - a * a) * rest * along <= 0))


def measured_errors(
    learner: str,
    sizes: tuple[int, ...],
    *,
    normalized_margin: float,
    epsilon: float,
    draws: int,
    seed: int,
    delta: float = 1e-6,
    n_jobs: int | None = 1,
) -> MeasuredErrors:
    """Measure what a learner does where the bounds are evaluated.

    Parameters
    ----------
    learner : {"prior", "compressed"}
        The exponential mechanism with a Gaussian prior, drawn exactly; or Algorithm 2 with its
        printed dimension and 50 steps of noisy gradient descent.
    sizes : tuple of int
        Numbers m of training records.
    normalized_margin : float
        a in (0, 1).
    epsilon, delta : float
        Budget.
    draws : int
        Fresh samples, maps and noises per size, at least 2.
    seed : int
        Seed of the run; streams are those of ``margin-exp-bound-gap``.
    n_jobs : int or None, default=1
        Workers; the result does not depend on it.

    Returns
    -------
    MeasuredErrors
        On records in 100 ("prior") or 1000 dimensions. By symmetry a classifier's error depends on
        its first coordinate and the length of the rest; it is computed from 20,000 test records.

    Examples
    --------
    >>> from dplit.margin.bound_gap import measured_errors
    >>> result = measured_errors("compressed", (1000,), normalized_margin=0.5, epsilon=1.0,
    ...     draws=2, seed=0)
    >>> bool(result.mean[0] < 0.2)
    True
    """
    check_choice("learner", learner, ("prior", "compressed"))
    function: Callable[..., float] = _prior if learner == "prior" else _compressed
    estimates = []
    for m in sizes:
        run = partial(function, m=m, a=normalized_margin, epsilon=epsilon, delta=delta)
        name = f"margin-exp-bound-gap {learner} {m}"
        estimates.append(mean_and_se(run_trials(run, draws, seed=seed, name=name, n_jobs=n_jobs)))
    mean, se = np.array(estimates, dtype=float).T
    return MeasuredErrors(learner, tuple(sizes), mean, se)
