"""Privacy of finite mechanisms by enumeration, and how budgets compose.

A finite mechanism is a function from a data set (a tuple of records) to the law of its outcome, an
array of probabilities. Everything about it can be computed by going through all pairs of
neighbours, which makes definitions and composition lemmas statements about small arrays.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)

__all__ = [
    "Database",
    "Mechanism",
    "Neighboring",
    "are_neighbours",
    "by_value",
    "compose_budgets",
    "databases",
    "dp_epsilon",
    "dp_epsilon_restricted",
    "finite_delta",
    "geometric_count",
    "group_guarantee",
    "joint",
    "law_delta",
    "law_epsilon",
    "leaky",
    "mechanism_epsilon",
    "parallel",
    "privacy_loss",
    "removals",
    "replacements",
    "total_variation",
    "worst_delta",
    "worst_epsilon",
]


# Data sets as tuples of records, and which of them are neighbours.


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
    >>> from dplit.accounting.finite import are_neighbours
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
    >>> from dplit.accounting.finite import databases
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
    >>> from dplit.accounting.finite import removals
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
    >>> from dplit.accounting.finite import replacements
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
        From a data set to its parts, for :func:`dplit.accounting.finite.parallel`.

    Examples
    --------
    >>> from dplit.accounting.finite import by_value
    >>> by_value("ab")(("a", "b", "b"))
    [('a',), ('b', 'b')]
    """
    values = tuple(universe)
    return lambda data: [tuple(r for r in data if r == value) for value in values]


Mechanism = Callable[[Database], Array]


def _law(name: str, value: ArrayLike) -> Array:
    law = np.asarray(check_finite_array(name, value, ndim=1), dtype=np.float64)
    if law.min() < 0 or abs(law.sum() - 1.0) > 1e-9:
        raise ValueError(f"{name} must be nonnegative and sum to 1, got sum {law.sum()!r}")
    return law


def privacy_loss(p: ArrayLike, q: ArrayLike) -> Array:
    """Log-ratio of two densities, outcome by outcome.

    Parameters
    ----------
    p, q : array_like
        Nonnegative densities (or probabilities) at the same outcomes.

    Returns
    -------
    ndarray
        ``log(p / q)``; infinite where one vanishes, and NaN where both do: an outcome that no
        data set produces has no loss.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 8.

    Examples
    --------
    >>> from dplit.accounting.finite import privacy_loss
    >>> privacy_loss([0.8, 0.2, 0.0], [0.4, 0.6, 0.0]).round(3)
    array([ 0.693, -1.099,    nan])
    """
    above = np.asarray(check_finite_array("p", p), dtype=np.float64)
    below = np.asarray(check_finite_array("q", q), dtype=np.float64)
    if above.shape != below.shape:
        raise ValueError(f"q must have shape {above.shape}, got q of shape {below.shape}")
    if above.min() < 0 or below.min() < 0:
        raise ValueError("p and q must be nonnegative, got a negative density")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(above) - np.log(below))


def law_epsilon(p: ArrayLike, q: ArrayLike) -> float:
    """Smallest epsilon with ``P(S) <= exp(epsilon) Q(S)`` for all events of a finite law.

    Parameters
    ----------
    p, q : array_like of shape (n_outcomes,)
        Probabilities.

    Returns
    -------
    float
        Largest privacy loss over the outcomes with ``p > 0``; possibly infinite.

    Examples
    --------
    >>> from dplit.accounting.finite import law_epsilon
    >>> round(law_epsilon([0.75, 0.25], [0.25, 0.75]), 4)
    1.0986
    """
    loss = privacy_loss(_law("p", p), _law("q", q))
    return float(loss[np.asarray(p) > 0].max())


def law_delta(p: ArrayLike, q: ArrayLike, *, epsilon: float) -> float:
    """Smallest delta with ``P(S) <= exp(epsilon) Q(S) + delta`` for all events of a finite law.

    Parameters
    ----------
    p, q : array_like of shape (n_outcomes,)
        Probabilities.
    epsilon : float
        Nonnegative.

    Returns
    -------
    float
        Sum of the positive parts of ``p - exp(epsilon) q``: the worst event collects them.

    Examples
    --------
    >>> from dplit.accounting.finite import law_delta
    >>> round(law_delta([0.5, 0.5], [0.25, 0.75], epsilon=0.0), 4)
    0.25
    """
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(np.maximum(_law("p", p) - factor * _law("q", q), 0.0).sum())


def _pairs(
    sets: Iterable[Database], neighboring: Neighboring
) -> Iterator[tuple[Database, Database]]:
    for pair in itertools.permutations(tuple(sets), 2):
        if are_neighbours(*pair, neighboring=neighboring):
            yield pair


