"""Estimators fitted to unrelated records with the releases of a first fit: what differs."""

from __future__ import annotations

from typing import Any

from dplit.audit import replay
from dplit.streams import stream
from dplit_studies.audits.cases import ESTIMATORS


def unrelated(name: str, *, seed: int = 0, n: int = 40) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return two tables for an estimator that have nothing in common but what is public of both.

    Responses that count as public are those of the first table.
    """
    case = ESTIMATORS[name]
    found: list[tuple[Any, ...]] = []
    for which in ("one", "other"):
        rng = stream(seed, f"replay-{name}-{which}", "data")
        X = rng.uniform(-0.4, 0.4, (n, 2))
        if case.labels is None:
            found.append((X,))
        elif isinstance(case.labels, tuple):
            found.append((X, rng.choice(case.labels, n)))
        else:
            found.append((X, rng.uniform(-0.5, 0.25, n)))
    if case.relation == "replace_entry":
        found[1] = (found[1][0], found[0][1])
    return found[0], found[1]


def differing(estimator: Any, one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    """Return in how many attributes and warnings a fit differs from that whose releases it has."""
    return len(replay(estimator, one, other))
