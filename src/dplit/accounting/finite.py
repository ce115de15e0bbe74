"""Privacy of finite mechanisms by enumeration, and how budgets compose.

A finite mechanism maps a data set (a tuple of records) to the law of its outcome, an array of
probabilities; going through all pairs of neighbours settles definitions and composition lemmas.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit._numerics.rounding import round_up

#: A data set: records may repeat.
_Database = tuple[Hashable, ...]

#: From a data set to the law of the outcome.
_Mechanism = Callable[[_Database], Array]

_Neighboring = Literal["add_remove", "replace_one", "replace_in_place"]

#: By how much probabilities may miss the sum 1: rounding, not a fault of the law.
_SUM_TOLERANCE = 1e-9


# Data sets as tuples of records, and which of them are neighbours.


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
    """Return the partition of data sets into one part per possible record, for :func:`parallel`.

    >>> by_value("ab")(("a", "b", "b"))
    [('a',), ('b', 'b')]
    """
    values = tuple(universe)
    return lambda data: [tuple(r for r in data if r == value) for value in values]


# Two laws: every event can be looked at, and "private" is a finite computation.


def _law(name: str, value: ArrayLike) -> Array:
    law = check_real_array(name, value, 1)
    if law.min() < 0.0 or abs(math.fsum(law) - 1.0) > _SUM_TOLERANCE:
        raise ValueError(
            f"{name} must be nonnegative with sum 1, got least entry {law.min():g} and sum "
            f"{math.fsum(law):g}"
        )
    return law


def _laws(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    p, q = _law("first", first), _law("second", second)
    if p.shape != q.shape:
        raise ValueError(
            f"first and second must have equally many outcomes, got {len(p)} and {len(q)}"
        )
    return p, q


def privacy_loss(p: ArrayLike, q: ArrayLike) -> Array:
    """Log-ratio ``log(p / q)`` of two densities (Chatalic et al. 2022, Definition 8).

    Infinite where one vanishes, and NaN where both do: an outcome that no data set produces has no
    loss.

    >>> privacy_loss([0.8, 0.2, 0.0], [0.4, 0.6, 0.0]).round(3)
    array([ 0.693, -1.099,    nan])
    """
    above = check_real_array("p", p)
    below = check_real_array("q", q)
    if above.shape != below.shape:
        raise ValueError(f"q must have shape {above.shape}, got q of shape {below.shape}")
    if above.min() < 0 or below.min() < 0:
        raise ValueError("p and q must be nonnegative, got a negative density")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(above) - np.log(below))


def law_epsilon(first: ArrayLike, second: ArrayLike) -> float:
    """Smallest epsilon with ``P(S) <= exp(epsilon) Q(S)`` for all events: one direction.

    The ratio of two sums lies between the least and the largest ratio of their terms, so that
    single outcomes decide. Infinite if P has an outcome that Q has not.

    >>> round(law_epsilon([0.75, 0.25], [0.25, 0.75]), 4)
    1.0986
    """
    p, q = _laws(first, second)
    return float(privacy_loss(p, q)[p > 0].max())


def law_delta(first: ArrayLike, second: ArrayLike, *, epsilon: float) -> float:
    """Smallest delta with ``P(S) <= exp(epsilon) Q(S) + delta`` for all events: one direction.

    Sum of the positive parts of ``p - exp(epsilon) q``: the worst event collects them.

    >>> round(law_delta([0.5, 0.5], [0.25, 0.75], epsilon=0.0), 4)
    0.25
    """
    p, q = _laws(first, second)
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(np.maximum(p - factor * q, 0.0).sum())


def dp_epsilon(first: ArrayLike, second: ArrayLike) -> float:
    r"""Smallest epsilon of two laws over *all* events, in both directions.

    :math:`\max_O|\log(P(O)/Q(O))|`; inf if one data set can show an outcome that the other cannot
    (Dwork, McSherry, Nissim and Smith, TCC 2006, Definition 1).

    >>> round(dp_epsilon([0.75, 0.25], [0.25, 0.75]), 6) == round(math.log(3), 6)
    True
    """
    return max(law_epsilon(first, second), law_epsilon(*_laws(first, second)[::-1]))


def finite_delta(first: ArrayLike, second: ArrayLike, *, epsilon: float) -> float:
    r"""Smallest delta of two laws at ``epsilon``, in both directions.

    :math:`\max_S P(S)-e^\epsilon Q(S)` (Chatalic et al. 2022, Definition 14 and equation (8)).

    >>> round(finite_delta([0.5, 0.5], [0.1, 0.9], epsilon=0.0), 12)
    0.4
    """
    p, q = _laws(first, second)
    return max(law_delta(p, q, epsilon=epsilon), law_delta(q, p, epsilon=epsilon))


def dp_epsilon_restricted(first: ArrayLike, second: ArrayLike) -> float:
    r"""Smallest epsilon of two laws over common outcomes only; 0 if there are none.

    Nie and Wang (2017), Definition 1, literally: "for every set O in
    :math:`\mathrm{Range}(A(z_1))\cap\mathrm{Range}(A(z_2))`". Outcomes that only one data set can
    show, the ones that identify it, are left out. Read with Range as the common codomain, the
    printed definition is :func:`dp_epsilon`.

    >>> dp_epsilon_restricted([1.0, 0.0], [0.0, 1.0])
    0.0
    """
    p, q = _laws(first, second)
    common = (p > 0) & (q > 0)
    if not common.any():
        return 0.0
    return float(np.abs(privacy_loss(p[common], q[common])).max())


def total_variation(first: ArrayLike, second: ArrayLike) -> float:
    r"""Largest difference of the probabilities of one event, :math:`\frac12\sum_i|p_i-q_i|`.

    The least delta of (0, delta)-privacy; with value 1 no epsilon and no delta < 1 are possible.

    >>> total_variation([0.75, 0.25], [0.25, 0.75])
    0.5
    """
    p, q = _laws(first, second)
    return 0.5 * math.fsum(np.abs(p - q))


# Mechanisms: the worst of all pairs of neighbours.


def mechanism_epsilon(
    table: ArrayLike, neighbours: Sequence[tuple[int, int]], *, restricted: bool = False
) -> float:
    """Smallest epsilon of a tabulated mechanism over a list of neighbouring data sets.

    Row i of ``table`` is the law of the outcome on data set i; ``neighbours`` are pairs of rows,
    each counted in both directions. ``restricted`` reads Definition 1 literally.

    >>> publish = [[1.0, 0.0], [0.0, 1.0]]
    >>> mechanism_epsilon(publish, [(0, 1)]), mechanism_epsilon(publish, [(0, 1)], restricted=True)
    (inf, 0.0)
    """
    rows = check_finite_array("table", table, ndim=2)
    if len(neighbours) == 0:
        raise ValueError("neighbours must not be empty")
    loss = dp_epsilon_restricted if restricted else dp_epsilon
    worst = 0.0
    for pair in neighbours:
        left, right = (check_integer("neighbours", row, minimum=0) for row in pair)
        if max(left, right) >= len(rows):
            raise ValueError(f"neighbours must name rows below {len(rows)}, got {pair!r}")
        worst = max(worst, loss(rows[left], rows[right]))
    return worst


def _pairs(
    sets: Iterable[_Database], neighboring: _Neighboring
) -> Iterator[tuple[_Database, _Database]]:
    for pair in itertools.permutations(tuple(sets), 2):
        if are_neighbours(*pair, neighboring=neighboring):
            yield pair


def worst_epsilon(
    mechanism: _Mechanism, sets: Iterable[_Database], *, neighboring: _Neighboring
) -> float:
    """Exact epsilon of a finite mechanism: the largest over all pairs of neighbours among ``sets``.

    >>> count, sets = geometric_count(0.5, size=3), databases("ab", max_size=3)
    >>> round(worst_epsilon(count, sets, neighboring="add_remove"), 6)
    0.5
    """
    laws = {data: mechanism(data) for data in sets}
    return max(law_epsilon(laws[x], laws[y]) for x, y in _pairs(laws, neighboring))


def worst_delta(
    mechanism: _Mechanism, sets: Iterable[_Database], *, epsilon: float, neighboring: _Neighboring
) -> float:
    """Exact delta of a finite mechanism at one epsilon: the largest over all neighbours."""
    laws = {data: mechanism(data) for data in sets}
    pairs = _pairs(laws, neighboring)
    return max(law_delta(laws[x], laws[y], epsilon=epsilon) for x, y in pairs)


def geometric_count(
    epsilon: float, *, size: int, selected: Callable[[Hashable], bool] | None = None
) -> _Mechanism:
    r"""Count of (selected) records with two-sided geometric noise, clamped to 0..size.

    Noise k has probability proportional to :math:`e^{-\epsilon|k|}`; the mass beyond an end is put
    on it. Under "add_remove" the budget is used up exactly (Ghosh, Roughgarden and Sundararajan,
    SIAM J. Comput. 41 (2012)).

    >>> geometric_count(np.log(2.0), size=2)(("a",)).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    ratio = float(np.exp(-check_positive("epsilon", epsilon)))
    top = check_integer("size", size)

    def law(data: _Database) -> Array:
        count = sum(1 for record in data if selected is None or selected(record))
        distance = np.abs(np.arange(top + 1) - min(count, top))
        mass = (1.0 - ratio) / (1.0 + ratio) * ratio**distance
        mass[[0, top]] = ratio ** distance[[0, top]] / (1 + ratio)
        return np.asarray(mass)

    return law


