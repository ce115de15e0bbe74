r"""How far the minimiser moves when one record changes: Theorems 1 and 2, printed and sharp.

All bounds are for :math:`\|f_z-f_{\bar z}\|_K`, where z and its neighbour have the same number m of
records and differ in one. The regulariser is gamma-strongly convex: gamma = 2 for
:math:`\Omega(f)=\|f\|_K^2`.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from dplit._checks import check_choice, check_integer, check_positive
from dplit.erm.least_squares import fit_norm_factor
from dplit.erm.losses import lipschitz_constant

__all__ = [
    "BoundedVersion",
    "bounded_stability",
    "hamming_distance",
    "lipschitz_deletion",
    "lipschitz_stability",
    "loss_bound",
    "sharper_from",
]

BoundedVersion = Literal["printed", "sharp", "signed"]
#: The constant c of Theorem 1 in sqrt(c B / (lambda gamma m)).
_CONSTANTS = {"printed": 16.0, "sharp": 2.0, "signed": 4.0}


def hamming_distance(first: object, second: object) -> int:
    """Count the positions at which two samples of the same size differ.

    Parameters
    ----------
    first, second : sequence
        Records of any kind that can be compared; neighbours have distance 1.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the samples differ in size.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, display before Definition 1.

    Examples
    --------
    >>> hamming_distance([(0, 1), (2, 1)], [(0, 1), (2, -1)])
    1
    """
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
    version: BoundedVersion = "sharp",
) -> float:
    r"""Theorem 1: stability from the boundedness of the loss alone.

    Parameters
    ----------
    bound : float
        The paper's B: a bound on :math:`L(f_S(x),y)` (and, as printed, on
        :math:`\lambda\Omega(f_S)`) for all samples S and all records (x, y); positive.
    regularization : float
        lambda, positive.
    n_records : int
        m, at least 1.
    strong_convexity : float, default=2.0
        gamma, positive.
    version : {"sharp", "printed", "signed"}
        ``"printed"`` has the paper's constant 16, ``"sharp"`` the constant 2 for losses in [0, B],
        ``"signed"`` the constant 4 for losses in [-B, B].

    Returns
    -------
    float
        :math:`\sqrt{cB/(\lambda\gamma m)}`, a bound on the distance of the minimisers.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Both minimisers beat each other by strong convexity. Added up,

    .. math:: \lambda\gamma\|f_z-f_{\bar z}\|_K^2\le\tfrac1m\bigl[
        L(f_{\bar z},z_m)-L(f_z,z_m)+L(f_z,\bar z_m)-L(f_{\bar z},\bar z_m)\bigr],

    and the bracket is at most 2B if the loss lies in [0, B], 4B if it lies in [-B, B]. Nothing is
    asked of :math:`\Omega` beyond strong convexity.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Theorem 1; the constant 2 is ours.

    Examples
    --------
    >>> bounded_stability(bound=2.0, regularization=0.1, n_records=5)
    2.0
    """
    check_choice("version", version, get_args(BoundedVersion))
    B = check_positive("bound", bound)
    modulus = check_positive("regularization", regularization) * check_positive(
        "strong_convexity", strong_convexity
    )
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

    Parameters
    ----------
    loss : {"squared", "hinge", "pinball", "logistic"}
    regularization : float
        lambda in front of :math:`\|f\|_K^2`, positive.
    kappa : float, default=1.0
    label_bound : float, default=1.0
        Bound M on targets, for least squares and the pinball loss.
    tau : float, default=0.5
        Level of the pinball loss.

    Returns
    -------
    float
        Bound on :math:`L(f_S(x),y)` and on :math:`\lambda\|f_S\|_K^2` for every sample S.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`\lambda\|f_S\|_K^2\le\mathcal E_S(0)=L_0`, and stationarity gives
    :math:`\|f_S\|_K\le\kappa C_L/(2\lambda)`; so predictions are at most
    :math:`\kappa\min\{\sqrt{L_0/\lambda},\kappa C_L/(2\lambda)\}`. Least squares has the smaller
    :math:`\kappa M\nu(\lambda)`.

    Examples
    --------
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


def lipschitz_stability(
    *,
    lipschitz: float,
    regularization: float,
    n_records: int,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:
    r"""Theorem 2: stability from a Lipschitz loss, for the replacement of one record.

    Parameters
    ----------
    lipschitz : float
        The paper's C_L, positive.
    regularization : float
        lambda, positive.
    n_records : int
        m, at least 1.
    kappa : float, default=1.0
        :math:`\sup_x\sqrt{K(x,x)}`, positive.
    strong_convexity : float, default=2.0
        gamma, positive.

    Returns
    -------
    float
        :math:`2\kappa C_L/(\lambda\gamma m)`, attained by hinge and pinball loss.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    In the inequality of :func:`bounded_stability` group the four losses by record: each of the two
    pairs is at most :math:`C_L\|f_z-f_{\bar z}\|_\infty\le C_L\kappa\|f_z-f_{\bar z}\|_K`.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Theorem 2.

    Examples
    --------
    >>> lipschitz_stability(lipschitz=1.0, regularization=0.1, n_records=400)
    0.025
    """
    return 2.0 * lipschitz_deletion(
        lipschitz=lipschitz,
        regularization=regularization,
        n_records=n_records,
        kappa=kappa,
        strong_convexity=strong_convexity,
    )


def lipschitz_deletion(
    *,
    lipschitz: float,
    regularization: float,
    n_records: int,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:
    r"""Theorem 2 for the deletion of one of m records, with :math:`\lambda m` held fixed.

    Parameters
    ----------
    lipschitz, regularization, n_records, kappa, strong_convexity
        As in :func:`lipschitz_stability`; both fits use the weight 1/m for each record.

    Returns
    -------
    float
        :math:`\kappa C_L/(\lambda\gamma m)`, half of the bound for a replacement.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> lipschitz_deletion(lipschitz=1.0, regularization=0.5, n_records=1)
    1.0
    """
    slope = check_positive("lipschitz", lipschitz) * check_positive("kappa", kappa)
    modulus = check_positive("regularization", regularization) * check_positive(
        "strong_convexity", strong_convexity
    )
    return slope / (modulus * check_integer("n_records", n_records))


def sharper_from(
    *,
    lipschitz: float,
    bound: float,
    regularization: float,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
    version: BoundedVersion = "printed",
) -> float:
    r"""Sample size above which Theorem 2 gives a smaller bound than Theorem 1.

    Parameters
    ----------
    lipschitz, bound, regularization, kappa, strong_convexity
        As in :func:`lipschitz_stability` and :func:`bounded_stability`.
    version : {"printed", "sharp", "signed"}
        Which constant of Theorem 1 to compare with.

    Returns
    -------
    float
        :math:`4\kappa^2C_L^2/(cB\lambda\gamma)` with c = 16, 2 or 4; not rounded.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, the sentence after Theorem 2.

    Examples
    --------
    >>> sharper_from(lipschitz=1.0, bound=2.0, regularization=0.25)
    0.25
    """
    check_choice("version", version, get_args(BoundedVersion))
    slope = check_positive("lipschitz", lipschitz) * check_positive("kappa", kappa)
    modulus = check_positive("regularization", regularization) * check_positive(
        "strong_convexity", strong_convexity
    )
    return 4.0 * slope**2 / (_CONSTANTS[version] * check_positive("bound", bound) * modulus)
