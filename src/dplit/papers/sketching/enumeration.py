"""Sensitivities of sums on a finite domain, by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Neighboring, check_finite_array, check_integer, check_neighboring
from dplit.sketching._checks import check_norm

_MOST_DATASETS = 200_000


def real_norm(features: ArrayLike, *, norm: Literal[1, 2]) -> NDArray[np.float64]:
    r"""Return :math:`\|\Re z\|_1+\|\Im z\|_1` (norm 1) or :math:`\|z\|_2` along the last axis."""
    values = check_finite_array("features", features)
    if check_norm(norm) == 1:
        sums: NDArray[np.float64] = (np.abs(values.real) + np.abs(values.imag)).sum(axis=-1)
        return sums
    return np.asarray(np.linalg.norm(values, axis=-1), dtype=np.float64)


def enumerated_sensitivity(
    query: Callable[[Any], ArrayLike],
    domain: ArrayLike,
    *,
    n_records: int,
    norm: Literal[1, 2],
    neighboring: Neighboring,
) -> float:
    """Return the sensitivity of any query by going through all neighbouring data sets.

    ``domain`` lists the values of a record, ``n_records`` counts the larger data set: Definitions
    9, 10, 13 and 16.
    """
    values = check_finite_array("domain", domain)
    add = check_neighboring(neighboring) == "add_remove"
    n = check_integer("n_records", n_records, minimum=2 if add else 1)
    if len(values) ** n > _MOST_DATASETS:
        raise ValueError(f"n_records must leave at most {_MOST_DATASETS} data sets, got {n}")
    answers: dict[tuple[int, ...], NDArray[Any]] = {
        rows: np.atleast_1d(query(values[list(rows)]))
        for size in ({n - 1, n} if add else {n})
        for rows in product(range(len(values)), repeat=size)
    }
    best = 0.0
    for rows in product(range(len(values)), repeat=n):
        for at in range(n):
            rest = [()] if add else [(value,) for value in range(len(values))]
            others = [answers[rows[:at] + middle + rows[at + 1 :]] for middle in rest]
            gaps = real_norm(np.stack(others) - answers[rows], norm=norm)
            best = max(best, float(gaps.max()))
    return best


def sum_sensitivity(
    features: ArrayLike, *, norm: Literal[1, 2], neighboring: Neighboring = "add_remove"
) -> float:
    """Return the sensitivity of a sum of features over a finite domain, (k, m): Lemma 5, (9).

    The largest norm of a feature vector or difference; a lower bound for infinite domains.
    """
    rows = check_finite_array("features", features, ndim=2)
    check_neighboring(neighboring)
    if neighboring == "add_remove":
        return float(real_norm(rows, norm=norm).max())
    return max(float(real_norm(rows - row, norm=norm).max()) for row in rows)
