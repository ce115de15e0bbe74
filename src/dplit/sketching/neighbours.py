"""Data sets as tuples of records, and which of them are neighbours."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, get_args

from dplit._checks import check_choice, check_integer

__all__ = [
    "Database",
    "Neighboring",
    "are_neighbours",
    "by_value",
    "databases",
    "removals",
    "replacements",
]

Database = tuple[Hashable, ...]
Neighboring = Literal["add_remove", "replace_one", "replace_in_place"]


def are_neighbours(first: Database, second: Database, *, neighboring: Neighboring) -> bool:
    """Whether two data sets differ in one record.

    Parameters
    ----------
    first, second : tuple
        Records; repeated ones count.
    neighboring : {"add_remove", "replace_one", "replace_in_place"}
        One record more in one of them ("unbounded"); as many records and at most one different
        ("bounded"); or the same, where places belong to persons: at most one place differs. The
        order of records matters to the last relation alone.

    Returns
    -------
    bool
        The relation is symmetric.

    Raises
    ------
    ValueError
        If ``neighboring`` is neither.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 9 and 10.

    Examples
    --------
    >>> from dplit.sketching.neighbours import are_neighbours
    >>> are_neighbours(("a", "b"), ("b",), neighboring="add_remove")
    True
    >>> are_neighbours(("a", "b"), ("b", "c"), neighboring="replace_one")
    True
    """
    check_choice("neighboring", neighboring, get_args(Neighboring))
    if neighboring == "replace_in_place":
        same = len(first) == len(second)
        return same and sum(a != b for a, b in zip(first, second, strict=True)) <= 1
    left, right = Counter(first), Counter(second)
    surplus, missing = (left - right).total(), (right - left).total()
    if neighboring == "add_remove":
        return surplus + missing == 1
    return surplus == missing <= 1


def databases(
    universe: Sequence[Hashable], *, max_size: int, ordered: bool = False
) -> list[Database]:
    """Return all data sets of up to ``max_size`` records of a finite universe.

    Parameters
    ----------
    universe : sequence
        Possible records.
    max_size : int
        Largest size; the empty data set is included.
    ordered : bool, default=False
        Whether records have places; by default one representative of every multiset is listed.

    Returns
    -------
    list of tuple
        All of them, the smaller first.

    Examples
    --------
    >>> from dplit.sketching.neighbours import databases
    >>> databases("ab", max_size=1)
    [(), ('a',), ('b',)]
    """
    sizes = range(check_integer("max_size", max_size, minimum=0) + 1)
    records = tuple(universe)
    found: list[Database] = []
    for size in sizes:
        if ordered:
            found += itertools.product(records, repeat=size)
        else:
            found += itertools.combinations_with_replacement(records, size)
    return found


def removals(sets: Iterable[Database]) -> set[tuple[Database, Database]]:
    """Return every data set with each of its records removed: the pairs of Definition 9.

    Parameters
    ----------
    sets : iterable of tuple
        Data sets.

    Returns
    -------
    set of pairs
        The larger data set first.

    Examples
    --------
    >>> from dplit.sketching.neighbours import removals
    >>> sorted(removals([("a", "b")]))
    [(('a', 'b'), ('a',)), (('a', 'b'), ('b',))]
    """
    return {(x, x[:i] + x[i + 1 :]) for x in sets for i in range(len(x))}


def replacements(
    sets: Iterable[Database], universe: Iterable[str]
) -> set[tuple[Database, Database]]:
    """Return every data set with each record replaced by each: the pairs of Definition 10.

    Parameters
    ----------
    sets : iterable of tuple
        Nonempty data sets of sorted strings.
    universe : iterable of str
        Possible records.

    Returns
    -------
    set of pairs
        The second data set sorted again; a data set is its own neighbour.

    Examples
    --------
    >>> from dplit.sketching.neighbours import replacements
    >>> sorted(replacements([("b",)], "ab"))
    [(('b',), ('a',)), (('b',), ('b',))]
    """
    return {
        (x, tuple(sorted((*x[:i], record, *x[i + 1 :]), key=str)))
        for x in sets
        for i in range(len(x))
        for record in universe
    }


def by_value(universe: Iterable[Hashable]) -> Callable[[Database], list[Database]]:
    """Return the partition of data sets into one part per possible record.

    Parameters
    ----------
    universe : iterable
        Possible records.

    Returns
    -------
    callable
        From a data set to its parts, for :func:`dplit.sketching.composition.parallel`.

    Examples
    --------
    >>> from dplit.sketching.neighbours import by_value
    >>> by_value("ab")(("a", "b", "b"))
    [('a',), ('b', 'b')]
    """
    values = tuple(universe)
    return lambda data: [tuple(r for r in data if r == value) for value in values]
