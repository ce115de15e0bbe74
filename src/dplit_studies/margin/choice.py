r"""Experiments on the choice of the margin: random instances, a grid, private choices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dplit._checks import Array, check_integer, check_positive, check_rng
from dplit.margin.compressed import learn
from dplit.margin.data import margin_data
from dplit.margin.estimators import PrivateMarginClassifier
from dplit.margin.exact_hinge import minimise_hinge
from dplit.margin.losses import Ball, _bounded_hinge_mean, margin_loss, zero_one_loss
from dplit.margin.plans import LearningPlan, plan_learning
from dplit.margin.selection import (
    _choice_scores,
    _generalized_laws,
    _plain_law,
    _threshold_errors,
    choice_bound,
    choice_sensitivities,
    generalized_law,
    margin_grid,
    threshold_splits,
)
from dplit.mechanisms import generalized_exponential_mechanism
from dplit.streams import stream
from dplit.trials import Estimate, Trial, mean_and_se, run_trials

# Thresholds at an unknown place: labels private, everything private, or labels randomised.


#: What is compared; the last axis of the table.
METHODS = ("private labels", "full privacy", "randomised response")

#: Half width of the inputs around the threshold, share of wrong labels.
_WIDTH, _FLIPS = 1e-4, 0.1

#: Draws of the randomised labels for each sample.
_RESPONSES = 10


@dataclass(frozen=True)
class _LabelTable:
    """Population errors, exact given the sample: (draws, sizes, budgets, 3) and, without privacy,
    of the best splits and of the best thresholds of the fully private class (draws, sizes, 2).
    """

    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    errors: Array
    free: Array

    def discretisation(self) -> tuple[Estimate, Array]:
        """What the class loses without privacy, by size, and what it may lose: a tenth of the least
        excess error that is compared.
        """
        excess = self.errors[..., :2].mean(axis=0).min(axis=(1, 2)) - _FLIPS
        return mean_and_se(self.free[..., 1] - self.free[..., 0]), excess / 10.0


class _Pieces(NamedTuple):
    """Sets of thresholds with one number of errors each: log prior, errors, population error."""

    log_prior: Array
    errors: Array
    risk: Array

    def error(self, epsilon: float) -> float:
        """Population error of the exponential mechanism; at infinity of the best thresholds."""
        if math.isinf(epsilon):
            law = softmax(np.where(self.errors == self.errors.min(), self.log_prior, -np.inf))
        else:
            law = softmax(self.log_prior - 0.5 * epsilon * self.errors)
        return float(law @ self.risk)


def threshold_risk(thresholds: ArrayLike, place: float) -> Array:
    """Population error of thresholds: a tenth, and eight tenths of the mass that they cut off."""
    cut = np.minimum(0.5, np.abs(np.asarray(thresholds) - place) / (2.0 * _WIDTH))
    return np.asarray(_FLIPS + (1.0 - 2.0 * _FLIPS) * cut)


def _mean_risk(edges: Array, place: float) -> Array:
    """Mean of ``threshold_risk`` between neighbouring edges, from its integral."""
    u = (edges - place) / (2.0 * _WIDTH)
    far = np.abs(u)
    integral = np.sign(u) * np.where(far < 0.5, far**2 / 2.0, far / 2.0 - 0.125)
    return np.asarray(_FLIPS + (1.0 - 2.0 * _FLIPS) * np.diff(integral) / np.diff(u))


def _full_class(x: Array, y: Array, place: float, grid: int | None) -> _Pieces:
    """All thresholds of [0, 1], uniformly: one piece between neighbouring inputs. Or a grid."""
    if grid is not None:
        at = np.linspace(0.0, 1.0, grid)
        errors = _threshold_errors(x, y, at).astype(float)
        return _Pieces(np.zeros(grid), errors, threshold_risk(at, place))
    edges = np.unique(np.concatenate([[0.0], np.clip(x, 0.0, 1.0), [1.0]]))
    errors = _threshold_errors(x, y, edges[1:]).astype(float)
    return _Pieces(np.log(np.diff(edges)), errors, _mean_risk(edges, place))


def _responses(x: Array, y: Array, place: float, epsilon: float, rng: np.random.Generator) -> float:
    """Mean error of the best split on randomised labels; ``x`` is sorted."""
    keep = 1.0 / (1.0 + np.exp(-epsilon))
    signs = y * np.where(rng.random((_RESPONSES, len(x))) < keep, 1.0, -1.0)
    drift = np.concatenate([np.zeros((_RESPONSES, 1)), np.cumsum(signs, axis=1)], axis=1)
    best = drift.argmin(axis=1)  # errors of a split: a constant plus the labels below it
    thresholds = threshold_splits(x, y).thresholds
    return float(threshold_risk(thresholds[best], place).mean())


def _one_draw(
    trial: Trial, sizes: tuple[int, ...], epsilons: tuple[float, ...], grid: int | None
) -> tuple[Array, Array]:
    data, noise = trial.stream("data"), trial.stream("noise")
    errors, free = np.empty((len(sizes), len(epsilons), 3)), np.empty((len(sizes), 2))
    for row, best, m in zip(errors, free, sizes, strict=True):
        place = float(data.random())
        x = np.sort(place + _WIDTH * data.uniform(-1.0, 1.0, m))
        y = np.where(x >= place, 1.0, -1.0) * np.where(data.random(m) < _FLIPS, -1.0, 1.0)
        splits = threshold_splits(x, y)
        risk = threshold_risk(splits.thresholds, place)
        own = _Pieces(np.zeros(len(risk)), splits.errors.astype(float), risk)
        arms = own, _full_class(x, y, place, grid)
        best[:] = [arm.error(math.inf) for arm in arms]
        for cell, epsilon in zip(row, epsilons, strict=True):
            cell[:2] = [arm.error(epsilon) for arm in arms]
            cell[2] = _responses(x, y, place, epsilon, noise)
    return errors, free


def label_table(
    sizes: tuple[int, ...], epsilons: tuple[float, ...], *, draws: int, seed: int,
    grid: int | None = None, n_jobs: int | None = 1,
) -> _LabelTable:  # fmt: skip
    """Run the experiment: each draw a fresh place and sample for every size.

    Full privacy has all thresholds of [0, 1], or ``grid`` of them at equal distances.
    """
    check_integer("draws", draws, minimum=2)
    for epsilon in epsilons:
        check_positive("epsilon", epsilon)
    for m in sizes:
        check_integer("m", m)
    run = partial(_one_draw, sizes=sizes, epsilons=epsilons, grid=grid)
    results = run_trials(run, draws, seed=seed, name="margin-exp-labeldp", n_jobs=n_jobs)
    errors, free = (np.array(part) for part in zip(*results, strict=True))
    return _LabelTable(sizes, epsilons, errors, free)


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
        np.array([
            margin_loss(u, margin=rho).mean() for u, rho in zip(unit, _MARGINS, strict=True)
        ]),
        np.array([zero_one_loss(u).mean() for u in signed]),
    )  # fmt: skip


def expected_scores(table: _MarginTable, *, n_samples: int, epsilon: float) -> tuple[float, float]:
    """Mean objective of the chosen margin: generalised mechanism, and the plain one."""
    widths = choice_sensitivities(
        table.margins, radius=1.0, data_norm=1.0, n_samples=n_samples, inflation=1.0
    )
    ours = generalized_law(table.objective, widths, epsilon=epsilon, beta=0.05)
    plain = _plain_law(table.objective, widths, epsilon=epsilon)
    return float(ours @ table.objective), float(plain @ table.objective)


def by_objective(signed: Array, plan: LearningPlan, rng: np.random.Generator) -> int:
    r"""Choose by the hinge loss and its slack (Appendix F), at inflation 1: epsilon/2 buys it.

    No margin below :math:`c\Lambda r/(c+\sqrt m)` can win: a classifier that is judged by its
    errors wants to be chosen by them, as :func:`dplit.margin.compressed.learn` does.
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
