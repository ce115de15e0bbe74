"""How well a lattice covers the ball."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from dplit._checks import Array, check_finite_array, check_positive
from dplit.papers.margin.covers import _lattice_side, _lines


def deep_holes(n_components: int, *, radius: float, covering_radius: float) -> Array:
    """Centres of the lattice's cubes that lie in the ball: the points hardest to cover."""
    side = _lattice_side(n_components=n_components, covering_radius=covering_radius)
    limit = (check_positive("radius", radius) / side) ** 2
    return side * np.concatenate(list(_lines(n_components, limit, 0.5)))


def cover_distance(cover: ArrayLike, probes: ArrayLike) -> float:
    """Largest distance of a probe (p, k) from its nearest point of a cover (n, k)."""
    points = check_finite_array("cover", cover, ndim=2)
    targets = check_finite_array("probes", probes, ndim=2)
    if points.shape[1] != targets.shape[1]:
        raise ValueError(
            f"probes must have {points.shape[1]} columns, got probes of shape {targets.shape}"
        )
    return float(np.max(KDTree(points).query(targets)[0]))
