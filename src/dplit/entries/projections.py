"""The projection mechanism with noise that does not look at the data, and the fit on its
release.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_nonnegative, check_rng, quiet
from dplit.entries._checks import check_pair
from dplit.entries.privacy import row_epsilon
from dplit.mechanisms._draws import record_draw


class ProjectionRelease(NamedTuple):
    """What the trainer gets: ``X`` of shape (n', d) and ``y`` of shape (n',) or (n', k).

    >>> release = ProjectionRelease(np.eye(2), np.array([1.0, 2.0]))
    >>> fit_projection(release).round(6).tolist()
    [1.0, 2.0]
    """

    X: Array
    y: Array


@quiet
def release_projection(
    X: ArrayLike, y: ArrayLike, *, n_components: int, variance: float, rng: np.random.Generator
) -> ProjectionRelease:
    r"""Draw the release (12): :math:`(SX+\sigma N,\ Sy)` with one Gaussian S for both.

    Entries of X outside [-1, 1] are clipped; y (n,) or (n, k), responses and other public columns,
    is **not protected**. With ``variance`` :math:`n'/(2^{2\epsilon}-1)` it is epsilon-MI-DP for
    every entry of X, all data and every fixed y, even if S is published. Drawn in blocks: S never
    takes more than about 64 MB. Research noise in floating point, not a release.

    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> release = release_projection(X, 2.0 * X[:, 0], n_components=4, variance=0.0,
    ...                              rng=np.random.default_rng(0))
    >>> release.X.shape, bool(np.allclose(release.y, 2.0 * release.X[:, 0]))  # no noise
    ((4, 1), True)
    """
    rows, labels = check_pair(X, y, columns=True)
    n = check_integer("n_components", n_components)
    scale = np.sqrt(check_nonnegative("variance", variance))
    check_rng(rng)
    data = np.column_stack([np.clip(rows, -1.0, 1.0), labels])
    record_draw(
        "event",
        "a projected table",
        scale=scale,
        shape=(n, len(rows) + rows.shape[1]),
        stated=lambda delta: row_epsilon(
            delta=delta, variance=variance, n_components=n, row_change=2.0
        ),
    )
    block = max(1, int(8e6 // len(rows)))
    parts = [
        rng.standard_normal((min(block, n - start), len(rows))) @ data
        for start in range(0, n, block)
    ]
    projected = np.vstack(parts)
    noisy = projected[:, : rows.shape[1]] + scale * rng.standard_normal((n, rows.shape[1]))
    seen = projected[:, rows.shape[1] :]
    return ProjectionRelease(noisy, seen if labels.ndim == 2 else seen[:, 0])


#: Share of the smallest eigenvalue that a correction may take off.
CAP = 0.8


def fit_projection(release: ProjectionRelease, *, correction: float = 0.0) -> Array:
    r"""Coefficients (10) or (14) from a release, with a correction that costs no privacy.

    :math:`(Z^\top Z-sI)^{-1}Z^\top y` with :math:`s=\min(\mathrm{correction},0.8\lambda_{\min})`;
    without one plain least squares, of least norm if the release is rank-deficient. The noise adds
    :math:`m\sigma^2` in the mean over m rows; all of it can make the matrix indefinite, hence the
    cap. A singular matrix is not corrected.

    >>> release = ProjectionRelease(np.array([[2.0]]), np.array([2.0]))
    >>> fit_projection(release).round(6), fit_projection(release, correction=2.0)  # 4/4, 4/(4 - 2)
    (array([1.]), array([2.]))
    """
    Z, target = check_pair(release.X, release.y, columns=True)
    wanted = check_nonnegative("correction", correction)
    values, vectors = np.linalg.eigh(Z.T @ Z) if wanted > 0 else (np.zeros(1), np.zeros(0))
    if not values[0] > 1e-12 * values[-1]:
        return np.asarray(np.linalg.lstsq(Z, target, rcond=None)[0])
    left = values - min(wanted, CAP * float(values[0]))
    return np.asarray(vectors @ ((vectors.T @ (Z.T @ target)).T / left).T)


def useful_correction(release: ProjectionRelease, *, variance: float) -> float:
    r"""Amount of the noise's share of the Gram matrix that is worth taking off in a fit.

    The full :math:`m\sigma^2` removes the bias and blows up the noise, which can cost more than it
    saves. This minimises the error of a Gaussian model (derived in the chapter) whose two
    constants, the energy and :math:`R^2`, are read from the release alone: no privacy is spent.

    >>> rng = np.random.default_rng(0)
    >>> release = release_projection(rng.uniform(-1, 1, (2000, 2)), rng.normal(size=2000),
    ...                              n_components=40, variance=100.0, rng=rng)
    >>> useful_correction(release, variance=0.0)
    0.0
    >>> 0.0 <= useful_correction(release, variance=100.0) <= 40 * 100.0  # all of the noise
    True
    """
    Z, target = check_pair(release.X, release.y, columns=True)
    noise = check_nonnegative("variance", variance)
    left = target - Z @ np.linalg.lstsq(Z, target, rcond=None)[0]
    energies = float(np.sum(Z * Z)), float(target @ target), float(left @ left)
    return _useful_amount(Z.shape, *energies, noise)


def _useful_amount(
    shape: tuple[int, ...], rows: float, total: float, left: float, noise: float
) -> float:
    """The same from energies: of the noisy rows, of the responses, of the plain fit's residual."""
    m, d = shape
    energy = rows / d - m * noise
    if m <= d or energy <= 0 or total == 0:
        return 0.0
    adjusted = 1.0 - left / total * m / (m - d)
    explained = min(adjusted * (energy + m * noise) / energy, 1.0)
    if explained <= 0:
        return 0.0
    whole, crowded = energy + m * noise, d / m
    rho = energy / whole
    x = np.linspace(1.0, math.sqrt(crowded), 500, endpoint=False)
    spread = rho**2 * (1 - 1 / x) ** 2 + rho * (1 / explained - rho)
    errors = (1 - rho / x) ** 2 + crowded / (x**2 - crowded) * spread
    best = float(x[errors.argmin()])
    return float(min(whole * (1 - best) * (1 - crowded / best), m * noise))