def worst_epsilon(
    mechanism: Mechanism, sets: Iterable[Database], *, neighboring: Neighboring
) -> float:
    """Exact epsilon of a finite mechanism: the largest over all pairs of neighbours.

    Parameters
    ----------
    mechanism : callable
        From a data set to the law of the outcome.
    sets : iterable of tuple
        All data sets, as :func:`dplit.accounting.finite.databases` lists them.
    neighboring : {"add_remove", "replace_one", "replace_in_place"}
        Which pairs are compared.

    Returns
    -------
    float
        The mechanism is epsilon-private on these data sets for this value and no smaller one.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 7.

    Examples
    --------
    >>> from dplit.accounting.finite import geometric_count, worst_epsilon
    >>> from dplit.accounting.finite import databases
    >>> count = geometric_count(0.5, size=3)
    >>> sets = databases("ab", max_size=3)
    >>> round(worst_epsilon(count, sets, neighboring="add_remove"), 6)
    0.5
    """
    laws = {data: mechanism(data) for data in sets}
    return max(law_epsilon(laws[x], laws[y]) for x, y in _pairs(laws, neighboring))


def worst_delta(
    mechanism: Mechanism, sets: Iterable[Database], *, epsilon: float, neighboring: Neighboring
) -> float:
    """Exact delta of a finite mechanism at one epsilon: the largest over all pairs of neighbours.

    Parameters
    ----------
    mechanism : callable
        From a data set to the law of the outcome.
    sets : iterable of tuple
        All data sets.
    epsilon : float
        Nonnegative.
    neighboring : {"add_remove", "replace_one", "replace_in_place"}
        Which pairs are compared.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from dplit.accounting.finite import geometric_count, worst_delta
    >>> from dplit.accounting.finite import databases
    >>> count, sets = geometric_count(0.5, size=3), databases("ab", max_size=3)
    >>> round(worst_delta(count, sets, epsilon=0.5, neighboring="add_remove"), 9)
    0.0
    """
    laws = {data: mechanism(data) for data in sets}
    pairs = _pairs(laws, neighboring)
    return max(law_delta(laws[x], laws[y], epsilon=epsilon) for x, y in pairs)


