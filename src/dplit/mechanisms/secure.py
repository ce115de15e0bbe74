"""Noise for releases: Gaussian and Laplace mechanisms on float vectors, drawn by OpenDP.

A thin adapter (extra ``secure``, imported on first use). OpenDP samples exactly on a fine grid with
the operating system's entropy: no bit of the result depends on the data except through the proved
mechanism, there is no ``rng``, nothing can be replayed, and the loss that is reported is that of
its own privacy map. The first call enables its feature "contrib" for the process.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_positive
from dplit.mechanisms.draws import record_draw


@dataclass(frozen=True)
class SecureRelease:
    """Noisy values with the privacy loss that OpenDP certifies for them.

    Attributes
    ----------
    values : ndarray of float64
        The released vector, in the shape of the input.
    loss : float
        The privacy loss under the sensitivity that was stated.
    measure : {"rho", "epsilon"}
        What ``loss`` is: the zCDP parameter (Gaussian) or pure epsilon (Laplace).
    """

    values: NDArray[np.float64]
    loss: float
    measure: Literal["rho", "epsilon"]


def _opendp() -> Any:
    try:
        library = importlib.import_module("opendp.prelude")
    except ImportError as error:
        raise ImportError(
            "secure noise needs OpenDP: install it with pip install 'dplit[secure]'"
        ) from error
    library.enable_features("contrib")
    return library


def _release(
    values: ArrayLike, sensitivity: float, scale: float, measure: Literal["rho", "epsilon"]
) -> SecureRelease:
    array = check_finite_array("values", values)  # OpenDP would read NaN as a number
    if array.dtype.kind not in "iuf":
        raise TypeError(f"values must be real, got values of dtype {array.dtype}")
    check_positive("sensitivity", sensitivity)
    library = _opendp()
    domain = library.vector_domain(library.atom_domain(T=float, nan=False), size=array.size)
    if measure == "rho":
        metric, make = library.l2_distance(T=float), library.m.make_gaussian
    else:
        metric, make = library.l1_distance(T=float), library.m.make_laplace
    mechanism = make(domain, metric, scale=scale)
    record_draw(
        "gaussian" if measure == "rho" else "laplace",
        "values",
        of=array,
        scale=scale,
        sensitivity=sensitivity,
        norm="l2" if measure == "rho" else "l1",
        shape=array.shape,
    )
    noisy = mechanism(array.astype(np.float64).ravel().tolist())
    released = np.array(noisy, dtype=np.float64).reshape(array.shape)
    return SecureRelease(released, float(mechanism.map(float(sensitivity))), measure)


def secure_gaussian(values: ArrayLike, *, sigma: float, sensitivity: float) -> SecureRelease:
    r"""Return ``values`` with Gaussian noise that survives floating point.

    Parameters
    ----------
    values : array_like of float
        Finite real values, any shape.  Release a complex vector as its real and imaginary parts.
    sigma : float
        Standard deviation per coordinate, positive; see :func:`dplit.mechanisms.gaussian_sigma`.
    sensitivity : float
        :math:`\ell_2` sensitivity of ``values``, positive; it enters the reported loss only.

    Returns
    -------
    SecureRelease
        With ``measure`` "rho": the release is ``loss``-zCDP, :math:`\Delta^2/(2\sigma^2)` rounded
        up.

    Raises
    ------
    ImportError
        If the extra ``secure`` is not installed.

    Notes
    -----
    OpenDP computes the sensitivity of rounding to its grid itself.  Roughly 50 microseconds per
    value.  Timing and memory are not protected.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020,
    arXiv:2004.00010; OpenDP 0.16, proof of ``make_gaussian``.

    Examples
    --------
    >>> release = secure_gaussian([1.0, 2.0], sigma=2.0, sensitivity=1.0)
    >>> release.values.shape, round(release.loss, 12), release.measure
    ((2,), 0.125, 'rho')
    """
    return _release(values, sensitivity, check_positive("sigma", sigma), "rho")


def secure_laplace(values: ArrayLike, *, scale: float, sensitivity: float) -> SecureRelease:
    r"""Return ``values`` with Laplace noise that survives floating point.

    Parameters
    ----------
    values : array_like of float
        Finite real values, any shape.
    scale : float
        Scale :math:`b` > 0 of each coordinate; see :func:`dplit.mechanisms.laplace_scale`.
    sensitivity : float
        :math:`\ell_1` sensitivity of ``values``, positive; it enters the reported loss only.

    Returns
    -------
    SecureRelease
        With ``measure`` "epsilon": the release is ``loss``-private, :math:`\Delta_1/b` rounded up.

    Raises
    ------
    ImportError
        If the extra ``secure`` is not installed.

    References
    ----------
    OpenDP 0.16, proof of ``make_laplace``.

    Examples
    --------
    >>> release = secure_laplace([1.0, 2.0], scale=4.0, sensitivity=1.0)
    >>> release.values.shape, round(release.loss, 12), release.measure
    ((2,), 0.25, 'epsilon')
    """
    return _release(values, sensitivity, check_positive("scale", scale), "epsilon")
