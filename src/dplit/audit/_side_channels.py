"""What an observer sees beside the noised numbers, compared on neighbours.

A guarantee speaks of all that is seen: an exception, its text and the lines that it passed,
warnings, what is printed, which attributes there are, their types, shapes and values, the length of
a pickle. Each must be the same for neighbours, or happen at rates that the guarantee allows.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dplit._checks import (
    check_callable,
    check_integer,
    check_iterable,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.audit._nasty_pairs import NeighbourPair, checked_pairs
from dplit.audit._seen import _Release, _run, _Seen
from dplit.audit._traces import _found_traces, _traces
from dplit.audit.events import epsilon_lower_bound

_BLANKS = re.compile(r"\s+")
_Distance = Callable[[Any, Any], float]


class SideChannel(NamedTuple):
    """Something beside the noised numbers that tells neighbours apart.

    Attributes
    ----------
    pair : str
        Name of the pair.
    channel : str
        Where it is seen: "raises", "warnings", "printed", "pickle", the path of an attribute, ...
    event : str
        What is seen there.
    hits_in, hits_out, runs : int
        How often on the data and on the neighbour.
    epsilon_lower : float
        Smallest epsilon that the counts leave possible; infinite where no noise is at work.
    violated : bool
        Whether that is more than the claim.

    Examples
    --------
    >>> seen = SideChannel("one row of zeros", "raises", "ValueError", 10, 0, 10, math.inf, True)
    >>> report = SideChannelReport((seen,), 1, 0, 10, epsilon=1.0, delta=0.0, confidence=0.95)
    >>> report.violated
    True
    """

    pair: str
    channel: str
    event: str
    hits_in: int
    hits_out: int
    runs: int
    epsilon_lower: float
    violated: bool


@dataclass(frozen=True)
class SideChannelReport:
    """What :func:`side_channels` found; printed as a table.

    Attributes
    ----------
    findings : tuple of SideChannel
        Whatever differed, also where the claim allows it.
    n_pairs, n_raised, pilot : int
        Pairs that were tried, those among them where every run raised an exception, and runs on
        each side that looked for differences.
    epsilon, delta, confidence : float
        The claim, and the probability with which a true one is not refuted.

    Examples
    --------
    >>> print(SideChannelReport((), 3, 0, 10, epsilon=1.0, delta=0.0, confidence=0.95))
    3 pairs, 10 runs a side, claim (1, 0): nothing tells them apart
    """

    findings: tuple[SideChannel, ...]
    n_pairs: int
    n_raised: int
    pilot: int
    epsilon: float
    delta: float
    confidence: float

    @property
    def violated(self) -> bool:
        """Whether a finding refutes the claim."""
        return any(finding.violated for finding in self.findings)

    def __str__(self) -> str:
        """Return the table."""
        claim = f"({self.epsilon:g}, {self.delta:g})"
        raised = f" ({self.n_raised} always raise)" if self.n_raised else ""
        head = f"{self.n_pairs} pairs{raised}, {self.pilot} runs a side, claim {claim}: "
        if not self.findings:
            return head + "nothing tells them apart"
        rows = [
            (
                "VIOLATED" if found.violated else "allowed",
                f"epsilon >= {found.epsilon_lower:.3g}",
                f"{found.hits_in}/{found.runs} : {found.hits_out}/{found.runs}",
                found.channel,
                found.pair,
                found.event,
            )
            for found in self.findings
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]) for row in rows]
        return "\n".join([head + f"{len(rows)} differences", *lines])


class _Event(NamedTuple):
    """A text seen in a channel; None where it differs in every run and never comes back."""

    channel: str
    text: str | None
    what: str


def _events(left: list[_Seen], right: list[_Seen]) -> list[_Event]:
    """Return the channels that differ, each with the text whose counts differ most.

    Where one side raises an exception, all other channels but warnings only repeat it.
    """
    events: dict[str, _Event] = {}
    for channel in dict.fromkeys(name for seen in left for name in seen):
        if not any(channel in seen for seen in right):
            continue
        one, two = ([seen.get(channel, "") for seen in side] for side in (left, right))
        ins, outs = Counter(one), Counter(two)
        coarse = {"warnings": "", "warning texts": "warnings"}.get(channel, "raises")
        if ins == outs or coarse in events:
            continue
        text: str | None = max(ins | outs, key=lambda key: abs(ins[key] - outs[key]))
        what = text or "nothing"
        if channel == "attributes":
            what = "only on one side: " + " ".join(sorted({*one[0].split()} ^ {*two[0].split()}))
        if len(one) > 1 and len(set(one + two)) == len(one + two):
            text, what = None, "differs in every run, and is not named as noised"
        events[channel] = _Event(channel, text, _BLANKS.sub(" ", what)[:120])
    return list(events.values())


def _certain(pair: NeighbourPair, channel: str, what: str, runs: int) -> SideChannel:
    """Return a finding that needs no counting."""
    return SideChannel(pair.name, channel, what, runs, runs, runs, math.inf, True)


class _Audit(NamedTuple):
    """What all pairs of one call share."""

    release: _Release
    noised: tuple[str, ...]
    epsilon: float
    delta: float
    rng: np.random.Generator

    def runs(self, pair: NeighbourPair, count: int) -> Iterator[tuple[_Seen, Any, _Seen, Any]]:
        """Yield what is seen and released on both sides, with equal seeds."""
        for seed in self.rng.integers(2**30, 2**31, count).tolist():
            sides = (
                _run(self.release, part, seed, self.noised) for part in (pair.data, pair.neighbour)
            )
            (seen, released), (other, again) = sides
            yield seen, released, other, again

    def certain(
        self, pair: NeighbourPair, channel: str, what: str, hits: int, runs: int
    ) -> SideChannel:
        """Return a finding that needs no counting."""
        return SideChannel(pair.name, channel, what, hits, hits, runs, math.inf, True)

    def rates(
        self, pair: NeighbourPair, events: list[_Event], runs: int, confidence: float
    ) -> Iterator[SideChannel]:
        """Count events on fresh runs; each bound fails with its share of the probability."""
        left, right = Counter[int](), Counter[int]()
        counted = [event for event in events if event.text is not None]
        for seen, _, other, _ in self.runs(pair, runs if counted else 0):
            for index, event in enumerate(counted):
                left[index] += seen.get(event.channel, "") == event.text
                right[index] += other.get(event.channel, "") == event.text
        each = 1.0 - (1.0 - confidence) / max(len(counted), 1)
        for index, event in enumerate(counted):
            hits = left[index], right[index]
            lower = epsilon_lower_bound(*hits, runs, delta=self.delta, confidence=each)
            yield SideChannel(
                pair.name, event.channel, event.what, *hits, runs, lower, lower > self.epsilon
            )
        for event in events:
            if event.text is None:
                yield _certain(pair, event.channel, event.what, runs)

    def pilot(
        self, pair: NeighbourPair, runs: int, distance: _Distance | None, bound: float
    ) -> tuple[list[_Event], list[SideChannel], bool]:
        """Return what differs, what is wrong already, and whether every run raised."""
        left, right, found, kept, farthest = [], [], [], 0, 0.0
        for seen, released, other, again in self.runs(pair, runs):
            left.append(seen)
            right.append(other)
            if len(left) == 1:  # what is kept does not depend on the seed
                kept = _found_traces(released, _traces(pair, pair.data))
                kept += _found_traces(again, _traces(pair, pair.neighbour))
            if distance is not None and released is not None and again is not None:
                farthest = float(np.maximum(farthest, distance(released, again)))
        if kept:
            found.append(
                self.certain(pair, "traces", f"{kept} training values are kept", runs, runs)
            )
        if not farthest <= bound:
            what = f"moves by {farthest:.9g}, more than {bound:.9g}"
            found.append(_certain(pair, "distance", what, runs))
        raised = all(seen["raises"] != "nothing" for seen in left + right)
        return _events(left, right), found, raised


def _fitted(estimator: Any, data: tuple[Any, ...], rng: np.random.Generator) -> Any:
    """Fit a clone; its seed has a constant number of bytes, and so has its pickle."""
    seed = int(rng.integers(2**30, 2**31))
    return clone(estimator).set_params(random_state=seed).fit(*data)


def _under(
    setting: Mapping[str, Any],
    release: _Release,
    data: tuple[Any, ...],
    rng: np.random.Generator,
) -> Any:
    """Run a release under a user's own setting of floating-point errors."""
    with np.errstate(**setting):
        return release(data, rng)


