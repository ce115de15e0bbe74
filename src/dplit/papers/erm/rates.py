r"""Learning rates: Theorem 4 as printed, by privacy and by stability.

Throughout, the released function is the minimiser plus one Laplace variable. Its scale is that of
one private answer, :math:`\frac{2\kappa^2C_L}{\lambda\gamma m\epsilon}`, or half of it as printed.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

from dplit._checks import check_choice, check_integer, check_nonnegative, check_positive
from dplit.papers.erm.decomposition import privacy_generalization, stability_generalization
from dplit.papers.erm.noisy_loss import noise_error_bound
from dplit.papers.erm.scales import noise_scale

_Rate = Literal[
    "theorem4", "stability", "least_squares", "least_squares_fixed", "classification", "comparison"
]


class _Schedule(NamedTuple):
    """Privacy budget and regularisation that depend on the number of records alone."""

    epsilon: float
    regularization: float


def _exponent(beta: float) -> float:
    value = check_positive("beta", beta)
    if value > 1.0:
        raise ValueError(f"beta must be in (0, 1], got beta={value!r}")
    return value


def rate_exponent(beta: float, *, rate: _Rate) -> float:
    r"""Exponent p of a learning rate :math:`m^{-p}`.

    From the exponent beta of the approximation error: ``"theorem4"``
    :math:`\frac{\beta}{2\beta+1}`; ``"stability"`` :math:`\frac\beta{\beta+1}` and
    ``"least_squares_fixed"`` :math:`\frac{2\beta}{\beta+3}` at fixed epsilon; ``"least_squares"``
    :math:`\frac{2\beta}{3(\beta+1)}`; ``"classification"`` :math:`\frac\beta{2(2\beta+1)}`, which
    ``"comparison"`` doubles.

    >>> [round(rate_exponent(1.0, rate=name), 4) for name in
    ...  ("theorem4", "stability", "least_squares", "least_squares_fixed", "classification")]
    [0.3333, 0.5, 0.3333, 0.5, 0.1667]
    """
    b = _exponent(beta)
    check_choice("rate", rate, get_args(_Rate))
    table = {
        "theorem4": b / (2 * b + 1),
        "stability": b / (b + 1),
        "least_squares": 2 * b / (3 * (b + 1)),
        "least_squares_fixed": 2 * b / (b + 3),
        "classification": b / (2 * (2 * b + 1)),
        "comparison": b / (2 * b + 1),
    }
    return table[rate]


def theorem4_schedule(n_records: int, *, beta: float) -> _Schedule:
    r"""Theorem 4's :math:`\epsilon=1/\sqrt{\lambda m}` and :math:`\lambda=m^{-1/(2\beta+1)}`."""
    m = float(check_integer("n_records", n_records))
    penalty = m ** (-1.0 / (2.0 * _exponent(beta) + 1.0))
    return _Schedule(1.0 / math.sqrt(penalty * m), penalty)


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
    r"""Right side of Theorem 4 as printed; ``baseline`` is :math:`B_0+\Omega(0)`.

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
    r"""Largest :math:`C_L` for which the printed Theorem 4 is proved: :math:`3/(1+2\epsilon)`."""
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

    By stability
    :math:`\frac{2\kappa^2C_L^2}{\lambda\gamma m}(1+\frac{\omega}{2C_L\epsilon})+D(\lambda)`, for
    any epsilon; ``approximation`` is :math:`D(\lambda)`, ``width`` is :math:`\omega`, by default
    :math:`2C_L`. With a ``baseline`` :math:`B_0+\lambda\Omega(0)` privacy bounds :math:`R_1`
    instead. ``as_printed``: half the noise, so that one answer is :math:`2\epsilon`-private.

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

    :math:`(\frac{a}{\beta c_\beta m})^{1/(\beta+1)}` with
    :math:`a=\frac{2\kappa^2C_L^2}\gamma(1+\frac1\epsilon)`; the bound is then of order
    :math:`(m\min\{1,\epsilon\})^{-\beta/(\beta+1)}`.
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
