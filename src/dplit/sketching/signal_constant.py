r"""The constant :math:`C_0=m/\|z\|^2` of Fourier sketches of Gaussian mixtures, exactly.

With frequencies :math:`N(0,\tau^2I)` the mean of :math:`|\psi(\omega)|^2`, for the characteristic
function of a mixture, is a double sum over its components. No sketch is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_positive
from dplit.sketching.mixtures import MixtureLaw
from dplit.trials import Estimate, Trial, mean_and_se, run_trials

__all__ = ["mixture_constant", "separated_constant", "sketched_constants", "typical_constant"]

Array = NDArray[np.float64]


def mixture_constant(
    centers: ArrayLike,
    *,
    cluster_std: float,
    frequency_std: float,
    weights: ArrayLike | None = None,
) -> float:
    r"""Exact constant of a mixture of Gaussians of equal spread, for many frequencies.

    Parameters
    ----------
    centers : array_like of shape (k, d)
        Centres of the clusters.
    cluster_std : float
        Standard deviation s of every coordinate within a cluster, nonnegative.
    frequency_std : float
        Standard deviation :math:`\tau` of every coordinate of a frequency, positive.
    weights : array_like of shape (k,), optional
        Positive weights with sum 1; equal by default.

    Returns
    -------
    float
        :math:`1/E|\psi(\omega)|^2`, at least 1: the limit of :math:`m/\|z\|^2` as m grows.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape or range.

    Notes
    -----
    With :math:`q=1+2\tau^2s^2`, :math:`E|\psi|^2=q^{-d/2}\sum_{ij}w_iw_j
    e^{-\tau^2\|c_i-c_j\|^2/(2q)}`: a Gaussian integral for every pair.

    References
    ----------
    Chatalic et al. (2022), Section 6.4.

    Examples
    --------
    >>> from dplit.sketching.signal_constant import mixture_constant
    >>> round(mixture_constant([[0.0], [100.0]], cluster_std=0.0, frequency_std=1.0), 9)
    2.0
    """
    where = check_finite_array("centers", centers, ndim=2).astype(float)
    k, d = where.shape
    shares = np.full(k, 1.0 / k) if weights is None else check_finite_array("weights", weights)
    if shares.shape != (k,) or np.any(shares <= 0) or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights must be {k} positive numbers with sum 1, got {weights!r}")
    spread = check_nonnegative("cluster_std", cluster_std)
    rate = check_positive("frequency_std", frequency_std) ** 2
    q = 1.0 + 2.0 * rate * spread**2
    kernel = np.exp(-rate * cdist(where, where, "sqeuclidean") / (2.0 * q))
    return float(q ** (d / 2.0) / (shares @ kernel @ shares))


def separated_constant(
    n_clusters: int, n_features: int, *, cluster_std: float, frequency_std: float
) -> float:
    r"""Constant of equal clusters that are far apart: the largest that k clusters can have.

    Parameters
    ----------
    n_clusters, n_features : int
        Numbers k of clusters and d of features.
    cluster_std, frequency_std : float
        As in :func:`mixture_constant`.

    Returns
    -------
    float
        :math:`k(1+2\tau^2s^2)^{d/2}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from dplit.sketching.signal_constant import separated_constant
    >>> separated_constant(4, 2, cluster_std=1.0, frequency_std=0.5)
    6.0
    """
    k, d = check_integer("n_clusters", n_clusters), check_integer("n_features", n_features)
    spread = check_nonnegative("cluster_std", cluster_std)
    rate = check_positive("frequency_std", frequency_std)
    return float(k * (1.0 + 2.0 * (rate * spread) ** 2) ** (d / 2.0))


def typical_constant(law: MixtureLaw) -> float:
    """Constant of a random mixture, with the energy averaged over its centres.

    Parameters
    ----------
    law : MixtureLaw

    Returns
    -------
    float
        Inverse of the mean of ``1 / mixture_constant`` over the law of the centres.

    Notes
    -----
    The mean of the kernel over two independent centres is a Gaussian integral once more.

    Examples
    --------
    >>> from dplit.sketching.mixtures import MixtureLaw
    >>> from dplit.sketching.signal_constant import typical_constant
    >>> round(typical_constant(MixtureLaw(10, 10, separation=1.5, frequency_variance=0.1)), 2)
    7.56
    """
    k, d, rate = law.n_clusters, law.n_features, law.frequency_variance
    q = 1.0 + 2.0 * rate
    pair = (1.0 + 2.0 * rate * law.center_variance / q) ** (-d / 2.0)
    return float(q ** (d / 2.0) / (1.0 / k + (1.0 - 1.0 / k) * pair))


def sketched_constants(
    law: MixtureLaw, *, n_components: int, n_draws: int, seed: int, name: str
) -> Estimate:
    """Inverse mean energy of sketches of random mixtures, by simulation.

    Parameters
    ----------
    law : MixtureLaw
    n_components : int
        Number m of frequencies of each sketch.
    n_draws : int
        Number of mixtures, each with frequencies of its own.
    seed : int
        Seed of the run.
    name : str
        Name of the claim, which selects the streams.

    Returns
    -------
    Estimate
        Mean and standard error of :math:`\\|z\\|^2/m`, the inverse of the constant.

    Examples
    --------
    >>> from dplit.sketching.mixtures import MixtureLaw
    >>> from dplit.sketching.signal_constant import sketched_constants
    >>> law = MixtureLaw(1, 2, separation=1.0, frequency_variance=0.5)
    >>> found = sketched_constants(law, n_components=500, n_draws=20, seed=0, name="example")
    >>> bool(abs(found.mean - 0.5) < 0.05)
    True
    """

    def energy(trial: Trial) -> float:
        frequencies = law.frequencies(n_components, rng=trial.stream("public"))
        _, centers = law.draw(1, rng=trial.stream("data"))
        return float(np.mean(np.abs(law.population_sketch(frequencies, centers)) ** 2))

    return mean_and_se(run_trials(energy, n_draws, seed=seed, name=name))
