"""What an observer sees beside the noised numbers, compared on neighbours made to break things."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import math
import pickle
import re
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from dplit._checks import (
    Array,
    check_callable,
    check_choice,
    check_integer,
    check_iterable,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.audit.events import epsilon_lower_bound

__all__ = [
    "NeighbourPair",
    "SideChannel",
    "SideChannelReport",
    "checked_pairs",
    "float_sensitivity",
    "nasty_pairs",
    "side_channels",
]


Relation = Literal["add_remove", "replace_one", "replace_entry"]


_Data = tuple[NDArray[Any], ...]

_HUGE, _DENORMAL = 1e308, 5e-324

#: Longer data sets repeat a pattern of this many records, so that roundings add up.
_PERIOD = 128


@dataclass(frozen=True, eq=False)
class NeighbourPair:
    """Two data sets that the relation of a guarantee calls neighbours.

    Parameters
    ----------
    name : str
        What is nasty about them.
    relation : {"add_remove", "replace_one", "replace_entry"}
        One record more or less, one record other, or one entry of the first array other.
    data, neighbour : tuple of ndarray
        Arrays with one row or entry for each record, as ``(X,)`` or ``(X, y)``.

    Examples
    --------
    >>> NeighbourPair("two", "add_remove", (np.ones((2, 1)),), (np.ones((1, 1)),)).name
    'two'
    """

    name: str
    relation: Relation
    data: _Data
    neighbour: _Data

    def __post_init__(self) -> None:
        """Refuse a pair that would test nothing, or another guarantee."""
        check_choice("relation", self.relation, get_args(Relation))
        if not _are_neighbours(self.relation, self.data, self.neighbour):
            raise ValueError(f"the pair {self.name!r} must be neighbours under {self.relation}")


def _other_rows(left: _Data, right: _Data) -> NDArray[np.intp]:
    """Return the rows in which two data sets of one size differ."""
    unlike = [(a != b).reshape(len(a), -1).any(axis=1) for a, b in zip(left, right, strict=True)]
    return np.flatnonzero(np.any(unlike, axis=0))


def _are_neighbours(relation: Relation, data: _Data, neighbour: _Data) -> bool:
    long, short = sorted((data, neighbour), key=lambda part: len(part[0]), reverse=True)
    if not len(short[0]):
        return False
    if relation == "add_remove":
        if len(long[0]) != len(short[0]) + 1:
            return False
        first = _other_rows(tuple(part[:-1] for part in long), short)
        row = first[0] if len(first) else len(short[0])
        return not len(_other_rows(tuple(np.delete(part, row, axis=0) for part in long), short))
    if len(long[0]) != len(short[0]) or len(_other_rows(data, neighbour)) != 1:
        return False
    labels_kept = all(np.array_equal(a, b) for a, b in zip(data[1:], neighbour[1:], strict=True))
    one_entry = labels_kept and np.count_nonzero(data[0] != neighbour[0]) == 1
    return relation == "replace_one" or one_entry


def _fractions(count: int) -> Array:
    """Numbers in (-1, 1) without a short binary expansion, so that traces of them are found."""
    return np.asarray(2.0 * np.modf(np.arange(1, count + 1) * math.sqrt(2.0))[0] - 1.0)


def _ordinary(n: int, d: int, norm: float) -> Array:
    """Records inside the public ball."""
    pattern = norm / math.sqrt(d) * _fractions(min(n, _PERIOD) * d).reshape(-1, d)
    return np.resize(pattern, (n, d))


def _records(d: int, norm: float) -> dict[str, Array]:
    """The nasty records."""
    own = norm / math.sqrt(d) * _fractions(200 + d)[200:]
    unit = np.eye(d)[0]
    return {
        "an ordinary record": own,
        "1e308 in one coordinate": np.where(unit > 0, _HUGE, own),
        "-1e308 in one coordinate": np.where(unit > 0, -_HUGE, own),
        "1e308 in all coordinates": np.full(d, _HUGE),
        "-1e308 in all coordinates": np.full(d, -_HUGE),
        "5e-324 in all coordinates": np.full(d, _DENORMAL),
        "a record of zeros": np.zeros(d),
        "a record at the bound": norm * unit,
        "a record at twice the bound": -2.0 * norm * unit,
    }


def _bases(n: int, d: int, norm: float, sizes: Sequence[int]) -> dict[str, Array]:
    """The nasty data sets around them."""
    plain = _ordinary(n, d, norm)
    signs = (-1.0) ** np.arange(n)[:, None]
    both = _ordinary(8 * n, d, norm)  # NumPy adds every eighth number, then these eight sums
    both.flat[[0, 8, 1, 9]] = np.array([1, 1, -1, -1]) * _HUGE
    return {
        "ordinary records": plain,
        "one record": plain[:1],
        "two records": plain[:2],
        "equal records": np.repeat(plain[:1], n, axis=0),
        "duplicated records": np.repeat(plain, 2, axis=0),
        "collinear columns": np.repeat(plain[:, :1], d, axis=1),
        "columns of zeros": plain * np.r_[1.0, np.zeros(d - 1)],
        "zeros": np.zeros((n, d)),
        "alternating signs": np.abs(plain) * signs,
        "sorted magnitudes": np.sign(plain) * np.geomspace(1e-300, 1e300, n)[:, None],
        "huge records": np.sign(plain) * _HUGE,
        "sums that overflow both ways": both,
        **{f"{size} records": _ordinary(size, d, norm) for size in sizes},
    }


def _labels(labels: float | Sequence[Any] | None, n: int) -> dict[str, NDArray[Any]]:
    """Vectors of labels, the ordinary one first; none where there are no labels."""
    if labels is None:
        return {}
    signs = (-1.0) ** np.arange(n)
    if isinstance(labels, (int, float)):
        bound = check_positive("labels", labels)
        return {
            "ordinary labels": bound * _fractions(n),
            "equal labels": np.full(n, bound / 3.0),
            "labels at the bounds": bound * signs,
            "huge labels": _HUGE * signs,
        }
    pair = np.asarray(labels)
    return {
        "ordinary labels": pair[np.arange(n) % 2],
        "only the first class": pair[np.zeros(n, int)],
        "only the second class": pair[np.ones(n, int)],
    }


def _one_label(labels: float | Sequence[Any] | None) -> dict[str, Any]:
    """Nasty labels of one record."""
    if labels is None:
        return {}
    if isinstance(labels, (int, float)):
        values = [_HUGE, -_HUGE, _DENORMAL, float(labels), -2.0 * labels]
        return {f"label {value:g}": value for value in values}
    text = isinstance(labels[0], str)
    return {"a foreign label": "another" if text else 7 * np.max(labels) + 1}


class _Case(NamedTuple):
    """A data set, and what becomes of one of its records."""

    name: str
    X: Array
    y: NDArray[Any] | None = None
    record: Array | None = None
    label: Any = None


def _cases(
    d: int,
    relation: Relation,
    labels: float | Sequence[Any] | None,
    norm: float,
    n: int,
    sizes: Sequence[int],
) -> Iterator[_Case]:
    """Yield nasty records among ordinary ones, nasty data sets, nasty labels."""
    records, bases = _records(d, norm), _bases(n, d, norm, sizes)
    own, plain = records["an ordinary record"], bases["ordinary records"]
    usual = next(iter(_labels(labels, n).values()), None)
    for what, record in records.items():
        for _ in range(3 if record is own else 1):  # at every place
            yield _Case(f"{what} among ordinary ones", plain, usual, record)
    for name, X in bases.items():
        if X is not plain:
            y = next(iter(_labels(labels, len(X)).values()), None)
            for what in list(records)[:2]:
                yield _Case(f"{name}: {what}", X, y, records[what])
            if relation == "add_remove":
                yield _Case(f"{name}: one of them", X, y)
    for what, label in _one_label(labels).items():
        yield _Case(what, plain, usual, own, label)
    for name, y in list(_labels(labels, n).items())[1:]:
        yield _Case(f"{name}: another one", plain, y, own)


def _other_label(y: NDArray[Any], row: int, labels: float | Sequence[Any]) -> Any:
    """Return a label of the usual kind that is not the record's own."""
    if isinstance(labels, (int, float)):
        return -y[row] if abs(y[row]) <= labels else 0.0
    return labels[1] if y[row] == labels[0] else labels[0]


