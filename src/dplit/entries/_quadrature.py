"""Nodes and weights for means over normal and chi laws."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.stats import chi

from dplit._checks import Array

NORMAL_TAIL = 1e-16


LN2 = math.log(2.0)


def legendre(low: float, high: float, count: int, panels: int = 1) -> tuple[Array, Array]:
    """Nodes and weights of a composite Gauss-Legendre rule on [low, high]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


@lru_cache(maxsize=256)
def chi_nodes(
    dof: int, count: int, *, panels: int = 1, tail: float = NORMAL_TAIL
) -> tuple[Array, Array]:
    """Nodes of a chi variable and their probabilities, all but ``tail`` of them at either end."""
    t, w = legendre(float(chi.ppf(tail, dof)), float(chi.isf(tail, dof)), count, panels)
    mass = w * chi.pdf(t, dof)
    for shared in (t, mass):  # by all who ask for the same rule
        shared.flags.writeable = False
    return t, mass
