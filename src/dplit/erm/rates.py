r"""Learning rates: Theorem 4 as printed, by privacy and by stability.

Throughout, the released function is the minimiser plus one Laplace variable. Its scale is that of
one private answer, :math:`\frac{2\kappa^2C_L}{\lambda\gamma m\epsilon}`, or half of it as printed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Literal, NamedTuple, get_args

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
from dplit.erm.losses import _check_gram
from dplit.erm.release import least_squares_scale, noise_scale
from dplit.erm.stability import least_squares_stability
from dplit.erm.utility import noise_error_bound, privacy_generalization, stability_generalization

# Approximation error :math:`D(\lambda)` in closed form: any finite population with any kernel, and
# the square wave :math:`\operatorname{sgn}\sin2\pi x` with
# :math:`K(x,x')=\frac6{\pi^2}\sum_kk^{-2}\cos2\pi k(x-x')` (:math:`\kappa=1`; its eigenvalues
# :math:`\frac3{\pi^2}k^{-2}` are double).


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
    K = _check_gram(gram)
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


_Rate = Literal[
    "theorem4", "stability", "least_squares", "least_squares_fixed", "classification", "comparison"
]


class _Schedule(NamedTuple):
    """Privacy budget and regularisation that depend on the number of records alone."""

    epsilon: float
    regularization: float


def _exponent(beta: float) -> float:
    value = check_positive("beta", beta)
    if value > 1.0:
        raise ValueError(f"beta must be in (0, 1], got beta={value!r}")
    return value


def rate_exponent(beta: float, *, rate: _Rate) -> float:
    r"""Exponent p of a learning rate :math:`m^{-p}`.

    From the exponent beta of the approximation error: ``"theorem4"``
    :math:`\frac{\beta}{2\beta+1}`; ``"stability"`` :math:`\frac\beta{\beta+1}` and
    ``"least_squares_fixed"`` :math:`\frac{2\beta}{\beta+3}` at fixed epsilon; ``"least_squares"``
    :math:`\frac{2\beta}{3(\beta+1)}`; ``"classification"`` :math:`\frac\beta{2(2\beta+1)}`, which
    ``"comparison"`` doubles.

    >>> [round(rate_exponent(1.0, rate=name), 4) for name in
    ...  ("theorem4", "stability", "least_squares", "least_squares_fixed", "classification")]
    [0.3333, 0.5, 0.3333, 0.5, 0.1667]
    """
    b = _exponent(beta)
    check_choice("rate", rate, get_args(_Rate))
    table = {
        "theorem4": b / (2 * b + 1),
        "stability": b / (b + 1),
        "least_squares": 2 * b / (3 * (b + 1)),
        "least_squares_fixed": 2 * b / (b + 3),
        "classification": b / (2 * (2 * b + 1)),
        "comparison": b / (2 * b + 1),
    }
    return table[rate]


def theorem4_schedule(n_records: int, *, beta: float) -> _Schedule:
    r"""Theorem 4's :math:`\epsilon=1/\sqrt{\lambda m}` and :math:`\lambda=m^{-1/(2\beta+1)}`."""
    m = float(check_integer("n_records", n_records))
    penalty = m ** (-1.0 / (2.0 * _exponent(beta) + 1.0))
    return _Schedule(1.0 / math.sqrt(penalty * m), penalty)


def printed_bound(
    n_records: int, *, beta: float, lipschitz: float, baseline: float, c_beta: float,
    kappa: float = 1.0, strong_convexity: float = 2.0,
) -> float:  # fmt: skip
    r"""Right side of Theorem 4 as printed; ``baseline`` is :math:`B_0+\Omega(0)`.

    >>> round(printed_bound(1024, beta=0.5, lipschitz=1.0, baseline=1.0, c_beta=1.5), 4)
    0.8839
    """
    m = check_integer("n_records", n_records)
    slope = 3.0 * check_positive("kappa", kappa) ** 2 * check_positive("lipschitz", lipschitz)
    constant = (
        2.0 * check_nonnegative("baseline", baseline)
        + slope / check_positive("strong_convexity", strong_convexity)
        + check_nonnegative("c_beta", c_beta)
    )
    return float(constant * float(m) ** -rate_exponent(beta, rate="theorem4"))


def safe_lipschitz(epsilon: float) -> float:
    r"""Largest :math:`C_L` for which the printed Theorem 4 is proved: :math:`3/(1+2\epsilon)`."""
    return 3.0 / (1.0 + 2.0 * check_positive("epsilon", epsilon))


