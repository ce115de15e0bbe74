r"""Distributions on a line whose hinge minimiser is huge while every classifier is equally good.

Few records are near the origin, at :math:`\pm\gamma`, and most at :math:`\pm r`. The hinge of
margin 1 asks for w = 1/gamma, although all w > 0 classify alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
)
from dplit.margin.losses import hinge_loss, zero_one_loss

__all__ = ["LineDistribution", "comparator_slack"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LineDistribution:
    r"""Four points on a line, with labels that are the sign of x, noisy far out.

    Parameters
    ----------
    gamma : float
        Distance of the inner points, in (0, r).
    near_mass : float
        Total mass p of the inner points, in (0, 1).
    flip : float, default=0.0
        Probability in [0, 1/2) that the label of an outer point is flipped.
    radius : float, default=1.0
        Distance r of the outer points, positive.

    Examples
    --------
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
        risk: Array = hinge_loss(np.multiply.outer(weights, values), margin=1.0) @ masses
        return risk

    def zero_one_error(self, w: ArrayLike) -> Array:
        """Expected zero-one error, for each weight w."""
        values, masses = self.atoms
        weights = np.atleast_1d(check_finite_array("w", w)).astype(float)
        risk: Array = zero_one_loss(np.multiply.outer(weights, values)) @ masses
        return risk

    @property
    def critical_flip(self) -> float:
        r"""Noise level below which :math:`1/\gamma` minimises: :math:`p\gamma/((1-p)r)`."""
        return self.near_mass * self.gamma / ((1 - self.near_mass) * self.radius)

    @property
    def minimiser(self) -> float:
        r"""Least-norm minimiser of the expected hinge, :math:`1/\gamma` or :math:`1/r`."""
        return 1 / self.gamma if self.flip < self.critical_flip else 1 / self.radius


def comparator_slack(norm: float, *, margin: float, n_samples: int, data_norm: float) -> float:
    r"""Rademacher slack of a comparator of given norm, the part of a bound that its norm scales.

    Parameters
    ----------
    norm : float
        Norm :math:`\Lambda` of the comparator, positive.
    margin : float
        Margin :math:`\rho` of the hinge, positive.
    n_samples : int
        Number m of records, at least 1.
    data_norm : float
        Radius r of the features, positive.

    Returns
    -------
    float
        :math:`2\Lambda r/(\rho\sqrt m)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive.

    Examples
    --------
    >>> comparator_slack(1.0, margin=0.5, n_samples=10_000, data_norm=1.0)
    0.04
    """
    size = check_positive("norm", norm) * check_positive("data_norm", data_norm)
    root = np.sqrt(check_integer("n_samples", n_samples))
    return float(2 * size / (check_positive("margin", margin) * root))
