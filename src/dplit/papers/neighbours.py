"""Data sets as tuples of records, and which of them are neighbours."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import get_args

from dplit._checks import check_choice, check_integer
from dplit.papers.definition import _Database, _Neighboring


def are_neighbours(first: _Database, second: _Database, *, neighboring: _Neighboring) -> bool:
    """Whether two data sets differ in one record (Chatalic et al. 2022, Definitions 9 and 10).

    ``"add_remove"``: one of them has a record more. ``"replace_one"``: as many records, at most
    one different. ``"replace_in_place"``: the same where places belong to persons; only here the
    order of records matters.

    >>> are_neighbours(("a", "b"), ("b", "c"), neighboring="replace_one")
    True
    """
    check_choice("neighboring", neighboring, get_args(_Neighboring))
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
) -> list[_Database]:
    """Return all data sets of up to ``max_size`` records of a finite universe, the smaller first.

    Unless ``ordered``, one representative of every multiset is listed.

    >>> databases("ab", max_size=1)
    [(), ('a',), ('b',)]
    """
    sizes = range(check_integer("max_size", max_size, minimum=0) + 1)
    records = tuple(universe)
    found: list[_Database] = []
    for size in sizes:
        if ordered:
            found += itertools.product(records, repeat=size)
        else:
            found += itertools.combinations_with_replacement(records, size)
    return found


def removals(sets: Iterable[_Database]) -> set[tuple[_Database, _Database]]:
    """Return every data set with each of its records removed: the pairs of Definition 9.

    >>> sorted(removals([("a", "b")]))
    [(('a', 'b'), ('a',)), (('a', 'b'), ('b',))]
    """
    return {(x, x[:i] + x[i + 1 :]) for x in sets for i in range(len(x))}


def replacements(
    sets: Iterable[_Database], universe: Iterable[str]
) -> set[tuple[_Database, _Database]]:
    """Return every data set with each record replaced by each: the pairs of Definition 10.

    Records are strings; the second data set is sorted again, and may equal the first.

    >>> sorted(replacements([("b",)], "ab"))
    [(('b',), ('a',)), (('b',), ('b',))]
    """
    return {
        (x, tuple(sorted((*x[:i], record, *x[i + 1 :]), key=str)))
        for x in sets
        for i in range(len(x))
        for record in universe
    }


def by_value(universe: Iterable[Hashable]) -> Callable[[_Database], list[_Database]]:
    """Return the partition of data sets into one part per possible record, for
    :func:`~dplit.papers.composition.parallel`.

    >>> by_value("ab")(("a", "b", "b"))
    [('a',), ('b', 'b')]
    """
    values = tuple(universe)
    return lambda data: [tuple(r for r in data if r == value) for value in values]
