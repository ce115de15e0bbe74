r"""Laplace scales for one value of the minimiser: as printed, and as one answer needs.

The scales here are Laplace scales s: the noise has density :math:`\frac1{2s}e^{-|b|/s}`. The paper
writes :math:`\frac1\alpha e^{-2|b|/\alpha}`, so its :math:`\alpha` is 2s.
"""

from __future__ import annotations

import math
from typing import Literal

from scipy.optimize import brentq

from dplit._checks import check_choice, check_positive
from dplit.erm.least_squares import fit_norm_factor, least_squares_stability
from dplit.erm.stability import lipschitz_stability
from dplit.mechanisms import laplace_scale

__all__ = [
    "hinge_scale",
    "least_squares_scale",
    "noise_scale",
    "printed_least_squares_loss",
    "safe_regularization",
    "sup_sensitivity",
]


def sup_sensitivity(
    *,
    lipschitz: float,
    kappa: float,
    regularization: float,
    n_records: int,
    strong_convexity: float = 2.0,
) -> float:
    r"""Bound on how far one record moves the minimiser at any point (Definition 2 with Theorem 2).

    Parameters
    ----------
    lipschitz : float
        Lipschitz constant :math:`C_L` of the loss, positive.
    kappa : float
        Bound on :math:`\sqrt{K(x,x)}`, positive.
    regularization : float
        Parameter lambda, positive.
    n_records : int
        Number m of records, at least 1.
    strong_convexity : float, default=2.0
        Strong convexity gamma of the regulariser; 2 for the squared norm.

    Returns
    -------
    float
        :math:`\frac{2\kappa^2C_L}{\lambda\gamma m}\ge\sup\|f_z-f_{\bar z}\|_\infty`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, proof of Proposition 1.

    Examples
    --------
    >>> round(sup_sensitivity(lipschitz=1.0, kappa=1.0, regularization=0.1, n_records=101), 6)
    0.09901
    """
    distance = lipschitz_stability(
        lipschitz=lipschitz,
        regularization=regularization,
        n_records=n_records,
        kappa=kappa,
        strong_convexity=strong_convexity,
    )
    return distance * check_positive("kappa", kappa)


def noise_scale(
    *,
    epsilon: float,
    lipschitz: float,
    kappa: float,
    regularization: float,
    n_records: int,
    strong_convexity: float = 2.0,
    as_printed: bool = False,
) -> float:
    r"""Laplace scale of Proposition 1: what Lemma 1 asks for, or the half of it that is printed.

    Parameters
    ----------
    epsilon : float
        Positive.
    lipschitz, kappa, regularization, n_records, strong_convexity
        As in :func:`sup_sensitivity`.
    as_printed : bool, default=False
        True: the printed density
        :math:`\frac1\alpha\exp(-\frac{\lambda\gamma m\epsilon|b|}{\kappa^2C_L})`.

    Returns
    -------
    float
        :math:`\frac{2\kappa^2C_L}{\lambda\gamma m\epsilon}`, with which one answer is
        epsilon-private; as printed half of it, with which one answer is 2 epsilon-private, and for
        the hinge loss no better.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, Proposition 1.

    Examples
    --------
    >>> setting = dict(lipschitz=1.0, kappa=1.0, regularization=0.1, n_records=101)
    >>> round(noise_scale(epsilon=0.5, **setting), 5)
    0.19802
    >>> round(noise_scale(epsilon=0.5, as_printed=True, **setting), 5)
    0.09901
    """
    width = sup_sensitivity(
        lipschitz=lipschitz,
        kappa=kappa,
        regularization=regularization,
        n_records=n_records,
        strong_convexity=strong_convexity,
    )
    needed = laplace_scale(epsilon=epsilon, sensitivity=width)
    return 0.5 * needed if as_printed else needed


def hinge_scale(
    *,
    epsilon: float,
    kappa: float,
    regularization: float,
    n_records: int,
    as_printed: bool = False,
) -> float:
    r"""Laplace scale of the support vector machine of Section 5.2.

    Parameters
    ----------
    epsilon, kappa, regularization : float
        Positive.
    n_records : int
        At least 1.
    as_printed : bool, default=False
        True: the scale of the printed density of :math:`b_h`.

    Returns
    -------
    float
        :math:`\frac{\kappa^2}{\lambda m\epsilon}`; as printed, half of it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, Section 5.2.

    Examples
    --------
    >>> round(hinge_scale(epsilon=0.5, kappa=1.0, regularization=0.1, n_records=101), 5)
    0.19802
    """
    return noise_scale(
        epsilon=epsilon,
        lipschitz=1.0,
        kappa=kappa,
        regularization=regularization,
        n_records=n_records,
        as_printed=as_printed,
    )


