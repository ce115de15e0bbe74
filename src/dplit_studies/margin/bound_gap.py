"""Bounds and truth: what the explicit margin bounds promise, and what the learners do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dplit._checks import Array, check_choice, check_integer, check_positive
from dplit.accounting import gdp_budget
from dplit.margins.balls import Ball
from dplit.margins.compressed import printed_dimension
from dplit.margins.plans import plan_learning
from dplit.papers.margin.bounds_em import cover_terms, relative_bound
from dplit.papers.margin.compressed_learner import compressed_learner
from dplit.papers.margin.gibbs import gaussian_prior_bound, gaussian_prior_draw
from dplit.papers.margin.separable import margin_data
from dplit.papers.margin.slack import best_slack, plain_slack
from dplit_studies.trials import Trial, mean_and_se, run_trials

#: Bounds that are compared; the last is not private.
BOUNDS = ("Theorem 3.1", "Gaussian prior", "Theorem 3.2", "no privacy")

#: Coordinates of the records, by learner, and test records of the measurements.
_DIMENSIONS, _TEST = {"prior": 100, "compressed": 1000}, 20_000


def bound_value(
    name: str,
    n_samples: int,
    *,
    normalized_margin: float,
    epsilon: float,
    delta: float = 1e-6,
    beta: float = 0.05,
) -> float:
    """Value of one of ``BOUNDS`` where the comparator makes no error and no hinge loss.

    That of the Gaussian prior is on the training error; Theorem 3.2 is taken at its best dimension.
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
    """Smallest number of records from which a bound is below a level."""
    limit = check_positive("level", level)

    def below(m: int) -> bool:
        value = bound_value(
            name, m, normalized_margin=normalized_margin, epsilon=epsilon, delta=delta, beta=beta
        )
        return value < limit

    sizes = range(9, 1 << 40)
    return sizes[bisect_left(sizes, True, key=below)]


@dataclass(frozen=True)
class _MeasuredErrors:
    """Test errors of a learner, with their standard errors."""

    learner: str
    sizes: tuple[int, ...]
    mean: Array
    se: Array


def _prior(trial: Trial, m: int, a: float, epsilon: float, delta: float) -> float:
    X, y = margin_data(m, _DIMENSIONS["prior"], margin=a, rng=trial.stream("data"))
    coef = gaussian_prior_draw(X, y, epsilon=epsilon, rng=trial.stream("noise"))
    return _error(coef, a, trial)


def _compressed(trial: Trial, m: int, a: float, epsilon: float, delta: float) -> float:
    d = _DIMENSIONS["compressed"]
    X, y = margin_data(m, d, margin=a, rng=trial.stream("data"))
    k = printed_dimension(n_samples=m, epsilon=epsilon, delta=delta, beta=0.05)
    doubled = Ball(a, 1.0, 1.0).inflated(2.0)
    plan = plan_learning((m, min(k, d)), [doubled], epsilon=epsilon, delta=delta, n_steps=50)
    public, noise = trial.stream("public"), trial.stream("noise")
    model = compressed_learner(X, y, plan, data_norm=1.0, public_rng=public, rng=noise)
    return _error(model.coef, a, trial)


def _error(coef: Array, a: float, trial: Trial) -> float:
    """Error on fresh records, for which only one random coordinate has to be drawn."""
    rng = trial.stream("public").spawn(1)[0]
    rest = float(np.linalg.norm(coef[1:]))
    # a coordinate of a uniform direction on the sphere of R^(d-1): normal over the norm
    normal, others = rng.standard_normal(_TEST), rng.chisquare(len(coef) - 2, _TEST)
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
) -> _MeasuredErrors:
    """Measure what a learner does where the bounds are evaluated, on ``draws`` fresh samples.

    "prior" draws in 100 dimensions, "compressed" is Algorithm 2 with 50 steps in 1000.
    """
    check_choice("learner", learner, ("prior", "compressed"))
    function: Callable[..., float] = _prior if learner == "prior" else _compressed
    estimates = []
    for m in sizes:
        run = partial(function, m=m, a=normalized_margin, epsilon=epsilon, delta=delta)
        name = f"margin-exp-bound-gap {learner} {m}"
        estimates.append(mean_and_se(run_trials(run, draws, seed=seed, name=name, n_jobs=n_jobs)))
    mean, se = np.array(estimates, dtype=float).T
    return _MeasuredErrors(learner, tuple(sizes), mean, se)
