r"""Hiding the count with Gaussian noise: apart, or as one more coordinate of the sum.

A record moves the sum by at most :math:`\Delta_2` and the count by 1, so it moves
:math:`(\Sigma,\lambda n)` by at most :math:`\sqrt{\Delta_2^2+\lambda^2}`: one Gaussian release of
this vector needs no division of the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_noise, gaussian_sigma

__all__ = ["CountCost", "Tuned", "joint_deviations", "joint_gaussian_release"]


def joint_deviations(
    *, epsilon: float, delta: float, sensitivity: float, weight: float
) -> tuple[float, float]:
    r"""Return the noise on the sum and on the count of one joint Gaussian release.

    Parameters
    ----------
    epsilon, delta : float
        Budget of the pair.
    sensitivity : float
        :math:`\ell_2` sensitivity of the sum where a record is added.
    weight : float
        The :math:`\lambda` > 0 by which the count is multiplied before the release.

    Returns
    -------
    sigma, count_sigma : float
        Standard deviations per real coordinate of the sum, and of the count after division by
        :math:`\lambda`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number in its range.

    Examples
    --------
    >>> from dplit.sketching.joint_release import joint_deviations
    >>> sigma, count_sigma = joint_deviations(epsilon=1.0, delta=1e-5, sensitivity=3.0, weight=4.0)
    >>> round(sigma, 6), round(count_sigma, 6)
    (18.653158, 4.66329)
    """
    size = float(
        np.hypot(check_positive("sensitivity", sensitivity), check_positive("weight", weight))
    )
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=size)
    return sigma, sigma / weight


def joint_gaussian_release(
    total: ArrayLike,
    count: float,
    *,
    epsilon: float,
    delta: float,
    sensitivity: float,
    weight: float,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], float]:
    r"""Return a noisy sum and a noisy count from one Gaussian release.

    Parameters
    ----------
    total : array_like of shape (m,)
        Sum of features, real or complex.
    count : float
        Number of records.
    epsilon, delta : float
        Budget of the pair, for the addition or removal of a record.
    sensitivity : float
        :math:`\ell_2` sensitivity of the sum.
    weight : float
        Weight :math:`\lambda` > 0 of the count in the released vector.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    ndarray of shape (m,), float
        Sum and count, together :math:`(\epsilon,\delta)`-private.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.joint_release import joint_gaussian_release
    >>> total, count = joint_gaussian_release(np.ones(3), 3, epsilon=1.0, delta=1e-5,
    ...     sensitivity=1.0, weight=1.0, rng=np.random.default_rng(0))
    >>> total.shape
    (3,)
    """
    values = check_finite_array("total", total, ndim=1)
    number = check_nonnegative("count", count)
    sigma, count_sigma = joint_deviations(
        epsilon=epsilon, delta=delta, sensitivity=sensitivity, weight=weight
    )
    noise = gaussian_noise(
        values.shape, sigma=sigma, rng=check_rng(rng), complex=values.dtype.kind == "c"
    )
    released: NDArray[Any] = values + noise
    return released, number + float(rng.normal(scale=count_sigma))


@dataclass(frozen=True)
class Tuned:
    """The smallest noise-to-signal ratio of a scheme, and the parameter that gives it."""

    nsr: float
    parameter: float


@dataclass(frozen=True)
class CountCost:
    r"""Noise-to-signal ratio of a Gaussian sketch of m Fourier features, by what hides the count.

    Parameters
    ----------
    n_samples : int
        Records n.
    n_components : int
        Frequencies m; the sensitivity of the sum is :math:`\sqrt m`.
    energy_ratio : float
        :math:`C_0=m/\|z\|^2`, at least 1.
    epsilon, delta : float
        Budget of the whole release.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    With noise of variance :math:`2\sigma^2` per entry of the sum, relative to the sketch z of the
    distribution, NSR :math:`=(C_0-1)/n+2C_0\sigma^2/n^2`; an unbiased inverse of a count of
    variance v gives :math:`(1+v/n^2)(1+\mathrm{NSR})-1` to first order in :math:`v/n^2`.

    Examples
    --------
    >>> from dplit.sketching.joint_release import CountCost
    >>> cost = CountCost(10_000, 320, energy_ratio=5.0, epsilon=0.1, delta=1e-8)
    >>> f"{cost.public:.6f}"
    '0.067928'
    """

    n_samples: int
    n_components: int
    energy_ratio: float
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_integer("n_samples", self.n_samples)
        check_integer("n_components", self.n_components)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        if check_positive("energy_ratio", self.energy_ratio) < 1:
            raise ValueError(f"energy_ratio must be at least 1, got {self.energy_ratio!r}")

    def _ratio(self, sigma: float, variance: float) -> float:
        n, c = self.n_samples, self.energy_ratio
        base = (c - 1.0) / n + 2.0 * c * sigma**2 / n**2
        return float((1.0 + variance / n**2) * (1.0 + base) - 1.0)

    def _sigma(self, epsilon: float, delta: float) -> float:
        return gaussian_sigma(
            epsilon=epsilon, delta=delta, sensitivity=float(np.sqrt(self.n_components))
        )

    @property
    def public(self) -> float:
        """The ratio where the count is published: all of the budget goes to the sum."""
        return self._ratio(self._sigma(self.epsilon, self.delta), 0.0)

    def laplace(self, share: float) -> float:
        """The ratio of Lemma 10: ``share`` of epsilon for the sum, the rest for a Laplace count."""
        gamma = check_probability("share", share)
        variance = 2.0 / ((1.0 - gamma) * self.epsilon) ** 2
        return self._ratio(self._sigma(gamma * self.epsilon, self.delta), variance)

    def gaussian(self, share: float, delta_share: float) -> float:
        """The ratio of a separate Gaussian count, with shares of both parts of the budget."""
        gamma = check_probability("share", share)
        part = check_probability("delta_share", delta_share)
        count = gaussian_sigma(
            epsilon=(1.0 - gamma) * self.epsilon, delta=(1.0 - part) * self.delta
        )
        return self._ratio(self._sigma(gamma * self.epsilon, part * self.delta), count**2)

    def joint(self, weight: float) -> float:
        """The ratio of one Gaussian release of the sum and ``weight`` times the count."""
        sigma, count = joint_deviations(
            epsilon=self.epsilon,
            delta=self.delta,
            sensitivity=float(np.sqrt(self.n_components)),
            weight=weight,
        )
        return self._ratio(sigma, count**2)

    def best_laplace(self) -> Tuned:
        """The best share of Lemma 10."""
        found = minimize_scalar(
            lambda u: self.laplace(1.0 - np.exp(u)), bounds=(-14.0, -0.01), method="bounded"
        )
        return Tuned(float(found.fun), float(1.0 - np.exp(found.x)))

    def best_gaussian(self) -> Tuned:
        """The best share of epsilon of a separate Gaussian count, over 19 shares of delta."""
        best = Tuned(np.inf, 0.0)
        for part in np.linspace(0.05, 0.95, 19):
            found = minimize_scalar(
                lambda u, part=part: self.gaussian(1.0 - np.exp(u), float(part)),
                bounds=(-14.0, -0.01),
                method="bounded",
            )
            if found.fun < best.nsr:
                best = Tuned(float(found.fun), float(1.0 - np.exp(found.x)))
        return best

    def best_joint(self) -> Tuned:
        """The best weight of a joint release."""
        found = minimize_scalar(
            lambda u: self.joint(float(np.exp(u))), bounds=(-7.0, 7.0), method="bounded"
        )
        return Tuned(float(found.fun), float(np.exp(found.x)))