def least_squares_scale(
    *,
    epsilon: float,
    kappa: float,
    label_bound: float,
    regularization: float,
    n_records: int,
    rule: Literal["printed", "doubled", "sharp"] = "sharp",
) -> float:
    r"""Laplace scale for one answer of regularised least squares (Section 5.1).

    Parameters
    ----------
    epsilon, kappa, label_bound, regularization : float
        Positive; labels are clipped to ``[-label_bound, label_bound]``.
    n_records : int
        At least 1.
    rule : {"sharp", "doubled", "printed"}, default="sharp"
        "printed": scale :math:`\alpha/2` of the printed density of :math:`b_{ls}`. "doubled": what
        Lemma 1 asks for with the printed :math:`C_L=2M(\kappa+1)/\sqrt\lambda`. "sharp": kappa
        times the best stability bound, divided by epsilon.

    Returns
    -------
    float
        "sharp": one answer is epsilon-private for every lambda. "doubled": the same, proved for
        :math:`\lambda\le1`. "printed": half of "doubled", enough for one answer or not as
        :func:`printed_least_squares_loss` says.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Nie and Wang (2017), doi:10.1186/s13660-016-1280-0, Section 5.1.

    Examples
    --------
    >>> setting = dict(epsilon=0.5, kappa=1.0, label_bound=1.0, n_records=50)
    >>> round(least_squares_scale(regularization=0.05, rule="printed", **setting), 3)
    7.155
    >>> least_squares_scale(regularization=0.05, **setting) < 3.389
    True
    """
    check_choice("rule", rule, ("printed", "doubled", "sharp"))
    k = check_positive("kappa", kappa)
    distance = least_squares_stability(
        regularization=check_positive("regularization", regularization),
        n_records=n_records,
        label_bound=label_bound,
        kappa=k,
        version="sharp" if rule == "sharp" else "printed",
    )
    needed = laplace_scale(epsilon=epsilon, sensitivity=k * distance)
    return 0.5 * needed if rule == "printed" else needed


def printed_least_squares_loss(*, regularization: float, kappa: float = 1.0) -> float:
    r"""Privacy loss of one answer with the printed noise of least squares, in units of epsilon.

    Parameters
    ----------
    regularization : float
        Parameter lambda, positive.
    kappa : float, default=1.0

    Returns
    -------
    float
        The supremum over all sample sizes, samples, neighbours and points, approached as m grows.
        At most 1: the printed scale is enough for one answer; above 1 it is not.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

    Notes
    -----
    The stability bound of :func:`~dplit.erm.least_squares.least_squares_stability` is below
    :math:`\frac{\kappa M}{\lambda m}G` with
    :math:`G=\max_\theta2\sin\theta\,(1+\kappa\nu\cos\theta)`, and approaches it. The printed scale
    is :math:`\frac{\kappa^2M(\kappa+1)}{\lambda^{3/2}m\epsilon}`, so the loss is
    :math:`\frac{\sqrt\lambda\,G}{\kappa+1}\epsilon`, which increases with lambda. With
    :math:`A=\kappa\nu` the best angle has :math:`2A\cos^2\theta+\cos\theta=A`. Since
    :math:`2\le G\le2+A` and :math:`\nu\le\frac1{2\sqrt\lambda}`, it is at most 1 for
    :math:`\lambda\le\frac14(1+\frac\kappa2)^2` and above 1 for
    :math:`\lambda>\frac14(1+\kappa)^2`.

    Examples
    --------
    >>> printed_least_squares_loss(regularization=0.25) < 1.0
    True
    >>> printed_least_squares_loss(regularization=1.0, kappa=0.3) > 1.5
    True
    """
    penalty, k = check_positive("regularization", regularization), check_positive("kappa", kappa)
    A = k * fit_norm_factor(regularization=penalty, kappa=k)
    cosine = 2.0 * A / (1.0 + math.sqrt(1.0 + 8.0 * A * A))
    turn = 2.0 * math.sqrt(1.0 - cosine**2) * (1.0 + A * cosine)
    return math.sqrt(penalty) * turn / (k + 1.0)


def safe_regularization(*, kappa: float = 1.0) -> float:
    r"""Largest lambda at which the printed noise of least squares is enough for one answer.

    Parameters
    ----------
    kappa : float, default=1.0

    Returns
    -------
    float
        The lambda between :math:`\frac14(1+\frac\kappa2)^2` and :math:`\frac14(1+\kappa)^2` at
        which :func:`printed_least_squares_loss` is 1, for every sample size; above it the printed
        noise fails for large samples.

    Raises
    ------
    TypeError, ValueError
        If ``kappa`` is not positive and finite.

    Examples
    --------
    >>> 0.5625 < safe_regularization() < 1.0
    True
    """
    k = check_positive("kappa", kappa)

    def surplus(penalty: float) -> float:
        return printed_least_squares_loss(regularization=penalty, kappa=k) - 1.0

    return float(brentq(surplus, 0.25 * (1.0 + 0.5 * k) ** 2, 0.25 * (1.0 + k) ** 2, xtol=1e-15))
