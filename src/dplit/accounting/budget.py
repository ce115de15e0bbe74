"""A budget on disk: a cap over several releases, and a line for each before it is drawn."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from dplit._checks import (
    check_choice,
    check_epsilon,
    check_neighboring,
    check_nonnegative,
    check_probability,
)
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms._draws import Draw, Price, account_open, charged

if TYPE_CHECKING:
    from dplit.audit import Ledger

_FORMAT = "dplit budget 1"

#: Shares of the cap's epsilon that a Gaussian composition may leave to what is not Gaussian.
_PARTS = 8

#: The beginning of a line that was not written to its end: what it was to count.
_BEGUN = re.compile(r'\{"epsilon": ([-+.e\d]+), "delta": ([-+.e\d]+),')

#: The beginning of a line that counts nothing by itself.
_CLOSING = '{"entry'

#: Whose guarantees there are. One for persons is none for records whose person may change too.
_UNITS = ("record", "person")


class BudgetError(ValueError):
    """A release that a budget does not cover, or a budget that cannot be read or written.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     budget = Budget(f"{place}/stay.budget.json", epsilon=1.0, delta=0.0, table="stay")
    ...     try:
    ...         Budget(f"{place}/stay.budget.json", epsilon=2.0, delta=0.0)
    ...     except BudgetError:
    ...         print("the cap of a file stays what it was")
    the cap of a file stays what it was
    """


@dataclass(frozen=True)
class Entry:
    """One line of a budget: what was to be released, and what it counts.

    Attributes
    ----------
    number : int
        From 1 on.
    what, table, when : str
        What was released of which table, and the time (UTC) at which it was written down.
    epsilon, delta : float
        Its guarantee.
    mu : float or None
        Where all of its noise is Gaussian: it is as private as one Gaussian release with this
        ratio of sensitivity and deviation.
    state : {"open", "drawn", "nothing drawn"}
        "open" where nothing was written after it: it is being drawn, or its process ended. It
        counts as "drawn"; what failed before its first draw counts nothing.
    drawn : tuple of mapping
        What a ledger heard of it; no number depends on a record.

    Examples
    --------
    >>> Entry(1, "centres", "stay", "2026-01-01T00:00:00+00:00", epsilon=1.0, delta=0.0).state
    'open'
    """

    number: int
    what: str
    table: str
    when: str
    epsilon: float
    delta: float
    mu: float | None = None
    state: Literal["open", "drawn", "nothing drawn"] = "open"
    drawn: tuple[Mapping[str, str], ...] = ()


def _written(amount: float) -> Fraction:
    """Return the decimal that an amount is written as: three times .1 is .3."""
    return Fraction(repr(float(amount)))


def _added(entries: Sequence[Entry]) -> tuple[Fraction, Fraction]:
    """Return the sums of epsilons and deltas, exactly."""
    epsilon = sum((_written(entry.epsilon) for entry in entries), Fraction(0))
    return epsilon, sum((_written(entry.delta) for entry in entries), Fraction(0))


def _within_sum(entries: Sequence[Entry], epsilon: float, delta: float) -> bool:
    """Whether epsilons and deltas add up to a cap at most."""
    both = _added(entries)
    return both[0] <= _written(epsilon) and both[1] <= _written(delta)


def _within_gaussian(entries: Sequence[Entry], epsilon: float, delta: float) -> bool:
    """Whether entries lie in one of the rectangles of :class:`Budget`, or one entry in the cap."""
    if len(entries) <= 1:
        return _within_sum(entries, epsilon, delta)
    others = _added([entry for entry in entries if entry.mu is None])
    squares = sum((Fraction(entry.mu) ** 2 for entry in entries if entry.mu is not None), start=0)
    share = delta / (2 * _PARTS)
    for part in range(_PARTS):
        left = epsilon * part / _PARTS
        if others[0] > _written(left) or others[1] > _written(share):
            continue
        sigma = Fraction(float(gaussian_sigma(epsilon=epsilon - left, delta=share)))
        if squares * sigma**2 <= 1:
            return True
    return False


_WITHIN = {"adding": _within_sum, "gaussian": _within_gaussian}


class Budget:
    r"""A cap on what is ever released of a table, kept in a file.

    The file is made where a cap is given and there is none, and opened otherwise. Every release,
    choice and fit inside ``with budget:``, in any thread of the process, is written down before its
    noise is drawn, and refused where the cap would be passed; other draws must be announced by
    :meth:`paying`. (The samplers of floating-point noise, for research alone, tell nobody.) Lines
    are only appended; each is on the disk before the draw that it pays for, under a lock that other
    processes respect. A process that is killed leaves a line that counts; what failed before its
    first draw counts nothing.

    Parameters
    ----------
    file : str or path
        Of lines in JSON, on a file system with POSIX locks.
    epsilon, delta : float, optional
        The cap, for a new file: in (0, inf), and in [0, 1). A file that exists must have the same.
    table : str, optional
        Name of the table, stated by its owner, for a new file.
    composition : {"adding", "gaussian"}, optional
        How entries are composed, "adding" for a new file where nothing is said. See the notes.
    neighboring : {"replace_one", "add_remove"}, optional
        The relation of all guarantees, "replace_one" for a new file.
    unit : {"record", "person"}, optional
        Whose guarantee the cap is, "record" for a new file.

    Attributes
    ----------
    epsilon, delta, table, composition, neighboring, unit
        What the file says.

    Raises
    ------
    BudgetError
        If there is no file and no cap, if the file states another cap, or if it cannot be locked,
        read or written. Before anything is drawn; never with a path of a table or a record.

    Notes
    -----
    Amounts may depend on earlier results; the cap holds all the same.

    *Adding* (Rogers, Roth, Ullman and Vadhan 2016, Theorem 3.6): the sums of epsilon and of delta
    stay below the cap. Amounts are the decimals that they are written as, so that three of .1 are
    .3; the floats that estimators take are within 1e-16 of these.

    *Gaussian*: for one of eight values e = 0, E/8, ..., 7E/8 fixed beforehand, all entries that
    are not Gaussian add up to (e, D/16) at most, and the squares of mu of those that are to at
    most the square of the mu of a Gaussian release of (E - e, D/16). Each of the eight rules is a
    filter of (E, D/8): an (epsilon, delta)-private release is one of pure epsilon but with
    probability delta, under both neighbours (Kairouz, Oh and Viswanath 2015), so that with
    probability 1 - D/16 the others have a likelihood ratio of at most :math:`e^{e}`; and Gaussian
    releases with a bounded sum of squares are together as private as one with that sum, however
    each is chosen (Smith and Thakurta 2022, Theorem 1). A sequence that stays in the union of eight
    such rules is split by the one in which it ends: their deltas add to D. One entry alone is
    measured by the whole cap, since it was chosen before any result. The price of adaptive choice
    is that of a delta 16 times smaller: for epsilon from .1 to 10 it is 10 to 18 % of epsilon where
    delta is 1e-6, and up to 34 % where it is 1e-4, and an eighth of the cap at most where releases
    of both kinds meet. The squares of equal releases add.

    Draws in other *processes* are not heard: fit with ``n_jobs=None``. Random states that are fixed
    void the guarantees, and count as if they did not.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from dplit import PrivatePCA
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 4))
    >>> pca = PrivatePCA(2, epsilon=1.0, delta=1e-6, data_norm=1.0, neighboring="replace_one")
    >>> with TemporaryDirectory() as place:
    ...     budget = Budget(f"{place}/stay.budget.json", epsilon=2.5, delta=1e-5, table="stay")
    ...     with budget:
    ...         first, second = pca.fit(X), pca.fit(X)
    ...     budget.spent(), budget.left(delta=1e-6)
    ((2.0, 2e-06), 0.5)
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        table: str | None = None,
        composition: str | None = None,
        neighboring: str | None = None,
        unit: str | None = None,
    ) -> None:
        self._path = Path(file).absolute()
        self._inside: list[ExitStack] = []
        self._seen = 0
        stated = {
            "table": table,
            "epsilon": epsilon,
            "delta": delta,
            "composition": composition,
            "neighboring": neighboring,
            "unit": unit,
        }
        for name, value in _checked_head(stated).items():
            stated[name] = value
        new = epsilon is not None  # and so is delta
        with self._held(create=new) as place:
            if new and os.fstat(place).st_size == 0:
                defaults = {"table": "", "composition": "adding", "neighboring": "replace_one"}
                defaults["unit"] = "record"
                told = {k: defaults[k] if v is None else v for k, v in stated.items()}
                self._append(place, {"format": _FORMAT, **told, "opened": _now()})
                self._sync_folder()
            head = self._lines(place)[0]
        for name, value in stated.items():
            if value is not None and head[name] != value:
                raise BudgetError(
                    f"{name} must be {head[name]!r}, as the budget {self._path.name} states, got "
                    f"{name}={value!r}"
                )
        self.table: str = head["table"]
        self.epsilon: float = head["epsilon"]
        self.delta: float = head["delta"]
        self.composition: str = head["composition"]
        self.neighboring: str = head["neighboring"]
        self.unit: str = head["unit"]

    def entries(self) -> tuple[Entry, ...]:
        """Return all lines, of other processes too, in order."""
        with self._held() as place:
            return self._read(place)

    def spent(self) -> tuple[float, float]:
        """Return an epsilon and a delta that cover all entries.

        Returns
        -------
        epsilon, delta : float
            Where entries add, their sums. Where they compose as Gaussian, the least
            epsilon, to 1e-6 of it, at the cap's delta.
        """
        counted = _counted(self.entries())
        if self.composition == "adding" or len(counted) <= 1:
            both = _added(counted)
            return float(both[0]), float(both[1])
        low, high = 0.0, self.epsilon
        while not self._fits(counted, high):  # which somebody else has written
            low, high = high, 2.0 * high
        while high - low > 1e-6 * high:
            middle = (low + high) / 2.0
            low, high = (low, middle) if self._fits(counted, middle) else (middle, high)
        return high, self.delta

    def left(self, *, delta: float = 0.0, gaussian: bool = False) -> float:
        """Return the largest epsilon that one more release may have; a Gaussian composition to 1e-6
        of the cap.

        Parameters
        ----------
        delta : float, default=0.0
            Of that release, in [0, 1).
        gaussian : bool, default=False
            Whether all of its noise is Gaussian, as that of a descent or of sums.

        Returns
        -------
        float
            0 where nothing fits.
        """
        delta = check_probability("delta", delta, zero=True)
        counted = _counted(self.entries())
        if self.composition == "adding":
            both = _added(counted)
            room = _written(self.epsilon) - both[0]
            if room <= 0 or both[1] + _written(delta) > _written(self.delta):
                return 0.0
            nearest = float(room)
            return nearest if _written(nearest) <= room else math.nextafter(nearest, 0.0)
        low, high = 0.0, self.epsilon
        if self._fits([*counted, _next(counted, high, delta, gaussian)], self.epsilon):
            return high
        while high - low > 1e-6 * self.epsilon:
            middle = (low + high) / 2.0
            entries = [*counted, _next(counted, middle, delta, gaussian)]
            low, high = (middle, high) if self._fits(entries, self.epsilon) else (low, middle)
        return low

    def as_json(self) -> dict[str, Any]:
        """Return the cap and what is spent of it, for a card."""
        spent = self.spent()
        return {
            "table": self.table,
            "cap": {"epsilon": self.epsilon, "delta": self.delta},
            "spent, this release included": {"epsilon": spent[0], "delta": spent[1]},
            "releases": len(_counted(self.entries())),
            "composition": self.composition,
            "of one": self.unit,
            "neighbouring relation": self.neighboring,
        }

    def __repr__(self) -> str:
        try:
            spent = self.spent()
        except BudgetError:
            return f"Budget({self._path.name!r}: cannot be read)"
        return (
            f"Budget({self._path.name!r}: epsilon {spent[0]:.4g} of {self.epsilon:g} and delta "
            f"{spent[1]:.3g} of {self.delta:g} spent by {len(_counted(self.entries()))} releases)"
        )

    def __enter__(self) -> Self:
        inside = ExitStack()
        inside.enter_context(account_open(self))
        self._inside.append(inside)
        return self

    def __exit__(self, *_: object) -> None:
        self._inside.pop().close()

    @contextmanager
    def charging(self, price: Price) -> Iterator[None]:
        """Write a price down before what it pays for is drawn inside, or refuse it.

        Parameters
        ----------
        price : Price
            What is to be released, and its guarantee.

        Raises
        ------
        BudgetError
            If the cap would be passed, or the guarantee is of another kind than the cap.
        """
        price = replace(
            price,
            epsilon=float(check_epsilon(price.epsilon)),
            delta=float(check_probability("delta", price.delta, zero=True)),
        )
        if price.neighboring != self.neighboring:
            raise BudgetError(
                f"neighboring must be {self.neighboring!r}, of which the budget is, got "
                f"neighboring={price.neighboring!r}"
            )
        if price.unit != self.unit:
            raise BudgetError(
                f"the budget is of one {self.unit}, and the guarantee of one {price.unit}: "
                f"{price.what}"
            )
        from dplit.audit import ledger  # which loads SciPy's statistics, for seconds

        if price.table and self.table and price.table != self.table:
            raise BudgetError(
                f"table must be {self.table!r}, of which the budget is, got table={price.table!r}"
            )
        mu = _mu(price.epsilon, price.delta) if price.gaussian else None
        entry = self._begin(price, mu)
        with ledger() as book:
            try:
                yield
            except BaseException:
                self._end(entry, book)
                raise
        self._end(entry, book)

    @contextmanager
    def paying(
        self, what: str, *, epsilon: float, delta: float = 0.0, gaussian: bool = False
    ) -> Iterator[None]:
        """Pay for draws that no estimator announces, such as sums with noise or answers.

        Parameters
        ----------
        what : str
            What is released, in words; public.
        epsilon, delta : float
            Guarantee of all that is drawn inside, together, for the relation and the unit of this
            budget: whoever draws has to know it.
        gaussian : bool, default=False
            Whether that is one Gaussian release of this epsilon and delta, or as private.

        Raises
        ------
        BudgetError
            If the cap would be passed, before anything is drawn.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from dplit.mechanisms import Laplace
        >>> with TemporaryDirectory() as place:
        ...     budget = Budget(f"{place}/b.json", epsilon=1.0, delta=0.0)
        ...     with budget.paying("a count", epsilon=0.5):
        ...         noisy = Laplace(scale=2.0).add([40.0], hides="a count", sensitivity=1.0)
        ...     budget.spent()
        (0.5, 0.0)
        """
        price = Price(what, epsilon, delta, gaussian, self.neighboring, self.unit, self.table)
        with self, charged(price):
            yield

    def refuse(self, draw: Draw) -> None:
        """Refuse one draw that nobody announced, before it is made.

        Its sensitivity may be that of another relation than the cap's, or of less than a unit.
        """
        raise BudgetError(
            "a draw inside a budget must be of an estimator or a release, or be announced by "
            f"budget.paying(..., epsilon=..., delta=...): {draw.purpose}"
        )

    def _begin(self, price: Price, mu: float | None) -> Entry:
        """Append the line of a release, if the cap is not passed with it."""
        with self._held() as place:
            entries = self._read(place)
            counted = _counted(entries)
            number, when = len(entries) + 1, _now()
            table = price.table or self.table
            entry = Entry(number, price.what, table, when, price.epsilon, price.delta, mu)
            if not self._fits([*counted, entry], self.epsilon):
                both = _added(counted)
                raise BudgetError(
                    f"the budget {self._path.name} has a cap of epsilon {self.epsilon:g} and delta "
                    f"{self.delta:g}, of which {len(counted)} releases hold {float(both[0]):.4g} "
                    f"and {float(both[1]):.3g} ({self.composition}); epsilon "
                    f"{price.epsilon:g} and delta {price.delta:g} more would pass it, and nothing "
                    f"is drawn: {price.what}"
                )
            line = {"epsilon": entry.epsilon, "delta": entry.delta, "entry": number}
            told = {} if mu is None else {"mu": mu}
            self._append(place, {**line, **told, "what": entry.what, "table": table, "when": when})
        return entry

    def _end(self, entry: Entry, book: Ledger) -> None:
        """Append what was drawn for an entry; where that fails it stays open, which counts."""
        told: dict[str, Any] = {"entry": entry.number, "drawn": book.rows()}
        if book.unheard:
            told["drawn"].append({"draw": "of other threads", "times": str(book.unheard)})
        try:
            with self._held() as place:
                self._append(place, told)
        except BudgetError as error:
            warnings.warn(f"an entry of the budget stays open, and counts: {error}", stacklevel=4)

    def _fits(self, entries: Sequence[Entry], epsilon: float) -> bool:
        return _WITHIN[self.composition](entries, epsilon, self.delta)

    @contextmanager
    def _held(self, create: bool = False) -> Iterator[int]:
        """Open the file and hold its lock, which ends with the process at the latest."""
        place = self._locked(create)
        try:
            yield place
        finally:
            os.close(place)

    def _locked(self, create: bool) -> int:
        """Return a descriptor of the file as it is named now, locked."""
        try:
            import fcntl
        except ImportError:
            raise BudgetError("a budget needs locks of files as POSIX has them") from None
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
        rule = "file must be a budget that exists, or be given a cap, epsilon= and delta="
        while True:
            try:
                place = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise BudgetError(f"{rule}, got {str(self._path)!r}: {error.strerror}") from None
            try:
                fcntl.flock(place, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(place), os.stat(self._path)):
                    return place
            except FileNotFoundError:  # taken away since it was opened: once more
                pass
            except OSError as error:
                os.close(place)
                raise BudgetError(f"{rule}, in a place with locks: {error.strerror}") from None
            os.close(place)

    def _sync_folder(self) -> None:
        """Bring the name of a new file to the disk, where folders can be synchronised."""
        with suppress(OSError):
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _append(self, place: int, line: Mapping[str, Any]) -> None:
        """Write one line to the disk, whole or not at all, below one that is not whole too."""
        size = os.fstat(place).st_size
        whole = size == 0 or os.pread(place, 1, size - 1) == b"\n"
        text = ("" if whole else "\n") + json.dumps(line) + "\n"
        content = text.encode()
        try:
            if os.write(place, content) < len(content):
                raise OSError(0, "there is no room for a line")
            os.fsync(place)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(place, size)
                os.fsync(place)
            raise BudgetError(
                f"the budget {self._path.name} must be a file that can be written: {error.strerror}"
            ) from None

    def _read(self, place: int) -> tuple[Entry, ...]:
        """Return the entries of the file that was opened, and of no other that has its name now."""
        head, entries = self._lines(place)
        mine = (self.table, self.epsilon, self.delta, self.composition, self.neighboring, self.unit)
        names = ("table", "epsilon", "delta", "composition", "neighboring", "unit")
        if tuple(head.get(name) for name in names) != mine or len(entries) < self._seen:
            raise BudgetError(
                f"{self._path.name} must be the budget that was opened; it states another cap now, "
                "or has lost lines"
            )
        self._seen = len(entries)
        return entries

    def _lines(self, place: int) -> tuple[dict[str, Any], tuple[Entry, ...]]:
        """Return the head, and the entries with what was written after them."""
        content = os.pread(place, os.fstat(place).st_size, 0)
        lines = content.decode("utf-8", "replace").split("\n")
        head = _json(lines[0])
        if head is None or head.get("format") != _FORMAT:
            raise BudgetError(
                f"{self._path.name} must begin with a line of the format {_FORMAT!r}: it is no "
                "budget, or was not begun to its end"
            )
        found: list[Entry] = []
        for number, text in enumerate(lines[1:], start=2):
            if text:
                self._take(found, number, text)
        return head, tuple(found)

    def _take(self, found: list[Entry], number: int, text: str) -> None:
        """Add one line to the entries that were found."""
        line = _json(text)
        if line is not None and "what" in line:
            told = {k: line.get(k) for k in ("what", "table", "when", "epsilon", "delta", "mu")}
            found.append(Entry(len(found) + 1, **told))  # type: ignore[arg-type]
        elif line is not None and 0 < line.get("entry", 0) <= len(found):
            entry = found[line["entry"] - 1]
            state: Any = "drawn" if line["drawn"] else "nothing drawn"
            found[entry.number - 1] = replace(entry, state=state, drawn=tuple(line["drawn"]))
        elif begun := _BEGUN.match(text):
            amounts = float(begun[1]), float(begun[2])
            found.append(Entry(len(found) + 1, "a line that is not whole", "", "", *amounts))
        elif line is not None or not text.startswith(_CLOSING):
            raise BudgetError(
                f"line {number} of {self._path.name} is no line of a budget, or not a whole one. A "
                "draw waits until its line is on the disk, so none is behind a line that is not: "
                "look at it, and take it out by hand"
            )


