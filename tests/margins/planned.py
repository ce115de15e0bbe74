"""The descents by one call each: the plan is made for the records, then followed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dplit.margins import _descent, boosting
from dplit.margins import phased as margins_phased
from dplit.margins._accelerated import _accelerated_descent
from dplit.margins._checks import check_geometry
from dplit.margins._learning import learn
from dplit.margins.balls import Ball
from dplit.margins.plans import phased_schedule, plan_boosted, plan_descent, plan_learning
from dplit.papers.margin.compressed_learner import compressed_learner
from dplit.papers.margin.kernel_learner import algorithm3, plan_algorithm3
from dplit.papers.margin.output_perturbation import _PenalisedHinge, _perturbed_minimiser


class Run(NamedTuple):
    """Weights, and what the plan said of them."""

    weights: np.ndarray
    sigma: float
    step: float


def shape_of(X):
    return np.shape(X) if np.ndim(X) == 2 else (len(X), 1)


def full_batch(X, y, *, margin, radius, data_norm, rng, n_draws=1, **told):
    plan = plan_descent(shape_of(X), check_geometry(margin, radius, data_norm), **told)
    weights = _descent.noisy_hinge_descent(X, y, plan, rng=rng, n_draws=n_draws)
    return Run(weights, plan.sigma, plan.step)


def accelerated(X, y, *, margin, radius, data_norm, rng, **told):
    ball = check_geometry(margin, radius, data_norm)
    plan = plan_descent(shape_of(X), ball, solver="accelerated", **told)
    return _accelerated_descent(X, y, plan, rng=rng)


def phased(X, y, *, rng, replacement, n_draws=1, **told):
    m, k = shape_of(X)
    plan = phased_schedule(n_draws=m, n_features=k, **told)
    return margins_phased.phased_descent(
        X, y, plan, replacement=replacement, rng=rng, n_draws=n_draws
    )


def boosted(X, y, *, margin, radius, data_norm, rng, **told):
    plan = plan_boosted(shape_of(X), check_geometry(margin, radius, data_norm), **told)
    return boosting.boosted_descent(X, y, plan, rng=rng)


def weights(Z, y, *, margin, radius, data_norm, rng, inflation=2.0, n_steps=100, **told):
    """Weights (k,) at one margin, or at the margins of a list with a choice by errors."""
    margins = margin if isinstance(margin, list) else [margin]
    balls = [check_geometry(rho, radius, data_norm).inflated(inflation) for rho in margins]
    plan = plan_learning(shape_of(Z), balls, n_steps=n_steps, **told)
    return learn(Z, y, plan, rng=rng).weights


def projected(
    X,
    y,
    *,
    margin,
    radius,
    data_norm,
    n_components,
    public_rng,
    rng,
    inflation=2.0,
    n_steps=100,
    **told,
):
    ball = check_geometry(margin, radius, data_norm).inflated(inflation)
    plan = plan_learning((len(X), n_components), [ball], n_steps=n_steps, **told)
    return compressed_learner(X, y, plan, data_norm=data_norm, public_rng=public_rng, rng=rng)


def third(X, y, *, gamma, margin, weight_norm, beta, public_rng, rng, **told):
    plan = plan_algorithm3(len(X), Ball(margin, weight_norm, 1.0), beta=beta, **told)
    return algorithm3(X, y, plan, gamma=gamma, beta=beta, public_rng=public_rng, rng=rng)


def perturbed(X, y, *, margin, data_norm, penalty, mu, rng, tolerance=1e-12, n_draws=1):
    task = _PenalisedHinge(margin, data_norm, penalty, tolerance)
    return _perturbed_minimiser(X, y, task, mu=mu, rng=rng, n_draws=n_draws)
