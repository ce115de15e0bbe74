r"""Learning rates of regularised least squares plus one Laplace variable (Section 5.1)."""

from __future__ import annotations

from typing import Literal, get_args

from dplit._checks import check_choice, check_integer, check_nonnegative, check_positive
from dplit.erm.least_squares import least_squares_stability
from dplit.erm.scales import least_squares_scale

__all__ = ["Scale", "break_even", "least_squares_bound", "least_squares_noise"]

Scale = Literal["printed", "doubled", "sharp"]


def least_squares_noise(
    *,
    n_records: int,
    regularization: float,
    epsilon: float,
    label_bound: float,
    kappa: float = 1.0,
    scale: Scale = "sharp",
) -> float:
    r"""What the noise adds to the squared risk, :math:`\mathbb Eb^2=2s^2`, exactly.

    Parameters
    ----------
    n_records : int
        m, at least 1.
    regularization, epsilon, label_bound, kappa : float
        Positive; labels are clipped to ``[-label_bound, label_bound]``.
    scale : {"sharp", "doubled", "printed"}
        "printed" and "doubled" as in :func:`dplit.erm.scales.least_squares_scale`; "sharp" the
        smallest scale that is proved, from :func:`dplit.erm.least_squares.least_squares_stability`.

    Returns
    -------
    float
        Printed :math:`\frac{2M^2\kappa^4(\kappa+1)^2}{\lambda^3m^2\epsilon^2}`; doubled four times
        that.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`\mathbb E(f+b-y)^2=(f-y)^2+\mathbb Eb^2`, since b has mean zero and does not depend on
    the data.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Section 5.1.

    Examples
    --------
    >>> round(least_squares_noise(n_records=64, regularization=0.25, epsilon=0.25, label_bound=1.0,
    ...     scale="printed"), 12)
    2.0
    """
    check_choice("scale", scale, get_args(Scale))
    if scale == "sharp":
        distance = least_squares_stability(
            regularization=regularization,
            n_records=n_records,
            label_bound=label_bound,
            kappa=kappa,
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

    Parameters
    ----------
    n_records : int
        m, at least 1.
    regularization, kappa : float
        Positive.
    approximation : float
        :math:`D(\lambda)`, nonnegative.
    target_risk : float
        :math:`\mathcal E(f_\rho)`, nonnegative; at most :math:`M^2`.
    noise : float, default=0.0
        :math:`\mathbb Eb^2`, nonnegative.

    Returns
    -------
    float
        :math:`D(\lambda)+\bigl[(1+\frac{\kappa^2}{\lambda m})^2-1\bigr]
        (\mathcal E(f_\rho)+D(\lambda))+\mathbb Eb^2`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Add one record. The fit on m is then a leave-one-out fit of the sample with m + 1 records, with
    the same :math:`\lambda m`; its error at the record left out is the residual of the larger fit
    times :math:`1+\tilde k/(\lambda m)` with :math:`0\le\tilde k\le\kappa^2`. So
    :math:`\mathbb E\mathcal E(f_z)\le(1+\kappa^2/(\lambda m))^2` times the expected empirical risk
    of the larger fit, which is at most :math:`\mathcal E(f_\lambda)+\lambda\|f_\lambda\|_K^2`.

    Examples
    --------
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
    *, trivial_risk: float, label_bound: float = 1.0, kappa: float = 1.0, scale: Scale = "sharp"
) -> int:
    r"""Least m from which the noise of Section 5.1 at beta = 1 costs no more than a trivial fit.

    Parameters
    ----------
    trivial_risk : float
        Excess risk of the function 0, positive.
    label_bound, kappa : float, default=1.0
        Positive.
    scale : {"sharp", "doubled", "printed"}
        As in :func:`least_squares_noise`.

    Returns
    -------
    int
        Least m with :math:`\mathbb Eb^2\le` ``trivial_risk`` at
        :math:`\lambda=\epsilon=m^{-1/3}`, up to 1e15.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or no m up to 1e15 is enough.

    Examples
    --------
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

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > 10**15:
            raise ValueError(f"trivial_risk must be reached by m <= 1e15, got {trivial_risk!r}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
