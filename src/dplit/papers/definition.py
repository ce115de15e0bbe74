"""Privacy of finite mechanisms by enumeration: losses, deltas and distances of their laws."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_real_array,
)

#: A data set: records may repeat.
_Database = tuple[Hashable, ...]

_Neighboring = Literal["add_remove", "replace_one", "replace_in_place"]

#: By how much probabilities may miss the sum 1: rounding, not a fault of the law.
_SUM_TOLERANCE = 1e-9


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
