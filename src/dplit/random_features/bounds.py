"""Theorems 10 to 12 with Lemmas 14 to 16: printed bounds, the steps behind them, what is proved.

Throughout ``norm`` is ``||f||_rho``, L = log(2/failure), N = ``n_components``, m = ``n_samples``,
eta in (0, 1/2), and epsilon and delta are Algorithm 1's.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.features import gaussian_kernel
from dplit.random_features.interpolation import _label_vector
from dplit.random_features.release import _NoiseVersion, noise_norm_bound


class _KernelSum(NamedTuple):
    """Values of a finite kernel sum, and its norm."""

    values: Array
    norm: float


def _centers(centers: ArrayLike, weights: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    points = check_real_array("centers", centers, 2)
    amounts = check_real_array("weights", weights, 1)
    if len(amounts) != len(points):
        raise ValueError(f"weights must have {len(points)} entries, got {len(amounts)}")
    return points, amounts


def rkhs_function(
    X: ArrayLike, *, centers: ArrayLike, weights: ArrayLike, gamma: float
) -> _KernelSum:
    """Values (n,) of ``f = sum_i a_i k(., x_i)`` at X (n, d), and ``||f||_rho = sqrt(a^T K a)``.

    ``k(x, x') = exp(-gamma ||x - x'||^2)``, so gamma is sigma_omega^2 / 2; centers x_i are (k, d).
    ``|f| <= ||f||_rho``; equation (6), with ``|alpha|^2`` for the printed ``alpha^2``.
    """
    points = check_real_array("X", X, 2)
    where, a = _centers(centers, weights)
    if points.shape[1] != where.shape[1]:
        raise ValueError(f"X must have {where.shape[1]} columns, got X of shape {points.shape}")
    squared_norm = float(a @ gaussian_kernel(where, gamma=gamma) @ a)
    values = np.asarray(gaussian_kernel(points, where, gamma=gamma) @ a)
    return _KernelSum(values, math.sqrt(max(squared_norm, 0.0)))


def rkhs_multiplier(
    frequencies: ArrayLike, *, centers: ArrayLike, weights: ArrayLike
) -> NDArray[np.complex128]:
    """Multiplier ``alpha(w) = sum_i a_i e^{-i<w, x_i>}`` of a kernel sum, for frequencies (d, N).

    ``f(x) = E[alpha(w) e^{i<w, x>}]`` and ``||f||_rho^2 = E|alpha(w)|^2``.
    """
    w = check_real_array("frequencies", frequencies, 2)
    where, a = _centers(centers, weights)
    if w.shape[0] != where.shape[1]:
        raise ValueError(f"frequencies must have {where.shape[1]} rows, got shape {w.shape}")
    return np.asarray(a @ np.exp(-1j * (where @ w)))


def best_approximation(multiplier: ArrayLike, *, threshold: float) -> NDArray[Any]:
    """Coefficients ``alpha(w_k) 1{|alpha(w_k)| <= T} / N`` of f*, equation (8)."""
    values = check_finite_array("multiplier", multiplier, ndim=1)
    values = _label_vector(values, len(values))  # in double precision
    kept = np.abs(values) <= check_positive("threshold", threshold)
    return np.asarray(np.where(kept, values, 0.0) / len(values))


def truncation_threshold(
    *, n_components: int, norm: float, version: Literal["printed", "corrected"] = "corrected"
) -> float:
    """Threshold T of Lemmas 14 to 16: ``sqrt N norm``, printed as ``sqrt N norm^2``.

    With the printed one Lemma 14 fails for ``norm < 1``, Lemmas 15 and 16 for ``norm > 1``; a
    misprint, since Theorem 11 uses the other.
    """
    check_choice("version", version, ("printed", "corrected"))
    root = math.sqrt(check_integer("n_components", n_components, minimum=1))
    size = check_positive("norm", norm)
    return root * (size**2 if version == "printed" else size)


def truncation_bias_bound(*, norm: float, threshold: float) -> float:
    """Bound ``norm^4 / T^2`` on ``|f(x) - E f*(x)|^2``: Lemma 14, equation (10).

    Sharp: a multiplier that is 0 or just above T attains it as it tends to T.
    """
    return (check_nonnegative("norm", norm) ** 2 / check_positive("threshold", threshold)) ** 2


def bernstein_bound(*, n_components: int, norm: float, threshold: float, failure: float) -> float:
    """Bound on ``|f*(x) - E f*(x)|^2`` with probability 1 - failure: Lemma 15, equation (12).

    ``32 T^2 L^2 / N^2 + 4 norm^2 L / N``. It holds for each x, and for the norms of ``L^2(mu)`` and
    of the training points, which is what (15) and (16) need.
    """
    n = check_integer("n_components", n_components, minimum=1)
    L = math.log(2.0 / check_probability("failure", failure))
    deviation = check_positive("threshold", threshold) * L / n
    return 32.0 * deviation**2 + 4.0 * check_nonnegative("norm", norm) ** 2 * L / n


def coefficient_norm_bound(
    *, n_components: int, norm: float, failure: float, threshold: float | None = None
) -> float:
    """Bound on ``||c*||^2`` with probability 1 - failure: Lemma 16.

    The first display, ``(norm^2 + 4 T^2 L / N + T norm sqrt(2 L / N)) / N``; without a threshold
    the second, ``12 L norm^2 / N``, which belongs to ``T = sqrt N norm`` (where 7.14 would do for
    12).
    """
    n = check_integer("n_components", n_components, minimum=1)
    size = check_nonnegative("norm", norm)
    L = math.log(2.0 / check_probability("failure", failure))
    if threshold is None:
        return 12.0 * L * size**2 / n
    T = check_positive("threshold", threshold)
    return (size**2 + 4.0 * T**2 * L / n + T * size * math.sqrt(2.0 * L / n)) / n


_Theorem11Version = Literal["printed", "line2", "displayed_step", "recovered"]


class _Theorem11Terms(NamedTuple):
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
    *, n_components: int, n_samples: int, eta: float, failure: float,
    version: _Theorem11Version = "printed",
) -> _Theorem11Terms:  # fmt: skip
    """The three terms of Theorem 11's bound on ``||f - f_sharp||``, at each step of its proof.

    "printed" is the theorem (failure < 1/8, N >= m), "line2" line 2 of (17), "displayed_step" what
    line 2 gives by the displayed step: a third term four times the printed one. "recovered" is
    proved, with McDiarmid's actual range and no rounding of constants, and is at most "printed"
    under :func:`theorem11_condition`.

    >>> setting = dict(n_components=10**6, n_samples=1000, eta=0.375, failure=0.05)
    >>> [round(sum(theorem11_terms(**setting, version=v)[1:]), 3) for v in ("printed", "line2")]
    [2.886, 3.08]
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
    return _Theorem11Terms(lead / math.sqrt(n), factor * lead * shrink, third)


