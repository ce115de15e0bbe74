"""Mean error and margin bound of objective perturbation behind public random signs."""

from __future__ import annotations

import math

from scipy.special import ndtr

from dplit._checks import check_integer, check_positive, check_probability
from dplit.linear.objective import smallest_regularization
from dplit.margins.projected import CORNER
from dplit.papers.margin.slack import jl_distortion


def pure_mean_error(
    *,
    n_samples: int,
    n_features: int,
    n_components: int,
    epsilon: float,
    margin: float,
    flips: float = 0.0,
) -> float:
    r"""Error of the mean with pure noise on round records, by formula, for right labels.

    :math:`\Phi\big(-(1-2q)\rho^2/\sqrt{\frac{(1-2q)^2\rho^2}k+\frac1m(\frac1k+\frac1d)+
    \frac{4k}{(m\epsilon)^2}}\big)`, without the terms of the signs at k = d. It is
    :class:`~dplit.margins.projected.ProjectedObjectiveClassifier` at a large penalty, up to
    clipping.

    >>> size = {"n_samples": 300, "n_features": 1000, "epsilon": 1.0, "margin": 0.5}
    >>> round(pure_mean_error(n_components=1000, **size), 3)
    0.118
    >>> round(pure_mean_error(n_components=75, **size), 4)
    0.0011
    """
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features)
    k = check_integer("n_components", n_components, maximum=d)
    rho, kept = check_probability("margin", margin, one=True), 1.0 - 2.0 * flips
    signs = (kept * rho) ** 2 / k + 1.0 / (m * k) if k < d else 0.0
    noise = 4.0 * k / (m * check_positive("epsilon", epsilon)) ** 2
    return float(ndtr(-kept * rho**2 / math.sqrt(signs + 1.0 / (m * d) + noise)))


def pure_margin_bound(
    *,
    n_samples: int,
    n_components: int,
    epsilon: float,
    margin: float,
    beta: float = 0.01,
    projected: bool = True,
) -> float:
    r"""Bound on the mean error on new unit records where all records have a margin.

    .. math:: E[\text{error}]\le e^\epsilon\Big(\beta+
        \frac{2(1+h)\sqrt{k(k+1)}}{(\epsilon-j)\,m\,a}\Big),\qquad a=\frac{\rho-\eta}{1+\eta},

    for the best penalty, where the mechanism does not raise it; infinity where
    :math:`\eta\ge\rho`. The chain:

    1. but for a share ``beta`` of the signs all m records keep a margin of a for a comparator of
       length 1 (``jl_distortion``; clipping costs the divisor), and then :math:`w_0` of length
       :math:`(1+h)/a` has no loss;
    2. the minimiser of :math:`F(w)=L(w)+\lambda\|w\|^2` with a linear term b/m, at a distance of
       :math:`\Delta` from that of F, has an F that is larger by at most
       :math:`\|b\|\Delta/m-\lambda\Delta^2\le\|b\|^2/(4\lambda m^2)`;
    3. so :math:`E\,L(w)\le\lambda\|w_0\|^2+E\|b\|^2/(4\lambda m^2)` with
       :math:`E\|b\|^2=k(k+1)(2/(\epsilon-j))^2`, which at its best penalty is
       :math:`\|w_0\|\sqrt{E\|b\|^2}/m`;
    4. a wrong record costs at least 1; and a record of the data is wrong as often as a new one, up
       to :math:`e^\epsilon`, as it may be replaced by it: no dimension enters here.

    j is what the Jacobian costs at that penalty, at most half of epsilon; the noise for the
    solver's error is left out. With :math:`k\approx\log m/\rho^2` an error of :math:`\alpha` takes
    :math:`m\approx\log m/(\rho^3\epsilon\alpha)`. Nguyen, Ullman and Zakynthinou (2020) came
    first with private learners whose sample size depends on the margin and not on d, and with a
    lower bound that shows this dependence to be optimal; it is not claimed that ours is.

    >>> size = {"epsilon": 0.5, "margin": 0.5}
    >>> round(pure_margin_bound(n_samples=10**6, n_components=1500, **size), 3)
    0.092
    >>> pure_margin_bound(n_samples=10**6, n_components=50, **size)
    inf
    """
    m, k = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    rho, budget = check_probability("margin", margin, one=True), check_positive("epsilon", epsilon)
    eta, unlucky = 0.0, 0.0
    if projected:
        unlucky = check_probability("beta", beta)
        eta = jl_distortion(n_components=k, n_samples=m, beta=unlucky)
    if eta >= rho:
        return math.inf
    length, size = (1.0 + CORNER) * (1.0 + eta) / (rho - eta), math.sqrt(k * (k + 1.0))
    least = smallest_regularization(
        n_records=m, epsilon=budget, data_norm=1.0, loss="huberised_hinge", smoothing=CORNER
    )
    left = budget / 2.0
    for _ in range(60):  # what is left of epsilon asks for a penalty, which costs a part of it
        penalty = max(size / (left * m * length), least)
        left = budget - math.log1p(0.5 / CORNER / (2.0 * penalty * m))
    loss = penalty * length**2 + (size / (left * m)) ** 2 / penalty
    return math.exp(budget) * (unlucky + loss)
