r"""Where each part of a Fourier sketch's noise-to-signal ratio matters, and what sampling costs.

All for Laplace noise and public n. The paper writes these as orders of magnitude; here constants
are kept, because a factor 8 decides how many records are enough.
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
    check_positive,
    check_probability,
)
from dplit.sketching.amplification import base_epsilon
from dplit.sketching.noise_to_signal import noise_to_signal

__all__ = [
    "Contributions",
    "contributions",
    "data_sampling_ratio",
    "fourier_noise_nsr",
    "needed_samples",
    "subsampling_curve",
]

Array = NDArray[np.float64]


class Contributions(NamedTuple):
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
    r"""Part of the ratio that Laplace noise adds to Fourier features, with record sampling.

    Parameters
    ----------
    epsilon : float
        Budget of the whole under "add_remove", positive.
    n_samples : float
        Number n of records, public.
    n_components : int
        Number m of features.
    c0 : float
        The constant :math:`m/\|z\|^2`, positive.
    beta : float, default=1.0
        Rate of Poisson sampling of records, in (0, 1].
    as_printed : bool, default=False
        Without the factor 8, as (23) has it.

    Returns
    -------
    float
        :math:`8C_0m^2/(n\beta\varepsilon')^2` with :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/
        \beta)`. The same for all sampling of features with a fixed number of ones.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), (21), (22) and (23).

    Examples
    --------
    >>> from dplit.sketching.nsr_regimes import fourier_noise_nsr
    >>> round(fourier_noise_nsr(epsilon=1.0, n_samples=1e4, n_components=1000, c0=5.0), 12)
    0.4
    """
    inner = base_epsilon(epsilon=check_positive("epsilon", epsilon), sampling_rate=beta)
    n, c0 = check_positive("n_samples", n_samples), check_positive("c0", c0)
    m = check_integer("n_components", n_components)
    return (1.0 if as_printed else 8.0) * c0 * (m / (n * beta * inner)) ** 2


def contributions(
    *, epsilon: float, n_samples: float, n_components: int, c0: float, alpha: float = 1.0
) -> Contributions:
    r"""The three parts of the ratio for Fourier features with Laplace noise, reference z.

    Parameters
    ----------
    epsilon : float
        Budget under "add_remove", positive; n is public.
    n_samples : float
        Number n of records.
    n_components : int
        Number m of features.
    c0 : float
        The constant :math:`m/\|z\|^2\ge1`.
    alpha : float, default=1.0
        Share of features that are kept, in (0, 1].

    Returns
    -------
    Contributions
        :math:`(C_0-1)/n`, :math:`8C_0m^2/(n\varepsilon)^2` (the paper drops the 8) and
        :math:`\frac{C_0}n(\frac1\alpha-1)`. Their sum is the ratio of Lemma 26.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), Section 6.4.

    Examples
    --------
    >>> from dplit.sketching.nsr_regimes import contributions
    >>> setting = dict(epsilon=1.0, n_samples=1e4, n_components=100, c0=5.0)
    >>> [round(v, 6) for v in contributions(**setting, alpha=0.1)]
    [0.0004, 0.004, 0.0045]
    """
    alpha = check_probability("alpha", alpha, one=True)
    if check_positive("c0", c0) < 1:
        raise ValueError(f"c0 must be at least 1, got c0={c0!r}")
    noise = fourier_noise_nsr(
        epsilon=epsilon, n_samples=n_samples, n_components=n_components, c0=c0
    )
    return Contributions((c0 - 1.0) / n_samples, noise, c0 / n_samples * (1.0 / alpha - 1.0))


def needed_samples(
    *, nsr_max: float, epsilon: float, n_components: int, c0: float, alpha: float = 1.0
) -> Contributions:
    r"""Numbers of records at which each part of the ratio falls to a threshold.

    Parameters
    ----------
    nsr_max : float
        Threshold, positive.
    epsilon, n_components, c0, alpha
        As in :func:`contributions`.

    Returns
    -------
    Contributions
        :math:`(C_0-1)/t`, :math:`m\sqrt{8C_0}/(\varepsilon\sqrt t)` and
        :math:`C_0(1/\alpha-1)/t`: conditions (24) to (26) with their constants.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), (24), (25) and (26).

    Examples
    --------
    >>> from dplit.sketching.nsr_regimes import needed_samples
    >>> found = needed_samples(nsr_max=0.01, epsilon=1.0, n_components=100, c0=2.0)
    >>> [round(v, 9) for v in found]
    [100.0, 4000.0, 0.0]
    """
    limit = check_positive("nsr_max", nsr_max)
    one = contributions(
        epsilon=epsilon, n_samples=1.0, n_components=n_components, c0=c0, alpha=alpha
    )
    return Contributions(one.data / limit, math.sqrt(one.noise / limit), one.masks / limit)


def data_sampling_ratio(*, n_samples: int, c0: float) -> float:
    r"""Sampling error of records without replacement, over that of features, reference :math:`z_X`.

    Parameters
    ----------
    n_samples : int
        Number n of records, at least 2.
    c0 : float
        The constant :math:`m/\|z_X\|^2\ge1`.

    Returns
    -------
    float
        :math:`\frac n{n-1}(1-\frac1{C_0})`, at equal work and without noise.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), end of Section 6.3.

    Examples
    --------
    >>> from dplit.sketching.nsr_regimes import data_sampling_ratio
    >>> round(data_sampling_ratio(n_samples=10_000, c0=5.0), 4)
    0.8001
    """
    n = check_integer("n_samples", n_samples, minimum=2)
    if check_positive("c0", c0) < 1:
        raise ValueError(f"c0 must be at least 1, got c0={c0!r}")
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
    r"""Total ratio against the share of work that is done, for one of the two ways to sample.

    Parameters
    ----------
    rates : array_like
        Shares :math:`\alpha\beta` in (0, 1].
    sampled : {"features", "data"}
        Features with a fixed number of ones, or records with Poisson sampling.
    epsilon, n_samples, n_components, c0
        As in :func:`contributions`.

    Returns
    -------
    ndarray of the shape of ``rates``
        Lemma 26 with the exact noise of (22), Fourier features, reference z, public n.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), Figure 7.

    Examples
    --------
    >>> from dplit.sketching.nsr_regimes import subsampling_curve
    >>> setting = dict(epsilon=1.0, n_samples=10_000, n_components=1000, c0=5.0)
    >>> [float(subsampling_curve([0.1], sampled=s, **setting)[0].round(3))
    ...  for s in ("features", "data")]
    [0.405, 4.76]
    """
    check_choice("sampled", sampled, ("features", "data"))
    shares: Any = check_finite_array("rates", np.atleast_1d(np.asarray(rates)))
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
