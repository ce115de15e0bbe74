"""Null and planted controls of an auditor. Public through :mod:`dplit.audit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dplit._checks import check_callable, check_integer, check_probability, check_rng
from dplit.audit.events import delta_lower_bound, epsilon_lower_bound, gaussian_dp_lower_bound

_Data = TypeVar("_Data")
_Audit = TypeVar("_Audit")


@dataclass(frozen=True)
class EventAudit:
    """What the counts of one event say about a claimed (epsilon, delta).

    Attributes
    ----------
    hits_in, hits_out, runs : int
        The counts.
    epsilon, delta : float
        The claim.
    confidence : float
        Of each of the three bounds.
    epsilon_lower, delta_lower, mu_lower : float
        Lower bounds: of epsilon at the claimed delta, of delta at the claimed epsilon, and of the
        Gaussian-DP parameter.

    Examples
    --------
    >>> audit = audit_hits(900, 100, 1000, epsilon=1.0, confidence=0.99)
    >>> bool(1.0 < audit.epsilon_lower < np.log(9.0)), audit.violated
    (True, True)
    """

    hits_in: int
    hits_out: int
    runs: int
    epsilon: float
    delta: float
    confidence: float
    epsilon_lower: float
    delta_lower: float
    mu_lower: float

    @property
    def violated(self) -> bool:
        """Whether the counts refute the claim."""
        return self.delta_lower > self.delta


def audit_hits(
    hits_in: int, hits_out: int, runs: int, *, epsilon: float, delta: float = 0.0, confidence: float
) -> EventAudit:
    """Bounds that the counts of one event give, beside the claim they test.

    Parameters
    ----------
    hits_in, hits_out : int
        How often the event happened on the two neighbouring data sets.
    runs : int
        Independent runs on each side.
    epsilon : float
        Claimed epsilon, in [0, inf).
    delta : float, default=0.0
        Claimed delta, in [0, 1).
    confidence : float
        Probability in (0, 1) with which a true claim is not refuted.

    Returns
    -------
    EventAudit
        Counts, claim and bounds; ``violated`` is true with probability at most ``1 - confidence``
        if the claim holds.

    Examples
    --------
    >>> audit_hits(500, 68, 1000, epsilon=1.0, confidence=0.999).violated
    True
    """
    return EventAudit(
        hits_in,
        hits_out,
        runs,
        epsilon,
        delta,
        confidence,
        epsilon_lower_bound(hits_in, hits_out, runs, delta=delta, confidence=confidence),
        delta_lower_bound(hits_in, hits_out, runs, epsilon=epsilon, confidence=confidence),
        gaussian_dp_lower_bound(hits_in, hits_out, runs, confidence=confidence),
    )


def audit_event(
    release: Callable[[_Data, np.random.Generator], Any],
    data: _Data,
    neighbour: _Data,
    event: Callable[[Any], bool],
    *,
    runs: int,
    epsilon: float,
    delta: float = 0.0,
    confidence: float,
    rng: np.random.Generator,
) -> EventAudit:
    """Audit a whole release: run it on two neighbours and count one event.

    Parameters
    ----------
    release : callable
        ``release(data, rng)``: the public function or estimator under audit, noise and all.
    data, neighbour : object
        Two neighbouring data sets in the sense of the claim.
    event : callable
        ``event(output)`` is true or false. Fixed in advance, by theory or on a pilot run, never
        on the runs that are counted.
    runs : int
        Runs on each side, at least 1. A million see a noise deficit of 2 %, ten thousand 10 %.
    epsilon : float
        Claimed epsilon, in [0, inf).
    delta : float, default=0.0
        Claimed delta, in [0, 1).
    confidence : float
        Probability in (0, 1) with which a true claim is not refuted.
    rng : numpy.random.Generator
        Source of all noise of the runs.

    Returns
    -------
    EventAudit
        Counts, claim and bounds.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> audit = audit_event(
    ...     lambda x, rng: x + rng.laplace(scale=0.5), 1.0, 0.0, lambda y: y >= 1.0,
    ...     runs=2000, epsilon=1.0, confidence=0.999, rng=stream(0, "example", "noise"))
    >>> audit.violated
    True
    """
    check_callable("release", release)
    check_callable("event", event)
    check_integer("runs", runs)
    check_rng(rng)
    hits_in, hits_out = (
        _count(bool(event(release(records, rng))) for _ in range(runs))
        for records in (data, neighbour)
    )
    return audit_hits(hits_in, hits_out, runs, epsilon=epsilon, delta=delta, confidence=confidence)


def _count(outcomes: Iterable[bool]) -> int:
    return sum(outcomes)


@dataclass(frozen=True)
class Controls(Generic[_Audit]):
    """What an auditor found with the right noise (``null``) and with too little (``planted``).

    Each is an audit, which says itself whether it is ``violated``, or the alarm alone.

    >>> Controls(null=False, planted=True).sound, Controls(null=True, planted=True).sound
    (True, False)
    """

    null: _Audit
    planted: _Audit

    @property
    def null_alarm(self) -> bool:
        """Whether the right noise raised the alarm."""
        return bool(getattr(self.null, "violated", self.null))

    @property
    def planted_alarm(self) -> bool:
        """Whether the planted fault raised the alarm."""
        return bool(getattr(self.planted, "violated", self.planted))

    @property
    def sound(self) -> bool:
        """Whether it was silent on the null control and caught the planted one."""
        return self.planted_alarm and not self.null_alarm


def run_controls(audit: Callable[[float], _Audit], *, planted: float = 0.5) -> Controls[_Audit]:
    """Null control and planted control of an auditor.

    Parameters
    ----------
    audit : callable
        ``audit(factor)`` audits the mechanism with its noise multiplied by ``factor`` and returns
        an object with an attribute ``violated``, or whether the claim is refuted.
    planted : float, default=0.5
        Factor of the planted fault, in (0, 1).

    Returns
    -------
    Controls
        The two outcomes; an auditor without ``sound`` controls says nothing.

    Examples
    --------
    >>> run_controls(lambda factor: factor < 0.9).sound
    True
    """
    check_callable("audit", audit)
    planted = check_probability("planted", planted)
    return Controls(audit(1.0), audit(planted))
