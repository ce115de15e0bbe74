"""Bounds that the counts of one event on two neighbours give, at a stated confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from dplit._checks import check_integer, check_nonnegative, check_probability


def clopper_pearson(successes: int, trials: int, *, confidence: float) -> tuple[float, float]:
    """Exact two-sided confidence interval of a binomial probability.

    Parameters
    ----------
    successes : int
        Number of hits, in [0, trials].
    trials : int
        Number of independent runs, at least 1.
    confidence : float
        Coverage in (0, 1). Each limit fails with probability at most ``(1 - confidence) / 2``.

    Returns
    -------
    tuple of float
        Lower and upper limit, ``0 <= low < high <= 1``.

    Notes
    -----
    With ``a = (1 - confidence) / 2`` the limits are the a-quantile of Beta(k, n - k + 1) and the
    (1 - a)-quantile of Beta(k + 1, n - k).

    References
    ----------
    Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934), 404-413.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, confidence=0.95)
    >>> low, round(high, 6) == round(1 - 0.025 ** (1 / 100), 6)
    (0.0, True)
    """
    trials = check_integer("trials", trials)
    successes = check_integer("successes", successes, minimum=0, maximum=trials)
    tail = (1.0 - check_probability("confidence", confidence)) / 2.0
    low = special.betaincinv(successes, trials - successes + 1, tail) if successes else 0.0
    if successes == trials:
        return float(low), 1.0
    return float(low), float(special.betainccinv(successes + 1, trials - successes, tail))


@dataclass(frozen=True)
class _Limits:
    """Simultaneous limits of the two probabilities of one event; each fails with (1 - c) / 4."""

    in_low: float
    in_high: float
    out_low: float
    out_high: float

    @classmethod
    def of(cls, hits_in: int, hits_out: int, runs: int, confidence: float) -> _Limits:
        both = 1.0 - (1.0 - check_probability("confidence", confidence)) / 2.0
        for name, hits in (("hits_in", hits_in), ("hits_out", hits_out)):
            check_integer(name, hits, minimum=0, maximum=check_integer("runs", runs))
        return cls(
            *clopper_pearson(hits_in, runs, confidence=both),
            *clopper_pearson(hits_out, runs, confidence=both),
        )

    def pairs(self) -> list[tuple[float, float]]:
        """Return (lower, upper) limits of the event and its complement, in both directions."""
        return [
            (self.in_low, self.out_high),
            (self.out_low, self.in_high),
            (1.0 - self.in_high, 1.0 - self.out_low),
            (1.0 - self.out_high, 1.0 - self.in_low),
        ]


def epsilon_lower_bound(
    hits_in: int, hits_out: int, runs: int, *, delta: float = 0.0, confidence: float
) -> float:
    """Smallest epsilon that the counts of one event leave possible at a given delta.

    Parameters
    ----------
    hits_in, hits_out : int
        How often the event happened on the two neighbouring data sets.
    runs : int
        Independent runs on each side. The event must not have been chosen on these runs.
    delta : float, default=0.0
        The delta of the claim, in [0, 1).
    confidence : float
        Probability in (0, 1) with which the bound is at most the true epsilon.

    Returns
    -------
    float
        Nonnegative lower bound: an (epsilon, delta) mechanism exceeds its own epsilon here with
        probability at most ``1 - confidence``.

    Notes
    -----
    The largest of ``log((p_low - delta) / q_high)`` over the event and its complement in both
    directions. The four share four one-sided Clopper-Pearson limits, each at a quarter of the
    error (Bonferroni), so the maximum over the four costs nothing more.

    Examples
    --------
    >>> round(epsilon_lower_bound(5000, 1840, 10_000, confidence=0.99), 3)
    0.913
    """
    delta = check_probability("delta", delta, zero=True)
    limits = _Limits.of(hits_in, hits_out, runs, confidence)
    ratios = [math.log((p - delta) / q) for p, q in limits.pairs() if p > delta and q > 0]
    return max(0.0, *ratios) if ratios else 0.0


def delta_lower_bound(
    hits_in: int, hits_out: int, runs: int, *, epsilon: float, confidence: float
) -> float:
    """Smallest delta that the counts of one event leave possible at a given epsilon.

    For a membership attack with true and false positive rates this is ``TPR - e^epsilon FPR``
    made rigorous; at epsilon = 0 it is a lower bound on the attack's advantage.

    Parameters
    ----------
    hits_in, hits_out : int
        How often the event happened on the two neighbouring data sets (the attack said "in").
    runs : int
        Independent runs on each side.
    epsilon : float
        The epsilon of the claim, in [0, inf).
    confidence : float
        Probability in (0, 1) with which the bound is at most the true delta.

    Returns
    -------
    float
        Lower bound in [0, 1).

    Examples
    --------
    >>> round(delta_lower_bound(900, 100, 1000, epsilon=0.5, confidence=0.99), 3)
    0.657
    """
    growth = math.exp(min(check_nonnegative("epsilon", epsilon), 700.0))
    limits = _Limits.of(hits_in, hits_out, runs, confidence)
    return max(0.0, *(p - growth * q for p, q in limits.pairs()))


def gaussian_dp_lower_bound(hits_in: int, hits_out: int, runs: int, *, confidence: float) -> float:
    """Smallest Gaussian-DP parameter mu that the counts of one event leave possible.

    Parameters
    ----------
    hits_in, hits_out : int
        How often the event happened on the two neighbouring data sets.
    runs : int
        Independent runs on each side.
    confidence : float
        Probability in (0, 1) with which the bound is at most the true mu.

    Returns
    -------
    float
        Nonnegative lower bound. ``gaussian_epsilon(delta=delta, sigma=1 / mu)`` turns it into an
        epsilon, rightly so only where the claim is a claim of Gaussian DP (one Gaussian release,
        or a composition of them): a single middle threshold is then far stronger than
        :func:`epsilon_lower_bound`, which needs events of probability about delta.

    Notes
    -----
    mu-GDP means ``Phi^-1(p) <= Phi^-1(q) + mu`` for every event in both directions; complements
    say the same.

    References
    ----------
    Dong, Roth and Su, Gaussian differential privacy, J. R. Stat. Soc. B 84 (2022), Definition 4.

    Examples
    --------
    >>> round(gaussian_dp_lower_bound(8413, 5000, 10_000, confidence=0.99), 3)
    0.922
    """
    limits = _Limits.of(hits_in, hits_out, runs, confidence)
    gaps = [special.ndtri(p) - special.ndtri(q) for p, q in limits.pairs()[:2]]
    return max(0.0, *(float(gap) for gap in gaps))
