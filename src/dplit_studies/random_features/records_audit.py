"""The published noise against what one record can do: sensitivities, duplicates, spectra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors

from dplit._checks import Array, check_finite_array, check_integer, check_positive, check_real_array
from dplit.papers.random_features.duplicates import _distinct_rows
from dplit.streams import stream
from dplit_studies.random_features.nested import _nested_grams
from dplit_studies.random_features.synthetic import _draw_data


def interpolation_shortfall(n_components: int, *, sensitivity: float = 4.0) -> float:
    """How many times the published Delta is below what one label in [0, 1] does.

    ``sqrt(N) / sensitivity``: phi_j . (c - c') is the change of label j, ||phi_j|| = 1.
    """
    return math.sqrt(check_integer("n_components", n_components)) / sensitivity


def _swap_sensitivities(gram: Array, y: Array, cross: Array, norms2: Array, y_new: Array) -> Array:
    """Distances (k, m) that the interpolator moves when record j is swapped for new record i, from
    one inverse (proved in the chapter). ``cross`` (k, m): inner products of new rows with the
    training rows; ``norms2`` (k,): their squared norms.
    """
    inverse = np.linalg.inv(gram)
    alpha, moved = inverse @ y, cross @ inverse  # (m,), (k, m)
    schur = norms2 - np.einsum("ij,ij->i", moved, cross)
    if np.any(schur <= 0):
        raise ValueError("cross must not describe a new row in the span of the training rows")
    surplus = ((y_new - cross @ alpha) / schur)[:, None]  # (H y)_new
    hjj = np.diag(inverse) + moved**2 / schur[:, None]
    hjn = -moved / schur[:, None]
    hnn = 1.0 / schur[:, None]
    hy = alpha - moved * surplus  # (H y)_j
    det = hjj * hnn - hjn**2
    sjj, snn, sjn = hnn / det, hjj / det, -hjn / det
    rj, r = sjj * hy + sjn * surplus, sjn * hy + snn * surplus
    square = rj**2 / sjj + r**2 / snn - 2.0 * rj * r * sjn / (sjj * snn)
    return np.asarray(np.sqrt(np.clip(square, 0.0, None)))


@dataclass(frozen=True)
class _SensitivityAudit:
    """What one record of Figure 1 does to the interpolator, against the Delta of the code, by N. l2
    norms: of a change of sign of a label and of a removal (the largest over records), and of all
    swaps by fresh records of the same law (mean and largest).
    """

    components: NDArray[np.intp]
    code: Array
    flip: Array
    removal: Array
    swap_mean: Array
    swap_max: Array


def sensitivity_audit(
    *,
    seed: int,
    components: Sequence[int] = (1500, 2000, 3000, 5000),
    n_records: int = 1000,
    n_fresh: int = 1000,
    dimension: int = 5,
    frequency_sd: float = 40.0,
) -> _SensitivityAudit:
    """Exact record-by-record sensitivities of the interpolator at the settings of Figure 1."""
    m, name = check_integer("n_records", n_records), "dprf-noise-audit"
    X, y = _draw_data(m + n_fresh, dimension, "f1", rng=stream(seed, name, "data"))
    results = []
    public = stream(seed, name, "public")
    for block in _nested_grams(X[:m], X[m:], components, frequency_sd=frequency_sd, rng=public):
        inverse = np.linalg.inv(block.gram)
        diagonal, alpha = np.sqrt(np.diag(inverse)), inverse @ y[:m]
        swaps = _swap_sensitivities(block.gram, y[:m], block.cross, block.row_norms2, y[m:])
        results.append(
            [
                4.0 / math.sqrt(block.n_components),
                np.max(2.0 * np.abs(y[:m]) * diagonal),
                np.max(np.abs(alpha) / diagonal),
                swaps.mean(),
                swaps.max(),
            ]
        )
    return _SensitivityAudit(np.array(components, dtype=np.intp), *np.array(results).T)


def nearest_distances(X: ArrayLike) -> Array:
    """Distance of every distinct row to the nearest other distinct row."""
    rows = check_finite_array("X", X, ndim=2)
    distinct = rows[_distinct_rows(rows)[0]]
    if len(distinct) < 2:
        raise ValueError("X must have at least two distinct rows")
    distances, _ = NearestNeighbors(n_neighbors=2).fit(distinct).kneighbors(distinct)
    return np.asarray(distances[:, 1])


@dataclass(frozen=True)
class _Spectrum:
    """The conclusion and the second hypothesis of Theorem 8 in one experiment. Extreme eigenvalues
    of the Gram matrix G of unit rows, ||G - I||, how many are below 1 - 2 eta, and gamma^2
    sigma_omega^2 with the 4 log(2m/eta) that it must reach.
    """

    name: str
    n_records: int
    n_components: int
    smallest: float
    largest: float
    norm: float
    below_quarter: int
    product: float
    needed: float

    @property
    def conclusion_holds(self) -> bool:
        """Whether the norm is at most 0.75."""
        return self.norm <= 0.75


def experiment_spectra(
    name: str,
    X: ArrayLike,
    components: Sequence[int],
    *,
    frequency_sd: float,
    seed: int,
    eta: float = 0.375,
) -> list[_Spectrum]:
    """Spectra of the feature Gram matrix of inputs X (m, d) for increasing numbers of features.

    The name selects the random stream; the paper's experiments have eta = 3/8.
    """
    rows = check_real_array("X", X, 2)
    sd = check_positive("frequency_sd", frequency_sd)
    product = float(rows.var(axis=0).sum()) * sd**2
    result = []
    rng = stream(seed, f"dprf-thm8-{name}", "public")
    for block in _nested_grams(rows, rows[:1], components, frequency_sd=sd, rng=rng):
        values = np.linalg.eigvalsh(block.gram)
        result.append(
            _Spectrum(
                name=name,
                n_records=len(rows),
                n_components=block.n_components,
                smallest=float(values[0]),
                largest=float(values[-1]),
                norm=float(max(values[-1] - 1.0, 1.0 - values[0])),
                below_quarter=int(np.sum(values < 1.0 - 2.0 * eta)),
                product=product,
                needed=4.0 * math.log(2.0 * len(rows) / eta),
            )
        )
    return result
