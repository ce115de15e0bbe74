r"""Remark 1: what one column alone reveals, under average and under peak power.

One released column is :math:`\mathcal N(0,(x^2+\nu)I_{n'})` with :math:`\nu=\sigma^2+f^2`: a
non-coherent channel. The remark bounds it under an average-power constraint. Entries of X are
bounded by 1, a peak constraint, and there the channel carries far less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from dplit._checks import check_integer, check_positive
from dplit.projection.channels import scale_information

__all__ = [
    "PeakBracket",
    "coherent_capacity_bound",
    "flash_information",
    "noncoherent_bound",
    "peak_capacity_bracket",
    "peak_law",
]

_LOG2_E = float(np.log2(np.e))


class PeakBracket(NamedTuple):
    """Bounds in bits between which a capacity lies."""

    lower: float
    upper: float


def coherent_capacity_bound(noise: float, *, n_components: int) -> float:
    r"""Coherent bound used in the proof of Lemma 2, in bits.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu` of the rest of the column, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    float
        :math:`\frac12\log_2(1+n'/\nu)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (23).

    Examples
    --------
    >>> coherent_capacity_bound(4.0, n_components=12)
    1.0
    """
    n = check_integer("n_components", n_components)
    return float(np.log1p(n / check_positive("noise", noise)) * _LOG2_E / 2)


def noncoherent_bound(noise: float, *, n_components: int) -> float:
    r"""Non-coherent bound (16) of Remark 1, in bits.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu=\sigma_{RP}^2+f^2`, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    float
        :math:`\frac{n'}2\log_2(1+1/\nu)`; by Bernoulli's inequality never below the coherent one.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (16).

    Examples
    --------
    >>> noncoherent_bound(1.0, n_components=2)
    1.0
    """
    n = check_integer("n_components", n_components)
    return float(n * np.log1p(1.0 / check_positive("noise", noise)) * _LOG2_E / 2)


def flash_information(
    noise: float, *, n_components: int, amplitude: float | None = None
) -> float:  # fmt: skip
    r"""Information of on-off signalling of unit average power: rarely, and then loudly.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu`, positive.
    n_components : int
        Rows n' of the release.
    amplitude : float, optional
        Value A of the "on" symbol, above 1; it is sent with probability :math:`A^{-2}`. By default
        the best one.

    Returns
    -------
    float
        Bits. At fixed n' the best value approaches :math:`\frac{n'}{2\nu}\log_2e`, the leading term
        of (16), as :math:`\nu` grows, but only logarithmically.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> bits = flash_information(1e3, n_components=1)
    >>> round(bits / noncoherent_bound(1e3, n_components=1), 2)
    0.56
    """
    nu, n = check_positive("noise", noise), check_integer("n_components", n_components)
    if amplitude is None:
        found = minimize_scalar(
            lambda u: -_on_off(nu, 1.0 + np.exp(u), n), bounds=(-12.0, 12.0 + np.log(nu)),
            method="bounded", options={"xatol": 1e-4},
        )  # fmt: skip
        return -float(found.fun)
    if check_positive("amplitude", amplitude) <= 1:
        raise ValueError(f"amplitude must exceed 1, got amplitude={amplitude!r}")
    return _on_off(nu, amplitude**2, n)


def _on_off(nu: float, power: float, n: int) -> float:
    levels = [1.0, 1.0 + power / nu]
    return scale_information(levels, n_samples=n, prior=[1 - 1 / power, 1 / power]).value


def peak_capacity_bracket(noise: float, *, n_components: int) -> PeakBracket:
    r"""Capacity of one released column for an entry in [-1, 1]: certified lower and upper bounds.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu`, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    PeakBracket
        ``lower``: information of a fair choice between :math:`x^2=0` and 1, less the error of the
        quadrature. ``upper``: the divergence of either end from the Gaussian that has the same
        divergence from both.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    For any Q the capacity is at most :math:`\max_xD(P_x\|Q)`. With :math:`Q=\mathcal N(0,w)` the
    divergence :math:`\frac{n'}2(v/w-1-\ln(v/w))` is convex in v, so its maximum is at an end. For
    large :math:`\nu` both bounds are :math:`\frac{n'}{16\nu^2}\log_2e`.

    Examples
    --------
    >>> bracket = peak_capacity_bracket(10.0, n_components=10)
    >>> bool(bracket.lower < bracket.upper < 0.01)
    True
    """
    nu, n = check_positive("noise", noise), check_integer("n_components", n_components)
    lower = scale_information([nu, nu + 1.0], n_samples=n)

    def divergence(variance: float, w: float) -> float:
        return float(n / 2 * (variance / w - 1 - np.log(variance / w)))

    w = brentq(lambda w: divergence(nu, w) - divergence(nu + 1, w), nu, nu + 1, xtol=1e-14 * nu)
    upper = max(divergence(nu, w), divergence(nu + 1, w)) * _LOG2_E
    return PeakBracket(lower.value - lower.error, upper)


def peak_law(*, epsilon: float, n_components: int) -> float:
    r"""Leading term of the leakage of one column at the total noise that the paper prescribes.

    Parameters
    ----------
    epsilon : float
        Budget in bits, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    float
        :math:`\frac{(2^{2\epsilon}-1)^2}{16n'}\log_2e` bits.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(peak_law(epsilon=0.5, n_components=100), 5)
    0.0009
    """
    gain = float(np.expm1(2 * np.log(2.0) * check_positive("epsilon", epsilon)))
    return gain**2 * _LOG2_E / (16 * check_integer("n_components", n_components))