def _pair(
    case: _Case, relation: Relation, labels: float | Sequence[Any] | None, row: int
) -> NeighbourPair | None:
    """Change one record of a data set; None where that makes no pair of the relation."""
    X, y = case.X.copy(), case.y
    column = row % X.shape[1] if relation == "replace_entry" else slice(None)
    if case.record is not None:
        X[row, column] = case.record[column]
    data, other = [X], [case.X]
    if y is not None and labels is not None:
        label = _other_label(y, row, labels) if case.label is None else case.label
        changed = y.astype(np.result_type(y, np.asarray(label)))
        if relation != "replace_entry":
            changed[row] = label
        data, other = [X, changed], [case.X, y.astype(changed.dtype)]
    if relation == "add_remove":
        other = [np.delete(part, row, axis=0) for part in data]
    if not _are_neighbours(relation, tuple(data), tuple(other)):
        return None
    return NeighbourPair(case.name, relation, tuple(data), tuple(other))


def nasty_pairs(
    n_features: int,
    *,
    relation: Relation,
    labels: float | Sequence[Any] | None = None,
    norm: float = 1.0,
    n_records: int = 7,
    sizes: Sequence[int] = (129, 2049),
) -> list[NeighbourPair]:
    """Neighbouring data sets on which releases have been seen to give themselves away.

    Parameters
    ----------
    n_features : int
        Number of columns.
    relation : {"add_remove", "replace_one", "replace_entry"}
        What neighbours are. Entries are those of the records; labels are public then.
    labels : float, pair of labels or None, default=None
        None for records alone, the public bound of real labels, or the two classes.
    norm : float, default=1.0
        Public bound of the Euclidean norm of a record.
    n_records : int, default=7
        Number of records, at least 3, where it is not what is tested.
    sizes : sequence of int, default=(129, 2049)
        Further numbers of records: one more than the blocks in which a release adds. They repeat a
        pattern of 128 records, so that roundings add up.

    Returns
    -------
    list of NeighbourPair
        Always the same pairs, of finite numbers. The record that is replaced or lacking is the
        first, the middle or the last one by turns. No data set is empty: that is refused before
        anything is computed.

    Examples
    --------
    >>> pairs = nasty_pairs(2, relation="replace_one", labels=1.0)
    >>> pairs[3].name, [part.shape for part in pairs[3].data]
    ('1e308 in one coordinate among ordinary ones (first)', [(7, 2), (7,)])
    """
    d, n = check_integer("n_features", n_features), check_integer("n_records", n_records, minimum=3)
    check_choice("relation", relation, get_args(Relation))
    counts = [check_integer("sizes", size, minimum=3) for size in check_iterable("sizes", sizes)]
    if labels is not None and np.size(labels) != 2:
        check_positive("labels", labels)
    cases = _cases(d, relation, labels, check_positive("norm", norm), n, counts)
    pairs = []
    for index, case in enumerate(cases):
        last = len(case.X) - 1
        turn = 0 if "both ways" in case.name else index % 3  # one of the sums is the first record's
        place, row = (("first", 0), ("middle", last // 2), ("last", last))[turn]
        named = case._replace(name=f"{case.name} ({place})")
        pairs.append(_pair(named, relation, labels, row))
    return [pair for pair in pairs if pair is not None]


def checked_pairs(pairs: Iterable[NeighbourPair]) -> list[NeighbourPair]:
    """Return the pairs as a list that holds one at least."""
    found = list(check_iterable("pairs", pairs))
    if not found or not all(isinstance(pair, NeighbourPair) for pair in found):
        raise TypeError(
            f"pairs must hold one NeighbourPair at least and nothing else, got {pairs!r}"
        )
    return found


def float_sensitivity(
    total: Callable[..., ArrayLike],
    pairs: Iterable[NeighbourPair],
    *,
    norm: float | Callable[[NDArray[Any]], float] = 2,
) -> float:
    """Largest distance that the machine computes between a sum over neighbouring data sets.

    Parameters
    ----------
    total : callable
        ``total(X)`` or ``total(X, y)``: what a release computes before the noise is added.
    pairs : iterable of NeighbourPair
        Such as :func:`nasty_pairs` at the sizes of the blocks.
    norm : 1, 2, inf or callable, default=2
        Norm in which the noise is calibrated: of vectors, or a function of the difference.

    Returns
    -------
    float
        To be compared with the sensitivity that calibrates the noise; NaN if a total is.

    Examples
    --------
    >>> pairs = nasty_pairs(1, relation="add_remove")
    >>> float_sensitivity(lambda X: np.clip(X, -1.0, 1.0).sum(axis=0), pairs)
    1.0
    """
    check_callable("total", total)
    if not callable(norm) and (type(norm) not in (int, float) or norm not in (1, 2, math.inf)):
        raise ValueError(f"norm must be 1, 2, inf or a function, got norm={norm!r}")
    largest = 0.0
    for pair in checked_pairs(pairs):
        gap = np.ravel(np.subtract(total(*pair.data), total(*pair.neighbour)))
        size = norm(gap) if callable(norm) else np.linalg.norm(gap, norm)
        largest = float(np.maximum(largest, size))
    return largest


# Everything that an observer of a release sees beside the noised numbers, compared on neighbours.
#
# A guarantee speaks of all that is seen: an exception, its text and the lines that it passed,
# warnings, what is printed, which attributes there are, their types, shapes and values, the
# length of
# a pickle. Each must be the same for neighbours, or happen at rates that the guarantee allows.


_Release = Callable[[tuple[NDArray[Any], ...], np.random.Generator], Any]

_Distance = Callable[[Any, Any], float]

#: What was seen in one run: a text for every channel.
_Seen = dict[str, str]

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?\d+(\.\d*)?(e[-+]?\d+)?j?(?![\w.])|[-+]?\d*\.\d+(e[-+]?\d+)?j?"
)

_FLOAT = re.compile(r"\bnan\b|\binf\b|(\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(e[-+]?\d+)?j?")

_BLANKS, _ADDRESS = re.compile(r"\s+"), re.compile(r"0x[0-9a-fA-F]+")

_SIGNS = re.compile(r"[\s,+-]+")

#: Texts in which numbers are masked where the caller says that noise covers them.
_TEXTS = {
    "exception": "exception",
    "traceback": "exception",
    "warning texts": "warnings",
    "printed": "printed",
}


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


_ARRAYS = (np.ndarray, np.generic, float, complex)

_NUMBERS = (int, float, complex)

_NAMED = (bool, str, bytes, type, types.ModuleType, type(None))


# --- what is seen in one run -----------------------------------------------------------------


def _state(item: Any) -> Mapping[str, Any]:
    """Return what an object holds: attributes, items, closures, frames; nothing is called."""
    if isinstance(item, Mapping):
        return {f"[{key!r}]": value for key, value in item.items()}
    if isinstance(item, np.ndarray):
        base = {} if item.base is None else {".base": item.base}
        return base | ({"[:]": item.ravel().tolist()} if item.dtype.kind == "O" else {})
    if isinstance(item, (set, frozenset)):
        item = sorted(item, key=repr)
    if isinstance(item, tuple) and hasattr(item, "_asdict"):
        return {f".{name}": value for name, value in item._asdict().items()}
    if isinstance(item, (list, tuple)):
        return {f"[{index}]": value for index, value in enumerate(item)}
    if isinstance(item, np.random.Generator):
        return {".state": item.bit_generator.state}
    if isinstance(item, types.FunctionType):
        cells = [cell.cell_contents for cell in item.__closure__ or () if cell != types.CellType()]
        return {".closure": cells, ".defaults": [item.__defaults__, item.__kwdefaults__]}
    if isinstance(item, types.GeneratorType):
        return {".frame": {} if item.gi_frame is None else dict(item.gi_frame.f_locals)}
    if isinstance(item, types.MethodType):
        return {".__self__": item.__self__, ".__func__": item.__func__}
    slots = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(item, "__dict__", {}), *(name for name in slots if hasattr(item, name))]
    if names:
        return {f".{name}": getattr(item, name) for name in names if name != "__dict__"}
    return {f"<{index}>": value for index, value in enumerate(gc.get_referents(item))}


