"""Capacity of a channel whose receiver does not know the projection, in a bracket."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from dplit._checks import check_integer, check_positive
from dplit.papers.projection.capacity import _LN2
from dplit.papers.projection.channels import scale_information
from dplit.papers.projection.finite_channels import _Bracket


def flash_information(noise: float, *, n_components: int) -> float:
    r"""Bits of on-off signalling of unit average power: rarely, and then loudly.

    The "on" symbol, at its best amplitude A above 1, has probability :math:`A^{-2}`. As
    :math:`\nu` grows it approaches, but only logarithmically, the leading term
    :math:`\frac{n'}{2\nu}\log_2e` of (16).
    """
    nu, n = check_positive("noise", noise), check_integer("n_components", n_components)
    found = minimize_scalar(
        lambda u: -_on_off(nu, 1.0 + np.exp(u), n),
        bounds=(-12.0, 12.0 + np.log(nu)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return -float(found.fun)


def _on_off(nu: float, power: float, n: int) -> float:
    levels = [1.0, 1.0 + power / nu]
    return scale_information(levels, n_samples=n, prior=[1 - 1 / power, 1 / power]).value


def peak_capacity_bracket(noise: float, *, n_components: int) -> _Bracket:
    """Certified bounds in bits on the capacity of one released column for an entry in [-1, 1].

    ``lower``: a fair choice between :math:`x^2=0` and 1, less the error of the quadrature;
    ``upper``: the divergence of either end from the centred Gaussian that makes the two equal.
    """
    nu, n = check_positive("noise", noise), check_integer("n_components", n_components)
    lower = scale_information([nu, nu + 1.0], n_samples=n)

    def divergence(variance: float, w: float) -> float:
        return float(n / 2 * (variance / w - 1 - np.log(variance / w)))

    w = brentq(lambda w: divergence(nu, w) - divergence(nu + 1, w), nu, nu + 1, xtol=1e-14 * nu)
    upper = max(divergence(nu, w), divergence(nu + 1, w)) / _LN2
    return _Bracket(lower.value - lower.error, upper)
