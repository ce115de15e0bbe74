r"""Sketch, Lloyd or nothing: expected errors of private clustering, and advice by public facts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

#: Deviation of a coordinate of the centres, which are uniform on [-0.8, 0.8], in half widths.
CENTRES = 0.8 / math.sqrt(3.0)


class Facts(NamedTuple):
    """Everything that advice may read; ``delta`` 0 is a pure budget."""

    n: int
    d: int
    k: int
    separation: float
    epsilon: float
    delta: float = 0.0


def frequencies_of(facts: Facts, name: str) -> int:
    """Number of frequencies of a sketch: the estimator's own, or 2.5 for each coordinate."""
    d, k = facts.d, facts.k
    whole = k * min(10 * d, 60 + 3 * d)
    return whole if name == "sketch" else max(math.ceil(2.5 * k * d), k * (d + 1))


def settings(name: str, facts: Facts) -> dict[str, Any]:
    """Arguments of a candidate's estimator, for records in the box [-1, 1]^d."""
    told: dict[str, Any] = {
        "n_clusters": facts.k, "epsilon": facts.epsilon, "delta": facts.delta,
        "bounds": (-1.0, 1.0),
    }  # fmt: skip
    if name.startswith("sketch"):
        noise = "gaussian" if facts.delta else "polydisc"
        return told | {"noise": noise, "n_frequencies": frequencies_of(facts, name)}
    wide = 8 * facts.k if name == "lloyd, wide" else None
    steps = 1 if name == "lloyd, 1 step" else 3
    noise = "gaussian" if facts.delta else "laplace"
    return told | {"noise": noise, "n_iter": steps, "n_candidates": wide}
