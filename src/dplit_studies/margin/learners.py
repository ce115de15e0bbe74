"""Algorithm 4 beside its alternatives, and how its error scales: our experiments.

Excess losses are against exact minimisers, whose duality gap is below 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from dplit._checks import Array, check_integer, check_positive, check_rng
from dplit.accounting import gdp_budget
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.duplicates import _Accounting, _phase_sizes, _single_copy_mu
from dplit.margins.losses import hinge_loss
from dplit.margins.phased import phased_descent
from dplit.margins.plans import phased_schedule, plan_descent
from dplit.papers.margin.descent import descent_bound, phased_bound
from dplit.papers.margin.exact_hinge import minimise_hinge
from dplit.papers.margin.output_perturbation import _PenalisedHinge, _perturbed_minimiser
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from dplit_studies.runs import Runs
from dplit_studies.trials import mean_and_se

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
            gradient=1.0 / rho,
            radius=1.0,
            sigma=plan.sigma,
            noise_dimension=X.shape[1],
            n_steps=steps,
        )
        yield f"full batch, T = {steps}", weights, bound
    for penalty in _PENALTIES:
        task = _PenalisedHinge(rho, 1.0, penalty)
        noisy = _perturbed_minimiser(X, y, task, mu=mu, rng=rng, n_draws=runs).weights
        lengths = np.linalg.norm(noisy, axis=1, keepdims=True)
        yield f"output, lambda = {penalty:g}", noisy / np.maximum(lengths, 1.0), math.nan


def excess_table(
    n_samples: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    runs: int = 4,
    sets: int = 3,
    seed: int = 0,
) -> _ExcessTable:
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
