r"""Stability of regularised least squares: the paper's constant and three sharper ones.

Records have :math:`\sqrt{K(x,x)}\le\kappa` and :math:`|y|\le M`; the fit minimises
:math:`\frac1m\sum_i(f(x_i)-y_i)^2+\lambda\|f\|_K^2`, and one of m records is replaced.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dplit._checks import check_choice, check_integer, check_positive

__all__ = [
    "LeastSquaresPair",
    "far_pair",
    "fit_norm_factor",
    "least_squares_lipschitz",
    "least_squares_stability",
    "mirror_distance",
    "mirror_pair",
    "pair_distance",
]

LipschitzVersion = Literal["printed", "argument", "sharp"]
StabilityVersion = Literal["printed", "argument", "lipschitz", "triangle", "sharp"]


class LeastSquaresPair(NamedTuple):
    """Two neighbouring samples for the linear kernel on the plane.

    Attributes
    ----------
    points : ndarray, shape (m + 1, 2)
        The samples share the first m - 1 records; one has the last but one, the other the last.
    labels : ndarray, shape (m + 1,)
    """

    points: NDArray[np.float64]
    labels: NDArray[np.float64]


def fit_norm_factor(*, regularization: float, kappa: float = 1.0) -> float:
    r"""Smallest :math:`\nu` with :math:`\|f_z\|_K\le M\nu` for every sample of every size.

    Parameters
    ----------
    regularization : float
        lambda, positive.
    kappa : float, default=1.0

    Returns
    -------
    float
        :math:`1/(2\sqrt\lambda)` if :math:`\lambda\le\kappa^2`, else
        :math:`\kappa/(\kappa^2+\lambda)`. The paper uses :math:`1/\sqrt\lambda`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

    Notes
    -----
    With singular values :math:`\sqrt{mt}`, :math:`t\le\kappa^2`, of the sampled evaluations,
    :math:`\|f_z\|_K\le\sqrt mM\max_t\sqrt{mt}/(mt+\lambda m)`. A sample of equal records of size
    :math:`\min(\sqrt\lambda,\kappa)` attains it.

    Examples
    --------
    >>> fit_norm_factor(regularization=0.25)
    1.0
    """
    penalty, radius = (
        check_positive("regularization", regularization),
        check_positive("kappa", kappa),
    )
    root = min(math.sqrt(penalty), radius)
    return root / (root**2 + penalty)


def least_squares_lipschitz(
    *,
    regularization: float,
    label_bound: float,
    kappa: float = 1.0,
    version: LipschitzVersion = "printed",
) -> float:
    r"""Lipschitz constant of the square between two fits, as Section 5.1 and its argument give it.

    Parameters
    ----------
    regularization, kappa
        As in :func:`fit_norm_factor`.
    label_bound : float
        M, positive; labels outside must have been clipped.
    version : {"printed", "argument", "sharp"}
        ``"printed"``: :math:`2M(\kappa+1)/\sqrt\lambda`, right for :math:`\lambda\le1`.
        ``"argument"``: what its derivation gives, :math:`2M(1+\kappa/\sqrt\lambda)`.
        ``"sharp"``: :math:`2M(1+\kappa\nu(\lambda))`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Section 5.1.

    Examples
    --------
    >>> [least_squares_lipschitz(regularization=4.0, label_bound=1.0, version=v)
    ...  for v in ("printed", "argument", "sharp")]
    [2.0, 3.0, 2.4]
    """
    check_choice("version", version, get_args(LipschitzVersion))
    nu = fit_norm_factor(regularization=regularization, kappa=kappa)
    M, radius = check_positive("label_bound", label_bound), float(kappa)
    root = math.sqrt(regularization)
    if version == "printed":
        return 2.0 * M * (radius + 1.0) / root
    return 2.0 * M * (1.0 + radius * (1.0 / root if version == "argument" else nu))


def _largest_turn(penalty: float, kappa: float, norm: float) -> float:
    """Maximum over k in [0, 1] of 2 kappa sqrt(k) (1 + kappa norm sqrt(1 - k)) / (penalty + k').

    With x = sqrt(1 - k) the stationary points are roots of a cubic; k' is kappa^2 k.
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
    version: StabilityVersion = "sharp",
) -> float:
    r"""Bound on the distance in the space of two least-squares fits that differ in one record.

    Parameters
    ----------
    regularization, kappa, label_bound
        As in :func:`least_squares_lipschitz`.
    n_records : int
        m, at least 1.
    version : {"sharp", "triangle", "lipschitz", "argument", "printed"}
        ``"printed"``: Theorem 2 with the printed constant,
        :math:`2M\kappa(\kappa+1)/(\lambda^{3/2}m)`; right for :math:`\lambda\le1`.
        ``"argument"`` and ``"lipschitz"``: Theorem 2 with the other two constants of
        :func:`least_squares_lipschitz`. ``"triangle"``:
        :math:`\frac{\kappa M}{\lambda m}(2+\kappa\nu)`. ``"sharp"``: the maximum below.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Let S belong to the m - 1 common records, :math:`H=S+\lambda m`, and write
    :math:`\phi=K_{x_m}`, :math:`\phi'=K_{\bar x_m}`. **Triangle.** With h the fit on the common
    records, :math:`T=\lambda mH^{-1}`, :math:`0\le T\le I`, and
    :math:`a=1/(\lambda m+\langle\phi,T\phi\rangle)`, likewise a',

    .. math:: f_z-f_{\bar z}=T\bigl[(ay\phi-a'y'\phi')
        -(a\,\phi\otimes\phi-a'\phi'\otimes\phi')h\bigr].

    The first bracket is at most :math:`2\kappa M/(\lambda m)`. The second is the difference of two
    positive operators of norm at most :math:`\kappa^2/(\lambda m)`, which is no larger than the
    larger of them, applied to h with :math:`\|h\|\le M\nu`.

    **Sharp.** With :math:`v=f_z-f_{\bar z}` and the mean g of the two fits, the normal equations
    give :math:`Hv+\frac12\phi\langle\phi,v\rangle+\frac12\phi'\langle\phi',v\rangle
    =\phi(y-\langle\phi,g\rangle)-\phi'(y'-\langle\phi',g\rangle)`. The inner product with v, where
    :math:`\xi=\langle\phi,v\rangle`, :math:`\xi'=\langle\phi',v\rangle`, is

    .. math:: \lambda m\|v\|^2+\tfrac12(\xi^2+\xi'^2)
        \le M(|\xi|+|\xi'|)+M\nu\,\|\xi\phi-\xi'\phi'\| .

    One may lengthen both to norm kappa by new axes on which v is zero. The projection of v on them
    has a length r at most :math:`\|v\|`. For vectors at the angle t,
    :math:`\|\xi\phi-\xi'\phi'\|=\kappa^2r\sin t`; the best v has :math:`\xi'=-\xi`, which with
    :math:`k=\sin^2(t/2)` gives :math:`\lambda m\|v\|^2+\kappa^2kr^2\le
    2\kappa r\sqrt k\,M(1+\kappa\nu\sqrt{1-k})`. If the largest :math:`\|v\|` has r less than it,
    then :math:`\kappa^2k>\lambda m` and :math:`k=\lambda m/\kappa^2` does better. So r equals it:

    .. math:: \|f_z-f_{\bar z}\|_K\le\max_{0\le k\le1}
        \frac{2\kappa\sqrt k\,M(1+\kappa\nu\sqrt{1-k})}{\lambda m+\kappa^2k}.

    For every fixed lambda and kappa :func:`mirror_pair` attains it as m grows. For very small
    samples the diameter :math:`2M\nu` of the ball of all fits is smaller, and is returned.

    References
    ----------
    W. Nie and C. Wang, J. Inequal. Appl. 2017:9, Theorem 2 and Section 5.1; the last two are ours.

    Examples
    --------
    >>> arguments = dict(regularization=0.01, n_records=1000, label_bound=1.0)
    >>> round(least_squares_stability(**arguments, version="printed"), 4)
    4.0
    >>> round(least_squares_stability(**arguments, version="triangle"), 4)
    0.7
    >>> round(least_squares_stability(**arguments), 4)
    0.6123
    """
    check_choice("version", version, get_args(StabilityVersion))
    nu = fit_norm_factor(regularization=regularization, kappa=kappa)
    M, radius = check_positive("label_bound", label_bound), float(kappa)
    penalty = float(regularization) * check_integer("n_records", n_records)
    if version == "triangle":
        return radius * M * (2.0 + radius * nu) / penalty
    if version == "sharp":
        return M * min(_largest_turn(penalty, radius, nu), 2.0 * nu)
    slope: LipschitzVersion = "sharp" if version == "lipschitz" else version
    constant = least_squares_lipschitz(
        regularization=regularization, label_bound=M, kappa=kappa, version=slope
    )
    return radius * constant / penalty


