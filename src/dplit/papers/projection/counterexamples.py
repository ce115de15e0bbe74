"""Tables on which the printed projection leaks more than it says."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_interval, check_real_array
from dplit.papers.projection.calibration import printed_variance
from dplit.papers.projection.channels import _Bits, scale_information


def paired_columns(x: float, *, n_records: int = 3) -> Array:
    """Two columns that agree except in row 1, where they hold x and 0; all else is 1.

    The released columns differ by ``s_1 x``, and f^2 is n - 2, for every x in [-1, 1].
    """
    if abs(check_interval("x", x, -math.inf, math.inf)) > 1:
        raise ValueError(f"x must be in [-1, 1], got x={x!r}")
    X = np.ones((check_integer("n_records", n_records, minimum=3), 2))
    X[0] = x, 0.0
    return X


def scale_leakage(
    tables: list[Array], weights: ArrayLike, *, epsilon: float, n_components: int
) -> _Bits:
    """Bits that columns without the entry give, because the printed variance depends on it.

    ``tables`` are the data for each value of the entry, equally likely; rows of ``weights`` (d,) or
    (m, d) combine columns other than the first, orthogonal in the released covariance and of equal
    variance. A lower bound on the leakage of the whole release.
    """
    W = np.atleast_2d(check_real_array("weights", weights))
    if np.any(W[:, 0] != 0):
        raise ValueError("weights must be zero on column 1, which holds the entry")
    variances = []
    for table in tables:
        printed = printed_variance(table, epsilon=epsilon, n_components=n_components)
        covariance = W @ (table.T @ table + printed * np.eye(table.shape[1])) @ W.T
        size = float(covariance[0, 0])
        if not np.allclose(covariance, size * np.eye(len(W)), rtol=1e-9, atol=1e-9 * size):
            raise ValueError("weights must give independent combinations of equal variance")
        variances.append(size)
    return scale_information(variances, n_samples=n_components * len(W))
