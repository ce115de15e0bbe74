"""An audit of the learners with many canaries a run, each with an axis of its own."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import norm

from dplit._checks import Array, check_choice, check_finite_array, check_integer, check_probability
from dplit.accounting import gdp_budget
from dplit.margins._descent import noisy_hinge_descent
from dplit.margins.balls import Ball
from dplit.margins.phased import phased_descent
from dplit.margins.plans import phased_schedule, plan_descent
from dplit.streams import stream

_Learner = Literal["ball", "no ball", "phased"]


class _CanaryAudit(NamedTuple):
    """What guesses about canaries say about a claimed level."""

    share: float
    mu_lower: float
    mu_claimed: float
    scores: Array
    coins: Array

    @property
    def violated(self) -> bool:
        """Whether the guesses refute the claim."""
        return self.mu_lower > self.mu_claimed


def share_bound(shares: Array, *, confidence: float) -> float:
    r"""Empirical Bernstein lower bound on the mean of R independent numbers in [0, 1].

    Mean minus :math:`\sqrt{2v\log(2/a)/R}+7\log(2/a)/(3(R-1))`, a = 1 - confidence.
    """
    values = check_finite_array("shares", shares, ndim=1)
    count = check_integer("number of runs", len(values), minimum=2)
    if values.min() < 0.0 or values.max() > 1.0:
        raise ValueError(f"shares must lie in [0, 1], got {values.min():g} to {values.max():g}")
    log = math.log(2.0 / (1.0 - check_probability("confidence", confidence)))
    spread = math.sqrt(2.0 * float(values.var(ddof=1)) * log / count)
    return float(values.mean()) - spread - 7.0 * log / (3.0 * (count - 1))


def _canary_scores(
    learner: _Learner, *, mu: float, n_canaries: int, runs: int, seed: int
) -> tuple[Array, Array]:
    """Weights along the canaries of many runs, and the coins, both (runs, guesses).

    Of a phased pass the first quarter of the first phase is guessed, in the permutation's order.
    """
    check_choice("learner", learner, ("ball", "no ball", "phased"))
    m, count = check_integer("n_canaries", n_canaries, minimum=8), check_integer("runs", runs)
    name = f"margin-canaries-{learner}"
    coins: Array = 2.0 * stream(seed, name, "data").integers(0, 2, (count, m)).astype(float) - 1.0
    noise = stream(seed, name, "noise")
    if learner != "phased":
        plan = plan_descent(
            (m, m), Ball(1.0, 1.0, 1.0), mu=mu, n_steps=10, project=learner == "ball"
        )
        return noisy_hinge_descent(np.eye(m), coins, plan, rng=noise, n_draws=count), coins
    order = stream(seed, name, "noise").permuted(np.tile(np.arange(m), (count, 1)), axis=1)
    passes = phased_schedule(margin=1.0, radius=1.0, data_norm=1.0, n_draws=m, n_features=m, mu=mu)
    weights = phased_descent(np.eye(m), coins, passes, replacement=False, rng=noise, n_draws=count)
    early = order[:, : m // 8]
    return np.take_along_axis(weights, early, 1), np.take_along_axis(coins, early, 1)


def audit_learner(
    learner: _Learner,
    *,
    epsilon: float,
    delta: float,
    n_canaries: int,
    runs: int,
    seed: int,
    noise_factor: float = 1.0,
    confidence: float = 0.9999,
) -> _CanaryAudit:
    """Audit a learner against its claimed level, with its noise multiplied by a factor.

    ``noise_factor`` 1 is the null control, 0.5 the planted fault.
    """
    mu = gdp_budget(epsilon=epsilon, delta=delta)
    scores, coins = _canary_scores(
        learner, mu=mu / noise_factor, n_canaries=n_canaries, runs=runs, seed=seed
    )
    shares = np.mean(scores * coins > 0.0, axis=1)
    lower = share_bound(shares, confidence=confidence)
    bound = 2.0 * float(norm.ppf(min(max(lower, 0.5), 1.0 - 1e-12)))
    return _CanaryAudit(float(shares.mean()), bound, mu, scores, coins)
