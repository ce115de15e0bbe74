"""What AdaSSP releases: sensitivities, budgets of the parts, a least eigenvalue and its penalty."""

from __future__ import annotations

import numpy as np

from dplit._checks import Neighboring
from dplit._numerics.exact import gram_rounding
from dplit.linear._moments import moment_sensitivity
from dplit.mechanisms import gaussian_delta
from dplit.mechanisms.values import Gaussian

#: Error of an eigenvalue of two data sets by LAPACK, for each column: 8 units in the last place of
#: the largest eigenvalue, which is at most the number of records, 2^30.
_LAPACK = 2.0 ** (4 + 30 - 53)

#: Least penalty in deviations of the noise, where the released eigenvalue asks for none.
LEAST_PENALTY = 2.0**-20


def three_releases(d: int, neighboring: Neighboring) -> tuple[float, float]:
    """Sensitivities in unit bounds: of the least eigenvalue, and of the moments together.

    A record adds a matrix with eigenvalues 0 and at most 1, a replaced one the difference of two
    such, whose eigenvalues lie in [-1, 1]: the least one moves by at most 1 (Weyl).
    """
    moments = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=neighboring)
    return 1.0 + _LAPACK * d, moments + gram_rounding(d * d + d)


def budget_of(sigma: float, sensitivity: float) -> tuple[float, float]:
    """Return one (epsilon, delta) for which ``sigma``, or hardly more, hides ``sensitivity``.

    Taken where the profile of the Gaussian has no extreme value, at ``mu^2 / 2 + mu``.
    """
    mu = sensitivity / sigma
    epsilon = 0.5 * mu * mu + mu
    delta = gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity)
    return epsilon, float(delta) * (1.0 - 1e-9)


def released_eigenvalue(
    least: float, *, sensitivity: float, sigma: float, rng: np.random.Generator | None
) -> float:
    """Return a least eigenvalue with exact Gaussian noise."""
    noisy = Gaussian(sigma).add(
        [least], hides="least eigenvalue of the second moments", sensitivity=sensitivity, rng=rng
    )
    return float(noisy[0])