def _leaves(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield every object that is reachable from a released one, with its path."""
    plain = (*_NAMED, *_NUMBERS, np.generic)
    seen: dict[int, Any] = {}  # the objects are kept, so that no number is used twice
    stack = [("", root)]
    while stack:
        path, item = stack.pop()
        if not isinstance(item, plain) and id(item) in seen:
            continue
        seen[id(item)] = item
        yield path.lstrip("."), item
        if not isinstance(item, (*plain, types.BuiltinFunctionType, np.ufunc, np.dtype)):
            stack += [(path + name, value) for name, value in _state(item).items()]


def _token(item: Any, noised: bool) -> str:
    """Return what an observer may know of one object: of a noised one not the numbers."""
    kind = type(item).__qualname__
    if isinstance(item, (np.ndarray, np.generic)):
        array = np.asarray(item)
        order = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "strided"
        kind += f" {array.dtype} {array.shape} {order}"
        if not noised and array.dtype.kind != "O":
            values = repr(item) if array.size == 1 else hashlib.md5(array.tobytes()).hexdigest()[:8]
            return f"{kind} {values}"
    elif isinstance(item, _NAMED) or (isinstance(item, _NUMBERS) and not noised):
        return f"{kind} {item!r}"
    elif not isinstance(item, _NUMBERS):
        return kind
    finite = np.asarray(item).dtype.kind not in "fc" or bool(np.isfinite(item).all())
    return f"{kind} {'finite' if finite else 'NaN or infinite'}"


def _is_noised(path: str, noised: Sequence[str]) -> bool:
    return any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in noised)


def _look(released: Any, noised: Sequence[str]) -> _Seen:
    """Return what can be read off a released object."""
    leaves = list(_leaves(released))
    seen = {
        f"attribute {path or '(itself)'}": _token(item, _is_noised(path, noised))
        for path, item in leaves
    }
    seen["attributes"] = " ".join(path for path, _ in leaves)
    seen["repr"] = _SIGNS.sub("", _FLOAT.sub("", repr(released)))  # attributes have the numbers
    try:
        seen["pickle"] = f"{len(pickle.dumps(released))} bytes"
    except Exception as problem:  # lambdas and open files cannot be pickled: that too is seen
        seen["pickle"] = repr(problem)
    return seen


def _run(
    release: _Release, data: tuple[NDArray[Any], ...], seed: int, noised: Sequence[str]
) -> tuple[_Seen, Any]:
    """Run a release once; return what was seen, and what was released (None if it raised)."""
    printed, released = io.StringIO(), None
    seen: _Seen = {"raises": "nothing"}
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            released = release(tuple(part.copy() for part in data), np.random.default_rng(seed))
        except Exception as problem:  # whatever it is, the observer sees it
            seen = {
                "raises": type(problem).__qualname__,
                "exception": "".join(traceback.format_exception_only(problem)).strip(),
                "traceback": traceback.format_exc(),
            }
    seen["warnings"] = " ".join(warning.category.__qualname__ for warning in caught)
    seen["warning texts"] = " | ".join(str(warning.message) for warning in caught)
    seen["printed"] = printed.getvalue()
    if seen["raises"] == "nothing":
        seen |= _look(released, noised)
    for channel, name in _TEXTS.items():
        if name in noised and channel in seen:
            seen[channel] = _NUMBER.sub("#", seen[channel])
    return {channel: _ADDRESS.sub("0x", text) for channel, text in seen.items()}, released


# --- traces of training values ---------------------------------------------------------------


def _traces(pair: NeighbourPair, data: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Return what may have been kept of the data: as given, clipped to unit rows, centred.

    Numbers of several records are left out: they may be public constants.
    """
    found = [np.zeros(0)]
    with np.errstate(all="ignore"):
        for part in data[:1] if pair.relation == "replace_entry" else data:
            if part.dtype.kind == "f":
                rows = part.reshape(len(part), -1)
                lengths = np.linalg.norm(rows, axis=1, keepdims=True)
                for version in (rows, rows - rows.mean(axis=0), rows / lengths):
                    sizes, counts = np.unique(np.abs(version), return_counts=True)
                    found += [sizes[counts == 1], -sizes[counts == 1]]
    values = np.concatenate(found)
    return values[np.isfinite(values)]


def _words(blob: bytes, width: int) -> NDArray[Any]:
    """Return the words of a number of bytes that begin anywhere in a text of bytes."""
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(blob, np.uint8), width)
    return np.ascontiguousarray(windows).view(f"u{width}").ravel()


