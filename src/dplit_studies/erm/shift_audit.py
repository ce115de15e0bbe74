"""One answer of :math:`f_z+b`, audited: exact privacy loss, a million releases, stated power.

For one evaluation the scalar shift is the Laplace mechanism. All that can go wrong is its scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainccinv
from scipy.stats import binom

from dplit._checks import (
    Array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.audit import Controls, EventAudit, audit_hits, clopper_pearson, run_controls
from dplit.papers.erm.release import release_scalar_shift

#: Bins on either side of which nothing is left to see: from -4 to 4 gaps, in 16 bins.
_BINS = 16


def shift_loss(outputs: ArrayLike, value: float, neighbour: float, *, scale: float) -> Array:
    r"""Log ratio of the densities of one released value: :math:`(|t-f_{\bar z}|-|t-f_z|)/s`."""
    t = check_real_array("outputs", outputs)
    ends = check_real_array("value and neighbour", [value, neighbour], 1)
    s = check_positive("scale", scale)
    return np.asarray((np.abs(t - ends[1]) - np.abs(t - ends[0])) / s)


def answer_delta(*, epsilon: float, gap: float, scale: float) -> float:
    r"""Exact delta of one released value whose neighbour is at the distance ``gap``.

    :math:`\max\{0,1-e^{(\epsilon-g/s)/2}\}`, 0 from :math:`\epsilon=g/s` on.
    """
    loss = check_nonnegative("gap", gap) / check_positive("scale", scale)
    return max(0.0, -math.expm1(0.5 * (check_nonnegative("epsilon", epsilon) - loss)))


@dataclass(frozen=True)
class _ShiftAudit:
    """An audit of one answer, by the event "it exceeds ``value``", and its picture bin by bin.
    ``losses`` are log ratios of hit rates at the bins' ``centres``; each bin's interval from
    ``low`` to ``high`` has the audit's confidence.
    """

    event: EventAudit
    centres: Array
    losses: Array
    low: Array
    high: Array


def _check_order(value: float, neighbour: float) -> tuple[float, float]:
    f, g = check_real_array("value and neighbour", [value, neighbour], 1)
    if not f > g:
        raise ValueError(f"value must exceed neighbour, got {value!r} and {neighbour!r}")
    return float(f), float(g)


def audit_answer(
    value: float,
    neighbour: float,
    *,
    scale: float,
    epsilon: float,
    runs: int,
    confidence: float = 0.9999,
    rng: np.random.Generator,
) -> _ShiftAudit:
    """Audit one answer against a claimed pure epsilon, from outputs alone.

    ``value > neighbour``; a true claim is not refuted with probability ``confidence``.
    """
    f, g = _check_order(value, neighbour)
    n, level = check_integer("runs", runs), check_probability("confidence", confidence)
    generator = check_rng(rng)
    answers = [
        release_scalar_shift([centre], scale=scale, rng=generator, releases=n)[:, 0]
        for centre in (f, g)
    ]
    hits = [int((t > f).sum()) for t in answers]
    event = audit_hits(hits[0], hits[1], n, epsilon=epsilon, confidence=level)
    edges = 0.5 * (f + g) + (f - g) * np.linspace(-2.0, 2.0, _BINS + 1)
    counts = np.array([np.histogram(t, edges)[0] for t in answers])
    both = 1.0 - 0.5 * (1.0 - level)  # two intervals per bin share the error
    limits = np.array(
        [[clopper_pearson(int(k), n, confidence=both) for k in side] for side in counts]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(counts[0]) - np.log(counts[1])
        low = np.log(limits[0, :, 0]) - np.log(limits[1, :, 1])
        high = np.log(limits[0, :, 1]) - np.log(limits[1, :, 0])
    return _ShiftAudit(event, 0.5 * (edges[1:] + edges[:-1]), losses, low, high)


def audit_power(*, loss: float, epsilon: float, runs: int, confidence: float = 0.9999) -> float:
    """Exact probability that :func:`audit_answer` refutes a claim when the true loss is ``loss``.

    A lower bound, rather: the audit looks at three further inequalities.
    """
    true = check_nonnegative("loss", loss)
    claim, n = check_nonnegative("epsilon", epsilon), check_integer("runs", runs)
    tail = 0.25 * (1.0 - check_probability("confidence", confidence))
    p, q = 0.5, 0.5 * math.exp(-true)
    width = 9.0 * math.sqrt(n * q * (1.0 - q)) + 9.0  # beyond: probability below 1e-18
    second = np.arange(max(0, int(n * q - width)), min(n, int(n * q + width) + 1) + 1)
    # upper limit u of the second rate: P(Binomial(n, u) <= k) = tail
    upper = np.where(second < n, betainccinv(second + 1.0, np.maximum(n - second, 1), tail), 1.0)
    needed = math.exp(claim) * upper
    # lower limit of the first rate exceeds `needed` iff P(Binomial(n, needed) >= h) < tail
    least = binom.isf(tail, n, np.minimum(needed, 1.0)) + 1.0
    refuted = np.where(needed < 1.0, binom.sf(least - 1.0, n, p), 0.0)
    return min(1.0, float(np.sum(binom.pmf(second, n, q) * refuted)))


def detectable_loss(
    *, epsilon: float, runs: int, confidence: float = 0.9999, power: float = 0.9
) -> float:
    """Smallest true loss that the audit refutes with probability ``power``."""
    claim, wanted = check_positive("epsilon", epsilon), check_probability("power", power)

    def surplus(loss: float) -> float:
        return audit_power(loss=loss, epsilon=claim, runs=runs, confidence=confidence) - wanted

    if surplus(claim + 10.0) < 0.0:
        raise RuntimeError(f"runs={runs} are too few to see any loss with probability {power}")
    return float(brentq(surplus, claim, claim + 10.0, xtol=1e-6))


def audit_controls(
    value: float,
    neighbour: float,
    *,
    epsilon: float,
    runs: int,
    confidence: float = 0.9999,
    rng: np.random.Generator,
) -> Controls[bool]:
    """Whether the audit is silent on the right noise and catches half of it."""
    f, g = _check_order(value, neighbour)
    right = (f - g) / check_positive("epsilon", epsilon)

    def alarm(factor: float) -> bool:
        return audit_answer(
            f, g, scale=factor * right, epsilon=epsilon, runs=runs, confidence=confidence, rng=rng
        ).event.violated

    return run_controls(alarm)
