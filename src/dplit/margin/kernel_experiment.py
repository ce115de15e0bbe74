"""Accuracy of private kernel learners: few direct features, many, or very many compressed.

The features of a split are computed once and shared by all budgets; the draws of the noise descend
together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dplit._checks import check_choice, check_integer
from dplit.margin.full_batch import noisy_hinge_descent
from dplit.margin.kernel_data import PROBLEMS, KernelProblem, kernel_problem
from dplit.margin.kernel_features import gaussian_kernel
from dplit.margin.kernel_learner import direct_features, privacy_level
from dplit.margin.streamed import limit_projection, streamed_projection
from dplit.trials import Trial, run_trials

__all__ = ["BUDGETS", "LIMIT", "METHODS", "KernelAccuracies", "kernel_accuracies"]

Array = NDArray[np.float64]
#: Frequencies of the direct methods, then of the compressed one.
METHODS = ("D = 20", "D = 100", "D = 500", "compressed to 200")
#: Not in the figure: the law of the compressed features for infinitely many frequencies.
LIMIT = "limit of compressed"
DIRECT, STREAMED, COMPRESSED = (20, 100, 500), 20_000, 200
BUDGETS = (0.5, 1.0, 2.0, 4.0, math.inf)
DELTA, STEPS, FREE_STEPS, DRAWS = 1e-5, 100, 400, 4


@dataclass(frozen=True)
class KernelAccuracies:
    """Test accuracies of one problem.

    Attributes
    ----------
    name : str
        A key of ``PROBLEMS``.
    n_train : int
        Number of training records.
    source : str
        Where the records come from.
    methods : tuple of str
        Of the rows.
    accuracies : ndarray of shape (splits, methods, 5)
        By method and budget; each a mean over four draws of the noise (one without noise).
    """

    name: str
    n_train: int
    source: str
    methods: tuple[str, ...]
    accuracies: Array

    @property
    def mean(self) -> Array:
        """Mean over the splits, by method and budget."""
        values: Array = self.accuracies.mean(axis=0)
        return values

    @property
    def se(self) -> Array:
        """Standard error of the mean, by method and budget."""
        values: Array = self.accuracies.std(axis=0, ddof=1) / math.sqrt(len(self.accuracies))
        return values


def _mapped(method: str, problem: KernelProblem, rng: np.random.Generator) -> tuple[Array, float]:
    """Return the mapped records with their factor: 1 for direct features, 2 for compressed ones."""
    X, gamma = problem.X, problem.gamma
    if method == LIMIT:
        return limit_projection(gaussian_kernel(X, gamma=gamma), COMPRESSED, rng=rng), 2.0
    d = X.shape[1]
    if method == METHODS[-1]:
        streamed = streamed_projection(d, STREAMED, COMPRESSED, gamma=gamma, rng=rng)
        return streamed.transform(X), 2.0
    direct = direct_features(d, DIRECT[METHODS.index(method)], gamma=gamma, rng=rng)
    return direct.transform(X), 1.0


def _split(trial: Trial, name: str, source: str, methods: tuple[str, ...]) -> Array:
    data = trial.stream("data")
    names = (*METHODS, LIMIT)
    public, noise = (trial.stream(role).spawn(len(names)) for role in ("public", "noise"))
    problem = kernel_problem(name, rng=data, source=source)
    train, test = train_test_split(
        np.arange(len(problem.y)), test_size=0.3, stratify=problem.y,
        random_state=int(data.integers(2**31)),
    )  # fmt: skip
    out = np.empty((len(methods), len(BUDGETS)))
    for row, method in zip(out, methods, strict=True):
        k = names.index(method)
        mapped, factor = _mapped(method, problem, public[k])
        for column, epsilon in enumerate(BUDGETS):
            free = epsilon == math.inf
            run = noisy_hinge_descent(
                mapped[train], problem.y[train], margin=problem.margin,
                radius=factor * problem.weight_norm, data_norm=factor,
                mu=privacy_level(epsilon=epsilon, delta=DELTA),
                n_steps=FREE_STEPS if free else STEPS, rng=noise[k], n_draws=1 if free else DRAWS,
            )  # fmt: skip
            right = (run.weights @ mapped[test].T) * problem.y[test] > 0
            row[column] = right.mean()
    return out


def kernel_accuracies(
    name: str,
    *,
    splits: int,
    seed: int,
    methods: tuple[str, ...] = METHODS,
    source: str = "auto",
    n_jobs: int | None = 1,
) -> KernelAccuracies:
    """Test accuracies of four private learners under five budgets.

    Parameters
    ----------
    name : str
        A key of :data:`dplit.margin.kernel_data.PROBLEMS`.
    splits : int
        Stratified 70/30 splits, each with features of its own, at least 2.
    seed : int
        Seed of the run; streams are those of ``margin-exp-kernel`` and the name.
    methods : tuple of str
        Some of ``METHODS``, or ``LIMIT``, which draws all records jointly from the Gaussian
        process; a method's numbers do not depend on which others are run.
    source : {"auto", "paper", "bundled"}, default="auto"
        For MNIST.
    n_jobs : int or None, default=1
        Workers; the result does not depend on it.

    Returns
    -------
    KernelAccuracies

    Notes
    -----
    Noisy gradient descent, 100 steps (400 without noise), delta = 1e-5 by exact Gaussian DP. Direct
    features have norm 1 and are searched in the ball of radius Lambda. Compressed ones follow
    Algorithm 2: clipped at 2, ball of radius 2 Lambda, so four times the noise scale.

    Examples
    --------
    >>> from dplit.margin.kernel_experiment import kernel_accuracies
    >>> result = kernel_accuracies("digits 4/9", splits=2, seed=0)
    >>> result.n_train, bool(result.mean[1, 4] > 0.95)
    (252, True)
    """
    check_choice("name", name, PROBLEMS)
    check_integer("splits", splits, minimum=2)
    stream_name = f"margin-exp-kernel {name}"
    for method in methods:
        check_choice("method", method, (*METHODS, LIMIT))
    run = partial(_split, name=name, source=source, methods=methods)
    results = np.array(run_trials(run, splits, seed=seed, name=stream_name, n_jobs=n_jobs))
    sample = kernel_problem(name, rng=np.random.default_rng(0), source=source)
    n = len(sample.y)
    return KernelAccuracies(name, n - math.ceil(0.3 * n), sample.source, methods, results)