def geometric_count(
    epsilon: float, *, size: int, selected: Callable[[Hashable], bool] | None = None
) -> Mechanism:
    r"""Count of selected records with two-sided geometric noise, clamped to 0..size.

    Parameters
    ----------
    epsilon : float
        Positive budget under "add_remove", which the mechanism uses up exactly.
    size : int
        Largest outcome, at least 1.
    selected : callable, optional
        Which records count; by default all.

    Returns
    -------
    callable
        Mechanism with ``size + 1`` outcomes.

    Notes
    -----
    Noise k has probability proportional to :math:`e^{-\epsilon|k|}`; the mass beyond an end is
    put on it. This is the discrete Laplace mechanism.

    References
    ----------
    A. Ghosh, T. Roughgarden and M. Sundararajan, Universally utility-maximizing privacy
    mechanisms, SIAM J. Comput. 41 (2012) 1673-1693.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.accounting.finite import geometric_count
    >>> geometric_count(np.log(2.0), size=2)(("a",)).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    ratio = float(np.exp(-check_positive("epsilon", epsilon)))
    top = check_integer("size", size)

    def law(data: Database) -> Array:
        count = sum(1 for record in data if selected is None or selected(record))
        distance = np.abs(np.arange(top + 1) - min(count, top))
        mass = (1.0 - ratio) / (1.0 + ratio) * ratio**distance
        mass[0], mass[top] = (
            ratio ** distance[0] / (1 + ratio),
            ratio ** distance[top] / (1 + ratio),
        )
        return np.asarray(mass)

    return law


def leaky(mechanism: Mechanism, sets: Sequence[Database], *, delta: float) -> Mechanism:
    """Mechanism that publishes the data themselves with probability ``delta``.

    Parameters
    ----------
    mechanism : callable
        What happens otherwise.
    sets : sequence of tuple
        All data sets: each is one more outcome.
    delta : float
        Probability of the leak, in (0, 1).

    Returns
    -------
    callable
        (epsilon, delta)-private if ``mechanism`` is epsilon-private, with no smaller delta.

    Examples
    --------
    >>> from dplit.accounting.finite import geometric_count, leaky
    >>> leaky(geometric_count(1.0, size=1), [(), ("a",)], delta=0.1)(()).round(3)
    array([0.658, 0.242, 0.1  , 0.   ])
    """
    delta = check_probability("delta", delta)
    places = {data: place for place, data in enumerate(sets)}

    def law(data: Database) -> Array:
        leak = np.zeros(len(places))
        leak[places[data]] = delta
        return np.concatenate([(1.0 - delta) * mechanism(data), leak])

    return law


def joint(mechanisms: Sequence[Mechanism]) -> Mechanism:
    """Mechanism that runs several on the same data, with independent randomness.

    Parameters
    ----------
    mechanisms : sequence of callable
        At least one.

    Returns
    -------
    callable
        Its law is the product law, flattened.

    Examples
    --------
    >>> from dplit.accounting.finite import geometric_count, joint
    >>> joint([geometric_count(1.0, size=1)] * 2)(()).round(4)
    array([0.5344, 0.1966, 0.1966, 0.0723])
    """
    return parallel(mechanisms, lambda data: [data] * len(mechanisms))


def parallel(
    mechanisms: Sequence[Mechanism], partition: Callable[[Database], Sequence[Database]]
) -> Mechanism:
    """Mechanism that runs each of several on its own part of the data, independently.

    Parameters
    ----------
    mechanisms : sequence of callable
        One per part, at least one.
    partition : callable
        From a data set to its parts, in the order of the mechanisms.

    Returns
    -------
    callable
        Its law is the product of the parts' laws, flattened.

    Raises
    ------
    ValueError
        If there is no mechanism, or (when called) not one part per mechanism.

    Examples
    --------
    >>> from dplit.accounting.finite import geometric_count, parallel
    >>> halves = lambda data: [data[:1], data[1:]]
    >>> parallel([geometric_count(1.0, size=1)] * 2, halves)(("a",)).round(4)
    array([0.1966, 0.0723, 0.5344, 0.1966])
    """
    if not mechanisms:
        raise ValueError("mechanisms must not be empty, got 0 of them")

    def law(data: Database) -> Array:
        whole = np.ones(1)
        for mechanism, part in zip(mechanisms, partition(data), strict=True):
            whole = np.multiply.outer(whole, mechanism(part)).ravel()
        return whole

    return law


def compose_budgets(budgets: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Guarantee of independent mechanisms on the same data.

    Parameters
    ----------
    budgets : iterable of (float, float)
        Pairs (epsilon, delta); delta = 0 for pure privacy.

    Returns
    -------
    tuple of float
        Sums of the epsilons and of the deltas.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemmas 1 and 3.

    Examples
    --------
    >>> from dplit.accounting.finite import compose_budgets
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
    return sum(e for e, _ in pairs), sum(d for _, d in pairs)


def group_guarantee(*, epsilon: float, delta: float = 0.0, size: int = 2) -> tuple[float, float]:
    r"""Guarantee for data sets that are ``size`` steps apart.

    Parameters
    ----------
    epsilon : float
        Budget for one step, positive.
    delta : float, default=0.0
        Failure probability for one step, in [0, 1].
    size : int, default=2
        Number of steps. Replacing a record is two steps of adding or removing.

    Returns
    -------
    tuple of float
        :math:`k\epsilon` and :math:`\delta(1+e^\epsilon+\dots+e^{(k-1)\epsilon})`.

    Notes
    -----
    :math:`P_0(S)\le e^\epsilon P_1(S)+\delta\le e^\epsilon(e^\epsilon P_2(S)+\delta)+\delta`, and
    so on. This is transitivity, not composition of mechanisms.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.accounting.finite import group_guarantee
    >>> group_guarantee(epsilon=0.5, delta=0.0)
    (1.0, 0.0)
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta, zero=True, one=True)
    steps = np.arange(check_integer("size", size))
    return len(steps) * epsilon, float(delta * np.exp(epsilon * steps).sum())


def finite_delta(first: ArrayLike, second: ArrayLike, *, epsilon: float) -> float:
    r"""Return the smallest delta for which two finite laws satisfy Definition 14 at ``epsilon``.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        Laws of the release on two neighbours: nonnegative, with sum 1.
    epsilon : float
        Nonnegative privacy loss.

    Returns
    -------
    float
        :math:`\max_S P(S)-e^\epsilon Q(S)`, in both directions: the sum over the outputs where
        the difference is positive.

    Raises
    ------
    TypeError, ValueError
        If a law is not a law, their sizes differ, or ``epsilon`` is negative.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 14 and equation (8).

    Examples
    --------
    >>> from dplit.accounting.finite import finite_delta
    >>> round(finite_delta([0.5, 0.5], [0.1, 0.9], epsilon=0.0), 12)
    0.4
    """
    p, q = (check_finite_array(n, v, ndim=1) for n, v in (("first", first), ("second", second)))
    for name, law in (("first", p), ("second", q)):
        if law.min() < 0 or abs(law.sum() - 1.0) > 1e-9 or law.shape != p.shape:
            raise ValueError(f"{name} must be a law on the outputs of first, got {law!r}")
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(max(np.maximum(a - factor * b, 0.0).sum() for a, b in ((p, q), (q, p))))


