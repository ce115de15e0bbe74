"""Noisy moments per entry: variances, what replacing one entry or row gives away, and solutions."""

from __future__ import annotations

import math

import numpy as np

from dplit._checks import Array
from dplit._numerics.exact import gram_rounding
from dplit.entries.estimators import _MOST_BITS
from dplit.entries.variances import moment_variances
from dplit.mechanisms import gaussian_epsilon

#: Beyond this the noise is rounding, and epsilon is said to be infinite.
_LARGEST_MU = 1e7


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


def entry_variances(
    *, epsilon: float, n_features: int, ones: int, response_energy: float
) -> tuple[float, float]:
    """Variances of the noise on the moments of entries and responses in [-1, 1].

    ``ones`` is 1 if a public column of ones stands beside the d columns; ``response_energy`` is the
    mean square of the responses. The split is best for coefficients that explain all of them.
    """
    g, c = moment_variances(
        epsilon=min(epsilon, _MOST_BITS),
        n_features=n_features + ones,
        response_bound=1.0,
        energy=max(3.0 * response_energy, 1e-9),
    )
    room = (1.0 + gram_rounding(n_features**2 + n_features)) ** 2
    return g * room, c * room


def moment_mus(d: int, ones: int, g: float, c: float) -> tuple[float, float]:
    """Gaussian privacy of the moments when one entry, or one row, is replaced; y is public."""
    power = (d - 1 + ones) / g + 1.0 / c
    entry = 4.0 * power
    if 4.0 * power * g < 1.0:  # one column: between -1 and 1 the square moves more
        a = (3.0 - math.sqrt(1.0 - 4.0 * power * g)) / 2.0
        entry = max(entry, a * a * (power + (2.0 - a) ** 2 / (2.0 * g)))
    beside = ones / g + 1.0 / c
    t = -min(g * beside, d)  # inner product of the two rows
    row = (d * d - t * t) / g + 2.0 * (d - t) * beside
    return math.sqrt(entry), math.sqrt(entry if d == 1 else row)


def moment_epsilon(delta: float, mu: float) -> float:
    """Epsilon of the Gaussian mechanism; infinite where the noise has all but vanished."""
    return math.inf if mu > _LARGEST_MU else float(gaussian_epsilon(delta=delta, sigma=1.0 / mu))


def solve_moments(
    gram: Array,
    cross: Array,
    *,
    variances: tuple[float, float],
    n_samples: int,
    response_energy: float,
) -> tuple[Array, float]:
    r"""Coefficients from noisy moments, and the penalty: a function of release and responses.

    The penalty is the best for columns of equal energy, read off the trace, and for a
    signal read off ``cross``; at least what leaves the smallest eigenvalue above
    :math:`\sqrt{gd}`, the size of the noise. No signal: zero coefficients, an infinite penalty.
    """
    (g, c), (n, d) = variances, (n_samples, len(cross))
    values, vectors = np.linalg.eigh(gram)
    energy = float(np.clip(values.mean() / n, math.sqrt(2.0 * g / d) / n, 1.0))
    explained = float(cross @ cross) - d * c - n * energy * d * response_energy
    signal = min(explained / (n * energy) ** 2, response_energy / energy)
    if signal <= 0.0:
        return np.zeros(d), math.inf
    noise = response_energy - energy * signal
    column = np.full(1, n * energy)
    square = column**2 * signal / d * (1.0 + d / n) + column * noise
    alpha, _ = best_penalty(column, square + c, column * signal / d, variance=g * d)
    alpha = max(alpha, math.sqrt(g * d) - float(values[0]))
    return np.asarray(vectors @ ((vectors.T @ cross) / (values + alpha))), alpha
