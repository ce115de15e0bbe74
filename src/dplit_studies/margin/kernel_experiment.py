"""Accuracy of private kernel learners.

Few direct features, many, or very many compressed. All budgets share the features of a split; the
draws of the noise descend together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split

from dplit._checks import Array, check_choice, check_finite_array, check_integer, check_rng
from dplit.accounting import gdp_budget
from dplit.features import gaussian_kernel
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.feature_maps import _direct_features
from dplit.margins.plans import plan_descent
from dplit.margins.streamed import streamed_projection
from dplit.notebook.datasets.classification import PROBLEMS, KernelProblem, kernel_problem
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, run_trials

#: Direct features, then 20,000 frequencies compressed to 200: lengths doubled, and as they are.
METHODS = ("D = 20", "D = 100", "D = 500", "compressed, doubled", "compressed, kept")

#: Not in the figure: the law of the doubled arm for infinitely many frequencies.
LIMIT = "limit of compressed"

_DIRECT, _STREAMED, _COMPRESSED = (20, 100, 500), 20_000, 200

#: Which public stream draws the map of a method: both compressed arms share one.
_MAPS = {"D = 20": 0, "D = 100": 1, "D = 500": 2, METHODS[3]: 3, METHODS[4]: 3, LIMIT: 4}

#: The last is without noise.
_BUDGETS = (0.5, 1.0, 2.0, 4.0, math.inf)

_DELTA, _KERNEL_STEPS, _FREE_STEPS, _DRAWS = 1e-5, 100, 400, 16


@dataclass(frozen=True)
class _KernelAccuracies(Runs):
    """Test accuracies of one problem: for each method (splits, budgets), means over noise draws."""

    name: str
    n_train: int
    source: str


def limit_projection(kernel: ArrayLike, n_components: int, *, rng: np.random.Generator) -> Array:
    """Draw the compressed features (n, k) of n records in the limit of all frequencies.

    Columns are independent draws of :math:`N(0,K/k)`; all records that will ever be compressed must
    be in the ``kernel`` matrix K.
    """
    matrix = check_finite_array("kernel", kernel, ndim=2)
    scale = float(np.abs(matrix).max())
    if matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T, atol=1e-12 * scale):
        raise ValueError(f"kernel must be symmetric, got kernel of shape {matrix.shape}")
    k = check_integer("n_components", n_components)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-8 * len(matrix) * scale:
        raise ValueError(f"kernel must be nonnegative definite, got eigenvalue {values[0]:.3g}")
    normal = check_rng(rng).standard_normal((len(matrix), k))
    root = vectors * np.sqrt(np.maximum(values, 0.0) / k)
    return np.asarray(root @ normal)


def _mapped(method: str, problem: KernelProblem, rng: np.random.Generator) -> Array:
    """Return the mapped records, of norm 1 or, compressed, of about that."""
    X, gamma = problem.X, problem.gamma
    if method == LIMIT:
        return limit_projection(gaussian_kernel(X, gamma=gamma), _COMPRESSED, rng=rng)
    d = X.shape[1]
    if method in METHODS[3:]:
        streamed = streamed_projection(d, _STREAMED, _COMPRESSED, gamma=gamma, rng=rng)
        return streamed.transform(X)
    direct = _direct_features(d, _DIRECT[METHODS.index(method)], gamma=gamma, rng=rng)
    return direct.transform(X)


def _split(trial: Trial, name: str, source: str, methods: tuple[str, ...]) -> Array:
    data = trial.stream("data")
    public, noise = (trial.stream(role).spawn(len(_MAPS)) for role in ("public", "noise"))
    problem = kernel_problem(name, rng=data, source=source)
    train, test = train_test_split(
        np.arange(len(problem.y)),
        test_size=0.3,
        stratify=problem.y,
        random_state=int(data.integers(2**31)),
    )
    out, maps = np.empty((len(methods), len(_BUDGETS))), dict[int, Array]()
    for row, method in zip(out, methods, strict=True):
        k = _MAPS[method]
        if k not in maps:
            maps[k] = _mapped(method, problem, public[k])
        mapped, factor = maps[k], 2.0 if method in (METHODS[3], LIMIT) else 1.0
        draws = noise[-1] if method == METHODS[4] else noise[k]
        levels = [gdp_budget(epsilon=epsilon, delta=_DELTA) for epsilon in _BUDGETS[:-1]]
        ball = Ball(problem.margin, factor * problem.weight_norm, factor)
        learn = partial(noisy_hinge_descent, mapped[train], problem.y[train], rng=draws)
        plan = partial(plan_descent, mapped[train].shape, ball)
        plans = [plan(mu=mu, n_steps=_KERNEL_STEPS) for mu in levels]
        private = learn(*plans, n_draws=_DRAWS).reshape(len(plans), _DRAWS, -1)
        free = learn(plan(mu=math.inf, n_steps=_FREE_STEPS))
        for column, weights in enumerate([*private, free]):
            row[column] = ((weights @ mapped[test].T) * problem.y[test] > 0).mean()
    return out


def kernel_accuracies(
    name: str,
    *,
    splits: int,
    seed: int,
    methods: tuple[str, ...] = METHODS,
    source: str = "auto",
    n_jobs: int | None = 1,
) -> _KernelAccuracies:
    """Test accuracies of private learners under five budgets, over stratified 70/30 splits.

    A method's numbers do not depend on which others are run; ``LIMIT`` draws all records jointly.
    """
    check_choice("name", name, PROBLEMS)
    check_integer("splits", splits, minimum=2)
    stream_name = f"margin-exp-kernel {name}"
    for method in methods:
        check_choice("method", method, (*METHODS, LIMIT))
    run = partial(_split, name=name, source=source, methods=methods)
    results = run_trials(run, splits, seed=seed, name=stream_name, n_jobs=n_jobs)
    values = dict(zip(methods, np.stack(results, axis=1), strict=True))
    sample = kernel_problem(name, rng=np.random.default_rng(0), source=source)
    n = len(sample.y)
    return _KernelAccuracies(values, name, n - math.ceil(0.3 * n), sample.source)