# Differential privacy of mechanisms that one can tabulate, and Definition 1 as it is printed.
#
# A finite mechanism is a table of probabilities: one row per data set, one column per outcome.
# Then
# every event can be looked at, and "private" is a finite computation.


_Array = NDArray[np.float64]

#: By how much a row of probabilities may miss the sum 1: rounding, not a fault of the table.
_SUM_TOLERANCE = 1e-9


def _law_definition(name: str, value: ArrayLike) -> _Array:
    """Return a row of probabilities."""
    array = check_finite_array(name, value, ndim=1)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    law = array.astype(np.float64)
    if law.min() < 0.0 or abs(math.fsum(law) - 1.0) > _SUM_TOLERANCE:
        raise ValueError(
            f"{name} must be nonnegative with sum 1, got least entry {law.min():g} and sum "
            f"{math.fsum(law):g}"
        )
    return law


def _two_laws(first: ArrayLike, second: ArrayLike) -> tuple[_Array, _Array]:
    p, q = _law_definition("first", first), _law_definition("second", second)
    if p.shape != q.shape:
        raise ValueError(
            f"first and second must have equally many outcomes, got {len(p)} and {len(q)}"
        )
    return p, q


def dp_epsilon(first: ArrayLike, second: ArrayLike) -> float:
    r"""Smallest epsilon of two laws over *all* events, in both directions.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        Probabilities of the same k outcomes on two neighbouring data sets.

    Returns
    -------
    float
        :math:`\max_O|\log(P(O)/Q(O))|`, which is inf if one data set can show an outcome that the
        other cannot.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a law, or the numbers of outcomes differ.

    Notes
    -----
    The ratio of two sums lies between the least and the largest ratio of their terms, so single
    outcomes decide; outcomes that neither data set shows do not count.

    References
    ----------
    Dwork, McSherry, Nissim and Smith, Calibrating noise to sensitivity, TCC 2006, Definition 1.

    Examples
    --------
    >>> round(dp_epsilon([0.75, 0.25], [0.25, 0.75]), 6) == round(math.log(3), 6)
    True
    >>> dp_epsilon([1.0, 0.0], [0.0, 1.0])
    inf
    """
    p, q = _two_laws(first, second)
    if bool(((p > 0) != (q > 0)).any()):
        return math.inf
    seen = p > 0
    return float(np.abs(np.log(p[seen]) - np.log(q[seen])).max())


def dp_epsilon_restricted(first: ArrayLike, second: ArrayLike) -> float:
    r"""Smallest epsilon of two laws over common outcomes only: Definition 1, literally.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        As in :func:`dp_epsilon`.

    Returns
    -------
    float
        The largest log ratio over the common outcomes; 0 if there are none.

    Raises
    ------
    TypeError, ValueError
        As in :func:`dp_epsilon`.

    Notes
    -----
    The printed definition asks for the inequality "for every set O in
    :math:`\mathrm{Range}(A(z_1))\cap\mathrm{Range}(A(z_2))`". Outcomes that only one data set can
    show, the ones that identify it, are left out. Read with Range as the common codomain, the
    printed definition is :func:`dp_epsilon`.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, Definition 1.

    Examples
    --------
    >>> dp_epsilon_restricted([1.0, 0.0], [0.0, 1.0])
    0.0
    """
    p, q = _two_laws(first, second)
    common = (p > 0) & (q > 0)
    if not common.any():
        return 0.0
    return float(np.abs(np.log(p[common]) - np.log(q[common])).max())


def total_variation(first: ArrayLike, second: ArrayLike) -> float:
    r"""Largest difference of the probabilities of one event under two laws.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        As in :func:`dp_epsilon`.

    Returns
    -------
    float
        :math:`\frac12\sum_i|p_i-q_i|` in [0, 1]: the least delta of (0, delta)-privacy; with value
        1 no epsilon and no delta < 1 are possible.

    Raises
    ------
    TypeError, ValueError
        As in :func:`dp_epsilon`.

    Examples
    --------
    >>> total_variation([0.75, 0.25], [0.25, 0.75])
    0.5
    """
    p, q = _two_laws(first, second)
    return 0.5 * math.fsum(np.abs(p - q))


def mechanism_epsilon(
    table: ArrayLike, neighbours: Sequence[tuple[int, int]], *, restricted: bool = False
) -> float:
    """Smallest epsilon of a finite mechanism over a list of neighbouring data sets.

    Parameters
    ----------
    table : array_like of shape (n, k)
        Row i is the law of the outcome on data set i.
    neighbours : sequence of (int, int)
        Pairs of rows; each counts in both directions. At least one.
    restricted : bool, default=False
        False: over all events. True: Definition 1 read literally.

    Returns
    -------
    float
        Nonnegative, perhaps inf.

    Raises
    ------
    TypeError, ValueError
        If a row is no law, or a pair does not name two rows.

    Examples
    --------
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