def mirror_distance(
    radius: float,
    angle: float,
    *,
    regularization: float,
    n_records: int,
    label_bound: float,
    kappa: float = 1.0,
) -> float:
    r"""Distance of the fits when mirror images are swapped beside a cluster, in closed form.

    Parameters
    ----------
    radius : float
        The m - 1 common records sit at ``radius`` on the first axis, with label M.
    angle : float
        The swapped ones are :math:`\kappa(-\cos t,\pm\sin t)`, with label M.
    regularization, n_records, label_bound, kappa
        As in :func:`least_squares_stability`.

    Returns
    -------
    float
        :math:`\dfrac{2p\,(M+q\,s)}{\lambda m+p^2+q^2\lambda m/h}` with
        :math:`p=\kappa\sin t`, :math:`q=\kappa\cos t`, :math:`h=\lambda m+(m-1)\rho^2` and the
        cluster's slope :math:`s=(m-1)\rho M/h`.

    Examples
    --------
    >>> round(mirror_distance(0.0, 1.5707963, regularization=1.0, n_records=1, label_bound=1.0), 6)
    1.0
    """
    p, q = kappa * math.sin(angle), kappa * math.cos(angle)
    penalty, mass = regularization * n_records, (n_records - 1) * radius
    h = penalty + mass * radius
    slope = mass * label_bound / h
    return 2.0 * p * (label_bound + q * slope) / (penalty + p * p + q * q * penalty / h)


