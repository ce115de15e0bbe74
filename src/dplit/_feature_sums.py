"""Sums over records or frequencies of a random feature map that is never formed."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array
from dplit._feature_blocks import Kind, Plan, frequency_blocks, row_blocks

__all__ = ["feature_gram", "feature_mean", "feature_moments"]

#: Bytes of one block of frequencies in :func:`feature_gram`.
_GRAM_BLOCK_BYTES = 1 << 26


def feature_gram(
    X: ArrayLike,
    frequencies: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    kind: Kind = "cos_sin",
    phases: ArrayLike | None = None,
    normalize: bool = True,
) -> NDArray[Any]:
    """Gram matrix ``<phi(x_j), phi(y_l)>`` of a random feature map that is never formed.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records; float32 gives a single-precision Gram matrix.
    frequencies : array_like of shape (n_features, K)
        One frequency per column.
    Y : array_like of shape (n_others, n_features), optional
        Other records; by default X itself, and the result is Hermitian.
    kind : {"cos_sin", "phased_cosine", "complex"}, default="cos_sin"
        Which of the three maps.
    phases : array_like of shape (K,), optional
        Needed by, and only by, ``"phased_cosine"``.
    normalize : bool, default=True
        Whether the map carries its factor ``1/sqrt(K)`` (``sqrt(2/K)`` for phased cosines).

    Returns
    -------
    ndarray of shape (n_samples, n_others)
        ``Phi(X) Phi(Y)^*``; complex for the complex map. Its expectation over the frequencies is
        the kernel matrix ``exp(-gamma ||x_j - y_l||^2)``.

    Raises
    ------
    TypeError, ValueError
        If an array is not numeric, not finite, empty or of the wrong shape.

    Notes
    -----
    Summed over blocks of frequencies; memory: the result, one product of its size and one block of
    64 MB (of one frequency if that is larger).

    Examples
    --------
    >>> from dplit.features import feature_gram
    >>> feature_gram([[0.0], [1.0]], [[3.141592653589793]]).round(12)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    check_choice("kind", kind, get_args(Kind))
    left = Plan.make(X, frequencies, phases, kind=kind, normalize=normalize)
    right = left if Y is None else left.beside(Y)
    gram = np.zeros((len(left.X), len(right.X)), left.dtype)
    per_frequency = (len(left.X) + len(right.X)) * left.dtype.itemsize
    step = max(1, _GRAM_BLOCK_BYTES // per_frequency)
    if right is left:
        for block in frequency_blocks(left, step):
            gram += block @ block.conj().T
        return gram
    others = frequency_blocks(right, step)
    for block, other in zip(frequency_blocks(left, step), others, strict=True):
        gram += block @ other.conj().T
    return gram


def feature_mean(
    X: ArrayLike,
    frequencies: ArrayLike,
    *,
    kind: Kind = "complex",
    phases: ArrayLike | None = None,
    normalize: bool = False,
) -> NDArray[Any]:
    """Mean of the feature map over the records: the sketch of the data set.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    frequencies : array_like of shape (n_features, K)
        One frequency per column.
    kind : {"complex", "cos_sin", "phased_cosine"}, default="complex"
        Which of the three maps.
    phases : array_like of shape (K,), optional
        Needed by, and only by, ``"phased_cosine"``.
    normalize : bool, default=False
        Whether the map carries its factor ``1/sqrt(K)`` (``sqrt(2/K)`` for phased cosines).

    Returns
    -------
    ndarray of shape (n_outputs,), float64 or complex128
        ``(1/n) sum_j phi(x_j)``; by default the empirical characteristic function.

    Raises
    ------
    TypeError, ValueError
        If an array is not numeric, not finite, empty or of the wrong shape.

    Examples
    --------
    >>> from dplit.features import feature_mean
    >>> feature_mean([[0.0], [3.141592653589793]], [[1.0, 2.0]]).real.round(12)
    array([0., 1.])
    """
    check_choice("kind", kind, get_args(Kind))
    plan = Plan.make(X, frequencies, phases, kind=kind, normalize=normalize)
    wide = np.result_type(plan.dtype, np.float64)
    total = np.zeros(plan.n_outputs, wide)
    for _, block in row_blocks(plan):
        total += block.sum(axis=0, dtype=wide)
    return total / len(plan.X)


def feature_moments(
    X: ArrayLike,
    y: ArrayLike,
    frequencies: ArrayLike,
    *,
    kind: Kind = "cos_sin",
    phases: ArrayLike | None = None,
    normalize: bool = True,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sufficient statistics ``Phi^* Phi`` and ``Phi^* y`` of least squares on random features.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records.
    y : array_like of shape (n_samples,)
        Finite labels.
    frequencies : array_like of shape (n_features, K)
        One frequency per column.
    kind : {"cos_sin", "phased_cosine", "complex"}, default="cos_sin"
        Which of the three maps.
    phases : array_like of shape (K,), optional
        Needed by, and only by, ``"phased_cosine"``.
    normalize : bool, default=True
        Whether the map carries its factor ``1/sqrt(K)`` (``sqrt(2/K)`` for phased cosines).

    Returns
    -------
    tuple of ndarray, shapes (n_outputs, n_outputs) and (n_outputs,)
        Neither is private: :func:`dplit.baselines.sufficient_statistics` adds the noise.

    Raises
    ------
    TypeError, ValueError
        If an array is not numeric, not finite, empty or of the wrong shape.

    Examples
    --------
    >>> from dplit.features import feature_moments
    >>> second, first = feature_moments([[0.0], [0.0]], [1.0, 3.0], [[1.0]])
    >>> second.tolist(), first.tolist()
    ([[2.0, 0.0], [0.0, 0.0]], [4.0, 0.0])
    """
    check_choice("kind", kind, get_args(Kind))
    plan = Plan.make(X, frequencies, phases, kind=kind, normalize=normalize)
    labels = check_finite_array("y", y, ndim=1)
    if len(labels) != len(plan.X):
        raise ValueError(f"y must have {len(plan.X)} entries, got y of shape {labels.shape}")
    wide = np.result_type(plan.dtype, np.float64)
    second = np.zeros((plan.n_outputs,) * 2, wide)
    first = np.zeros(plan.n_outputs, wide)
    for rows, block in row_blocks(plan):
        second += block.conj().T @ block
        first += block.conj().T @ labels[rows]
    return second, first
