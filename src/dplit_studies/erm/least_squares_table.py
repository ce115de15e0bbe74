"""The bounds on least-squares stability beside the worst pair that is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array
from dplit.kernels.lipschitz import (
    _StabilityVersion,
    least_squares_lipschitz,
    least_squares_stability,
    lipschitz_stability,
)
from dplit.kernels.losses import lipschitz_constant
from dplit.papers.erm.least_squares import _mirror_pair, fits_distance
from dplit.papers.erm.stability import bounded_stability, loss_bound

#: The bounds from the largest to the smallest (for lambda at most 1), and how a legend calls them.
VERSIONS: dict[_StabilityVersion, str] = {
    "printed": "printed",
    "argument": "its argument, any λ",
    "lipschitz": "sharp Lipschitz constant",
    "triangle": "triangle inequality",
    "sharp": "sharp",
}


def bounds_beside_worst(
    regularizations: Sequence[float], *, n_records: int, kappa: float = 1.0
) -> dict[str, Array]:
    """Every bound on least-squares stability, and the ``"worst"`` mirror pair's distance; M = 1."""
    found: dict[str, Array] = {}
    lambdas = [float(lam) for lam in regularizations]
    found["worst"] = np.array(
        [
            fits_distance(
                _mirror_pair(regularization=lam, n_records=n_records, label_bound=1.0, kappa=kappa),
                regularization=lam,
            )
            for lam in lambdas
        ]
    )
    for version in VERSIONS:
        found[version] = np.array(
            [
                least_squares_stability(
                    regularization=lam,
                    n_records=n_records,
                    label_bound=1.0,
                    kappa=kappa,
                    version=version,
                )
                for lam in lambdas
            ]
        )
    return found


def bound_curves(
    loss: str, sizes: ArrayLike, *, regularization: float = 0.1, tau: float = 0.75
) -> dict[str, Array]:
    """Bounds of both theorems at several sizes, for labels in [-1, 1] and kappa = 1.

    Least squares enters Theorem 2 with the printed constant of Section 5.1.
    """
    if loss == "squared":
        slope = least_squares_lipschitz(regularization=regularization, label_bound=1.0)
    else:
        slope = lipschitz_constant(loss, tau=tau)
    most = loss_bound(loss, regularization=regularization, tau=tau)
    rules = [{"regularization": regularization, "n_records": m} for m in np.asarray(sizes).tolist()]
    two = [lipschitz_stability(lipschitz=slope, **rule) for rule in rules]
    one = [bounded_stability(bound=most, version="printed", **rule) for rule in rules]
    best = [bounded_stability(bound=most, **rule) for rule in rules]
    names = ("Theorem 2", "Theorem 1, printed", "Theorem 1 with the constant 2")
    return {name: np.array(values) for name, values in zip(names, (two, one, best), strict=True)}
