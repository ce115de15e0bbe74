"""Random features of a shift-invariant kernel with ``K(x, x) = r^2``, for learners of margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_positive, check_real_array
from dplit.features import cos_sin_features, random_frequencies


def margin_features(
    X: ArrayLike, frequencies: ArrayLike, *, data_norm: float = 1.0
) -> NDArray[np.floating[Any]]:
    r"""Random Fourier features of equation (2), of norm r: all cosines, then all sines.

    :math:`\frac r{\sqrt D}(\cos\langle\omega_j,x\rangle,\sin\langle\omega_j,x\rangle)` for the
    columns of ``frequencies`` (d, D); the factor, lost in print, is that of Theorem 4.1. float32
    stays float32.

    >>> margin_features([[0.0]], [[1.0]], data_norm=2.0)  # 2 (cos 0, sin 0)
    array([[2., 0.]])
    """
    r = check_positive("data_norm", data_norm)
    rows = cos_sin_features(X, frequencies)
    rows *= rows.dtype.type(r)
    return rows


#: Entries are clipped here, so that every angle is finite in single precision.
_LARGEST = 1e15


@dataclass(frozen=True)
class DirectFeatures:
    """Random features of norm r as they are, without compression.

    >>> DirectFeatures(np.zeros((1, 2)), data_norm=2.0).transform([[3.0]]).round(4)
    array([[1.4142, 1.4142, 0.    , 0.    ]])
    """

    frequencies: Array
    data_norm: float
    double: bool = False

    def transform(self, X: ArrayLike) -> Array:
        """Map records to 2 D coordinates."""
        rows = np.clip(check_real_array("X", X, 2, copy=False), -_LARGEST, _LARGEST)
        rows = rows.astype(np.float64 if self.double else np.float32)
        mapped: Array = margin_features(rows, self.frequencies, data_norm=self.data_norm).astype(
            np.float64
        )
        return mapped


def _direct_features(
    n_features: int,
    n_frequencies: int,
    *,
    gamma: float,
    rng: np.random.Generator,
    double: bool = False,
) -> DirectFeatures:
    """Draw the map of equation (2) with D frequencies, 2 D coordinates."""
    frequencies = random_frequencies(n_features, n_frequencies, gamma=gamma, rng=rng)
    return DirectFeatures(frequencies, 1.0, double)
