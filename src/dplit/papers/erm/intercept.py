"""The trap of the unpenalised intercept.

The objective is not strongly convex, no theorem here covers it, and one label among a hundred
turns the whole fit over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC

from dplit._checks import Array, check_integer, check_positive, check_real_array
from dplit.kernels.losses import check_targets


class _InterceptFit(NamedTuple):
    r"""A function :math:`x\mapsto\langle w,x\rangle+b` with the intercept b."""

    weights: Array
    intercept: float


def fit_with_intercept(X: ArrayLike, y: ArrayLike, *, regularization: float) -> _InterceptFit:
    r"""Minimise :math:`\frac1m\sum_i(1-y_i(\langle w,x_i\rangle+b))_++\lambda\|w\|^2`, b free."""
    points = check_real_array("X", X, 2)
    labels = check_targets("hinge", y)
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y must hold both labels, got only {labels[0]:g}")
    penalty = 2.0 * check_positive("regularization", regularization) * len(labels)
    machine = SVC(kernel="linear", C=1.0 / penalty, tol=1e-8).fit(points, labels)
    return _InterceptFit(np.asarray(machine.coef_[0]), float(machine.intercept_[0]))


def majority_pair(n_records: int, *, radius: float) -> tuple[Array, Array, Array]:
    """Points near 0 whose labels are balanced up to one, before and after one label flips.

    The points, shape (m, 1), are equally spaced on [-radius, radius]; m is odd. Returns points,
    labels and the other labels, in which the majority has changed.
    """
    m = check_integer("n_records", n_records, minimum=3)
    if m % 2 == 0:
        raise ValueError(f"n_records must be odd, got n_records={n_records!r}")
    edge = check_positive("radius", radius)
    labels = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    other = labels.copy()
    other[m // 2 + (m // 2) % 2] = -1.0
    return np.linspace(-edge, edge, m)[:, None], labels, other
