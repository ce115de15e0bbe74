"""Neighbouring data sets made to break things: huge, tiny, equal, collinear, at bounds, blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_callable,
    check_choice,
    check_integer,
    check_iterable,
    check_positive,
)
from dplit._entries import is_missing

Relation = Literal["add_remove", "replace_one", "replace_entry"]

_Data = tuple[Any, ...]

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
    data, neighbour : tuple of ndarray, list, frame or column
        With one row or entry for each record, as ``(X,)`` or ``(X, y)``; frames and columns of
        pandas or polars.

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


def rows_of(part: Any) -> NDArray[Any]:
    """Return what a container holds: an array as it is, of others each row or entry by itself."""
    if isinstance(part, np.ndarray):
        return part
    if hasattr(part, "itertuples"):  # pandas
        rows = list(part.itertuples(index=False, name=None))
    elif hasattr(part, "rows"):  # polars
        rows = part.rows()
    else:
        rows = part if isinstance(part, list) else part.to_list()
    wide = len(rows) > 0 and all(isinstance(row, (list, tuple)) for row in rows)
    found = np.empty((len(rows), len(rows[0])) if wide else len(rows), object)
    for index, row in enumerate(rows):
        found[index] = row
    plain = all(type(entry) is float for entry in found.ravel())
    return found.astype(np.float64) if plain else found


def _differ(one: Any, other: Any) -> bool:
    """Whether two entries are different: 1 and True, or two kinds of missing ones, are."""
    if type(one) is not type(other):
        return True
    return not (is_missing(one) and is_missing(other)) and bool(one != other)


def _unlike(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries of two arrays of one shape differ."""
    if left.dtype.kind != "O" and right.dtype.kind != "O":
        return np.asarray(left != right)
    pairs = zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
    return np.array([_differ(*pair) for pair in pairs], bool).reshape(left.shape)


def _other_rows(left: _Data, right: _Data) -> NDArray[np.intp]:
    """Return the rows in which two data sets of one size differ."""
    unlike = [
        _unlike(a, b).reshape(len(a), -1).any(axis=1) for a, b in zip(left, right, strict=True)
    ]
    return np.flatnonzero(np.any(unlike, axis=0))


def _are_neighbours(relation: Relation, data: _Data, neighbour: _Data) -> bool:
    data, neighbour = (tuple(map(rows_of, side)) for side in (data, neighbour))
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
    labels_kept = not any(_unlike(a, b).any() for a, b in zip(data[1:], neighbour[1:], strict=True))
    one_entry = labels_kept and np.count_nonzero(_unlike(data[0], neighbour[0])) == 1
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
    found = [pair for pair in pairs if pair is not None]
    return [*found, *_beyond(found[0])]


def _beyond(pair: NeighbourPair) -> Iterator[NeighbourPair]:
    """Yield a pair again in containers whose numbers have no largest one: its first record has."""
    beyond: dict[str, tuple[Any, Any]] = {
        "10**400 in an array of objects": (object, 10**400),
        "1e4000 in long doubles": (np.longdouble, np.longdouble("1e4000")),
    }
    for name, (kind, number) in beyond.items():
        X, other = (side[0].astype(kind) for side in (pair.data, pair.neighbour))
        X[0, 0] = number
        data, neighbour = (X, *pair.data[1:]), (other, *pair.neighbour[1:])
        if _are_neighbours(pair.relation, data, neighbour):
            yield NeighbourPair(name, pair.relation, data, neighbour)


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
