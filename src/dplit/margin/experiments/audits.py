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
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import chi2, chisquare, ncx2, norm

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_probability,
)
from dplit.accounting import gdp_budget
from dplit.margin.descent import noisy_hinge_descent, phased_descent
from dplit.margin.losses import Array
from dplit.streams import stream

__all__ = [
    "CanaryAudit",
    "Learner",
    "audit_learner",
    "canary_scores",
    "detectable_budget",
    "level_pvalue",
    "share_bound",
]


# Chi-square tests of exact samplers on their error counts, and what they can see.


def level_pvalue(counts: ArrayLike, law: ArrayLike, drawn: ArrayLike) -> tuple[float, int]:
    """Chi-square test of drawn error counts against an enumerated law.

    Parameters
    ----------
    counts : array_like of shape (n,)
        Error counts of all candidates.
    law : array_like of shape (n,)
        Their probabilities.
    drawn : array_like of shape (t,)
        Error counts of the draws.

    Returns
    -------
    pvalue : float
        Of Pearson's statistic; counts with fewer than five expected draws are merged.
    levels : int
        Number of cells.

    Raises
    ------
    TypeError, ValueError
        If an array is not a finite vector, or a drawn count is none of the candidates'.

    Examples
    --------
    >>> round(level_pvalue([0, 1], [0.5, 0.5], [0] * 60 + [1] * 40)[0], 4)
    0.0455
    """
    values = check_finite_array("counts", counts, ndim=1).astype(float)
    masses = check_finite_array("law", law, ndim=1).astype(float)
    seen_counts = check_finite_array("drawn", drawn, ndim=1).astype(float)
    levels, place = np.unique(values, return_inverse=True)
    where = np.minimum(np.searchsorted(levels, seen_counts), len(levels) - 1)
    if np.any(levels[where] != seen_counts):
        raise ValueError("drawn must hold error counts of candidates only")
    expected = np.bincount(place, weights=masses) * len(seen_counts)
    seen = np.bincount(where, minlength=len(levels)).astype(float)
    big = expected >= 5
    cells = np.append(expected[big], expected[~big].sum())
    hits = np.append(seen[big], seen[~big].sum())
    if cells[-1] < 5 and len(cells) > 1:  # too small a rest joins the cell before it
        cells[-2], hits[-2] = cells[-2] + cells[-1], hits[-2] + hits[-1]
        cells, hits = cells[:-1], hits[:-1]
    result = chisquare(hits, cells * hits.sum() / cells.sum())
    return float(result.pvalue), len(cells)


def detectable_budget(
    counts: ArrayLike, law: ArrayLike, *, n_draws: int, cells: int, level: float
) -> float:
    r"""Error of epsilon that the chi-square test of error counts sees with probability 0.9.

    Parameters
    ----------
    counts, law : array_like of shape (n,)
        Error counts of all candidates, and their probabilities.
    n_draws : int
        Draws of the test.
    cells : int
        Cells of the test, at least 2.
    level : float
        Its false-alarm probability, in (0, 1).

    Returns
    -------
    float
        :math:`|\Delta\epsilon|`, to first order: the statistic has noncentrality
        :math:`t\,\Delta\epsilon^2\,\mathrm{Var}(N)/4` for t draws.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> options = dict(n_draws=10_000, cells=2, level=1e-4)
    >>> round(detectable_budget([0, 1], [0.5, 0.5], **options), 2)
    0.21
    """
    values = check_finite_array("counts", counts, ndim=1).astype(float)
    masses = check_finite_array("law", law, ndim=1).astype(float)
    df = check_integer("cells", cells, minimum=2) - 1
    critical = chi2.isf(check_interval("level", level, 0.0, 1.0), df)
    needed = brentq(lambda shift: ncx2.sf(critical, df, shift) - 0.9, 1e-6, 1e4)
    variance = float(masses @ (values - masses @ values) ** 2)
    return float(np.sqrt(4 * needed / (check_integer("n_draws", n_draws) * variance)))


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
    >>> from dplit.margin.experiments.audits import share_bound
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
    >>> from dplit.margin.experiments.audits import canary_scores
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
    >>> from dplit.margin.experiments.audits import audit_learner
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