def leaky(mechanism: _Mechanism, sets: Sequence[_Database], *, delta: float) -> _Mechanism:
    """Mechanism that publishes the data themselves, one of ``sets``, with probability ``delta``.

    (epsilon, delta)-private if ``mechanism`` is epsilon-private, with no smaller delta; every data
    set is one more outcome.

    >>> leaky(geometric_count(1.0, size=1), [(), ("a",)], delta=0.1)(()).round(3)
    array([0.658, 0.242, 0.1  , 0.   ])
    """
    delta = check_probability("delta", delta)
    places = {data: place for place, data in enumerate(sets)}

    def law(data: _Database) -> Array:
        leak = np.zeros(len(places))
        leak[places[data]] = delta
        return np.concatenate([(1.0 - delta) * mechanism(data), leak])

    return law


def joint(mechanisms: Sequence[_Mechanism]) -> _Mechanism:
    """Mechanism that runs several on the same data, independently; its law is their product, flat.

    >>> joint([geometric_count(1.0, size=1)] * 2)(()).round(4)
    array([0.5344, 0.1966, 0.1966, 0.0723])
    """
    return parallel(mechanisms, lambda data: [data] * len(mechanisms))


def parallel(
    mechanisms: Sequence[_Mechanism], partition: Callable[[_Database], Sequence[_Database]]
) -> _Mechanism:
    """Mechanism that runs each of several on its own part of the data, independently.

    >>> halves = lambda data: [data[:1], data[1:]]
    >>> parallel([geometric_count(1.0, size=1)] * 2, halves)(("a",)).round(4)
    array([0.1966, 0.0723, 0.5344, 0.1966])
    """
    if not mechanisms:
        raise ValueError("mechanisms must not be empty, got 0 of them")

    def law(data: _Database) -> Array:
        whole = np.ones(1)
        for mechanism, part in zip(mechanisms, partition(data), strict=True):
            whole = np.multiply.outer(whole, mechanism(part)).ravel()
        return whole

    return law


