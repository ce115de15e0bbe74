"""A small release with faults to plant, and what each auditor says of it.

The release is a sum of records clipped to a box, with Laplace noise. Each fault is of a kind
that is easily made, and hard to see by reading.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from dplit import audit
from dplit._checks import Array, as_numbers, check_choice, check_rng
from dplit.mechanisms import laplace_noise, laplace_scale

#: Columns of the records, budget of the release, and half the width of its box.
_D, _EPSILON, _BOUND = 2, 1.0, 1.0

#: Who looks: at counts of an event, at residuals, at exact sums, at everything beside the numbers.
AUDITORS = ("event", "noise law", "float sensitivity", "side channels")

#: The auditors that see each fault; the others are silent.
SEEN_BY: dict[str, tuple[str, ...]] = {
    "none": (),
    "noise x 0.9": ("event", "noise law"),
    "sensitivity in the wrong norm": ("event", "float sensitivity"),
    "no factor 2 for a replaced record": ("event", "float sensitivity"),
    "one seed for two numbers": ("event",),
    "bound read from the data": ("float sensitivity", "side channels"),
    "sum in single precision": ("float sensitivity",),
    "exact count published": ("side channels",),
    "an exception that reads the data": ("side channels",),
    "a warning that reads the data": ("side channels",),
}

FAULTS = tuple(SEEN_BY)


class _NoisySum(NamedTuple):
    """What is published: the noised sum, the scale of its noise, perhaps the number of records."""

    sum: Array
    scale: float
    n_records: int | None


def _relation(fault: str) -> Any:
    return "add_remove" if fault == "exact count published" else "replace_one"


def _bound(X: Array, fault: str) -> float:
    return float(np.abs(X).max()) if fault == "bound read from the data" else _BOUND


def _sensitivity(bound: float, fault: str) -> float:
    """Return the sensitivity in the sum norm that calibrates the noise."""
    one = bound * (np.sqrt(_D) if fault == "sensitivity in the wrong norm" else _D)
    alone = fault == "no factor 2 for a replaced record" or _relation(fault) == "add_remove"
    return float(one if alone else 2.0 * one)


def _total(X: Array, fault: str) -> Array:
    """Return the exact sum of the clipped records."""
    X = as_numbers("X", X)
    bound = _bound(X, fault)
    if fault == "sum in single precision":
        summed = np.cumsum(np.clip(X, -bound, bound), axis=0, dtype=np.float32)[-1]
        return np.asarray(summed, dtype=float)
    return np.asarray(np.clip(X, -bound, bound).sum(axis=0))


def faulty_sum(
    X: Array, *, rng: np.random.Generator, fault: str = "none", size: int | None = None
) -> _NoisySum:
    """Release a sum of records, 1-private for a replaced record unless a fault is planted.

    With ``size`` that many independent releases are drawn at once, as rows.
    """
    check_choice("fault", fault, FAULTS)
    X = as_numbers("X", X)
    outside = bool(np.abs(X).max() > _BOUND)
    if outside and fault == "an exception that reads the data":
        raise ValueError("records must lie in the box")
    if outside and fault == "a warning that reads the data":
        warnings.warn("records were clipped", UserWarning, stacklevel=2)
    scale = laplace_scale(epsilon=_EPSILON, sensitivity=_sensitivity(_bound(X, fault), fault))
    drawn = scale * (0.9 if fault == "noise x 0.9" else 1.0)
    shape = (_D,) if size is None else (size, _D)
    noise = laplace_noise(shape, scale=drawn, rng=check_rng(rng))
    if fault == "one seed for two numbers":
        noise[..., 1] = noise[..., 0]
    count = len(X) if fault == "exact count published" else None
    return _NoisySum(_total(X, fault) + noise, scale, count)


def _corners(fault: str, size: int = 4) -> list[Array]:
    """Return the data sets that are farthest apart: a corner of the box, and the opposite one."""
    rest = np.modf(np.sqrt(np.arange(2.0, size * _D).reshape(-1, _D)))[0]
    if _relation(fault) == "add_remove":
        return [np.vstack([np.ones(_D), rest]), rest]
    return [np.vstack([sign * np.ones(_D), rest]) for sign in (1.0, -1.0)]


def _pairs(fault: str) -> list[audit.NeighbourPair]:
    relation = _relation(fault)
    far = [_corners(fault, size) for size in (4, 257, 2049)]
    return [
        *(audit.NeighbourPair("opposite corners", relation, (X,), (Z,)) for X, Z in far),
        *audit.nasty_pairs(_D, relation=relation, sizes=(129, 4097)),
    ]


def _event(fault: str, runs: int, confidence: float, rng: np.random.Generator) -> bool:
    """Count two events: both numbers beyond the exact ones, and an exact difference."""
    sides = _corners(fault)
    turned = [sides[0], np.vstack([[1.0, -1.0], sides[0][1:]])]  # the sums' difference changes
    true = np.clip(sides[0], -_BOUND, _BOUND).sum(axis=0)

    def alarm(pair: list[Array], event: Any) -> bool:
        hits = [int(event(faulty_sum(X, rng=rng, fault=fault, size=runs).sum).sum()) for X in pair]
        each = 1.0 - (1.0 - confidence) / 2.0
        return audit.audit_hits(hits[0], hits[1], runs, epsilon=_EPSILON, confidence=each).violated

    apart = true[0] - true[1]
    beyond = alarm(sides, lambda z: (z >= true).all(axis=1))
    exact = alarm(turned, lambda z: np.abs(z[:, 0] - z[:, 1] - apart) < 1e-9)
    return beyond or exact


def _noise_law(fault: str, runs: int, level: float, rng: np.random.Generator) -> bool:
    """Test the residuals of each number against the scale that is published with it."""
    X = np.ones((4, _D))
    found = faulty_sum(X, rng=rng, fault=fault, size=runs)
    residuals = (found.sum - _total(X, fault)).T
    tests = [audit.gamma_noise_test(z, scale=found.scale) for z in residuals]
    return any(test.violated(level=level / _D) for test in tests)


def _float(fault: str, pairs: list[audit.NeighbourPair]) -> bool:
    """Compare what the machine computes with what calibrates the noise in the box."""
    with np.errstate(over="ignore", invalid="ignore"):  # where the bound is read from the data
        moved = audit.float_sensitivity(lambda X: _total(X, fault), pairs, norm=1)
    return not moved <= _sensitivity(_BOUND, fault) * (1.0 + 1e-9)


def alarms(
    fault: str, *, runs: int, confidence: float, rng: np.random.Generator
) -> dict[str, bool]:
    """Return which auditors raise an alarm; each does so wrongly at most at ``1 - confidence``."""
    check_choice("fault", fault, FAULTS)
    pairs = _pairs(fault)
    report = audit.side_channels(
        lambda data, rng: faulty_sum(data[0], rng=rng, fault=fault),
        pairs[:8],
        noised=("sum", "[0]"),
        epsilon=_EPSILON,
        confidence=confidence,
        pilot=2,
        rng=rng,
    )
    return {
        "event": _event(fault, runs, confidence, rng),
        "noise law": _noise_law(fault, runs, 1.0 - confidence, rng),
        "float sensitivity": _float(fault, pairs),
        "side channels": report.violated,
    }