def side_channels(
    release: Any,
    pairs: Iterable[NeighbourPair],
    *,
    noised: Sequence[str] = (),
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.9999,
    pilot: int = 3,
    runs: int = 100,
    distance: _Distance | None = None,
    bound: float = math.inf,
    errstate: Mapping[str, Any] | None = None,
    rng: np.random.Generator,
) -> SideChannelReport:
    """Compare all that an observer of a release sees, beside the noised numbers, on neighbours.

    Parameters
    ----------
    release : estimator or callable
        A scikit-learn estimator with a ``random_state``, of which clones are fitted, or
        ``release(data, rng)`` that returns anything; ``data`` are the arrays of one side.
    pairs : iterable of NeighbourPair
        Such as :func:`~dplit.audit.nasty_pairs` for the relation of the claim, and for what takes
        tables :func:`~dplit.audit.container_pairs`.
    noised : sequence of str
        Paths of the attributes that noise covers, with all below them: ``"coef_"``,
        ``"sketch_.sum"``, ``"[0]"`` for the first entry of a tuple, ``""`` for an array that is
        itself the release. Only whether they are finite is compared. "exception", "warnings" and
        "printed" mask the numbers in those texts. **Everything else must agree.**
    epsilon : float
        Claimed epsilon, in [0, inf). Counting cannot refute much more than ``log(runs)``: test at
        a small budget.
    delta : float, default=0.0
        Claimed delta, in [0, 1).
    confidence : float, default=0.9999
        Probability in (0, 1) with which no rate of an event refutes a true claim.
    pilot : int, default=3
        Runs on each side that look for differences, at least 2. An event of probability p is
        overlooked with probability ``(1 - p) ** pilot``.
    runs : int, default=100
        Fresh runs on each side that count what differed, for pairs where anything did.
    distance : callable, optional
        ``distance(released, other)`` for the releases of neighbours with equal seeds: equal noise
        cancels, so that the difference is that of the numbers below the noise.
    bound : float, default=inf
        What ``distance`` may not exceed: the sensitivity that calibrates the noise.
    errstate : mapping, optional
        What a user may have set of NumPy's floating-point errors, as ``{"all": "raise"}``: the
        release runs under it. A release that leaves it to the user tells of one record.
    rng : numpy.random.Generator
        Source of the seeds of all runs.

    Returns
    -------
    SideChannelReport
        With ``findings``, ``violated``, and a table as its text.

    Raises
    ------
    ValueError
        Also if every run on every pair raised an exception: then nothing was tested.

    Notes
    -----
    Compared are exceptions (type, text, traceback), warnings (category, text), what is printed, the
    printed object, the length of its pickle, and all that is reachable from it by attributes,
    items, slots, closures, frames of generators and bases of views: types, dtypes, shapes, memory
    order, values. Training values, as given, centred or scaled to length 1, must not be among the
    bits of the pickle or of what is reachable.

    A difference seen in the pilot becomes an event, one for each channel, whose rates are bounded
    on fresh runs (:func:`~dplit.audit.epsilon_lower_bound`, at a confidence shared among all pairs
    and events). Findings that need no counting have an infinite bound: training values that are
    kept, a number that differs at equal seeds in every run and never comes back, too large a
    distance.

    Time and memory are not looked at, nor is code that catches its own warnings.

    Examples
    --------
    >>> from dplit.audit import nasty_pairs
    >>> from dplit.streams import stream
    >>> def release(data, rng):
    ...     print("clipped" if abs(data[0]).max() > 1.0 else "as it is")
    ...     return np.clip(data[0], -1.0, 1.0).sum() + rng.laplace(scale=2.0)
    >>> pairs = nasty_pairs(1, relation="replace_one")
    >>> report = side_channels(release, pairs, noised=("",), epsilon=1.0,
    ...                        rng=stream(0, "example", "noise"))
    >>> report.violated, {finding.channel for finding in report.findings}
    (True, {'printed'})
    """
    least = check_integer("pilot", pilot, minimum=2)
    check_integer("runs", runs)
    bound = check_positive("bound", bound, infinite=True)
    sure = check_probability("confidence", confidence)
    if not hasattr(release, "fit"):
        check_callable("release", release)
    if distance is not None:
        check_callable("distance", distance)
    run = partial(_fitted, release) if hasattr(release, "fit") else release
    audit = _Audit(
        partial(_under, dict(errstate or {}), run),
        tuple(check_iterable("noised", noised)),
        check_nonnegative("epsilon", epsilon),
        check_probability("delta", delta, zero=True),
        check_rng(rng),
    )
    tried = checked_pairs(pairs)
    found: list[SideChannel] = []
    n_raised = 0
    for pair in tried:
        events, certain, raised = audit.pilot(pair, least, distance, bound)
        found += certain
        found += audit.rates(pair, events, runs, 1.0 - (1.0 - sure) / len(tried))
        n_raised += raised
    if n_raised == len(tried):
        raise ValueError(f"release must return on one of {n_raised} pairs at least, got exceptions")
    return SideChannelReport(
        tuple(found), len(tried), n_raised, least, audit.epsilon, audit.delta, sure
    )
