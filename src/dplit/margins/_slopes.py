"""Exact sums of hinge slopes, on which accelerated and full-batch descents step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dplit._checks import Array, quiet
from dplit.margins.plans import DescentPlan, PhasedPlan
from dplit.mechanisms._draws import record_draw
from dplit.mechanisms.values import Gaussian

#: Entries of the records that one step of descent meets at a time: a megabyte, for the cache.
_PIECE = 1 << 17

#: Radius of no ball.
_FAR = 1e300


def _check_shape(plan: DescentPlan | PhasedPlan, shape: tuple[int, int]) -> None:
    """Refuse records of another size than those of the plan: its noise is made for them."""
    if plan.shape != shape:
        raise ValueError(f"X must have the shape {plan.shape} of its plan, got shape {shape}")


def _columns(plans: Sequence[DescentPlan], count: int) -> Array:
    """Return step length and radius (``_FAR``: no ball) of every draw, each (draws, 1)."""
    told = [(p.step, p.ball.radius if p.project else _FAR) for p in plans]
    return np.repeat(told, count, axis=0).T[:, :, None]


@quiet
def noisy_sums(
    plan: DescentPlan,
    shape: tuple[int, ...],
    rng: np.random.Generator | None,
    *,
    grid: float | None = None,
    copies: int = 1,
) -> Callable[[Array], Array]:
    """Return what adds the noise of a plan, if it has any, to the sums of its steps in turn.

    ``grid`` is the public step of the sums, where they have one for all.
    """
    rho, _, norm = plan.ball
    scale, hides = plan.sigma * plan.shape[0] * rho, "sums of the records within the margin"
    told: dict[str, Any] = {"steps": plan.n_steps, "sensitivity": 2.0 * norm, "copies": copies}
    if scale == 0.0:
        record_draw("gaussian", hides, scale=0.0, shape=shape, **told)
        return lambda sums: sums
    return Gaussian(scale).repeatedly(shape, hides=hides, grid=grid, rng=rng, **told)


def _blocks(rows: Array, labels: Array) -> list[tuple[Array, Array | None]]:
    """Return records in pieces that fit the cache; labels are in them if all draws share them."""
    m, d = rows.shape
    signs = labels if labels.ndim == 2 else None
    if signs is None:
        rows = rows * labels[:, None]
    height = max(1, _PIECE // d)
    parts = [slice(k, k + height) for k in range(0, m, height)]
    return [(rows[part], None if signs is None else signs[:, part]) for part in parts]


def _pull(w: Array, blocks: list[tuple[Array, Array | None]], rho: float, *, out: Array) -> None:
    """Sum the signed records within the margin of each draw: both products of a block at once."""
    out.fill(0.0)
    for block, sign in blocks:
        scores = w @ block.T
        if sign is not None:
            scores *= sign
        active = np.less(scores, rho, out=scores, casting="unsafe")
        if sign is not None:
            active *= sign
        out += active @ block


#: Steps in the largest entry of a record and in the largest slope, and rows of a piece, as powers
#: of two: products of a piece add below ``2^24``, exactly in single precision.
_RECORD_BITS, _SLOPE_BITS, _PIECE_BITS = 12, 4, 8
