r"""The trap of the unpenalised intercept: a support vector machine that no theorem here covers.

With an intercept that the penalty does not see, the objective is not strongly convex in the pair of
function and intercept. One label among a hundred then turns the whole fit over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit.erm.losses import check_targets

__all__ = ["InterceptFit", "fit_with_intercept", "majority_pair"]


class InterceptFit(NamedTuple):
    r"""A function :math:`x\mapsto\langle w,x\rangle+b`.

    Attributes
    ----------
    weights : ndarray, shape (d,)
    intercept : float
        b, the value at 0.
    """

    weights: NDArray[np.float64]
    intercept: float


def fit_with_intercept(X: ArrayLike, y: ArrayLike, *, regularization: float) -> InterceptFit:
    r"""Minimise :math:`\frac1m\sum_i(1-y_i(\langle w,x_i\rangle+b))_++\lambda\|w\|^2` over w and b.

    Parameters
    ----------
    X : array_like, shape (m, d)
    y : array_like, shape (m,)
        Labels, both -1 and +1.
    regularization : float
        lambda, positive; the intercept b is free.

    Returns
    -------
    InterceptFit
        What ``sklearn.svm.SVC(kernel="linear", C=1 / (2 * lambda * m))`` computes.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, or only one label occurs.

    Examples
    --------
    >>> fit = fit_with_intercept([[-1.0], [1.0]], [-1, 1], regularization=0.1)
    >>> abs(round(fit.intercept, 6))
    0.0
    """
    points = np.asarray(check_finite_array("X", X, ndim=2), dtype=np.float64)
    labels = check_targets("hinge", y)
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y must hold both labels, got only {labels[0]:g}")
    penalty = 2.0 * check_positive("regularization", regularization) * len(labels)
    machine = SVC(kernel="linear", C=1.0 / penalty, tol=1e-8).fit(points, labels)
    return InterceptFit(np.asarray(machine.coef_[0]), float(machine.intercept_[0]))


def majority_pair(
    n_records: int, *, radius: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Points near 0 whose labels are balanced up to one, before and after one label flips.

    Parameters
    ----------
    n_records : int
        m, odd and at least 3.
    radius : float
        The points are equally spaced on [-radius, radius]; positive.

    Returns
    -------
    points : ndarray, shape (m, 1)
    labels, other_labels : ndarray, shape (m,)
        Alternating signs that start and end with +1; the other labels have -1 in the middle place
        or beside it, where a +1 was, so that the majority changes.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    If :math:`\lambda` is so large that :math:`|\langle w,x\rangle|` stays small, the best intercept
    is near the majority label: it jumps by 2, for every m.

    Examples
    --------
    >>> majority_pair(3, radius=1.0)[1]
    array([ 1., -1.,  1.])
    """
    m = check_integer("n_records", n_records, minimum=3)
    if m % 2 == 0:
        raise ValueError(f"n_records must be odd, got n_records={n_records!r}")
    edge = check_positive("radius", radius)
    labels = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    other = labels.copy()
    other[m // 2 + (m // 2) % 2] = -1.0
    return np.linspace(-edge, edge, m)[:, None], labels, other
