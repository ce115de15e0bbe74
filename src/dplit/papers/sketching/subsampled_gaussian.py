r"""Exact privacy of Gaussian noise on subsampled Fourier features.

Features of modulus 1 can be rotated to 1 in isotropic noise: the privacy loss is the same for every
record, that of :math:`E_hN(h/\alpha,\sigma^2I)` against :math:`N(0,\sigma^2I)`; further records
only mix such pairs, which cannot raise delta. For independent entries of the mask this is the
m-fold composition of a Poisson-subsampled Gaussian with noise multiplier :math:`\alpha\sigma`.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from dplit._checks import (
    check_choice,
    check_neighboring,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.accounting import composed_delta, sampled_gaussian_delta, sampled_gaussian_sigma
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.papers.sketching.amplification import base_epsilon
from dplit.papers.sketching.masks import _MaskLaw

_Direction = Literal["both", "remove", "add"]


def fourier_q2(law: _MaskLaw, *, neighboring: str = "add_remove") -> float:
    r"""Largest l2 distance, over masks, that one record moves the subsampled Fourier sum: Lemma 24.

    :math:`m/\sqrt r` for r ones, :math:`\sqrt m/\alpha` where all can occur; a replacement twice
    that.
    """
    check_neighboring(neighboring)
    most = law.n_components if law.n_kept is None else law.n_kept
    return math.sqrt(most) / law.alpha * (1.0 if neighboring == "add_remove" else 2.0)


def lemma23_sigma(
    law: _MaskLaw, *, epsilon: float, delta: float, neighboring: str = "add_remove"
) -> float:
    """Sigma of Lemmas 23 and 24: the worst mask is taken as if it were always drawn."""
    moved = fourier_q2(law, neighboring=neighboring)
    return gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved)


def _data_delta(epsilon: float, sigma: float, law: _MaskLaw, direction: _Direction) -> float:
    """Closed form for all or nothing: a hockey-stick of a mixture is one of its part."""
    distance, rate = math.sqrt(law.n_components) / law.alpha, law.alpha
    inner = base_epsilon(epsilon=epsilon, sampling_rate=rate)
    remove = rate * gaussian_delta(epsilon=inner, sigma=sigma, sensitivity=distance)
    left = 1.0 - math.exp(epsilon) * (1.0 - rate)  # what the base keeps of its own mass
    if left <= 0 or direction == "remove":
        return 0.0 if direction == "add" else remove
    # E(q - e^eps (1 - a) q - e^eps a p)_+ = left * delta at log(a e^eps / left), maybe negative
    ratio = math.log(rate) + epsilon - math.log(left)
    if ratio >= 0:
        add = left * gaussian_delta(epsilon=ratio, sigma=sigma, sensitivity=distance)
    else:  # H_t(Q|P) = 1 - t + t H_(1/t)(P|Q)
        swapped = gaussian_delta(epsilon=-ratio, sigma=sigma, sensitivity=distance)
        add = left * (1.0 - math.exp(ratio) + math.exp(ratio) * swapped)
    return add if direction == "add" else max(add, remove)


def fourier_delta(
    law: _MaskLaw, *, epsilon: float, sigma: float, direction: _Direction = "both"
) -> float:
    r"""Exact delta of subsampled Fourier features with Gaussian noise, two mask laws.

    Of independent entries and of all or nothing. ``"remove"`` compares data with the record to data
    without, ``"add"`` the other way; the larger is the guarantee. Independent entries: an upper
    bound within 1e-4 (relative). All or nothing, exact:
    :math:`\alpha\,\delta_G(\log(1+(e^\varepsilon-1)/\alpha))` with sensitivity :math:`\sqrt
    m/\alpha`.

    >>> from dplit.papers.sketching.masks import mask_law
    >>> law = mask_law("data", 4, alpha=0.1)
    >>> f"{fourier_delta(law, epsilon=1.0, sigma=20.0):.3e}"
    '2.071e-04'
    """
    epsilon, sigma = check_nonnegative("epsilon", epsilon), check_positive("sigma", sigma)
    check_choice("direction", direction, ("both", "remove", "add"))
    if law.alpha == 1.0:
        moved = math.sqrt(law.n_components)
        return gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=moved)
    if law.scheme == "data":
        return _data_delta(epsilon, sigma, law, direction)
    if law.scheme != "bernoulli":
        raise ValueError(f"law must be 'bernoulli' or 'data', got scheme={law.scheme!r}")
    return sampled_gaussian_delta(
        epsilon=epsilon,
        sigma=sigma,
        sensitivity=1.0 / law.alpha,
        sampling_rate=law.alpha,
        steps=law.n_components,
        direction=direction,
    )


def accountant_delta(law: _MaskLaw, *, epsilon: float, sigma: float) -> float:
    """Delta for a "bernoulli" law by dp-accounting, an outside opinion: an upper bound, grid 1e-4.

    >>> from dplit.papers.sketching.masks import mask_law
    >>> law = mask_law("bernoulli", 4, alpha=0.5)
    >>> print(f"{accountant_delta(law, epsilon=1.0, sigma=8.0):.2e}")
    1.75e-05
    """
    if law.scheme != "bernoulli":
        raise ValueError(f"law must be 'bernoulli', got scheme={law.scheme!r}")
    return composed_delta(
        epsilon=epsilon,
        sigma=sigma,
        sensitivity=1.0 / law.alpha,
        steps=law.n_components,
        sampling_rate=law.alpha,
    )


def fourier_sigma(
    law: _MaskLaw, *, epsilon: float, delta: float, direction: _Direction = "both"
) -> float:
    """Least sigma at which :func:`fourier_delta` is at most ``delta``.

    A single direction is no guarantee. 0 for "data" with ``delta >= alpha``: the record is absent
    often enough.

    >>> from dplit.papers.sketching.masks import mask_law
    >>> law = mask_law("bernoulli", 64, alpha=1 / 64)
    >>> round(fourier_sigma(law, epsilon=1.0, delta=1e-5), 2)
    63.42
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    if law.alpha == 1.0:
        moved = math.sqrt(law.n_components)
        return gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved)
    if law.scheme == "bernoulli":
        return sampled_gaussian_sigma(
            epsilon=epsilon,
            delta=delta,
            sensitivity=1.0 / law.alpha,
            sampling_rate=law.alpha,
            steps=law.n_components,
            direction=direction,
        )
    if law.scheme == "data" and delta >= law.alpha:
        return 0.0

    def gap(log_sigma: float) -> float:
        value = fourier_delta(law, epsilon=epsilon, sigma=math.exp(log_sigma), direction=direction)
        return math.log(max(value, 1e-300)) - math.log(delta)

    top = math.log(gaussian_sigma(epsilon=epsilon, delta=min(delta, 0.5), sensitivity=1.0))
    top += math.log(fourier_q2(law))
    root = float(brentq(gap, top - 12.0, top + 1e-9, xtol=1e-12))
    return math.exp(root + 1e-12)


def density_excess(*, epsilon: float, sigma: float, sensitivity: float) -> float:
    """Largest value of p - e^epsilon q for two Gaussian densities: (19), no privacy parameter.

    It has the unit of a density, and changes with the unit of the outputs.
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    sigma = check_positive("sigma", sigma)
    shift = check_positive("sensitivity", sensitivity) / sigma  # in units of sigma
    start = epsilon / shift + shift / 2  # where p = e^eps q; the excess is positive beyond

    def negative(z: float) -> float:
        return -float(norm.pdf(z - shift) - math.exp(epsilon) * norm.pdf(z))

    grid = np.linspace(start, start + 12.0, 4001)
    values = norm.pdf(grid - shift) - math.exp(epsilon) * norm.pdf(grid)
    peak = int(values.argmax())
    around = (grid[max(peak - 1, 0)], grid[min(peak + 1, len(grid) - 1)])
    best = minimize_scalar(negative, bounds=around, method="bounded", options={"xatol": 1e-10})
    return -float(best.fun) / sigma
