"""The ledger: every draw of private noise, in order, composed by another implementation.

``dplit`` calibrates its noise by its own formulas. A ledger hears at the door of each sampler what
is drawn, and asks dp-accounting what all of it together gives away; pure losses are added up as
fractions. It is for tests and audits: a record holds no private value, only public numbers.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from dplit._checks import check_nonnegative, check_probability
from dplit._numerics.rounding import round_up
from dplit.mechanisms._draws import Draw, current_part, listen, stop

#: Logarithm of the least delta that is told.
_LEAST_LOG = -690.0

_COLUMNS = ("draw", "hides", "sensitivity", "scale", "numbers", "times")


class LedgerError(ValueError):
    """What was drawn has no bound: a sensitivity that nobody stated, or a step that is missing.

    >>> from dplit.mechanisms import Gaussian
    >>> with ledger() as book:
    ...     noisy = Gaussian(2.0).add(np.zeros(3), hides="a sum", sensitivity=None)
    >>> try:
    ...     book.epsilon(delta=1e-6)
    ... except LedgerError:
    ...     print("nobody stated how far a record moves the sum")
    nobody stated how far a record moves the sum
    """


class _Losses(NamedTuple):
    """Squares of the Gaussian ratios, pure losses, and events with a loss of their own."""

    squares: Fraction
    pure: Fraction
    events: tuple[Callable[[float], float], ...]


class Ledger:
    """The draws that were made while it was open; see :func:`ledger`.

    Parameters
    ----------
    watch : callable or None
        ``watch(draw, of, added)`` is told of every draw and step together with the private values
        themselves, for a search of neighbours. The ledger does not keep them.

    Examples
    --------
    >>> from dplit.mechanisms import Gaussian
    >>> with ledger() as book:
    ...     noisy = Gaussian(2.0).add(np.zeros(3), hides="a sum", sensitivity=1.0)
    >>> [(draw.mechanism, draw.scale, draw.sensitivity) for draw in book]
    [('gaussian', 2.0, 1.0)]
    """

    def __init__(self, watch: Callable[[Draw, Any, Any], None] | None = None) -> None:
        self.draws: list[Draw] = []
        self.steps: list[int] = []
        self.parts: list[str | None] = []
        self.unheard = 0
        self._watch = watch

    def drawn(self, draw: Draw, of: Any) -> None:
        """Write down one draw."""
        self.draws.append(draw)
        self.steps.append(0)
        self.parts.append(current_part())
        if self._watch is not None and of is not None:
            self._watch(draw, of() if callable(of) else of, None)

    def missed(self) -> None:
        """Count a draw of another thread of this process, of which nothing else is known."""
        self.unheard += 1

    def stepped(self, of: Any, added: Any) -> None:
        """Count one step of the last draw."""
        if not self.draws:
            self.drawn(Draw("event", "a step of no draw", math.nan), None)
        self.steps[-1] += 1
        if self._watch is not None:
            self._watch(self.draws[-1], of, added)

    def __len__(self) -> int:
        """Number of draws; the steps of one count once."""
        return len(self.draws)

    def __iter__(self) -> Iterator[Draw]:
        """Iterate over the draws in order."""
        return iter(self.draws)

    def rows(self) -> list[dict[str, str]]:
        """Return what :meth:`table` says of each draw, by the names of its columns."""
        return [dict(zip(_COLUMNS, self._row(*told), strict=True)) for told in self._told()]

    def statement(self, estimator: Any) -> str:
        """Return what a fitted estimator promises, and below it the draws that were to keep it."""
        return f"{estimator.privacy_statement_}\n\n{self.table()}"

    def table(self) -> str:
        """Return the draws as a table in plain text."""
        rows = [_COLUMNS, *(self._row(*told) for told in self._told())]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_COLUMNS))]
        lines = [
            "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        if not self.draws or self.unheard:
            lines.append(self._silence())
        return "\n".join([*lines, "No number here depends on a record."])

    def _silence(self) -> str:
        """Say what this ledger cannot have heard."""
        count = f"{self.unheard} draws were" if self.unheard != 1 else "1 draw was"
        what = f"{count} made in other threads" if self.unheard else "no draw of noise was heard"
        return f"{what}; draws in other threads and processes are not heard (n_jobs=None)"

    def _told(self) -> Iterator[tuple[Draw, str | None]]:
        return zip(self.draws, self.parts, strict=True)

    @staticmethod
    def _row(draw: Draw, part: str | None) -> tuple[str, ...]:
        known = (
            "not stated" if draw.sensitivity is None else f"{draw.sensitivity:.4g} ({draw.norm})"
        )
        if draw.stated is not None or draw.mechanism == "secret":
            known = "its own loss" if draw.stated is not None else "hides nothing"
        times = f"{draw.steps} steps" if draw.steps > 1 else "1"
        if draw.copies > 1:
            times += f" x {draw.copies}"
        size = str(math.prod(draw.shape)) if draw.shape else "1 a score"
        hides = draw.purpose if part is None else f"{draw.purpose} ({part})"
        return draw.mechanism, hides, known, f"{draw.scale:.4g}", size, times

    def epsilon(self, *, delta: float = 0.0) -> float:
        r"""Return the epsilon at ``delta`` of all draws together.

        Gaussian draws are together one draw, the squares of whose ratios add up, and dp-accounting
        tells its epsilon in closed form; pure losses are added as fractions and rounded up, and
        events add what they state at an equal share of delta; kinds are composed by adding. Of
        parts of the records that have none in common the largest counts.

        Parameters
        ----------
        delta : float, default=0.0
            In [0, 1); with 0 a Gaussian draw gives infinity.

        Raises
        ------
        LedgerError
            If nothing was heard, which is no loss of 0 but a release elsewhere: in a worker
            process, in another thread, before the ledger was opened (``len`` counts the draws
            that were heard); if other threads drew; if a draw has no stated sensitivity, or fewer
            or more steps than it was to have.
        ImportError
            If there are Gaussian draws and the extra ``accounting`` is not installed.
        """
        delta = check_probability("delta", delta, zero=True)
        return max(_epsilon_of(losses, delta) for losses in self._losses())

    def delta(self, *, epsilon: float) -> float:
        """Return the delta at ``epsilon`` of all draws together: 0 where pure losses suffice.

        Parameters
        ----------
        epsilon : float
            Nonnegative. What pure losses take of it is not there for the Gaussian draws.

        Raises
        ------
        LedgerError
            As :meth:`epsilon`; also for events, which say their epsilon for a delta only.
        """
        whole = check_nonnegative("epsilon", epsilon)
        return max(_delta_of(losses, whole) for losses in self._losses())

    def _losses(self) -> list[_Losses]:
        """Return the losses of a record in each part, of all records where there are none."""
        if self.unheard or all(draw.mechanism == "secret" for draw in self.draws):
            raise LedgerError(f"a ledger must hear every draw: {self._silence()}")
        found: list[str | None] = [part for part in dict.fromkeys(self.parts) if part is not None]
        return [self._losses_in(part) for part in found or [None]]

    def _losses_in(self, part: str | None) -> _Losses:
        squares, pure, events = Fraction(0), Fraction(0), []
        for draw, steps, ratio in self._folded(part):
            times = draw.copies * steps
            if draw.stated is not None:
                events += [draw.stated] * times
            elif draw.mechanism in ("gaussian", "gaussian_process"):
                squares += times * ratio**2
            else:  # scores that move against each other count twice
                pure += times * ratio * (2 if draw.mechanism == "noisy_max" else 1)
        return _Losses(squares, pure, tuple(events))

    def _folded(self, part: str | None) -> list[tuple[Draw, int, Fraction]]:
        """Return draws that a part meets, steps and ratios; joint and parallel ones as one."""
        found: list[tuple[Draw, int, Fraction]] = []
        told_of = enumerate(zip(self.draws, self.steps, self.parts, strict=True), start=1)
        for number, (draw, told, where) in told_of:
            if draw.mechanism == "secret" or where not in (None, part):
                continue
            if draw.steps > 1 and told != draw.steps:
                raise LedgerError(
                    f"draw {number} ({draw.purpose}) must have {draw.steps} steps, got {told}"
                )
            if draw.stated is None and draw.sensitivity is None:
                raise LedgerError(
                    f"draw {number} ({draw.purpose}) must state its sensitivity: no bound on the "
                    "loss is known"
                )
            if draw.stated is None and not draw.scale > 0.0:
                raise LedgerError(f"draw {number} ({draw.purpose}) must have a positive scale")
            ratio = Fraction(0)
            if draw.stated is None and draw.sensitivity is not None:
                ratio = Fraction(draw.sensitivity) / Fraction(draw.scale)
            if draw.joint is not None:
                last, steps, _ = found.pop()
                found.append((last, steps, Fraction(draw.joint)))
            elif found and draw.parallel is not None and found[-1][0].parallel is draw.parallel:
                last, steps, before = found.pop()
                found.append((last, steps, max(before, ratio)))
            else:
                found.append((draw, draw.steps, ratio))
        return found


def _epsilon_of(losses: _Losses, delta: float) -> float:
    """Return the epsilon at ``delta`` of all draws that one record meets."""
    parts = len(losses.events) + bool(losses.squares)
    total = round_up(losses.pure) if losses.pure else 0.0
    total += sum(event(delta / parts) for event in losses.events)
    if losses.squares:
        total += _gaussian_epsilon(losses.squares, delta / parts) if delta else math.inf
    return float(total)


def _delta_of(losses: _Losses, epsilon: float) -> float:
    """Return the delta at ``epsilon`` of all draws that one record meets."""
    if losses.events:
        raise LedgerError("events state their epsilon at a delta: ask epsilon(delta=...)")
    left = float(Fraction(epsilon) - losses.pure)
    if left < 0.0:
        return 1.0
    return _gaussian_delta(losses.squares, left) if losses.squares else 0.0


def _gaussian_epsilon(squares: Fraction, delta: float) -> float:
    """Return the epsilon of Gaussian draws whose squared ratios of sensitivity and scale add up.

    Together they are one draw with the root of that sum, exactly; dp-accounting tells its epsilon
    by its own closed form.
    """
    try:
        library = importlib.import_module("dp_accounting")
    except ImportError as error:
        raise ImportError(
            "a ledger composes by dp-accounting: install it with pip install 'dplit[accounting]'"
        ) from error
    ratio = math.nextafter(math.sqrt(round_up(squares)), math.inf)
    with np.errstate(all="ignore"):
        return float(library.get_epsilon_gaussian(math.nextafter(1.0 / ratio, 0.0), delta))


def _gaussian_delta(squares: Fraction, epsilon: float) -> float:
    """Return the delta at which :func:`_gaussian_epsilon` is ``epsilon``, to 1e-9 of it."""

    def over(log_delta: float) -> float:
        return _gaussian_epsilon(squares, math.exp(log_delta)) - epsilon

    if over(_LEAST_LOG) <= 0.0:
        return math.exp(_LEAST_LOG)
    if epsilon == 0.0:  # its epsilon is 0 for all larger deltas too: the least of them
        return math.erf(math.sqrt(round_up(squares) / 8.0))
    return math.exp(float(brentq(over, _LEAST_LOG, 0.0, xtol=1e-10)) + 1e-10)


@contextmanager
def ledger(watch: Callable[[Draw, Any, Any], None] | None = None) -> Iterator[Ledger]:
    """Open a ledger: every draw of private noise that is made inside is written down.

    Parameters
    ----------
    watch : callable, optional
        As in :class:`Ledger`: ``watch(draw, of, added)`` sees the private values.

    Yields
    ------
    Ledger

    Notes
    -----
    Draws in other threads and processes are not heard: a cross-validation with ``n_jobs=2`` spends
    what no ledger sees. Threads of this process that have no ledger of their own are counted in
    ``unheard``, and the ledger then tells no epsilon; of processes nothing is known, so fit with
    ``n_jobs=None``. Open ledgers do not change what is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.kernels.gamma import gamma_release
    >>> with ledger() as book:
    ...     noisy = gamma_release([1.0, 0.0], sensitivity=0.1, epsilon=0.5,
    ...                           rng=np.random.default_rng(0))
    >>> len(book), round(book.epsilon(), 9)
    (1, 0.5)
    """
    book = Ledger(watch)
    token = listen(book)
    try:
        yield book
    finally:
        stop(token)