def excess_bound(
    *, n_records: int, regularization: float, epsilon: float, lipschitz: float,
    approximation: float, kappa: float = 1.0, strong_convexity: float = 2.0,
    width: float | None = None, baseline: float | None = None, as_printed: bool = False,
) -> float:  # fmt: skip
    r"""Bound on the expected excess risk of the minimiser plus one Laplace variable.

    By stability
    :math:`\frac{2\kappa^2C_L^2}{\lambda\gamma m}(1+\frac{\omega}{2C_L\epsilon})+D(\lambda)`, for
    any epsilon; ``approximation`` is :math:`D(\lambda)`, ``width`` is :math:`\omega`, by default
    :math:`2C_L`. With a ``baseline`` :math:`B_0+\lambda\Omega(0)` privacy bounds :math:`R_1`
    instead. ``as_printed``: half the noise, so that one answer is :math:`2\epsilon`-private.

    >>> round(excess_bound(n_records=1024, regularization=1 / 32, epsilon=0.177, lipschitz=1.0,
    ...     approximation=0.25), 4)
    0.4578
    """
    setting = {
        "lipschitz": check_positive("lipschitz", lipschitz),
        "kappa": kappa,
        "regularization": regularization,
        "n_records": n_records,
        "strong_convexity": strong_convexity,
    }
    scale = noise_scale(epsilon=epsilon, as_printed=as_printed, **setting)  # type: ignore[arg-type]
    price = noise_error_bound(scale=scale, lipschitz=lipschitz, width=width)
    if baseline is None:
        general = stability_generalization(**setting)  # type: ignore[arg-type]
    else:
        budget = 2.0 * epsilon if as_printed else epsilon
        general = privacy_generalization(epsilon=budget, baseline=baseline, noise_error=price)
    return general + price + check_nonnegative("approximation", approximation)


def balanced_regularization(
    *, n_records: int, epsilon: float, beta: float, c_beta: float = 1.0, lipschitz: float = 1.0,
    kappa: float = 1.0, strong_convexity: float = 2.0,
) -> float:  # fmt: skip
    r"""Regularisation that minimises the bound by stability for a given budget.

    :math:`(\frac{a}{\beta c_\beta m})^{1/(\beta+1)}` with
    :math:`a=\frac{2\kappa^2C_L^2}\gamma(1+\frac1\epsilon)`; the bound is then of order
    :math:`(m\min\{1,\epsilon\})^{-\beta/(\beta+1)}`.
    """
    b = _exponent(beta)
    one = stability_generalization(
        lipschitz=lipschitz, regularization=1.0, n_records=n_records, kappa=kappa,
        strong_convexity=strong_convexity,
    )  # fmt: skip
    slope = one * (1.0 + 1.0 / check_positive("epsilon", epsilon))
    return float((slope / (b * check_positive("c_beta", c_beta))) ** (1.0 / (b + 1.0)))


# The integral operator :math:`L_Kf(t)=\int K(x,t)f(x)\,d\rho_X(x)`, whose eigenvalues sum to at
# most :math:`\kappa^2`, and the source condition on the target function.


def operator_spectrum(gram: ArrayLike) -> Array:
    """Eigenvalues of the integral operator, decreasing, for the uniform law on the points."""
    K = _check_gram(gram)
    return np.asarray(np.maximum(np.linalg.eigvalsh(K / len(K))[::-1], 0.0), dtype=np.float64)


def trigonometric_spectrum(n_frequencies: int) -> Array:
    r"""Eigenvalues of :func:`dplit.erm.losses.trigonometric_features` for the uniform law.

    >>> trigonometric_spectrum(2)
    array([0.4, 0.1])
    """
    weights = 1.0 / np.arange(1, check_integer("n_frequencies", n_frequencies) + 1) ** 2.0
    return np.asarray(0.5 * weights / weights.sum())


