r"""K-norm noise for Fourier features: the polydisc and, for one-bit features, the cube.

All features lie in the polydisc :math:`\max_j|z_j|\le1`, and one-bit features in the cube
:math:`\max_j(|\Re z_j|,|\Im z_j|)\le2^{-1/2}` inside it. Noise with density
:math:`e^{-\epsilon\|z\|_K}`, K one of these bodies, makes a sum private with loss exactly epsilon
where a record is added.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array, check_integer, check_positive
from dplit.mechanisms import cube_noise, laplace_noise, polydisc_noise

__all__ = ["PureNoise", "body_norm", "knorm_loss", "noise_energy", "pure_noise"]

PureNoise = Literal["laplace", "polydisc", "cube"]


def body_norm(vectors: ArrayLike, *, noise: PureNoise) -> NDArray[np.float64]:
    r"""Return the norm in which a feature vector has at most unit length, per law of noise.

    Parameters
    ----------
    vectors : array_like of shape (..., m)
        Complex vectors.
    noise : {"laplace", "polydisc", "cube"}
        :math:`(\|\Re z\|_1+\|\Im z\|_1)/(m\sqrt2)`, :math:`\max|z_j|`, or
        :math:`\sqrt2\max(|\Re z_j|,|\Im z_j|)`.

    Returns
    -------
    ndarray of shape (...)
        Fourier features have at most 1 in the first two, one-bit features exactly 1 in all three.

    Raises
    ------
    TypeError, ValueError
        If ``vectors`` is not numeric, finite and nonempty, or ``noise`` is unknown.

    Examples
    --------
    >>> from dplit.sketching.knorm import body_norm
    >>> body_norm([[0.6 + 0.8j, 1j]], noise="polydisc")
    array([1.])
    """
    z = check_finite_array("vectors", vectors)
    check_choice("noise", noise, get_args(PureNoise))
    if noise == "laplace":
        sums = (np.abs(z.real) + np.abs(z.imag)).sum(axis=-1)
        return np.asarray(sums / (np.sqrt(2.0) * z.shape[-1]))
    if noise == "polydisc":
        return np.asarray(np.abs(z).max(axis=-1))
    return np.asarray(np.sqrt(2.0) * np.maximum(np.abs(z.real), np.abs(z.imag)).max(axis=-1))


def knorm_loss(
    noise_draws: ArrayLike, feature: ArrayLike, *, noise: PureNoise, epsilon: float
) -> NDArray[np.float64]:
    r"""Return the privacy loss of one added record, at outputs given by the noise they contain.

    Parameters
    ----------
    noise_draws : array_like of shape (..., m)
        Noise vectors: output minus the sum of the features with the record.
    feature : array_like of shape (m,)
        Feature of the record.
    noise : {"laplace", "polydisc", "cube"}
        Law, with density proportional to :math:`e^{-\epsilon\|z\|_K}`.
    epsilon : float
        Its budget, positive.

    Returns
    -------
    ndarray of shape (...)
        :math:`\epsilon(\|\xi+\Phi\|_K-\|\xi\|_K)`, in
        :math:`[-\epsilon\|\Phi\|_K,\epsilon\|\Phi\|_K]`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.knorm import knorm_loss
    >>> knorm_loss([[0j, 0j]], [1.0, 1j], noise="polydisc", epsilon=0.5)
    array([0.5])
    """
    draws = check_finite_array("noise_draws", noise_draws)
    step = check_finite_array("feature", feature, ndim=1)
    change = body_norm(draws + step, noise=noise) - body_norm(draws, noise=noise)
    return check_positive("epsilon", epsilon) * change


def noise_energy(n_components: int, *, noise: PureNoise, epsilon: float) -> float:
    r"""Return :math:`E|\xi_j|^2` of one entry of the noise on a sum of Fourier features.

    Parameters
    ----------
    n_components : int
        Frequencies m, at least 1.
    noise : {"laplace", "polydisc", "cube"}
        Law of the noise; the cube is for one-bit features.
    epsilon : float
        Budget where a record is added or removed, positive.

    Returns
    -------
    float
        :math:`8m^2/\epsilon^2`, :math:`(2m+1)(m+1)/\epsilon^2`, or
        :math:`(2m+1)(2m+2)/(3\epsilon^2)`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Laplace noise has scale :math:`\sqrt2m/\epsilon` and :math:`4b^2`. Otherwise the radius R is
    Gamma(2m + 1), so :math:`ER^2=(2m+1)(2m+2)/\epsilon^2`; a point uniform in the unit disc has
    mean square 1/2, one uniform in :math:`2^{-1/2}[-1,1]^2` has 1/3.

    References
    ----------
    M. Hardt and K. Talwar, On the geometry of differential privacy, STOC 2010, arXiv:0907.3754v3.

    Examples
    --------
    >>> from dplit.sketching.knorm import noise_energy
    >>> [round(noise_energy(50, noise=k, epsilon=1.0)) for k in ("laplace", "polydisc", "cube")]
    [20000, 5151, 3434]
    """
    m = check_integer("n_components", n_components)
    check_choice("noise", noise, get_args(PureNoise))
    energy = {
        "laplace": 8.0 * m**2,
        "polydisc": (2.0 * m + 1) * (m + 1),
        "cube": (2.0 * m + 1) * (2 * m + 2) / 3.0,
    }[noise]
    return energy / check_positive("epsilon", epsilon) ** 2


def pure_noise(
    n_components: int,
    *,
    noise: PureNoise,
    epsilon: float,
    rng: np.random.Generator,
    size: int | None = None,
) -> NDArray[np.complex128]:
    r"""Return noise that makes a sum of Fourier features epsilon-private where a record is added.

    Parameters
    ----------
    n_components : int
        Frequencies m, at least 1.
    noise : {"laplace", "polydisc", "cube"}
        Law; "cube" for one-bit features only.
    epsilon : float
        Budget, positive.
    rng : numpy.random.Generator
        Source of the noise.
    size : int, optional
        Number of independent vectors; None is a single one.

    Returns
    -------
    ndarray of complex128, of shape (m,) or (size, m)
        Density proportional to :math:`e^{-\epsilon\|z\|_K}`, K as in :func:`body_norm`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.knorm import pure_noise
    >>> pure_noise(3, noise="cube", epsilon=1.0, rng=np.random.default_rng(0)).shape
    (3,)
    """
    m = check_integer("n_components", n_components)
    check_choice("noise", noise, get_args(PureNoise))
    epsilon = check_positive("epsilon", epsilon)
    if noise == "laplace":
        shape = (m,) if size is None else (check_integer("size", size), m)
        return laplace_noise(shape, scale=np.sqrt(2.0).item() * m / epsilon, rng=rng, complex=True)
    if noise == "polydisc":
        return polydisc_noise(m, rate=epsilon, rng=rng, size=size)
    return cube_noise(m, rate=np.sqrt(2.0).item() * epsilon, rng=rng, size=size)
