r"""What the repaired noise guarantees, how nearly it is used up, and what a promise could save.

Statement A: with :math:`\sigma^2=n'/(2^{2\epsilon}-1)` the release is epsilon-MI-DP for every
entry, all X in [-1, 1] and every fixed y, even if S is published. Statement B: with a variance
:math:`\lambda` fixed in advance it is epsilon-MI-DP over the class of data with
:math:`[A^{-1}]_{jj}\le(2^{2\epsilon}-1)/n'` for all entries; it suffices that
:math:`\lambda+\sigma_{\min}^2(P^\perp_{y_{-i}}X_{-i})\ge n'/(2^{2\epsilon}-1)` for all rows i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_positive
from dplit.projection.leakage import augmented

__all__ = ["class_scale", "public_sketch_leakage", "residual_energy"]

_Array = NDArray[np.float64]


def public_sketch_leakage(
    *, variance: float, n_components: int, low: float = -1.0, high: float = 1.0
) -> float:
    r"""Bits about an entry that is ``low`` or ``high`` with equal odds, if S is published as well.

    Parameters
    ----------
    variance : float
        Noise variance, positive.
    n_components : int
        Rows n' of the release.
    low, high : float
        The two values.

    Returns
    -------
    float
        In [0, 1]. It does not depend on the other entries, nor on y: given S they are subtracted.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    The matched filter sees :math:`x\|s_i\|+\sigma N(0,1)`, so this is the mean of
    :math:`1-E\log_2(1+e^{-2u-2\sqrt uZ})` over
    :math:`u=\frac{(high-low)^2}{4\sigma^2}\chi^2_{n'}`.

    Examples
    --------
    >>> round(public_sketch_leakage(variance=1000.0, n_components=1000), 4)
    0.4857
    """
    n = check_integer("n_components", n_components)
    distance = (high - low) / (2 * np.sqrt(check_positive("variance", variance)))
    nodes, weights = np.polynomial.legendre.leggauss(96)
    bottom, top = float(chi.ppf(1e-16, n)), float(chi.isf(1e-16, n))
    t = (bottom + top) / 2 + (top - bottom) / 2 * nodes
    mass = weights * (top - bottom) / 2 * chi.pdf(t, n)
    z = 9.0 * nodes
    normal = weights * 9.0 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    u = (distance * t) ** 2
    loss = np.logaddexp(0.0, -2 * u[:, None] - 2 * np.sqrt(u)[:, None] * z) / np.log(2.0)
    return float(mass @ (1 - loss @ normal))


def residual_energy(
    X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int, column: int
) -> float:
    r"""Scale that protects an entry: :math:`1/[A^{-1}]_{jj}` as a regression residual.

    Parameters
    ----------
    X, y, variance, row, column
        As in :func:`dplit.projection.leakage.single_entry`.

    Returns
    -------
    float
        :math:`\lambda+\min_{w,u}\|x_j-X_{-j}w-yu\|^2+\lambda\|w\|^2` over the rows other than i:
        what is left of column j after the other columns and y have explained what they can. The
        proof of Lemma 2 uses :math:`\lambda+\|x_j\|^2`, the energy before regression.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape or range.

    Examples
    --------
    >>> X = [[0.5, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
    >>> round(residual_energy(X, None, variance=0.0, row=0, column=0), 6)
    2.666667
    """
    rows, M = augmented(X, y, variance)
    i, j = check_integer("row", row, minimum=0), check_integer("column", column, minimum=0)
    if i >= rows.shape[0] or j >= rows.shape[1]:
        raise ValueError(f"the entry ({i}, {j}) must exist in X of shape {rows.shape}")
    rest = np.delete(M, i, axis=0)
    target, others = rest[:, j], np.delete(rest, j, axis=1)
    if others.shape[1] == 0:
        return float(target @ target)
    weights = np.linalg.lstsq(others, target, rcond=None)[0]
    residual = target - others @ weights
    return float(residual @ residual)


def class_scale(X: ArrayLike, y: ArrayLike | None, *, variance: float) -> float:
    r"""Scale of Statement B: what the least singular value guarantees for every entry.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Data.
    y : array_like of shape (n,) or None
        Responses, if S y is released.
    variance : float
        Noise variance :math:`\lambda`, fixed in advance.

    Returns
    -------
    float
        :math:`\lambda+\min_i\sigma_{\min}^2(P^\perp_{y_{-i}}X_{-i})`. It never exceeds
        :math:`\min_{i,j}1/[A^{-1}]_{jj}`; if it reaches :math:`n'/(2^{2\epsilon}-1)` the release is
        epsilon-MI-DP over all data that have it.

    Raises
    ------
    TypeError, ValueError
        If an array has the wrong shape or the variance is negative.

    Examples
    --------
    >>> class_scale([[1.0], [1.0], [0.5]], None, variance=1.0)
    2.25
    """
    rows = np.asarray(check_finite_array("X", X, ndim=2), dtype=float)
    floor = check_nonnegative("variance", variance)
    labels = None if y is None else np.asarray(check_finite_array("y", y, ndim=1), dtype=float)
    smallest = np.inf
    for i in range(len(rows)):
        rest = np.delete(rows, i, axis=0)
        if labels is not None:
            known = np.delete(labels, i)
            length = np.linalg.norm(known)
            if length > 0:
                rest = rest - np.outer(known, known @ rest) / length**2
        values = np.linalg.eigvalsh(rest.T @ rest)
        smallest = min(smallest, max(float(values[0]), 0.0))
    return floor + smallest
