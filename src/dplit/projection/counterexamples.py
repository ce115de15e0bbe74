r"""Data on which the printed projection leaks more than its budget, small enough for a blackboard.

Three mechanisms of leakage: the other columns share S with the column in question; so does y; and
the printed noise variance is itself a function of the entry. In each family the printed variance
is computed by :func:`dplit.projection.projection.printed_variance`, never assumed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_positive
from dplit.projection.channels import Bits, scale_information
from dplit.projection.projection import printed_variance

__all__ = [
    "collinear_bystanders",
    "disjoint_columns",
    "paired_columns",
    "scale_leakage",
    "shared_sketch_leakage",
    "single_column",
]

_Array = NDArray[np.float64]


def paired_columns(x: float, *, n_records: int = 3) -> _Array:
    """Two columns that agree except in row 1, where they hold x and 0; all else is 1.

    Parameters
    ----------
    x : float
        Alice's entry, in [-1, 1].
    n_records : int, default=3
        Rows n, at least 3. The energy floor f^2 is n - 2 for every x.

    Returns
    -------
    ndarray of shape (n_records, 2)
        The columns of the release differ by ``s_1 x``, whatever the other rows are.

    Raises
    ------
    TypeError, ValueError
        If x is outside [-1, 1] or there are fewer than 3 rows.

    Examples
    --------
    >>> paired_columns(0.5)
    array([[0.5, 0. ],
           [1. , 1. ],
           [1. , 1. ]])
    """
    n = check_integer("n_records", n_records, minimum=3)
    X = np.ones((n, 2))
    X[0] = _entry(x), 0.0
    return X


def single_column(x: float, *, n_records: int = 3) -> tuple[_Array, _Array]:
    """One column (x, 1, ..., 1) and the responses (0, 1, ..., 1).

    Parameters
    ----------
    x : float
        Alice's entry, in [-1, 1].
    n_records : int, default=3
        Rows n, at least 3.

    Returns
    -------
    X, y : ndarray of shape (n_records, 1) and (n_records,)
        ``S X - S y = s_1 x``.

    Raises
    ------
    TypeError, ValueError
        If x is outside [-1, 1] or there are fewer than 3 rows.

    Examples
    --------
    >>> X, y = single_column(0.25)
    >>> X.ravel(), y
    (array([0.25, 1.  , 1.  ]), array([0., 1., 1.]))
    """
    both = paired_columns(x, n_records=n_records)
    return both[:, :1], both[:, 1]


def _entry(x: float) -> float:
    value = check_nonnegative("abs(x)", abs(x))
    if value > 1:
        raise ValueError(f"x must be in [-1, 1], got x={x!r}")
    return float(x)


def shared_sketch_leakage(levels: ArrayLike, *, n_components: int = 1) -> Bits:
    r"""Information on the entry of :func:`paired_columns` or :func:`single_column`, without noise.

    Parameters
    ----------
    levels : array_like of shape (m,)
        Nonzero values of the entry, equally likely.
    n_components : int, default=1
        Rows n' of the release.

    Returns
    -------
    Bits
        The differences of the two released columns are :math:`s_{k1}x`, independent of the second
        one, so the channel is the scale :math:`x^2` seen through n' Gaussian samples.

    Raises
    ------
    TypeError, ValueError
        If a level is zero or n' is no count.

    Examples
    --------
    >>> round(shared_sketch_leakage([1.0, 0.1]).value, 3)
    0.625
    """
    values = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    if np.any(values == 0):
        raise ValueError("levels must not be zero: x = 0 would be recognised with certainty")
    return scale_information(values**2, n_samples=n_components)


def collinear_bystanders(square: float, *, small: float = 1e-3) -> _Array:
    r"""A table of 25 rows and 3 columns whose collinear bystanders reveal the printed variance.

    Parameters
    ----------
    square : float
        :math:`x^2` of the entry in row 1 of column 1, in [0, 1].
    small : float, default=1e-3
        The one entry by which columns 2 and 3 differ.

    Returns
    -------
    ndarray of shape (25, 3)
        Column 1 has x and ten ones, column 2 thirteen ones elsewhere, column 3 the same and
        ``small`` in the last row. With n' = 10 and half a bit, (13) gives :math:`1-x^2`, and the
        difference of columns 2 and 3 has the variance :math:`small^2+2(1-x^2)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(printed_variance(collinear_bystanders(0.75), epsilon=0.5, n_components=10), 12)
    0.25
    """
    value = check_nonnegative("square", square)
    X = np.zeros((25, 3))
    X[0, 0] = _entry(float(np.sqrt(value)))
    X[1:11, 0] = 1.0
    X[11:24, 1:] = 1.0
    X[24, 2] = check_positive("small", small)
    return X


def disjoint_columns(square: float, *, ones: int, n_features: int) -> _Array:
    r"""Columns with disjoint supports: the shared S plays no role, the printed variance does.

    Parameters
    ----------
    square : float
        :math:`x^2` of the entry in row 1 of column 1, in [0, 1].
    ones : int
        Ones per column m, at least 2; column 1 has one fewer, and x.
    n_features : int
        Columns d, at least 2.

    Returns
    -------
    ndarray of shape (ones * n_features, n_features)
        (13) gives :math:`c+2-m-x^2` (if positive), which every other column shows.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> X = disjoint_columns(1.0, ones=3, n_features=2)
    >>> round(printed_variance(X, epsilon=0.5, n_components=10), 12)
    8.0
    """
    m = check_integer("ones", ones, minimum=2)
    d = check_integer("n_features", n_features, minimum=2)
    X: _Array = np.kron(np.eye(d), np.ones((m, 1))).astype(np.float64)
    X[0, 0] = _entry(float(np.sqrt(check_nonnegative("square", square))))
    return X


def scale_leakage(
    tables: list[_Array], weights: ArrayLike, *, epsilon: float, n_components: int
) -> Bits:
    r"""Information that columns without the entry give, because the printed variance depends on it.

    Parameters
    ----------
    tables : list of ndarray of shape (n, d)
        The data for each value of the entry, equally likely; they agree outside column 1.
    weights : array_like of shape (d,) or (m, d)
        Each row is a combination of columns, zero on column 1; combinations must be orthogonal in
        the released covariance of every table and have equal variance.
    epsilon : float
        Claimed budget in bits.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    Bits
        A lower bound on the leakage of the whole release (data processing).

    Raises
    ------
    TypeError, ValueError
        If a combination uses column 1, or the combinations are not as required.

    Examples
    --------
    >>> tables = [collinear_bystanders(1.0 - gap) for gap in (1.0, 1e-2)]
    >>> round(scale_leakage(tables, [0, 1, -1], epsilon=0.5, n_components=10).value, 2)
    1.0
    """
    W = np.atleast_2d(np.asarray(check_finite_array("weights", weights), dtype=float))
    if np.any(W[:, 0] != 0):
        raise ValueError("weights must be zero on column 1, which holds the entry")
    variances = []
    for table in tables:
        printed = printed_variance(table, epsilon=epsilon, n_components=n_components)
        covariance = W @ (table.T @ table + printed * np.eye(table.shape[1])) @ W.T
        size = float(covariance[0, 0])
        if not np.allclose(covariance, size * np.eye(len(W)), rtol=1e-9, atol=1e-9 * size):
            raise ValueError("weights must give independent combinations of equal variance")
        variances.append(size)
    return scale_information(variances, n_samples=n_components * len(W))
