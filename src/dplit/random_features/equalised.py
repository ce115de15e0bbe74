"""Equalised error gaps along the noise: what output noise does to error differences of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer, check_nonnegative
from dplit.datasets import Dataset
from dplit.features import cos_sin_features
from dplit.random_features.data import fairness_data
from dplit.random_features.fairness import error_gaps
from dplit.random_features.parity import projection
from dplit.random_features.settings import Setting, setting
from dplit.streams import stream

__all__ = ["ErrorGapCurves", "error_gap_curves", "label_strata"]

_Array = NDArray[np.float64]


def label_strata(y: _Array, n_strata: int) -> NDArray[np.intp]:
    """Return the quantile bin of every label, 0 to n_strata - 1; equal labels share a bin.

    Parameters
    ----------
    y : ndarray of shape (n,)
    n_strata : int
        At least 1.

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> label_strata(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([0, 0, 1, 1])
    """
    k = check_integer("n_strata", n_strata)
    edges = np.quantile(y, np.arange(1, k) / k)
    return np.asarray(np.searchsorted(edges, y, side="left"), dtype=np.intp)


@dataclass(frozen=True)
class ErrorGapCurves:
    """Largest error difference of two groups within a label stratum, against the noise.

    Attributes
    ----------
    noise_sds : ndarray of shape (n,)
        Standard deviation of the prediction noise, the same at every record.
    absolute, squared, bias : ndarray of shape (n,)
        Gaps of mean absolute, mean squared and mean signed error; labels in [0, 1].
    mse : ndarray of shape (n,)
        Mean squared error, ``mse(0) + noise_sd^2``.
    strata : int
        Strata that contain both groups.
    """

    noise_sds: _Array
    absolute: _Array
    squared: _Array
    bias: _Array
    mse: _Array
    strata: int


def error_gap_curves(
    dataset: Dataset, feature: str, *, seed: int, noise_sds: Sequence[float], n_strata: int = 4,
    base: Setting | None = None,
) -> ErrorGapCurves:  # fmt: skip
    """Exact equalised error gaps of the random feature model of Table 2 as its noise grows.

    Parameters
    ----------
    dataset : Dataset
    feature : {"sex", "smoker", "colour"}
        The sensitive feature.
    seed : int
    noise_sds : sequence of float
        Standard deviations of the prediction noise, nonnegative, in units of the label range.
    n_strata : int, default=4
        Label quantiles within which groups are compared (equalised odds for a regression).
    base : Setting, optional
        Settings; those of Table 2 by default. Features are cos/sin pairs, whose rows have norm one.

    Returns
    -------
    ErrorGapCurves

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With rows of norm one the signed and squared gaps do not move at all, and the absolute gap
    falls: noise hides a bias and repairs none.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from dplit.datasets import load_medical
    >>> small = replace(setting("tab2-medical", "text"), components=(40,))
    >>> curves = error_gap_curves(load_medical("bundled"), "sex", seed=0, noise_sds=(0.0, 1.0),
    ...                           base=small)
    >>> bool(curves.absolute[1] < curves.absolute[0])
    True
    """
    key = "tab2-wine" if feature == "colour" else "tab2-medical"
    s = base or setting(key, "text")
    data = fairness_data(dataset, feature, labels="joint", scaling="joint", encoding="full")
    rng = stream(seed, "dprf-beyond-error-gaps", "public")
    omega = s.frequency_sd * rng.standard_normal((data.raw.shape[1], s.components[0] // 2))
    residuals = projection(cos_sin_features(data.raw, omega), data.y) - data.y
    levels = np.array([check_nonnegative("noise_sds", x) for x in noise_sds])
    strata = label_strata(data.y, n_strata)
    gaps = [error_gaps(residuals, data.groups, noise_sd=x, strata=strata) for x in levels]
    return ErrorGapCurves(
        noise_sds=levels,
        absolute=np.array([gap.absolute_private for gap in gaps]),
        squared=np.array([gap.squared_private for gap in gaps]),
        bias=np.array([gap.bias_private for gap in gaps]),
        mse=np.mean(residuals**2) + levels**2,
        strata=gaps[0].strata,
    )
