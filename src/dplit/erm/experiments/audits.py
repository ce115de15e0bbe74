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
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.audit import Controls, EventAudit, audit_hits, clopper_pearson, run_controls
from dplit.baselines import PerturbedObjective, objective_perturbation
from dplit.baselines.objective import SmoothLoss, loss_slopes
from dplit.erm.release import release_scalar_shift
from dplit.streams import stream

__all__ = [
    "LineAudit",
    "ShiftAudit",
    "answer_delta",
    "audit_answer",
    "audit_controls",
    "audit_line",
    "audit_power",
    "detectable_loss",
    "line_log_density",
    "privacy_loss",
    "random_line_pairs",
]


#: Bins on either side of which nothing is left to see: from -4 to 4 gaps, in 16 bins.
_BINS = 16


def privacy_loss(outputs: ArrayLike, value: float, neighbour: float, *, scale: float) -> Array:
    r"""Log ratio of the densities of one released value under two neighbours.

    Parameters
    ----------
    outputs : array_like
        Released numbers t.
    value, neighbour : float
        :math:`f_z(x_0)` and :math:`f_{\bar z}(x_0)`.
    scale : float
        Laplace scale s, positive.

    Returns
    -------
    ndarray
        :math:`(|t-f_{\bar z}|-|t-f_z|)/s`: between plus and minus :math:`|f_z-f_{\bar z}|/s`,
        constant outside the two values and linear between them.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> privacy_loss([-2.0, 0.0, 2.0], 1.0, -1.0, scale=2.0)
    array([-1.,  0.,  1.])
    """
    t = check_finite_array("outputs", outputs)
    ends = check_finite_array("value and neighbour", [value, neighbour], ndim=1)
    s = check_positive("scale", scale)
    return np.asarray((np.abs(t - ends[1]) - np.abs(t - ends[0])) / s)


def answer_delta(*, epsilon: float, gap: float, scale: float) -> float:
    r"""Exact delta at ``epsilon`` of one released value: the privacy profile of Laplace noise.

    Parameters
    ----------
    epsilon : float
        Nonnegative.
    gap : float
        Distance :math:`|f_z(x_0)-f_{\bar z}(x_0)|`, nonnegative.
    scale : float
        Laplace scale s, positive.

    Returns
    -------
    float
        :math:`\max\{0,1-e^{(\epsilon-g/s)/2}\}`; 0 from :math:`\epsilon=g/s` on, the smallest
        epsilon of the answer.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Half the mass, above :math:`f_z`, has loss g/s. Between the values the loss runs linearly from
    -g/s to g/s; integrating :math:`(p-e^\epsilon q)_+` gives the formula.

    Examples
    --------
    >>> answer_delta(epsilon=0.5, gap=1.0, scale=2.0)
    0.0
    >>> round(answer_delta(epsilon=0.5, gap=1.0, scale=1.0), 6)
    0.221199
    """
    loss = check_nonnegative("gap", gap) / check_positive("scale", scale)
    return max(0.0, -math.expm1(0.5 * (check_nonnegative("epsilon", epsilon) - loss)))


@dataclass(frozen=True)
class ShiftAudit:
    """An audit of one answer, by one event fixed in advance, and its picture bin by bin.

    Attributes
    ----------
    event : EventAudit
        Counts and bounds for the event "the answer exceeds ``value``".
    centres : ndarray of shape (k,)
        Middles of the bins of outputs.
    losses, low, high : ndarray of shape (k,)
        Log ratio of the two hit rates of each bin, and the ends of an interval that holds the true
        log ratio with the audit's confidence, for each bin on its own.
    """

    event: EventAudit
    centres: Array
    losses: Array
    low: Array
    high: Array


