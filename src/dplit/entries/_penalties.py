"""The best penalty of least squares from noisy moments."""

from __future__ import annotations

import math

import numpy as np

from dplit._checks import Array


def best_penalty(
    energies: Array, squares: Array, inner: Array, *, variance: float
) -> tuple[float, float]:
    r"""Penalty, at least 0, with the least :func:`penalised_error`, and that error.

    >>> one = np.ones(1)
    >>> best_penalty(100 * one, 100.0**2 * one, 100 * one, variance=0.0)  # no noise
    (0.0, -1.0)
    """
    low, high = float(energies.min()), float(energies.max())
    floor = max(low - 2.0 * math.sqrt(variance), 1e-3 * low) - low
    below, above = floor * np.linspace(1.0, 0.0, 40), high * np.geomspace(1e-4, 1e6, 200)
    shifts = np.concatenate([below, above])
    errors, penalties = penalised_error(energies, squares, inner, variance, shifts)
    at = int(np.argmin(np.where(penalties > -1e-9 * high, errors, math.inf)))
    return max(float(penalties[at]), 0.0), float(errors[at])


def penalised_error(
    energies: Array, squares: Array, inner: Array, variance: float, shifts: Array
) -> tuple[Array, Array]:
    r"""Means of :math:`|\hat\theta-\theta|^2/d` up to a constant, and the penalties of shifts (k,).

    In the eigenbasis: ``energies`` of :math:`X^\top X`, mean squares of the noisy cross moments,
    their inner products with :math:`\theta`. Symmetric noise of ``variance`` g d acts as a larger
    penalty: in the mean :math:`(H+W+\alpha)^{-1}\approx R=(H+a)^{-1}`, a a shift, with
    :math:`\alpha=a+g\operatorname{tr}R` and second moments :math:`R^2/(1-g\operatorname{tr}R^2)`
    (free convolution with a semicircle); infinite where that is not positive.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # empty directions without a shift
        R = 1.0 / (energies + np.asarray(shifts)[:, None])
        spread = variance * np.mean(R**2, axis=1)
        penalties = np.asarray(shifts) + variance * np.mean(R, axis=1)
        legal = (spread < 1.0) & (R.min(axis=1) >= 0)
        blown = squares * R**2 / np.where(legal, 1.0 - spread, 1.0)[:, None]
        errors = np.mean(blown - 2.0 * inner * R, axis=1)
    return np.where(legal, errors, math.inf), penalties
