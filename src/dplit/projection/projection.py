"""The projection mechanism as printed and with noise that does not look at the data.

The release (12), its fit (14) and the variance (13); what the repaired noise guarantees (Statements
A and B of the chapter), how nearly it is used up, and what it costs for large n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_flag,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit.mechanisms.draws import record_draw
from dplit.projection.information import _chi_nodes, _legendre, additive_sigma, fixed_variance
from dplit.projection.leakage import _augmented, _check_entry, row_epsilon
from dplit.projection.regression import _check_pair, column_energy_floor


def public_sketch_leakage(
    *, variance: float, n_components: int, low: float = -1.0, high: float = 1.0
) -> float:
    r"""Bits about an entry that is ``low`` or ``high`` with equal odds, if S is published as well.

    It depends on nothing else, as the rest is subtracted: the mean of
    :math:`1-E\log_2(1+e^{-2u-2\sqrt uZ})` over :math:`u=\frac{(high-low)^2}{4\sigma^2}\chi^2_{n'}`.
    """
    n = check_integer("n_components", n_components)
    for name, value in (("low", low), ("high", high)):
        check_interval(name, value, -math.inf, math.inf)
    distance = (high - low) / (2 * np.sqrt(check_positive("variance", variance)))
    (t, mass), (z, width) = _chi_nodes(n, 96), _legendre(-9.0, 9.0, 96)
    normal = width * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    u = (distance * t) ** 2
    loss = np.logaddexp(0.0, -2 * u[:, None] - 2 * np.sqrt(u)[:, None] * z) / np.log(2.0)
    return float(mass @ (1 - loss @ normal))


def residual_energy(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int, column: int
) -> float:
    r"""Scale that protects an entry: :math:`1/[A^{-1}]_{jj}` as a regression residual.

    :math:`\lambda+\min_{w,u}\|x_j-X_{-j}w-yu\|^2+\lambda\|w\|^2` over the rows other than i; the
    proof of Lemma 2 uses :math:`\lambda+\|x_j\|^2`, the energy before regression.
    """
    rows, M = _augmented(X, y, variance)
    i, j = _check_entry(rows, row, column)
    rest = np.delete(M, i, axis=0)
    target, others = rest[:, j], np.delete(rest, j, axis=1)
    if others.shape[1] == 0:
        return float(target @ target)
    weights = np.linalg.lstsq(others, target, rcond=None)[0]
    residual = target - others @ weights
    return float(residual @ residual)


def class_scale(X: ArrayLike, y: ArrayLike | None, *, variance: float) -> float:
    r"""Scale of Statement B: :math:`\lambda+\min_i\sigma_{\min}^2(P^\perp_{y_{-i}}X_{-i})`.

    It never exceeds :math:`\min_{i,j}1/[A^{-1}]_{jj}`; with a variance fixed in advance the release
    is epsilon-MI-DP over all data on which it reaches :math:`n'/(2^{2\epsilon}-1)`.
    """
    rows, labels = _check_pair(X, y)
    floor = check_nonnegative("variance", variance)
    smallest = np.inf
    for i in range(len(rows)):
        rest, known = np.delete(rows, i, axis=0), np.delete(labels, i)
        length = np.linalg.norm(known)
        if length > 0:
            rest = rest - np.outer(known, known @ rest) / length**2
        values = np.linalg.eigvalsh(rest.T @ rest)
        smallest = min(smallest, max(float(values[0]), 0.0))
    return floor + smallest


def uniform_limit(*, epsilon: float, share: float, snr: float) -> float:
    r"""Error of a repaired projection to ``share * n`` rows, uniform design, n to infinity.

    :math:`1+\big(\tfrac{3\rho}{1+3\rho}\big)^2r^2` with :math:`\rho=\lambda/n`. With share 1 also
    the limit of raw additive noise.

    >>> round(uniform_limit(epsilon=0.5, share=1.0, snr=16.0), 9)
    10.0
    """
    part, signal = check_probability("share", share, one=True), check_nonnegative("snr", snr)
    noise = 3.0 * part * additive_sigma(epsilon=epsilon) ** 2
    return 1.0 + (noise / (1.0 + noise)) ** 2 * signal


class ProjectionRelease(NamedTuple):
    """What the trainer gets: ``X`` of shape (n', d) and ``y`` of shape (n',) or (n', k)."""

    X: Array
    y: Array


def printed_variance(X: ArrayLike, *, epsilon: float, n_components: int) -> float:
    r"""Noise variance (13), which depends on the private data:
    :math:`\left(\frac{n'}{2^{2\epsilon}-1}-f^2(X)\right)_+`.

    **It does not deliver the claimed budget**, for two reasons that the chapter demonstrates; use
    :func:`dplit.projection.information.fixed_variance`.
    """
    floor = column_energy_floor(X) ** 2
    return max(fixed_variance(epsilon=epsilon, n_components=n_components) - floor, 0.0)


def noise_free_epsilon(*, floor: float, n_components: int) -> float:
    r"""Smallest budget in bits for which (13) adds no noise: :math:`\frac12\log_2(1+n'/f^2)`.

    Corollary 2, and the corners of Figure 2; ``floor`` is f^2.
    """
    n, least = check_integer("n_components", n_components), check_nonnegative("floor", floor)
    return math.inf if least == 0 else 0.5 * math.log2(1.0 + n / least)


def projection_variance(
    X: ArrayLike, *, epsilon: float, n_components: int, as_printed: bool = False
) -> float:
    """Noise variance: ``fixed_variance``, or (13) ``as_printed``, for study only."""
    if check_flag("as_printed", as_printed):
        return printed_variance(X, epsilon=epsilon, n_components=n_components)
    return fixed_variance(epsilon=epsilon, n_components=n_components)


@quiet
def release_projection(
    X: ArrayLike, y: ArrayLike, *, n_components: int, variance: float, rng: np.random.Generator
) -> ProjectionRelease:
    r"""Draw the release (12): :math:`(SX+\sigma N,\ Sy)` with one Gaussian S for both.

    Entries of X outside [-1, 1] are clipped; y (n,) or (n, k), responses and other public columns,
    is **not protected**. With ``variance`` :math:`n'/(2^{2\epsilon}-1)` it is epsilon-MI-DP for
    every entry of X, all data and every fixed y, even if S is published. Drawn in blocks: S never
    takes more than about 64 MB. Research noise in floating point, not a release.
    """
    rows, labels = _check_pair(X, y, columns=True)
    n = check_integer("n_components", n_components)
    scale = np.sqrt(check_nonnegative("variance", variance))
    check_rng(rng)
    data = np.column_stack([np.clip(rows, -1.0, 1.0), labels])
    record_draw(
        "event", "a projected table", scale=scale, shape=(n, len(rows) + rows.shape[1]),
        stated=lambda delta: row_epsilon(
            delta=delta, variance=variance, n_components=n, row_change=2.0
        ),
    )  # fmt: skip
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
    """
    Z, target = _check_pair(release.X, release.y, columns=True)
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
    """
    Z, target = _check_pair(release.X, release.y, columns=True)
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
