r"""Audit of the iterative learners with many canaries in every run.

Records along different axes, each with a label by a fair coin: a learner that is mu-GDP lets nobody
guess a coin from the weights, other coins known, with probability above :math:`\Phi(\mu/2)`.  The
share of right guesses of a run is one number in [0, 1], whatever the dependence within the run;
over independent runs its mean has a confidence bound.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import norm

from dplit._checks import check_choice, check_finite_array, check_integer, check_probability
from dplit.conversions import gdp_budget
from dplit.margin._records import Array
from dplit.margin.full_batch import noisy_hinge_descent
from dplit.margin.phased import phased_descent
from dplit.streams import stream

__all__ = ["CanaryAudit", "Learner", "audit_learner", "canary_scores", "share_bound"]

Learner = Literal["ball", "no ball", "phased"]


class CanaryAudit(NamedTuple):
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
    r"""Lower confidence bound on the mean of independent numbers in [0, 1].

    Parameters
    ----------
    shares : ndarray of shape (R,)
        Independent, in [0, 1], at least 2.
    confidence : float
        In (0, 1).

    Returns
    -------
    float
        Mean minus :math:`\sqrt{2v\log(2/a)/R}+7\log(2/a)/(3(R-1))` with the sample variance v and
        :math:`a` = 1 - confidence. It holds for every R.

    References
    ----------
    A. Maurer and M. Pontil, Empirical Bernstein bounds, COLT 2009, arXiv:0907.3740, Theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.margin.canaries import share_bound
    >>> round(share_bound(np.tile([0.0, 1.0], 5000), confidence=0.99), 3)
    0.482
    """
    values = check_finite_array("shares", shares, ndim=1)
    count = check_integer("number of runs", len(values), minimum=2)
    if values.min() < 0.0 or values.max() > 1.0:
        raise ValueError(f"shares must lie in [0, 1], got {values.min():g} to {values.max():g}")
    log = math.log(2.0 / (1.0 - check_probability("confidence", confidence)))
    spread = math.sqrt(2.0 * float(values.var(ddof=1)) * log / count)
    return float(values.mean()) - spread - 7.0 * log / (3.0 * (count - 1))


def canary_scores(
    learner: Learner, *, mu: float, n_canaries: int, runs: int, seed: int, n_steps: int = 10
) -> tuple[Array, Array]:
    """Weights along the canaries of many runs, and the coins.

    Parameters
    ----------
    learner : {"ball", "no ball", "phased"}
        Noisy descent with or without projection, or one phased pass over a permutation.
    mu : float
        Level of the noise that is used.
    n_canaries, runs : int
        Records of a run, and independent runs.
    seed : int
    n_steps : int, default=10
        Steps of the full-batch descent.

    Returns
    -------
    tuple of ndarray of shape (runs, guesses)
        Scores and coins (-1 or 1). For the phased pass only the first quarter of the first phase
        is guessed, in the order of the permutation, which an adversary may know: later records
        hide behind the noise of the first phase.

    Examples
    --------
    >>> from dplit.margin.canaries import canary_scores
    >>> scores, coins = canary_scores("ball", mu=1.0, n_canaries=8, runs=5, seed=0)
    >>> scores.shape, coins.shape
    ((5, 8), (5, 8))
    """
    check_choice("learner", learner, ("ball", "no ball", "phased"))
    m, count = check_integer("n_canaries", n_canaries, minimum=8), check_integer("runs", runs)
    name = f"margin-canaries-{learner}"
    coins: Array = 2.0 * stream(seed, name, "data").integers(0, 2, (count, m)).astype(float) - 1.0
    noise = stream(seed, name, "noise")
    if learner != "phased":
        weights = noisy_hinge_descent(
            np.eye(m), coins, margin=1.0, radius=1.0, data_norm=1.0, mu=mu, n_steps=n_steps,
            rng=noise, project=learner == "ball", n_draws=count,
        ).weights  # fmt: skip
        return weights, coins
    order = stream(seed, name, "noise").permuted(np.tile(np.arange(m), (count, 1)), axis=1)
    weights = phased_descent(
        np.eye(m), coins, margin=1.0, radius=1.0, data_norm=1.0, mu=mu, replacement=False,
        rng=noise, n_draws=count,
    )  # fmt: skip
    early = order[:, : m // 8]
    return np.take_along_axis(weights, early, 1), np.take_along_axis(coins, early, 1)


def audit_learner(
    learner: Learner,
    *,
    epsilon: float,
    delta: float,
    n_canaries: int,
    runs: int,
    seed: int,
    noise_factor: float = 1.0,
    confidence: float = 0.9999,
) -> CanaryAudit:
    r"""Audit a learner against its claimed level, with its noise multiplied by a factor.

    Parameters
    ----------
    learner : {"ball", "no ball", "phased"}
    epsilon, delta : float
        Claimed budget; :math:`\mu` is the level that meets it exactly.
    n_canaries, runs, seed : int
        As in :func:`canary_scores`.
    noise_factor : float, default=1.0
        1 for the learner as it is (null control), 0.5 for the planted fault.
    confidence : float, default=0.9999
        Probability with which a true claim is not refuted.

    Returns
    -------
    CanaryAudit
        Share of right guesses by sign, and :math:`2\Phi^{-1}` of its lower bound.

    Notes
    -----
    Given all other coins, a guess of a coin is a test between two neighbouring data sets: under
    mu-GDP it is right with probability at most :math:`\frac12+\frac12\mathrm{TV}=\Phi(\mu/2)`.

    References
    ----------
    T. Steinke, M. Nasr, M. Jagielski, NeurIPS 2023, arXiv:2305.08846 (many canaries in a run); the
    bound for Gaussian privacy is ours.

    Examples
    --------
    >>> from dplit.margin.canaries import audit_learner
    >>> audit = audit_learner("ball", epsilon=1.0, delta=1e-6, n_canaries=16, runs=2000, seed=0)
    >>> audit.violated, audit.share > 0.5
    (False, True)
    """
    mu = gdp_budget(epsilon=epsilon, delta=delta)
    scores, coins = canary_scores(
        learner, mu=mu / noise_factor, n_canaries=n_canaries, runs=runs, seed=seed
    )
    shares = np.mean(scores * coins > 0.0, axis=1)
    lower = share_bound(shares, confidence=confidence)
    bound = 2.0 * float(norm.ppf(min(max(lower, 0.5), 1.0 - 1e-12)))
    return CanaryAudit(float(shares.mean()), bound, mu, scores, coins)
