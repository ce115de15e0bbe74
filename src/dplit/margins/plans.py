"""Plans: what a private learner of a margin will do, from public numbers: privacy in, noise out.

A plan is made before a record is looked at. The learner follows it, the statement of an estimator
prints it, and the ledger is told of its noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
)
from dplit._numerics.rounding import round_down
from dplit.accounting import gdp_budget
from dplit.margins._checks import check_geometry
from dplit.margins._kinds import Solver
from dplit.margins.balls import Ball
from dplit.margins.duplicates import _Accounting, _phase_sizes, _single_copy_mu

#: Steps of the two descents by default, at least and at most.
_STEPS = {"noisy_gradient": (100, 2000), "accelerated": (100, 400)}

#: Accelerated steps for each root of the signal-to-noise ratio.
_PACE = 16.0

#: Part of the margin over which the slope of the rounded hinge falls from 1 to 0.
_CORNER = 0.5

#: 1/6 (gradients) + 1/16 (smoothing): the part of the risk of a pass that is there without noise.
_QUIET = 11.0 / 48.0

#: Half the distance between 1 and the next number.
_UNIT = 2.0**-53


def descent_noise(
    *, margin: float, data_norm: float, n_samples: int, mu: float, n_steps: int
) -> float:
    r"""Noise :math:`2G\sqrt T/(m\mu)` of one step per coordinate of the mean gradient, for T steps.

    ``mu`` is the level of all: replacing a record moves the mean gradient by at most :math:`2G/m`,
    :math:`G=r/\rho`, and T adaptive releases of level :math:`\mu/\sqrt T` compose to :math:`\mu`,
    exactly.

    >>> round(descent_noise(margin=0.1, data_norm=1.0, n_samples=1000, mu=1.0, n_steps=100), 12)
    0.2
    """
    gradient = check_positive("data_norm", data_norm) / check_positive("margin", margin)
    m, steps = check_integer("n_samples", n_samples), check_integer("n_steps", n_steps)
    return 2.0 * gradient * math.sqrt(steps) / (m * check_positive("mu", mu, infinite=True))


def descent_step(
    *, gradient: float, radius: float, sigma: float, noise_dimension: int, n_steps: int
) -> float:
    r"""Step length :math:`D/\sqrt{T(G^2+q\sigma^2)}` that balances start and noise; D is the norm
    of the comparator, q = d with projection, else the rank of the data.

    >>> descent_step(gradient=3.0, radius=1.0, sigma=1.0, noise_dimension=16, n_steps=4)
    0.1
    """
    q, steps = check_integer("noise_dimension", noise_dimension), check_integer("n_steps", n_steps)
    moved = check_positive("gradient", gradient) ** 2 + q * sigma**2
    return check_positive("radius", radius) / math.sqrt(steps * moved)


def _accelerated_step(ball: Ball, *, noise: float, n_steps: int) -> float:
    r"""Step length :math:`\min\{\frac1{2L},\sqrt6\,\Lambda(T+2)^{-3/2}/s\}` of Lan's method.

    :math:`L=r^2/(\kappa\rho^2)` is the smoothness, s the length of the noise on a mean gradient.
    """
    smooth = _CORNER * (ball.margin / ball.data_norm) ** 2 / 2.0
    loud = noise * (n_steps + 2) ** 1.5
    return min(smooth, math.sqrt(6.0) * ball.radius / loud) if loud > 0.0 else smooth


def _default_steps(solver: str, *, n_samples: int, noise_dimension: int, mu: float) -> int:
    r"""Number of steps where two terms of a bound are equal, but not below 100.

    Plain: :math:`(m\mu)^2/(4q)`, from :func:`~dplit.papers.margin.descent.rank_bound`, at most
    2000. Accelerated: :math:`\sqrt{2m\mu/(a\sqrt k)}` at a margin of :math:`a\Lambda r`, twice that
    at a = 1/32, :math:`16\sqrt{m\mu/\sqrt k}`, at most 400.
    """
    m, q = check_integer("n_samples", n_samples), check_integer("noise_dimension", noise_dimension)
    signal = m * check_positive("mu", mu)
    if solver == "accelerated":
        wanted = _PACE * math.sqrt(signal / math.sqrt(q))
    else:
        wanted = signal**2 / (4.0 * q)
    least, most = _STEPS[solver]
    return math.ceil(min(max(wanted, least), most))


def _signal_to_noise(*, n_samples: int, noise_dimension: int, mu: float) -> float:
    r"""Longest gradient over the noise on the mean of all of them, :math:`m\mu/(2\sqrt q)`."""
    q = check_integer("noise_dimension", noise_dimension)
    m = check_integer("n_samples", n_samples)
    return m * check_positive("mu", mu) / (2.0 * math.sqrt(q))


@dataclass(frozen=True)
class DescentPlan:
    """Full-batch descent on m records of k columns: level in, noise on a mean gradient out.

    >>> plan = plan_descent((1000, 16), Ball(0.1, 1.0, 1.0), mu=1.0, n_steps=25)
    >>> plan.shape, plan.n_steps, round(plan.sigma, 12)  # 2 * 10 * 5 / 1000
    ((1000, 16), 25, 0.1)
    """

    ball: Ball
    shape: tuple[int, int]
    mu: float
    n_steps: int
    sigma: float
    step: float
    project: bool = True


def plan_descent(
    shape: Sequence[int],
    ball: Ball,
    *,
    mu: float,
    n_steps: int | None = None,
    solver: Solver = "noisy_gradient",
    project: bool = True,
    step: float | None = None,
) -> DescentPlan:
    """Plan ``mu``-GDP descent in a ball; without ``project`` iterates leave it, at no cost of
    privacy. None is ``_default_steps``, and the step length of the solver's bound.

    >>> ball = Ball(0.1, 1.0, 1.0)
    >>> one, four = (plan_descent((1000, 16), ball, mu=1.0, n_steps=steps) for steps in (1, 4))
    >>> round(four.sigma / one.sigma, 12)
    2.0
    """
    rho, size, norm = check_geometry(*ball)
    m, k = check_integer("n_samples", shape[0]), check_integer("n_components", shape[1])
    if n_steps is None:
        n_steps = _default_steps(solver, n_samples=m, noise_dimension=k, mu=mu)
    steps = check_integer("n_steps", n_steps)
    sigma = descent_noise(margin=rho, data_norm=norm, n_samples=m, mu=mu, n_steps=steps)
    if step is None and solver == "accelerated":
        step = _accelerated_step(ball, noise=sigma * math.sqrt(k), n_steps=steps)
    elif step is None:
        step = descent_step(
            gradient=norm / rho,
            radius=size,
            sigma=sigma,
            n_steps=steps,
            noise_dimension=k if project else min(m, k),
        )
    return DescentPlan(ball, (m, k), mu, steps, sigma, check_positive("step", step), project)


@dataclass(frozen=True)
class PhasedPlan:
    r"""A phased pass: draws, steps :math:`4^{-i}\eta` and noise of each phase; smoothness.

    >>> plan = phased_schedule(margin=0.1, radius=1.0, data_norm=1.0, n_draws=1000, n_features=5,
    ...                        mu=1.0)
    >>> plan.steps[0] / plan.steps[1], plan.sigmas[0] > plan.sigmas[1]
    (4.0, True)
    """

    ball: Ball
    shape: tuple[int, int]
    sizes: tuple[int, ...]
    steps: tuple[float, ...]
    sigmas: tuple[float, ...]
    smoothness: float


def phased_schedule(
    *, margin: float, radius: float, data_norm: float, n_draws: int, n_features: int, mu: float
) -> PhasedPlan:
    r"""Phases with the step length that minimises the bound; ``mu`` is the level of one copy.

    Phase i has noise :math:`c(G\eta_i+Du_i)`, :math:`c=2/\mu`, :math:`G=r/\rho`, D the ball:
    :math:`u_i=2^{-53}n_i(12k+80)` pays for the rounding of its :math:`n_i` steps.

    >>> plan = phased_schedule(margin=0.1, radius=1.0, data_norm=1.0, n_draws=16, n_features=5,
    ...                        mu=1.0)
    >>> plan.sizes
    (8, 4, 2, 1)
    """
    ball = check_geometry(margin, radius, data_norm)
    rho, size, norm = ball
    sizes, k = _phase_sizes(n_draws), check_integer("n_features", n_features)
    gradient, c = norm / rho, 2.0 / check_positive("mu", mu, infinite=True)
    eta = 2.0 * size / gradient / math.sqrt(n_draws * _QUIET + 4.0 * c * c * k)
    steps = tuple(eta * 4.0**-i for i in range(1, len(sizes) + 1))
    rounding = size * _UNIT * (12 * k + 80)
    sigmas = tuple(
        c * (gradient * step + rounding * count) for step, count in zip(steps, sizes, strict=True)
    )
    return PhasedPlan(ball, (n_draws, k), sizes, steps, sigmas, 8.0 / eta)


@dataclass(frozen=True)
class BoostedPlan:
    """Algorithm 4: passes that share half of epsilon and delta, and epsilon for their choice.

    >>> plan = plan_boosted((1000, 5), Ball(0.1, 1.0, 1.0), epsilon=2.0, delta=1e-5,
    ...                     accounting="permutation")
    >>> plan.choice, sum(plan.phases.sizes) <= 1000
    (1.0, True)
    """

    phases: PhasedPlan
    runs: int
    mu: float
    choice: float
    replacement: bool


def _boosting_runs(beta: float) -> int:
    r"""Number of runs :math:`M=\lceil\log_2(2/\beta)\rceil`, so that :math:`2^{-M}\le\beta/2`."""
    return math.ceil(math.log2(2.0 / check_interval("beta", beta, 1e-100, 1.0)))


def plan_boosted(
    shape: Sequence[int],
    ball: Ball,
    *,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    accounting: _Accounting = "mixture",
) -> BoostedPlan:
    """Plan Algorithm 4: (epsilon/2, delta) for all passes together, epsilon/2 for the choice.

    ``beta`` sets the number of passes. ``accounting`` of duplicates as in ``_single_copy_mu``:
    ``permutation`` draws without replacement, and only ``log_cap`` needs delta < 1/m and epsilon <=
    log(1/delta).

    >>> few, many = (
    ...     plan_boosted((1000, 5), Ball(0.1, 1.0, 1.0), epsilon=2.0, delta=1e-5, beta=beta,
    ...                  accounting="permutation")
    ...     for beta in (0.5, 0.05)
    ... )
    >>> few.runs < many.runs, few.mu > many.mu  # more passes, each of which spends less
    (True, True)
    """
    (rho, size, norm), (m, k) = check_geometry(*ball), shape
    check_integer("n_samples", m, minimum=2)  # two phases have one each
    runs, half = _boosting_runs(beta), check_positive("epsilon", epsilon) / 2.0
    if accounting == "log_cap" and epsilon > math.log(1.0 / check_probability("delta", delta)):
        raise ValueError(f"epsilon must be at most log(1/delta) for 'log_cap', got {epsilon=!r}")
    mu = _single_copy_mu(epsilon=half, delta=delta, n_samples=m, accounting=accounting, runs=runs)
    phases = phased_schedule(
        margin=rho, radius=size, data_norm=norm, n_draws=m, n_features=k, mu=mu
    )
    return BoostedPlan(phases, runs, mu, half, accounting != "permutation")


@dataclass(frozen=True)
class LearningPlan:
    """One descent for each margin of a grid, and epsilon for the choice among them (0: none).

    The budget of the descents is that of all of them together; ``str`` says what is done.

    >>> plan = plan_learning((1000, 5), [Ball(0.1, 1.0, 1.0)], epsilon=1.0, delta=1e-5, n_steps=100)
    >>> print(plan)
    100 steps with noise 0.746 in each coordinate of a mean gradient
    """

    solver: Solver
    descents: tuple[DescentPlan | BoostedPlan, ...]
    balls: tuple[Ball, ...]
    epsilon: float
    delta: float
    choice: float

    @property
    def n_features(self) -> int:
        """Columns of the records that are learnt from."""
        first = self.descents[0]
        return (first.phases if isinstance(first, BoostedPlan) else first).shape[1]

    def __str__(self) -> str:
        """Say in words what is done, from public numbers alone."""
        first, count = self.descents[0], len(self.descents)
        if isinstance(first, BoostedPlan):
            loud, still = first.phases.sigmas[0], first.phases.sigmas[-1]
            words = f"{first.runs} phased passes with noise {loud:.3g} to {still:.3g}"
            words += " in each coordinate of a phase's mean"
        else:
            words = f"{first.n_steps} steps with noise {first.sigma:.3g}"
            words += " in each coordinate of a mean gradient"
        if self.choice > 0.0:
            words += f", for each of {count} margins, of which epsilon={self.choice:g} chooses"
        return words


def plan_learning(
    shape: Sequence[int],
    balls: Sequence[Ball],
    *,
    epsilon: float,
    delta: float,
    solver: Solver = "noisy_gradient",
    n_steps: int | None = None,
    beta: float = 0.05,
    choice: float = 0.0,
) -> LearningPlan:
    r"""Plan a learner that spends (epsilon, delta) under replacement of one record.

    One descent for each of the ``balls``. Of epsilon ``choice`` is kept; the descents share the
    rest: Gaussian mechanisms compose as such, level :math:`\mu/\sqrt n` each, phased ones add up,
    :math:`(\epsilon/n,\delta/n)` each.

    >>> balls = [Ball(margin, 1.0, 1.0) for margin in (0.1, 0.2)]
    >>> plan = plan_learning((1000, 5), balls, epsilon=1.0, delta=1e-5)
    >>> together = math.hypot(*(descent.mu for descent in plan.descents))
    >>> math.isclose(together, gdp_budget(epsilon=1.0, delta=1e-5))
    True
    """
    check_choice("solver", solver, get_args(Solver))
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    rest = round_down(Fraction(epsilon) - Fraction(choice)) if choice > 0.0 else epsilon
    runs = len(balls)
    descents: list[DescentPlan | BoostedPlan] = []
    for ball in balls:
        if solver == "phased":
            descents.append(
                plan_boosted(
                    shape,
                    ball,
                    epsilon=rest / runs,
                    delta=delta / runs,
                    beta=beta,
                    accounting="permutation",
                )
            )
        else:
            mu = gdp_budget(epsilon=rest, delta=delta) / math.sqrt(runs)
            descents.append(plan_descent(shape, ball, mu=mu, n_steps=n_steps, solver=solver))
    return LearningPlan(solver, tuple(descents), tuple(balls), rest, delta, choice)


def margin_grid(*, radius: float, data_norm: float, size: int) -> Array:
    r"""Margins :math:`2^{-j}\Lambda r`, j < ``size``; half of :math:`\log_2m` are of use.

    >>> margin_grid(radius=1.0, data_norm=2.0, size=3)
    array([2. , 1. , 0.5])
    """
    top = check_positive("radius", radius) * check_positive("data_norm", data_norm)
    return np.asarray(top * 0.5 ** np.arange(check_integer("size", size)))
