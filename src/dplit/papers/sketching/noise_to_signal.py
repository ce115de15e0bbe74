"""Noise-to-signal ratios.

The mean squared error of the released mean over the squared norm of a reference. Of a mask's law
only the rate matters.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)

_Reference = Literal["law", "data"]

_Sampling = Literal["poisson", "without_replacement"]


def noise_to_signal(
    *,
    n_samples: int,
    n_components: int,
    feature_energy: float,
    signal_energy: float,
    noise_variance: float,
    alpha: float = 1.0,
    beta: float = 1.0,
    reference: _Reference = "law",
    sampling: _Sampling = "poisson",
) -> float:
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
