"""Hiding the count with Gaussian noise: apart, or as one more coordinate of the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from dplit._checks import check_at_least, check_integer, check_positive, check_probability
from dplit.mechanisms import gaussian_sigma


def joint_deviations(
    *, epsilon: float, delta: float, sensitivity: float, weight: float
) -> tuple[float, float]:
    r"""Return the noise on the sum and on the count of one joint Gaussian release.

    Of :math:`(\Sigma,\lambda n)`, with :math:`\lambda` the ``weight``; the second is that of the
    count after division by it.

    >>> sigma, count_sigma = joint_deviations(epsilon=1.0, delta=1e-5, sensitivity=3.0, weight=4.0)
    >>> round(sigma, 6), round(count_sigma, 6)
    (18.653158, 4.66329)
    """
    both = check_positive("sensitivity", sensitivity), check_positive("weight", weight)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(np.hypot(*both)))
    return sigma, sigma / weight


class _Tuned(NamedTuple):
    """The smallest noise-to-signal ratio of a scheme, and the parameter that gives it."""

    nsr: float
    parameter: float


@dataclass(frozen=True)
class CountCost:
    r"""Noise-to-signal ratio of a Gaussian sketch of m Fourier features, by what hides the count.

    Relative to the sketch z of the law, NSR :math:`=(C_0-1)/n+2C_0\sigma^2/n^2` with
    :math:`C_0=m/\|z\|^2` the ``energy_ratio``; an unbiased inverse of a count of variance v gives
    :math:`(1+v/n^2)(1+\mathrm{NSR})-1` to first order in :math:`v/n^2`.

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
        check_at_least("energy_ratio", self.energy_ratio, 1.0)

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
        size = float(np.sqrt(self.n_components))
        sigma, count = joint_deviations(
            epsilon=self.epsilon, delta=self.delta, sensitivity=size, weight=weight
        )
        return self._ratio(sigma, count**2)

    def best_laplace(self) -> _Tuned:
        """The best share of Lemma 10."""
        return _best_share(self.laplace)

    def best_gaussian(self) -> _Tuned:
        """The best share of epsilon of a separate Gaussian count, over 19 shares of delta."""
        parts = np.linspace(0.05, 0.95, 19).tolist()
        tried = [_best_share(partial(self.gaussian, delta_share=part)) for part in parts]
        return min(tried, key=lambda found: found.nsr)

    def best_joint(self) -> _Tuned:
        """The best weight of a joint release."""
        found = minimize_scalar(
            lambda u: self.joint(float(np.exp(u))), bounds=(-7.0, 7.0), method="bounded"
        )
        return _Tuned(float(found.fun), float(np.exp(found.x)))


def _best_share(ratio: Callable[[float], float]) -> _Tuned:
    """Return the share of the sum at which a ratio is least."""
    found = minimize_scalar(
        lambda u: ratio(float(1.0 - np.exp(u))), bounds=(-14.0, -0.01), method="bounded"
    )
    return _Tuned(float(found.fun), float(1.0 - np.exp(found.x)))