def _checked_head(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is stated of a budget as the file has it."""
    checked: dict[str, Any] = {}
    if (stated["epsilon"] is None) != (stated["delta"] is None):
        raise BudgetError("epsilon and delta must be stated together, as the cap of a new budget")
    if stated["epsilon"] is not None:
        checked["epsilon"] = float(check_epsilon(stated["epsilon"]))
        checked["delta"] = float(check_probability("delta", stated["delta"], zero=True))
    if stated["composition"] is not None:
        check_choice("composition", stated["composition"], tuple(_WITHIN))
        if stated["composition"] == "gaussian" and checked.get("delta") == 0.0:
            raise BudgetError("delta must be positive where composition is 'gaussian'")
    if stated["neighboring"] is not None:
        check_neighboring(stated["neighboring"])
    if stated["unit"] is not None:
        check_choice("unit", stated["unit"], _UNITS)
    if not isinstance(stated["table"], (str, type(None))):
        raise TypeError(f"table must be a text, got table={stated['table']!r}")
    return checked


def _counted(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that count."""
    return [entry for entry in entries if entry.state != "nothing drawn"]


def _next(counted: Sequence[Entry], epsilon: float, delta: float, gaussian: bool) -> Entry:
    """Return an entry that nobody has asked for yet."""
    mu = _mu(epsilon, delta) if gaussian and delta > 0.0 and epsilon > 0.0 else None
    return Entry(len(counted) + 1, "", "", "", check_nonnegative("epsilon", epsilon), delta, mu)


def _mu(epsilon: float, delta: float) -> float | None:
    """Return the ratio of a Gaussian release of a guarantee, None where there is none."""
    if not 0.0 < delta < 0.5:
        return None
    return math.nextafter(1.0 / float(gaussian_sigma(epsilon=epsilon, delta=delta)), math.inf)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _json(text: str) -> dict[str, Any] | None:
    """Return the object of a line, or None where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
