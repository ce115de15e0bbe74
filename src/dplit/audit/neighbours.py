"""A search for the neighbouring data sets that move a query most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    check_callable,
    check_integer,
    check_neighboring,
    check_positive,
    check_rng,
)

_Records = NDArray[Any]


@dataclass(frozen=True)
class NeighbourSearch:
    """The worst pair of neighbours that was found.

    Attributes
    ----------
    ratio : float
        Largest distance found over the claimed sensitivity; above 1 refutes the claim.
    distance, claimed : float
        The two numbers.
    data, neighbour : ndarray
        The pair: records in rows.
    evaluations : int
        Pairs tried.

    Examples
    --------
    >>> found = search_neighbours(
    ...     lambda X: X.sum(axis=0), lambda k, rng: np.ones((k, 1)), project=np.ones_like,
    ...     n_records=3, neighboring="add_remove", claimed=0.5, rng=np.random.default_rng(0))
    >>> found.distance, found.ratio  # one record more moves a sum of ones by 1, not by a half
    (1.0, 2.0)
    """

    ratio: float
    distance: float
    claimed: float
    data: _Records
    neighbour: _Records
    evaluations: int


def search_neighbours(
    query: Callable[[_Records], ArrayLike],
    draw: Callable[[int, np.random.Generator], _Records],
    *,
    n_records: int,
    neighboring: Neighboring,
    claimed: float,
    rng: np.random.Generator,
    project: Callable[[_Records], _Records] = np.array,
    norm: Literal[1, 2] = 2,
    restarts: int = 10,
    steps: int = 200,
) -> NeighbourSearch:
    """Largest ``||f(D) - f(D')|| / claimed`` that random restarts and ascent find.

    Parameters
    ----------
    query : callable
        ``query(records)`` is the exact statistic, without noise, of records in rows.
    draw : callable
        ``draw(k, rng)`` gives k admissible records, shape (k, p).
    n_records : int
        Records of the larger data set, at least 1 (2 for ``add_remove``).
    neighboring : {"add_remove", "replace_one"}
        Whether the neighbour lacks the last record or has another in its place.
    claimed : float
        Claimed sensitivity, in (0, inf).
    rng : numpy.random.Generator
        Source of starts and steps.
    project : callable, optional
        ``project(records)`` puts records back into the admissible domain (clipping). Without it
        the domain is the whole space.
    norm : {1, 2}, default=2
        Norm of the difference, entrywise.
    restarts, steps : int
        Independent starts, and ascent steps from each.

    Returns
    -------
    NeighbourSearch
        The worst pair found. The true sensitivity is at least ``distance``: a ratio above 1
        refutes the claim, a ratio near 1 shows that it is sharp.

    Notes
    -----
    Each step changes one record: a Gaussian step whose length adapts, a copy of another record
    (near-duplicates are where interpolation breaks), a reflection, or a fresh draw. Changes that
    do not raise the distance are undone.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> found = search_neighbours(
    ...     lambda X: X.mean(axis=0), lambda k, rng: rng.uniform(0, 1, (k, 1)), n_records=4,
    ...     neighboring="replace_one", claimed=0.25, project=lambda X: np.clip(X, 0, 1),
    ...     rng=stream(0, "example", "data"))
    >>> round(found.ratio, 6)
    1.0
    """
    for name, function in (("query", query), ("draw", draw), ("project", project)):
        check_callable(name, function)
    if check_integer("norm", norm) > 2:
        raise ValueError(f"norm must be 1 or 2, got norm={norm!r}")
    neighboring = check_neighboring(neighboring)
    check_integer("n_records", n_records, minimum=2 if neighboring == "add_remove" else 1)
    check_integer("restarts", restarts)
    check_integer("steps", steps, minimum=0)
    check_positive("claimed", claimed)
    check_rng(rng)

    def distance(records: _Records) -> float:
        data, neighbour = _pair(records, n_records)
        difference = np.ravel(np.asarray(query(data)) - np.asarray(query(neighbour)))
        return float(np.linalg.norm(difference, ord=norm))

    total = n_records + (neighboring == "replace_one")
    best, length = np.empty((0, 0)), -1.0
    for _ in range(restarts):
        start = project(np.asarray(draw(total, rng), dtype=float))
        records, found = _ascend(distance, start, draw, project, steps, rng)
        if found > length:
            best, length = records, found
    data, neighbour = _pair(best, n_records)
    evaluations = restarts * (steps + 1)
    return NeighbourSearch(length / claimed, length, claimed, data, neighbour, evaluations)


def _pair(records: _Records, n_records: int) -> tuple[_Records, _Records]:
    """Split shared rows, last row (and its replacement, where there is one) into two data sets."""
    rest = records[: n_records - 1]
    return records[:n_records], np.concatenate([rest, records[n_records:]])


def _ascend(
    distance: Callable[[_Records], float],
    start: _Records,
    draw: Callable[[int, np.random.Generator], _Records],
    project: Callable[[_Records], _Records],
    steps: int,
    rng: np.random.Generator,
) -> tuple[_Records, float]:
    """Climb from ``start`` by changes of one record; return the best records and their distance."""
    records, best, length = start, distance(start), 1.0
    for _ in range(steps):
        row = int(rng.integers(len(records)))
        kind = rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])
        trial = records.copy()
        spread = length * (1e-3 + np.abs(records).mean())
        if kind == 0:
            trial[row] += spread * rng.standard_normal(records.shape[1])
        elif kind == 1:
            other = records[int(rng.integers(len(records)))]
            trial[row] = other + 0.1 * spread * rng.standard_normal(records.shape[1])
        elif kind == 2:
            trial[row] = -trial[row]
        else:
            trial[row] = draw(1, rng)[0]
        trial = project(trial)
        value = distance(trial)
        if value > best:
            records, best = trial, value
            length *= 1.5 if kind == 0 else 1.0
        elif kind == 0:
            length *= 0.9
    return records, best
