r"""Losses of a confidence margin, and by how much one record can move their means.

All functions of this module act on values :math:`u=y\langle w,x\rangle`, elementwise; the empirical
loss is the mean of what they return.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_positive
from dplit._exact import grid_values

__all__ = [
    "bounded_hinge_mean",
    "hinge_loss",
    "hinge_sensitivity",
    "margin_loss",
    "normalized_margin",
    "ramp_loss",
    "zero_one_loss",
    "zero_one_sensitivity",
]

Array = NDArray[np.float64]


def _values(u: ArrayLike) -> Array:
    array = check_finite_array("u", u)
    if array.dtype.kind == "c":
        raise TypeError(f"u must be real, got u of dtype {array.dtype}")
    return array.astype(np.float64, copy=False)


def normalized_margin(*, margin: float, data_norm: float = 1.0, weight_norm: float = 1.0) -> float:
    r"""Margin as a share of the largest possible one, :math:`a=\rho/(\Lambda r)`.

    Parameters
    ----------
    margin : float
        :math:`\rho` in :math:`(0,\Lambda r]`.
    data_norm : float, default=1.0
        Radius r of the ball of the features, positive.
    weight_norm : float, default=1.0
        Norm bound :math:`\Lambda` of the comparator, positive.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive, or the margin is larger than :math:`\Lambda r`, which no
        point attains.

    Examples
    --------
    >>> normalized_margin(margin=0.5, data_norm=2.0)
    0.25
    """
    rho = check_positive("margin", margin)
    r, norm = check_positive("data_norm", data_norm), check_positive("weight_norm", weight_norm)
    largest = check_positive("weight_norm * data_norm", norm * r)
    if rho > largest * (1 + 1e-12):
        raise ValueError(
            f"margin must be in (0, weight_norm * data_norm] = (0, {largest:g}], "
            f"got margin={margin!r}"
        )
    return min(rho / largest, 1.0)


def zero_one_loss(u: ArrayLike) -> Array:
    r"""Zero-one loss :math:`1[u\le0]`.

    Parameters
    ----------
    u : array_like
        Values :math:`y\langle w,x\rangle`, finite. Zero counts as an error.

    Returns
    -------
    ndarray
        Zeros and ones, in the shape of ``u``.

    Raises
    ------
    TypeError, ValueError
        If ``u`` is empty, not real or not finite.

    References
    ----------
    R. Bassily, M. Mohri, A. T. Suresh, Differentially private learning with margin guarantees,
    NeurIPS 2022, Section 2.

    Examples
    --------
    >>> zero_one_loss([-0.5, 0.0, 0.5])
    array([1., 1., 0.])
    """
    return (_values(u) <= 0).astype(np.float64)


def margin_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Margin loss :math:`1[u\le\rho]`.

    Parameters
    ----------
    u : array_like
        Values :math:`y\langle w,x\rangle`, finite.
    margin : float
        Confidence margin :math:`\rho`, positive.

    Returns
    -------
    ndarray
        Zeros and ones, in the shape of ``u``; not convex in u.

    Raises
    ------
    TypeError, ValueError
        If ``u`` is empty, not real or not finite, or the margin is not positive.

    References
    ----------
    R. Bassily, M. Mohri, A. T. Suresh, Differentially private learning with margin guarantees,
    NeurIPS 2022, Section 2.

    Examples
    --------
    >>> margin_loss([0.1, 0.5, 0.6], margin=0.5)
    array([1., 1., 0.])
    """
    rho = check_positive("margin", margin)
    return (_values(u) <= rho).astype(np.float64)


