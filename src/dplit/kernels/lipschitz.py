"""How far one record moves a minimiser at most: the bounds that calibrate the releases."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from dplit._checks import check_choice, check_integer, check_positive

_LipschitzVersion = Literal["printed", "argument", "sharp"]

_StabilityVersion = Literal["printed", "argument", "lipschitz", "triangle", "sharp"]


def fit_norm_factor(*, regularization: float, kappa: float = 1.0) -> float:
    r"""Smallest :math:`\nu` with :math:`\|f_z\|_K\le M\nu` for every sample of every size.

    :math:`1/(2\sqrt\lambda)` if :math:`\lambda\le\kappa^2`, else :math:`\kappa/(\kappa^2+\lambda)`;
    the paper uses :math:`1/\sqrt\lambda`. Equal records of size :math:`\min(\sqrt\lambda,\kappa)`
    attain it.

    >>> fit_norm_factor(regularization=0.25), fit_norm_factor(regularization=3.0)
    (1.0, 0.25)
    """
    penalty, size = check_positive("regularization", regularization), check_positive("kappa", kappa)
    root = min(math.sqrt(penalty), size)
    return root / (root**2 + penalty)


def least_squares_lipschitz(
    *,
    regularization: float,
    label_bound: float,
    kappa: float = 1.0,
    version: _LipschitzVersion = "printed",
) -> float:
    r"""Lipschitz constant of the square between two fits, as Section 5.1 and its argument give it.

    ``"printed"`` :math:`2M(\kappa+1)/\sqrt\lambda`, right for :math:`\lambda\le1`; ``"argument"``,
    what its derivation gives, :math:`2M(1+\kappa/\sqrt\lambda)`; ``"sharp"``
    :math:`2M(1+\kappa\nu)`.

    >>> [least_squares_lipschitz(regularization=0.25, label_bound=1.0, version=version)
    ...  for version in ("printed", "argument", "sharp")]
    [8.0, 6.0, 4.0]
    """
    check_choice("version", version, get_args(_LipschitzVersion))
    nu = fit_norm_factor(regularization=regularization, kappa=kappa)
    M, radius = check_positive("label_bound", label_bound), float(kappa)
    root = math.sqrt(regularization)
    if version == "printed":
        return 2.0 * M * (radius + 1.0) / root
    return 2.0 * M * (1.0 + radius * (1.0 / root if version == "argument" else nu))


def _largest_turn(penalty: float, kappa: float, norm: float) -> float:
    """Maximum over k in [0, 1] of 2 kappa sqrt(k) (1 + kappa norm sqrt(1 - k)) / (penalty + kappa^2
    k): with x = sqrt(1 - k) the stationary points are roots of a cubic.
    """
    A, square = kappa * norm, kappa**2
    # derivative of (1 - x^2)(1 + A x)^2 / (P - s x^2)^2, P = penalty + s, divided by (1 + A x)
    P = penalty + square
    inner = np.poly1d([-1.0, 0.0, 1.0])  # 1 - x^2
    slope = inner.deriv() * np.poly1d([A, 1.0]) + 2.0 * A * inner
    cubic = slope * np.poly1d([-square, 0.0, P]) + 4.0 * square * np.poly1d([1.0, 0.0]) * (
        inner * np.poly1d([A, 1.0])
    )
    x = np.clip(np.append(cubic.roots.real, 0.0), 0.0, 1.0)
    values = 2.0 * kappa * np.sqrt(1.0 - x**2) * (1.0 + A * x) / (penalty + square * (1.0 - x**2))
    return float(values.max()) * (1.0 + 1e-12)


def least_squares_stability(
    *,
    regularization: float,
    n_records: int,
    label_bound: float,
    kappa: float = 1.0,
    version: _StabilityVersion = "sharp",
) -> float:
    r"""Bound on the distance in the space of two least-squares fits that differ in one record.

    ``"printed"`` is Theorem 2 with the printed constant,
    :math:`2M\kappa(\kappa+1)/(\lambda^{3/2}m)`, ``"argument"`` and ``"lipschitz"`` the same with
    the other two constants of :func:`least_squares_lipschitz`. Ours: ``"triangle"``
    :math:`\frac{\kappa M}{\lambda m}(2+\kappa\nu)` and ``"sharp"``, which ``_mirror_pair``
    attains as m grows: the smaller of :math:`2M\nu` and

    .. math:: \max_{0\le k\le1}\frac{2\kappa\sqrt k\,M(1+\kappa\nu\sqrt{1-k})}{\lambda m+\kappa^2k}.

    >>> arguments = dict(regularization=0.01, n_records=1000, label_bound=1.0)
    >>> round(least_squares_stability(**arguments, version="printed"), 4)
    4.0
    """
    check_choice("version", version, get_args(_StabilityVersion))
    nu = fit_norm_factor(regularization=regularization, kappa=kappa)
    M, radius = check_positive("label_bound", label_bound), float(kappa)
    penalty = float(regularization) * check_integer("n_records", n_records)
    if version == "triangle":
        return radius * M * (2.0 + radius * nu) / penalty
    if version == "sharp":
        return M * min(_largest_turn(penalty, radius, nu), 2.0 * nu)
    slope: _LipschitzVersion = "sharp" if version == "lipschitz" else version
    constant = least_squares_lipschitz(
        regularization=regularization, label_bound=M, kappa=kappa, version=slope
    )
    return radius * constant / penalty


def lipschitz_stability(
    *,
    lipschitz: float,
    regularization: float,
    n_records: int,
    kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:
    r"""Theorem 2, for the replacement of one record: :math:`2\kappa C_L/(\lambda\gamma m)`.

    Hinge and pinball loss attain it.

    >>> lipschitz_stability(lipschitz=1.0, regularization=0.01, n_records=1000)
    0.1
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

    :math:`\kappa C_L/(\lambda\gamma m)`: half of the bound for a replacement.

    >>> lipschitz_deletion(lipschitz=1.0, regularization=0.01, n_records=1000)
    0.05
    """
    slope = check_positive("lipschitz", lipschitz) * check_positive("kappa", kappa)
    modulus = check_positive("regularization", regularization)
    modulus *= check_positive("strong_convexity", strong_convexity)
    return slope / (modulus * check_integer("n_records", n_records))
