"""Synthetic records with a margin in any dimension, and four points on a line (Appendix H)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.margin.losses import hinge_loss, zero_one_loss


def sphere_sample(
    n_samples: int, n_features: int, *, margin: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Unit vectors (m, d) with first entry :math:`\gamma y`, and fair signs y."""
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=2)
    gamma, generator = check_interval("margin", margin, 0.0, 1.0), check_rng(rng)
    y = (2 * generator.integers(0, 2, m) - 1).astype(np.float64)
    X: Array = np.empty((m, d))
    rest = generator.standard_normal((m, d - 1))
    rest *= (math.sqrt(1 - gamma**2) / np.sqrt(np.vecdot(rest, rest)))[:, None]
    X[:, 0], X[:, 1:] = gamma * y, rest
    return X, y


@dataclass(frozen=True)
class LineDistribution:
    r"""Four points on a line, with labels that are the sign of x, noisy far out.

    Mass ``near_mass`` at :math:`\pm\gamma`, the rest at :math:`\pm r`, where labels are flipped
    with probability ``flip`` < 1/2.

    >>> LineDistribution(0.1, 0.5).minimiser
    10.0
    """

    gamma: float
    near_mass: float
    flip: float = 0.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_interval("gamma", self.gamma, 0.0, check_positive("radius", self.radius))
        check_probability("near_mass", self.near_mass)
        if self.flip != 0:
            check_interval("flip", self.flip, 0.0, 0.5)

    @property
    def atoms(self) -> tuple[Array, Array]:
        """Values y x of the distribution, and their probabilities."""
        far = 1 - self.near_mass
        values = np.array([self.gamma, self.radius, -self.radius])
        return values, np.array([self.near_mass, far * (1 - self.flip), far * self.flip])

    def expected_hinge(self, w: ArrayLike) -> Array:
        """Expected hinge loss of margin 1, for each weight w."""
        values, masses = self.atoms
        weights = np.atleast_1d(check_finite_array("w", w)).astype(float)
        return np.asarray(hinge_loss(np.multiply.outer(weights, values), margin=1.0) @ masses)

    def zero_one_error(self, w: ArrayLike) -> Array:
        """Expected zero-one error, for each weight w."""
        values, masses = self.atoms
        weights = np.atleast_1d(check_finite_array("w", w)).astype(float)
        return np.asarray(zero_one_loss(np.multiply.outer(weights, values)) @ masses)

    @property
    def critical_flip(self) -> float:
        r"""Noise level below which :math:`1/\gamma` minimises: :math:`p\gamma/((1-p)r)`."""
        return self.near_mass * self.gamma / ((1 - self.near_mass) * self.radius)

    @property
    def minimiser(self) -> float:
        r"""Least-norm minimiser of the expected hinge, :math:`1/\gamma` or :math:`1/r`."""
        return 1 / self.gamma if self.flip < self.critical_flip else 1 / self.radius


def _margin_sample(
    n_samples: int, n_features: int, *, normalized_margin: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Unit records :math:`(ay,\sqrt{1-a^2}u)` of :func:`sphere_sample`'s law, from other draws."""
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=2)
    a = check_probability("normalized_margin", normalized_margin)
    y = np.where(check_rng(rng).integers(0, 2, m) == 1, 1.0, -1.0)
    X: Array = rng.standard_normal((m, d))
    X[:, 0] = 0.0
    X *= (math.sqrt(1.0 - a * a) / np.sqrt(np.vecdot(X, X)))[:, None]
    X[:, 0] = a * y
    return X, y


def margin_data(
    n_samples: int, n_features: int, *, margin: float, flips: float = 0.0,
    rng: np.random.Generator,
) -> tuple[Array, Array]:  # fmt: skip
    """Draw from ``_margin_sample``, then flip each label with probability ``flips``."""
    share = check_probability("flips", flips, zero=True)
    X, y = _margin_sample(n_samples, n_features, normalized_margin=margin, rng=rng)
    return X, np.where(check_rng(rng).random(len(y)) < share, -y, y) if share else y


def _span_coordinates(X: Array) -> tuple[Array, Array]:
    """Coordinates (m, q) of records in an orthonormal basis (d, q) of their span, q = min(m, d):
    descent that is not projected has the same law in both, for all that the records see.
    """
    if X.shape[1] <= X.shape[0]:
        return X, np.eye(X.shape[1])
    basis, upper = qr(X.T, mode="economic")
    return np.ascontiguousarray(upper.T), np.ascontiguousarray(basis)
