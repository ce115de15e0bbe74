"""What random features can cost the reference predictor: by all pairs, or record by record."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import minimize_scalar

from dplit._checks import check_integer, check_positive, check_probability
from dplit.accounting import gdp_budget


@dataclass(frozen=True)
class _Balance:
    """Reference size n0, number 2 D of features, and the two terms of the hinge loss."""

    n0: float
    n_components: int
    approximation: float
    private: float

    @property
    def total(self) -> float:
        """Sum of the two terms."""
        return self.approximation + self.private


def reference_regularization(
    n0: float, *, margin: float, weight_norm: float, data_norm: float = 1.0
) -> float:
    r"""Regularisation of the reference predictor: :math:`\lambda=r/(\rho\Lambda\sqrt{n_0})`.

    Its coefficients then sum to at most :math:`\Lambda\sqrt{n_0}/r`.
    """
    bound = check_positive("margin", margin) * check_positive("weight_norm", weight_norm)
    return check_positive("data_norm", data_norm) / (bound * math.sqrt(check_positive("n0", n0)))


def pairwise_transfer_bound(
    n_samples: int, *, margin: float, weight_norm: float, data_norm: float = 1.0
) -> tuple[float, float]:
    r"""Excess :math:`2.5\Lambda r/(\rho\sqrt m)` and norm :math:`\sqrt3\Lambda` of the transfer.

    In Theorem 4.2, with Algorithm 3's frequencies and n0 = m, over the best hinge loss of the ball.
    """
    m = check_integer("n_samples", n_samples)
    size = check_positive("weight_norm", weight_norm)
    ratio = size * check_positive("data_norm", data_norm) / check_positive("margin", margin)
    return 2.5 * ratio / math.sqrt(m), math.sqrt(3.0) * size


def pointwise_deviation(
    n_samples: int,
    n_frequencies: int,
    *,
    norm: float,
    weight_sum: float,
    beta: float,
    data_norm: float = 1.0,
) -> float:
    r"""Bound on the change of the scores at all records, by Bernstein's inequality.

    :math:`r\|f\|\sqrt{2\mathcal L/D}+r^2\|\alpha\|_1\mathcal L/(3D)` with :math:`\mathcal
    L=\log(2m/\beta)` and ``weight_sum`` :math:`\|\alpha\|_1`.
    """
    m, count = check_integer("n_samples", n_samples), check_integer("n_frequencies", n_frequencies)
    log = math.log(2 * m / check_probability("beta", beta)) / count
    r = check_positive("data_norm", data_norm)
    first = r * check_positive("norm", norm) * math.sqrt(2.0 * log)
    return first + r * r * check_positive("weight_sum", weight_sum) * log / 3.0


def _pointwise_transfer_bound(
    n_samples: int,
    n_frequencies: int,
    *,
    n0: float,
    margin: float,
    weight_norm: float,
    beta: float,
    data_norm: float = 1.0,
) -> float:
    r"""Increase of the hinge loss over the best of the ball, with D frequencies and size n0.
    :math:`\frac{\Lambda r}\rho\big(\frac1{2\sqrt{n_0}}+\sqrt{2\mathcal L/D}+ \sqrt{n_0}\mathcal
    L/(3D)\big)`.
    """
    ratio = check_positive("weight_norm", weight_norm) * check_positive("data_norm", data_norm)
    ratio /= check_positive("margin", margin)
    root = math.sqrt(check_positive("n0", n0))
    moved = pointwise_deviation(n_samples, n_frequencies, norm=1.0, weight_sum=root, beta=beta)
    return ratio * (0.5 / root + moved)


def private_term(
    n_samples: int,
    n_components: int,
    *,
    margin: float,
    weight_norm: float,
    epsilon: float,
    delta: float,
    data_norm: float = 1.0,
) -> float:
    r"""Excess loss :math:`\frac{\Lambda r}\rho\frac{2\sqrt p}{m\mu}` of many noisy steps in a ball.

    >>> loss = private_term(10_000, 258_000, margin=0.3, weight_norm=2.0, epsilon=1.0, delta=1e-6)
    >>> round(loss, 2)
    2.86
    """
    ratio = check_positive("weight_norm", weight_norm) * check_positive("data_norm", data_norm)
    ratio /= check_positive("margin", margin)
    level = check_integer("n_samples", n_samples) * gdp_budget(epsilon=epsilon, delta=delta)
    return ratio * 2.0 * math.sqrt(check_integer("n_components", n_components)) / level


def balanced_size(
    n_samples: int,
    *,
    margin: float,
    weight_norm: float,
    epsilon: float,
    delta: float,
    beta: float,
    data_norm: float = 1.0,
    n0: float | None = None,
) -> _Balance:
    r"""Reference size n0, and so the number of direct features, that costs least in total.

    The sum of ``_pointwise_transfer_bound`` at :math:`D=n_0\mathcal L` and of
    :func:`private_term` in the ball 2 Lambda; a given ``n0`` is taken as it is.
    """
    m, beta = check_integer("n_samples", n_samples), check_probability("beta", beta)
    log = math.log(2 * m / beta)

    def at(size: float) -> _Balance:
        count = math.ceil(size * log)
        loss = _pointwise_transfer_bound(
            m,
            count,
            n0=size,
            margin=margin,
            weight_norm=weight_norm,
            beta=beta,
            data_norm=data_norm,
        )
        noise = private_term(
            m,
            2 * count,
            margin=margin,
            weight_norm=2.0 * weight_norm,
            epsilon=epsilon,
            delta=delta,
            data_norm=data_norm,
        )
        return _Balance(size, 2 * count, loss, noise)

    if n0 is not None:
        return at(check_positive("n0", n0))
    found = minimize_scalar(
        lambda x: at(math.exp(x)).total, bounds=(0.0, math.log(m)), method="bounded"
    )
    return at(math.exp(float(found.x)))
