"""Composition of finite mechanisms: joint and parallel releases, budgets, groups, worst
neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from dplit._checks import Array, check_integer, check_nonnegative, check_positive, check_probability
from dplit._numerics.rounding import round_up
from dplit.papers.definition import _Database, _Neighboring, law_delta, law_epsilon
from dplit.papers.neighbours import are_neighbours

#: From a data set to the law of the outcome.
_Mechanism = Callable[[_Database], Array]


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

    >>> from dplit.papers.neighbours import databases
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
