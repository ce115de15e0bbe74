r"""How far the minimiser moves when one record changes: Theorems 1 and 2, printed and sharp.

Bounds on :math:`\|f_z-f_{\bar z}\|_K` for m records of which one differs. In the chapter's modules
``regularization`` is lambda, ``n_records`` m, ``lipschitz`` :math:`C_L`, ``kappa``
:math:`\sup_x\sqrt{K(x,x)}`, ``strong_convexity`` gamma (2 for :math:`\|f\|_K^2`), ``label_bound``
M, to which labels are clipped.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_real_array,
)
from dplit.erm.losses import _check_gram, _check_targets, lipschitz_constant

# All replacements of one record in kernel ridge regression, from a single factorisation: they
# change the normal equations by rank one or two, at the cost of a few matrix products.


class _WorstReplacement(NamedTuple):
    """The replacement that moves a fit most: candidate ``added`` with ``label`` for ``removed``."""

    distance: float
    removed: int
    added: int
    label: float


class RidgeNeighbours:
    r"""Distances between a kernel ridge fit and the fits of all neighbouring samples.

    ``gram`` is the Gram matrix of the sample, ``coefficients`` and ``predictions`` are those of its
    fit :math:`f=\sum_ic_iK_{x_i}`. All distances are measured in the space.
    """

    def __init__(self, gram: ArrayLike, y: ArrayLike, *, regularization: float) -> None:
        self._y = _check_targets("squared", y)
        self._gram = _check_gram(gram)
        m = len(self._y)
        if len(self._gram) != m:
            raise ValueError(f"gram and y must agree, got {len(self._gram)} rows and {m} targets")
        self._alpha = check_positive("regularization", regularization) * m
        shifted = self._gram.copy()
        shifted.flat[:: m + 1] += self._alpha
        self._factor = cho_factor(shifted, lower=True, check_finite=False)
        lower, _ = dpotri(self._factor[0], lower=1)  # the inverse from its factor
        self._inverse: Array = np.tril(lower) + np.tril(lower, -1).T
        self.coefficients: Array = cho_solve(self._factor, self._y, check_finite=False)
        self.predictions: Array = self._gram @ self.coefficients
        self._square = np.einsum("il,li->i", self._inverse, self._inverse)  # (G G)_ii

    def replacement_distances(
        self, cross: ArrayLike, diagonal: ArrayLike, labels: ArrayLike
    ) -> Array:
        """Distances, shape (m, q), to the fits in which candidate j takes the place of record i.

        ``cross`` (m, q) holds kernel values between sample and candidates, ``diagonal`` and
        ``labels`` (q,) the candidates' own; of order m^2 q operations for all.
        """
        k = check_real_array("cross", cross, 2)
        own = check_real_array("diagonal", diagonal, 1)
        targets = check_real_array("labels", labels, 1)
        m, alpha = len(self._y), self._alpha
        if k.shape[0] != m or len(own) != k.shape[1] or len(targets) != k.shape[1]:
            raise ValueError(
                f"cross must have {m} rows and diagonal and labels an entry for each column, got "
                f"shapes {k.shape}, {own.shape} and {targets.shape}"
            )
        Gk = cho_solve(self._factor, k, check_finite=False)
        GGk = cho_solve(self._factor, Gk, check_finite=False)
        n_jj = np.maximum(own - np.einsum("iq,iq->q", k, Gk), 0.0) / alpha
        p_jj = np.maximum(n_jj - np.einsum("iq,iq->q", Gk, Gk), 0.0) / alpha
        g = self._inverse.diagonal()[:, None]
        n_ii, n_ij = 1.0 - alpha * g, Gk
        p_ii = np.maximum(g - alpha * self._square[:, None], 0.0)
        r_i = (self._y - self.predictions)[:, None]
        r_j = targets - k.T @ self.coefficients
        # (D + N) beta = r with D + N = [[n_ii - 1, n_ij], [n_ij, n_jj + 1]]
        determinant = (n_ii - 1.0) * (n_jj + 1.0) - n_ij**2
        b_i = ((n_jj + 1.0) * r_i - n_ij * r_j) / determinant
        b_j = ((n_ii - 1.0) * r_j - n_ij * r_i) / determinant
        squares = b_i**2 * p_ii + 2.0 * b_i * b_j * GGk + b_j**2 * p_jj
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)

    def worst_replacement(
        self, cross: ArrayLike, diagonal: ArrayLike, *, label_bound: float
    ) -> _WorstReplacement:
        """Exact local sensitivity over all replacements by candidates with labels in [-M, M].

        The distance is convex in the new label, so that -M and M suffice. It is the sensitivity
        **at this sample**, which may itself be private: a mechanism calibrates to the supremum over
        samples.
        """
        M = check_positive("label_bound", label_bound)
        best = _WorstReplacement(-1.0, 0, 0, 0.0)
        for label in (-M, M):
            labels = np.full(np.asarray(diagonal).shape, label)
            distances = self.replacement_distances(cross, diagonal, labels)
            i, j = np.unravel_index(int(distances.argmax()), distances.shape)
            if distances[i, j] > best.distance:
                best = _WorstReplacement(float(distances[i, j]), int(i), int(j), label)
        return best


# Stability of regularised least squares, :math:`\frac1m\sum_i(f(x_i)-y_i)^2+\lambda\|f\|_K^2`: the
# paper's constant and three sharper ones.


_LipschitzVersion = Literal["printed", "argument", "sharp"]

_StabilityVersion = Literal["printed", "argument", "lipschitz", "triangle", "sharp"]


class _LeastSquaresPair(NamedTuple):
    """Two neighbours on the plane, each of the first m - 1 of m + 1 records and one of the last
    two.
    """

    points: Array
    labels: Array


def fit_norm_factor(*, regularization: float, kappa: float = 1.0) -> float:
    r"""Smallest :math:`\nu` with :math:`\|f_z\|_K\le M\nu` for every sample of every size.

    :math:`1/(2\sqrt\lambda)` if :math:`\lambda\le\kappa^2`, else :math:`\kappa/(\kappa^2+\lambda)`;
    the paper uses :math:`1/\sqrt\lambda`. Equal records of size :math:`\min(\sqrt\lambda,\kappa)`
    attain it.
    """
    penalty, size = check_positive("regularization", regularization), check_positive("kappa", kappa)
    root = min(math.sqrt(penalty), size)
    return root / (root**2 + penalty)


def least_squares_lipschitz(
    *, regularization: float, label_bound: float, kappa: float = 1.0,
    version: _LipschitzVersion = "printed",
) -> float:  # fmt: skip
    r"""Lipschitz constant of the square between two fits, as Section 5.1 and its argument give it.

    ``"printed"`` :math:`2M(\kappa+1)/\sqrt\lambda`, right for :math:`\lambda\le1`; ``"argument"``,
    what its derivation gives, :math:`2M(1+\kappa/\sqrt\lambda)`; ``"sharp"``
    :math:`2M(1+\kappa\nu)`.
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
    *, regularization: float, n_records: int, label_bound: float, kappa: float = 1.0,
    version: _StabilityVersion = "sharp",
) -> float:  # fmt: skip
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


