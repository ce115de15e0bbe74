"""Learning rates of regularised least squares plus one Laplace variable (Section 5.1)."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal, get_args

from dplit._checks import check_choice, check_integer, check_nonnegative, check_positive
from dplit.kernels.lipschitz import least_squares_stability
from dplit.papers.erm.scales import least_squares_scale

_Scale = Literal["printed", "doubled", "sharp"]


def least_squares_noise(
    *,
    n_records: int,
    regularization: float,
    epsilon: float,
    label_bound: float,
    kappa: float = 1.0,
    scale: _Scale = "sharp",
) -> float:
    r"""What the noise adds to the squared risk, :math:`\mathbb Eb^2=2s^2`, exactly.

    The scale s is that of :func:`dplit.papers.erm.scales.least_squares_scale`; as printed
    :math:`\frac{2M^2\kappa^4(\kappa+1)^2}{\lambda^3m^2\epsilon^2}`, doubled four times that.
    """
    check_choice("scale", scale, get_args(_Scale))
    if scale == "sharp":
        distance = least_squares_stability(
            regularization=regularization, n_records=n_records, label_bound=label_bound, kappa=kappa
        )
        width = kappa * distance / check_positive("epsilon", epsilon)
    else:
        width = least_squares_scale(
            epsilon=epsilon,
            kappa=kappa,
            label_bound=label_bound,
            regularization=regularization,
            n_records=n_records,
            rule=scale,
        )
    return 2.0 * width**2


def least_squares_bound(
    *,
    n_records: int,
    regularization: float,
    approximation: float,
    target_risk: float,
    kappa: float = 1.0,
    noise: float = 0.0,
) -> float:
    r"""Bound on the expected excess squared risk of kernel ridge regression plus noise.

    :math:`D+\bigl[(1+\frac{\kappa^2}{\lambda m})^2-1\bigr](\mathcal E(f_\rho)+D)+\mathbb Eb^2` with
    ``approximation`` :math:`D(\lambda)`, ``target_risk`` :math:`\mathcal E(f_\rho)` and ``noise``
    :math:`\mathbb Eb^2`.

    >>> round(least_squares_bound(n_records=1000, regularization=0.1, approximation=0.05,
    ...     target_risk=0.1), 6)
    0.053015
    """
    factor = check_positive("kappa", kappa) ** 2 / (
        check_positive("regularization", regularization) * check_integer("n_records", n_records)
    )
    bias = check_nonnegative("approximation", approximation)
    spread = (2.0 + factor) * factor * (check_nonnegative("target_risk", target_risk) + bias)
    return bias + spread + check_nonnegative("noise", noise)


def break_even(
    *, trivial_risk: float, label_bound: float = 1.0, kappa: float = 1.0, scale: _Scale = "sharp"
) -> int:
    r"""Least m from which the noise of Section 5.1 at beta = 1 costs no more than a trivial fit.

    At :math:`\lambda=\epsilon=m^{-1/3}`; ``trivial_risk`` is the excess risk of the function 0.

    >>> break_even(trivial_risk=0.125, scale="printed")
    262144
    """
    limit = check_positive("trivial_risk", trivial_risk) * (1.0 + 1e-9)

    def enough(m: int) -> bool:
        level = float(m) ** (-1.0 / 3.0)
        noise = least_squares_noise(
            n_records=m,
            regularization=level,
            epsilon=level,
            label_bound=label_bound,
            kappa=kappa,
            scale=scale,
        )
        return noise <= limit

    least = 1 + bisect_left(range(1, 10**15 + 1), True, key=enough)
    if least > 10**15:
        raise ValueError(f"trivial_risk must be reached by m <= 1e15, got {trivial_risk!r}")
    return least
