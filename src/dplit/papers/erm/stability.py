r"""How far the minimiser moves when one record changes: Theorems 1 and 2, printed and sharp.

Bounds on :math:`\|f_z-f_{\bar z}\|_K` for m records of which one differs. In the chapter's modules
``regularization`` is lambda, ``n_records`` m, ``lipschitz`` :math:`C_L`, ``kappa``
:math:`\sup_x\sqrt{K(x,x)}`, ``strong_convexity`` gamma (2 for :math:`\|f\|_K^2`), ``label_bound``
M, to which labels are clipped.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from dplit._checks import check_choice, check_integer, check_positive
from dplit.kernels.lipschitz import fit_norm_factor
from dplit.kernels.losses import lipschitz_constant

_BoundedVersion = Literal["printed", "sharp", "signed"]

#: The constant c of Theorem 1 in sqrt(c B / (lambda gamma m)).
_CONSTANTS = {"printed": 16.0, "sharp": 2.0, "signed": 4.0}


def hamming_distance(first: object, second: object) -> int:
    """Number of positions at which two samples of the same size differ; 1 for neighbours."""
    one, two = list(first), list(second)  # type: ignore[call-overload]
    if len(one) != len(two):
        raise ValueError(
            f"first and second must have the same size, got {len(one)} and {len(two)} records"
        )
    return sum(a != b for a, b in zip(one, two, strict=True))


def bounded_stability(
    *,
    bound: float,
    regularization: float,
    n_records: int,
    strong_convexity: float = 2.0,
    version: _BoundedVersion = "sharp",
) -> float:
    r"""Theorem 1: stability from the boundedness of the loss alone.

    :math:`\sqrt{cB/(\lambda\gamma m)}` with the ``bound`` B. The constant c is 16 as ``"printed"``,
    2 (``"sharp"``) for losses in [0, B] and 4 (``"signed"``) for losses in [-B, B].
    """
    check_choice("version", version, get_args(_BoundedVersion))
    B = check_positive("bound", bound)
    modulus = check_positive("regularization", regularization)
    modulus *= check_positive("strong_convexity", strong_convexity)
    return math.sqrt(_CONSTANTS[version] * B / (modulus * check_integer("n_records", n_records)))


def loss_bound(
    loss: str,
    *,
    regularization: float,
    kappa: float = 1.0,
    label_bound: float = 1.0,
    tau: float = 0.5,
) -> float:
    r"""Number B that Theorem 1 asks for, from the size of a minimiser.

    It bounds :math:`L(f_S(x),y)` and :math:`\lambda\|f_S\|_K^2` for every sample S; the bound M on
    labels matters for least squares and the pinball loss alone.

    >>> loss_bound("hinge", regularization=0.25)
    3.0
    """
    radius, M = check_positive("kappa", kappa), check_positive("label_bound", label_bound)
    penalty = check_positive("regularization", regularization)
    if loss == "squared":
        return (M + radius * M * fit_norm_factor(regularization=penalty, kappa=radius)) ** 2
    slope = lipschitz_constant(loss, tau=tau)
    at_zero = {"hinge": 1.0, "logistic": math.log(2.0)}.get(loss, slope * M)
    largest = radius * min(math.sqrt(at_zero / penalty), radius * slope / (2.0 * penalty))
    if loss == "pinball":
        return slope * (M + largest)
    return 1.0 + largest if loss == "hinge" else math.log1p(math.exp(largest))


def sharper_from(
    *,
    lipschitz: float,
    bound: float,
    regularization: float,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
    version: _BoundedVersion = "printed",
) -> float:
    r"""Sample size above which Theorem 2 gives a smaller bound than Theorem 1, not rounded.

    :math:`4\kappa^2C_L^2/(cB\lambda\gamma)` with the constant c of Theorem 1 in this version.
    """
    check_choice("version", version, get_args(_BoundedVersion))
    slope = check_positive("lipschitz", lipschitz) * check_positive("kappa", kappa)
    modulus = check_positive("regularization", regularization)
    modulus *= check_positive("strong_convexity", strong_convexity)
    return 4.0 * slope**2 / (_CONSTANTS[version] * check_positive("bound", bound) * modulus)
