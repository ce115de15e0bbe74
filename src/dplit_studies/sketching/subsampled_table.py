"""The price of subsampling in Gaussian noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array
from dplit.mechanisms import gaussian_sigma
from dplit.papers.sketching.masks import mask_law
from dplit.papers.sketching.subsampled_gaussian import fourier_sigma


def sigma_ratios(
    alphas: ArrayLike, budgets: Sequence[tuple[float, float]], *, n_components: int
) -> dict[tuple[float, float], Array]:
    """Gaussian noise with independent masks over that without subsampling, by (epsilon, delta).

    At equal guarantee under "add_remove", both exact; one ratio per rate of ``alphas``.
    """
    laws = [mask_law("bernoulli", n_components, alpha=float(a)) for a in np.asarray(alphas)]
    ratios = {}
    for epsilon, delta in budgets:
        plain = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(n_components) ** 0.5)
        sigmas = [fourier_sigma(law, epsilon=epsilon, delta=delta) for law in laws]
        ratios[epsilon, delta] = np.array([sigma / plain for sigma in sigmas])
    return ratios
