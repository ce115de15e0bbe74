"""Thresholds at an unknown place: labels private, everything private, or labels randomised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from dplit._checks import Array, check_integer, check_positive
from dplit.papers.margin.label_privacy import _threshold_errors, threshold_splits
from dplit_studies.margin.choice_experiment import _FLIPS, _WIDTH
from dplit_studies.trials import Estimate, Trial, mean_and_se, run_trials

#: What is compared; the last axis of the table.
METHODS = ("private labels", "full privacy", "randomised response")

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
    sizes: tuple[int, ...],
    epsilons: tuple[float, ...],
    *,
    draws: int,
    seed: int,
    grid: int | None = None,
    n_jobs: int | None = 1,
) -> _LabelTable:
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
