"""How large the noise of a release is: Lemma 13, the Gamma remark, and the exact excess error.

Throughout ``epsilon``, ``delta`` and ``eta`` are those of Algorithm 1, ``failure`` is the
probability with which a bound may fail, and the noise variance per real coefficient is
``sigma^2 = 8 ln(1.25/delta) / (N epsilon^2 (1 - 2 eta))``.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
)
from dplit.random_features.release import printed_sigma

__all__ = [
    "GammaVersion",
    "NoiseVersion",
    "frequency_moments",
    "gamma_norm_bound",
    "noise_norm_bound",
    "private_excess_bound",
    "private_excess_exact",
]

NoiseVersion = Literal["printed", "corrected", "laurent_massart", "exact"]
GammaVersion = Literal["printed", "corrected", "exact"]


def noise_norm_bound(
    *,
    n_components: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    version: NoiseVersion = "laurent_massart",
) -> float:
    """Bound on ``||z||^2`` for the noise of Algorithm 1, claimed with probability 1 - failure.

    Parameters
    ----------
    n_components : int
        Number N of real noise coordinates.
    epsilon, delta, eta : float
        As in Algorithm 1: positive, in (0, 1), in (0, 1/2).
    failure : float
        In (0, 1).
    version : {"printed", "corrected", "laurent_massart", "exact"}
        "printed" is Lemma 13, **false** for every N. "corrected" is what its sub-exponential proof
        gives, "laurent_massart" a sharper bound, "exact" the quantile itself.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    ``E||z||^2 = N sigma^2 = 8 ln(1.25/delta)/((1 - 2 eta) epsilon^2)``; the printed leading
    constant is 2. With sub-exponential parameters ``nu = 2 sigma^2 sqrt N`` and ``4 sigma^2`` and
    l = log(1/failure) the deviation is ``nu sqrt(2 l)`` for ``N >= 8 l`` and ``8 sigma^2 l`` below;
    the printed one halves its constant, drops ln(1.25/delta) and has epsilon for epsilon^2.
    Laurent and Massart: ``sigma^2 (N + 2 sqrt(N l) + 2 l)``.

    References
    ----------
    Liao, Needell, Schaeffer and Xue, Differentially private random feature model, manuscript of
    September 9, 2025, Lemma 13. Laurent and Massart (2000), Annals of Statistics 28(5), Lemma 1.

    Examples
    --------
    >>> setting = dict(n_components=1000, epsilon=1.0, delta=1e-5, eta=0.375, failure=0.05)
    >>> round(noise_norm_bound(**setting, version="printed"), 1)
    96.4
    >>> round(noise_norm_bound(**setting), 1)
    418.9
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
    version: GammaVersion = "exact",
) -> float:
    """Bound on ``||z||`` for noise of density ``exp(-xi ||z||)``, with probability 1 - failure/2.

    Parameters
    ----------
    n_components : int
        Number N of coordinates.
    epsilon : float
        Budget (pure), positive; ``xi = epsilon / Delta`` with ``Delta = 2/sqrt(N (1 - 2 eta))``.
    eta : float
        In (0, 1/2).
    failure : float
        In (0, 1).
    version : {"printed", "corrected", "exact"}
        "printed" has sqrt 2 where Chebyshev's inequality gives 2 ("corrected"), and is **false**
        for large N; "exact" is the quantile of the Gamma law.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    ``||z||`` is Gamma(N) with scale ``1/xi``: mean ``N Delta/epsilon = 2 sqrt N / (sqrt(1 - 2 eta)
    epsilon)``, standard deviation ``2 / (sqrt(1 - 2 eta) epsilon)``; Chebyshev with
    ``sqrt(2/failure)`` standard deviations. Like ``||z||`` of the Gaussian mechanism it scales as
    1/epsilon.

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), remark after Lemma 13.

    Examples
    --------
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


def private_excess_exact(
    *,
    n_components: int,
    epsilon: float,
    delta: float,
    eta: float,
    row_norm_squared: float | None = None,
) -> float:
    """Expected squared distance of the private and the non-private model in ``L^2(mu)``.

    Parameters
    ----------
    n_components : int
        Number N of features.
    epsilon, delta, eta : float
        As in Algorithm 1.
    row_norm_squared : float, optional
        Mean of ``||phi(x)||^2`` under the law mu of the inputs; None is N, the paper's
        unnormalised features. The published code has about 1.

    Returns
    -------
    float
        ``sigma^2 * row_norm_squared``; for the paper's features
        ``8 ln(1.25/delta)/((1 - 2 eta) epsilon^2)`` for every N, every m, every law.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The difference of the models is ``z^T phi(x)``, whose mean square over z is
    ``sigma^2 ||phi(x)||^2``. More features do not help; Theorem 12's bound grows like sqrt(N).

    References
    ----------
    Liao, Needell, Schaeffer and Xue (2025), Theorem 12.

    Examples
    --------
    >>> round(private_excess_exact(n_components=2000, epsilon=1.0, delta=1e-5, eta=0.375), 2)
    375.55
    """
    variance = printed_sigma(n_components=n_components, epsilon=epsilon, delta=delta, eta=eta) ** 2
    if row_norm_squared is None:
        return variance * n_components
    return variance * check_positive("row_norm_squared", row_norm_squared)


def frequency_moments(
    frequencies: ArrayLike, *, input_variance: float = 1.0
) -> NDArray[np.float64]:
    """Matrix ``M`` with ``||sum_k z_k e^{i<w_k, .>}||^2 = z^T M z`` for Gaussian inputs.

    Parameters
    ----------
    frequencies : array_like of shape (d, N)
        One frequency per column.
    input_variance : float, default=1.0
        The inputs are N(0, input_variance * I); positive.

    Returns
    -------
    ndarray of shape (N, N)
        ``exp(-input_variance ||w_k - w_l||^2 / 2)``, with ones on the diagonal.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> frequency_moments([[0.0, 1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    w = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    squares = np.sum(w**2, axis=0)
    distance2 = np.maximum(squares[:, None] + squares[None, :] - 2.0 * w.T @ w, 0.0)
    np.fill_diagonal(distance2, 0.0)
    return np.asarray(np.exp(-check_positive("input_variance", input_variance) * distance2 / 2.0))


def private_excess_bound(moments: ArrayLike, *, sigma: float, failure: float) -> float:
    """Bound on ``z^T M z`` with probability 1 - failure, by the weighted chi-square tail.

    Parameters
    ----------
    moments : array_like of shape (N, N)
        Positive semidefinite M, for example of :func:`frequency_moments`.
    sigma : float
        Standard deviation of the coordinates of z, positive.
    failure : float
        In (0, 1).

    Returns
    -------
    float
        ``sigma^2 (tr M + 2 ||M||_F sqrt l + 2 ||M|| l)`` with l = log(1/failure): what should stand
        in the place of Theorem 12.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Laurent and Massart (2000), Annals of Statistics 28(5), Lemma 1.

    Examples
    --------
    >>> round(private_excess_bound(np.eye(100), sigma=1.0, failure=0.05), 2)
    140.61
    """
    M = check_finite_array("moments", moments, ndim=2)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {M.shape}")
    log = -math.log(check_probability("failure", failure))
    spread = float(np.linalg.norm(M)) * math.sqrt(log)
    largest = float(np.linalg.eigvalsh(M)[-1])
    trace = float(np.trace(M))
    return check_positive("sigma", sigma) ** 2 * (trace + 2.0 * spread + 2.0 * largest * log)
