"""Where each part of a Fourier sketch's noise-to-signal ratio matters, and what sampling costs.

All for Laplace noise and public n, with the constants that the paper's orders of magnitude drop: a
factor 8 decides how many records are enough.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_at_least,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.features import gaussian_kernel
from dplit.sketching.subsampling.masks import base_epsilon

# Acceptable numbers of records, sizes and budgets: (29) and the rule of Section 6.6, which wants
# ``m >= 2 k d`` and a ratio of at most ``m / (10^3 k d)``; ``factor=1`` is the printed rule.


#: Least number of frequencies per unknown coordinate.
_LEAST_RATIO = 2

#: Acceptable noise-to-signal ratio: ``m / (_NSR k d)``.
_NSR = 1e3


def laplace_nsr(n_components: int, *, budget: float, signal: float) -> float:
    r"""Noise-to-signal ratio :math:`8C_0m^2/(n\varepsilon)^2` of Laplace noise.

    ``budget`` is the product of n and epsilon, ``signal`` is :math:`C_0=m/\|z\|^2\ge1`. The scale
    of the sum is ``b = sqrt(2) m / epsilon``, a complex coordinate has second moment ``4 b^2``.
    """
    m = check_integer("n_components", n_components)
    ratio = m / check_positive("budget", budget)
    return 8.0 * check_positive("signal", signal) * ratio**2


def required_records(
    n_components: int, n_clusters: int, n_features: int, *, epsilon: float, factor: float = 1.0
) -> float:
    """Records that (29) asks for, ``max(10^3 k d, sqrt(factor 10^3 k d m) / epsilon)``.

    Drastic subsampling of the features is included. ``factor`` multiplies ``m^2 / (n epsilon)^2``:
    1 as printed, ``8 C_0`` exactly.
    """
    m = check_integer("n_components", n_components)
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    noise = np.sqrt(check_positive("factor", factor) * _NSR * size * m)
    return float(max(_NSR * size, noise / check_positive("epsilon", epsilon)))


class _SizeRange(NamedTuple):
    """Smallest and largest acceptable sketch size; empty if ``low > high``."""

    low: float
    high: float


def size_range(
    n_clusters: int, n_features: int, *, budget: float, factor: float = 1.0
) -> _SizeRange:
    """Sizes accepted by Section 6.6: ``2 k d`` to ``(n epsilon)^2 / (factor 10^3 k d)``.

    ``budget`` is the product of n and epsilon; ``factor`` is 1 as printed, ``8 C_0`` exactly.
    """
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    top = check_positive("budget", budget) ** 2 / (check_positive("factor", factor) * _NSR * size)
    return _SizeRange(float(_LEAST_RATIO * size), top)


def least_budget(n_clusters: int, n_features: int, *, factor: float = 1.0) -> float:
    """Least ``n epsilon`` at which Section 6.6 accepts any size: ``sqrt(2 * 10^3 factor) k d``.

    ``factor`` is 1 as printed, ``8 C_0`` exactly.

    >>> round(least_budget(4, 8)), round(least_budget(4, 8, factor=40.0))
    (1431, 9051)
    """
    size = check_integer("n_clusters", n_clusters) * check_integer("n_features", n_features)
    return float(np.sqrt(_LEAST_RATIO * _NSR * check_positive("factor", factor)) * size)


# Noise-to-signal ratios: the mean squared error of the released mean over the squared norm of a
# reference. Of a mask's law only the rate matters.


_Reference = Literal["law", "data"]

_Sampling = Literal["poisson", "without_replacement"]


def noise_to_signal(
    *, n_samples: int, n_components: int, feature_energy: float, signal_energy: float,
    noise_variance: float, alpha: float = 1.0, beta: float = 1.0, reference: _Reference = "law",
    sampling: _Sampling = "poisson",
) -> float:  # fmt: skip
    r"""Noise-to-signal ratio of a private, subsampled sketch with public n: Lemma 26.

    Over the sketch z of the law, or :math:`z_X` of the data (``reference``), of squared norm
    ``signal_energy``; ``feature_energy`` is the mean of :math:`\|\Phi(x)\|^2` over it,
    ``noise_variance`` is :math:`E|\xi_j|^2`, ``alpha`` and ``beta`` are the rates of features and
    of records. The formulas are in the chapter.
    """
    n, m = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    power = check_positive("feature_energy", feature_energy)
    signal = check_positive("signal_energy", signal_energy)
    variance = check_nonnegative("noise_variance", noise_variance)
    alpha = check_probability("alpha", alpha, one=True)
    beta = check_probability("beta", beta, one=True)
    check_choice("reference", reference, ("law", "data"))
    check_choice("sampling", sampling, ("poisson", "without_replacement"))
    added, ratio = m * variance / (n * n * beta * beta * signal), power / signal
    if sampling == "poisson":
        rest = ratio / (alpha * beta) - 1.0
        if reference == "data":
            rest = (1.0 / (alpha * beta) - 1.0) * ratio
        return rest / n + added
    check_integer("n_samples", n_samples, minimum=2)
    if reference == "law":
        return (ratio / alpha - 1.0) / (n * beta) + added
    left_out = (1.0 / beta - 1.0) / (n - 1)
    return (left_out + (1.0 / alpha - 1.0) / (beta * n)) * ratio - left_out + added


def without_replacement_variance(values: ArrayLike, n_kept: int) -> float:
    r"""Variance of the mean of n' = ``n_kept`` entries without replacement, Lemma 30:
    :math:`\frac{\sigma^2}{n'}\frac{n-n'}{n-1}`, :math:`\sigma^2` the mean of
    :math:`|x_i-\mu|^2`.
    """
    entries = check_finite_array("values", values, ndim=1)
    n, kept = len(entries), check_integer("n_kept", n_kept)
    if n < 2 or kept > n:
        raise ValueError(f"n_kept must be at most {n}, and n at least 2, got n_kept={n_kept!r}")
    spread = float(np.mean(np.abs(entries - entries.mean()) ** 2))
    return spread / kept * (n - kept) / (n - 1)


class _Contributions(NamedTuple):
    """Parts of the ratio: finite data, additive noise, masks."""

    data: float
    noise: float
    masks: float


def fourier_noise_nsr(
    *, epsilon: float, n_samples: float, n_components: int, c0: float, beta: float = 1.0,
    as_printed: bool = False,
) -> float:  # fmt: skip
    r"""Part of the ratio that Laplace noise adds, with sampling of records: (21) to (23).

    :math:`8C_0m^2/(n\beta\varepsilon')^2`, :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/\beta)`,
    for public n, whatever the sampling of features; as printed without the 8.
    """
    inner = base_epsilon(epsilon=check_positive("epsilon", epsilon), sampling_rate=beta)
    n = check_positive("n_samples", n_samples)
    nsr = laplace_nsr(n_components, budget=n * beta * inner, signal=check_positive("c0", c0))
    return nsr / 8.0 if as_printed else nsr


def contributions(
    *, epsilon: float, n_samples: float, n_components: int, c0: float, alpha: float = 1.0
) -> _Contributions:
    r"""The three parts of the ratio for Fourier features with Laplace noise: Section 6.4.

    :math:`(C_0-1)/n`, :math:`8C_0m^2/(n\varepsilon)^2` (the paper drops the 8) and
    :math:`\frac{C_0}n(\frac1\alpha-1)`; their sum is the ratio of Lemma 26.
    """
    alpha = check_probability("alpha", alpha, one=True)
    check_at_least("c0", c0, 1.0)
    noise = fourier_noise_nsr(
        epsilon=epsilon, n_samples=n_samples, n_components=n_components, c0=c0
    )
    return _Contributions((c0 - 1.0) / n_samples, noise, c0 / n_samples * (1.0 / alpha - 1.0))


def needed_samples(
    *, nsr_max: float, epsilon: float, n_components: int, c0: float, alpha: float = 1.0
) -> _Contributions:
    r"""Numbers of records at which each part of the ratio falls to ``nsr_max``, t: (24) to (26).

    :math:`(C_0-1)/t`, :math:`m\sqrt{8C_0}/(\varepsilon\sqrt t)` and :math:`C_0(1/\alpha-1)/t`.
    """
    limit = check_positive("nsr_max", nsr_max)
    one = contributions(
        epsilon=epsilon, n_samples=1.0, n_components=n_components, c0=c0, alpha=alpha
    )
    return _Contributions(one.data / limit, math.sqrt(one.noise / limit), one.masks / limit)


def data_sampling_ratio(*, n_samples: int, c0: float) -> float:
    r"""Sampling error of records without replacement over that of features, reference :math:`z_X`.

    :math:`\frac n{n-1}(1-\frac1{C_0})`, at equal work and without noise: end of Section 6.3.

    >>> round(data_sampling_ratio(n_samples=10_000, c0=5.0), 4)
    0.8001
    """
    n = check_integer("n_samples", n_samples, minimum=2)
    check_at_least("c0", c0, 1.0)
    return n / (n - 1) * (1.0 - 1.0 / c0)


def subsampling_curve(
    rates: ArrayLike, *, sampled: Literal["features", "data"], epsilon: float, n_samples: int,
    n_components: int, c0: float,
) -> Array:  # fmt: skip
    r"""Total ratio against the share :math:`\alpha\beta` of work, for one way to sample: Figure 7.

    Lemma 26 with the exact noise of (22); a fixed number of features, or Poisson-sampled records.
    """
    check_choice("sampled", sampled, ("features", "data"))
    shares = check_real_array("rates", np.atleast_1d(np.asarray(rates)))
    values = []
    for share in shares.ravel():
        beta = float(share) if sampled == "data" else 1.0
        noise = fourier_noise_nsr(
            epsilon=epsilon, n_samples=n_samples, n_components=n_components, c0=c0, beta=beta
        )
        rest = noise_to_signal(
            n_samples=n_samples,
            n_components=n_components,
            feature_energy=n_components,
            signal_energy=n_components / c0,
            noise_variance=0.0,
            alpha=float(share) / beta,
            beta=beta,
        )
        values.append(rest + noise)
    return np.array(values).reshape(shares.shape)


# The constant :math:`C_0=m/\|z\|^2` of Fourier sketches of Gaussian mixtures: a double sum over the
# components, since the mean energy over frequencies :math:`N(0,\tau^2I)` is a Gaussian integral.


def mixture_constant(
    centers: ArrayLike, *, cluster_std: float, frequency_std: float,
    weights: ArrayLike | None = None,
) -> float:  # fmt: skip
    r"""Exact constant of a mixture of Gaussians of equal spread s, for many frequencies.

    :math:`1/E|\psi(\omega)|^2\ge1`, the limit of :math:`m/\|z\|^2`: with :math:`q=1+2\tau^2s^2`,
    :math:`E|\psi|^2=q^{-d/2}\sum_{ij}w_iw_je^{-\tau^2\|c_i-c_j\|^2/(2q)}`. Weights are equal by
    default.

    >>> round(mixture_constant([[0.0], [100.0]], cluster_std=0.0, frequency_std=1.0), 9)
    2.0
    """
    where = check_real_array("centers", centers, 2)
    k, d = where.shape
    shares = np.full(k, 1.0 / k) if weights is None else check_real_array("weights", weights)
    if shares.shape != (k,) or np.any(shares <= 0) or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights must be {k} positive numbers with sum 1, got {weights!r}")
    spread = check_nonnegative("cluster_std", cluster_std)
    rate = check_positive("frequency_std", frequency_std) ** 2
    q = 1.0 + 2.0 * rate * spread**2
    kernel = gaussian_kernel(where, gamma=rate / (2.0 * q))
    return float(q ** (d / 2.0) / (shares @ kernel @ shares))


def separated_constant(
    n_clusters: int, n_features: int, *, cluster_std: float, frequency_std: float
) -> float:
    """Constant :math:`kq^{d/2}` of equal clusters far apart, the largest of k clusters."""
    k, d = check_integer("n_clusters", n_clusters), check_integer("n_features", n_features)
    spread = check_nonnegative("cluster_std", cluster_std)
    rate = check_positive("frequency_std", frequency_std)
    return float(k * (1.0 + 2.0 * (rate * spread) ** 2) ** (d / 2.0))