def mirror_distance(
    radius: float, angle: float, *, regularization: float, n_records: int, label_bound: float,
    kappa: float = 1.0,
) -> float:  # fmt: skip
    r"""Distance of the fits when mirror images are swapped beside a cluster, in closed form.

    The m - 1 common records sit at ``radius`` on the first axis, the swapped ones are
    :math:`\kappa(-\cos t,\pm\sin t)` for the angle t; all labels are M.
    """
    t, size = check_interval("angle", angle, -math.inf, math.inf), check_positive("kappa", kappa)
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    r, p, q = check_nonnegative("radius", radius), size * math.sin(t), size * math.cos(t)
    penalty, mass = check_positive("regularization", regularization) * m, (m - 1) * r
    h = penalty + mass * r
    slope = mass * M / h
    return 2.0 * p * (M + q * slope) / (penalty + p * p + q * q * penalty / h)


def _mirror_pair(
    *, regularization: float, n_records: int, label_bound: float, kappa: float = 1.0
) -> _LeastSquaresPair:
    r"""The worst swap of mirror images beside a cluster; as :math:`\lambda m` grows it attains
    :func:`least_squares_stability`.
    """
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    penalty, size = check_positive("regularization", regularization), check_positive("kappa", kappa)

    def shortfall(z: Array) -> float:
        return -mirror_distance(
            size * abs(math.sin(z[0])), math.pi / 2 * math.sin(z[1]) ** 2, regularization=penalty,
            n_records=m, label_bound=M, kappa=size,
        )  # fmt: skip

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
    return _LeastSquaresPair(points, np.full(m + 1, M))


