"""What noise that does not look at the data guarantees for projections: residuals, classes,
limits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.entries._checks import check_pair
from dplit.entries._quadrature import chi_nodes, legendre
from dplit.entries.privacy import additive_sigma
from dplit.papers.projection.leakage import _augmented, _check_entry


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
    (t, mass), (z, width) = chi_nodes(n, 96), legendre(-9.0, 9.0, 96)
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
    rows, labels = check_pair(X, y)
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
