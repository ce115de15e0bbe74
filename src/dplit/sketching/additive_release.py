r"""The two additive mechanisms on vectors, and noisy sums of features.

The noise is complex where the vector is: real noise would leave imaginary parts in the clear.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array
from dplit._estimators import clamp
from dplit.mechanisms import gaussian_noise, laplace_noise

__all__ = ["exact_sum", "gaussian_release", "laplace_release", "noisy_sum"]


def exact_sum(rows: NDArray[Any]) -> NDArray[Any]:
    """Sum of finite rows (n, m), rounded once: the same bits for every order of the rows.

    A plain sum rounds at every step, so that one row more moves the rounding of all the others.
    Real and imaginary parts are clamped to +-1e150 first, and the sum overflows for no row.
    """
    kind = np.complex128 if rows.dtype.kind == "c" else np.float64
    parts = clamp(np.ascontiguousarray(rows, kind).view(np.float64))
    return np.array([math.fsum(column) for column in parts.T.tolist()]).view(kind)


def laplace_release(value: ArrayLike, *, scale: float, rng: np.random.Generator) -> NDArray[Any]:
    r"""Return a vector with independent Laplace noise of scale b on every real coordinate.

    Parameters
    ----------
    value : array_like
        Finite real or complex vector (or an array of them).
    scale : float
        Scale b > 0 of each real coordinate; a complex entry gets two draws.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    ndarray of float64 or complex128
        The release: :math:`\Delta_1/b`-private, and no better, where :math:`\Delta_1` counts
        real and imaginary parts. Floating-point noise is for research.

    Raises
    ------
    TypeError, ValueError
        If ``value`` is not finite, ``scale`` not positive or ``rng`` no Generator.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 12 and Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.additive_release import laplace_release
    >>> laplace_release([1j, 2.0], scale=0.1, rng=np.random.default_rng(0)).dtype
    dtype('complex128')
    """
    vector = check_finite_array("value", value)
    noise = laplace_noise(vector.shape, scale=scale, rng=rng, complex=vector.dtype.kind == "c")
    release: NDArray[Any] = vector + noise
    return release


def gaussian_release(value: ArrayLike, *, sigma: float, rng: np.random.Generator) -> NDArray[Any]:
    r"""Return a vector with independent Gaussian noise of deviation sigma on every real coordinate.

    Parameters
    ----------
    value : array_like
        Finite real or complex vector (or an array of them).
    sigma : float
        Standard deviation of each real coordinate; a complex entry gets two draws.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    ndarray of float64 or complex128
        The release, with the profile of :func:`dplit.mechanisms.gaussian_delta` at the
        :math:`\ell_2` sensitivity. Floating-point noise is for research.

    Raises
    ------
    TypeError, ValueError
        If ``value`` is not finite, ``sigma`` not positive or ``rng`` no Generator.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 15.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.additive_release import gaussian_release
    >>> gaussian_release([1.0, 2.0], sigma=0.1, rng=np.random.default_rng(0)).dtype
    dtype('float64')
    """
    vector = check_finite_array("value", value)
    noise = gaussian_noise(vector.shape, sigma=sigma, rng=rng, complex=vector.dtype.kind == "c")
    release: NDArray[Any] = vector + noise
    return release


def noisy_sum(
    features: ArrayLike,
    *,
    noise: Literal["laplace", "gaussian"],
    scale: float,
    rng: np.random.Generator,
) -> NDArray[Any]:
    r"""Return the noisy sum of features :math:`\sum_i\Phi(x_i)+\xi`.

    Parameters
    ----------
    features : array_like of shape (n, m)
        The features of n records, real or complex.
    noise : {"laplace", "gaussian"}
        Law of the noise.
    scale : float
        Scale b of Laplace noise, or standard deviation of Gaussian noise, per real coordinate.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    ndarray of shape (m,)
        One noise vector on the sum, not one per record. The sum has the same bits for every order
        of the records.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 17 and 19.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.additive_release import noisy_sum
    >>> noisy_sum(np.ones((5, 3)), noise="laplace", scale=1.0, rng=np.random.default_rng(0)).shape
    (3,)
    """
    rows = check_finite_array("features", features, ndim=2)
    check_choice("noise", noise, get_args(Literal["laplace", "gaussian"]))
    if noise == "laplace":
        return laplace_release(exact_sum(rows), scale=scale, rng=rng)
    return gaussian_release(exact_sum(rows), sigma=scale, rng=rng)
