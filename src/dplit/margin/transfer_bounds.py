r"""What random features can cost the reference predictor: by all pairs, or record by record.

The paper asks that every inner product of two records be right within 1/m and pays with ``m^2
log(2m/beta)`` frequencies. Only the scores of one predictor at m records matter, and Bernstein's
inequality for them asks for ``m log(2m/beta)``. A smaller reference size n0 needs fewer still, and
balances what the privacy noise costs in so many coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import minimize_scalar

from dplit._checks import check_integer, check_positive, check_probability
from dplit.conversions import gdp_budget

__all__ = [
    "Balance",
    "balanced_size",
    "norm_tail",
    "pairwise_transfer_bound",
    "pointwise_deviation",
    "pointwise_transfer_bound",
    "private_term",
    "reference_regularization",
]


@dataclass(frozen=True)
class Balance:
    """Reference size that balances approximation and privacy noise, for direct features.

    Attributes
    ----------
    n0 : float
        Effective sample size.
    n_components : int
        Number 2 D of features, with ``D = ceil(n0 log(2m/beta))``.
    approximation, private : float
        The two terms of the hinge loss.
    """

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

    Parameters
    ----------
    n0 : float
        Effective sample size, positive; the paper's argument takes the number m of records.
    margin, weight_norm, data_norm : float
        The paper's rho, Lambda and r, positive.

    Returns
    -------
    float
        With it ``lambda Lambda^2 / 2`` is ``Lambda r / (2 rho sqrt(n0))`` and the coefficients sum
        to at most ``1/(lambda rho) = Lambda sqrt(n0) / r``.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import reference_regularization
    >>> reference_regularization(400, margin=1.0, weight_norm=10.0)
    0.005
    """
    bound = check_positive("margin", margin) * check_positive("weight_norm", weight_norm)
    return check_positive("data_norm", data_norm) / (bound * math.sqrt(check_positive("n0", n0)))


def pairwise_transfer_bound(
    n_samples: int, *, margin: float, weight_norm: float, data_norm: float = 1.0
) -> tuple[float, float]:
    r"""Loss and norm of the transferred predictor with Algorithm 3's frequencies, for n0 = m.

    Parameters
    ----------
    n_samples : int
        Number m of records.
    margin, weight_norm, data_norm : float
        The paper's rho, Lambda and r.

    Returns
    -------
    tuple of two float
        Increase of the hinge loss over the best of the ball, :math:`2.5\Lambda r/(\rho\sqrt m)`,
        and norm, :math:`\sqrt3\Lambda`.

    Notes
    -----
    With all pairs within :math:`\Delta=2r^2/m` and :math:`s=\|\alpha\|_1\le\Lambda\sqrt m/r`:
    half a unit for the penalty, :math:`s\Delta/\rho` for the scores, and
    :math:`\|\tilde w\|^2\le\Lambda^2+s^2\Delta`.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import pairwise_transfer_bound
    >>> loss, norm = pairwise_transfer_bound(10_000, margin=0.5, weight_norm=2.0)
    >>> round(loss, 12), round(norm**2, 12)
    (0.1, 12.0)
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

    Parameters
    ----------
    n_samples, n_frequencies : int
        Records m and frequencies D.
    norm : float
        Norm of the predictor in the space of the kernel.
    weight_sum : float
        Sum of its coefficients :math:`\|\alpha\|_1`.
    beta : float
        Probability in (0, 1).
    data_norm : float, default=1.0
        The paper's r.

    Returns
    -------
    float
        :math:`r\|f\|\sqrt{2\mathcal L/D}+r^2\|\alpha\|_1\mathcal L/(3D)` with
        :math:`\mathcal L=\log(2m/\beta)`.

    Notes
    -----
    A score is a mean of D independent terms :math:`r^2\mathrm{Re}\,a(\omega)e^{-i\langle\omega,
    x\rangle}` with :math:`a(\omega)=\sum_l\alpha_ly_le^{i\langle\omega,x_l\rangle}`. Their
    second moment is at most :math:`r^4E|a|^2=r^2\|f\|^2`, their modulus at most
    :math:`r^2\|\alpha\|_1`. Two sides, m records.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import pointwise_deviation
    >>> round(pointwise_deviation(200, 1797, norm=1.0, weight_sum=14.1, beta=0.05), 4)
    0.1235
    """
    m, count = check_integer("n_samples", n_samples), check_integer("n_frequencies", n_frequencies)
    log = math.log(2 * m / check_probability("beta", beta)) / count
    r = check_positive("data_norm", data_norm)
    first = r * check_positive("norm", norm) * math.sqrt(2.0 * log)
    return first + r * r * check_positive("weight_sum", weight_sum) * log / 3.0


