"""Experiments on the choice of the margin: random instances, a grid, private choices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_positive, check_rng
from dplit.margins._learning import learn
from dplit.margins.balls import Ball
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.losses import _bounded_hinge_mean, margin_loss, zero_one_loss
from dplit.margins.plans import LearningPlan, margin_grid, plan_learning
from dplit.mechanisms import generalized_exponential_mechanism
from dplit.papers.margin.exact_hinge import minimise_hinge
from dplit.papers.margin.selection import (
    _choice_scores,
    _generalized_laws,
    _plain_law,
    choice_bound,
    choice_sensitivities,
    generalized_law,
)
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream

#: Half width of the inputs around the threshold, share of wrong labels.
_WIDTH, _FLIPS = 1e-4, 0.1


class _ChoiceCheck(NamedTuple):
    """What random instances say about the generalised exponential mechanism."""

    failure: float
    largest_log_ratio: float


class _MarginTable(NamedTuple):
    """Non-private minimisers at every margin of a grid, arrays of shape (n,)."""

    margins: Array
    hinge: Array
    objective: Array
    margin_loss: Array
    error: Array


def choice_instances(
    instances: int, *, size: int, epsilon: float, beta: float, rng: np.random.Generator
) -> _ChoiceCheck:
    """Exact failure probabilities and privacy losses of random instances.

    Sensitivities :math:`2^{-j}` shuffled, normal scores of a few of them, 8 neighbours at corners.
    """
    count, n = check_integer("instances", instances), check_integer("size", size, minimum=2)
    check_rng(rng)
    failures, largest = [], 0.0
    for _ in range(count):
        widths = rng.permutation(0.5 ** np.arange(n))
        scores = rng.standard_normal(n) * widths * 4.0 / check_positive("epsilon", epsilon)
        near = scores + np.vstack([np.zeros(n), _corners(n, rng)]) * widths
        law, *moved = _generalized_laws(near, widths, epsilon, beta)
        bound = choice_bound(scores, widths, epsilon=epsilon, beta=beta)
        failures.append(float(law[scores > bound].sum()))
        largest = max(largest, float(np.abs(np.log(moved / law)).max()))
    return _ChoiceCheck(float(np.mean(failures)), largest)


def _corners(n: int, rng: np.random.Generator) -> Array:
    one = -np.ones(n)
    one[rng.integers(n)] = 1.0
    return np.vstack([one, -one, rng.choice([-1.0, 1.0], size=(6, n))])


#: Records of the experiment on the choice of a margin, and margins of its grid.
_LAW: dict[str, Any] = {"n_samples": 2000, "n_features": 20, "margin": 0.4, "flips": 0.05}

_MARGINS = margin_grid(radius=1.0, data_norm=1.0, size=11)


def margin_table(*, seed: int = 0) -> _MarginTable:
    """Objective, margin loss and error of the exact minimiser at margins 1, 1/2, 1/4, ...

    Margin losses are those of minimisers stretched to norm 1, which changes no error.
    """
    X, y = margin_data(**_LAW, rng=stream(seed, "margin-exp-rho", "data"))
    best = [minimise_hinge(X, y, margin=rho, radius=1.0) for rho in _MARGINS]
    hinge = np.array([found.value for found in best])
    signed = [y * (X @ found.weights) for found in best]
    unit = [u / np.linalg.norm(found.weights) for u, found in zip(signed, best, strict=True)]
    return _MarginTable(
        _MARGINS,
        hinge,
        _choice_scores(hinge, _MARGINS, radius=1.0, data_norm=1.0, n_samples=len(y)),
        np.array(
            [margin_loss(u, margin=rho).mean() for u, rho in zip(unit, _MARGINS, strict=True)]
        ),
        np.array([zero_one_loss(u).mean() for u in signed]),
    )


def expected_scores(table: _MarginTable, *, n_samples: int, epsilon: float) -> tuple[float, float]:
    """Mean objective of the chosen margin: generalised mechanism, and the plain one."""
    widths = choice_sensitivities(
        table.margins, radius=1.0, data_norm=1.0, n_samples=n_samples, inflation=1.0
    )
    ours = generalized_law(table.objective, widths, epsilon=epsilon, beta=0.05)
    plain = _plain_law(table.objective, widths, epsilon=epsilon)
    return float(ours @ table.objective), float(plain @ table.objective)


def by_objective(signed: Array, plan: LearningPlan, rng: np.random.Generator | None) -> int:
    r"""Choose by the hinge loss and its slack (Appendix F), at inflation 1: epsilon/2 buys it.

    No margin below :math:`c\Lambda r/(c+\sqrt m)` can win: a classifier that is judged by its
    errors wants to be chosen by them, as :func:`dplit.margins._learning.learn` does.
    """
    margins, (_, radius, norm) = [ball.margin for ball in plan.balls], plan.balls[0]
    losses = [
        _bounded_hinge_mean(u, margin=rho, largest=radius * norm)
        for u, rho in zip(signed, margins, strict=True)
    ]
    sizes = {"radius": radius, "data_norm": norm, "n_samples": signed.shape[1]}
    scores = _choice_scores(losses, margins, **sizes)
    widths = choice_sensitivities(margins, **sizes, inflation=1.0)
    return generalized_exponential_mechanism(
        scores, widths, epsilon=plan.choice, beta=0.05, rng=rng
    )


def private_choices(n_trials: int, *, epsilon: float, seed: int = 0) -> tuple[Array, Array, Array]:
    """Margins of private choices, their errors on fresh records, and those of the estimator (n, 2).

    The least error is 0.05. The estimator's margin is given (``None``) or chosen by its errors.
    """
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6}
    balls = [Ball(rho, 1.0, 1.0) for rho in _MARGINS]
    plan = plan_learning((2000, 20), balls, **budget, n_steps=100, choice=epsilon / 2.0)
    margins, errors, fitted = [], [], []
    for trial in range(check_integer("n_trials", n_trials)):
        name = f"margin-private-choice-{epsilon:g}"
        data, noise = (stream(seed, name, role, trial) for role in ("data", "noise"))
        X, y = margin_data(**_LAW, rng=data)
        choice = learn(X, y, plan, rng=noise, choose=by_objective)
        T, labels = margin_data(**_LAW | {"n_samples": 4000}, rng=data)
        margins.append(float(_MARGINS[choice.chosen]))
        errors.append(float(zero_one_loss(labels * (T @ choice.weights)).mean()))
        models = [
            PrivateMarginClassifier(**budget, data_norm=1.0, margin=margin, random_state=noise)
            for margin in (None, "private")
        ]
        fitted.append([1.0 - model.fit(X, y).score(T, labels) for model in models])
    return np.array(margins), np.array(errors), np.array(fitted)


def u_shape(values: ArrayLike) -> bool:
    """Whether values fall to one minimum and rise after it."""
    steps = np.sign(np.diff(np.asarray(values, dtype=float)))
    return bool(np.all(np.diff(steps) >= 0)) and not math.isnan(float(steps.sum()))
