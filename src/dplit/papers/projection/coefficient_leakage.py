"""What one entry of X leaks through published coefficients, alone or with the fits of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_real_array, check_rng
from dplit.entries._checks import check_pair
from dplit.papers.projection.leakage import _augmented, _chosen, _inverse_root, entry_channels


def coefficient_leakage(
    X: ArrayLike,
    y: ArrayLike,
    *,
    variance: float,
    n_components: int,
    levels: ArrayLike,
    rng: np.random.Generator,
    rows: ArrayLike | None = None,
    n_draws: int = 1000,
) -> tuple[Array, Array]:
    r"""Bits in the coefficients (14) alone about each entry, if it has equally likely ``levels``.

    Arrays of shape (n, d), or of some ``rows``: bits, and their standard error over ``n_draws``
    draws a level, which all entries share. The fit is a multivariate t; with :math:`\theta_A` and
    :math:`\rho_A` the ridge fit without row i and its least objective, its density at an entry x is
    :math:`\sqrt{1+v^\top A^{-1}v}\,\tau^\nu/g(\theta)^{(\nu+d)/2}` with :math:`v=xe_j+r_0`,
    :math:`g=\rho_A+|A^{1/2}(\theta-\theta_A)|^2+(y_i-v^\top\theta)^2`, :math:`\tau^2=\min g` and
    :math:`\nu=n'-d+1`: two coordinates of the fit and its length are enough.
    """
    data, labels = check_pair(X, y)
    (n, d), values = data.shape, check_real_array("levels", levels, 1)
    dof = check_integer("n_components", n_components, minimum=d) - d + 1
    count, generator = check_integer("n_draws", n_draws, minimum=2), check_rng(rng)
    chosen = _chosen(rows, n)
    aa, ab, _, det = entry_channels(data, None, variance=variance, rows=chosen)
    root = _inverse_root(_augmented(data, None, variance)[1])
    U = data[chosen] @ root
    whole = root @ (root.T @ (data.T @ labels))
    loss = (labels[chosen] - data[chosen] @ whole) / (1.0 - np.sum(U**2, axis=1))
    fits = whole - loss[:, None] * (U @ root.T)  # without each of the rows
    gaps = labels - fits @ data.T
    gaps[np.arange(len(chosen)), chosen] = 0.0
    least = np.sum(gaps**2, axis=1) + variance * np.sum(fits**2, axis=1)
    if np.sum((labels - data @ whole) ** 2) <= 1e-26 * np.sum(labels**2) and variance == 0:
        raise ValueError("y must not lie in the column space of X: the coefficients are exact")
    z = generator.standard_normal((2, count)) * [[1.0], [float(d > 1)]]
    length = np.sum(z**2, axis=0) + (generator.chisquare(d - 2, count) if d > 2 else 0.0)
    drawn = z, length, generator.chisquare(dof, count)
    bits, error = np.empty((2, len(chosen), d))
    for k, i in enumerate(chosen):
        size = np.sqrt(aa[k])
        beside = np.stack([ab[k], np.sqrt(det[k])]) / size  # r_0, where e_j is (size, 0)
        v = beside[:, None] + np.stack([size, 0.0 * size])[:, None] * values[:, None]
        left = labels[i] - (data[i] @ fits[k] - data[i] * fits[k]) - values[:, None] * fits[k]
        bits[k], error[k] = _told_by_fits(v, left, float(least[k]), (d, dof), drawn)
    return bits, error


def _told_by_fits(
    v: Array, left: Array, least: float, sizes: tuple[int, int], drawn: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Bits (d,) about the entries of one row, and their errors; v is (2, levels, d)."""
    (d, dof), (z, length, chi) = sizes, drawn
    q = np.sum(v**2, axis=0)
    tau = np.sqrt(least + left**2 / (1.0 + q))
    logs = 0.5 * np.log1p(q) + dof * np.log(tau)
    bits, square = np.zeros(d), np.zeros(d)
    for k in range(len(left)):
        own = v[:, k, :, None]
        along = np.sum(own * z[:, None], axis=0)
        bent = (1.0 - 1.0 / np.sqrt(1.0 + q[k])) / np.maximum(q[k], 1e-300)
        scale = tau[k][:, None] / np.sqrt(chi)
        point = own * (left[k] / (1.0 + q[k]))[:, None] + scale * (
            z[:, None] - own * bent[:, None] * along
        )
        missed = left[:, :, None] - np.einsum("ald,adn->ldn", v, point)
        g = tau[k][:, None] ** 2 * (1.0 + length / chi) - missed[k] ** 2
        density = logs[:, :, None] - (dof + d) / 2 * np.log(np.maximum(g, 0.0) + missed**2)
        told = density[k] - np.logaddexp.reduce(density, axis=0) + np.log(len(left))
        bits += told.mean(axis=1) / len(left)
        square += told.var(axis=1, ddof=1) / len(chi) / len(left) ** 2
    return bits / np.log(2.0), np.sqrt(square) / np.log(2.0)