def _found_traces(released: Any, values: NDArray[np.float64]) -> int:
    """Count the training values whose bits are in the pickle or in anything that is reachable.

    Only numbers with a bit in nearly every byte are looked for; in single precision two of them
    must be there, since one is found in a large pickle by chance.
    """
    try:
        blob = pickle.dumps(released)
    except Exception:  # not to be pickled: what is reachable remains
        blob = b""
    arrays = [
        item for _, item in _leaves(released) if isinstance(item, (np.ndarray, np.generic, float))
    ]
    blob += b"".join(
        np.asarray(item).tobytes() for item in arrays if np.asarray(item).dtype != object
    )
    total = 0
    for width, least, enough in ((8, 6, 1), (4, 4, 2)):
        with np.errstate(over="ignore"):
            bits = values.astype(f"f{width}")
        busy = np.count_nonzero(bits.view(np.uint8).reshape(-1, width), axis=1) >= least
        wanted = np.unique(bits[busy].view(f"u{width}"))
        if len(blob) >= width:
            hits = int(np.isin(wanted, _words(blob, width)).sum())
            total += hits if hits >= enough else 0
    return total


# --- comparison ------------------------------------------------------------------------------


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


def _fitted(estimator: Any, data: tuple[NDArray[Any], ...], rng: np.random.Generator) -> Any:
    """Fit a clone; its seed has a constant number of bytes, and so has its pickle."""
    seed = int(rng.integers(2**30, 2**31))
    return clone(estimator).set_params(random_state=seed).fit(*data)


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
    rng: np.random.Generator,
) -> SideChannelReport:
    """Compare all that an observer of a release sees, beside the noised numbers, on neighbours.

    Parameters
    ----------
    release : estimator or callable
        A scikit-learn estimator with a ``random_state``, of which clones are fitted, or
        ``release(data, rng)`` that returns anything; ``data`` are the arrays of one side.
    pairs : iterable of NeighbourPair
        Such as :func:`nasty_pairs` for the relation of the claim.
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
    rng : numpy.random.Generator
        Source of the seeds of all runs.

    Returns
    -------
    SideChannelReport
        With ``findings``, ``violated``, and a table as its text.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, or every run on every pair raised an exception:
        then nothing was tested.

    Notes
    -----
    Compared are exceptions (type, text, traceback), warnings (category, text), what is printed, the
    printed object, the length of its pickle, and all that is reachable from it by attributes,
    items, slots, closures, frames of generators and bases of views: types, dtypes, shapes, memory
    order, values. Training values, as given, centred or scaled to length 1, must not be among the
    bits of the pickle or of what is reachable.

    A difference seen in the pilot becomes an event, one for each channel, whose rates are bounded
    on fresh runs (:func:`epsilon_lower_bound`, at a confidence shared among all pairs and events).
    Findings that need no counting have an infinite bound: training values that are kept, a number
    that differs at equal seeds in every run and never comes back, too large a distance.

    Time and memory are not looked at, nor is code that catches its own warnings.

    Examples
    --------
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
    run = partial(_fitted, release) if hasattr(release, "fit") else release
    audit = _Audit(
        run, tuple(check_iterable("noised", noised)), check_nonnegative("epsilon", epsilon),
        check_probability("delta", delta, zero=True), check_rng(rng),
    )  # fmt: skip
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