def norm_tail(n_frequencies: int, *, n0: float) -> float:
    r"""Probability that the transferred predictor leaves the ball of radius 2 Lambda.

    Parameters
    ----------
    n_frequencies : int
        Number D of frequencies.
    n0 : float
        Effective sample size of the reference predictor, positive.

    Returns
    -------
    float
        At most :math:`e^{-9D/(4n_0)}`.

    Notes
    -----
    :math:`\|\tilde w\|^2` is a mean of D terms :math:`r^2|a(\omega_j)|^2\in[0,\Lambda^2n_0]` of
    mean :math:`\|f\|^2\le\Lambda^2`, so their second moment is at most :math:`\Lambda^4n_0`.
    Bernstein at the deviation :math:`3\Lambda^2`.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import norm_tail
    >>> round(norm_tail(1000, n0=1000), 4)
    0.1054
    """
    return math.exp(
        -9.0 * check_integer("n_frequencies", n_frequencies) / (4.0 * check_positive("n0", n0))
    )


def pointwise_transfer_bound(
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

    Parameters
    ----------
    n_samples, n_frequencies : int
        Records m and frequencies D.
    n0 : float
        Effective sample size: the reference predictor has ``lambda = r / (rho Lambda sqrt(n0))``.
    margin, weight_norm, data_norm : float
        The paper's rho, Lambda and r.
    beta : float
        Probability in (0, 1).

    Returns
    -------
    float
        :math:`\frac{\Lambda r}\rho\Big(\frac1{2\sqrt{n_0}}+\sqrt{\frac{2\mathcal L}D}+
        \frac{\sqrt{n_0}\mathcal L}{3D}\Big)`.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import pointwise_transfer_bound
    >>> bound = pointwise_transfer_bound(1000, 10597, n0=1000.0, margin=0.5, weight_norm=1.0,
    ...     beta=0.05)
    >>> round(bound * 0.5 * 1000**0.5, 3)
    2.248
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
    r"""Expected excess hinge loss of noisy gradient descent in a ball, after many steps.

    Parameters
    ----------
    n_samples, n_components : int
        Records m and coordinates p.
    margin, weight_norm, data_norm : float
        Margin, data_norm of the ball that is searched, norm of the records.
    epsilon, delta : float
        Budget, spent exactly through Gaussian DP.

    Returns
    -------
    float
        :math:`\frac{\Lambda r}\rho\cdot\frac{2\sqrt p}{m\mu}`: the limit of many steps of
        :func:`dplit.margin.full_batch.descent_bound`.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import private_term
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
) -> Balance:
    r"""Reference size n0, and with it the number of direct features, that costs least in total.

    Parameters
    ----------
    n_samples : int
        Number m of records.
    margin, weight_norm, data_norm : float
        The paper's rho, Lambda and r.
    epsilon, delta : float
        Budget of noisy gradient descent over the ball of radius 2 Lambda.
    beta : float
        Probability in (0, 1) of the approximation's failure.
    n0 : float or None, default=None
        Take this size instead of the best one in [1, m].

    Returns
    -------
    Balance

    Notes
    -----
    With :math:`D=n_0\mathcal L` the approximation costs :math:`(0.5+\sqrt2+\frac13)\Lambda r/(\rho
    \sqrt{n_0})` and the noise :math:`(2\Lambda r/\rho)\,2\sqrt{2n_0\mathcal L}/(m\mu)`. They
    balance at :math:`n_0\asymp m\mu/\sqrt{\mathcal L}`, so :math:`2D\asymp m\mu\sqrt{\mathcal L}`.

    Examples
    --------
    >>> from dplit.margin.transfer_bounds import balanced_size
    >>> best = balanced_size(10_000, margin=0.3, weight_norm=1.0, epsilon=1.0, delta=1e-6,
    ...     beta=0.05)
    >>> best.n_components < 10_000, best.total < 1.0
    (True, True)
    """
    m, beta = check_integer("n_samples", n_samples), check_probability("beta", beta)
    log = math.log(2 * m / beta)

    def at(size: float) -> Balance:
        count = math.ceil(size * log)
        loss = pointwise_transfer_bound(
            m,
            count,
            n0=size,
            margin=margin,
            weight_norm=weight_norm,
            beta=beta,
            data_norm=data_norm,
        )
        noise = private_term(
            m, 2 * count, margin=margin, weight_norm=2.0 * weight_norm, epsilon=epsilon,
            delta=delta, data_norm=data_norm,
        )  # fmt: skip
        return Balance(size, 2 * count, loss, noise)

    if n0 is not None:
        return at(check_positive("n0", n0))
    found = minimize_scalar(
        lambda x: at(math.exp(x)).total, bounds=(0.0, math.log(m)), method="bounded"
    )
    return at(math.exp(float(found.x)))
