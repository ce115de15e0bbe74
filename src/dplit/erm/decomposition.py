r"""The error of a released predictor in four parts, and a bound for each.

.. math:: \mathcal E(f_{z,A})-\mathcal E(f_\rho)\le R_1+R_2+S+D(\lambda)

generalisation, price of the noise, sample error, approximation error. On a finite population all
four are sums, and the expectation over Laplace noise is exact.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.erm.noisy_loss import expected_loss_laplace
from dplit.erm.stability import lipschitz_stability

__all__ = [
    "Decomposition",
    "coin_decomposition",
    "error_decomposition",
    "privacy_generalization",
    "stability_generalization",
]

Array = NDArray[np.float64]


class Decomposition(NamedTuple):
    r"""The parts of the error, and the error.

    Attributes
    ----------
    generalization : float
        :math:`R_1=\mathcal E(f_{z,A})-\mathcal E_z(f_{z,A})`.
    noise : float
        :math:`R_2=\mathcal E_z(f_{z,A})-\mathcal E_z(f_z)`.
    sample : float
        :math:`S=\mathcal E_z(f_\lambda)-\mathcal E(f_\lambda)`.
    approximation : float
        :math:`D(\lambda)=\mathcal E(f_\lambda)-\mathcal E(f_\rho)+\lambda\Omega(f_\lambda)`.
    excess : float
        :math:`\mathcal E(f_{z,A})-\mathcal E(f_\rho)`.
    slack : float
        The sum of the four parts minus the excess.
    """

    generalization: float
    noise: float
    sample: float
    approximation: float
    excess: float
    slack: float


def _law(name: str, value: ArrayLike, size: int) -> Array:
    law = np.asarray(check_finite_array(name, value, ndim=1), dtype=np.float64)
    if law.shape != (size,) or law.min() < 0 or abs(law.sum() - 1.0) > 1e-9:
        raise ValueError(
            f"{name} must hold {size} nonnegative weights that sum to 1, got shape {law.shape}, "
            f"sum {law.sum():.6g}"
        )
    return law


def error_decomposition(
    loss: str,
    *,
    y: ArrayLike,
    population: ArrayLike,
    empirical: ArrayLike,
    fitted: ArrayLike,
    stepping: ArrayLike,
    target: ArrayLike,
    penalties: tuple[float, float],
    shift: float = 0.0,
    scale: float = 0.0,
    tau: float = 0.5,
) -> Decomposition:
    r"""Equation (3) on a finite population of n records.

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "absolute"}
    y : array_like, shape (n,)
        Targets of the population's records.
    population, empirical : array_like, shape (n,)
        Weights of the records in the population and in the sample; each sums to 1.
    fitted, stepping, target : array_like, shape (n,)
        Predictions of :math:`f_z`, of :math:`f_\lambda` and of :math:`f_\rho` at the records.
    penalties : tuple of float
        :math:`\lambda\Omega(f_z)` and :math:`\lambda\Omega(f_\lambda)`, nonnegative.
    shift : float, default=0.0
        Noise b that was added to :math:`f_z`.
    scale : float, default=0.0
        Scale of further Laplace noise over which the parts are averaged, exactly.
    tau : float, default=0.5
        Level of the pinball loss.

    Returns
    -------
    Decomposition
        Its slack is
        :math:`[\mathcal E_z(f_\lambda)+\lambda\Omega(f_\lambda)]
        -[\mathcal E_z(f_z)+\lambda\Omega(f_z)]+\lambda\Omega(f_z)`: nonnegative where
        :math:`f_z` minimises and :math:`\Omega\ge0`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, equation (3).

    Examples
    --------
    >>> parts = error_decomposition("hinge", y=[1, -1], population=[0.9, 0.1], empirical=[1, 0],
    ...     fitted=[0.5, 0.5], stepping=[1, 1], target=[1, 1], penalties=(0.125, 0.5))
    >>> [round(part, 3) for part in parts]
    [0.1, 0.0, -0.2, 0.5, 0.4, 0.0]
    """
    targets = np.asarray(check_finite_array("y", y, ndim=1), dtype=np.float64)
    n = len(targets)
    rho, z = _law("population", population, n), _law("empirical", empirical, n)
    moved = {}
    for name, values in (("fitted", fitted), ("stepping", stepping), ("target", target)):
        moved[name] = np.asarray(check_finite_array(name, values, ndim=1), dtype=np.float64)
        if moved[name].shape != (n,):
            raise ValueError(f"{name} must hold {n} predictions, got shape {moved[name].shape}")
    first, second = (check_nonnegative("penalties", value) for value in penalties)

    def losses(t: Array, s: float = 0.0) -> Array:
        return expected_loss_laplace(loss, t, targets, scale=s, tau=tau)

    released = losses(moved["fitted"] + shift, check_nonnegative("scale", scale))
    plain, step, best = losses(moved["fitted"]), losses(moved["stepping"]), losses(moved["target"])
    generalization = float(rho @ released - z @ released)
    noise = float(z @ released - z @ plain)
    sample = float(z @ step - rho @ step)
    approximation = float(rho @ step - rho @ best) + second
    excess = float(rho @ released - rho @ best)
    slack = float(z @ step) + second - (float(z @ plain) + first) + first
    return Decomposition(generalization, noise, sample, approximation, excess, slack)


def coin_decomposition(
    n_records: int, *, regularization: float, probability: float, scale: float
) -> Decomposition:
    r"""Exact expectation of all parts for the hinge loss on one point with random labels.

    Parameters
    ----------
    n_records : int
        m, at least 1.
    regularization : float
        lambda, positive.
    probability : float
        Probability of the label +1, in (0, 1).
    scale : float
        Scale of the Laplace noise, nonnegative.

    Returns
    -------
    Decomposition
        Expectations over the sample (the number of positive labels is binomial) and the noise.
        The stepping stone is the minimiser of the regularised population risk.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    X is one point and K = 1, so f is a number w and
    :math:`f_z=\operatorname{clip}\bigl((2\bar p-1)/(2\lambda),-1,1\bigr)` with the share
    :math:`\bar p` of positive labels.

    Examples
    --------
    >>> parts = coin_decomposition(20, regularization=0.2, probability=0.8, scale=0.1)
    >>> round(parts.generalization, 4), abs(parts.sample) < 1e-14
    (0.0123, True)
    """
    m, penalty = (
        check_integer("n_records", n_records),
        check_positive("regularization", regularization),
    )
    eta = check_probability("probability", probability)

    def fit(share: float) -> float:
        return min(max((2.0 * share - 1.0) / (2.0 * penalty), -1.0), 1.0)

    step, best = fit(eta), 1.0 if eta >= 0.5 else -1.0
    total = np.zeros(6)
    for count, chance in enumerate(binom.pmf(np.arange(m + 1), m, eta)):
        w = fit(count / m)
        parts = error_decomposition(
            "hinge",
            y=[1.0, -1.0],
            population=[eta, 1.0 - eta],
            empirical=[count / m, 1.0 - count / m],
            fitted=[w, w],
            stepping=[step, step],
            target=[best, best],
            penalties=(penalty * w * w, penalty * step * step),
            scale=scale,
        )
        total += chance * np.asarray(parts)
    return Decomposition(*total.tolist())


def privacy_generalization(
    *,
    epsilon: float,
    baseline: float,
    noise_error: float,
    version: Literal["printed", "proof", "sharp"] = "sharp",
) -> float:
    r"""Bound on :math:`\mathbb ER_1` by privacy (Proposition 2).

    Parameters
    ----------
    epsilon : float
        Privacy of one answer, positive.
    baseline : float
        :math:`B_0+\lambda\Omega(0)`, a bound on the regularised risk of the function 0;
        nonnegative.
    noise_error : float
        :math:`\mathbb ER_2`, nonnegative.
    version : {"sharp", "proof", "printed"}
        "printed": :math:`4\epsilon(B_0+\lambda\Omega(0))+2\epsilon\,\mathbb ER_2`. "proof": what
        its proof gives, :math:`2\epsilon(B_0+\lambda\Omega(0)+\mathbb ER_2)`. "sharp": with
        :math:`e^\epsilon-1` in place of :math:`2\epsilon`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Proposition 2.

    Examples
    --------
    >>> [round(privacy_generalization(epsilon=0.5, baseline=1.0, noise_error=0.1, version=v), 3)
    ...  for v in ("printed", "proof", "sharp")]
    [2.1, 1.1, 0.714]
    """
    eps = check_positive("epsilon", epsilon)
    base, price = (
        check_nonnegative("baseline", baseline),
        check_nonnegative("noise_error", noise_error),
    )
    check_choice("version", version, ("printed", "proof", "sharp"))
    if version == "printed":
        return 4.0 * eps * base + 2.0 * eps * price
    return (2.0 * eps if version == "proof" else math.expm1(eps)) * (base + price)


def stability_generalization(
    *,
    lipschitz: float,
    regularization: float,
    n_records: int,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:
    r"""Bound on :math:`\mathbb ER_1` by stability, for any noise that is independent of the data.

    Parameters
    ----------
    lipschitz, regularization, kappa, strong_convexity : float
        :math:`C_L`, lambda, kappa and gamma; positive.
    n_records : int
        m, at least 1.

    Returns
    -------
    float
        :math:`\frac{2\kappa^2C_L^2}{\lambda\gamma m}`, whatever epsilon is.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    For fixed b, :math:`\mathbb ER_1=\frac1m\sum_i\mathbb E[L(f_{z^i}(x_i)+b,y_i)
    -L(f_z(x_i)+b,y_i)]` where :math:`z^i` has a fresh i-th record. Each term is at most
    :math:`C_L\kappa\|f_{z^i}-f_z\|_K`; Theorem 2 bounds the norm.

    Examples
    --------
    >>> stability_generalization(lipschitz=1.0, regularization=0.1, n_records=100)
    0.1
    """
    distance = lipschitz_stability(
        lipschitz=lipschitz,
        regularization=regularization,
        n_records=n_records,
        kappa=kappa,
        strong_convexity=strong_convexity,
    )
    return lipschitz * kappa * distance
