r"""Approximation error :math:`D(\lambda)` in closed form.

Any finite population with any kernel, and the square wave :math:`\operatorname{sgn}\sin2\pi x`
with :math:`K(x,x')=\frac6{\pi^2}\sum_kk^{-2}\cos2\pi k(x-x')` (:math:`\kappa=1`; its eigenvalues
:math:`\frac3{\pi^2}k^{-2}` are double).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_flag,
    check_integer,
    check_nonnegative,
    check_positive,
    check_real_array,
)
from dplit.kernels._grams import check_gram


class _WaveErrors(NamedTuple):
    r"""Errors of approximation of the square wave, noiseless labels, at one lambda.

    ``l2`` is :math:`\|f_\lambda-f_\rho\|_{L^2}` of :math:`f_\lambda=(L_K+\lambda)^{-1}L_Kf_\rho`,
    ``penalty`` :math:`\lambda\|f_\lambda\|_K^2`, ``squared`` the :math:`D(\lambda)` of least
    squares, ``l2**2 + penalty``; ``hinge`` that of the hinge loss with the same :math:`f_\lambda`,
    ``best_hinge`` the least one.
    """

    l2: float
    penalty: float
    squared: float
    hinge: float
    best_hinge: float


def wave_spectrum(n_terms: int) -> tuple[Array, Array]:
    r"""Eigenvalues :math:`\frac3{\pi^2k^2}` and coefficients :math:`\frac{2\sqrt2}{\pi k}`, odd k.

    Of the kernel and of the square wave, in :math:`\sqrt2\sin2\pi kx`; other coefficients are zero.
    """
    k = math.pi * (2.0 * np.arange(check_integer("n_terms", n_terms)) + 1.0)
    return np.asarray(3.0 / k**2), np.asarray(2.0 * math.sqrt(2.0) / k)


def spectral_error(
    regularization: float, *, eigenvalues: ArrayLike, coefficients: ArrayLike
) -> tuple[float, float]:
    r"""Error in :math:`L^2` and penalty of :math:`f_\lambda=(L_K+\lambda)^{-1}L_Kf_\rho`.

    ``coefficients`` are those of :math:`f_\rho` in orthonormal eigenfunctions. The sum error**2 +
    penalty is the least :math:`D(\lambda)` of least squares.
    """
    penalty = check_positive("regularization", regularization)
    mu = check_real_array("eigenvalues", eigenvalues, 1)
    a = check_real_array("coefficients", coefficients, 1)
    if mu.shape != a.shape or mu.min() < 0:
        raise ValueError(
            f"eigenvalues must be nonnegative, one for each coefficient, got shapes {mu.shape} and "
            f"{a.shape}, least eigenvalue {mu.min():g}"
        )
    share = penalty / (mu + penalty)
    error = math.sqrt(float(np.sum((a * share) ** 2)))
    return error, float(np.sum(a**2 * share * (1.0 - share)))


def wave_errors(regularization: float) -> _WaveErrors:
    """Approximation errors of the square wave in closed form.

    >>> [round(value, 4) for value in wave_errors(1e-2)]
    [0.2403, 0.0577, 0.1155, 0.1732, 0.154]
    """
    penalty = check_positive("regularization", regularization)
    width = math.sqrt(penalty / 12.0)
    u = 0.25 / width
    mass = math.tanh(u) / u
    fade = 1.0 / math.cosh(u) ** 2 if u < 300.0 else 0.0
    l2 = 0.5 * (mass + fade)  # 4 times the integral of cosh^2 over (0, 1/4), normalised
    cost = mass - l2
    root = math.sqrt(penalty / 3.0)
    best = 8.0 / 3.0 * root if root <= 0.25 else 1.0 - 1.0 / (16.0 * penalty)
    return _WaveErrors(math.sqrt(l2), cost, mass, mass + cost, best)


def hinge_source_bound(
    regularization: float, *, source: float, source_norm: float, kappa: float = 1.0
) -> float:
    r"""Bound on the hinge approximation error through :math:`L^2` (Section 5.2), with its constant.

    For :math:`f_\rho=L_K^ru` it is :math:`\lambda^r\|u\|+\lambda^{2r}\|u\|^2` if the ``source``
    :math:`r\le\frac12`; beyond,
    :math:`\lambda^{\min(r,1)}\kappa^{2(r-1)_+}\|u\|+\lambda\kappa^{4r-2}\|u\|^2`. The paper prints
    :math:`\lambda^{\min(r,1)}`.
    """
    penalty, r = check_positive("regularization", regularization), check_positive("source", source)
    norm, k = check_positive("source_norm", source_norm), check_positive("kappa", kappa)
    error = penalty ** min(r, 1.0) * math.pow(k, 2.0 * max(r - 1.0, 0.0)) * norm
    size = penalty ** (2.0 * r) if r <= 0.5 else penalty * math.pow(k, 4.0 * r - 2.0)
    return float(error + size * norm**2)


def source_exponent(source: float, *, loss: str) -> float:
    r"""Exponent beta with :math:`D(\lambda)=O(\lambda^\beta)` for :math:`f_\rho\in L_K^r(L^2)`.

    ``"squared"``: min(1, 2r). ``"hinge"``: the paper's min(r, 1). ``"lipschitz"``, any Lipschitz
    loss: r below 1/2 and 1 from there on, where :math:`f_\rho\in\mathcal H_K`.
    """
    r = check_nonnegative("source", source)
    table = {"squared": min(1.0, 2.0 * r), "hinge": min(r, 1.0), "lipschitz": r if r < 0.5 else 1.0}
    return table[check_choice("loss", loss, table)]


def power_exponent(x: ArrayLike, y: ArrayLike) -> float:
    """Least-squares slope of log y against log x."""
    a = check_real_array("x", x, 1)
    b = check_real_array("y", y, 1)
    if a.shape != b.shape or min(a.min(), b.min()) <= 0 or np.ptp(a) == 0:
        raise ValueError(
            f"x and y must hold as many positive numbers, x not constant, got shapes {a.shape} and "
            f"{b.shape}, least {min(a.min(), b.min()):g}"
        )
    return float(np.polyfit(np.log(a), np.log(b), 1)[0])


def regularized_target(
    gram: ArrayLike, target: ArrayLike, *, regularization: float, weights: ArrayLike | None = None
) -> Array:
    r"""Values of :math:`f_\lambda=(L_K+\lambda I)^{-1}L_Kf_\rho` on a finite population.

    The points have the law ``weights``, by default the uniform one. A contraction in :math:`L^2`
    and in the space, not in the sup norm.
    """
    K = check_gram(gram)
    f = check_real_array("target", target, 1)
    uniform = np.full(len(K), 1.0 / len(K))
    rho = uniform if weights is None else check_real_array("weights", weights, 1)
    if f.shape != (len(K),) or rho.shape != f.shape or rho.min() < 0 or abs(rho.sum() - 1) > 1e-9:
        raise ValueError(
            f"target and weights must have {len(K)} entries, weights nonnegative with sum 1, got "
            f"shapes {f.shape} and {rho.shape}, least weight {rho.min():g}, sum {rho.sum():g}"
        )
    penalty = check_positive("regularization", regularization)
    # (K R + penalty) f = K R target, with R the diagonal of the weights
    operator = K * rho
    return np.asarray(np.linalg.solve(operator + penalty * np.eye(len(K)), operator @ f))


def comparison_slack(eta: ArrayLike, prediction: ArrayLike, *, root: bool = False) -> Array:
    r"""Excess hinge risk minus excess misclassification, at one point x.

    ``eta`` is the probability of the label +1, ``prediction`` the value at x; at 0 the wrong class
    counts. With ``root`` the first term is :math:`\sqrt{2\,\cdot}`, as printed. Nonnegative: the
    comparison needs no root (T. Zhang, Ann. Statist. 32, 2004).
    """
    p = check_real_array("eta", eta)
    t = check_real_array("prediction", prediction)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"eta must be in [0, 1], got values from {p.min():g} to {p.max():g}")
    hinge = p * np.maximum(1.0 - t, 0.0) + (1.0 - p) * np.maximum(1.0 + t, 0.0)
    excess = np.maximum(hinge - 2.0 * np.minimum(p, 1.0 - p), 0.0)
    wrong = np.abs(2.0 * p - 1.0) * (t * (2.0 * p - 1.0) <= 0.0)
    return np.asarray((np.sqrt(2.0 * excess) if check_flag("root", root) else excess) - wrong)
