"""The synthetic data of Figures 1 to 3: two test functions of Gaussian inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array, check_integer, check_rng

__all__ = ["draw_data", "f1", "f2"]

_Array = NDArray[np.float64]


def f1(X: ArrayLike) -> _Array:
    """First test function, ``sqrt(1 + ||x||_2)``: unbounded, with a kink at 0.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Finite.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> f1([[0.0, 0.0], [0.0, 3.0]])
    array([1., 2.])
    """
    return np.asarray(np.sqrt(1.0 + np.linalg.norm(check_finite_array("X", X, ndim=2), axis=1)))


def f2(X: ArrayLike) -> _Array:
    """Second test function, ``sum_i exp(-|x_i|)``: kinks wherever a coordinate is 0.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Finite.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> f2([[0.0, 0.0]])
    array([2.])
    """
    return np.asarray(np.exp(-np.abs(check_finite_array("X", X, ndim=2))).sum(axis=1))


def draw_data(
    n: int, dimension: int, function: str, *, rng: np.random.Generator
) -> tuple[_Array, _Array]:
    """Return standard normal inputs and noise-free labels divided by the norm of all labels.

    Parameters
    ----------
    n : int
        Number of records, training and test together.
    dimension : int
        Number of inputs.
    function : {"f1", "f2"}
    rng : numpy.random.Generator

    Returns
    -------
    X : ndarray of shape (n, dimension)
    y : ndarray of shape (n,)
        Of norm 1: its mean square is 1/n, which is why every error of Figures 1 and 2 looks small.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Section 4.1, "Synthetic data".

    Examples
    --------
    >>> X, y = draw_data(8, 3, "f1", rng=np.random.default_rng(0))
    >>> X.shape, round(float(y @ y), 12)
    ((8, 3), 1.0)
    """
    check_choice("function", function, ("f1", "f2"))
    shape = (check_integer("n", n), check_integer("dimension", dimension))
    X = check_rng(rng).standard_normal(shape)
    y = f1(X) if function == "f1" else f2(X)
    return X, y / np.linalg.norm(y)