def source_norm(coefficients: ArrayLike, eigenvalues: ArrayLike, r: float) -> Array:
    r"""Partial norms of :math:`L_K^{-r}f`, one for each number of terms.

    :math:`(\sum_{j\le k}a_j^2\mu_j^{-2r})^{1/2}`; f is in the range of :math:`L_K^r` iff they stay
    bounded, and r = 1/2 gives the norm of the space.
    """
    a = check_real_array("coefficients", coefficients, 1)
    mu = check_real_array("eigenvalues", eigenvalues, 1)
    if a.shape != mu.shape or (mu <= 0).any():
        raise ValueError(
            f"eigenvalues must be positive, one for each coefficient, got {mu.shape} for "
            f"{a.shape} with least value {mu.min():g}"
        )
    return np.asarray(np.sqrt(np.cumsum(a**2 * mu ** (-2.0 * check_nonnegative("r", r)))))


def step_coefficients(n_terms: int) -> Array:
    r"""Coefficients of :math:`\mathrm{sgn}\sin2\pi x` in :math:`\sqrt2\sin2\pi kx`, k = 1, 2, ...

    >>> step_coefficients(3).round(4)
    array([0.9003, 0.    , 0.3001])
    """
    k = np.arange(1, check_integer("n_terms", n_terms) + 1)
    return np.where(k % 2 == 1, 2.0 * np.sqrt(2.0) / (np.pi * k), 0.0)


# Learning rates of regularised least squares plus one Laplace variable (Section 5.1).


_Scale = Literal["printed", "doubled", "sharp"]


def least_squares_noise(
    *, n_records: int, regularization: float, epsilon: float, label_bound: float,
    kappa: float = 1.0, scale: _Scale = "sharp",
) -> float:  # fmt: skip
    r"""What the noise adds to the squared risk, :math:`\mathbb Eb^2=2s^2`, exactly.

    The scale s is that of :func:`dplit.erm.release.least_squares_scale`; as printed
    :math:`\frac{2M^2\kappa^4(\kappa+1)^2}{\lambda^3m^2\epsilon^2}`, doubled four times that.
    """
    check_choice("scale", scale, get_args(_Scale))
    if scale == "sharp":
        distance = least_squares_stability(
            regularization=regularization, n_records=n_records, label_bound=label_bound, kappa=kappa
        )
        width = kappa * distance / check_positive("epsilon", epsilon)
    else:
        width = least_squares_scale(
            epsilon=epsilon, kappa=kappa, label_bound=label_bound, regularization=regularization,
            n_records=n_records, rule=scale,
        )  # fmt: skip
    return 2.0 * width**2


def least_squares_bound(
    *, n_records: int, regularization: float, approximation: float, target_risk: float,
    kappa: float = 1.0, noise: float = 0.0,
) -> float:  # fmt: skip
    r"""Bound on the expected excess squared risk of kernel ridge regression plus noise.

    :math:`D+\bigl[(1+\frac{\kappa^2}{\lambda m})^2-1\bigr](\mathcal E(f_\rho)+D)+\mathbb Eb^2` with
    ``approximation`` :math:`D(\lambda)`, ``target_risk`` :math:`\mathcal E(f_\rho)` and ``noise``
    :math:`\mathbb Eb^2`.

    >>> round(least_squares_bound(n_records=1000, regularization=0.1, approximation=0.05,
    ...     target_risk=0.1), 6)
    0.053015
    """
    factor = check_positive("kappa", kappa) ** 2 / (
        check_positive("regularization", regularization) * check_integer("n_records", n_records)
    )
    bias = check_nonnegative("approximation", approximation)
    spread = (2.0 + factor) * factor * (check_nonnegative("target_risk", target_risk) + bias)
    return bias + spread + check_nonnegative("noise", noise)


def break_even(
    *, trivial_risk: float, label_bound: float = 1.0, kappa: float = 1.0, scale: _Scale = "sharp"
) -> int:
    r"""Least m from which the noise of Section 5.1 at beta = 1 costs no more than a trivial fit.

    At :math:`\lambda=\epsilon=m^{-1/3}`; ``trivial_risk`` is the excess risk of the function 0.

    >>> break_even(trivial_risk=0.125, scale="printed")
    262144
    """
    limit = check_positive("trivial_risk", trivial_risk) * (1.0 + 1e-9)

    def enough(m: int) -> bool:
        level = float(m) ** (-1.0 / 3.0)
        noise = least_squares_noise(
            n_records=m, regularization=level, epsilon=level, label_bound=label_bound, kappa=kappa,
            scale=scale,
        )  # fmt: skip
        return noise <= limit

    least = 1 + bisect_left(range(1, 10**15 + 1), True, key=enough)
    if least > 10**15:
        raise ValueError(f"trivial_risk must be reached by m <= 1e15, got {trivial_risk!r}")
    return least