def hinge_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Hinge loss of a margin, :math:`\ell^\rho(u)=\max(1-u/\rho,0)`.

    Parameters
    ----------
    u : array_like
        Values :math:`y\langle w,x\rangle`, finite.
    margin : float
        Confidence margin :math:`\rho`, positive.

    Returns
    -------
    ndarray
        At least the zero-one loss, in the shape of ``u``; convex, with slope at most
        :math:`1/\rho`. It is unbounded, so not below the margin loss.

    Raises
    ------
    TypeError, ValueError
        If ``u`` is empty, not real or not finite, or the margin is not positive.

    References
    ----------
    R. Bassily, M. Mohri, A. T. Suresh, Differentially private learning with margin guarantees,
    NeurIPS 2022, Section 2.

    Examples
    --------
    >>> hinge_loss([-1.0, 0.25, 2.0], margin=0.5)
    array([3. , 0.5, 0. ])
    """
    rho = check_positive("margin", margin)
    loss: Array = np.maximum(1.0 - _values(u) / rho, 0.0)
    return loss


def ramp_loss(u: ArrayLike, *, margin: float) -> Array:
    r"""Ramp loss :math:`\min(1,\ell^\rho(u))`, between the zero-one and the margin loss.

    Parameters
    ----------
    u : array_like
        Values :math:`y\langle w,x\rangle`, finite.
    margin : float
        Confidence margin :math:`\rho`, positive.

    Returns
    -------
    ndarray
        In [0, 1], with slope at most :math:`1/\rho`:
        :math:`1[u\le0]\le\min(1,\ell^\rho(u))\le1[u\le\rho]`.

    Raises
    ------
    TypeError, ValueError
        If ``u`` is empty, not real or not finite, or the margin is not positive.

    Examples
    --------
    >>> ramp_loss([-1.0, 0.25, 2.0], margin=0.5)
    array([1. , 0.5, 0. ])
    """
    loss: Array = np.minimum(hinge_loss(u, margin=margin), 1.0)
    return loss


def bounded_hinge_mean(u: ArrayLike, *, margin: float, largest: float) -> Array:
    r"""Mean hinge loss over the last axis, such that one value moves it by its own share only.

    Parameters
    ----------
    u : array_like of shape (..., m)
        Values :math:`y\langle w,x\rangle`, in [-B, B] up to rounding.
    margin, largest : float
        Confidence margin :math:`\rho` and the bound B, positive.

    Returns
    -------
    ndarray of shape (...)
        Losses are rounded down to multiples of :math:`(1+B/\rho)2^{-24}` or less, of which up to
        :math:`2^{28}` add without rounding: :func:`hinge_sensitivity` holds for what is computed,
        up to the last rounding of the mean.

    Examples
    --------
    >>> float(bounded_hinge_mean([0.5, -0.5], margin=0.5, largest=1.0))
    1.0
    """
    bound = 1.0 + check_positive("largest", largest) / margin
    steps, step = grid_values(hinge_loss(u, margin=margin), bound, bits=24)
    return np.asarray(steps.sum(axis=-1) * (step / steps.shape[-1]))


def zero_one_sensitivity(n_samples: int) -> float:
    """Largest change of an empirical zero-one or margin loss when one record is replaced.

    Parameters
    ----------
    n_samples : int
        Number m of records, at least 1.

    Returns
    -------
    float
        ``1 / m``, attained by a record that changes from right to wrong.

    Raises
    ------
    TypeError, ValueError
        If ``n_samples`` is no positive integer.

    Examples
    --------
    >>> zero_one_sensitivity(50)
    0.02
    """
    return 1.0 / check_integer("n_samples", n_samples)


def hinge_sensitivity(
    *, margin: float, data_norm: float, weight_norm: float, n_samples: int
) -> float:
    r"""Largest change of the empirical hinge loss of one weight vector, one record replaced.

    Parameters
    ----------
    margin : float
        Confidence margin :math:`\rho`, positive.
    data_norm : float
        Radius of the ball of the features that the loss sees, positive.
    weight_norm : float
        Norm bound of the weights that are compared, positive.
    n_samples : int
        Number m of records, at least 1.

    Returns
    -------
    float
        :math:`\min(1+B/\rho,\,2B/\rho)/m` with B = ``data_norm * weight_norm``, attained by a
        record on the sphere that changes its label.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive.

    Notes
    -----
    The values u range over [-B, B], so the loss over :math:`[\max(0,1-B/\rho),1+B/\rho]`.
    Inside a projected space with ball and clipping of twice the size, B is four times as large.

    Examples
    --------
    >>> hinge_sensitivity(margin=0.5, data_norm=1.0, weight_norm=1.0, n_samples=100)
    0.03
    """
    rho = check_positive("margin", margin)
    largest = check_positive("data_norm", data_norm) * check_positive("weight_norm", weight_norm)
    ratio = check_positive("data_norm * weight_norm / margin", largest / rho)
    return min(1.0 + ratio, 2.0 * ratio) / check_integer("n_samples", n_samples)
