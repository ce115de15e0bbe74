"""What the papers' own accounting would have claimed, and what is true, at one budget."""

from __future__ import annotations

import numpy as np

from dplit.entries.privacy import fixed_variance, row_epsilon
from dplit.features import orthonormal_blocks
from dplit.kernels.ridge_sensitivity import record_sensitivity
from dplit.mechanisms import gaussian_epsilon
from dplit.papers.erm.line_pairs import hinge_pair
from dplit.papers.erm.release import release_epsilon
from dplit.papers.erm.scales import hinge_scale
from dplit.papers.random_features.release import printed_sigma
from dplit.papers.sketching.quadratic import replace_l1_exact
from dplit.sketching.sensitivity import spectral_sensitivity


def printed_losses(*, epsilon: float, delta: float, n_records: int = 1000) -> dict[str, float]:
    """True epsilon of what the papers would call epsilon (bits for projections); inf is none. The
    ridge fit has penalty 100, 200 coefficients and Algorithm 1's noise; a projection has 100 rows.
    """
    pair = hinge_pair(n_records=101, regularization=0.1)
    scale = hinge_scale(
        epsilon=epsilon, kappa=1.0, regularization=0.1, n_records=101, as_printed=True
    )
    sigma = printed_sigma(n_components=200, epsilon=epsilon, delta=delta, eta=0.375)
    moved = record_sensitivity(alpha=100.0, label_bound=1.0, n_records=n_records)
    maps = orthonormal_blocks(10, 20, rng=np.random.default_rng(0))
    ratio = replace_l1_exact(maps) / spectral_sensitivity(maps)
    noise = fixed_variance(epsilon=epsilon, n_components=100)
    row = row_epsilon(delta=delta, variance=noise, n_components=100, row_change=2.0 * 10**0.5)
    return {
        "erm, one value": release_epsilon(*pair.values([1.0]), scale=scale),
        "erm, two values": release_epsilon(*pair.values([1.0, -1.0]), scale=scale),
        "random_features, ridge": float(
            gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=moved)
        ),
        "sketching, components": epsilon * ratio,
        "projection, one row": row,
    }