def _check_order(value: float, neighbour: float) -> tuple[float, float]:
    f, g = check_finite_array("value and neighbour", [value, neighbour], ndim=1).astype(float)
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
) -> ShiftAudit:
    """Audit one answer of the release against a claimed epsilon, from outputs alone.

    Parameters
    ----------
    value, neighbour : float
        The function at one point on two neighbouring data sets, ``value > neighbour``.
    scale : float
        Laplace scale of the release, positive.
    epsilon : float
        The claim, nonnegative; delta is 0.
    runs : int
        Releases of each, at least 1.
    confidence : float, default=0.9999
        Probability with which a true claim is not refuted.
    rng : numpy.random.Generator

    Returns
    -------
    ShiftAudit
        ``event.violated`` refutes the claim.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The event "above ``value``" has probabilities 1/2 and exp(-gap/scale)/2: its log ratio is the
    whole privacy loss, and of all events with that ratio it is the most frequent, but for its
    complement's mirror image. See :func:`audit_power` for what the audit can see.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> audit = audit_answer(1.0, 0.0, scale=1.0, epsilon=0.5, runs=10_000,
    ...     rng=stream(0, "example", "noise"))
    >>> audit.event.violated
    True
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
    return ShiftAudit(event, 0.5 * (edges[1:] + edges[:-1]), losses, low, high)


def audit_power(*, loss: float, epsilon: float, runs: int, confidence: float = 0.9999) -> float:
    r"""Exact probability that :func:`audit_answer` refutes a claim when the true loss is larger.

    Parameters
    ----------
    loss : float
        True privacy loss gap/scale, nonnegative.
    epsilon : float
        The claim, nonnegative.
    runs : int
        Releases on each side, at least 1.
    confidence : float, default=0.9999

    Returns
    -------
    float
        Probability, over both counts, that the lower limit of the first rate exceeds
        :math:`e^\epsilon` times the upper limit of the second. The audit looks at three further
        inequalities, so its power is at least this.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The counts are binomial with probabilities 1/2 and :math:`\frac12e^{-loss}`. For each second
    count the least first count that refutes is a binomial quantile; the sum leaves out second
    counts beyond 9 standard deviations, of total probability below 1e-18.

    Examples
    --------
    >>> audit_power(loss=1.0, epsilon=0.5, runs=10_000) > 0.999
    True
    >>> audit_power(loss=0.5, epsilon=0.5, runs=10_000) < 1e-4
    True
    """
    true = check_nonnegative("loss", loss)
    claim, n = check_nonnegative("epsilon", epsilon), check_integer("runs", runs)
    tail = 0.25 * (1.0 - check_probability("confidence", confidence))
    p, q = 0.5, 0.5 * math.exp(-true)
    width = 9.0 * math.sqrt(n * q * (1.0 - q)) + 9.0
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
    """Smallest true loss that the audit refutes with a given probability.

    Parameters
    ----------
    epsilon : float
        The claim, positive.
    runs : int
        Releases on each side, at least 1.
    confidence : float, default=0.9999
    power : float, default=0.9
        Wanted probability, in (0, 1).

    Returns
    -------
    float
        The loss; ``epsilon / detectable_loss`` is the smallest deficit of the noise that is seen.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.
    RuntimeError
        If not even a loss of 10 more is seen with so few runs.

    Examples
    --------
    >>> 0.5 < detectable_loss(epsilon=0.5, runs=100_000) < 0.55
    True
    """
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
) -> Controls:
    """Whether the audit is silent on the right noise and catches half of it.

    Parameters
    ----------
    value, neighbour, epsilon, runs, confidence, rng
        As in :func:`audit_answer`; the right scale is ``(value - neighbour) / epsilon``.

    Returns
    -------
    Controls
        ``sound`` if both are as they should be.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> audit_controls(1.0, 0.0, epsilon=0.5, runs=10_000, rng=stream(0, "example", "noise")).sound
    True
    """
    f, g = _check_order(value, neighbour)
    right = (f - g) / check_positive("epsilon", epsilon)

    def alarm(factor: float) -> bool:
        return audit_answer(
            f, g, scale=factor * right, epsilon=epsilon, runs=runs, confidence=confidence, rng=rng
        ).event.violated

    return run_controls(alarm)


# Objective perturbation on the line, where the density of the released weight is known exactly.
#
# The released w determines the noise that it needs, :math:`b(w)=\sum_ia_iu_i-2\lambda nw` with
# :math:`a_i=-\ell'(u_iw)`, and its density is that of b times :math:`|b'(w)|`.


class LineAudit(NamedTuple):
    """What two neighbours on the line show of the guarantee, by quadrature.

    ``log_ratio`` is the largest logarithm of the ratio of the two densities, ``delta`` the larger
    hockey-stick divergence at the claimed epsilon.
    """

    log_ratio: float
    delta: float


def line_log_density(
    w: Array, u: Array, model: PerturbedObjective, *, loss: SmoothLoss, smoothing: float = 0.5
) -> Array:
    """Logarithm of the density of the weight that objective perturbation releases on the line.

    Parameters
    ----------
    w : ndarray of shape (k,)
        Weights.
    u : ndarray of shape (n,)
        Products of record and label.
    model : PerturbedObjective
        Its noise and regularisation are used, not its coefficient.
    loss : {"logistic", "huberised_hinge"}
    smoothing : float, default=0.5

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> model = PerturbedObjective(np.zeros(1), 0.5, 1.0, 2.0, 0.0, "replace_one")
    >>> w = np.linspace(-50, 50, 20_001)
    >>> density = np.exp(line_log_density(w, np.array([1.0]), model, loss="logistic"))
    >>> round(float(np.trapezoid(density, w)), 4)
    1.0
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
    loss: SmoothLoss = "huberised_hinge", n_points: int = 200_001,
) -> LineAudit:  # fmt: skip
    """Compare the exact densities of the release on two neighbouring data sets on the line.

    Parameters
    ----------
    u, v : array_like of shape (n,)
        Products of record and label in [-1, 1], which differ in one entry.
    epsilon, delta, regularization
        As for :func:`~dplit.baselines.objective_perturbation`.
    loss : {"logistic", "huberised_hinge"}, default="huberised_hinge"
    n_points : int, default=200001
        Points of the quadrature.

    Returns
    -------
    LineAudit

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Examples
    --------
    >>> audit = audit_line([1.0], [-1.0], epsilon=1.0, delta=0.0, regularization=50.0)
    >>> 0.98 < audit.log_ratio <= 1.0, audit.delta < 1e-12
    (True, True)
    """
    first, second = (check_finite_array(*pair, ndim=1) for pair in (("u", u), ("v", v)))
    if first.shape != second.shape or np.sum(first != second) > 1:
        raise ValueError(f"v must differ from u in one entry, got {first.tolist()} and {v!r}")
    model = objective_perturbation(
        first[:, None], np.ones(len(first)), epsilon=epsilon, delta=delta, data_norm=1.0,
        regularization=regularization, loss=loss, rng=stream(0, "erm-line", "noise"),
    )  # fmt: skip
    spread = 30.0 / model.noise if delta == 0.0 else 10.0 * model.noise
    reach = (spread + len(first)) / (2.0 * model.regularization * len(first))
    w = np.linspace(-reach, reach, check_integer("n_points", n_points, minimum=3))
    logs = [line_log_density(w, points, model, loss=loss) for points in (first, second)]
    p, q = np.exp(logs[0]), np.exp(logs[1])
    growth = math.exp(epsilon)
    excess = [np.maximum(p - growth * q, 0.0), np.maximum(q - growth * p, 0.0)]
    largest = max(float(np.trapezoid(values, w)) for values in excess)
    return LineAudit(float(np.abs(logs[0] - logs[1]).max()), largest)


def random_line_pairs(
    count: int, *, epsilon: float, delta: float, loss: SmoothLoss, rng: np.random.Generator
) -> list[LineAudit]:
    """Audit random neighbours of 1 to 20 records; a record is turned round or replaced by an end.

    Parameters
    ----------
    count : int
        At least 1.
    epsilon, delta : float
    loss : {"logistic", "huberised_hinge"}
    rng : numpy.random.Generator

    Returns
    -------
    list of LineAudit

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> audits = random_line_pairs(2, epsilon=1.0, delta=0.0, loss="logistic",
    ...     rng=np.random.default_rng(0))
    >>> all(audit.log_ratio <= 1.0 for audit in audits)
    True
    """
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