def theorem11_bound(
    *, n_components: int, n_samples: int, eta: float, failure: float, norm: float = 1.0,
    version: _Theorem11Version = "printed",
) -> float:  # fmt: skip
    """Theorem 11's bound on ``||f - f_sharp||`` in ``L^2(mu)``: the sum of its three terms.

    Since ``|f| <= ||f||_rho``, a bound above ``norm`` is vacuous.

    >>> round(theorem11_bound(n_components=5000, n_samples=1000, eta=0.375, failure=0.05), 1)
    27.5
    """
    terms = theorem11_terms(
        n_components=n_components, n_samples=n_samples, eta=eta, failure=failure, version=version
    )
    return check_nonnegative("norm", norm) * sum(terms)


def theorem11_condition(*, n_samples: int, eta: float, failure: float) -> bool:
    """Whether ``m log(1/failure) >= 7 (1 + 2 eta)^2``: then "recovered" is at most "printed".

    It holds for all m >= 14, since failure < 1/8.
    """
    m = check_integer("n_samples", n_samples, minimum=1)
    log = -math.log(check_interval("failure", failure, 0.0, 0.125))
    return bool(m * log >= 7.0 * (1.0 + 2.0 * check_interval("eta", eta, 0.0, 0.5)) ** 2)


def theorem11_largest_failing_m(*, eta: float) -> int:
    """Largest m up to 40 for which "recovered" exceeds "printed" on a grid; 0 if none.

    The grid has 200 failures from 1e-16 to 1/8. Only the third terms are compared: the others never
    exceed the printed ones and vanish as N grows.

    >>> [theorem11_largest_failing_m(eta=eta) for eta in (0.01, 0.2, 0.375, 0.499)]
    [3, 6, 10, 13]
    """
    check_interval("eta", eta, 0.0, 0.5)
    failures = np.geomspace(1e-16, 0.125 * (1.0 - 1e-12), 200).tolist()

    def fails(m: int, failure: float) -> bool:
        sizes: dict[str, Any] = {"n_components": m, "n_samples": m, "eta": eta, "failure": failure}
        printed = theorem11_terms(**sizes, version="printed").coefficients
        return theorem11_terms(**sizes, version="recovered").coefficients > printed

    return next((m for m in range(40, 0, -1) if any(fails(m, f) for f in failures)), 0)


def theorem12_bound(
    *, n_components: int, n_samples: int, epsilon: float, delta: float, eta: float, failure: float,
    version: _NoiseVersion = "printed",
) -> float:  # fmt: skip
    """Theorem 12's bound on the distance of private and non-private model in ``L^2(mu)``.

    Not squared; failure < 1/5. ``version`` says which bound on ``||z||^2`` takes the place of Lemma
    13. It grows like sqrt(N), the truth
    (:func:`~dplit.random_features.release.private_excess_exact`) is constant.

    >>> options = dict(n_components=4000, n_samples=1000, epsilon=1.0, delta=1e-5, eta=0.375)
    >>> round(theorem12_bound(**options, failure=0.05), 1)
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
    *, n_components: int, n_samples: int, epsilon: float, delta: float, eta: float, failure: float,
    norm: float = 1.0, version: Literal["printed", "corrected"] = "printed",
) -> float:  # fmt: skip
    """Theorem 10's bound on ``||f - f_hat||`` in ``L^2(mu)``, failure < 1/9.

    "printed" has ``1 - eta`` where Theorem 12 has ``1 - 2 eta``, so it is less than the sum of the
    two theorems. "corrected" is the sum of the recovered Theorem 11 and a valid Theorem 12.

    >>> options = dict(n_components=4000, n_samples=1000, epsilon=1.0, delta=1e-5, eta=0.375)
    >>> round(theorem10_bound(**options, failure=0.05), 1)
    155.5
    """
    check_choice("version", version, ("printed", "corrected"))
    check_interval("failure", failure, 0.0, 1.0 / 9.0)
    printed = version == "printed"
    sizes: dict[str, Any] = {"n_components": n_components, "n_samples": n_samples}
    sizes |= {"eta": eta, "failure": failure}
    model = theorem11_bound(**sizes, norm=norm, version="printed" if printed else "recovered")
    noise = theorem12_bound(
        **sizes, epsilon=epsilon, delta=delta, version="printed" if printed else "laurent_massart"
    )
    misprint = math.sqrt((1.0 - 2.0 * eta) / (1.0 - eta)) if printed else 1.0
    return model + misprint * noise
