"""How large the noise of a release is: Lemma 13, the Gamma remark, and the exact excess error."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.papers.random_features.release import printed_sigma

_NoiseVersion = Literal["printed", "corrected", "laurent_massart", "exact"]

_GammaVersion = Literal["printed", "corrected", "exact"]


def noise_norm_bound(
    *,
    n_components: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    version: _NoiseVersion = "laurent_massart",
) -> float:
    """Bound on ``||z||^2`` for the noise of Algorithm 1, with probability 1 - failure.

    "printed" is Lemma 13, **false** for every N; "corrected" what its sub-exponential proof gives
    (``nu sqrt(2 l)`` above the mean for ``N >= 8 l``, ``8 sigma^2 l`` below, l = log(1/failure) and
    ``nu = 2 sigma^2 sqrt N``); "laurent_massart" is ``sigma^2 (N + 2 sqrt(N l) + 2 l)``
    (Laurent and Massart 2000, Lemma 1); "exact" the quantile.

    >>> setting = dict(n_components=1000, epsilon=1.0, delta=1e-5, eta=0.375, failure=0.05)
    >>> [round(noise_norm_bound(**setting, version=v), 1) for v in ("printed", "laurent_massart")]
    [96.4, 418.9]
    """
    check_choice("version", version, ("printed", "corrected", "laurent_massart", "exact"))
    variance = printed_sigma(n_components=n_components, epsilon=epsilon, delta=delta, eta=eta) ** 2
    n, log = n_components, -math.log(check_probability("failure", failure))
    if version == "printed":
        lead = 2.0 * math.log(1.25 / delta) / ((1 - 2 * eta) * epsilon**2)
        return lead + 8.0 * math.sqrt(2.0 * log / n) / ((1 - 2 * eta) * epsilon)
    if version == "corrected":
        return variance * (n + max(2.0 * math.sqrt(2.0 * n * log), 8.0 * log))
    if version == "laurent_massart":
        return variance * (n + 2.0 * math.sqrt(n * log) + 2.0 * log)
    return variance * float(stats.chi2.isf(failure, n))


def gamma_norm_bound(
    *,
    n_components: int,
    epsilon: float,
    eta: float,
    failure: float,
    version: _GammaVersion = "exact",
) -> float:
    """Bound on ``||z||`` for noise of density ``exp(-xi ||z||)``, with probability 1 - failure/2.

    ``xi = epsilon / Delta`` with ``Delta = 2/sqrt(N (1 - 2 eta))`` (remark after Lemma 13).
    "printed" has sqrt 2 where Chebyshev's inequality gives 2 ("corrected"), and is **false** for
    large N; "exact" is the quantile of the radius, which is Gamma(N) with scale 1/xi.

    >>> setting = dict(n_components=1000, epsilon=1.0, eta=0.375, failure=0.05)
    >>> [round(gamma_norm_bound(**setting, version=v), 1) for v in ("printed", "corrected")]
    [107.3, 151.8]
    """
    check_choice("version", version, ("printed", "corrected", "exact"))
    n = check_integer("n_components", n_components, minimum=1)
    probability = check_probability("failure", failure)
    width = check_positive("epsilon", epsilon) * math.sqrt(
        1.0 - 2.0 * check_interval("eta", eta, 0.0, 0.5)
    )
    if version == "exact":
        return float(stats.gamma.isf(probability / 2.0, n)) * 2.0 / (math.sqrt(n) * width)
    constant = math.sqrt(2.0) if version == "printed" else 2.0
    return constant / width * (math.sqrt(n) + math.sqrt(2.0 / probability))


def private_excess_exact(*, n_components: int, epsilon: float, delta: float, eta: float) -> float:
    """Expected squared distance of the private and the non-private model in ``L^2(mu)``.

    ``sigma^2 E||phi(x)||^2`` with the mean squared row norm N of the paper's features, which gives
    ``8 ln(1.25/delta)/((1 - 2 eta) epsilon^2)`` for every N, m and law mu, where Theorem 12's bound
    grows like sqrt(N). (Rows of the published code have norms of about 1.)

    >>> round(private_excess_exact(n_components=2000, epsilon=1.0, delta=1e-5, eta=0.375), 2)
    375.55
    """
    sigma = printed_sigma(n_components=n_components, epsilon=epsilon, delta=delta, eta=eta)
    return sigma**2 * n_components


def frequency_moments(frequencies: ArrayLike) -> Array:
    """Matrix ``M`` with ``||sum_k z_k e^{i<w_k, .>}||^2 = z^T M z`` for inputs N(0, I).

    ``exp(-||w_k - w_l||^2 / 2)`` (N, N) for frequencies (d, N), one per column.
    """
    w = check_real_array("frequencies", frequencies, 2)
    squares = np.sum(w**2, axis=0)
    distance2 = np.maximum(squares[:, None] + squares[None, :] - 2.0 * w.T @ w, 0.0)
    np.fill_diagonal(distance2, 0.0)
    return np.asarray(np.exp(-distance2 / 2.0))


def private_excess_bound(moments: ArrayLike, *, sigma: float, failure: float) -> float:
    """Bound on ``z^T M z`` with probability 1 - failure: what should stand for Theorem 12.

    ``sigma^2 (tr M + 2 ||M||_F sqrt l + 2 ||M|| l)`` with l = log(1/failure), by the weighted
    chi-square tail of Laurent and Massart (2000, Lemma 1); M (N, N) positive semidefinite, for
    example of :func:`frequency_moments`.
    """
    M = check_real_array("moments", moments, 2)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {M.shape}")
    log = -math.log(check_probability("failure", failure))
    spread = float(np.linalg.norm(M)) * math.sqrt(log)
    largest = float(np.linalg.eigvalsh(M)[-1])
    trace = float(np.trace(M))
    return check_positive("sigma", sigma) ** 2 * (trace + 2.0 * spread + 2.0 * largest * log)
