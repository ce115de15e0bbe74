"""The bounds on least-squares stability beside the worst pair that is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplit.erm.least_squares import (
    StabilityVersion,
    least_squares_stability,
    mirror_pair,
    pair_distance,
)

__all__ = ["VERSIONS", "bounds_beside_worst"]

#: The bounds from the largest to the smallest (for lambda at most 1), and how a legend calls them.
VERSIONS: dict[StabilityVersion, str] = {
    "printed": "printed",
    "argument": "its argument, any λ",
    "lipschitz": "sharp Lipschitz constant",
    "triangle": "triangle inequality",
    "sharp": "sharp",
}


def bounds_beside_worst(
    regularizations: Sequence[float], *, n_records: int, kappa: float = 1.0
) -> dict[str, NDArray[np.float64]]:
    """Compute every bound on least-squares stability, and the distance of the worst mirror pair.

    Parameters
    ----------
    regularizations : sequence of float
        Values of lambda, positive.
    n_records : int
        m, at least 1.
    kappa : float, default=1.0

    Returns
    -------
    dict of ndarray, shape (len(regularizations),)
        ``"worst"`` and one entry for each version of
        :func:`dplit.erm.least_squares.least_squares_stability`; labels lie in [-1, 1]. A bound
        below ``"worst"`` is refuted.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> table = bounds_beside_worst([1.0, 9.0], n_records=100)
    >>> (table["printed"] >= table["worst"]).tolist(), (table["sharp"] >= table["worst"]).tolist()
    ([True, False], [True, True])
    """
    found: dict[str, NDArray[np.float64]] = {}
    lambdas = [float(lam) for lam in regularizations]
    found["worst"] = np.array([
        pair_distance(
            mirror_pair(regularization=lam, n_records=n_records, label_bound=1.0, kappa=kappa),
            regularization=lam,
        )
        for lam in lambdas
    ])  # fmt: skip
    for version in VERSIONS:
        found[version] = np.array([
            least_squares_stability(
                regularization=lam,
                n_records=n_records,
                label_bound=1.0,
                kappa=kappa,
                version=version,
            )
            for lam in lambdas
        ])  # fmt: skip
    return found
