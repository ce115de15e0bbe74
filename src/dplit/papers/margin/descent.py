"""What private descents on the hinge loss are shown to achieve: bounds on the excess."""

from __future__ import annotations

import math

from dplit._checks import check_integer, check_positive, check_probability
from dplit.margins._checks import check_geometry
from dplit.margins.losses import hinge_sensitivity
from dplit.margins.plans import BoostedPlan, PhasedPlan, descent_step


def descent_bound(
    *, gradient: float, radius: float, sigma: float, noise_dimension: int, n_steps: int
) -> float:
    r"""Bound :math:`D\sqrt{(G^2+q\sigma^2)/T}` on the mean iterate's expected excess hinge loss."""
    args = {"gradient": gradient, "radius": radius, "sigma": sigma}
    step = descent_step(**args, noise_dimension=noise_dimension, n_steps=n_steps)
    return radius**2 / (step * n_steps)


def rank_bound(
    *,
    margin: float,
    radius: float,
    data_norm: float,
    n_samples: int,
    rank: int,
    mu: float,
    n_steps: int | None = None,
) -> float:
    r"""Excess hinge loss of noisy descent **without** projection, against every w of the ball.

    :math:`\Lambda G\sqrt{1/T+4q/(m\mu)^2}` at rank q; ``n_steps=None`` is the limit of many steps.
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    q, m = check_integer("rank", rank), check_integer("n_samples", n_samples)
    level = check_positive("mu", mu, infinite=True)
    steps = math.inf if n_steps is None else check_integer("n_steps", n_steps)
    return size * norm / rho * math.sqrt(1.0 / steps + 4.0 * q / (m * level) ** 2)


def phased_bound(plan: PhasedPlan) -> float:
    r"""Bound on the expected excess hinge loss of one pass.

    The empirical hinge with replacement; with a permutation of independent records the
    population's. For n a power of two :math:`4DG\sqrt{(\frac{11}{48}+4c^2k/n)/n}` plus the last
    noise.
    """
    (rho, radius, norm), k = plan.ball, plan.shape[1]
    gradient = norm / rho
    starts = [radius**2, *(k * sigma**2 for sigma in plan.sigmas[:-1])]
    moved = sum(
        start / (2.0 * step * size)
        for start, step, size in zip(starts, plan.steps, plan.sizes, strict=True)
    )
    paid = sum(plan.steps) * gradient**2 / 2.0 + gradient**2 / (2.0 * plan.smoothness)
    return moved + paid + gradient * math.sqrt(k) * plan.sigmas[-1]


def boosted_bound(plan: BoostedPlan, *, beta: float) -> float:
    r"""Bound on the excess empirical hinge loss of Algorithm 4, with probability 1 - beta.

    Twice :func:`phased_bound` plus :math:`\frac4\epsilon\Delta\log(2M/\beta)` for the choice,
    :math:`\Delta` the sensitivity of the mean hinge on the ball.

    >>> from dplit.margins.balls import Ball
    >>> from dplit.margins.plans import plan_boosted
    >>> plan = plan_boosted((10**6, 50), Ball(0.25, 1.0, 1.0), epsilon=1.0, delta=1e-7, beta=0.05)
    >>> round(boosted_bound(plan, beta=0.05), 3)
    0.038
    """
    (rho, size, norm), (m, _) = plan.phases.ball, plan.phases.shape
    one = phased_bound(plan.phases)
    width = hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=m)
    failure = check_probability("beta", beta)
    return 2.0 * one + 2.0 / plan.choice * width * math.log(2.0 * plan.runs / failure)
