r"""Learning rates: Theorem 4 as printed, by privacy and by stability.

Throughout, the released function is the minimiser plus one Laplace variable. Its scale is that of
one private answer, :math:`\frac{2\kappa^2C_L}{\lambda\gamma m\epsilon}`, or half of it as printed.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

from dplit._checks import (
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
)
from dplit.erm.decomposition import privacy_generalization, stability_generalization
from dplit.erm.noisy_loss import noise_error_bound
from dplit.erm.scales import noise_scale

__all__ = [
    "Rate",
    "Schedule",
    "balanced_regularization",
    "excess_bound",
    "printed_bound",
    "rate_exponent",
    "safe_lipschitz",
    "theorem4_schedule",
]

Rate = Literal[
    "theorem4", "stability", "least_squares", "least_squares_fixed", "classification", "comparison"
]


class Schedule(NamedTuple):
    """Privacy budget and regularisation that depend on the number of records alone.

    Attributes
    ----------
    epsilon, regularization : float
    """

    epsilon: float
    regularization: float


def _exponent(beta: float) -> float:
    value = check_positive("beta", beta)
    if value > 1.0:
        raise ValueError(f"beta must be in (0, 1], got beta={value!r}")
    return value


def rate_exponent(beta: float, *, rate: Rate) -> float:
    r"""Exponent p of a learning rate :math:`m^{-p}`.

    Parameters
    ----------
    beta : float
        Exponent of the approximation error, in (0, 1].
    rate : str
        "theorem4" :math:`\frac{\beta}{2\beta+1}`; "stability" :math:`\frac\beta{\beta+1}`, at fixed
        epsilon; "least_squares" :math:`\frac{2\beta}{3(\beta+1)}`; "least_squares_fixed"
        :math:`\frac{2\beta}{\beta+3}`, at fixed epsilon; "classification"
        :math:`\frac\beta{2(2\beta+1)}` as printed; "comparison" the same without the root.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If ``beta`` is out of range or ``rate`` unknown.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Theorem 4, Sections 5.1 and 5.2.

    Examples
    --------
    >>> [round(rate_exponent(1.0, rate=name), 4) for name in
    ...  ("theorem4", "stability", "least_squares", "least_squares_fixed", "classification")]
    [0.3333, 0.5, 0.3333, 0.5, 0.1667]
    """
    b = _exponent(beta)
    check_choice("rate", rate, get_args(Rate))
    table = {
        "theorem4": b / (2 * b + 1),
        "stability": b / (b + 1),
        "least_squares": 2 * b / (3 * (b + 1)),
        "least_squares_fixed": 2 * b / (b + 3),
        "classification": b / (2 * (2 * b + 1)),
        "comparison": b / (2 * b + 1),
    }
    return table[rate]


def theorem4_schedule(n_records: int, *, beta: float) -> Schedule:
    r"""Budget and regularisation of Theorem 4.

    Parameters
    ----------
    n_records : int
        m, at least 1.
    beta : float
        In (0, 1].

    Returns
    -------
    Schedule
        :math:`\lambda=m^{-1/(2\beta+1)}` and
        :math:`\epsilon=1/\sqrt{\lambda m}=m^{-\beta/(2\beta+1)}`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> [round(value, 6) for value in theorem4_schedule(4096, beta=0.5)]
    [0.125, 0.015625]
    """
    m = float(check_integer("n_records", n_records))
    penalty = m ** (-1.0 / (2.0 * _exponent(beta) + 1.0))
    return Schedule(1.0 / math.sqrt(penalty * m), penalty)


def printed_bound(
    n_records: int,
    *,
    beta: float,
    lipschitz: float,
    baseline: float,
    c_beta: float,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:
    r"""Right side of Theorem 4 as printed.

    Parameters
    ----------
    n_records : int
        m, at least 1.
    beta : float
        In (0, 1].
    lipschitz, kappa, strong_convexity : float
        :math:`C_L`, kappa, gamma; positive.
    baseline : float
        :math:`B_0+\Omega(0)`, nonnegative.
    c_beta : float
        With :math:`D(\lambda)\le c_\beta\lambda^\beta`; nonnegative.

    Returns
    -------
    float
        :math:`\bigl(2B_0+2\Omega(0)+\frac{3\kappa^2C_L}\gamma+c_\beta\bigr)m^{-\beta/(2\beta+1)}`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Theorem 4.

    Examples
    --------
    >>> round(printed_bound(1024, beta=0.5, lipschitz=1.0, baseline=1.0, c_beta=1.5), 4)
    0.8839
    """
    m = check_integer("n_records", n_records)
    slope = 3.0 * check_positive("kappa", kappa) ** 2 * check_positive("lipschitz", lipschitz)
    constant = (
        2.0 * check_nonnegative("baseline", baseline)
        + slope / check_positive("strong_convexity", strong_convexity)
        + check_nonnegative("c_beta", c_beta)
    )
    return float(constant * float(m) ** -rate_exponent(beta, rate="theorem4"))


def safe_lipschitz(epsilon: float) -> float:
    r"""Largest :math:`C_L` for which the printed Theorem 4 is proved.

    Parameters
    ----------
    epsilon : float
        The budget :math:`m^{-\beta/(2\beta+1)}` of the theorem, positive.

    Returns
    -------
    float
        :math:`3/(1+2\epsilon)`, which tends to 3; above 3 the theorem is false.

    Raises
    ------
    TypeError, ValueError
        If ``epsilon`` is not positive and finite.

    Notes
    -----
    By stability, with the printed noise, the excess is at most
    :math:`\frac{\kappa^2C_L^2}\gamma(1+2\epsilon)\epsilon+D(\lambda)`; compare with
    :math:`\frac{3\kappa^2C_L}\gamma\epsilon+c_\beta\lambda^\beta`.

    Examples
    --------
    >>> safe_lipschitz(0.25)
    2.0
    """
    return 3.0 / (1.0 + 2.0 * check_positive("epsilon", epsilon))


def excess_bound(
    *,
    n_records: int,
    regularization: float,
    epsilon: float,
    lipschitz: float,
    approximation: float,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
    width: float | None = None,
    baseline: float | None = None,
    as_printed: bool = False,
) -> float:
    r"""Bound on the expected excess risk of the minimiser plus one Laplace variable.

    Parameters
    ----------
    n_records : int
        m, at least 1.
    regularization, epsilon, lipschitz, kappa, strong_convexity : float
        Positive; epsilon may be any.
    approximation : float
        :math:`D(\lambda)` of some function that is fixed before the sample; nonnegative.
    width : float, optional
        Width of the range of slopes of the loss, by default :math:`2C_L`.
    baseline : float, optional
        :math:`B_0+\lambda\Omega(0)`. If given, the generalisation error is bounded by privacy
        (Theorem 3 with its sharp constant), otherwise by stability.
    as_printed : bool, default=False
        Whether the noise has half the scale; one answer is then :math:`2\epsilon`-private.

    Returns
    -------
    float
        By stability :math:`\frac{2\kappa^2C_L^2}{\lambda\gamma m}\bigl(1+\frac{\omega}{2C_L
        \epsilon}\bigr)+D(\lambda)`, with half of the noise term as printed.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Hypotheses: L convex and :math:`C_L`-Lipschitz in its first argument, :math:`\Omega\ge0` and
    gamma-strongly convex, records independent, noise independent of them. Neither a bound
    :math:`B_0` nor :math:`\epsilon<1` is needed. The sample error has mean zero.

    Examples
    --------
    >>> round(excess_bound(n_records=1024, regularization=1 / 32, epsilon=0.177, lipschitz=1.0,
    ...     approximation=0.25), 4)
    0.4578
    """
    setting = {
        "lipschitz": check_positive("lipschitz", lipschitz),
        "kappa": kappa,
        "regularization": regularization,
        "n_records": n_records,
        "strong_convexity": strong_convexity,
    }
    scale = noise_scale(epsilon=epsilon, as_printed=as_printed, **setting)  # type: ignore[arg-type]
    price = noise_error_bound(scale=scale, lipschitz=lipschitz, width=width)
    if baseline is None:
        general = stability_generalization(**setting)  # type: ignore[arg-type]
    else:
        budget = 2.0 * epsilon if as_printed else epsilon
        general = privacy_generalization(epsilon=budget, baseline=baseline, noise_error=price)
    return general + price + check_nonnegative("approximation", approximation)


def balanced_regularization(
    *,
    n_records: int,
    epsilon: float,
    beta: float,
    c_beta: float = 1.0,
    lipschitz: float = 1.0,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:
    r"""Regularisation that minimises the bound by stability for a given budget.

    Parameters
    ----------
    n_records : int
        m, at least 1.
    epsilon, c_beta, lipschitz, kappa, strong_convexity : float
        Positive.
    beta : float
        In (0, 1].

    Returns
    -------
    float
        :math:`\bigl(\frac{a}{\beta c_\beta m}\bigr)^{1/(\beta+1)}` with
        :math:`a=\frac{2\kappa^2C_L^2}\gamma(1+\frac1\epsilon)`. The bound there is of order
        :math:`(m\min\{1,\epsilon\})^{-\beta/(\beta+1)}`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> round(balanced_regularization(n_records=1000, epsilon=1.0, beta=1.0), 6)
    0.044721
    """
    b = _exponent(beta)
    one = stability_generalization(
        lipschitz=lipschitz,
        regularization=1.0,
        n_records=n_records,
        kappa=kappa,
        strong_convexity=strong_convexity,
    )
    slope = one * (1.0 + 1.0 / check_positive("epsilon", epsilon))
    return float((slope / (b * check_positive("c_beta", c_beta))) ** (1.0 / (b + 1.0)))
