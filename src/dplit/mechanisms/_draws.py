"""Where those who draw private noise say so: open ledgers hear it, and open budgets pay for it.

The statements ``record_draw(...)`` and ``record_step(...)`` stand beside the draws and compute
nothing: what a chapter computes is the same with them and without them, and so are its digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Mechanism = Literal[
    "gaussian",
    "laplace",
    "gamma_norm",
    "k_norm",
    "noisy_max",
    "monotone_noisy_max",
    "gaussian_process",
    "event",
    "secret",
]

Norm = Literal["l1", "l2", "max", "modulus"]


@dataclass(frozen=True)
class Draw:
    """One draw of private noise, or one private choice; none of its fields depends on a record.

    Parameters
    ----------
    mechanism : str
        "gaussian", "laplace", "gamma_norm" (density :math:`e^{-\\|z\\|_2/b}`), "k_norm" (the same
        in another norm), "noisy_max" (a choice with noise of scale b on every score, all of which
        may move against each other, or "monotone_noisy_max", in one direction),
        "gaussian_process", "event": something else, whose loss is ``stated``, or "secret":
        numbers that stay with the curator and are no noise, such as an order of the records.
    purpose : str
        What is hidden, in words.
    scale : float
        Standard deviation (Gaussian), or b.
    sensitivity : float or None
        Largest change between neighbours of what is hidden, in ``norm``; None: nobody stated it,
        and what is composed of it has no bound.
    norm : str
        "l1", "l2", "max" (real and imaginary parts apart) or "modulus".
    shape : tuple of int
        Of the numbers that are drawn; () where there is one for each score.
    copies : int
        Independent draws of this kind at once, each of which looks at all records.
    steps : int
        Adaptive repetitions that are told one by one.
    joint : float or None
        Largest change of this draw and the one before it *together*, each in units of its scale,
        where that is less than the two alone would come to.
    parallel : object
        Draws in a row that carry one and the same object look at different records, or extend one
        release: the largest loss among them counts once.
    stated : callable or None
        Epsilon as a function of delta, for an "event".
    """

    mechanism: Mechanism
    purpose: str
    scale: float
    sensitivity: float | None = None
    norm: Norm = "l2"
    shape: tuple[int, ...] = ()
    copies: int = 1
    steps: int = 1
    joint: float | None = None
    parallel: object = None
    stated: Callable[[float], float] | None = None


class Listener(Protocol):
    """What an open ledger is."""

    def drawn(self, draw: Draw, of: Any) -> None:
        """Hear of a draw before it is made; ``of`` is what is hidden, or a function giving it."""

    def stepped(self, of: Any, added: Any) -> None:
        """Hear of one step of the last draw; ``added`` is the noise."""

    def missed(self) -> None:
        """Hear that somebody else drew, in a thread in which no ledger is open."""


@dataclass(frozen=True)
class Price:
    """What something costs that is to be drawn, known before: public numbers alone.

    Parameters
    ----------
    what : str
        What is released, in words.
    epsilon, delta : float
        Its guarantee.
    gaussian : bool
        Whether it is as private as one Gaussian release of this epsilon and delta.
    neighboring : str
        "replace_one" or "add_remove".
    unit : str
        Whose guarantee it is: "record", "person", or "entry" for less than a record.
    table : str
        Name of the table, as its owner states it; empty where nobody did.
    """

    what: str
    epsilon: float
    delta: float
    gaussian: bool = False
    neighboring: str = "replace_one"
    unit: str = "record"
    table: str = ""


class Account(Protocol):
    """What an open budget is."""

    def charging(self, price: Price) -> AbstractContextManager[Any]:
        """Write a price down, or refuse it, before what it pays for is drawn inside."""

    def refuse(self, draw: Draw) -> None:
        """Refuse one draw that nobody announced, before it is made."""

    def as_json(self) -> dict[str, Any]:
        """Return what a card says of it."""


#: Budgets that are open in this process: they pay for all of its threads.
_ACCOUNTS: list[Account] = []

#: Whether what is drawn here was written down in the open budgets.
_CHARGED: ContextVar[bool] = ContextVar("dplit_charged", default=False)


@contextmanager
def charged(price: Price | None) -> Iterator[None]:
    """Let the open budgets write down what is drawn inside: once, whatever is nested."""
    if price is None or not _ACCOUNTS or _CHARGED.get():
        yield
        return
    with ExitStack() as stack:
        for account in open_accounts():
            stack.enter_context(account.charging(price))
        token = _CHARGED.set(True)
        try:
            yield
        finally:
            _CHARGED.reset(token)


@contextmanager
def account_open(account: Account) -> Iterator[None]:
    """Let a budget pay for what is drawn inside, in every thread of this process."""
    _ACCOUNTS.append(account)
    try:
        yield
    finally:
        _ACCOUNTS.remove(account)


def open_accounts() -> tuple[Account, ...]:
    """Return the budgets that are open, each once."""
    return tuple(dict.fromkeys(_ACCOUNTS))


#: All that are open in this process, whatever the thread.
_ANYWHERE: list[Listener] = []

_OPEN: ContextVar[tuple[Listener, ...]] = ContextVar("dplit_ledgers", default=())

#: What is done with each number or choice that leaves a mechanism: nothing, unless one replays.
_PASSED: ContextVar[Callable[[Any], Any] | None] = ContextVar("dplit_passed", default=None)

_PART: ContextVar[str | None] = ContextVar("dplit_part", default=None)


@contextmanager
def part_of_records(part: str) -> Iterator[None]:
    """Say of all draws inside that they look at this part of the records alone.

    Different parts have no record in common: a record loses what its part does, and what draws
    without a part do.
    """
    token = _PART.set(part)
    try:
        yield
    finally:
        _PART.reset(token)


def current_part() -> str | None:
    """Return the part of the records that draws look at here, None for all of them."""
    return _PART.get()


@contextmanager
def passing(through: Callable[[Any], Any]) -> Iterator[None]:
    """Let a function see, and replace, whatever exact mechanisms release inside."""
    token = _PASSED.set(through)
    try:
        yield
    finally:
        _PASSED.reset(token)


def passed(released: Any) -> Any:
    """Return what a mechanism releases, or what stands in its place in a replay."""
    through = _PASSED.get()
    return released if through is None else through(released)


def listen(listener: Listener) -> Any:
    """Open one ledger more; returns what ``stop`` wants."""
    _ANYWHERE.append(listener)
    return _OPEN.set((*_OPEN.get(), listener)), listener


def stop(token: Any) -> None:
    """Undo one ``listen``."""
    before, listener = token
    _ANYWHERE.remove(listener)
    _OPEN.reset(before)


def record_draw(mechanism: Mechanism, purpose: str, *, of: Any = None, **facts: Any) -> None:
    """Tell the open ledgers of the draw that comes next; the arguments are those of `Draw`.

    ``sensitivity``, ``joint`` and ``stated`` may be functions without arguments (``stated`` of
    delta): they are asked only where somebody listens.
    """
    open_ledgers = _OPEN.get()
    if not open_ledgers:
        for one in tuple(_ANYWHERE):
            one.missed()
    paying = () if _CHARGED.get() or mechanism == "secret" else open_accounts()
    if not open_ledgers and not paying:
        return
    asked = {
        name: value() if callable(value) and name != "stated" else value
        for name, value in facts.items()
    }
    asked["scale"] = float(asked["scale"])
    draw = Draw(mechanism, purpose, **asked)
    for account in paying:
        account.refuse(draw)
    for one in open_ledgers:
        one.drawn(draw, of)


def record_step(of: Any, added: Any = None) -> None:
    """Tell the open ledgers of one step of a draw with ``steps`` above 1.

    ``added`` may be a function: it is asked only where somebody listens.
    """
    open_ledgers = _OPEN.get()
    if open_ledgers and callable(added):
        added = added()
    for one in open_ledgers:
        one.stepped(of, added)
