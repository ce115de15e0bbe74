"""Auditing from a single run with many canaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dplit._checks import check_integer, check_nonnegative, check_probability, check_real_array

#: Largest epsilon that the search considers; beyond it every answer is certain in float64.
_LARGEST_EPSILON = 36.0


@dataclass(frozen=True)
class OneRunAudit:
    """What the guesses about the canaries of one run say.

    Attributes
    ----------
    canaries, guesses, correct : int
        Canaries m, guesses r (the others abstain) and correct guesses v.
    delta, confidence : float
        The delta of the claim and the confidence of the bound.
    epsilon_lower : float
        Lower bound on epsilon at that delta.

    Examples
    --------
    >>> coins = np.arange(100) % 2 == 0
    >>> audit = one_run_audit(coins.astype(float), coins, guesses=100, confidence=0.99)
    >>> audit.violated(epsilon=3.0), audit.violated(epsilon=4.0)
    (True, False)
    """

    canaries: int
    guesses: int
    correct: int
    delta: float
    confidence: float
    epsilon_lower: float

    def violated(self, *, epsilon: float) -> bool:
        """Whether the run refutes (``epsilon``, delta), wrongly with probability 1 - confidence."""
        return self.epsilon_lower > check_nonnegative("epsilon", epsilon)


def one_run_p_value(
    correct: int, guesses: int, canaries: int, *, epsilon: float, delta: float = 0.0
) -> float:
    """Bound on the probability that an (epsilon, delta) mechanism lets so many guesses be right.

    Parameters
    ----------
    correct : int
        Correct guesses v, in [0, guesses].
    guesses : int
        Guesses r, in [0, canaries]; the rest abstain.
    canaries : int
        Canaries m, each in the data or not by a fair coin of its own.
    epsilon : float
        In [0, inf), for adding or removing one canary.
    delta : float, default=0.0
        In [0, 1).

    Returns
    -------
    float
        In (0, 1]. At delta = 0 it is exact: randomised response attains it.

    Notes
    -----
    Given the output and the first i - 1 coins, Bayes' rule bounds the odds of coin i by e^epsilon
    under pure privacy. The number of correct guesses is therefore stochastically at most
    ``B ~ Binomial(r, q)``, ``q = e^epsilon / (1 + e^epsilon)``. With delta > 0 it is at most
    ``B + F`` where F >= 0 is an integer of mean at most ``2 m delta``, independent of B, and

        P(B + F >= v) = P(B >= v) + sum_i P(F = i) P(v > B >= v - i)
                     <= P(B >= v) + 2 m delta max_i P(v > B >= v - i) / i.

    The second term is at least ``2 m delta P(B < v) / v``: to be sure at level a, delta must be
    well below ``a v / (2 m)``, however many guesses are right.

    References
    ----------
    Steinke, Nasr and Jagielski, Privacy auditing with one (1) training run, NeurIPS 2023,
    arXiv:2305.08846, Theorem 5.2 (pure) and its (epsilon, delta) version.

    Examples
    --------
    >>> one_run_p_value(10, 10, 10, epsilon=0.0)
    0.0009765625
    """
    canaries = check_integer("canaries", canaries)
    for name, value, limit in (("guesses", guesses, canaries), ("correct", correct, guesses)):
        check_integer(name, value, minimum=0, maximum=limit)
    q = 1.0 / (1.0 + np.exp(-check_nonnegative("epsilon", epsilon)))
    delta = check_probability("delta", delta, zero=True)
    if correct == 0:
        return 1.0
    tail = float(stats.binom.sf(correct - 1, guesses, q))
    if delta == 0.0:
        return min(1.0, tail)
    below = np.cumsum(stats.binom.pmf(np.arange(correct)[::-1], guesses, q))  # P(v > B >= v - i)
    worst = float((below / np.arange(1, correct + 1)).max())
    return min(1.0, tail + 2.0 * canaries * delta * worst)


def one_run_audit(
    scores: ArrayLike, included: ArrayLike, *, guesses: int, delta: float = 0.0, confidence: float
) -> OneRunAudit:
    """Lower bound on epsilon from one run: guess the highest scores in and the lowest out.

    Parameters
    ----------
    scores : array_like of shape (m,)
        One finite score per canary, computed from the output alone; high means "was in".
    included : array_like of bool, shape (m,)
        The coins: which canaries were in the data. They must be independent and fair.
    guesses : int
        Number r of guesses, in [1, m], fixed in advance: the upper half of r is guessed in, the
        lower half out.
    delta : float, default=0.0
        The delta of the claim, in [0, 1).
    confidence : float
        Probability in (0, 1) with which the bound is at most the true epsilon.

    Returns
    -------
    OneRunAudit
        Counts and bound. Sharp for randomised response and for Laplace noise at epsilon about 1;
        about half the truth for Gaussian noise at epsilon 4 and more.

    References
    ----------
    Steinke, Nasr and Jagielski, Privacy auditing with one (1) training run, NeurIPS 2023,
    arXiv:2305.08846, Algorithm 1.

    Examples
    --------
    >>> coins = np.arange(100) % 2 == 0
    >>> audit = one_run_audit(coins.astype(float), coins, guesses=100, confidence=0.99)
    >>> audit.correct, round(audit.epsilon_lower, 2)
    (100, 3.05)
    """
    values = check_real_array("scores", scores, 1)
    coins = np.asarray(included)
    if coins.dtype != np.bool_ or coins.shape != values.shape:
        raise ValueError(
            f"included must be boolean of shape {values.shape}, "
            f"got included of dtype {coins.dtype} and shape {coins.shape}"
        )
    m, r = len(values), check_integer("guesses", guesses, maximum=len(values))
    order = np.argsort(values, kind="stable")
    lowest, highest = order[: r // 2], order[m - (r - r // 2) :]
    correct = int(coins[highest].sum() + (~coins[lowest]).sum())
    level = 1.0 - check_probability("confidence", confidence)
    bound = _largest_refuted(correct, r, m, delta, level)
    return OneRunAudit(m, r, correct, delta, confidence, bound)


def _largest_refuted(
    correct: int, guesses: int, canaries: int, delta: float, level: float
) -> float:
    """Return an epsilon that the p-value refutes and that no bisection step could raise."""

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(correct, guesses, canaries, epsilon=epsilon, delta=delta) <= level

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _LARGEST_EPSILON
    while high - low > 1e-9 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
