"""Thresholds at an unknown place: labels private, everything private, or labels randomised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer, check_positive
from dplit.margin.label_privacy import split_law, threshold_errors, threshold_splits
from dplit.trials import Trial, run_trials

__all__ = ["METHODS", "LabelTable", "label_table", "threshold_risk"]

Array = NDArray[np.float64]
#: Columns of the table.
METHODS = ("label EM", "full EM", "randomised response")
#: Half width of the inputs around the threshold, share of wrong labels, grid of the full mechanism.
WIDTH, FLIPS, GRID = 1e-4, 0.1, 1001
#: Draws of the randomised labels for each sample.
RESPONSES = 20


@dataclass(frozen=True)
class LabelTable:
    """Errors of the three methods.

    Attributes
    ----------
    settings : tuple of (float, int)
        Pairs (epsilon, m).
    errors : ndarray of shape (draws, settings, 3)
        Population error, exact in the choice of the exponential mechanisms given the sample.
    """

    settings: tuple[tuple[float, int], ...]
    errors: Array


def threshold_risk(thresholds: Array, place: float) -> Array:
    """Population error of thresholds: a tenth, and eight tenths of the mass that they cut off.

    Parameters
    ----------
    thresholds : ndarray
        Any shape.
    place : float
        The true threshold; inputs are uniform within 1e-4 of it.

    Returns
    -------
    ndarray
        In [0.1, 0.5].

    Examples
    --------
    >>> from dplit.margin.label_experiment import threshold_risk
    >>> threshold_risk(np.array([0.5, 0.50005, 0.6]), 0.5).round(3)
    array([0.1, 0.3, 0.5])
    """
    cut = np.minimum(0.5, np.abs(np.asarray(thresholds) - place) / (2.0 * WIDTH))
    risk: Array = FLIPS + (1.0 - 2.0 * FLIPS) * cut
    return risk


def _responses(x: Array, y: Array, place: float, epsilon: float, rng: np.random.Generator) -> float:
    """Mean error of the best split on randomised labels."""
    keep = 1.0 / (1.0 + np.exp(-epsilon))
    order = np.argsort(x)
    signs = y[order] * np.where(rng.random((RESPONSES, len(x))) < keep, 1.0, -1.0)
    drift = np.concatenate([np.zeros((RESPONSES, 1)), np.cumsum(signs, axis=1)], axis=1)
    best = drift.argmin(axis=1)  # errors of a split: a constant plus the labels below it
    thresholds = threshold_splits(x, y).thresholds
    return float(threshold_risk(thresholds[best], place).mean())


def _one_draw(trial: Trial, settings: tuple[tuple[float, int], ...]) -> Array:
    data, noise = trial.stream("data"), trial.stream("noise")
    grid = np.linspace(0.0, 1.0, GRID)
    out = np.empty((len(settings), 3))
    for row, (epsilon, m) in zip(out, settings, strict=True):
        place = float(data.random())
        x = place + WIDTH * data.uniform(-1.0, 1.0, m)
        y = np.where(x >= place, 1.0, -1.0) * np.where(data.random(m) < FLIPS, -1.0, 1.0)
        splits = threshold_splits(x, y)
        row[0] = split_law(splits.errors, epsilon=epsilon) @ threshold_risk(
            splits.thresholds, place
        )
        errors = threshold_errors(x, y, grid)
        row[1] = split_law(errors, epsilon=epsilon) @ threshold_risk(grid, place)
        row[2] = _responses(x, y, place, epsilon, noise)
    return out


def label_table(
    settings: tuple[tuple[float, int], ...], *, draws: int, seed: int, n_jobs: int | None = 1
) -> LabelTable:
    """Run the experiment: each draw a fresh place and a fresh sample for every setting.

    Parameters
    ----------
    settings : tuple of (float, int)
        Pairs (epsilon, m).
    draws : int
        Number of draws, at least 2.
    seed : int
        Seed of the run; streams are those of ``margin-exp-labeldp``.
    n_jobs : int or None, default=1
        Workers; the result does not depend on it.

    Returns
    -------
    LabelTable

    Examples
    --------
    >>> from dplit.margin.label_experiment import label_table
    >>> label_table(((1.0, 200),), draws=2, seed=0).errors.shape
    (2, 1, 3)
    """
    check_integer("draws", draws, minimum=2)
    for epsilon, m in settings:
        check_positive("epsilon", epsilon)
        check_integer("m", m)

    name = "margin-exp-labeldp"
    run = partial(_one_draw, settings=settings)
    results = run_trials(run, draws, seed=seed, name=name, n_jobs=n_jobs)
    return LabelTable(settings, np.array(results))
