"""Theorems 10 to 12: the printed bounds, the steps behind them, and what the proofs give.

L = log(2/failure) and l = log(1/failure) throughout; ``norm`` is ``||f||_rho``.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.random_features.interpolation import label_vector
from dplit.random_features.release import NoiseVersion, noise_norm_bound

__all__ = [
    "KernelSum",
    "Theorem11Terms",
    "Theorem11Version",
    "bernstein_bound",
    "best_approximation",
    "coefficient_norm_bound",
    "rkhs_function",
    "rkhs_multiplier",
    "theorem10_bound",
    "theorem11_bound",
    "theorem11_condition",
    "theorem11_largest_failing_m",
    "theorem11_terms",
    "theorem12_bound",
    "truncation_bias_bound",
    "truncation_threshold",
]


# Functions of the random-feature space and their best approximations: Lemmas 14 to 16.
#
# A function ``f(x) = E[alpha(w) e^{i<w, x>}]`` with ``||f||_rho^2 = E|alpha|^2`` is approximated
# by
# N features with coefficients ``alpha(w_k) 1{|alpha(w_k)| <= T} / N``. The lemmas print the
# threshold
# ``T = sqrt N ||f||^2``; it must be ``sqrt N ||f||``, as in the proof of Lemma 16.


class KernelSum(NamedTuple):
    """Values of a finite kernel sum, and its norm."""

    values: NDArray[np.float64]
    norm: float


def _gaussian_kernel(X: NDArray[Any], Z: NDArray[Any], gamma: float) -> NDArray[np.float64]:
    differences = X[:, None, :] - Z[None, :, :]
    return np.asarray(np.exp(-gamma * np.sum(differences**2, axis=2)))


def _centers(centers: ArrayLike, weights: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    points = check_finite_array("centers", centers, ndim=2)
    amounts = check_finite_array("weights", weights, ndim=1)
    if len(amounts) != len(points):
        raise ValueError(f"weights must have {len(points)} entries, got {len(amounts)}")
    return points, amounts


def rkhs_function(
    X: ArrayLike, *, centers: ArrayLike, weights: ArrayLike, gamma: float
) -> KernelSum:
    """Values of ``f = sum_i a_i k(., x_i)`` at X and the norm ``||f||_rho``.

    Notes
    -----
    With Gaussian frequencies every function of the space is real-analytic and bounded by its norm.
    Neither test function of the paper's experiments qualifies: ``sqrt(1 + ||x||)`` is unbounded
    with a kink at 0, ``sum exp(-|x_i|)`` has kinks where a coordinate vanishes.

    Examples
    --------
    >>> rkhs_function([[0.0]], centers=[[0.0], [9.0]], weights=[3.0, 4.0], gamma=1.0)
    KernelSum(values=array([3.]), norm=5.0)
    """
    points = check_finite_array("X", X, ndim=2)
    where, a = _centers(centers, weights)
    if points.shape[1] != where.shape[1]:
        raise ValueError(f"X must have {where.shape[1]} columns, got X of shape {points.shape}")
    check_positive("gamma", gamma)
    squared_norm = float(a @ _gaussian_kernel(where, where, gamma) @ a)
    values = _gaussian_kernel(points, where, gamma) @ a
    return KernelSum(np.asarray(values), math.sqrt(max(squared_norm, 0.0)))


def rkhs_multiplier(
    frequencies: ArrayLike, *, centers: ArrayLike, weights: ArrayLike
) -> NDArray[np.complex128]:
    """Multiplier ``alpha(w) = sum_i a_i e^{-i<w, x_i>}`` of a finite kernel sum.

    Examples
    --------
    >>> rkhs_multiplier([[2.0]], centers=[[0.0]], weights=[3.0])
    array([3.+0.j])
    """
    w = check_finite_array("frequencies", frequencies, ndim=2)
    where, a = _centers(centers, weights)
    if w.shape[0] != where.shape[1]:
        raise ValueError(f"frequencies must have {where.shape[1]} rows, got shape {w.shape}")
    return np.asarray(a @ np.exp(-1j * (where @ w)))


def best_approximation(multiplier: ArrayLike, *, threshold: float) -> NDArray[Any]:
    """Coefficients of the paper's best random-feature approximation f*.

    Examples
    --------
    >>> best_approximation([2.0, -8.0], threshold=4.0)
    array([1., 0.])
    """
    values = check_finite_array("multiplier", multiplier, ndim=1)
    values = label_vector(values, len(values))  # in double precision
    kept = np.abs(values) <= check_positive("threshold", threshold)
    return np.asarray(np.where(kept, values, 0.0) / len(values))


def truncation_threshold(
    *, n_components: int, norm: float, version: Literal["printed", "corrected"] = "corrected"
) -> float:
    """Threshold T of Lemmas 14 to 16.

    Notes
    -----
    With the printed threshold Lemma 14 fails for ``norm < 1``, Lemmas 15 and 16 for ``norm > 1``.
    A misprint: Theorem 11 uses the corrected one.

    Examples
    --------
    >>> truncation_threshold(n_components=100, norm=0.5)
    5.0
    """
    check_choice("version", version, ("printed", "corrected"))
    root = math.sqrt(check_integer("n_components", n_components, minimum=1))
    size = check_positive("norm", norm)
    return root * (size**2 if version == "printed" else size)


def truncation_bias_bound(*, norm: float, threshold: float) -> float:
    """Bound on ``|f(x) - E f*(x)|^2`` from truncating at T: ``norm^4 / T^2``.

    Notes
    -----
    ``|E[alpha 1{|alpha| > T} e^{i<w, x>}]| <= E[|alpha|^2 / T]``: no Cauchy-Schwarz is needed.

    Examples
    --------
    >>> truncation_bias_bound(norm=2.0, threshold=8.0)
    0.25
    """
    return (check_nonnegative("norm", norm) ** 2 / check_positive("threshold", threshold)) ** 2


def bernstein_bound(*, n_components: int, norm: float, threshold: float, failure: float) -> float:
    """Bound on ``|f*(x) - E f*(x)|^2`` at a fixed x, with probability 1 - failure.

    Notes
    -----
    The Bernstein inequality behind it holds in Hilbert spaces. Applied in ``L^2(mu)`` and in C^m
    (where it bounds the mean over the training points) it gives (15) and (16) with the same
    constants; the pointwise statement of the paper does not.

    Examples
    --------
    >>> round(bernstein_bound(n_components=100, norm=1.0, threshold=10.0, failure=0.05), 3)
    4.502
    """
    n = check_integer("n_components", n_components, minimum=1)
    L = math.log(2.0 / check_probability("failure", failure))
    deviation = check_positive("threshold", threshold) * L / n
    return 32.0 * deviation**2 + 4.0 * check_nonnegative("norm", norm) ** 2 * L / n


def coefficient_norm_bound(
    *, n_components: int, norm: float, failure: float, threshold: float | None = None
) -> float:
    """Bound on ``||c*||^2`` with probability 1 - failure.

    Notes
    -----
    First display: ``(norm^2 + 4 T^2 L / N + T norm sqrt(2 L / N)) / N``. With
    ``T = sqrt N norm`` it is ``norm^2 (1 + 4 L + sqrt(2 L)) / N``, and
    ``1 + 4 L + sqrt(2 L) <= 7.14 L`` for L >= log 2.

    Examples
    --------
    >>> round(coefficient_norm_bound(n_components=100, norm=1.0, failure=0.05), 4)
    0.4427
    """
    n = check_integer("n_components", n_components, minimum=1)
    size = check_nonnegative("norm", norm)
    L = math.log(2.0 / check_probability("failure", failure))
    if threshold is None:
        return 12.0 * L * size**2 / n
    T = check_positive("threshold", threshold)
    return (size**2 + 4.0 * T**2 * L / n + T * size * math.sqrt(2.0 * L / n)) / n


Theorem11Version = Literal["printed", "line2", "displayed_step", "recovered"]


class Theorem11Terms(NamedTuple):
    """The three terms of Theorem 11, as multiples of ``||f||_rho``."""

    approximation: float
    estimation: float
    coefficients: float


def _sizes(n_components: int, n_samples: int, eta: float) -> tuple[int, int, float]:
    n = check_integer("n_components", n_components, minimum=1)
    m = check_integer("n_samples", n_samples, minimum=1)
    if n < m:
        raise ValueError(
            f"n_components must be at least n_samples, got n_components={n}, n_samples={m}"
        )
    return n, m, check_interval("eta", eta, 0.0, 0.5)


def theorem11_terms(
    *,
    n_components: int,
    n_samples: int,
    eta: float,
    failure: float,
    version: Theorem11Version = "printed",
) -> Theorem11Terms:
    """The three terms of Theorem 11's bound on ``||f - f_sharp||``, at each step of its proof.

    Notes
    -----
    Line 2 of (17) is ``B (14 L sqrt m / sqrt(N (1 - 2 eta)) + 4 sqrt L)`` with
    ``B^2 = (1 + 2 eta)/m + sqrt(2 l/m)``. The values of ``|f* - f_sharp|^2`` lie in
    ``[0, N ||c* - c_sharp||^2]``, so McDiarmid's differences are half of the paper's and
    ``B^2 = (1 + 2 eta)/m + sqrt(l/(2 m))``. Lemmas 14 to 16 give ``sqrt(2 + 64 L^2 + 8 L)`` for
    14 L and ``sqrt(1 + 4 L + sqrt(2 L))`` for ``4 sqrt L``.

    Examples
    --------
    >>> setting = dict(n_components=10**6, n_samples=1000, eta=0.375, failure=0.05)
    >>> [round(sum(theorem11_terms(**setting, version=v)[1:]), 3)
    ...  for v in ("printed", "line2", "displayed_step", "recovered")]
    [2.886, 3.08, 6.092, 1.247]
    """
    check_choice("version", version, ("printed", "line2", "displayed_step", "recovered"))
    n, m, eta = _sizes(n_components, n_samples, eta)
    log = -math.log(check_interval("failure", failure, 0.0, 0.125))
    L = log + math.log(2.0)
    lead = math.sqrt(2.0 + 64.0 * L**2 + 8.0 * L) if version == "recovered" else 14.0 * L
    shrink = math.sqrt(m / (n * (1.0 - 2.0 * eta)))
    if version in ("printed", "displayed_step"):
        factor = 2.0 * (2.0 * log / m) ** 0.25
        tail = factor * 4.0 if version == "displayed_step" else (32.0 * log / m) ** 0.25
        third = tail * math.sqrt(L)
    elif version == "line2":
        factor = math.sqrt((1.0 + 2.0 * eta) / m + math.sqrt(2.0 * log / m))
        third = factor * 4.0 * math.sqrt(L)
    else:
        factor = math.sqrt((1.0 + 2.0 * eta) / m + math.sqrt(log / (2.0 * m)))
        third = factor * math.sqrt(1.0 + 4.0 * L + math.sqrt(2.0 * L))
    return Theorem11Terms(lead / math.sqrt(n), factor * lead * shrink, third)


def theorem11_bound(
    *,
    n_components: int,
    n_samples: int,
    eta: float,
    failure: float,
    norm: float = 1.0,
    version: Theorem11Version = "printed",
) -> float:
    """Theorem 11's bound on ``||f - f_sharp||`` in ``L^2(mu)``: the sum of its three terms.

    Examples
    --------
    >>> round(theorem11_bound(n_components=5000, n_samples=1000, eta=0.375, failure=0.05), 1)
    27.5
    """
    terms = theorem11_terms(
        n_components=n_components, n_samples=n_samples, eta=eta, failure=failure, version=version
    )
    return check_nonnegative("norm", norm) * sum(terms)


def theorem11_condition(*, n_samples: int, eta: float, failure: float) -> bool:
    """Whether ``m log(1/failure) >= 7 (1 + 2 eta)^2``: then "recovered" is at most "printed".

    Notes
    -----
    failure < 1/8 gives L >= log 16 and ``1 + 4 L + sqrt(2 L) <= 5.21 L``. The third terms compare
    as ``5.21 ((1 + 2 eta)/m + sqrt(l/(2m))) <= sqrt(32 l/m)``, that is
    ``5.21 (1 + 2 eta) <= 1.972 sqrt(m l)``, which ``m l >= 7 (1 + 2 eta)^2`` implies.

    Examples
    --------
    >>> theorem11_condition(n_samples=14, eta=0.49, failure=0.12)
    True
    """
    m = check_integer("n_samples", n_samples, minimum=1)
    log = -math.log(check_interval("failure", failure, 0.0, 0.125))
    return bool(m * log >= 7.0 * (1.0 + 2.0 * check_interval("eta", eta, 0.0, 0.5)) ** 2)


def theorem11_largest_failing_m(*, eta: float, n_samples: int = 40, points: int = 200) -> int:
    """Largest m for which the recovered bound exceeds the printed one somewhere on a grid.

    Notes
    -----
    Only the third terms are compared: the other two of the recovered bound never exceed the
    printed ones (``sqrt(m l) >= sqrt(log 8)`` suffices) and vanish as N grows.

    Examples
    --------
    >>> [theorem11_largest_failing_m(eta=eta) for eta in (0.01, 0.2, 0.375, 0.499)]
    [3, 6, 10, 13]
    """
    check_interval("eta", eta, 0.0, 0.5)
    top = check_integer("n_samples", n_samples, minimum=1)
    size = check_integer("points", points, minimum=2)
    failures = np.geomspace(1e-16, 0.125 * (1.0 - 1e-12), size).tolist()

    def third(m: int, failure: float, version: Theorem11Version) -> float:
        return theorem11_terms(
            n_components=m, n_samples=m, eta=eta, failure=failure, version=version
        ).coefficients

    failing = (
        m
        for m in range(top, 0, -1)
        if any(third(m, f, "recovered") > third(m, f, "printed") for f in failures)
    )
    return next(failing, 0)


def theorem12_bound(
    *,
    n_components: int,
    n_samples: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    version: NoiseVersion = "printed",
) -> float:
    """Theorem 12's bound on the distance of private and non-private model in ``L^2(mu)``.

    Examples
    --------
    >>> round(theorem12_bound(n_components=4000, n_samples=1000, epsilon=1.0, delta=1e-5,
    ...                       eta=0.375, failure=0.05), 1)
    197.4
    """
    n, m, eta = _sizes(n_components, n_samples, eta)
    log = -math.log(check_interval("failure", failure, 0.0, 0.2))
    noise = noise_norm_bound(
        n_components=n, epsilon=epsilon, delta=delta, eta=eta, failure=failure, version=version
    )
    factor = math.sqrt((1.0 + 2.0 * eta) / m) + math.sqrt(math.sqrt(2.0 * log / m))
    return math.sqrt(n) * factor * math.sqrt(noise)


def theorem10_bound(
    *,
    n_components: int,
    n_samples: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    norm: float = 1.0,
    version: Literal["printed", "corrected"] = "printed",
) -> float:
    """Theorem 10's bound on ``||f - f_hat||`` in ``L^2(mu)``: Theorem 11 plus Theorem 12.

    Examples
    --------
    >>> round(theorem10_bound(n_components=4000, n_samples=1000, epsilon=1.0, delta=1e-5,
    ...                       eta=0.375, failure=0.05), 1)
    155.5
    """
    check_choice("version", version, ("printed", "corrected"))
    check_interval("failure", failure, 0.0, 1.0 / 9.0)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    printed = version == "printed"
    model = theorem11_bound(
        n_components=n_components, n_samples=n_samples, eta=eta, failure=failure, norm=norm,
        version="printed" if printed else "recovered",
    )  # fmt: skip
    noise = theorem12_bound(
        n_components=n_components, n_samples=n_samples, epsilon=epsilon, delta=delta, eta=eta,
        failure=failure, version="printed" if printed else "laurent_massart",
    )  # fmt: skip
    misprint = math.sqrt((1.0 - 2.0 * eta) / (1.0 - eta)) if printed else 1.0
    return model + misprint * noise