def mirror_pair(
    *, regularization: float, n_records: int, label_bound: float, kappa: float = 1.0
) -> LeastSquaresPair:
    r"""The worst swap of mirror images beside a cluster.

    Parameters
    ----------
    regularization, n_records, label_bound, kappa
        As in :func:`least_squares_stability`.

    Returns
    -------
    LeastSquaresPair
        Radius and angle maximise :func:`mirror_distance`. As :math:`\lambda m` grows the distance
        attains :func:`least_squares_stability`; as then lambda falls, it tends to
        :math:`\kappa/(4(\kappa+1))` of the printed bound, an eighth of it at kappa = 1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> pair = mirror_pair(regularization=1.0, n_records=1, label_bound=2.0)
    >>> pair.labels
    array([2., 2.])
    """
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    penalty, size = check_positive("regularization", regularization), check_positive("kappa", kappa)

    def shortfall(z: NDArray[np.float64]) -> float:
        return -mirror_distance(
            size * abs(math.sin(z[0])),
            math.pi / 2 * math.sin(z[1]) ** 2,
            regularization=penalty,
            n_records=m,
            label_bound=M,
            kappa=size,
        )

    first = math.asin(min(1.0, math.sqrt(penalty) / size))
    found = [
        minimize(shortfall, np.array([first, angle]), method="Nelder-Mead", tol=1e-14).x
        for angle in (0.8, 1.1, 1.4)
    ]
    best = min(found, key=shortfall)
    radius, angle = size * abs(math.sin(best[0])), math.pi / 2 * math.sin(best[1]) ** 2
    points = np.zeros((m + 1, 2))
    points[: m - 1, 0] = radius
    points[m - 1 :, 0] = -size * math.cos(angle)
    points[m - 1 :, 1] = size * math.sin(angle), -size * math.sin(angle)
    return LeastSquaresPair(points, np.full(m + 1, M))


def far_pair(*, n_records: int, label_bound: float, kappa: float = 1.0) -> LeastSquaresPair:
    r"""The plainest pair: all others at 0, and the label at kappa goes from M to -M.

    Parameters
    ----------
    n_records, label_bound, kappa
        As in :func:`least_squares_stability`.

    Returns
    -------
    LeastSquaresPair
        Its fits are :math:`2M\kappa/(\lambda m+\kappa^2)` apart, more than the printed bound
        for large lambda.

    Examples
    --------
    >>> far_pair(n_records=1, label_bound=1.0).labels
    array([ 1., -1.])
    """
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    points = np.zeros((m + 1, 2))
    points[m - 1 :, 0] = check_positive("kappa", kappa)
    labels = np.full(m + 1, M)
    labels[-1] = -M
    return LeastSquaresPair(points, labels)


def pair_distance(pair: LeastSquaresPair, *, regularization: float) -> float:
    """Fit both samples of a pair by the normal equations and return the distance of the fits.

    Parameters
    ----------
    pair : LeastSquaresPair
    regularization : float
        lambda, positive.

    Returns
    -------
    float

    Examples
    --------
    >>> pair_distance(far_pair(n_records=1, label_bound=1.0), regularization=9.0)
    0.2
    """
    m = len(pair.labels) - 1
    penalty = check_positive("regularization", regularization) * m
    fits = []
    for last in (m - 1, m):
        rows = [*range(m - 1), last]
        X, y = pair.points[rows], pair.labels[rows]
        fits.append(np.linalg.solve(X.T @ X + penalty * np.eye(2), X.T @ y))
    return float(np.linalg.norm(fits[0] - fits[1]))