def far_pair(*, n_records: int, label_bound: float, kappa: float = 1.0) -> _LeastSquaresPair:
    r"""The plainest pair: all others at 0, and the label at kappa goes from M to -M.

    The fits are :math:`2M\kappa/(\lambda m+\kappa^2)` apart: above the printed bound for large
    lambda.
    """
    m, M = check_integer("n_records", n_records), check_positive("label_bound", label_bound)
    points = np.zeros((m + 1, 2))
    points[m - 1 :, 0] = check_positive("kappa", kappa)
    labels = np.full(m + 1, M)
    labels[-1] = -M
    return _LeastSquaresPair(points, labels)


def pair_distance(pair: _LeastSquaresPair, *, regularization: float) -> float:
    """Fit both samples of a pair by the normal equations and return the distance of the fits."""
    m = len(pair.labels) - 1
    penalty = check_positive("regularization", regularization) * m
    fits = []
    for last in (m - 1, m):
        rows = [*range(m - 1), last]
        X, y = pair.points[rows], pair.labels[rows]
        fits.append(np.linalg.solve(X.T @ X + penalty * np.eye(2), X.T @ y))
    return float(np.linalg.norm(fits[0] - fits[1]))


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
    *, bound: float, regularization: float, n_records: int, strong_convexity: float = 2.0,
    version: _BoundedVersion = "sharp",
) -> float:  # fmt: skip
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
    loss: str, *, regularization: float, kappa: float = 1.0, label_bound: float = 1.0,
    tau: float = 0.5,
) -> float:  # fmt: skip
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


def lipschitz_stability(
    *, lipschitz: float, regularization: float, n_records: int, kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:  # fmt: skip
    r"""Theorem 2, for the replacement of one record: :math:`2\kappa C_L/(\lambda\gamma m)`.

    Hinge and pinball loss attain it.
    """
    return 2.0 * lipschitz_deletion(
        lipschitz=lipschitz, regularization=regularization, n_records=n_records, kappa=kappa,
        strong_convexity=strong_convexity,
    )  # fmt: skip


def lipschitz_deletion(
    *, lipschitz: float, regularization: float, n_records: int, kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:  # fmt: skip
    r"""Theorem 2 for the deletion of one of m records, with :math:`\lambda m` held fixed.

    :math:`\kappa C_L/(\lambda\gamma m)`: half of the bound for a replacement.
    """
    slope = check_positive("lipschitz", lipschitz) * check_positive("kappa", kappa)
    modulus = check_positive("regularization", regularization)
    modulus *= check_positive("strong_convexity", strong_convexity)
    return slope / (modulus * check_integer("n_records", n_records))


def sharper_from(
    *, lipschitz: float, bound: float, regularization: float, kappa: float = 1.0,
    strong_convexity: float = 2.0, version: _BoundedVersion = "printed",
) -> float:  # fmt: skip
    r"""Sample size above which Theorem 2 gives a smaller bound than Theorem 1, not rounded.

    :math:`4\kappa^2C_L^2/(cB\lambda\gamma)` with the constant c of Theorem 1 in this version.
    """
    check_choice("version", version, get_args(_BoundedVersion))
    slope = check_positive("lipschitz", lipschitz) * check_positive("kappa", kappa)
    modulus = check_positive("regularization", regularization)
    modulus *= check_positive("strong_convexity", strong_convexity)
    return 4.0 * slope**2 / (_CONSTANTS[version] * check_positive("bound", bound) * modulus)
