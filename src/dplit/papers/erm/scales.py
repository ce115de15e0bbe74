r"""Laplace scales s for one value, density :math:`\frac1{2s}e^{-|b|/s}`.

As printed, and as one answer needs. The paper's :math:`\alpha` is 2s.
"""

from __future__ import annotations

import math
from typing import Literal

from scipy.optimize import brentq

from dplit._checks import check_choice, check_flag, check_positive
from dplit.kernels.lipschitz import fit_norm_factor, least_squares_stability, lipschitz_stability
from dplit.mechanisms import laplace_scale


def sup_sensitivity(
    *,
    lipschitz: float,
    kappa: float,
    regularization: float,
    n_records: int,
    strong_convexity: float = 2.0,
) -> float:
    r"""Bound :math:`\frac{2\kappa^2C_L}{\lambda\gamma m}` on :math:`\sup\|f_z-f_{\bar z}\|_\infty`.

    Definition 2 with Theorem 2, as :func:`~dplit.kernels.lipschitz.lipschitz_stability`.
    """
    distance = lipschitz_stability(
        lipschitz=lipschitz,
        regularization=regularization,
        n_records=n_records,
        kappa=kappa,
        strong_convexity=strong_convexity,
    )
    return distance * check_positive("kappa", kappa)


def noise_scale(
    *,
    epsilon: float,
    lipschitz: float,
    kappa: float,
    regularization: float,
    n_records: int,
    strong_convexity: float = 2.0,
    as_printed: bool = False,
) -> float:
    r"""Laplace scale of Proposition 1: what Lemma 1 asks for, or the half of it that is printed.

    :math:`\frac{2\kappa^2C_L}{\lambda\gamma m\epsilon}`, with which one answer is epsilon-private.
    ``as_printed``, by the density :math:`\frac1\alpha\exp(-\frac{\lambda\gamma
    m\epsilon|b|}{\kappa^2C_L})`, half of it, with which one answer is 2 epsilon-private, and for
    the hinge loss no better.

    >>> round(noise_scale(epsilon=0.5, lipschitz=1, kappa=1, regularization=0.1, n_records=101), 5)
    0.19802
    """
    width = sup_sensitivity(
        lipschitz=lipschitz,
        kappa=kappa,
        regularization=regularization,
        n_records=n_records,
        strong_convexity=strong_convexity,
    )
    needed = laplace_scale(epsilon=epsilon, sensitivity=width)
    return 0.5 * needed if check_flag("as_printed", as_printed) else needed


def hinge_scale(
    *, epsilon: float, kappa: float, regularization: float, n_records: int, as_printed: bool = False
) -> float:
    r"""Laplace scale :math:`\frac{\kappa^2}{\lambda m\epsilon}` of the machine of Section 5.2.

    ``as_printed``, by the density of :math:`b_h`, half of it.
    """
    return noise_scale(
        epsilon=epsilon,
        lipschitz=1.0,
        kappa=kappa,
        regularization=regularization,
        n_records=n_records,
        as_printed=as_printed,
    )


def least_squares_scale(
    *,
    epsilon: float,
    kappa: float,
    label_bound: float,
    regularization: float,
    n_records: int,
    rule: Literal["printed", "doubled", "sharp"] = "sharp",
) -> float:
    r"""Laplace scale for one answer of regularised least squares (Section 5.1).

    Labels are clipped to ``[-label_bound, label_bound]``. ``"sharp"``: kappa times the best
    stability bound, divided by epsilon; epsilon-private for every lambda. ``"doubled"``: what Lemma
    1 asks for with the printed :math:`C_L=2M(\kappa+1)/\sqrt\lambda`; the same, proved for
    :math:`\lambda\le1`. ``"printed"``: half of that, :math:`\alpha/2` of the density of
    :math:`b_{ls}`; enough or not as :func:`printed_least_squares_loss` says.
    """
    check_choice("rule", rule, ("printed", "doubled", "sharp"))
    k = check_positive("kappa", kappa)
    distance = least_squares_stability(
        regularization=check_positive("regularization", regularization),
        n_records=n_records,
        label_bound=label_bound,
        kappa=k,
        version="sharp" if rule == "sharp" else "printed",
    )
    needed = laplace_scale(epsilon=epsilon, sensitivity=k * distance)
    return 0.5 * needed if rule == "printed" else needed


def printed_least_squares_loss(*, regularization: float, kappa: float = 1.0) -> float:
    r"""Privacy loss of one answer with the printed noise of least squares, in units of epsilon.

    :math:`\frac{\sqrt\lambda}{\kappa+1}\max_\theta2\sin\theta\,(1+\kappa\nu\cos\theta)`, the
    supremum over all sample sizes, samples, neighbours and points, approached as m grows; it
    increases with lambda. Up to 1 the printed scale is enough for one answer.
    """
    penalty, k = check_positive("regularization", regularization), check_positive("kappa", kappa)
    A = k * fit_norm_factor(regularization=penalty, kappa=k)
    cosine = 2.0 * A / (1.0 + math.sqrt(1.0 + 8.0 * A * A))
    turn = 2.0 * math.sqrt(1.0 - cosine**2) * (1.0 + A * cosine)
    return math.sqrt(penalty) * turn / (k + 1.0)


def safe_regularization(*, kappa: float = 1.0) -> float:
    r"""Largest lambda at which the printed noise of least squares is enough for one answer.

    There :func:`printed_least_squares_loss` is 1; it lies between :math:`\frac14(1+\frac\kappa2)^2`
    and :math:`\frac14(1+\kappa)^2`, and above it the printed noise fails for large samples.
    """
    k = check_positive("kappa", kappa)

    def surplus(penalty: float) -> float:
        return printed_least_squares_loss(regularization=penalty, kappa=k) - 1.0

    return float(brentq(surplus, 0.25 * (1.0 + 0.5 * k) ** 2, 0.25 * (1.0 + k) ** 2, xtol=1e-15))
