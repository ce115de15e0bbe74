r"""One answer of :math:`f_z+b`, audited: exact privacy loss, a million releases, stated power.

For one evaluation the scalar shift is the Laplace mechanism. All that can go wrong is its scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainccinv
from scipy.stats import binom, norm

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
from dplit.baselines import PerturbedObjective, SmoothLoss, loss_slopes, objective_perturbation
from dplit.erm.release import release_scalar_shift
from dplit.streams import stream

#: Bins on either side of which nothing is left to see: from -4 to 4 gaps, in 16 bins.
_BINS = 16


def privacy_loss(outputs: ArrayLike, value: float, neighbour: float, *, scale: float) -> Array:
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
    value: float, neighbour: float, *, scale: float, epsilon: float, runs: int,
    confidence: float = 0.9999, rng: np.random.Generator,
) -> _ShiftAudit:  # fmt: skip
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
    value: float, neighbour: float, *, epsilon: float, runs: int, confidence: float = 0.9999,
    rng: np.random.Generator,
) -> Controls[bool]:  # fmt: skip
    """Whether the audit is silent on the right noise and catches half of it."""
    f, g = _check_order(value, neighbour)
    right = (f - g) / check_positive("epsilon", epsilon)

    def alarm(factor: float) -> bool:
        return audit_answer(
            f, g, scale=factor * right, epsilon=epsilon, runs=runs, confidence=confidence, rng=rng
        ).event.violated

    return run_controls(alarm)


# Objective perturbation on the line: w determines its noise :math:`b(w)=\sum_ia_iu_i-2\lambda nw`,
# :math:`a_i=-\ell'(u_iw)`, and its density is that of b times :math:`|b'(w)|`.


class _LineAudit(NamedTuple):
    """What two neighbours on the line show of the guarantee, by quadrature. ``log_ratio`` is the
    largest logarithm of the ratio of the two densities, ``delta`` the larger hockey-stick
    divergence at the claimed epsilon.
    """

    log_ratio: float
    delta: float


def line_log_density(
    w: Array, u: Array, model: PerturbedObjective, *, loss: SmoothLoss, smoothing: float = 0.5
) -> Array:
    """Logarithm of the density, at ``w``, of the weight that objective perturbation releases.

    ``u`` are the products of record and label; of ``model`` only noise and regularisation are used.
    """
    margins = np.multiply.outer(w, u)
    _, first, second = loss_slopes(margins, loss, smoothing)
    penalty = 2.0 * model.regularization * len(u)
    b = -(first @ u) - penalty * w
    jacobian = np.log(second @ u**2 + penalty)
    if model.delta == 0.0:
        return np.asarray(math.log(model.noise / 2.0) - model.noise * np.abs(b) + jacobian)
    return np.asarray(norm.logpdf(b, scale=model.noise) + jacobian)


def audit_line(
    u: ArrayLike, v: ArrayLike, *, epsilon: float, delta: float, regularization: float,
    loss: SmoothLoss = "huberised_hinge", smoothing: float = 0.5, n_points: int = 200_001,
) -> _LineAudit:  # fmt: skip
    """Compare the exact densities of the release on two neighbouring data sets on the line.

    ``u`` and ``v`` are products of record and label in [-1, 1] that differ in one entry.
    """
    first, second = check_real_array("u", u, 1), check_real_array("v", v, 1)
    if first.shape != second.shape or np.sum(first != second) > 1:
        raise ValueError(f"v must differ from u in one entry, got {first.tolist()} and {v!r}")
    model = objective_perturbation(
        first[:, None], np.ones(len(first)), epsilon=epsilon, delta=delta, data_norm=1.0,
        regularization=regularization, loss=loss, smoothing=smoothing,
        rng=stream(0, "erm-line", "noise"),
    )  # fmt: skip
    spread = 30.0 / model.noise if delta == 0.0 else 10.0 * model.noise
    reach = (spread + len(first)) / (2.0 * model.regularization * len(first))
    w = np.linspace(-reach, reach, check_integer("n_points", n_points, minimum=3))
    logs = [
        line_log_density(w, points, model, loss=loss, smoothing=smoothing)
        for points in (first, second)
    ]
    p, q = np.exp(logs[0]), np.exp(logs[1])
    growth = math.exp(epsilon)
    excess = [np.maximum(p - growth * q, 0.0), np.maximum(q - growth * p, 0.0)]
    largest = max(float(np.trapezoid(values, w)) for values in excess)
    return _LineAudit(float(np.abs(logs[0] - logs[1]).max()), largest)


def random_line_pairs(
    count: int, *, epsilon: float, delta: float, loss: SmoothLoss, rng: np.random.Generator
) -> list[_LineAudit]:
    """Audit random neighbours of 1 to 20 records, one of which is replaced by an end."""
    audits = []
    for _ in range(check_integer("count", count)):
        u = rng.uniform(-1.0, 1.0, int(rng.integers(1, 21)))
        v = u.copy()
        v[-1] = rng.choice([-1.0, 1.0])
        penalty = float(10.0 ** rng.uniform(-3.0, 1.0))
        audits.append(
            audit_line(
                u, v, epsilon=epsilon, delta=delta, regularization=penalty, loss=loss,
                n_points=20_001,
            )
        )  # fmt: skip
    return audits
