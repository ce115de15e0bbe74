"""The error of a released predictor in parts, and exact expectations of each."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.kernels.lipschitz import lipschitz_stability
from dplit.papers.erm.noisy_loss import expected_loss_laplace


class _Decomposition(NamedTuple):
    r"""The parts of the error, and the error: equation (3).

    ``generalization`` is :math:`R_1=\mathcal E(f_{z,A})-\mathcal E_z(f_{z,A})`, ``noise``
    :math:`R_2=\mathcal E_z(f_{z,A})-\mathcal E_z(f_z)`, ``sample``
    :math:`S=\mathcal E_z(f_\lambda)-\mathcal E(f_\lambda)`, ``approximation``
    :math:`D(\lambda)=\mathcal E(f_\lambda)-\mathcal E(f_\rho)+\lambda\Omega(f_\lambda)`, ``excess``
    :math:`\mathcal E(f_{z,A})-\mathcal E(f_\rho)`, ``slack`` the sum of the four minus the excess.
    """

    generalization: float
    noise: float
    sample: float
    approximation: float
    excess: float
    slack: float


def _law(name: str, value: ArrayLike, size: int) -> Array:
    law = check_real_array(name, value, 1)
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
) -> _Decomposition:
    r"""Equation (3) on a finite population of n records.

    ``population`` and ``empirical`` weigh the records and sum to 1; ``fitted``, ``stepping`` and
    ``target`` are the predictions of :math:`f_z,f_\lambda,f_\rho`, ``penalties`` are
    :math:`\lambda\Omega` of the first two. ``shift`` is noise that was added to :math:`f_z`,
    ``scale`` that of further Laplace noise over which the parts are averaged.
    """
    targets = check_real_array("y", y, 1)
    n = len(targets)
    rho, z = _law("population", population, n), _law("empirical", empirical, n)
    moved = {}
    for name, values in (("fitted", fitted), ("stepping", stepping), ("target", target)):
        moved[name] = check_real_array(name, values, 1)
        if moved[name].shape != (n,):
            raise ValueError(f"{name} must hold {n} predictions, got shape {moved[name].shape}")
    first, second = (check_nonnegative("penalties", value) for value in penalties)

    def losses(t: Array, s: float = 0.0) -> Array:
        return expected_loss_laplace(loss, t, targets, scale=s, tau=tau)

    move = check_interval("shift", shift, -math.inf, math.inf)
    released = losses(moved["fitted"] + move, check_nonnegative("scale", scale))
    plain, step, best = losses(moved["fitted"]), losses(moved["stepping"]), losses(moved["target"])
    generalization = float(rho @ released - z @ released)
    noise = float(z @ released - z @ plain)
    sample = float(z @ step - rho @ step)
    approximation = float(rho @ step - rho @ best) + second
    excess = float(rho @ released - rho @ best)
    slack = float(z @ step) + second - (float(z @ plain) + first) + first
    return _Decomposition(generalization, noise, sample, approximation, excess, slack)


def coin_decomposition(
    n_records: int, *, regularization: float, probability: float, scale: float
) -> _Decomposition:
    r"""Exact expectation of all parts for the hinge loss on one point with random labels.

    K = 1, so f is a number; with the share :math:`\bar p` of positive labels
    :math:`f_z=\operatorname{clip}\bigl((2\bar p-1)/(2\lambda),-1,1\bigr)`. The stepping stone is
    the minimiser of the regularised population risk, ``probability`` that of the label +1.
    """
    m = check_integer("n_records", n_records)
    penalty = check_positive("regularization", regularization)
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
    return _Decomposition(*total.tolist())


def privacy_generalization(
    *,
    epsilon: float,
    baseline: float,
    noise_error: float,
    version: Literal["printed", "proof", "sharp"] = "sharp",
) -> float:
    r"""Bound on :math:`\mathbb ER_1` by privacy (Proposition 2).

    With ``baseline`` :math:`G_0=B_0+\lambda\Omega(0)` and ``noise_error`` :math:`\mathbb ER_2`: as
    printed :math:`4\epsilon G_0+2\epsilon\,\mathbb ER_2`, by its proof
    :math:`2\epsilon(G_0+\mathbb ER_2)`, sharp :math:`(e^\epsilon-1)(G_0+\mathbb ER_2)`.
    """
    eps = check_positive("epsilon", epsilon)
    base = check_nonnegative("baseline", baseline)
    price = check_nonnegative("noise_error", noise_error)
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

    :math:`2\kappa^2C_L^2/(\lambda\gamma m)`: Theorem 2, times the size of a slope.
    """
    distance = lipschitz_stability(
        lipschitz=lipschitz,
        regularization=regularization,
        n_records=n_records,
        kappa=kappa,
        strong_convexity=strong_convexity,
    )
    return lipschitz * kappa * distance
