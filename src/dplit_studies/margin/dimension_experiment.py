"""How private gradient descent depends on the dimension: projected, not projected, compressed.

Our experiment. The best hinge loss of the unit ball at the margin of the records is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.special import betainc

from dplit._checks import Array, check_integer, check_interval, check_positive, check_real_array
from dplit.accounting import gdp_budget
from dplit.linear.objective import objective_perturbation
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.compressed import compress, draw_projection, expand
from dplit.margins.losses import hinge_loss, zero_one_loss
from dplit.margins.plans import plan_descent
from dplit.papers.margin.gibbs import gaussian_prior_bound, watched_prior_draw
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from dplit_studies.trials import Estimate, Trial, mean_and_se, run_trials


@dataclass(frozen=True)
class _DimensionCurve:
    """Results by dimension: arrays of (train error, test error, proposals, rival's test error)."""

    margin: float
    n_samples: int
    bound: float
    dimensions: tuple[int, ...]
    draws: tuple[Array, ...]

    def mean(self, column: int) -> Estimate:
        """Means over draws and their standard errors, by the dimensions that have the column."""
        each = [mean_and_se(v[:, column]) for v in self.draws if column < v.shape[1]]
        return Estimate(np.array([e.mean for e in each]), np.array([e.se for e in each]))

    @property
    def worst_train(self) -> float:
        """Largest training error of all draws."""
        return max(float(values[:, 0].max()) for values in self.draws)

    @property
    def n_draws(self) -> int:
        """Number of draws in all dimensions together."""
        return sum(len(values) for values in self.draws)


def sphere_error(w: ArrayLike, *, margin: float) -> float:
    """Exact population error of a linear classifier on ``margin_data``, a beta integral."""
    weights = check_real_array("w", w, 1)
    d = check_integer("the length of w", len(weights), minimum=3)
    gamma = check_interval("margin", margin, 0.0, 1.0)
    rest = math.sqrt(1 - gamma**2) * float(np.linalg.norm(weights[1:]))
    signal = gamma * float(weights[0])
    if abs(signal) >= rest:
        return 0.0 if signal > 0 else 1.0
    tail = float(betainc((d - 2) / 2, 0.5, 1 - (signal / rest) ** 2)) / 2
    return tail if signal >= 0 else 1 - tail


def _exponential_dimension_trial(
    trial: Trial, *, n_features: int, n_samples: int, margin: float, epsilon: float, flips: float
) -> Array:
    """One draw from the prior on fresh data: training error, exact test error, number of proposals;
    and up to 1000 dimensions the test error of objective perturbation, as pure, at a regularisation
    that is near the best in every setting of the chapter.
    """
    data, noise = trial.stream("data"), trial.stream("noise")
    X, y = margin_data(n_samples, n_features, margin=margin, flips=flips, rng=data, lean=True)
    draw = watched_prior_draw(X, y, epsilon=epsilon, rng=noise)
    found = [draw.error, sphere_error(draw.coef, margin=margin), draw.proposals]
    if n_features <= 1000:
        rival = objective_perturbation(
            X,
            y,
            epsilon=epsilon,
            data_norm=1.0,
            regularization=2.0,
            loss="huberised_hinge",
            rng=noise,
        )
        found.append(sphere_error(rival.coef, margin=margin))
    return np.array(found)


def dimension_curve(
    dimensions: Sequence[int],
    repeats: Sequence[int],
    *,
    n_samples: int,
    margin: float,
    epsilon: float,
    flips: float = 0.0,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _DimensionCurve:
    """Draws of ``_exponential_dimension_trial`` in several dimensions, ``repeats`` in each."""
    draws = []
    for d, count in zip(dimensions, repeats, strict=True):
        trial = partial(
            _exponential_dimension_trial,
            n_features=d,
            n_samples=n_samples,
            margin=margin,
            epsilon=epsilon,
            flips=flips,
        )
        label = f"{name}-{margin:g}-{d}" + (f"-{flips:g}" if flips else "")
        draws.append(np.array(run_trials(trial, count, seed=seed, name=label, n_jobs=n_jobs)))
    bound = gaussian_prior_bound(
        normalized_margin=margin, n_samples=n_samples, epsilon=epsilon, beta=0.05
    )
    return _DimensionCurve(margin, n_samples, bound, tuple(dimensions), tuple(draws))


class ExperimentSizes(NamedTuple):
    """ExperimentSizes and budget of the experiment."""

    n_samples: int = 1000
    margin: float = 0.3
    epsilon: float = 0.5
    delta: float = 1e-6
    n_steps: int = 50
    n_components: int = 200
    n_test: int = 1000
    noise_draws: int = 1


class _DimensionCurves(NamedTuple):
    """Means and standard errors over draws, arrays of shape (dimensions, methods, 3).

    The last axis holds test error, test hinge loss and training hinge loss.
    """

    dimensions: tuple[int, ...]
    mean: Array
    se: Array


def _learn_all(X: Array, y: Array, setting: ExperimentSizes, trial: Trial) -> list[Array]:
    """Return weights (draws, d) of every method on one data set."""
    noise, public = trial.stream("noise"), trial.stream("public")
    mu = gdp_budget(epsilon=setting.epsilon, delta=setting.delta)
    phi = draw_projection(
        X.shape[1], min(setting.n_components, X.shape[1]), kind="sign", rng=public
    )
    step = setting.margin / math.sqrt(setting.n_steps)  # R/(G sqrt T)
    unit, count = Ball(setting.margin, 1.0, 1.0), setting.noise_draws
    plan = partial(plan_descent, n_steps=setting.n_steps)
    whole = [
        plan(X.shape, unit, mu=math.inf, step=step),
        plan(X.shape, unit, mu=mu),
        plan(X.shape, unit, mu=mu, step=step),
        plan(X.shape, unit, mu=mu, step=step, project=False),
    ]
    together = noisy_hinge_descent(X, y, *whole, rng=noise, n_draws=count)
    learnt, small = np.split(together, len(whole)), compress(X, phi)
    for length in (2.0, 1.0):
        private = plan(small.shape, unit.inflated(length), mu=mu, step=step)
        weights = noisy_hinge_descent(small, y, private, rng=noise, n_draws=count)
        learnt.append(expand(weights, phi))
    return learnt


def dimension_trial(trial: Trial, n_features: int, setting: ExperimentSizes) -> Array:
    """One data set, all methods: test error, test hinge and training hinge, shape (6, 3)."""
    check_positive("noise_draws", setting.noise_draws)
    data = trial.stream("data")
    X, y = margin_data(setting.n_samples, n_features, margin=setting.margin, rng=data)
    learnt = _learn_all(X, y, setting, trial)
    T, labels = margin_data(setting.n_test, n_features, margin=setting.margin, rng=data)
    rows = []
    for weights in learnt:
        test, train = labels * (weights @ T.T), y * (weights @ X.T)
        rows.append(
            [
                zero_one_loss(test).mean(),
                hinge_loss(test, margin=setting.margin).mean(),
                hinge_loss(train, margin=setting.margin).mean(),
            ]
        )
    return np.array(rows)


def dimension_curves(
    dimensions: tuple[int, ...],
    *,
    n_trials: int,
    seed: int,
    setting: ExperimentSizes | None = None,
    n_jobs: int = 1,
) -> _DimensionCurves:
    """Errors and hinge losses of all methods in several dimensions."""
    used = setting or ExperimentSizes()
    estimates = []
    for d in dimensions:
        size = check_integer("dimensions", d, minimum=2)
        results = run_trials(
            partial(dimension_trial, n_features=size, setting=used),
            check_integer("n_trials", n_trials, minimum=2),
            seed=seed,
            name=f"margin-exp-dim-{size}",
            n_jobs=n_jobs,
        )
        estimates.append(mean_and_se(np.array(results)))
    means, errors = (np.array(part) for part in zip(*estimates, strict=True))
    return _DimensionCurves(tuple(dimensions), means, errors)


def _span_coordinates(X: Array) -> tuple[Array, Array]:
    """Coordinates (m, q) of records in an orthonormal basis (d, q) of their span, q = min(m, d):
    descent that is not projected has the same law in both, for all that the records see.
    """
    if X.shape[1] <= X.shape[0]:
        return X, np.eye(X.shape[1])
    basis, upper = qr(X.T, mode="economic")
    return np.ascontiguousarray(upper.T), np.ascontiguousarray(basis)


class _RankCheck(NamedTuple):
    """Mean training hinge of descent without a ball, and what bounds it."""

    mean: float
    se: float
    by_rank: float
    by_dimension: float


def unprojected_excess(
    n_features: int,
    *,
    n_draws: int,
    seed: int,
    in_span: bool = True,
    setting: ExperimentSizes | None = None,
) -> _RankCheck:
    """Training hinge of descent without a ball against its bounds; the least of the ball is 0.

    Coordinates of the span (``in_span``) have the same law; the bounds take the step for min(m, d).
    """
    used = setting or ExperimentSizes()
    name = f"margin-beyond-proj-{n_features}"
    X, y = margin_data(
        used.n_samples, n_features, margin=used.margin, rng=stream(seed, name, "data")
    )
    rows = _span_coordinates(X)[0] if in_span else X
    mu = gdp_budget(epsilon=used.epsilon, delta=used.delta)
    rank = min(X.shape)
    noise = stream(seed, name, "noise", int(in_span))
    ball = Ball(used.margin, 1.0, 1.0)
    plan = plan_descent(rows.shape, ball, mu=mu, project=False, n_steps=used.n_steps)
    draws = check_integer("n_draws", n_draws, minimum=2)
    weights = noisy_hinge_descent(rows, y, plan, rng=noise, n_draws=draws)
    losses = hinge_loss(y * (weights @ rows.T), margin=used.margin).mean(axis=1)
    by_rank, by_dimension = (
        0.5 / (plan.step * used.n_steps) + 0.5 * plan.step * (used.margin**-2 + q * plan.sigma**2)
        for q in (rank, n_features)
    )
    mean, se = mean_and_se(losses)
    return _RankCheck(float(mean), float(se), by_rank, by_dimension)
