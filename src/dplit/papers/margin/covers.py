r"""Covers of a ball by a cubic lattice, dimensions of random projections, and costs without them.

For Algorithm 1, Theorem 3.1, Appendices A and G. Lattice points up to the covering radius
:math:`\gamma` outside the ball are moved onto the sphere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from dplit._checks import Array, check_integer, check_positive


def _lattice_side(*, n_components: int, covering_radius: float) -> float:
    r"""Side :math:`h=2\gamma/\sqrt k` of the cubic lattice with a given covering radius."""
    k = check_integer("n_components", n_components)
    return 2 * check_positive("covering_radius", covering_radius) / math.sqrt(k)


def _reach_squared(radius: float, covering_radius: float, side: float) -> float:
    """Squared norm, in sides, up to which lattice points are kept; the rounding is outwards."""
    return ((radius + covering_radius) / side) ** 2 * (1 + 1e-12)


def _lines(k: int, limit: float, offset: float) -> Iterator[Array]:
    """Yield the points of Z^k + offset of squared norm at most ``limit``, line by line."""
    reach = math.floor(math.sqrt(max(limit, 0.0)) + 1)
    axis = np.arange(-reach - 1, reach + 1) + offset
    axis = axis[axis**2 <= limit]
    if k == 1:
        yield axis[:, None].astype(np.float64)
        return
    for value in axis:
        for rest in _lines(k - 1, limit - value**2, offset):
            line = np.empty((len(rest), k))
            line[:, 0], line[:, 1:] = value, rest
            yield line


def ball_cover(
    n_components: int, *, radius: float, covering_radius: float, shifted: bool = False
) -> Array:
    """Lattice cover of a ball as one array (n, k), for small dimensions.

    ``shifted`` puts the origin into the centre of a cube: no point then has a zero coordinate. From
    k = 4 on two lattice points on one ray may be moved to the same point of the sphere: the cover
    is then a multiset, which costs nothing but a little mass.
    """
    side = _lattice_side(n_components=n_components, covering_radius=covering_radius)
    ball = check_positive("radius", radius)
    limit = _reach_squared(ball, covering_radius, side)
    points = side * np.concatenate(list(_lines(n_components, limit, 0.5 if shifted else 0.0)))
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points * (ball / np.maximum(norms, ball)))


def _log_cover_bound(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Bound :math:`k\log(1+2R/\gamma)` on the log size of a :math:`\gamma`-separated set."""
    k = check_integer("n_components", n_components)
    ratio = check_positive("radius", radius) / check_positive("covering_radius", covering_radius)
    return k * math.log1p(2 * ratio)


def log_lattice_size(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Logarithm :math:`\log(V_k((R+\gamma)/h)^k)` of the size of the lattice cover, by volumes.

    >>> round(log_lattice_size(390, radius=2.0, covering_radius=0.05))
    1728
    """
    side = _lattice_side(n_components=n_components, covering_radius=covering_radius)
    k, reach = n_components, check_positive("radius", radius) + covering_radius
    unit = k / 2 * math.log(math.pi) - float(gammaln(k / 2 + 1))
    return unit + k * math.log(reach / side)
