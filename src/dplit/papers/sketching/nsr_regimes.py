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
    check_integer,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.papers.sketching.amplification import base_epsilon
from dplit.papers.sketching.noise_to_signal import noise_to_signal
from dplit.papers.sketching.size_rule import laplace_nsr


class _Contributions(NamedTuple):
    """Parts of the ratio: finite data, additive noise, masks."""

    data: float
    noise: float
    masks: float


def fourier_noise_nsr(
    *,
    epsilon: float,
    n_samples: float,
    n_components: int,
    c0: float,
    beta: float = 1.0,
    as_printed: bool = False,
) -> float:
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
    rates: ArrayLike,
    *,
    sampled: Literal["features", "data"],
    epsilon: float,
    n_samples: int,
    n_components: int,
    c0: float,
) -> Array:
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
