r"""Approximation error :math:`D(\lambda)`: how well functions of the space come near the target.

Two worlds in closed form. The square wave :math:`\operatorname{sgn}\sin2\pi x` with the periodic
kernel of one weak derivative, :math:`K(x,x')=\frac6{\pi^2}\sum_kk^{-2}\cos2\pi k(x-x')`
(:math:`\kappa=1`), whose integral operator has the eigenvalues :math:`\mu_k=\frac3{\pi^2}k^{-2}`,
twice each; and any finite population with any kernel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_positive
from dplit.erm.kernels import check_gram

__all__ = [
    "WaveErrors",
    "comparison_slack",
    "hinge_source_bound",
    "power_exponent",
    "regularized_target",
    "source_exponent",
    "spectral_error",
    "wave_errors",
    "wave_spectrum",
]

Array = NDArray[np.float64]


class WaveErrors(NamedTuple):
    r"""Errors of approximation of the square wave, noiseless labels, at one lambda.

    Attributes
    ----------
    l2 : float
        :math:`\|f_\lambda-f_\rho\|_{L^2}` of :math:`f_\lambda=(L_K+\lambda)^{-1}L_Kf_\rho`.
    penalty : float
        :math:`\lambda\|f_\lambda\|_K^2`.
    squared : float
        :math:`D(\lambda)` of least squares: ``l2**2 + penalty``.
    hinge : float
        :math:`D(\lambda)` of the hinge loss with the same :math:`f_\lambda`.
    best_hinge : float
        The least :math:`D(\lambda)` of the hinge loss.
    """

    l2: float
    penalty: float
    squared: float
    hinge: float
    best_hinge: float


def wave_spectrum(n_terms: int) -> tuple[Array, Array]:
    r"""Eigenvalues of the kernel and coefficients of the square wave, odd frequencies.

    Parameters
    ----------
    n_terms : int
        Number of terms, at least 1: frequencies 1, 3, 5, ...

    Returns
    -------
    eigenvalues, coefficients : ndarray, shape (n_terms,)
        :math:`\frac3{\pi^2k^2}` and :math:`\frac{2\sqrt2}{\pi k}` in the orthonormal basis
        :math:`\sqrt2\sin2\pi kx`; the other coefficients are zero.

    Raises
    ------
    TypeError, ValueError
        If ``n_terms`` is not a positive integer.

    Examples
    --------
    >>> eigenvalues, coefficients = wave_spectrum(2000)
    >>> round(float(np.sum(coefficients**2)), 3)
    1.0
    """
    k = math.pi * (2.0 * np.arange(check_integer("n_terms", n_terms)) + 1.0)
    return np.asarray(3.0 / k**2), np.asarray(2.0 * math.sqrt(2.0) / k)


def spectral_error(
    regularization: float, *, eigenvalues: ArrayLike, coefficients: ArrayLike
) -> tuple[float, float]:
    r"""Error in :math:`L^2` and penalty of :math:`f_\lambda=(L_K+\lambda)^{-1}L_Kf_\rho`.

    Parameters
    ----------
    regularization : float
        lambda, positive.
    eigenvalues : array_like, shape (n,)
        Nonnegative eigenvalues of the integral operator.
    coefficients : array_like, shape (n,)
        Coefficients of :math:`f_\rho` in its orthonormal eigenfunctions.

    Returns
    -------
    error, penalty : float
        :math:`\|f_\lambda-f_\rho\|_{L^2}` and :math:`\lambda\|f_\lambda\|_K^2`. The sum
        error**2 + penalty is :math:`\sum_ka_k^2\frac{\lambda}{\mu_k+\lambda}`, the least
        :math:`D(\lambda)` of least squares.

    Raises
    ------
    TypeError, ValueError
        If arguments are not finite, lengths differ, or an eigenvalue is negative.

    Examples
    --------
    >>> spectral_error(1.0, eigenvalues=[1.0], coefficients=[2.0])
    (1.0, 1.0)
    """
    penalty = check_positive("regularization", regularization)
    mu = np.asarray(check_finite_array("eigenvalues", eigenvalues, ndim=1), dtype=np.float64)
    a = np.asarray(check_finite_array("coefficients", coefficients, ndim=1), dtype=np.float64)
    if mu.shape != a.shape or mu.min() < 0:
        raise ValueError(
            f"eigenvalues must be nonnegative, one for each coefficient, got shapes {mu.shape} and "
            f"{a.shape}, least eigenvalue {mu.min():g}"
        )
    share = penalty / (mu + penalty)
    error = math.sqrt(float(np.sum((a * share) ** 2)))
    return error, float(np.sum(a**2 * share * (1.0 - share)))


def wave_errors(regularization: float) -> WaveErrors:
    r"""Approximation errors of the square wave in closed form.

    Parameters
    ----------
    regularization : float
        lambda, positive.

    Returns
    -------
    WaveErrors

    Raises
    ------
    TypeError, ValueError
        If ``regularization`` is not positive and finite.

    Notes
    -----
    :math:`f_\lambda` solves :math:`f-\ell^2f''=f_\rho` with :math:`\ell=\sqrt{\lambda/12}`: on
    (0, 1/2) it is :math:`1-\cosh((x-\frac14)/\ell)/\cosh(1/(4\ell))`, below 1. So its hinge risk
    is :math:`\int(1-|f_\lambda|)=4\ell\tanh\frac1{4\ell}=\frac2{\sqrt3}\sqrt\lambda\tanh
    \frac{\sqrt3}{2\sqrt\lambda}`, which is also the least D of least squares. As lambda
    vanishes, :math:`\|f_\lambda-f_\rho\|^2` and the penalty have half of it each: the hinge D is
    :math:`\sqrt3\sqrt\lambda`. The best function for the hinge loss is a parabola up to 1, with
    :math:`D=\frac83\sqrt{\lambda/3}` for :math:`\lambda\le\frac3{16}`; beyond, the parabola that
    stays below 1, with :math:`D=1-\frac1{16\lambda}`.

    Examples
    --------
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
    return WaveErrors(math.sqrt(l2), cost, mass, mass + cost, best)


