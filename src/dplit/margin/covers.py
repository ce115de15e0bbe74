r"""Covers of a ball by a cubic lattice, in blocks.

The lattice of side :math:`h=2\gamma/\sqrt k` has covering radius :math:`\gamma`. Its points within
distance :math:`\gamma` of the ball cover it, and moving those outside radially back into the
ball, which brings no two points of space further apart, keeps a cover.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree
from scipy.special import gammaln

from dplit._checks import check_finite_array, check_integer, check_positive

__all__ = [
    "ball_cover",
    "cover_distance",
    "deep_holes",
    "lattice_blocks",
    "lattice_side",
    "log_cover_bound",
    "log_lattice_size",
]

Array = NDArray[np.float64]

#: Points of a block: what an enumeration holds at a time.
BLOCK = 1 << 16


def lattice_side(*, n_components: int, covering_radius: float) -> float:
    r"""Side :math:`h=2\gamma/\sqrt k` of the cubic lattice with a given covering radius.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    covering_radius : float
        :math:`\gamma`, positive.

    Returns
    -------
    float
        Half the diagonal of a cube of this side is the covering radius.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(lattice_side(n_components=4, covering_radius=0.5), 3)
    0.5
    """
    k = check_integer("n_components", n_components)
    return 2 * check_positive("covering_radius", covering_radius) / math.sqrt(k)


def reach_squared(radius: float, covering_radius: float, side: float) -> float:
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


def lattice_blocks(
    n_components: int,
    *,
    radius: float,
    covering_radius: float,
    shifted: bool = False,
    block_size: int = BLOCK,
) -> Iterator[Array]:
    r"""Points of the lattice cover of a ball, in blocks: the memory is that of one block.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.
    shifted : bool, default=False
        Whether the origin is the centre of a cube instead of a lattice point: no point then has a
        zero coordinate.
    block_size : int, default=65536
        Points that are gathered before they are passed on.

    Yields
    ------
    ndarray of shape (n, k)
        Points in the ball, always in the same order.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    From k = 4 on two lattice points on one ray may be moved to the same point of the sphere: the
    cover is then a multiset, which costs nothing but a little mass.

    Examples
    --------
    >>> sum(len(b) for b in lattice_blocks(2, radius=2.0, covering_radius=0.1))
    681
    """
    side = lattice_side(n_components=n_components, covering_radius=covering_radius)
    ball = check_positive("radius", radius)
    size = check_integer("block_size", block_size)
    limit = reach_squared(ball, covering_radius, side)
    return _blocks(n_components, limit, side, ball, 0.5 if shifted else 0.0, size)


def _blocks(
    k: int, limit: float, side: float, ball: float, offset: float, size: int
) -> Iterator[Array]:
    held: list[Array] = []
    count = 0
    for line in _lines(k, limit, offset):
        held.append(line)
        count += len(line)
        if count >= size:
            yield _into_ball(side * np.concatenate(held), ball)
            held, count = [], 0
    if count:
        yield _into_ball(side * np.concatenate(held), ball)


def _into_ball(points: Array, ball: float) -> Array:
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    inside: Array = points * (ball / np.maximum(norms, ball))
    return inside


def ball_cover(
    n_components: int, *, radius: float, covering_radius: float, shifted: bool = False
) -> Array:
    r"""Lattice cover of a ball as one array, for small dimensions.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.
    shifted : bool, default=False
        See :func:`dplit.margin.covers.lattice_blocks`.

    Returns
    -------
    ndarray of shape (n, k)
        Every point of the ball is within :math:`\gamma` of a row.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> ball_cover(3, radius=2.0, covering_radius=0.2).shape
    (3695, 3)
    """
    blocks = lattice_blocks(
        n_components, radius=radius, covering_radius=covering_radius, shifted=shifted
    )
    return np.concatenate(list(blocks))


def deep_holes(n_components: int, *, radius: float, covering_radius: float) -> Array:
    """Centres of the lattice's cubes that lie in the ball: the points hardest to cover.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        Covering radius of the lattice, positive.

    Returns
    -------
    ndarray of shape (n, k)
        Each is at the covering radius from its nearest lattice points.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> len(deep_holes(2, radius=1.0, covering_radius=0.5))
    4
    """
    side = lattice_side(n_components=n_components, covering_radius=covering_radius)
    limit = (check_positive("radius", radius) / side) ** 2
    return side * np.concatenate(list(_lines(n_components, limit, 0.5)))


def cover_distance(cover: ArrayLike, probes: ArrayLike) -> float:
    """Largest distance of a probe from its nearest point of a cover.

    Parameters
    ----------
    cover : array_like of shape (n, k)
        Points.
    probes : array_like of shape (p, k)
        Points of the set to be covered.

    Returns
    -------
    float
        A lower bound on the covering radius, by a tree of the points.

    Raises
    ------
    TypeError, ValueError
        If an array is not a finite matrix, or their columns do not agree.

    Examples
    --------
    >>> cover_distance([[0.0], [1.0]], [[0.5], [0.25]])
    0.5
    """
    points = check_finite_array("cover", cover, ndim=2)
    targets = check_finite_array("probes", probes, ndim=2)
    if points.shape[1] != targets.shape[1]:
        raise ValueError(
            f"probes must have {points.shape[1]} columns, got probes of shape {targets.shape}"
        )
    return float(np.max(KDTree(points).query(targets)[0]))


def log_cover_bound(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Bound :math:`k\log(1+2R/\gamma)` on the logarithm of the size of a good cover.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.

    Returns
    -------
    float
        It holds for a largest set of points of the ball more than :math:`\gamma` apart, which is a
        cover: balls of radius :math:`\gamma/2` around them are disjoint.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(log_cover_bound(390, radius=2.0, covering_radius=0.05), 1)
    1713.8
    """
    k = check_integer("n_components", n_components)
    ratio = check_positive("radius", radius) / check_positive("covering_radius", covering_radius)
    return k * math.log1p(2 * ratio)


def log_lattice_size(n_components: int, *, radius: float, covering_radius: float) -> float:
    r"""Logarithm of the size of the lattice cover, by volumes.

    Parameters
    ----------
    n_components : int
        Dimension k, at least 1.
    radius : float
        Radius R of the ball, positive.
    covering_radius : float
        :math:`\gamma`, positive.

    Returns
    -------
    float
        :math:`\log\big(V_k((R+\gamma)/h)^k\big)`, the volume of the enlarged ball over that of a
        cube; the number of points differs by a boundary term.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(log_lattice_size(390, radius=2.0, covering_radius=0.05))
    1728
    """
    side = lattice_side(n_components=n_components, covering_radius=covering_radius)
    k, reach = n_components, check_positive("radius", radius) + covering_radius
    unit = k / 2 * math.log(math.pi) - float(gammaln(k / 2 + 1))
    return unit + k * math.log(reach / side)
