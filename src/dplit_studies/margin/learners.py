"""Algorithm 4 beside its alternatives, and how its error scales: our experiments.

Excess losses are against exact minimisers, whose duality gap is below 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_rng,
)
from dplit.accounting import gdp_budget
from dplit.datasets.classification import PROBLEMS, KernelProblem, kernel_problem
from dplit.features import gaussian_kernel
from dplit.margin.data import margin_data
from dplit.margin.descent import (
    _PenalisedHinge,
    _perturbed_minimiser,
    descent_bound,
    noisy_hinge_descent,
    phased_bound,
    phased_descent,
)
from dplit.margin.duplicates import _Accounting, _phase_sizes, _single_copy_mu
from dplit.margin.exact_hinge import minimise_hinge
from dplit.margin.kernels import _direct_features, streamed_projection
from dplit.margin.losses import Ball, hinge_loss
from dplit.margin.plans import phased_schedule, plan_descent
from dplit.streams import stream
from dplit.trials import Runs, Trial, mean_and_se, run_trials

#: Name of a pass -> accounting of its duplicates; None: no noise.
_PASSES: dict[str, _Accounting | None] = {
    "permutation": "permutation",
    "copies, exact mixture": "mixture",
    "copies, tight cap": "tight_cap",
    "copies, log(1/delta)": "log_cap",
    "no noise": None,
}

_STEPS = (50, 200, 800)

_PENALTIES = (0.3, 1.0, 3.0, 4.0)

#: gamma, share of flipped labels, margin rho, dimension k.
_SETTING = (0.5, 0.05, 0.25, 50)


@dataclass(frozen=True)
class _ExcessTable(Runs):
    """Excess hinge losses by method, one a data set, and their bounds (nan: none)."""

    n_samples: int
    bound: dict[str, float]


def _levels(n_samples: int, epsilon: float, delta: float) -> dict[str, float]:
    """Return the level of one copy in every phased pass."""
    level = partial(_single_copy_mu, epsilon=epsilon, delta=delta, n_samples=n_samples)
    return {
        name: math.inf if way is None else level(accounting=way) for name, way in _PASSES.items()
    }


def _passes(
    X: Array, y: Array, levels: dict[str, float], runs: int, rng: np.random.Generator
) -> Iterator[tuple[str, Array, float]]:
    """Yield name, weights and bound of every phased pass."""
    m, k = X.shape
    sizes = Ball(_SETTING[2], 1.0, 1.0)._asdict() | {"n_draws": m, "n_features": k}
    for name, mu in levels.items():
        plan, again = phased_schedule(**sizes, mu=mu), name != "permutation"
        weights = phased_descent(X, y, plan, replacement=again, rng=rng, n_draws=runs)
        yield name, weights, phased_bound(plan)


def _alternatives(
    X: Array, y: Array, mu: float, runs: int, rng: np.random.Generator
) -> Iterator[tuple[str, Array, float]]:
    """Yield name, weights and bound (nan: none) of full-batch descent and output perturbation."""
    rho = _SETTING[2]
    for steps in _STEPS:
        plan = plan_descent(X.shape, Ball(rho, 1.0, 1.0), mu=mu, n_steps=steps)
        weights = noisy_hinge_descent(X, y, plan, rng=rng, n_draws=runs)
        bound = descent_bound(
            gradient=1.0 / rho, radius=1.0, sigma=plan.sigma, noise_dimension=X.shape[1],
            n_steps=steps,
        )  # fmt: skip
        yield f"full batch, T = {steps}", weights, bound
    for penalty in _PENALTIES:
        task = _PenalisedHinge(rho, 1.0, penalty)
        noisy = _perturbed_minimiser(X, y, task, mu=mu, rng=rng, n_draws=runs).weights
        lengths = np.linalg.norm(noisy, axis=1, keepdims=True)
        yield f"output, lambda = {penalty:g}", noisy / np.maximum(lengths, 1.0), math.nan


def excess_table(
    n_samples: int, *, epsilon: float = 1.0, delta: float = 1e-6, runs: int = 4, sets: int = 3,
    seed: int = 0,
) -> _ExcessTable:  # fmt: skip
    """Excess empirical hinge loss of Algorithm 4's pass and of its alternatives, by data set.

    50 dimensions, margin 0.5, 5 % flipped labels, loss at 0.25, ball 1; means over the runs.
    """
    m, count = check_integer("n_samples", n_samples), check_integer("runs", runs, minimum=2)
    gamma, flips, rho, k = _SETTING
    name, mu = f"margin-exp-alg4-{m}", gdp_budget(epsilon=epsilon, delta=delta)
    levels = _levels(m, epsilon, delta)
    excess: dict[str, list[float]] = {}
    bounds = {}
    for trial in range(check_integer("sets", sets, minimum=2)):
        data, rng = (stream(seed, name, role, trial) for role in ("data", "noise"))
        X, y = margin_data(m, k, margin=gamma, flips=flips, rng=data)
        best = minimise_hinge(X, y, margin=rho, radius=1.0).lower
        found = [*_passes(X, y, levels, count, rng), *_alternatives(X, y, mu, count, rng)]
        for method, weights, bounds[method] in found:
            loss = float(hinge_loss(y * (weights @ X.T), margin=rho).mean())
            excess.setdefault(method, []).append(loss - best)
    return _ExcessTable({n: np.array(v) for n, v in excess.items()}, m, bounds)


def _linear_records(n_samples: int, n_features: int, *, strength: float) -> tuple[Array, Array]:
    r"""Records :math:`(s,\pm\sqrt{1-s^2},0,\dots)`, labels 1: the hinge is linear on the ball."""
    s = check_positive("strength", strength)
    if s >= 1.0:
        raise ValueError(f"strength must be below 1, got {strength=!r}")
    X = np.zeros((check_integer("n_samples", n_samples), check_integer("n_features", n_features)))
    X[:, 0], X[:, 1] = s, math.sqrt(1.0 - s * s) * np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    return X, np.ones(len(X))


def scaling_excess(
    n_samples: int, n_features: int, *, mu: float, runs: int, seed: int
) -> tuple[float, float, float]:
    r"""Excess of a phased pass with replacement on linear records, its error, and its bound.

    The mean of the records has length :math:`16\sqrt k/(m\mu)`: the noise decides.
    """
    k, m = check_integer("n_features", n_features, minimum=2), check_integer("n_samples", n_samples)
    strength = 16.0 * math.sqrt(k) / (m * check_positive("mu", mu))
    X, y = _linear_records(m, k, strength=strength)
    rng = stream(seed, f"margin-lem31-{m}-{k}-{mu:.6g}", "noise")
    sizes = Ball(1.0, 1.0, 1.0)._asdict() | {"n_draws": m, "n_features": k}
    plan, count = phased_schedule(**sizes, mu=mu), check_integer("runs", runs, minimum=2)
    weights = phased_descent(X, y, plan, replacement=True, rng=rng, n_draws=count)
    excess = mean_and_se(strength * (1.0 - weights[:, 0]))
    return float(excess.mean), float(excess.se), phased_bound(plan)


def draw_squared_copies(n_samples: int, *, size: int, rng: np.random.Generator) -> Array:
    r"""Draw :math:`\sum_iN_i^2` by counting copies, the second route to ``copy_law``."""
    check_rng(rng)
    m = check_integer("n_samples", n_samples, minimum=2)
    total = np.zeros(check_integer("size", size))
    for draws in _phase_sizes(m):
        total += rng.binomial(draws, 1.0 / m, size=len(total)) ** 2.0
    return total


# Accuracy of private kernel learners: few direct features, many, or very many compressed. All
# budgets share the features of a split; the draws of the noise descend together.


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
        np.arange(len(problem.y)), test_size=0.3, stratify=problem.y,
        random_state=int(data.integers(2**31)),
    )  # fmt: skip
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
    name: str, *, splits: int, seed: int, methods: tuple[str, ...] = METHODS, source: str = "auto",
    n_jobs: int | None = 1,
) -> _KernelAccuracies:  # fmt: skip
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