def compose_budgets(budgets: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Guarantee of independent mechanisms on the same data: epsilons and deltas add, rounded up.

    Chatalic et al. (2022), Lemmas 1 and 3.

    >>> compose_budgets([(0.5, 0.0), (0.25, 0.125)])
    (0.75, 0.125)
    """
    pairs = [
        (
            check_nonnegative("epsilon", epsilon),
            check_probability("delta", delta, zero=True, one=True),
        )
        for epsilon, delta in budgets
    ]
    return round_up(sum((Fraction(e) for e, _ in pairs), Fraction(0))), round_up(
        sum((Fraction(d) for _, d in pairs), Fraction(0))
    )


def group_guarantee(*, epsilon: float, delta: float = 0.0, size: int = 2) -> tuple[float, float]:
    r"""Guarantee :math:`(k\epsilon,\delta(1+e^\epsilon+\dots+e^{(k-1)\epsilon}))` at k steps.

    :math:`P_0(S)\le e^\epsilon P_1(S)+\delta\le e^\epsilon(e^\epsilon P_2(S)+\delta)+\delta`, and
    so on: transitivity, not composition. Replacing a record is two steps of adding or removing.
    Both numbers are rounded up.

    >>> group_guarantee(epsilon=0.5, delta=0.0)
    (1.0, 0.0)
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta, zero=True, one=True)
    steps = check_integer("size", size)
    together = round_up(steps * Fraction(epsilon))
    if delta == 0.0 or steps == 1:
        return together, delta
    if together > 1e6:
        return together, math.inf
    digits = 60 + max(0, -Decimal(epsilon).adjusted())  # what e^epsilon - 1 loses
    with localcontext(Context(prec=digits, Emin=-(10**9), Emax=10**9)):
        growth = Decimal(epsilon).exp() - 1
        total = Decimal(delta) * ((Decimal(epsilon) * steps).exp() - 1) / growth
    return together, round_up(Fraction(total) * (1 + Fraction(1, 10**40)))