def hinge_source_bound(
    regularization: float, *, source: float, source_norm: float, kappa: float = 1.0
) -> float:
    r"""Bound on the hinge approximation error through :math:`L^2`, with its constant.

    Parameters
    ----------
    regularization : float
        lambda, positive.
    source : float
        r with :math:`f_\rho=L_K^ru`; positive.
    source_norm : float
        :math:`\|u\|_{L^2}`, positive.
    kappa : float, default=1.0
        Bound on the square root of the kernel's diagonal; positive.

    Returns
    -------
    float
        :math:`\lambda^r\|u\|+\lambda^{2r}\|u\|^2` for :math:`r\le\frac12`; beyond,
        :math:`\lambda^{\min(r,1)}\kappa^{2(r-1)_+}\|u\|+\lambda\kappa^{4r-2}\|u\|^2`. The paper
        prints :math:`\lambda^{\min(r,1)}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

    Notes
    -----
    The hinge risk is 1-Lipschitz in :math:`L^1`, hence in :math:`L^2`, and
    :math:`\|f_\lambda-f_\rho\|=\|\lambda(L_K+\lambda)^{-1}L_K^ru\|`.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Section 5.2.

    Examples
    --------
    >>> round(hinge_source_bound(0.01, source=0.25, source_norm=1.0), 4)
    0.4162
    """
    penalty, r = check_positive("regularization", regularization), check_positive("source", source)
    norm, k = check_positive("source_norm", source_norm), check_positive("kappa", kappa)
    error = penalty ** min(r, 1.0) * math.pow(k, 2.0 * max(r - 1.0, 0.0)) * norm
    size = penalty ** (2.0 * r) if r <= 0.5 else penalty * math.pow(k, 4.0 * r - 2.0)
    return float(error + size * norm**2)


def source_exponent(source: float, *, loss: str) -> float:
    r"""Exponent beta with :math:`D(\lambda)=O(\lambda^\beta)` that a source condition gives.

    Parameters
    ----------
    source : float
        r with :math:`f_\rho\in L_K^r(L^2)`; nonnegative.
    loss : {"squared", "hinge", "lipschitz"}
        "squared": min(1, 2r). "hinge": the paper's min(r, 1) for the hinge loss. "lipschitz":
        any Lipschitz loss, min(r, 1) below 1/2 and 1 from 1/2 on.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If ``source`` is negative or ``loss`` unknown.

    Notes
    -----
    :math:`r\ge\frac12` means :math:`f_\rho\in\mathcal H_K`, and :math:`f_\lambda=f_\rho` has
    :math:`D(\lambda)=\lambda\Omega(f_\rho)`.

    Examples
    --------
    >>> [source_exponent(0.5, loss=name) for name in ("squared", "hinge", "lipschitz")]
    [1.0, 0.5, 1.0]
    """
    r = check_nonnegative("source", source)
    if loss == "squared":
        return min(1.0, 2.0 * r)
    if loss == "hinge":
        return min(r, 1.0)
    if loss == "lipschitz":
        return 1.0 if r >= 0.5 else r
    raise ValueError(f"loss must be one of ['hinge', 'lipschitz', 'squared'], got loss={loss!r}")


