"""Privacy of finite mechanisms by enumeration, and how budgets compose.

A finite mechanism is a function from a data set (a tuple of records) to the law of its outcome, an
array of probabilities. Everything about it can be computed by going through all pairs of
neighbours, which makes definitions and composition lemmas statements about small arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.sketching.neighbours import Database, Neighboring, are_neighbours

__all__ = [
    "Mechanism",
    "compose_budgets",
    "geometric_count",
    "group_guarantee",
    "joint",
    "law_delta",
    "law_epsilon",
    "leaky",
    "parallel",
    "privacy_loss",
    "worst_delta",
    "worst_epsilon",
]

Array = NDArray[np.float64]
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

    Raises
    ------
    ValueError
        If the shapes differ or an entry is negative.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 8.

    Examples
    --------
    >>> from dplit.sketching.composition import privacy_loss
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

    Raises
    ------
    ValueError
        If an argument is not a law.

    Examples
    --------
    >>> from dplit.sketching.composition import law_epsilon
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

    Raises
    ------
    ValueError
        If an argument is not a law or ``epsilon`` is negative.

    Examples
    --------
    >>> from dplit.sketching.composition import law_delta
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
        All data sets, as :func:`dplit.sketching.neighbours.databases` lists them.
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
    >>> from dplit.sketching.composition import geometric_count, worst_epsilon
    >>> from dplit.sketching.neighbours import databases
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
    >>> from dplit.sketching.composition import geometric_count, worst_delta
    >>> from dplit.sketching.neighbours import databases
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
    >>> from dplit.sketching.composition import geometric_count
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
    >>> from dplit.sketching.composition import geometric_count, leaky
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
    >>> from dplit.sketching.composition import geometric_count, joint
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
    >>> from dplit.sketching.composition import geometric_count, parallel
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

    Raises
    ------
    ValueError
        If a budget is negative or a delta above 1.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemmas 1 and 3.

    Examples
    --------
    >>> from dplit.sketching.composition import compose_budgets
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
    >>> from dplit.sketching.composition import group_guarantee
    >>> group_guarantee(epsilon=0.5, delta=0.0)
    (1.0, 0.0)
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta, zero=True, one=True)
    steps = np.arange(check_integer("size", size))
    return len(steps) * epsilon, float(delta * np.exp(epsilon * steps).sum())