def power_exponent(x: ArrayLike, y: ArrayLike) -> float:
    r"""Least-squares slope of log y against log x.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Positive numbers, at least two, not all x equal.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If a number is not positive, or lengths do not fit.

    Examples
    --------
    >>> round(power_exponent([1, 2, 4], [3, 12, 48]), 12)
    2.0
    """
    a = np.asarray(check_finite_array("x", x, ndim=1), dtype=np.float64)
    b = np.asarray(check_finite_array("y", y, ndim=1), dtype=np.float64)
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

    Parameters
    ----------
    gram : array_like, shape (n, n)
        Kernel values of the points.
    target : array_like, shape (n,)
        Values of :math:`f_\rho`.
    regularization : float
        lambda, positive.
    weights : array_like, shape (n,), optional
        Law of the points; uniform if not given.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    TypeError, ValueError
        If ``gram`` is no Gram matrix, shapes do not fit, or weights are no probabilities.

    Notes
    -----
    A contraction in :math:`L^2` and in the space, not in the sup norm: :math:`\|f_\rho\|_\infty\le
    M` does not give :math:`\|f_\lambda\|_\infty\le M`.

    Examples
    --------
    >>> regularized_target([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], regularization=0.5)
    array([ 0.5, -0.5])
    """
    K = check_gram(gram)
    f = np.asarray(check_finite_array("target", target, ndim=1), dtype=np.float64)
    rho = np.full(len(K), 1.0 / len(K)) if weights is None else np.asarray(weights, np.float64)
    if f.shape != (len(K),) or rho.shape != f.shape or rho.min() < 0 or abs(rho.sum() - 1) > 1e-9:
        raise ValueError(
            f"target and weights must have {len(K)} entries, weights nonnegative with sum 1, got "
            f"shapes {f.shape} and {rho.shape}"
        )
    penalty = check_positive("regularization", regularization)
    # (K R + penalty) f = K R target, with R the diagonal of the weights
    operator = K * rho
    return np.asarray(np.linalg.solve(operator + penalty * np.eye(len(K)), operator @ f))


def comparison_slack(eta: ArrayLike, prediction: ArrayLike, *, root: bool = False) -> Array:
    r"""Excess hinge risk minus excess misclassification, at one point x.

    Parameters
    ----------
    eta : array_like
        Probability of the label +1 at x, in [0, 1].
    prediction : array_like
        Value t of the predictor at x; broadcasts against ``eta``. At 0 the wrong class counts.
    root : bool, default=False
        Whether the first term is :math:`\sqrt{2\,\cdot}` of the excess hinge risk, as printed.

    Returns
    -------
    ndarray
        :math:`\eta(1-t)_++(1-\eta)(1+t)_+-2\min(\eta,1-\eta)-|2\eta-1|\,1\{t(2\eta-1)\le0\}`,
        nonnegative everywhere: the comparison needs no root.

    Raises
    ------
    TypeError, ValueError
        If an argument is not finite or ``eta`` is out of range.

    References
    ----------
    T. Zhang, Ann. Statist. 32 (2004) 56-85, doi:10.1214/aos/1079120130, for the version without
    root; the paper's Section 5.2 for the other.

    Examples
    --------
    >>> comparison_slack(0.9, [0.5, 0.0]).round(12)
    array([0.4, 0. ])
    """
    p = np.asarray(check_finite_array("eta", eta), dtype=np.float64)
    t = np.asarray(check_finite_array("prediction", prediction), dtype=np.float64)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"eta must be in [0, 1], got values from {p.min():g} to {p.max():g}")
    hinge = p * np.maximum(1.0 - t, 0.0) + (1.0 - p) * np.maximum(1.0 + t, 0.0)
    excess = np.maximum(hinge - 2.0 * np.minimum(p, 1.0 - p), 0.0)
    wrong = np.abs(2.0 * p - 1.0) * (t * (2.0 * p - 1.0) <= 0.0)
    return np.asarray((np.sqrt(2.0 * excess) if root else excess) - wrong)
